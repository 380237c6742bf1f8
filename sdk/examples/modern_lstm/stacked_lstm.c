/* stacked_lstm.c - see stacked_lstm.h. */
#include "stacked_lstm.h"

enum { MAX_STEPS = 1024 };

/* -- one cell -------------------------------------------------------------- */

/* Gates in the order of input, forget, candidate, output. What the norm adds to
 * the forget gate begins at 1, so that it is open and long sequences are
 * learned (Jozefowicz et al. 2015). */
static void open_forget_gate(BurnLayerNorm *norm, size_t hidden,
                             BurnDevice *device) {
  const int64_t h = (int64_t)hidden;
  const BurnDType dtype = burn_dtype(norm->beta.value);
  const BurnRange forget[] = {{h, 2 * h, 1}};
  BurnTensor *beta = burn_zeros(device, BURN_SHAPE(4 * h), dtype);
  BurnTensor *ones = burn_ones(device, BURN_SHAPE(h), dtype);
  burn_param_set(&norm->beta, burn_slice_assign(beta, forget, 1, ones));
}

static Cell cell_init(size_t inputs, size_t hidden, double dropout,
                      BurnDevice *device) {
  Cell cell = {.from_input = burn_linear_new(inputs, 4 * hidden, device),
               .from_hidden = burn_linear_new(hidden, 4 * hidden, device),
               .norm_input = burn_layer_norm_new(4 * hidden, device),
               .norm_hidden = burn_layer_norm_new(4 * hidden, device),
               .norm_cell = burn_layer_norm_new(hidden, device),
               .dropout = burn_dropout_new(dropout, device)};
  open_forget_gate(&cell.norm_input, hidden, device);
  return cell;
}

static BurnTensor *gate(const BurnTensor *gates, int64_t index) {
  const int64_t h = burn_dim(gates, 1) / 4;
  return burn_narrow(burn_clone(gates), 1, index * h, h);
}

/* One step: x [batch, inputs] is taken, *hidden and *state are replaced. */
static void cell_step(const Cell *m, BurnTensor *x, BurnTensor **hidden,
                      BurnTensor **state) {
  x = burn_layer_norm_forward(&m->norm_input,
                              burn_linear_forward(&m->from_input, x));
  BurnTensor *h = burn_linear_forward(&m->from_hidden, *hidden);
  BurnTensor *gates = burn_add(x, burn_layer_norm_forward(&m->norm_hidden, h));
  BurnTensor *added =
      burn_mul(burn_sigmoid(gate(gates, 0)), burn_tanh(gate(gates, 2)));
  BurnTensor *kept = burn_mul(burn_sigmoid(gate(gates, 1)), *state);
  *state = burn_layer_norm_forward(&m->norm_cell, burn_add(kept, added));
  *hidden =
      burn_mul(burn_sigmoid(gate(gates, 3)), burn_tanh(burn_clone(*state)));
  burn_drop(gates);
}

/* -- layers ---------------------------------------------------------------- */

/* The states of a cell over x [batch, steps, inputs] (taken) -> [batch, steps,
 * hidden] */
static BurnTensor *cell_forward(const Cell *m, BurnTensor *x) {
  const int64_t batch = burn_dim(x, 0), steps = burn_dim(x, 1);
  const int64_t size = burn_dim(m->from_hidden.weight.value, 0);
  BurnTensor *states[MAX_STEPS];
  if (steps > MAX_STEPS) {
    burn_drop(x);
    return burn_tensor_failed(burn_status_make(
        BURN_STATUS_INVALID_SHAPE, "a sequence of %lld steps, at most %d",
        (long long)steps, (int)MAX_STEPS));
  }
  BurnTensor *hidden =
      burn_zeros(burn_tensor_device(x), BURN_SHAPE(batch, size), burn_dtype(x));
  BurnTensor *state = burn_clone(hidden);
  for (int64_t i = 0; i < steps; i++) {
    cell_step(m, burn_select_dim(burn_clone(x), 1, i), &hidden, &state);
    states[i] = burn_unsqueeze_dim(burn_clone(hidden), 1);
  }
  burn_drop(x);
  burn_drop(hidden);
  burn_drop(state);
  x = burn_cat(states, (size_t)steps, 1);
  return burn_dropout_forward(&m->dropout, x);
}

/* The last states of a stack of cells: [batch, hidden]. */
static BurnTensor *stack_forward(const BurnModuleList *cells, BurnTensor *x) {
  for (size_t i = 0; i < cells->count; i++) {
    x = cell_forward(burn_module_list_at(cells, i), x);
  }
  return burn_select_dim(x, 1, -1);
}

static BurnModuleList stack_init(const NetworkConfig *config,
                                 BurnDevice *device) {
  BurnModuleList cells = burn_module_list(Cell_type(), config->layers);
  for (size_t i = 0; i < cells.count; i++) {
    const size_t inputs = i == 0 ? config->inputs : config->hidden;
    const bool last = i + 1 == cells.count;
    *(Cell *)burn_module_list_at(&cells, i) =
        cell_init(inputs, config->hidden, last ? 0 : config->dropout, device);
  }
  return cells;
}

Network network_init(const NetworkConfig *config, BurnDevice *device) {
  const size_t ends = config->bidirectional ? 2 : 1;
  Network m = {.forward = stack_init(config, device),
               .backward = burn_module_list(Cell_type(), 0),
               .dropout = burn_dropout_new(config->dropout, device),
               .output = burn_linear_new(ends * config->hidden, 1, device)};
  if (config->bidirectional) m.backward = stack_init(config, device);
  return m;
}

BurnTensor *network_forward(const Network *m, BurnTensor *x) {
  BurnTensor *reversed = NULL;
  if (m->backward.count > 0) {
    reversed = burn_flip(burn_clone(x), (int[]){1}, 1);
  }
  x = stack_forward(&m->forward, x);
  if (reversed) {
    reversed = stack_forward(&m->backward, reversed);
    x = burn_cat((BurnTensor *[]){x, reversed}, 2, 1);
  }
  return burn_linear_forward(&m->output, burn_dropout_forward(&m->dropout, x));
}
