/* op_kinds.c - kinds of work that are single ops, or a few. Inputs are made once and kept, so every repetition makes a
 * new result; it is done when the device has no work left, or that of many is waited for together. peer_torch.py has
 * the same kinds under the same names, with the same arguments in the same order: the comments say which. */
#include "bench.h"

#include <burn/ops_optimizer.h>

#include <math.h>

enum { CHAIN = 100 }; /* repetitions of `overhead` kinds: as a program that does not look after every op */

#define ARG(i) (s->args[i])
#define T(i) burn_clone(s->t[i])

/* -- preparing -------------------------------------------------------------------------------- */

static BurnTensor *normal(const Subject *s, BurnShape shape) {
  return burn_random_normal(s->device, shape, s->dtype, 0, 1);
}

static BurnTensor *integers(const Subject *s, BurnShape shape, int64_t end) {
  return burn_random_uniform(s->device, shape, BURN_DTYPE_I64, 0, (double)end);
}

/* The first failure among the tensors; marks the first `tracked` of them as leaves. */
static BurnStatus ready(Subject *s, int tracked) {
  for (int i = 0; i < tracked; i++) s->t[i] = burn_require_grad(s->t[i]);
  for (int i = 0; i < MAX_TENSORS; i++) {
    const BurnStatus status = s->t[i] ? burn_tensor_status(s->t[i]) : BURN_OK;
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* Looks at a result, has it computed and drops it. */
static BurnStatus done(const Subject *s, BurnTensor *result) {
  BurnStatus status = burn_tensor_status(result);
  if (status == BURN_OK) status = subject_finish(s);
  burn_drop(result);
  return status;
}

/* The gradients of all leaves, seeded with ones. The result is kept until all is done: a stack that defers work could
 * leave out a forward pass that nobody looks at, which the peer does not. */
static BurnStatus backward(const Subject *s, BurnTensor *result) {
  BurnGradients *gradients = NULL;
  BurnTensor *kept = burn_clone(result);
  BurnStatus status = burn_backward(result, &gradients);
  if (status == BURN_OK) status = subject_finish(s);
  burn_gradients_drop(gradients);
  burn_drop(kept);
  return status;
}

#define PREPARE(name, tracked, ...)              \
  static BurnStatus prepare_##name(Subject *s) { \
    __VA_ARGS__                                  \
    return ready(s, tracked);                    \
  }
#define RUN(name, call) \
  static BurnStatus run_##name(Subject *s) { return done(s, call); }
#define RUN_BACKWARD(name, call) \
  static BurnStatus run_##name(Subject *s) { return backward(s, call); }

/* -- element by element: n -------------------------------------------------------------------- */

PREPARE(one, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0)));)
PREPARE(two, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0))); s->t[1] = normal(s, BURN_SHAPE(ARG(0)));)
PREPARE(three, 0, for (int i = 0; i < 3; i++) s->t[i] = normal(s, BURN_SHAPE(ARG(0)));)
PREPARE(where, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0))); s->t[1] = normal(s, BURN_SHAPE(ARG(0)));
        s->t[2] = burn_random_bernoulli(s->device, BURN_SHAPE(ARG(0)), BURN_DTYPE_BOOL, 0.5);)
RUN(copy, burn_neg(T(0))) /* the peer copies: as many bytes */
RUN(add, burn_add(T(0), T(1)))
RUN(mul, burn_mul(T(0), T(1)))
RUN(exp, burn_exp(T(0)))
RUN(relu, burn_relu(T(0)))
RUN(tanh, burn_tanh(T(0)))
RUN(gelu, burn_gelu(T(0)))
RUN(chain, burn_gelu(burn_add(burn_mul(T(0), T(1)), T(2)))) /* gelu(a * b + c) */
RUN(where, burn_mask_where(T(0), T(2), T(1)))
RUN(cast_bf16, burn_cast(T(0), BURN_DTYPE_BF16))

/* m, n: a row for all rows */
PREPARE(add_row, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); s->t[1] = normal(s, BURN_SHAPE(1, ARG(1)));)

/* -- along axes: n; or m, n, axis ------------------------------------------------------------- */

