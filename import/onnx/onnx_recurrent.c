/* onnx_recurrent.c - ONNX operators of recurrent layers: RNN, GRU, LSTM in both directions, with every attribute.
 *
 * What does not depend on the state is one product for all steps; the loop of a usual LSTM is one op, others are a few
 * calls a step. All is laid out [batch, steps, ..] here. Rows of unequal length run to the end; what comes after their
 * own end is cleared, and their last state is picked. A reversed row is its own steps backwards. */
#include "onnx_node.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 3 };

typedef struct Function {
  BurnTensor *(*apply)(BurnTensor *x, double alpha, double beta);
  double alpha, beta;
} Function;

/* One direction of a layer. */
typedef struct Layer {
  OnnxNode *node;
  int64_t gates; /* per element of the state: 1, 3 or 4 */
  int64_t batch, steps, hidden;
  bool batch_first, reversed;
  bool flat;      /* one row: [steps, 1, ..] or [1, steps, ..], and the gates of a step are [gates * hidden] */
  bool backwards; /* reversed by the loop, which begins at the last step; else the steps are turned around */
  size_t direction;
  Function functions[FUNCTIONS];
  double clip;              /* of what goes into a function; 0: none */
  BurnTensor *lengths;      /* [batch] i64, or NULL: all have every step */
  BurnTensor *inputs;       /* [batch, steps, gates * hidden]: the product of all steps, with the biases */
  BurnTensor *input_weight; /* [features, gates * hidden] */
  BurnTensor *weight;       /* [hidden, gates * hidden]: of the state */
  BurnTensor *bias;         /* [gates * hidden], or NULL */
  BurnTensor *hidden_bias;  /* GRU with linear_before_reset: [hidden], else NULL */
  BurnTensor *peepholes;    /* LSTM: [3 * hidden] for i, o, f, or NULL */
  BurnTensor *state, *cell; /* [batch, hidden] */
  BurnTensor *outputs;      /* [batch, steps, hidden] */
  BurnTensor *last_state;   /* [batch, hidden] */
  BurnTensor *last_cell;    /* [batch, hidden]; LSTM */
} Layer;

static BurnTensor *copy(const BurnTensor *x) { return burn_clone(x); }

/* -- functions --------------------------------------------------------------------------------- */

#define PLAIN(name, call)                                             \
  static BurnTensor *name(BurnTensor *x, double alpha, double beta) { \
    (void)alpha;                                                      \
    (void)beta;                                                       \
    return call;                                                      \
  }
PLAIN(apply_relu, burn_relu(x))
PLAIN(apply_tanh, burn_tanh(x))
PLAIN(apply_sigmoid, burn_sigmoid(x))
PLAIN(apply_softsign, burn_softsign(x))
PLAIN(apply_softplus, burn_softplus(x, 1))
PLAIN(apply_leaky_relu, burn_leaky_relu(x, alpha))
PLAIN(apply_thresholded_relu, burn_thresholded_relu(x, alpha))
PLAIN(apply_elu, burn_elu(x, alpha))
PLAIN(apply_hard_sigmoid, burn_hard_sigmoid(x, alpha, beta))
PLAIN(apply_affine, burn_add_scalar(burn_mul_scalar(x, alpha), beta))
PLAIN(apply_scaled_tanh, burn_mul_scalar(burn_tanh(burn_mul_scalar(x, beta)), alpha))

