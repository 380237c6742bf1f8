/* decompose_sequence.c - ops over sequences written with other ops: attention and lstm, and the gradients of both. */
#include "decompose_internal.h"

#include <math.h>

/* -- attention -------------------------------------------------------------------------------- */

/* The inputs and attributes of attention and of its gradient. */
typedef struct Heads {
  BurnPrimitive *query, *key, *value, *mask, *bias;
  double scale, cap;
  bool causal, may_hide_all;
} Heads;

/* The query is input number `first`, the mask number `mask`; the attributes of all these ops are the same. */
static Heads heads_of(const BurnOpCall *call, uint32_t first, uint32_t mask) {
  const BurnAttrs_attention *attrs = BURN_ATTRS(attention, call);
  BurnPrimitive *const *inputs = call->inputs + first;
  Heads heads = {.query = inputs[0],
                 .key = inputs[1],
                 .value = inputs[2],
                 .mask = call->inputs[mask],
                 .bias = call->inputs[mask + 1],
                 .scale = attrs->scale.value.f64,
                 .cap = attrs->softcap.value.f64};
  const int64_t width = heads.query->shape[3];
  if (heads.scale == 0 && width != 0) heads.scale = 1 / sqrt((double)width);
  heads.causal = attrs->is_causal.value.i64 != 0;
  heads.may_hide_all = heads.mask || heads.bias || (heads.causal && heads.query->shape[2] > heads.key->shape[2]);
  return heads;
}

/* [1, 1, sq, sk]: true where the key comes after the query; the last query sees the last key. */
static BurnPrimitive *future(BurnBuilder *b, const Heads *heads) {
  const int64_t queries = heads->query->shape[2], keys = heads->key->shape[2];
  const int64_t column[] = {1, 1, queries, 1}, row[] = {1, 1, 1, keys};
  BurnPrimitive *query = burn_build_reshape(b, arange(b, queries, keys - queries), column, 4);
  BurnPrimitive *key = burn_build_reshape(b, arange(b, keys, 0), row, 4);
  return burn_build_op2(b, BURN_OP_greater, key, query);
}

/* softmax along the last axis; a row of -infinity gives 0. Such rows go through softmax as zeros. */
static BurnPrimitive *softmax_of_hidden(BurnBuilder *b, BurnPrimitive *scores) {
  BurnPrimitive *hidden = burn_build_scalar(b, BURN_OP_equal_scalar, scores, -(double)INFINITY);
  hidden = burn_build_dim(b, BURN_OP_all_dim, hidden, 3);
  return masked(b, burn_build_dim(b, BURN_OP_softmax, masked(b, scores, hidden, 0), 3), hidden, 0);
}

/* What softmax takes: -infinity where a key is hidden; in *bent, unless NULL, the tanh of the soft cap. */
static BurnPrimitive *attention_scores(BurnBuilder *b, const Heads *heads, BurnPrimitive **bent) {
  BurnPrimitive *scores = burn_build_op2(b, BURN_OP_matmul, heads->query, burn_build_transpose(b, heads->key));
  scores = scaled(b, scores, heads->scale);
  if (heads->cap > 0) {
    BurnPrimitive *part = one(b, BURN_OP_tanh, scaled(b, scores, 1 / heads->cap));
    if (bent) *bent = part;
    scores = scaled(b, part, heads->cap);
  }
  if (heads->mask) scores = masked(b, scores, heads->mask, -(double)INFINITY);
  if (heads->causal) scores = masked(b, scores, future(b, heads), -(double)INFINITY);
  return heads->bias ? burn_build_add(b, scores, heads->bias) : scores;
}

/* How much every query takes of every key's value. */
static BurnPrimitive *attention_weights(BurnBuilder *b, const Heads *heads, BurnPrimitive **bent) {
  BurnPrimitive *scores = attention_scores(b, heads, bent);
  return heads->may_hide_all ? softmax_of_hidden(b, scores) : burn_build_dim(b, BURN_OP_softmax, scores, 3);
}