#define AXIS ((int)ARG(2))
PREPARE(matrix, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1)));)
PREPARE(matrix_leaf, 1, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1)));)
RUN(sum, burn_sum(T(0)))
RUN(mean, burn_mean(T(0)))
RUN(max, burn_max(T(0)))
RUN(sum_dim, burn_sum_dim(T(0), AXIS))
RUN(mean_dim, burn_mean_dim(T(0), AXIS))
RUN(max_dim, burn_max_dim(T(0), AXIS))
RUN(argmax, burn_argmax(T(0), AXIS))
RUN(cumsum, burn_cumsum(T(0), AXIS))
RUN(softmax, burn_softmax(T(0), AXIS))
RUN(log_softmax, burn_log_softmax(T(0), AXIS))
RUN_BACKWARD(softmax_grad, burn_softmax(T(0), AXIS))
RUN(sort, burn_sort(T(0), 0))
RUN(topk, burn_topk(T(0), ARG(1), 0)) /* n, k */

/* m, n, axis: the norm of axis 0 is that of the transposed matrix, whose result stays transposed */
#define NORM_SIZE ARG(AXIS)
static BurnTensor *layer_norm(const Subject *s) {
  BurnTensor *x = AXIS == 0 ? burn_transpose(T(0)) : T(0);
  return burn_layer_norm(x, T(1), T(2), 1e-5);
}
#define NORM_INPUTS                                \
  s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); \
  s->t[1] = normal(s, BURN_SHAPE(NORM_SIZE));      \
  s->t[2] = normal(s, BURN_SHAPE(NORM_SIZE));
PREPARE(layer_norm, 0, NORM_INPUTS)
PREPARE(layer_norm_leaves, 3, NORM_INPUTS)
RUN(layer_norm, layer_norm(s))
RUN_BACKWARD(layer_norm_grad, layer_norm(s))

/* m, n: as in training with mixed precision, x and its result halves, gamma and beta f32 */
PREPARE(mixed_norm_leaves, 3, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1)));
        s->t[1] = burn_cast(normal(s, BURN_SHAPE(ARG(1))), BURN_DTYPE_F32);
        s->t[2] = burn_cast(normal(s, BURN_SHAPE(ARG(1))), BURN_DTYPE_F32);)
static BurnTensor *mixed_layer_norm(const Subject *s) {
  return burn_cast(burn_layer_norm(burn_cast(T(0), BURN_DTYPE_F32), T(1), T(2), 1e-5), s->dtype);
}
RUN_BACKWARD(mixed_layer_norm_grad, mixed_layer_norm(s))

/* n, c, h, w: the statistics of the batch, as in training */
PREPARE(batch_norm_leaves, 3, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1), ARG(2), ARG(3)));
        s->t[1] = normal(s, BURN_SHAPE(ARG(1))); s->t[2] = normal(s, BURN_SHAPE(ARG(1)));)
static BurnStatus run_batch_norm_grad(Subject *s) {
  const BurnBatchNormConfig config = BurnBatchNormConfig_defaults((size_t)ARG(1));
  BurnBatchNorm norm = burn_batch_norm_init(&config, s->device);
  burn_param_set(&norm.gamma, T(1));
  burn_param_set(&norm.beta, T(2));
  const BurnStatus status = backward(s, burn_batch_norm_forward(&norm, T(0)));
  BurnBatchNorm_release(&norm);
  return status;
}

/* -- products: batch (0: none), m, k, n, transposed (1: lhs, 2: rhs), bf16 -------------------- */

static BurnTensor *factor(const Subject *s, int64_t rows, int64_t columns, bool transposed) {
  const int64_t m = transposed ? columns : rows, n = transposed ? rows : columns;
  BurnTensor *x = normal(s, ARG(0) ? BURN_SHAPE(ARG(0), m, n) : BURN_SHAPE(m, n));
  return ARG(5) ? burn_cast(x, BURN_DTYPE_BF16) : x;
}
PREPARE(matmul, 0, s->t[0] = factor(s, ARG(1), ARG(2), ARG(4) == 1); s->t[1] = factor(s, ARG(2), ARG(3), ARG(4) == 2);)
RUN(matmul, burn_matmul(ARG(4) == 1 ? burn_transpose(T(0)) : T(0), ARG(4) == 2 ? burn_transpose(T(1)) : T(1)))

