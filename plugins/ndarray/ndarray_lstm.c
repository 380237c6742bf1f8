/* ndarray_lstm.c - lstm and its gradient: a loop over the steps, each one product and the arithmetic of the gates.
 *
 * The weight is packed once, in panels of the columns of some units: all four gates of a vector of units forward, two vectors
 * of units back. An item of work is a step of such a group for all samples; the loop over the steps stands around. Every
 * number is computed by one chain of operations whoever does it. The gradient of the weight is one product over all steps. */
#include "ndarray_sequence.h"

#include <string.h>

enum { GATES = 4, BACK_VECTORS = 2 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* What stands for a gradient that did not arrive: a vector. */
static const double zeros[8];

/* What both directions need. */
typedef struct Lstm {
  Ndarray *nd;
  const NdSequenceLoops *loops;
  int64_t n, steps, units; /* samples, steps, hidden units */
  int64_t bytes;           /* of an element */
  int64_t group, groups;   /* units of an item, and how many items */
  int64_t step;            /* the one under way */
  int64_t sum_columns;     /* of an item's product */
  char *panels;            /* the packed weight: [groups][depth, sum_columns] */
  char *dense[2];          /* what goes from step to step, hidden states or slopes of the gates, by turns: [n, dense_row] */
  int64_t dense_row;
  atomic_bool out_of_memory;
} Lstm;

/* A loop of one chunk costs less than waking a thread up to about this many operations. */
static int64_t grain_of(const Lstm *lstm) {
  const double flops = 2.0 * GATES * (double)lstm->n * (double)lstm->units * (double)lstm->group;
  return 1 + (int64_t)(3e5 / (flops + 1));
}

/* Begins a call on `steps` [n, steps, ..]; what goes from step to step is dense_width wide. */
static BurnStatus open_lstm(Ndarray *nd, const NdTensor *steps, int64_t units, int64_t vectors, int64_t dense_width, Lstm *out) {
  const BurnDType dtype = steps->header.dtype;
  Lstm lstm = {.nd = nd, .loops = nd_sequence(nd, dtype), .n = steps->shape[0], .steps = steps->shape[1], .units = units};
  if (!lstm.loops) return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "lstm: no kernel for %s", burn_dtype_name(dtype));
  const int64_t lanes = lstm.loops->lanes;
  lstm.bytes = burn_dtype_bytes(dtype);
  lstm.group = lanes * vectors;
  lstm.groups = (units + lstm.group - 1) / lstm.group;
  lstm.dense_row = (dense_width + lanes - 1) / lanes * lanes + lanes; /* rows a power of two apart would meet in the cache */
  *out = lstm;
  atomic_init(&out->out_of_memory, false);
  return BURN_OK;
}

static uint64_t panel_bytes(const Lstm *lstm) { return (uint64_t)(lstm->groups * lstm->group * GATES * lstm->units * lstm->bytes); }
static uint64_t dense_bytes(const Lstm *lstm) { return (uint64_t)(lstm->n * lstm->dense_row * lstm->bytes); }
/* The sums of an item and, behind them, a vector that takes what nobody asks for. */
static uint64_t sums_bytes(const Lstm *lstm) {
  return (uint64_t)((lstm->n * lstm->sum_columns + lstm->loops->lanes) * lstm->bytes);
}

static bool open_room(Lstm *lstm) {
  lstm->panels = (char *)nd_pool_allocate(lstm->nd->pool, panel_bytes(lstm));
  lstm->dense[0] = (char *)nd_pool_allocate(lstm->nd->pool, 2 * dense_bytes(lstm));
  if (!lstm->panels || !lstm->dense[0]) return false;
  lstm->dense[1] = lstm->dense[0] + dense_bytes(lstm);
  nd_pool_reserve(lstm->nd->pool, sums_bytes(lstm), lstm->nd->host->thread_count());
  return true;
}

static void close_room(Lstm *lstm) {
  if (lstm->panels) nd_pool_free(lstm->nd->pool, lstm->panels, panel_bytes(lstm));
  if (lstm->dense[0]) nd_pool_free(lstm->nd->pool, lstm->dense[0], 2 * dense_bytes(lstm));
}