/* The functions that ONNX names, how many of alpha and beta they read, and the values where none are given. */
static const struct {
  const char *name;
  Function function;
  int numbers;
} functions[] = {{"Relu", {apply_relu, 0, 0}, 0},
                 {"Tanh", {apply_tanh, 0, 0}, 0},
                 {"Sigmoid", {apply_sigmoid, 0, 0}, 0},
                 {"Softsign", {apply_softsign, 0, 0}, 0},
                 {"Softplus", {apply_softplus, 0, 0}, 0},
                 {"LeakyRelu", {apply_leaky_relu, 0.01, 0}, 1},
                 {"ThresholdedRelu", {apply_thresholded_relu, 1, 0}, 1},
                 {"Elu", {apply_elu, 1, 0}, 1},
                 {"HardSigmoid", {apply_hard_sigmoid, 0.2, 0.5}, 2},
                 {"Affine", {apply_affine, 1, 0}, 2},
                 {"ScaledTanh", {apply_scaled_tanh, 1, 1}, 2}};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static int lower(int c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

/* Names are compared without regard to case, as ONNX says. */
static size_t find_function(const uint8_t *name, size_t length) {
  for (size_t i = 0; i < FUNCTION_COUNT; i++) {
    size_t k = 0;
    if (strlen(functions[i].name) != length) continue;
    while (k < length && lower(name[k]) == lower(functions[i].name[k])) k++;
    if (k == length) return i;
  }
  return FUNCTION_COUNT;
}

/* Value `i` of a list of numbers, or the given one. */
static double listed(const OnnxNode *node, const char *name, size_t i, double otherwise) {
  const Onnx__AttributeProto *list = onnx_attribute(node, name);
  return list && i < list->n_floats ? (double)list->floats[i] : otherwise;
}

/* Reads `count` functions of the direction; alphas and betas are listed for the functions that have them, in order. */
static void read_functions(Layer *l, const char *const *otherwise, size_t count) {
  const Onnx__AttributeProto *names = onnx_attribute(l->node, "activations");
  size_t alphas = 0, betas = 0;
  for (size_t i = 0; i < count * (l->direction + 1); i++) {
    const char *usual = otherwise[i % count];
    const bool given = names && i < names->n_strings;
    const size_t at = given ? find_function(names->strings[i].data, names->strings[i].len)
                            : find_function((const uint8_t *)usual, strlen(usual));
    if (at == FUNCTION_COUNT) {
      onnx_not_mapped(l->node, "there is no activation %.*s for recurrent layers", (int)names->strings[i].len,
                      (const char *)names->strings[i].data);
      return;
    }
    Function function = functions[at].function;
    if (functions[at].numbers > 0) function.alpha = listed(l->node, "activation_alpha", alphas++, function.alpha);
    if (functions[at].numbers > 1) function.beta = listed(l->node, "activation_beta", betas++, function.beta);
    l->functions[i % count] = function;
  }
}

static bool is_usual(const Layer *l) {
  return l->clip == 0 && !l->peepholes && !onnx_int(l->node, "input_forget", 0) &&
         l->functions[0].apply == apply_sigmoid && l->functions[1].apply == apply_tanh &&
         l->functions[2].apply == apply_tanh;
}

static BurnTensor *activate(const Layer *l, size_t function, BurnTensor *x) {
  if (l->clip > 0) x = burn_clamp(x, -l->clip, l->clip);
  return l->functions[function].apply(x, l->functions[function].alpha, l->functions[function].beta);
}

/* -- rows of unequal length -------------------------------------------------------------------- */

/* The steps of every row backwards; the same again is the way back. */
static BurnTensor *reversed(const Layer *l, BurnTensor *x) {
  const int steps = 1;
  if (l->steps == 1) return x;
  if (!l->lengths) return burn_flip(x, &steps, 1);
  const BurnShape shape = burn_shape(x);
  BurnTensor *at = burn_reshape(burn_arange(l->node->device, 0, l->steps, 1), BURN_SHAPE(1, l->steps));
  BurnTensor *lengths = burn_reshape(copy(l->lengths), BURN_SHAPE(l->batch, 1));
  at = burn_expand(at, BURN_SHAPE(l->batch, l->steps));
  BurnTensor *inside = burn_lower(copy(at), copy(lengths));
  BurnTensor *mirrored = burn_sub(burn_sub_scalar(lengths, 1), copy(at));
  at = burn_unsqueeze_dim(burn_mask_where(at, inside, mirrored), 2);
  return burn_gather(x, 1, burn_expand(at, shape));
}

/* 0 after the end of each row. */
static BurnTensor *cleared(const Layer *l, BurnTensor *x) {
  if (!l->lengths) return x;
  BurnTensor *at = burn_reshape(burn_arange(l->node->device, 0, l->steps, 1), BURN_SHAPE(1, l->steps, 1));
  BurnTensor *lengths = burn_reshape(copy(l->lengths), BURN_SHAPE(l->batch, 1, 1));
  return burn_mask_fill(x, burn_greater_equal(at, lengths), 0);
}

/* [batch, steps, hidden] -> [batch, hidden] at the last step of each row. */
static BurnTensor *last_of(const Layer *l, const BurnTensor *x) {
  if (!l->lengths) return burn_select_dim(copy(x), 1, l->steps - 1);
  BurnTensor *at = burn_clamp_min(burn_sub_scalar(copy(l->lengths), 1), 0);
  at = burn_expand(burn_reshape(at, BURN_SHAPE(l->batch, 1, 1)), BURN_SHAPE(l->batch, 1, l->hidden));
  return burn_squeeze_dim(burn_gather(copy(x), 1, at), 1);
}

/* -- one direction ----------------------------------------------------------------------------- */

/* Part `direction` of input i along its first axis, or of a state along the axis that the layout gives. */
static BurnTensor *of_direction(const Layer *l, size_t i, int axis) {
  return onnx_has_input(l->node, i) ? burn_select_dim(onnx_input(l->node, i), axis, (int64_t)l->direction) : NULL;
}

static BurnTensor *first_state(const Layer *l, size_t i) {
  BurnTensor *given = of_direction(l, i, l->batch_first ? 1 : 0);
  return given ? given : burn_zeros(l->node->device, BURN_SHAPE(l->batch, l->hidden), burn_dtype(l->node->inputs[0]));
}

static BurnTensor *block(const Layer *l, BurnTensor *x, int axis, int64_t first, int64_t count) {
  return burn_slice_dim(x, axis, BURN_RANGE(first * l->hidden, (first + count) * l->hidden));
}

/* Both biases as one; that of a GRU's candidate stays apart where the reset gate multiplies it. */
static BurnTensor *bias_of(Layer *l, bool apart) {
  BurnTensor *both = of_direction(l, 3, 0);
  if (!both) return NULL;
  BurnTensor *of_state = block(l, copy(both), 0, l->gates, l->gates);
  BurnTensor *of_input = block(l, both, 0, 0, l->gates);
  if (!apart) return burn_add(of_input, of_state);
  l->hidden_bias = block(l, copy(of_state), 0, 2, 1);
  BurnTensor *parts[] = {block(l, of_state, 0, 0, 2),
                         burn_zeros(l->node->device, BURN_SHAPE(l->hidden), burn_dtype(of_input))};
  return burn_add(of_input, burn_cat(parts, 2, 0));
}

/* The gates i, o, f, c of ONNX in the order of our op: i, f, c, o. */
static BurnTensor *in_our_order(const Layer *l, BurnTensor *x) {
  if (!x) return NULL;
  BurnTensor *parts[] = {block(l, copy(x), 0, 0, 1), block(l, copy(x), 0, 2, 2), block(l, copy(x), 0, 1, 1)};
  burn_drop(x);
  return burn_cat(parts, 3, 0);
}

/* The weights of the direction as the loop reads them; in the order of our op if it is a usual LSTM. */
static void read_weights(Layer *l) {
  const bool apart = l->gates == 3 && onnx_int(l->node, "linear_before_reset", 0) && onnx_has_input(l->node, 3);
  BurnTensor *weight = of_direction(l, 1, 0), *recurrent = of_direction(l, 2, 0);
  l->bias = bias_of(l, apart);
  if (is_usual(l)) {
    weight = in_our_order(l, weight);
    recurrent = in_our_order(l, recurrent);
    l->bias = in_our_order(l, l->bias);
  }
  l->input_weight = burn_transpose(weight);
  l->weight = burn_transpose(recurrent);
}

/* Where onnx_prepare_recurrent puts the weights of a direction: the first of PREPARED_EACH inputs. */
enum { PREPARED = 8, PREPARED_EACH = 4 };

static void read_prepared(Layer *l) {
  const size_t first = PREPARED + PREPARED_EACH * l->direction;
  l->input_weight = onnx_input(l->node, first);
  l->weight = onnx_input(l->node, first + 1);
  l->bias = onnx_input(l->node, first + 2);
  l->hidden_bias = onnx_input(l->node, first + 3);
}

/* [steps, batch, ..] to [batch, steps, ..] and back, without a copy where it can be. */
static BurnTensor *swapped(BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  if (shape.dims[0] != 1 && shape.dims[1] != 1) return burn_swap_dims(x, 0, 1);
  int64_t dims[BURN_MAX_RANK];
  for (uint32_t i = 0; i < shape.rank; i++) dims[i] = shape.dims[i < 2 ? 1 - i : i];
  return onnx_reshape(x, dims, shape.rank);
}

/* Makes what the loop reads. */
static void prepare(Layer *l) {
  BurnTensor *x = onnx_input(l->node, 0);
  if (l->node->prepared) {
    read_prepared(l);
  } else {
    read_weights(l);
  }
  if (!l->batch_first && !l->flat) x = swapped(x);
  if (l->reversed && !l->backwards) x = reversed(l, x);
  l->inputs = burn_linear(x, l->input_weight, l->bias);
  l->state = first_state(l, 5);
}

static void finish(Layer *l) {
  l->outputs = cleared(l, l->outputs);
  if (!l->last_state) l->last_state = last_of(l, l->outputs);
  if (l->reversed && !l->backwards) l->outputs = reversed(l, l->outputs);
  burn_drop(l->inputs);
  burn_drop(l->weight);
  burn_drop(l->hidden_bias);
  burn_drop(l->peepholes);
  burn_drop(l->lengths);
}

/* -- steps: gates [batch, gates * hidden] of one step, [gates * hidden] if flat; the state becomes that after it --- */

typedef void Step(Layer *l, BurnTensor *gates);

/* Gates plus what the state adds to all of them; takes the state. Those of a flat layer are a bias. */
static BurnTensor *plus_state(Layer *l, BurnTensor *gates) {
  if (l->flat) return burn_linear(l->state, copy(l->weight), gates);
  return burn_add(gates, burn_matmul(l->state, copy(l->weight)));
}

static void rnn_step(Layer *l, BurnTensor *gates) { l->state = activate(l, 0, plus_state(l, gates)); }

static void gru_step(Layer *l, BurnTensor *gates) {
  const bool after = onnx_int(l->node, "linear_before_reset", 0);
  BurnTensor *inputs = block(l, copy(gates), 1, 2, 1), *of_state = NULL, *both;
  if (after) {
    of_state = burn_matmul(copy(l->state), copy(l->weight));
    both = block(l, copy(of_state), 1, 0, 2);
    of_state = block(l, of_state, 1, 2, 1);
    if (l->hidden_bias) of_state = onnx_broadcast(burn_add, of_state, copy(l->hidden_bias));
  } else {
    both = burn_matmul(copy(l->state), block(l, copy(l->weight), 1, 0, 2));
  }
  both = activate(l, 0, burn_add(block(l, gates, 1, 0, 2), both));
  BurnTensor *update = block(l, copy(both), 1, 0, 1), *reset = block(l, both, 1, 1, 1);
  if (after) {
    of_state = burn_mul(reset, of_state);
  } else {
    of_state = burn_matmul(burn_mul(reset, copy(l->state)), block(l, copy(l->weight), 1, 2, 1));
  }
  BurnTensor *candidate = activate(l, 1, burn_add(inputs, of_state));
  l->state = burn_add(candidate, burn_mul(update, burn_sub(l->state, copy(candidate))));
}

/* x plus what peephole `first` sees of the cell. */
static BurnTensor *peeping(const Layer *l, BurnTensor *x, int64_t first, const BurnTensor *cell) {
  if (!l->peepholes) return x;
  BurnTensor *seen = onnx_broadcast(burn_mul, copy(cell), block(l, copy(l->peepholes), 0, first, 1));
  return burn_add(x, seen);
}

static void lstm_step(Layer *l, BurnTensor *gates) {
  gates = plus_state(l, gates);
  BurnTensor *input = activate(l, 0, peeping(l, block(l, copy(gates), 1, 0, 1), 0, l->cell));
  BurnTensor *forget = onnx_int(l->node, "input_forget", 0)
                           ? burn_scalar_sub(1, copy(input))
                           : activate(l, 0, peeping(l, block(l, copy(gates), 1, 2, 1), 2, l->cell));
  BurnTensor *candidate = activate(l, 1, block(l, copy(gates), 1, 3, 1));
  l->cell = burn_add(burn_mul(forget, l->cell), burn_mul(input, candidate));
  BurnTensor *output = activate(l, 0, peeping(l, block(l, gates, 1, 1, 1), 1, l->cell));
  const Function *h = &l->functions[2];
  l->state = burn_mul(output, h->apply(copy(l->cell), h->alpha, h->beta));
}

/* Gates in the order of our op: i, f, c, o. */
static void usual_lstm_step(Layer *l, BurnTensor *gates) {
  gates = plus_state(l, gates);
  BurnTensor *both = burn_sigmoid(block(l, copy(gates), 1, 0, 2));
  BurnTensor *candidate = burn_tanh(block(l, copy(gates), 1, 2, 1)), *output = burn_sigmoid(block(l, gates, 1, 3, 1));
  BurnTensor *input = block(l, copy(both), 1, 0, 1), *forget = block(l, both, 1, 1, 1);
  l->cell = burn_add(burn_mul(forget, l->cell), burn_mul(input, candidate));
  l->state = burn_mul(output, burn_tanh(copy(l->cell)));
}

/* The states of all steps, which it takes, as [batch, steps, hidden]; if flat, as the layout is. */
static BurnTensor *all_steps(const Layer *l, BurnTensor **states) {
  if (l->flat) {
    BurnTensor *all = burn_cat(states, (size_t)l->steps, 0);
    return burn_reshape(all, l->batch_first ? BURN_SHAPE(1, l->steps, l->hidden) : BURN_SHAPE(l->steps, 1, l->hidden));
  }
  return swapped(burn_reshape(burn_cat(states, (size_t)l->steps, 0), BURN_SHAPE(l->steps, l->batch, l->hidden)));
}

/* Runs all steps. Rows of unequal length need the cells of all of them, others the last one. */
static void run_steps(Layer *l, Step *step) {
  const size_t steps = (size_t)l->steps;
  BurnTensor **states = calloc(2 * steps + 1, sizeof(BurnTensor *)), **cells = states ? states + steps : NULL;
  const int64_t width = l->gates * l->hidden, each = l->flat ? width : l->batch;
  BurnTensor *rows = l->flat ? burn_reshape(l->inputs, BURN_SHAPE(l->steps * width))
                             : burn_reshape(swapped(l->inputs), BURN_SHAPE(l->steps * l->batch, width));
  const bool all_cells = l->cell && l->lengths;
  l->inputs = NULL;
  for (size_t i = 0; states && i < steps; i++) {
    const size_t t = l->backwards ? steps - 1 - i : i;
    const int64_t first = (int64_t)t * each;
    step(l, burn_slice_dim(copy(rows), 0, BURN_RANGE(first, first + each)));
    states[t] = copy(l->state);
    if (all_cells) cells[t] = copy(l->cell);
  }
  burn_drop(rows);
  l->outputs = states ? all_steps(l, states)
                      : burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu steps", steps));
  if (all_cells && states) {
    BurnTensor *all = cleared(l, all_steps(l, cells));
    l->last_cell = last_of(l, all);
    burn_drop(all);
  }
  free(states);
  if (l->lengths) {
    burn_drop(l->state);
    burn_drop(l->cell);
  } else {
    l->last_state = l->state;
    l->last_cell = l->cell;
  }
}

/* Our op sorts the weights for its loop, which for one step of a wide state takes longer than the step. */
enum { WIDE = 64 };

/* One row that has all steps: both layouts are the same in memory, and a step's gates may be the bias of a product. */
static bool is_flat(const Layer *l) { return l->batch == 1 && !l->lengths; }

static void run_lstm(Layer *l) {
  const bool usual = is_usual(l), one = usual && l->steps == 1 && l->hidden >= WIDE;
  l->backwards = l->reversed && !l->lengths && (!usual || one);
  l->flat = is_flat(l) && !usual;
  prepare(l);
  l->cell = first_state(l, 6);
  if (!usual || one) {
    run_steps(l, one ? usual_lstm_step : lstm_step);
    return;
  }
  BurnTensor *cells = NULL;
  l->outputs = burn_lstm(l->inputs, l->state, l->cell, l->weight, &cells);
  l->inputs = l->weight = NULL;
  cells = cleared(l, cells);
  l->last_cell = last_of(l, cells);
  burn_drop(cells);
}

static void run_gru(Layer *l) {
  l->backwards = l->reversed && !l->lengths;
  prepare(l);
  run_steps(l, gru_step);
}

static void run_rnn(Layer *l) {
  l->backwards = l->reversed && !l->lengths;
  l->flat = is_flat(l);
  prepare(l);
  run_steps(l, rnn_step);
}

/* -- both directions --------------------------------------------------------------------------- */

/* [directions, ..] along an axis; takes them. */
static BurnTensor *together(BurnTensor **parts, size_t count, int axis) {
  return count == 1 ? burn_unsqueeze_dim(parts[0], axis) : burn_stack(parts, count, axis);
}

static void give_states(OnnxNode *node, size_t i, BurnTensor **states, size_t count, bool batch_first) {
  if (onnx_wants_output(node, i)) {
    onnx_give(node, i, together(states, count, batch_first ? 1 : 0));
  } else {
    for (size_t k = 0; k < count; k++) burn_drop(states[k]);
  }
}

/* Results of all directions as one: [steps, directions, batch, hidden], or the batch first. */
static void give_outputs(OnnxNode *node, const Layer *layers, size_t count) {
  BurnTensor *outputs[2], *states[2], *cells[2];
  const bool batch_first = layers[0].batch_first;
  for (size_t i = 0; i < count; i++) {
    outputs[i] = batch_first || layers[i].flat ? layers[i].outputs : swapped(layers[i].outputs);
    states[i] = layers[i].last_state;
    cells[i] = layers[i].last_cell;
  }
  onnx_give(node, 0, together(outputs, count, batch_first ? 2 : 1));
  give_states(node, 1, states, count, batch_first);
  if (layers[0].last_cell) give_states(node, 2, cells, count, batch_first);
}

/* RNN, LSTM or GRU. */
typedef struct Kind {
  int64_t gates;
  const char *functions[FUNCTIONS]; /* that are usual */
  size_t function_count;
  void (*run)(Layer *l);
} Kind;
static const Kind rnn = {1, {"Tanh"}, 1, run_rnn}, gru = {3, {"Sigmoid", "Tanh"}, 2, run_gru},
                  lstm = {4, {"Sigmoid", "Tanh", "Tanh"}, 3, run_lstm};

/* The directions of a node; 0 if a function is not known, with the reason in the node. */
static size_t read_layers(OnnxNode *node, const Kind *kind, Layer *layers) {
  const bool both = onnx_is(node, "direction", "forward", "bidirectional");
  const bool reverse = onnx_is(node, "direction", "forward", "reverse");
  const size_t count = both ? 2 : 1;
  for (size_t i = 0; i < count; i++) {
    layers[i] = (Layer){.node = node, .gates = kind->gates, .reversed = reverse || i == 1, .direction = i};
    layers[i].batch_first = onnx_int(node, "layout", 0);
    layers[i].clip = onnx_float(node, "clip", 0);
    layers[i].hidden = node->prepared ? onnx_input_dim(node, PREPARED + 1, 0) : onnx_input_dim(node, 2, 2);
    read_functions(&layers[i], kind->functions, kind->function_count);
  }
  return node->reason[0] ? 0 : count;
}

/* Whether each row has its number of steps, and none more than there are: indices are made of them. */
static bool check_lengths(OnnxNode *node, int64_t batch, int64_t steps) {
  if (!onnx_has_input(node, 4)) return true;
  const int64_t count = onnx_input_size(node, 4);
  if (!onnx_counts_are(node, "sequence_lens", (size_t)count, (size_t)batch)) return false;
  int64_t *lengths = calloc((size_t)count + 1, sizeof *lengths);
  BurnStatus status = lengths ? burn_read_i64(onnx_input(node, 4), lengths, (size_t)count)
                              : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sequence_lens of %lld", (long long)count);
  for (int64_t i = 0; i < count && status == BURN_OK; i++) {
    if (lengths[i] >= 0 && lengths[i] <= steps) continue;
    status = burn_status_make(BURN_STATUS_OUT_OF_RANGE, "sequence_lens: %lld of row %lld; 0 to %lld expected",
                              (long long)lengths[i], (long long)i, (long long)steps);
  }
  free(lengths);
  if (status != BURN_OK) onnx_fail(node, status);
  return status == BURN_OK;
}

static void run_layers(OnnxNode *node, const Kind *kind) {
  Layer layers[2];
  const bool batch_first = onnx_int(node, "layout", 0);
  if (!check_lengths(node, onnx_input_dim(node, 0, batch_first ? 0 : 1), onnx_input_dim(node, 0, batch_first ? 1 : 0)))
    return;
  const size_t count = read_layers(node, kind, layers);
  for (size_t i = 0; i < count; i++) {
    Layer *l = &layers[i];
    l->batch = onnx_input_dim(node, 0, l->batch_first ? 0 : 1);
    l->steps = onnx_input_dim(node, 0, l->batch_first ? 1 : 0);
    if (onnx_has_input(node, 4)) l->lengths = burn_cast(onnx_input(node, 4), BURN_DTYPE_I64);
    if (kind->gates == 4) l->peepholes = of_direction(l, 7, 0);
    kind->run(l);
    finish(l);
  }
  if (count > 0) give_outputs(node, layers, count);
}

MAP(RNN) { run_layers(node, &rnn); }
MAP(GRU) { run_layers(node, &gru); }
MAP(LSTM) { run_layers(node, &lstm); }

/* -- at load ------------------------------------------------------------------------------------- */

static bool has_shape(const OnnxNode *node, size_t i, uint32_t rank, int64_t directions, int64_t rows) {
  const BurnTensor *x = node->inputs[i];
  return burn_rank(x) == rank && burn_dim(x, 0) == directions && burn_dim(x, 1) == rows;
}

/* Whether the weights have the shapes that ONNX says, so that what is made of them is what a run would make. */
static bool has_shapes(const OnnxNode *node, const Layer *l, int64_t directions) {
  const int64_t rows = l->gates * l->hidden;
  return has_shape(node, 1, 3, directions, rows) && has_shape(node, 2, 3, directions, rows) &&
         (!onnx_has_input(node, 3) || has_shape(node, 3, 2, directions, 2 * rows)) &&
         (!onnx_has_input(node, 7) || has_shape(node, 7, 2, directions, 3 * l->hidden));
}

size_t onnx_prepare_recurrent(OnnxNode *node, BurnTensor **prepared) {
  const bool is_rnn = strcmp(node->proto->op_type, "RNN") == 0, is_gru = strcmp(node->proto->op_type, "GRU") == 0;
  Layer layers[2];
  const size_t count = burn_rank(node->inputs[2]) == 3 ? read_layers(node,
                                                                     is_rnn   ? &rnn
                                                                     : is_gru ? &gru
                                                                              : &lstm,
                                                                     layers)
                                                       : 0;
  if (count == 0 || !has_shapes(node, &layers[0], (int64_t)count)) return 0;
  for (size_t i = 0; i < count; i++) {
    Layer *l = &layers[i];
    if (l->gates == 4) l->peepholes = of_direction(l, 7, 0);
    read_weights(l);
    burn_drop(l->peepholes);
    BurnTensor *weights[PREPARED_EACH] = {l->input_weight, l->weight, l->bias, l->hidden_bias};
    memcpy(prepared + PREPARED_EACH * i, weights, sizeof weights);
  }
  return PREPARED_EACH * count;
}