/* m, k, n */
#define LINEAR_INPUTS                              \
  s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); \
  s->t[1] = normal(s, BURN_SHAPE(ARG(1), ARG(2))); \
  s->t[2] = normal(s, BURN_SHAPE(ARG(2)));
PREPARE(linear, 0, LINEAR_INPUTS)
PREPARE(linear_leaves, 3, LINEAR_INPUTS)
RUN(linear, burn_linear(T(0), T(1), T(2)))
RUN_BACKWARD(linear_grad, burn_linear(T(0), T(1), T(2)))

/* -- in integers: each with its f32 counterpart under the same arguments ------------------------ */

/* The weight in i8; the scale of x is fixed, as after calibration. */
static BurnQuantTensor whole(const Subject *s, int values, int scales) {
  return (BurnQuantTensor){T(values), {T(scales), NULL}, BURN_QUANT_SCHEME};
}
static BurnQuantTensor in_steps(const Subject *s, int x, int scales) {
  return burn_quantize(T(x), BURN_QUANT_SCHEME, (BurnQuantParameters){T(scales), NULL});
}
/* The weight of t[x], in t[to], with the scale t[to + 1]. */
static void quantize_one(Subject *s, int x, int to) {
  s->t[to + 1] = burn_full(s->device, BURN_SHAPE(1), BURN_DTYPE_F32, 4.0 / 127);
  BurnQuantTensor q = in_steps(s, x, to + 1);
  burn_drop(q.parameters.scales);
  s->t[to] = q.values;
}

/* m, k, n: x is quantized, multiplied, and the bias added */
PREPARE(linear_int8, 0, LINEAR_INPUTS quantize_one(s, 1, 3); s->t[2] = burn_unsqueeze(s->t[2], 2);)
RUN(linear_int8, burn_add(burn_quant_matmul(in_steps(s, 0, 4), whole(s, 3, 4), BURN_DTYPE_F32), T(2)))

/* n */
PREPARE(quantize, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0))); quantize_one(s, 0, 1);)
static BurnTensor *quantized_values(const Subject *s) {
  BurnQuantTensor q = in_steps(s, 0, 2);
  burn_drop(q.parameters.scales);
  return q.values;
}
RUN(quantize, quantized_values(s))
RUN(dequantize, burn_dequantize(whole(s, 1, 2), BURN_DTYPE_F32))

/* n, heads, t, d, causal */
#define ATTENTION_INPUTS \
  for (int i = 0; i < 3; i++) s->t[i] = normal(s, BURN_SHAPE(ARG(0), ARG(1), ARG(2), ARG(3)));
static BurnTensor *attention(const Subject *s) {
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.is_causal = ARG(4) != 0;
  return burn_attention(T(0), T(1), T(2), NULL, NULL, options);
}
PREPARE(attention, 0, ATTENTION_INPUTS)
PREPARE(attention_leaves, 3, ATTENTION_INPUTS)
RUN(attention, attention(s))
RUN_BACKWARD(attention_grad, attention(s))

/* -- convolution: n, in, h, w, out, kernel, stride, padding, groups --------------------------- */

#define CONV_INPUTS                                                         \
  s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1), ARG(2), ARG(3)));          \
  s->t[1] = normal(s, BURN_SHAPE(ARG(4), ARG(1) / ARG(8), ARG(5), ARG(5))); \
  s->t[2] = normal(s, BURN_SHAPE(ARG(4)));