DECOMPOSE(attention) {
  const Heads heads = heads_of(call, 0, 3);
  out[0] = burn_build_op2(builder, BURN_OP_matmul, attention_weights(builder, &heads, NULL), heads.value);
}

/* The scores [n, heads, sq, sk] of a row as log(sum(e^x)); -infinity where they all are that. */
static BurnPrimitive *logsumexp_of(BurnBuilder *b, BurnPrimitive *scores) {
  BurnPrimitive *high = burn_build_dim(b, BURN_OP_max_dim, scores, 3);
  BurnPrimitive *hidden = burn_build_scalar(b, BURN_OP_equal_scalar, high, -(double)INFINITY);
  BurnPrimitive *base = masked(b, high, hidden, 0);
  BurnPrimitive *sum = burn_build_dim(b, BURN_OP_sum_dim, one(b, BURN_OP_exp, burn_build_sub(b, scores, base)), 3);
  return burn_build_add(b, one(b, BURN_OP_log, sum), base);
}

DECOMPOSE(attention_with_logsumexp) {
  const BurnTensorDesc *lines = &call->output_descs[1];
  Heads heads = heads_of(call, 0, 3);
  BurnBuilder *b = builder;
  burn_build_call(b, BURN_OP_attention, 5, call->inputs, call->attr_count, call->attrs, 1, out);
  if (heads.key->shape[2] == 0) {
    out[1] = burn_build_full(b, lines->shape, lines->rank, lines->dtype, -(double)INFINITY);
    return;
  }
  if (heads.query->dtype != lines->dtype) {
    heads.query = burn_build_cast(b, heads.query, lines->dtype);
    heads.key = burn_build_cast(b, heads.key, lines->dtype);
    if (heads.bias) heads.bias = burn_build_cast(b, heads.bias, lines->dtype);
  }
  BurnPrimitive *sums = logsumexp_of(b, attention_scores(b, &heads, NULL));
  out[1] = burn_build_reshape(b, sums, lines->shape, lines->rank);
}

/* x summed along the axes where `like` has size 1. */
static BurnPrimitive *summed_like(BurnBuilder *b, BurnPrimitive *x, const BurnPrimitive *like) {
  for (uint32_t i = 0; x && i < like->rank; i++) {
    if (like->shape[i] == 1 && x->shape[i] != 1) x = burn_build_dim(b, BURN_OP_sum_dim, x, i);
  }
  return x;
}

/* What the gradients are made of, beside the heads. */
typedef struct Slopes {
  BurnPrimitive *grad, *weights, *bent;
  BurnPrimitive *slope; /* of the weights */
  BurnPrimitive *hit;   /* how much the gradient hits the result of each query */
} Slopes;

static void attention_gradients(BurnBuilder *b, const Heads *heads, const Slopes *s, BurnPrimitive **out) {
  static const int64_t single[] = {1};
  BurnPrimitive *slope = burn_build_mul(b, s->weights, burn_build_sub(b, s->slope, s->hit));
  out[2] = burn_build_op2(b, BURN_OP_matmul, burn_build_transpose(b, s->weights), s->grad);
  out[3] = heads->bias ? summed_like(b, slope, heads->bias) : burn_build_full(b, single, 1, s->grad->dtype, 0);
  if (heads->mask) slope = masked(b, slope, heads->mask, 0);
  if (heads->causal) slope = masked(b, slope, future(b, heads), 0);
  if (s->bent) slope = burn_build_mul(b, slope, plus(b, scaled(b, burn_build_mul(b, s->bent, s->bent), -1), 1));
  slope = scaled(b, slope, heads->scale);
  out[0] = burn_build_op2(b, BURN_OP_matmul, slope, heads->key);
  out[1] = burn_build_op2(b, BURN_OP_matmul, burn_build_transpose(b, slope), heads->query);
}

DECOMPOSE(attention_backward) {
  const Heads heads = heads_of(call, 1, 4);
  BurnBuilder *b = builder;
  Slopes s = {.grad = call->inputs[0]};
  s.weights = attention_weights(b, &heads, &s.bent);
  s.slope = burn_build_op2(b, BURN_OP_matmul, s.grad, burn_build_transpose(b, heads.value));
  s.hit = burn_build_dim(b, BURN_OP_sum_dim, burn_build_mul(b, s.weights, s.slope), 3);
  attention_gradients(b, &heads, &s, out);
}