/* `item` for some groups of units, with room for the sums of one. */
static void for_groups(Lstm *lstm, int64_t begin, int64_t end, void (*item)(void *context, int64_t group, char *sums), void *context) {
  char *sums = (char *)nd_pool_allocate(lstm->nd->pool, sums_bytes(lstm));
  if (!sums) {
    atomic_store_explicit(&lstm->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t group = begin; group < end; group++) item(context, group, sums);
  nd_pool_free(lstm->nd->pool, sums, sums_bytes(lstm));
}

/* The packed weight's part for a group. */
static char *panel_of(const Lstm *lstm, int64_t group) {
  return lstm->panels + group * lstm->group * GATES * lstm->units * lstm->bytes;
}

/* sums [n, sum_columns] = rows [n, depth] x the group's panel. */
static void multiply(const Lstm *lstm, const char *rows, int64_t depth, int64_t group, char *sums) {
  const NdProduct product = {.rows = lstm->n,
                             .columns = lstm->sum_columns,
                             .depth = depth,
                             .a = rows,
                             .a_row = lstm->dense_row,
                             .a_step = 1,
                             .b = panel_of(lstm, group),
                             .b_row = lstm->sum_columns,
                             .c = sums,
                             .c_row = lstm->sum_columns};
  lstm->loops->product(&product);
}

/* Row t of sample 0 of a tensor [n, steps, width], from unit `unit` on. */
static char *step_at(const Lstm *lstm, const NdTensor *x, int64_t t, int64_t unit) {
  return (char *)nd_data(x) + (t * x->shape[2] + unit) * lstm->bytes;
}
/* From sample to sample of such a tensor. */
static int64_t row_of(const NdTensor *x) { return x->shape[1] * x->shape[2]; }

/* Row-major forms of the inputs of a call, NULL for those that are absent; false when out of memory. */
static bool open_inputs(Ndarray *nd, const BurnOpCall *call, NdTensor **inputs) {
  bool complete = true;
  for (uint32_t i = 0; i < call->input_count; i++) {
    inputs[i] = call->inputs[i] ? nd_contiguous(nd, nd_tensor(call->inputs[i])) : NULL;
    complete = complete && (inputs[i] || !call->inputs[i]);
  }
  return complete;
}

static bool open_outputs(Ndarray *nd, const BurnOpCall *call, uint32_t count, NdTensor **outputs) {
  bool complete = true;
  for (uint32_t i = 0; i < count; i++) {
    outputs[i] = nd_new(nd, &call->output_descs[i]);
    complete = complete && outputs[i];
  }
  return complete;
}

/* Hands the results out, or nothing; drops the inputs. */
static BurnStatus finish(Ndarray *nd, const BurnOpCall *call, bool complete, NdTensor **inputs, NdTensor **outputs) {
  for (uint32_t i = 0; i < call->input_count; i++) nd_release(nd, inputs[i]);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (complete) {
      call->outputs[i] = &outputs[i]->header;
    } else {
      nd_release(nd, outputs[i]);
    }
  }
  return complete ? BURN_OK : nd_out_of_memory(nd, call);
}

/* -- forward ------------------------------------------------------------------------------------------------------- */

typedef struct Forward {
  Lstm lstm;
  NdTensor *inputs[4];  /* gates, hidden, cell, weight */
  NdTensor *outputs[3]; /* outputs, cells, activations */
} Forward;

/* A panel has the columns of all four gates of its units. */
static void BURN_CALL pack_forward(void *context, int64_t begin, int64_t end) {
  const Forward *work = (const Forward *)context;
  const Lstm *lstm = &work->lstm;
  for (int64_t group = begin; group < end; group++) {
    const int64_t unit = group * lstm->group, width = least(lstm->group, lstm->units - unit);
    for (int64_t gate = 0; gate < GATES; gate++) {
      const char *from = (const char *)nd_data(work->inputs[3]) + (gate * lstm->units + unit) * lstm->bytes;
      char *to = panel_of(lstm, group) + gate * lstm->group * lstm->bytes;
      lstm->loops->pack(lstm->units, width, from, GATES * lstm->units, 1, to, lstm->sum_columns, lstm->group);
    }
  }
}