static BurnConv2dOptions conv_options(const Subject *s) {
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  options.stride[0] = options.stride[1] = ARG(6);
  options.padding[0] = options.padding[1] = ARG(7);
  options.groups = ARG(8);
  return options;
}
static BurnTensor *conv2d(const Subject *s) { return burn_conv2d(T(0), T(1), T(2), conv_options(s)); }
PREPARE(conv2d, 0, CONV_INPUTS)
PREPARE(conv2d_leaves, 3, CONV_INPUTS)
RUN(conv2d, conv2d(s))
RUN_BACKWARD(conv2d_grad, conv2d(s))
static BurnTensor *conv2d_int8(const Subject *s) {
  return burn_quant_conv2d(in_steps(s, 0, 4), whole(s, 3, 4), T(2), conv_options(s), BURN_DTYPE_F32);
}
PREPARE(conv2d_int8, 0, CONV_INPUTS quantize_one(s, 1, 3);)
RUN(conv2d_int8, conv2d_int8(s)) /* x is quantized, convolved, with bias */

/* -- pooling: n, c, h, w, kernel, stride, padding; or n, c, h, w, output height, output width -- */

static BurnPool2dOptions pool_options(const Subject *s) {
  BurnPool2dOptions options = BURN_POOL2D_OPTIONS(ARG(4), ARG(4));
  options.stride[0] = options.stride[1] = ARG(5);
  options.padding[0] = options.padding[1] = ARG(6);
  return options;
}
PREPARE(image, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1), ARG(2), ARG(3)));)
PREPARE(image_leaf, 1, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1), ARG(2), ARG(3)));)
RUN(max_pool, burn_max_pool2d(T(0), pool_options(s)))
RUN_BACKWARD(max_pool_grad, burn_max_pool2d(T(0), pool_options(s)))
RUN(avg_pool, burn_avg_pool2d(T(0), pool_options(s)))
RUN_BACKWARD(avg_pool_grad, burn_avg_pool2d(T(0), pool_options(s)))
RUN(adaptive_avg_pool, burn_adaptive_avg_pool2d(T(0), &s->args[4]))
RUN_BACKWARD(adaptive_avg_pool_grad, burn_adaptive_avg_pool2d(T(0), &s->args[4]))

/* -- by index --------------------------------------------------------------------------------- */

/* vectors, d, batch, sequence */
#define EMBEDDING_INPUTS                           \
  s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); \
  s->t[1] = integers(s, BURN_SHAPE(ARG(2), ARG(3)), ARG(0));
PREPARE(embedding, 0, EMBEDDING_INPUTS)
PREPARE(embedding_leaf, 1, EMBEDDING_INPUTS)
RUN(embedding, burn_embedding(T(0), T(1)))
RUN_BACKWARD(embedding_grad, burn_embedding(T(0), T(1)))

/* m, n, k, axis: k indices along the axis of [m, n] */
#define INDEX_SHAPE (ARG(3) == 0 ? BURN_SHAPE(ARG(2), ARG(1)) : BURN_SHAPE(ARG(0), ARG(2)))
PREPARE(gather, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); s->t[1] = integers(s, INDEX_SHAPE, ARG(ARG(3)));)
RUN(gather, burn_gather(T(0), (int)ARG(3), T(1)))
PREPARE(scatter_add, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1)));
        s->t[1] = integers(s, INDEX_SHAPE, ARG(ARG(3))); s->t[2] = normal(s, INDEX_SHAPE);)
RUN(scatter_add, burn_scatter_add(T(0), (int)ARG(3), T(1), T(2)))
/* m, n, k: k rows of [m, n]; and k rows added to it */
PREPARE(select, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); s->t[1] = integers(s, BURN_SHAPE(ARG(2)), ARG(0));
        s->t[2] = normal(s, BURN_SHAPE(ARG(2), ARG(1)));)
RUN(select, burn_select(T(0), 0, T(1)))
RUN(select_add, burn_select_add(T(0), 0, T(1), T(2)))

/* -- copies ----------------------------------------------------------------------------------- */

/* m, n, axis: two matrices joined */
PREPARE(cat, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); s->t[1] = normal(s, BURN_SHAPE(ARG(0), ARG(1)));)
static BurnStatus run_cat(Subject *s) {
  BurnTensor *const parts[] = {T(0), T(1)};
  return done(s, burn_cat(parts, 2, AXIS));
}
/* m, n, from, to: some columns, made whole */
RUN(slice, burn_flatten(burn_slice_dim(T(0), 1, BURN_RANGE(ARG(2), ARG(3))), 0, 1))
/* m, n: transposed, made whole */
RUN(transpose, burn_flatten(burn_transpose(T(0)), 0, 1))
/* n, c, h, w: with channels last, made whole */
RUN(channels_last, burn_flatten(burn_permute(T(0), (const int[]){0, 2, 3, 1}), 0, 3))
/* n, t, heads, d: heads before time, as for attention, made whole */
RUN(heads, burn_flatten(burn_swap_dims(T(0), 1, 2), 0, 3))