/* The weights again, from their scores and the logsumexp of those. */
static BurnPrimitive *weights_of(BurnBuilder *b, BurnPrimitive *scores, BurnPrimitive *logsumexp) {
  const int64_t shape[] = {logsumexp->shape[0], logsumexp->shape[1], logsumexp->shape[2], 1};
  const BurnDType dtype = scores ? scores->dtype : logsumexp->dtype;
  BurnPrimitive *lines = burn_build_reshape(b, logsumexp, shape, 4);
  BurnPrimitive *base = masked(b, lines, burn_build_scalar(b, BURN_OP_equal_scalar, lines, -(double)INFINITY), 0);
  if (dtype != logsumexp->dtype) scores = burn_build_cast(b, scores, logsumexp->dtype);
  BurnPrimitive *weights = one(b, BURN_OP_exp, burn_build_sub(b, scores, base));
  return dtype == logsumexp->dtype ? weights : burn_build_cast(b, weights, dtype);
}

DECOMPOSE(attention_with_logsumexp_backward) {
  const Heads heads = heads_of(call, 1, 6);
  BurnBuilder *b = builder;
  Slopes s = {.grad = call->inputs[0]};
  s.weights = weights_of(b, attention_scores(b, &heads, &s.bent), call->inputs[5]);
  s.slope = burn_build_op2(b, BURN_OP_matmul, s.grad, burn_build_transpose(b, heads.value));
  s.hit = burn_build_dim(b, BURN_OP_sum_dim, burn_build_mul(b, s.grad, call->inputs[4]), 3);
  attention_gradients(b, &heads, &s, out);
}

/* -- lstm ------------------------------------------------------------------------------------- */

enum { GATE_INPUT, GATE_FORGET, GATE_CANDIDATE, GATE_OUTPUT, GATES };

/* Step t of x [n, t, width] as [n, width]. */
static BurnPrimitive *step_of(BurnBuilder *b, BurnPrimitive *x, int64_t t) {
  const int64_t shape[] = {x->shape[0], x->shape[2]};
  return burn_build_reshape(b, range(b, x, 1, t, 1), shape, 2);
}

/* x [n, width] as the one step of [n, 1, width]. */
static BurnPrimitive *as_step(BurnBuilder *b, BurnPrimitive *x) {
  if (!x) return NULL;
  const int64_t shape[] = {x->shape[0], 1, x->shape[1]};
  return burn_build_reshape(b, x, shape, 3);
}

/* One of the four parts of x [n, 4 h]. */
static BurnPrimitive *gate_of(BurnBuilder *b, BurnPrimitive *x, int64_t gate) {
  return x ? range(b, x, 1, gate * (x->shape[1] / GATES), x->shape[1] / GATES) : NULL;
}

/* Steps put together, and zeros if there are none. */
static BurnPrimitive *all_steps(BurnBuilder *b, BurnPrimitive *const *steps, const BurnTensorDesc *desc) {
  const int64_t count = desc->shape[1];
  return count > 0 ? joined(b, steps, count, 1) : burn_build_full(b, desc->shape, desc->rank, desc->dtype, 0);
}

/* Room for `lists` pointers per step; NULL after a failure. */
static BurnPrimitive **step_lists(BurnBuilder *b, int64_t steps, uint32_t lists, uint64_t *bytes) {
  *bytes = ((uint64_t)steps * lists + 1) * sizeof(BurnPrimitive *);
  if (b->status != BURN_OK) return NULL;
  BurnPrimitive **parts = b->host->allocate(*bytes);
  if (!parts) burn_builder_fail(b, BURN_FAIL(OUT_OF_MEMORY, "lstm: no memory for %lld steps", (long long)steps));
  return parts;
}

enum { LSTM_HIDDEN, LSTM_CELL, LSTM_ACTIVATIONS, LSTM_KEPT };