/* One step of the units of a group. */
static void step_group(void *context, int64_t group, char *sums) {
  const Forward *work = (const Forward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t unit = group * lstm->group, t = lstm->step;
  const NdTensor *gates = work->inputs[0], *outputs = work->outputs[0], *cells = work->outputs[1], *activations = work->outputs[2];
  const char *first_cell = (const char *)nd_data(work->inputs[2]) + unit * lstm->bytes;
  const NdLstmStep step = {.rows = lstm->n,
                           .units = least(lstm->group, lstm->units - unit),
                           .gate = lstm->units,
                           .product = sums,
                           .gates = step_at(lstm, gates, t, unit),
                           .cell_before = t > 0 ? step_at(lstm, cells, t - 1, unit) : first_cell,
                           .outputs = step_at(lstm, outputs, t, unit),
                           .cells = step_at(lstm, cells, t, unit),
                           .activations = step_at(lstm, activations, t, unit),
                           .state = lstm->dense[(t + 1) % 2] + unit * lstm->bytes,
                           .gates_row = row_of(gates),
                           .before_row = t > 0 ? row_of(cells) : lstm->units,
                           .steps_row = row_of(outputs),
                           .activations_row = row_of(activations),
                           .state_row = lstm->dense_row};
  multiply(lstm, lstm->dense[t % 2], lstm->units, group, sums);
  lstm->loops->lstm_step(&step);
}

static void BURN_CALL forward_body(void *context, int64_t begin, int64_t end) {
  for_groups(&((Forward *)context)->lstm, begin, end, step_group, context);
}

static bool run_forward(Forward *work) {
  Lstm *lstm = &work->lstm;
  if (!open_room(lstm)) return false;
  nd_parallel_for(lstm->nd, lstm->groups, 1 + 65536 / (lstm->units * lstm->sum_columns + 1), pack_forward, work);
  lstm->loops->pack(lstm->n, lstm->units, nd_data(work->inputs[1]), lstm->units, 1, lstm->dense[0], lstm->dense_row, lstm->units);
  for (lstm->step = 0; lstm->step < lstm->steps; lstm->step++)
    nd_parallel_for_flushed(lstm->nd, lstm->groups, grain_of(lstm), forward_body, work);
  return !atomic_load_explicit(&lstm->out_of_memory, memory_order_relaxed);
}

static BurnStatus lstm_forward(Ndarray *nd, const BurnOpCall *call) {
  Forward work = {.inputs = {NULL}};
  const int64_t units = call->inputs[3]->shape[0];
  const BurnStatus status = open_lstm(nd, nd_tensor(call->inputs[0]), units, 1, units, &work.lstm);
  if (status != BURN_OK) return status;
  work.lstm.sum_columns = GATES * work.lstm.group;
  const bool has_inputs = open_inputs(nd, call, work.inputs), has_outputs = open_outputs(nd, call, 3, work.outputs);
  const bool complete = has_inputs && has_outputs && run_forward(&work);
  close_room(&work.lstm);
  return finish(nd, call, complete, work.inputs, work.outputs);
}

/* -- backward ------------------------------------------------------------------------------------------------------ */

enum { GRAD, CELLS, ACTIVATIONS, HIDDEN, CELL, WEIGHT, GRAD_CELLS, GRAD_ACTIVATIONS, BACK_INPUTS };
enum { GRAD_GATES, GRAD_HIDDEN, GRAD_CELL, GRAD_WEIGHT, BACK_OUTPUTS };

typedef struct Backward {
  Lstm lstm;
  NdTensor *inputs[BACK_INPUTS];
  NdTensor *outputs[BACK_OUTPUTS];
  NdTensor *states; /* [n, steps, units]: hidden before each step */
} Backward;

/* A panel has the rows of its units, transposed. */
static void BURN_CALL pack_backward(void *context, int64_t begin, int64_t end) {
  const Backward *work = (const Backward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t gates = GATES * lstm->units;
  for (int64_t group = begin; group < end; group++) {
    const int64_t unit = group * lstm->group, width = least(lstm->group, lstm->units - unit);
    const char *from = (const char *)nd_data(work->inputs[WEIGHT]) + unit * gates * lstm->bytes;
    lstm->loops->pack(gates, width, from, 1, gates, panel_of(lstm, group), lstm->group, lstm->group);
  }
}

/* The gates of a vector of units at the step under way. `spare` takes the hidden state after the last step. */
static void units_back(const Backward *work, int64_t unit, const char *sums, char *spare) {
  const Lstm *lstm = &work->lstm;
  const int64_t t = lstm->step;
  NdTensor *const *inputs = work->inputs;
  const NdTensor *grad_cells = inputs[GRAD_CELLS], *further = inputs[GRAD_ACTIVATIONS];
  const bool is_last = t + 1 == lstm->steps;
  const char *first_cell = (const char *)nd_data(inputs[CELL]) + unit * lstm->bytes;
  const NdLstmBack step = {.rows = lstm->n,
                           .units = least(lstm->loops->lanes, lstm->units - unit),
                           .gate = lstm->units,
                           .further_gate = further ? lstm->units : 0,
                           .product = sums,
                           .grad = step_at(lstm, inputs[GRAD], t, unit),
                           .grad_cells = grad_cells ? (const void *)step_at(lstm, grad_cells, t, unit) : zeros,
                           .grad_activations = further ? (const void *)step_at(lstm, further, t, unit) : zeros,
                           .activations = step_at(lstm, inputs[ACTIVATIONS], t, unit),
                           .cells = step_at(lstm, inputs[CELLS], t, unit),
                           .cell_before = t > 0 ? step_at(lstm, inputs[CELLS], t - 1, unit) : first_cell,
                           .carry = (char *)nd_data(work->outputs[GRAD_CELL]) + unit * lstm->bytes,
                           .grad_gates = step_at(lstm, work->outputs[GRAD_GATES], t, unit),
                           .slopes = lstm->dense[t % 2] + unit * lstm->bytes,
                           .state = is_last ? spare : step_at(lstm, work->states, t + 1, unit),
                           .product_row = lstm->sum_columns,
                           .steps_row = row_of(inputs[GRAD]),
                           .cells_row = grad_cells ? row_of(grad_cells) : 0,
                           .further_row = further ? row_of(further) : 0,
                           .activations_row = row_of(inputs[ACTIVATIONS]),
                           .before_row = t > 0 ? row_of(inputs[CELLS]) : lstm->units,
                           .carry_row = lstm->units,
                           .slopes_row = lstm->dense_row,
                           .state_row = is_last ? 0 : row_of(work->states)};
  lstm->loops->lstm_back(&step);
}

/* One step of the units of a group: what the step after it says of their hidden states, then their gates. */
static void step_group_back(void *context, int64_t group, char *sums) {
  const Backward *work = (const Backward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t unit = group * lstm->group, lanes = lstm->loops->lanes;
  char *spare = sums + lstm->n * lstm->sum_columns * lstm->bytes;
  if (lstm->step + 1 == lstm->steps) {
    memset(sums, 0, (size_t)(spare - sums));
  } else {
    multiply(lstm, lstm->dense[(lstm->step + 1) % 2], GATES * lstm->units, group, sums);
  }
  for (int64_t i = 0; i < lstm->group && unit + i < lstm->units; i += lanes)
    units_back(work, unit + i, sums + i * lstm->bytes, spare);
}

static void BURN_CALL backward_body(void *context, int64_t begin, int64_t end) {
  for_groups(&((Backward *)context)->lstm, begin, end, step_group_back, context);
}

/* What the first step says of the hidden state before it. */
static void first_group(void *context, int64_t group, char *sums) {
  const Backward *work = (const Backward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t unit = group * lstm->group, width = least(lstm->group, lstm->units - unit);
  char *to = (char *)nd_data(work->outputs[GRAD_HIDDEN]) + unit * lstm->bytes;
  multiply(lstm, lstm->dense[0], GATES * lstm->units, group, sums);
  lstm->loops->pack(lstm->n, width, sums, lstm->sum_columns, 1, to, lstm->units, width);
}

static void BURN_CALL first_body(void *context, int64_t begin, int64_t end) {
  for_groups(&((Backward *)context)->lstm, begin, end, first_group, context);
}

static bool run_backward(Backward *work) {
  Lstm *lstm = &work->lstm;
  const size_t state_bytes = (size_t)(lstm->n * lstm->units * lstm->bytes);
  if (!open_room(lstm)) return false;
  nd_parallel_for(lstm->nd, lstm->groups, 1 + 65536 / (lstm->units * lstm->sum_columns + 1), pack_backward, work);
  memset(nd_data(work->outputs[GRAD_CELL]), 0, state_bytes);
  if (lstm->steps == 0) {
    memset(nd_data(work->outputs[GRAD_HIDDEN]), 0, state_bytes);
    return true;
  }
  lstm->loops->pack(lstm->n, lstm->units, nd_data(work->inputs[HIDDEN]), lstm->units, 1, nd_data(work->states),
                    row_of(work->states), lstm->units);
  for (lstm->step = lstm->steps - 1; lstm->step >= 0; lstm->step--)
    nd_parallel_for_flushed(lstm->nd, lstm->groups, grain_of(lstm), backward_body, work);
  nd_parallel_for_flushed(lstm->nd, lstm->groups, grain_of(lstm), first_body, work);
  return !atomic_load_explicit(&lstm->out_of_memory, memory_order_relaxed);
}

/* The gradient of the weight: states^T x gradients of the gates, over all samples and steps at once. */
static BurnStatus weight_back(Ndarray *nd, const BurnOpCall *call, Backward *work) {
  const int64_t count = work->lstm.n * work->lstm.steps, units = work->lstm.units, gates = GATES * units;
  const int64_t state_shape[] = {units, count}, state_strides[] = {1, units}, gate_shape[] = {count, gates}, gate_strides[] = {gates, 1};
  NdTensor *states = nd_view(nd, work->states, 2, state_shape, state_strides, 0);
  NdTensor *slopes = nd_view(nd, work->outputs[GRAD_GATES], 2, gate_shape, gate_strides, 0);
  BurnPrimitive *output = NULL;
  BurnStatus status = states && slopes ? BURN_OK : nd_out_of_memory(nd, call);
  if (status == BURN_OK) {
    BurnPrimitive *const inputs[] = {&states->header, &slopes->header};
    const BurnOpCall product = {.struct_size = (uint32_t)sizeof product,
                                .op = BURN_OP_matmul,
                                .input_count = 2,
                                .output_count = 1,
                                .inputs = inputs,
                                .outputs = &output,
                                .output_descs = &call->output_descs[GRAD_WEIGHT]};
    status = nd->kernels[BURN_OP_matmul](nd, &product);
  }
  if (output) work->outputs[GRAD_WEIGHT] = nd_tensor(output);
  nd_release(nd, states);
  nd_release(nd, slopes);
  return status;
}

static BurnStatus lstm_backward(Ndarray *nd, const BurnOpCall *call) {
  Backward work = {.inputs = {NULL}};
  const int64_t units = call->inputs[WEIGHT]->shape[0];
  BurnStatus status = open_lstm(nd, nd_tensor(call->inputs[GRAD]), units, BACK_VECTORS, GATES * units, &work.lstm);
  if (status != BURN_OK) return status;
  const BurnTensorDesc states = burn_primitive_desc(call->inputs[GRAD]);
  work.lstm.sum_columns = work.lstm.group;
  work.states = nd_new(nd, &states);
  const bool has_inputs = open_inputs(nd, call, work.inputs), has_outputs = open_outputs(nd, call, GRAD_WEIGHT, work.outputs);
  bool complete = work.states && has_inputs && has_outputs && run_backward(&work);
  close_room(&work.lstm);
  complete = complete && weight_back(nd, call, &work) == BURN_OK;
  nd_release(nd, work.states);
  return finish(nd, call, complete, work.inputs, work.outputs);
}

const NdKernelRow nd_lstm_kernels[] = {
    {BURN_OP_lstm, lstm_forward},
    {BURN_OP_lstm_backward, lstm_backward},
    {0, NULL},
};