/* -- random: n -------------------------------------------------------------------------------- */

static BurnStatus prepare_nothing(Subject *s) {
  (void)s;
  return BURN_OK;
}
RUN(uniform, burn_random_uniform(s->device, BURN_SHAPE(ARG(0)), BURN_DTYPE_F32, 0, 1))
RUN(normal, burn_random_normal(s->device, BURN_SHAPE(ARG(0)), BURN_DTYPE_F32, 0, 1))
RUN(bernoulli, burn_random_bernoulli(s->device, BURN_SHAPE(ARG(0)), BURN_DTYPE_F32, 0.5))
RUN(dropout, burn_dropout(T(0), 0.5))

/* -- training --------------------------------------------------------------------------------- */

/* n: parameter, gradient and both moments; the parameter and the moments are given away and overwritten */
PREPARE(adam, 0, s->t[0] = normal(s, BURN_SHAPE(ARG(0))); s->t[1] = normal(s, BURN_SHAPE(ARG(0)));
        s->t[2] = burn_zeros(s->device, BURN_SHAPE(ARG(0)), BURN_DTYPE_F32);
        s->t[3] = burn_zeros(s->device, BURN_SHAPE(ARG(0)), BURN_DTYPE_F32);)
static BurnStatus run_adam(Subject *s) {
  BurnTensor *out[3];
  burn_adam_step(s->t[0], T(1), s->t[2], s->t[3], 0.9, 0.999, 1e-4, 1e-8, 1, 0, out);
  s->t[0] = out[0];
  s->t[2] = out[1];
  s->t[3] = out[2];
  const BurnStatus status = ready(s, 0);
  return status == BURN_OK ? subject_finish(s) : status;
}

/* n, classes */
#define ENTROPY_INPUTS                             \
  s->t[0] = normal(s, BURN_SHAPE(ARG(0), ARG(1))); \
  s->t[1] = integers(s, BURN_SHAPE(ARG(0)), ARG(1));
PREPARE(cross_entropy, 0, ENTROPY_INPUTS)
PREPARE(cross_entropy_leaf, 1, ENTROPY_INPUTS)
RUN(cross_entropy, burn_cross_entropy(T(0), T(1)))
RUN_BACKWARD(cross_entropy_grad, burn_cross_entropy(T(0), T(1)))
/* in f32, of logits that are halves */
RUN_BACKWARD(mixed_cross_entropy_grad, burn_cross_entropy(burn_cast(T(0), BURN_DTYPE_F32), T(1)))

/* -- overhead: CHAIN ops in a repetition ------------------------------------------------------ */

/* Results are kept until all are done: a stack that defers work could leave out what is dropped unseen. */
static BurnStatus all_done(const Subject *s, BurnTensor **results) {
  BurnStatus status = subject_finish(s);
  for (int i = 0; i < CHAIN; i++) {
    if (status == BURN_OK) status = burn_tensor_status(results[i]);
    burn_drop(results[i]);
  }
  return status;
}

static BurnStatus run_tiny_add(Subject *s) {
  BurnTensor *results[CHAIN];
  for (int i = 0; i < CHAIN; i++) results[i] = burn_add(T(0), T(1));
  return all_done(s, results);
}

static BurnStatus run_tiny_add_in_place(Subject *s) {
  for (int i = 0; i < CHAIN; i++) s->t[0] = burn_add(s->t[0], T(1));
  return done(s, T(0));
}

PREPARE(two_leaf, 1, s->t[0] = normal(s, BURN_SHAPE(ARG(0))); s->t[1] = normal(s, BURN_SHAPE(ARG(0)));)
static BurnStatus run_tiny_add_grad(Subject *s) {
  BurnTensor *x = T(0);
  for (int i = 0; i < CHAIN; i++) x = burn_add(x, T(1));
  return backward(s, x);
}