/* One step; state[LSTM_HIDDEN] and state[LSTM_CELL] become those after it. */
static void lstm_turn(BurnBuilder *builder, const BurnOpCall *call, int64_t t, BurnPrimitive **state) {
  BurnBuilder turn = burn__builder_within(builder), *b = &turn;
  BurnPrimitive *recurrent = burn_build_op2(b, BURN_OP_matmul, state[LSTM_HIDDEN], call->inputs[3]), *gates[GATES];
  BurnPrimitive *sum = burn_build_add(b, step_of(b, call->inputs[0], t), recurrent);
  for (int64_t i = 0; i < GATES; i++)
    gates[i] = one(b, i == GATE_CANDIDATE ? BURN_OP_tanh : BURN_OP_sigmoid, gate_of(b, sum, i));
  BurnPrimitive *kept = burn_build_mul(b, gates[GATE_FORGET], state[LSTM_CELL]);
  BurnPrimitive *cell = burn_build_add(b, kept, burn_build_mul(b, gates[GATE_INPUT], gates[GATE_CANDIDATE]));
  BurnPrimitive *hidden = burn_build_mul(b, gates[GATE_OUTPUT], one(b, BURN_OP_tanh, cell));
  BurnPrimitive *const next[] = {hidden, cell, joined(b, gates, GATES, 1)};
  for (int i = 0; i < LSTM_KEPT; i++) state[i] = burn_build_own(builder, burn_build_give(b, next[i]));
  burn_builder_fail(builder, burn_builder_end(b));
}

DECOMPOSE(lstm) {
  const int64_t steps = call->output_descs[0].shape[1];
  BurnPrimitive *state[LSTM_KEPT] = {call->inputs[1], call->inputs[2], NULL};
  uint64_t bytes = 0;
  BurnPrimitive **parts = step_lists(builder, steps, LSTM_KEPT, &bytes);
  if (!parts) return;
  for (int64_t t = 0; t < steps && builder->status == BURN_OK; t++) {
    lstm_turn(builder, call, t, state);
    for (int i = 0; i < LSTM_KEPT; i++) parts[i * steps + t] = as_step(builder, state[i]);
  }
  for (int i = 0; i < LSTM_KEPT && builder->status == BURN_OK; i++)
    out[i] = all_steps(builder, parts + i * steps, &call->output_descs[i]);
  builder->host->free(parts, bytes);
}

/* g * y * (1 - y): through a sigmoid that gave y. */
static BurnPrimitive *through_sigmoid(BurnBuilder *b, BurnPrimitive *g, BurnPrimitive *y) {
  return burn_build_mul(b, g, burn_build_sub(b, y, burn_build_mul(b, y, y)));
}

/* g * (1 - y * y): through a tanh that gave y. */
static BurnPrimitive *through_tanh(BurnBuilder *b, BurnPrimitive *g, BurnPrimitive *y) {
  return burn_build_sub(b, g, burn_build_mul(b, g, burn_build_mul(b, y, y)));
}

/* What came out of step t, or what went into the first: the cell, and of a cell the hidden state. */
static BurnPrimitive *cell_after(BurnBuilder *b, const BurnOpCall *call, int64_t t) {
  return t < 0 ? call->inputs[4] : step_of(b, call->inputs[1], t);
}
static BurnPrimitive *hidden_after(BurnBuilder *b, const BurnOpCall *call, int64_t t) {
  if (t < 0) return call->inputs[3];
  BurnPrimitive *gate = gate_of(b, step_of(b, call->inputs[2], t), GATE_OUTPUT);
  return burn_build_mul(b, gate, one(b, BURN_OP_tanh, cell_after(b, call, t)));
}

enum { BACK_HIDDEN, BACK_CELL, BACK_GATES, BACK_INPUT, BACK_KEPT };

/* The way back through step t. grads[BACK_HIDDEN] and grads[BACK_CELL] are of the states after it and become those
 * before it; grads[BACK_GATES] and grads[BACK_INPUT] become its gates' gradient and the hidden state it began with. */
static void lstm_turn_back(BurnBuilder *builder, const BurnOpCall *call, int64_t t, BurnPrimitive **grads) {
  BurnBuilder turn = burn__builder_within(builder), *b = &turn;
  BurnPrimitive *activations = step_of(b, call->inputs[2], t), *gates[GATES], *slopes[GATES];
  for (int64_t i = 0; i < GATES; i++) gates[i] = gate_of(b, activations, i);
  BurnPrimitive *bent = one(b, BURN_OP_tanh, cell_after(b, call, t));
  BurnPrimitive *hidden = burn_build_add(b, step_of(b, call->inputs[0], t), grads[BACK_HIDDEN]);
  BurnPrimitive *cell = through_tanh(b, burn_build_mul(b, hidden, gates[GATE_OUTPUT]), bent);
  cell = burn_build_add(b, grads[BACK_CELL], cell);
  if (call->inputs[6]) cell = burn_build_add(b, cell, step_of(b, call->inputs[6], t));
  slopes[GATE_INPUT] = burn_build_mul(b, cell, gates[GATE_CANDIDATE]);
  slopes[GATE_FORGET] = burn_build_mul(b, cell, cell_after(b, call, t - 1));
  slopes[GATE_CANDIDATE] = burn_build_mul(b, cell, gates[GATE_INPUT]);
  slopes[GATE_OUTPUT] = burn_build_mul(b, hidden, bent);
  for (int64_t i = 0; i < GATES; i++) {
    if (call->inputs[7]) slopes[i] = burn_build_add(b, slopes[i], gate_of(b, step_of(b, call->inputs[7], t), i));
    slopes[i] = i == GATE_CANDIDATE ? through_tanh(b, slopes[i], gates[i]) : through_sigmoid(b, slopes[i], gates[i]);
  }
  BurnPrimitive *sum = joined(b, slopes, GATES, 1);
  BurnPrimitive *const next[] = {burn_build_op2(b, BURN_OP_matmul, sum, burn_build_transpose(b, call->inputs[5])),
                                 burn_build_mul(b, cell, gates[GATE_FORGET]), sum, hidden_after(b, call, t - 1)};
  for (int i = 0; i < BACK_KEPT; i++) grads[i] = burn_build_own(builder, burn_build_give(b, next[i]));
  burn_builder_fail(builder, burn_builder_end(b));
}

/* x [n, t, width] as the rows of a matrix. */
static BurnPrimitive *as_rows(BurnBuilder *b, BurnPrimitive *x) {
  if (!x) return NULL;
  const int64_t shape[] = {x->shape[0] * x->shape[1], x->shape[2]};
  return burn_build_reshape(b, x, shape, 2);
}

DECOMPOSE(lstm_backward) {
  const BurnTensorDesc *descs = call->output_descs;
  const BurnTensorDesc inputs = burn_primitive_desc(call->inputs[0]);
  const int64_t steps = inputs.shape[1];
  BurnPrimitive *zeros = burn_build_full(builder, descs[1].shape, 2, descs[1].dtype, 0);
  BurnPrimitive *grads[BACK_KEPT] = {zeros, zeros, NULL, NULL};
  uint64_t bytes = 0;
  BurnPrimitive **parts = step_lists(builder, steps, 2, &bytes);
  if (!parts) return;
  for (int64_t t = steps; t-- > 0 && builder->status == BURN_OK;) {
    lstm_turn_back(builder, call, t, grads);
    parts[t] = as_step(builder, grads[BACK_GATES]);
    parts[steps + t] = as_step(builder, grads[BACK_INPUT]);
  }
  if (builder->status == BURN_OK) {
    BurnPrimitive *states = as_rows(builder, all_steps(builder, parts + steps, &inputs));
    out[0] = all_steps(builder, parts, &descs[0]);
    out[1] = grads[BACK_HIDDEN];
    out[2] = grads[BACK_CELL];
    out[3] = burn_build_op2(builder, BURN_OP_matmul, burn_build_transpose(builder, states), as_rows(builder, out[0]));
  }
  builder->host->free(parts, bytes);
}