static BurnStatus run_tiny_linear(Subject *s) {
  BurnTensor *results[CHAIN];
  for (int i = 0; i < CHAIN; i++) results[i] = burn_relu(burn_linear(T(0), T(1), T(2)));
  return all_done(s, results);
}

/* -- the table -------------------------------------------------------------------------------- */

#define PLAIN(kind, inputs) \
  { #kind, false, prepare_##inputs, run_##kind, false }
#define TRACKED(kind, inputs) \
  { #kind, true, prepare_##inputs, run_##kind, false }
const Kind op_kinds[] = {
    PLAIN(copy, one),
    PLAIN(add, two),
    PLAIN(mul, two),
    PLAIN(exp, one),
    PLAIN(relu, one),
    PLAIN(tanh, one),
    PLAIN(gelu, one),
    PLAIN(chain, three),
    PLAIN(where, where),
    PLAIN(cast_bf16, one),
    {"add_row", false, prepare_add_row, run_add, false},
    PLAIN(sum, one),
    PLAIN(mean, one),
    PLAIN(max, one),
    PLAIN(sum_dim, matrix),
    PLAIN(mean_dim, matrix),
    PLAIN(max_dim, matrix),
    PLAIN(argmax, matrix),
    PLAIN(cumsum, matrix),
    PLAIN(softmax, matrix),
    PLAIN(log_softmax, matrix),
    TRACKED(softmax_grad, matrix_leaf),
    PLAIN(sort, one),
    PLAIN(topk, one),
    PLAIN(layer_norm, layer_norm),
    TRACKED(layer_norm_grad, layer_norm_leaves),
    TRACKED(mixed_layer_norm_grad, mixed_norm_leaves),
    TRACKED(batch_norm_grad, batch_norm_leaves),
    PLAIN(matmul, matmul),
    PLAIN(linear, linear),
    TRACKED(linear_grad, linear_leaves),
    PLAIN(linear_int8, linear_int8),
    PLAIN(quantize, quantize),
    PLAIN(dequantize, quantize),
    PLAIN(attention, attention),
    TRACKED(attention_grad, attention_leaves),
    PLAIN(conv2d, conv2d),
    TRACKED(conv2d_grad, conv2d_leaves),
    PLAIN(conv2d_int8, conv2d_int8),
    PLAIN(max_pool, image),
    TRACKED(max_pool_grad, image_leaf),
    PLAIN(avg_pool, image),
    TRACKED(avg_pool_grad, image_leaf),
    PLAIN(adaptive_avg_pool, image),
    TRACKED(adaptive_avg_pool_grad, image_leaf),
    PLAIN(embedding, embedding),
    TRACKED(embedding_grad, embedding_leaf),
    PLAIN(gather, gather),
    PLAIN(scatter_add, scatter_add),
    PLAIN(select, select),
    PLAIN(select_add, select),
    PLAIN(cat, cat),
    PLAIN(slice, matrix),
    PLAIN(transpose, matrix),
    PLAIN(channels_last, image),
    PLAIN(heads, image),
    PLAIN(uniform, nothing),
    PLAIN(normal, nothing),
    PLAIN(bernoulli, nothing),
    PLAIN(dropout, one),
    PLAIN(adam, adam),
    {"adam_fused", false, prepare_adam, run_adam, false},
    PLAIN(cross_entropy, cross_entropy),
    TRACKED(cross_entropy_grad, cross_entropy_leaf),
    TRACKED(mixed_cross_entropy_grad, cross_entropy_leaf),
    PLAIN(tiny_add, two),
    PLAIN(tiny_add_in_place, two),
    {"tiny_add_untracked", true, prepare_two, run_tiny_add, false},
    {"host_add", false, prepare_two, run_tiny_add, true},
    TRACKED(tiny_add_grad, two_leaf),
    PLAIN(tiny_linear, linear),
};
const size_t op_kind_count = sizeof op_kinds / sizeof op_kinds[0];
