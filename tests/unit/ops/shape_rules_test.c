/* shape_rules_test.c - wrong use of every rule: the code, and a message with the op and the values; how failures
 * travel.
 *
 * A row of `mistakes` is one wrong call. Each is made on every stack; the message must be the same on all, and nothing
 * may be left over in the backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/ops_optimizer.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_stacks.h"

static BurnDevice *device; /* of the stack that is tested */

/* -- short makers ----------------------------------------------------------------------------- */

#define F(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_F32)
#define D(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_F64)
#define I(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_I64)
#define B(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_BOOL)
#define RANGES(...) (const BurnRange[]){__VA_ARGS__}, (uint32_t)(sizeof((BurnRange[]){__VA_ARGS__}) / sizeof(BurnRange))

static BurnTensor *indices(const int64_t *values, int64_t count) {
  return burn_tensor_i64(device, values, BURN_SHAPE(count));
}

/* The gradient of the query from what attention_with_logsumexp is said to have given. */
static BurnTensor *attention_gradient(BurnTensor *grad, BurnTensor *result, BurnTensor *logsumexp) {
  BurnTensor *heads[] = {grad, F(1, 2, 3, 4), F(1, 2, 5, 4), F(1, 2, 5, 4), result, logsumexp, NULL, NULL},
             *gradients[4];
  burn_op_call(device, burn_op_info(BURN_OP_attention_with_logsumexp_backward), heads, 8, NULL, 0, gradients);
  for (int i = 1; i < 4; i++) burn_drop(gradients[i]);
  return gradients[0];
}
#define INDICES(...) \
  indices((const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static BurnTensor *cat2(BurnTensor *a, BurnTensor *b, int dim) { return burn_cat((BurnTensor *const[]){a, b}, 2, dim); }
static BurnTensor *stack2(BurnTensor *a, BurnTensor *b, int dim) {
  return burn_stack((BurnTensor *const[]){a, b}, 2, dim);
}

static BurnConv2dOptions conv(int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  return (BurnConv2dOptions){{stride, stride}, {padding, padding}, {dilation, dilation}, groups, {0, 0}, false, {0, 0}};
}

static BurnConv2dOptions uneven(int64_t begin, int64_t end) {
  return (BurnConv2dOptions){{1, 1}, {begin, begin}, {1, 1}, 1, {0, 0}, true, {end, end}};
}
static BurnConv3dOptions volume(int64_t stride, int64_t groups) {
  return (BurnConv3dOptions){{stride, stride, stride}, {0, 0, 0}, {1, 1, 1}, groups, {0, 0, 0}};
}

/* Quantized in blocks along the last axis, and with given scales. */
static BurnQuantTensor quantized(BurnShape shape, int64_t block, bool two_level) {
  BurnQuantScheme scheme = BURN_QUANT_SCHEME;
  scheme.block_rank = block > 0;
  scheme.block[0] = block;
  scheme.two_level = two_level;
  BurnQuantParameters parameters = {F(1), two_level ? F(1) : NULL};
  return burn_quantize(burn_ones(device, shape, BURN_DTYPE_F32), scheme, parameters);
}
/* x [1, 2, 3, 3] and weight [3, channels, side, side]. */
static BurnTensor *quantized_conv(int64_t channels, int64_t side, BurnTensor *bias, BurnDType dtype) {
  return burn_quant_conv2d(quantized(BURN_SHAPE(1, 2, 3, 3), 0, false),
                           quantized(BURN_SHAPE(3, channels, side, side), 0, false), bias, BURN_CONV2D_OPTIONS, dtype);
}

static BurnQuantTensor quantized_by(BurnTensor *x, BurnTensor *scales) {
  return burn_quantize(x, BURN_QUANT_SCHEME, (BurnQuantParameters){scales, NULL});
}

static BurnPool2dOptions pool(int64_t kernel, int64_t stride, int64_t dilation) {
  return (BurnPool2dOptions){{kernel, kernel}, {stride, stride}, {0, 0}, {dilation, dilation}, false, true};
}

/* The second result of an op with two is a failed tensor too. */
static BurnTensor *second(BurnTensor *first, BurnTensor *other) {
  burn_drop(first);
  return other;
}
static BurnTensor *max_indices(BurnTensor *x, int dim) {
  BurnTensor *where = NULL;
  BurnTensor *values = burn_max_dim_with_indices(x, dim, &where);
  return second(values, where);
}
static BurnTensor *pool_indices(BurnTensor *x, BurnPool2dOptions options) {
  BurnTensor *where = NULL;
  BurnTensor *values = burn_max_pool2d_with_indices(x, options, &where);
  return second(values, where);
}

static BurnTensor *lu_upper(BurnTensor *x) {
  BurnTensor *lower = NULL, *upper = NULL;
  burn_drop(burn_lu(x, &lower, &upper));
  return second(lower, upper);
}
static BurnTensor *lu_permutation(BurnTensor *x) {
  BurnTensor *permutation = NULL;
  BurnTensor *packed = burn_lu_decomposition(x, &permutation);
  return second(packed, permutation);
}
static BurnTensor *qr_upper(BurnTensor *x) {
  BurnTensor *upper = NULL;
  BurnTensor *q = burn_qr(x, true, &upper);
  return second(q, upper);
}
static BurnTensor *var_mean(BurnTensor *x, int dim) {
  BurnTensor *mean = NULL;
  BurnTensor *variance = burn_var_mean(x, dim, &mean);
  return second(variance, mean);
}
static BurnTensor *rfft_imaginary(BurnTensor *x, int dim, int64_t n) {
  BurnTensor *imaginary = NULL;
  BurnTensor *real = burn_rfft(x, dim, n, &imaginary);
  return second(real, imaginary);
}
static BurnTensor *grid_of(BurnTensor *first, BurnTensor *other) {
  BurnTensor *grids[2] = {NULL};
  const BurnStatus status =
      burn_meshgrid((BurnTensor *const[]){first, other}, 2, BURN_GRID_MATRIX, BURN_GRID_DENSE, grids);
  burn_drop(burn_tensor_failed(status));
  return second(grids[0], grids[1]);
}

static BurnTensor *split_status(BurnTensor *x, int64_t size, int dim, size_t room) {
  BurnTensor *parts[4] = {NULL};
  size_t count = 0;
  return burn_tensor_failed(burn_split(x, size, dim, parts, room, &count));
}
static BurnTensor *chunk_status(BurnTensor *x, int64_t chunks, int dim, size_t room) {
  BurnTensor *parts[4] = {NULL};
  size_t count = 0;
  return burn_tensor_failed(burn_chunk(x, chunks, dim, parts, room, &count));
}
static BurnTensor *adam(BurnTensor *param, BurnTensor *gradient, BurnTensor *moment_1, BurnTensor *moment_2) {
  BurnTensor *out[3] = {NULL};
  burn_adam_step(param, gradient, moment_1, moment_2, 0.9, 0.99, 0.1, 1e-5, 1, 0, out);
  burn_drop(out[0]);
  return second(out[1], out[2]);
}
static BurnTensor *sgd(BurnTensor *param, BurnTensor *gradient, BurnTensor *velocity) {
  BurnTensor *out[2] = {NULL};
  burn_sgd_step(param, gradient, velocity, 0.1, 0.9, 0, false, 0, out);
  return second(out[0], out[1]);
}
static BurnTensor *read_status(BurnTensor *x, size_t count) {
  float values[4];
  return burn_tensor_failed(burn_read_f32(x, values, count));
}
static BurnTensor *scalar_status(BurnTensor *x) {
  double value;
  return burn_tensor_failed(burn_read_scalar(x, &value));
}
static BurnTensor *write_status(BurnTensor *x, size_t bytes) {
  const float values[8] = {0};
  const BurnStatus status = burn_write(&x, values, bytes);
  burn_drop(x);
  return burn_tensor_failed(status);
}
static BurnShape rank_0(void) { return (BurnShape){0, {0}}; }
static BurnShape rank_9(void) { return (BurnShape){9, {1, 1, 1, 1, 1, 1, 1, 1}}; }

/* -- the mistakes: call, code, message -------------------------------------------------------- */

#define MISTAKES(ROW)                                                                                                  \
  ROW(burn_matmul(F(3, 4), F(5, 6)), INVALID_SHAPE, "matmul: [3,4] x [5,6]: inner dimensions 4 and 5 differ")          \
  ROW(burn_matmul(F(4), F(4)), INVALID_SHAPE, "matmul: [4] x [4]: equal ranks of 2 or more are needed")                \
  ROW(burn_matmul(F(2, 3, 4), F(4, 5)), INVALID_SHAPE, "matmul: [2,3,4] x [4,5]: equal ranks of 2 or more are needed") \
  ROW(burn_matmul(F(2, 3, 4), F(3, 4, 5)), INVALID_SHAPE, "matmul: [2,3,4] x [3,4,5]: batch axis 0 is 2 and 3")        \
  ROW(burn_matmul(F(2, 2), D(2, 2)), INVALID_DTYPE, "matmul: lhs is f32 and rhs is f64; convert one with burn_cast")   \
  ROW(burn_matmul(B(2, 2), B(2, 2)), INVALID_DTYPE, "matmul: not defined for bool; it takes float int tensors")        \
  ROW(burn_add(F(2, 3), F(2, 4)), INVALID_SHAPE, "add: [2,3] and [2,4] do not broadcast: axis 1 is 3 and 4")           \
  ROW(burn_add(F(2, 3), F(3)), INVALID_SHAPE, "add: [2,3] and [3] have different ranks; add axes with burn_unsqueeze") \
  ROW(burn_add(F(2), I(2)), INVALID_DTYPE, "add: lhs is f32 and rhs is i64; convert one with burn_cast")               \
  ROW(burn_add(B(2), B(2)), INVALID_DTYPE, "add: not defined for bool; it takes float int tensors")                    \
  ROW(burn_equal(F(0, 3), F(2, 3)), INVALID_SHAPE, "equal: [0,3] and [2,3] do not broadcast: axis 0 is 0 and 2")       \
  ROW(burn_greater(B(2), B(2)), INVALID_DTYPE, "greater: not defined for bool; it takes float int tensors")            \
  ROW(burn_exp(I(2)), INVALID_DTYPE, "exp: not defined for i64; it takes float tensors")                               \
  ROW(burn_bool_not(F(2)), INVALID_DTYPE, "bool_not: not defined for f32; it takes bool tensors")                      \
  ROW(burn_bool_and(B(2), B(3)), INVALID_SHAPE, "bool_and: [2] and [3] do not broadcast: axis 0 is 2 and 3")           \
  ROW(burn_powf(I(2), I(2)), INVALID_DTYPE, "powf: not defined for i64; it takes float tensors")                       \
  ROW(burn_asinh(I(2)), INVALID_DTYPE, "asinh: not defined for i64; it takes float tensors")                           \
  ROW(burn_is_nan(I(2)), INVALID_DTYPE, "is_nan: not defined for i64; it takes float tensors")                         \
  ROW(burn_is_finite(B(2)), INVALID_DTYPE, "is_finite: not defined for bool; it takes float tensors")                  \
  ROW(burn_bitwise_not(F(2)), INVALID_DTYPE, "bitwise_not: not defined for f32; it takes int tensors")                 \
  ROW(burn_bitwise_and(B(2), B(2)), INVALID_DTYPE, "bitwise_and: not defined for bool; it takes int tensors")          \
  ROW(burn_bitwise_left_shift(I(2), I(3)), INVALID_SHAPE,                                                              \
      "bitwise_left_shift: [2] and [3] do not broadcast: axis 0 is 2 and 3")                                           \
  ROW(burn_fmod(I(2), I(2)), INVALID_DTYPE, "fmod: not defined for i64; it takes float tensors")                       \
  ROW(burn_powi(F(2), F(2)), INVALID_DTYPE, "powi: rhs must be int, not f32")                                          \
  ROW(burn_powi(B(2), I(2)), INVALID_DTYPE, "powi: not defined for bool; it takes float int tensors")                  \
  ROW(burn_powi(F(2), I(3)), INVALID_SHAPE, "powi: [2] and [3] do not broadcast: axis 0 is 2 and 3")                   \
  ROW(burn_powi_scalar(B(2), 2), INVALID_DTYPE, "powi_scalar: not defined for bool; it takes float int tensors")       \
  ROW(burn_fmod_scalar(I(2), 2), INVALID_DTYPE, "fmod_scalar: not defined for i64; it takes float tensors")            \
  ROW(burn_scalar_sub(1, B(2)), INVALID_DTYPE, "scalar_sub: not defined for bool; it takes float int tensors")         \
  ROW(burn_scalar_div(1, B(2)), INVALID_DTYPE, "scalar_div: not defined for bool; it takes float int tensors")         \
  ROW(burn_bitwise_or_scalar(F(2), 1), INVALID_DTYPE, "bitwise_or_scalar: not defined for f32; it takes int tensors")  \
  ROW(burn_bitwise_right_shift_scalar(D(2), 1), INVALID_DTYPE,                                                         \
      "bitwise_right_shift_scalar: not defined for f64; it takes int tensors")                                         \
  ROW(burn_deg2rad(I(2)), INVALID_DTYPE, "deg2rad: not defined for i64; it takes float tensors")                       \
  ROW(burn_rad2deg(B(2)), INVALID_DTYPE, "rad2deg: not defined for bool; it takes float tensors")                      \
  ROW(burn_contains_nan(I(2)), INVALID_DTYPE, "contains_nan: not defined for i64; it takes float tensors")             \
  ROW(burn_is_close(F(2), D(2), 0, 0), INVALID_DTYPE,                                                                  \
      "is_close: lhs is f32 and rhs is f64; convert one with burn_cast")                                               \
  ROW(burn_is_close(F(2), F(3), 0, 0), INVALID_SHAPE, "is_close: [2] and [3] do not broadcast: axis 0 is 2 and 3")     \
  ROW(burn_all_close(F(2), F(2), -1, 0), INVALID_ARGUMENT, "all_close: rtol -1 and atol 0; neither may be negative")   \
  ROW(burn_cast(F(2), 77), INVALID_DTYPE, "cast: there is no dtype number 77")                                         \
  ROW(burn_sum_dim(F(2, 3), 2), OUT_OF_RANGE, "sum_dim: dim 2 is outside -2..1 of shape [2,3]")                        \
  ROW(burn_sum_dim(F(2, 3), -3), OUT_OF_RANGE, "sum_dim: dim -3 is outside -2..1 of shape [2,3]")                      \
  ROW(burn_sum(B(2)), INVALID_DTYPE, "sum: not defined for bool; it takes float int tensors")                          \
  ROW(burn_max(F(0)), INVALID_SHAPE, "max: the tensor of shape [0] has no elements")                                   \
  ROW(burn_min(F(2, 0)), INVALID_SHAPE, "min: the tensor of shape [2,0] has no elements")                              \
  ROW(burn_max_dim(F(2, 0), 1), INVALID_SHAPE, "max_dim: axis 1 of [2,0] is empty")                                    \
  ROW(burn_argmin(F(2, 0), 1), INVALID_SHAPE, "argmin: axis 1 of [2,0] is empty")                                      \
  ROW(burn_max_dim(F(0, 0), 1), INVALID_SHAPE, "max_dim: axis 1 of [0,0] is empty")                                    \
  ROW(burn_min_dim(I(0, 0), 0), INVALID_SHAPE, "min_dim: axis 0 of [0,0] is empty")                                    \
  ROW(burn_argmax(F(0, 0), 1), INVALID_SHAPE, "argmax: axis 1 of [0,0] is empty")                                      \
  ROW(burn_mean(I(0)), INVALID_SHAPE, "mean: the tensor of shape [0] has no elements")                                 \
  ROW(burn_mean_dim(I(2, 0), 1), INVALID_SHAPE, "mean_dim: axis 1 of [2,0] is empty")                                  \
  ROW(burn_mean_dim(I(0, 0), 1), INVALID_SHAPE, "mean_dim: axis 1 of [0,0] is empty")                                  \
  ROW(burn_argmax(F(2), 1), OUT_OF_RANGE, "argmax: dim 1 is outside -1..0 of shape [2]")                               \
  ROW(burn_prelu(F(2, 3, 4), F(2)), INVALID_SHAPE,                                                                     \
      "prelu: alpha has 2 values, x of shape [2,3,4] needs 1 or one per channel (axis 1)")                             \
  ROW(burn_prelu(F(3), F(3)), INVALID_SHAPE, "prelu: alpha has 3 values, x of shape [3] needs 1")                      \
  ROW(burn_prelu(F(2, 3), F(3, 1)), INVALID_SHAPE, "prelu: alpha has shape [3,1], rank 1 expected")                    \
  ROW(burn_prelu(F(2, 3), D(3)), INVALID_DTYPE, "prelu: x is f32 and alpha is f64; convert one with burn_cast")        \
  ROW(burn_celu(F(2), 0), INVALID_ARGUMENT, "celu: alpha is 0, and x is divided by it")                                \
  ROW(burn_glu(F(2, 3), 1), INVALID_SHAPE, "glu: axis 1 of [2,3] is halved and must be even")                          \
  ROW(burn_glu(F(2, 4), 2), OUT_OF_RANGE, "glu: dim 2 is outside -2..1 of shape [2,4]")                                \
  ROW(burn_mish(I(2)), INVALID_DTYPE, "mish: not defined for i64; it takes float tensors")                             \
  ROW(burn_det(F(3, 3)), INVALID_SHAPE, "det: shape [3,3]; rank 3 or more expected")                                   \
  ROW(burn_det(F(2, 3, 4)), INVALID_SHAPE, "det: the matrices of shape [2,3,4] are not square")                        \
  ROW(lu_upper(F(3)), INVALID_SHAPE, "lu: shape [3]; rank 2 or more expected")                                         \
  ROW(qr_upper(I(2, 2)), INVALID_DTYPE, "qr: not defined for i64; it takes float tensors")                             \
  ROW(lu_permutation(F(2, 3)), INVALID_SHAPE, "lu_decomposition: shape [2,3]; one square matrix expected")             \
  ROW(lu_permutation(F(2, 2)), INVALID_ARGUMENT, "lu_decomposition: the matrix is singular: pivot 1 is 0")             \
  ROW(burn_diag(F(3)), INVALID_SHAPE, "diag: shape [3]; rank 2 or more expected")                                      \
  ROW(burn_trace(F(3)), INVALID_SHAPE, "trace: shape [3]; rank 2 or more expected")                                    \
  ROW(burn_matvec(F(2, 3), F(2)), INVALID_SHAPE,                                                                       \
      "matvec: [2,3] x [2]: a matrix [.., m, n] needs a vector [.., n] with one axis less")                            \
  ROW(burn_matvec(F(2, 2, 3), F(3)), INVALID_SHAPE,                                                                    \
      "matvec: [2,2,3] x [3]: a matrix [.., m, n] needs a vector [.., n] with one axis less")                          \
  ROW(burn_outer(F(2), F(1, 2)), INVALID_SHAPE,                                                                        \
      "outer: [2] and [1,2] have different ranks; add axes with burn_unsqueeze")                                       \
  ROW(burn_outer_dim(F(2), F(2), 1), OUT_OF_RANGE, "outer_dim: dim 1 is outside -1..0 of shape [2]")                   \
  ROW(burn_lp_norm(F(2), (double)NAN, 0), INVALID_ARGUMENT, "lp_norm: p is NaN")                                       \
  ROW(burn_max_abs_norm(F(2, 0), 1), INVALID_SHAPE, "max_abs_norm: max_dim: axis 1 of [2,0] is empty")                 \
  ROW(var_mean(F(2), 1), OUT_OF_RANGE, "var_mean: dim 1 is outside -1..0 of shape [2]")                                \
  ROW(burn_median(F(2, 0), 1), INVALID_SHAPE, "median: axis 1 of [2,0] is empty")                                      \
  ROW(burn_median(F(2), 1), OUT_OF_RANGE, "median: dim 1 is outside -1..0 of shape [2]")                               \
  ROW(burn_categorical(F(2), 0), INVALID_ARGUMENT, "categorical: 0 samples are not possible")                          \
  ROW(burn_categorical(I(2), 1), INVALID_DTYPE, "categorical: weights must be float, not i64")                         \
  ROW(burn_categorical(F(2, 0), 1), INVALID_SHAPE, "categorical: there are no categories")                             \
  ROW(burn_cov(F(2), 0, 1), INVALID_SHAPE, "cov: shape [2]; rank 2 or more expected: observations of variables")       \
  ROW(burn_cross(F(2, 4), F(2, 4), 1), INVALID_SHAPE, "cross: axis 1 of [2,4] must have size 3")                       \
  ROW(burn_cross_entropy_with_logits(F(2, 3), F(2, 4)), INVALID_SHAPE,                                                 \
      "cross_entropy_with_logits: shapes [2,3] of logits and [2,4] of probabilities differ")                           \
  ROW(rfft_imaginary(F(2, 4), 2, 0), OUT_OF_RANGE, "rfft: dim 2 is outside -2..1 of shape [2,4]")                      \
  ROW(rfft_imaginary(F(2, 0), 1, 0), INVALID_ARGUMENT, "rfft: a transform of length n = 0 is not possible")            \
  ROW(burn_irfft(F(2, 1), F(2, 1), 1, 0), INVALID_ARGUMENT, "irfft: a transform of length n = 0 is not possible")      \
  ROW(burn_irfft(F(2, 3), F(2, 4), 1, 4), INVALID_SHAPE, "irfft: the shapes [2,3] of re and [2,4] of im differ")       \
  ROW(burn_irfft(F(2, 3), D(2, 3), 1, 4), INVALID_DTYPE, "irfft: re is f32 and im is f64; convert one with burn_cast") \
  ROW(burn_stft(F(2, 9), NULL, BURN_STFT_OPTIONS(0)), INVALID_ARGUMENT, "stft: n_fft 0 is not positive")               \
  ROW(burn_stft(F(2, 9), NULL, ((BurnStftOptions){8, 2, 9, true, true})), INVALID_ARGUMENT,                            \
      "stft: win_length 9 is not in 1..8 (n_fft)")                                                                     \
  ROW(burn_stft(F(2, 9), NULL, ((BurnStftOptions){8, 5, 4, true, true})), INVALID_ARGUMENT,                            \
      "stft: hop_length 5 is not in 1..4 (the length of the window)")                                                  \
  ROW(burn_stft(F(9), NULL, BURN_STFT_OPTIONS(8)), INVALID_SHAPE, "stft: x has shape [9], rank 2 expected")            \
  ROW(burn_stft(burn_cast(F(2, 9), BURN_DTYPE_I8), NULL, BURN_STFT_OPTIONS(8)), INVALID_DTYPE,                         \
      "stft: x must be float, not i8")                                                                                 \
  ROW(burn_stft(F(2, 9), F(7), BURN_STFT_OPTIONS(8)), INVALID_SHAPE, "stft: the window has shape [7], [8] expected")   \
  ROW(burn_stft(F(2, 4), F(8), BURN_STFT_OPTIONS(8)), INVALID_SHAPE,                                                   \
      "stft: 4 samples are too few: n_fft 8, centred, needs 5")                                                        \
  ROW(burn_stft(F(2, 7), NULL, ((BurnStftOptions){8, 2, 0, false, true})), INVALID_SHAPE,                              \
      "stft: 7 samples are too few: n_fft 8 needs 8")                                                                  \
  ROW(burn_istft(F(2, 3, 5, 1), NULL, 0, BURN_STFT_OPTIONS(8)), INVALID_SHAPE,                                         \
      "istft: x has shape [2,3,5,1]; [batch,frames,5,2] with a frame or more expected for n_fft 8, onesided")          \
  ROW(burn_istft(F(2, 3, 5, 2), F(8), -1, BURN_STFT_OPTIONS(8)), INVALID_ARGUMENT, "istft: length -1 is negative")     \
  ROW(burn_hann_window(device, -1, true, 0), INVALID_ARGUMENT, "hann_window: a window of size -1 is not possible")     \
  ROW(burn_hamming_window(device, 3, true, BURN_DTYPE_I64), INVALID_DTYPE,                                             \
      "hamming_window: a window of i64 is not possible; windows are float")                                            \
  ROW(grid_of(F(2), F(2, 1)), INVALID_SHAPE, "meshgrid: vector 1 has shape [2,1], rank 1 expected")                    \
  ROW(burn_meshgrid_stack(NULL, 0, BURN_GRID_INDEX_FIRST), INVALID_ARGUMENT,                                           \
      "meshgrid_stack: 0 vectors given, 1 to 7 are possible")                                                          \
  ROW(burn_affine_grid_2d(F(2, 3, 2), 4, 4), INVALID_SHAPE,                                                            \
      "affine_grid_2d: theta has shape [2,3,2], [batch,2,3] expected")                                                 \
  ROW(burn_affine_grid_2d(I(2, 2, 3), 4, 4), INVALID_DTYPE, "affine_grid_2d: theta must be float, not i64")            \
  ROW(burn_affine_grid_2d(F(2, 2, 3), 0, 4), INVALID_ARGUMENT,                                                         \
      "affine_grid_2d: height 0 and width 4 must be positive")                                                         \
  ROW(max_indices(F(2), 4), OUT_OF_RANGE, "argmax: dim 4 is outside -1..0 of shape [2]")                               \
  ROW(burn_var(F(2), 4), OUT_OF_RANGE, "var: dim 4 is outside -1..0 of shape [2]")                                     \
  ROW(burn_softmax(F(2), 1), OUT_OF_RANGE, "softmax: dim 1 is outside -1..0 of shape [2]")                             \
  ROW(burn_log_softmax(I(2), 0), INVALID_DTYPE, "log_softmax: not defined for i64; it takes float tensors")            \
  ROW(burn_reshape(F(2, 3), BURN_SHAPE(4, 2)), INVALID_SHAPE, "reshape: [2,3] has 6 elements, [4,2] has 8")            \
  ROW(burn_reshape(F(2, 3), BURN_SHAPE(-1, 4)), INVALID_SHAPE,                                                         \
      "reshape: [2,3] to [-1,4]: 6 elements cannot be divided by 4")                                                   \
  ROW(burn_reshape(F(2, 3), BURN_SHAPE(-1, -1)), INVALID_SHAPE,                                                        \
      "reshape: [2,3] to [-1,-1]: only one -1 and no other negative size is allowed")                                  \
  ROW(burn_reshape(F(2, 3), BURN_SHAPE(-2, 3)), INVALID_SHAPE,                                                         \
      "reshape: [2,3] to [-2,3]: only one -1 and no other negative size is allowed")                                   \
  ROW(burn_reshape(F(2, 3), rank_0()), INVALID_SHAPE, "reshape: [2,3] to rank 0; tensors have rank 1 or more")         \
  ROW(burn_reshape(F(1), rank_9()), INVALID_ARGUMENT,                                                                  \
      "reshape: attribute 'shape' has 9 entries, at most 8 are possible")                                              \
  ROW(burn_flatten(F(2, 3), 1, 0), INVALID_ARGUMENT, "flatten: start 1 is after end 0")                                \
  ROW(burn_flatten(F(2, 3), 0, 2), OUT_OF_RANGE, "flatten: dim 2 is outside -2..1 of shape [2,3]")                     \
  ROW(burn_squeeze_dim(F(2, 3), 0), INVALID_SHAPE,                                                                     \
      "squeeze_dim: axis 0 of [2,3] cannot be dropped: its size is not 1")                                             \
  ROW(burn_squeeze_dim(F(1), 0), INVALID_SHAPE, "squeeze_dim: axis 0 of [1] cannot be dropped: there is no rank 0")    \
  ROW(burn_unsqueeze(F(2, 3), 1), INVALID_ARGUMENT, "unsqueeze: rank 1 is not in 2..8")                                \
  ROW(burn_unsqueeze(F(2, 3), 9), INVALID_ARGUMENT, "unsqueeze: rank 9 is not in 2..8")                                \
  ROW(burn_unsqueeze_dim(F(2, 3), 3), OUT_OF_RANGE, "unsqueeze_dim: dim 3 is outside -3..2 of shape [2,3]")            \
  ROW(burn_unsqueeze_dim(F(1, 1, 1, 1, 1, 1, 1, 1), 0), INVALID_SHAPE,                                                 \
      "unsqueeze_dim: the tensor has rank 8 already, the most there is")                                               \
  ROW(burn_transpose(F(3)), OUT_OF_RANGE, "transpose: swap_dims: dim -2 is outside -1..0 of shape [3]")                \
  ROW(burn_swap_dims(F(3, 2), 0, 2), OUT_OF_RANGE, "swap_dims: dim 2 is outside -2..1 of shape [3,2]")                 \
  ROW(burn_permute(F(3, 2), (const int[]){0, 0}), INVALID_ARGUMENT,                                                    \
      "permute: axes [0,0] do not name every axis of [3,2] once")                                                      \
  ROW(burn_permute(F(3, 2), (const int[]){0, 5}), OUT_OF_RANGE, "permute: dim 5 is outside -2..1 of shape [3,2]")      \
  ROW(burn_expand(F(2, 3), BURN_SHAPE(4, 3)), INVALID_SHAPE,                                                           \
      "expand: [2,3] cannot be stretched to [4,3]; only axes of size 1 stretch")                                       \
  ROW(burn_expand(F(2, 3), BURN_SHAPE(3)), INVALID_SHAPE,                                                              \
      "expand: [2,3] cannot be stretched to [3]; only axes of size 1 stretch")                                         \
  ROW(burn_expand(F(3), BURN_SHAPE(-1, 3)), INVALID_SHAPE, "expand: a tensor of shape [-1,3] is not possible")         \
  ROW(burn_slice(F(2), RANGES(BURN_RANGE_ALL, BURN_RANGE_ALL)), INVALID_ARGUMENT, "slice: 2 ranges for shape [2]")     \
  ROW(burn_slice(F(2), RANGES(BURN_RANGE_STEP(0, 2, 0))), INVALID_ARGUMENT, "slice: the step of range 0 is 0")         \
  ROW(burn_slice_assign(F(4), RANGES(BURN_RANGE(1, 3)), F(3)), INVALID_SHAPE,                                          \
      "slice_assign: the ranges cover [2], values have shape [3]")                                                     \
  ROW(burn_slice_assign(F(4), RANGES(BURN_RANGE(1, 3)), I(2)), INVALID_DTYPE,                                          \
      "slice_assign: x is f32 and values is i64; convert one with burn_cast")                                          \
  ROW(burn_narrow(F(2, 5), 1, 3, 3), OUT_OF_RANGE, "narrow: 3 elements from 3 are not within axis 1 of size 5")        \
  ROW(burn_narrow(F(2, 5), 1, 3, 0), OUT_OF_RANGE, "narrow: 0 elements from 3 are not within axis 1 of size 5")        \
  ROW(burn_narrow(F(2, 5), -1, -1, 1), OUT_OF_RANGE, "narrow: 1 elements from -1 are not within axis 1 of size 5")     \
  ROW(burn_select_dim(F(2, 5), 1, 5), OUT_OF_RANGE, "select_dim: index 5 is outside axis 1 of size 5")                 \
  ROW(burn_select_dim(F(2, 5), 1, -6), OUT_OF_RANGE, "select_dim: index -6 is outside axis 1 of size 5")               \
  ROW(split_status(F(5), 2, 0, 2), INVALID_ARGUMENT, "split: 3 parts come out, the list holds 2")                      \
  ROW(split_status(F(5), 0, 0, 2), INVALID_ARGUMENT, "split: pieces of size 0 are not possible")                       \
  ROW(split_status(F(5), 1, 1, 2), OUT_OF_RANGE, "split: dim 1 is outside -1..0 of shape [5]")                         \
  ROW(chunk_status(F(5), 0, 0, 2), INVALID_ARGUMENT, "chunk: 0 chunks are not possible")                               \
  ROW(chunk_status(F(5), 5, 0, 4), INVALID_ARGUMENT, "chunk: 5 parts come out, the list holds 4")                      \
  ROW(cat2(F(2, 3), F(3, 3), 1), INVALID_SHAPE,                                                                        \
      "cat: tensor 0 is [2,3] and tensor 1 is [3,3]; axes other than 1 must be equal")                                 \
  ROW(cat2(F(2, 3), F(2), 0), INVALID_SHAPE,                                                                           \
      "cat: tensor 0 is [2,3] and tensor 1 is [2]; axes other than 0 must be equal")                                   \
  ROW(cat2(F(2), I(2), 0), INVALID_DTYPE, "cat: tensor 0 is f32 and tensor 1 is i64")                                  \
  ROW(cat2(F(2), F(2), 1), OUT_OF_RANGE, "cat: dim 1 is outside -1..0 of shape [2]")                                   \
  ROW(cat2(F(2), NULL, 0), INVALID_ARGUMENT, "cat: a tensor is NULL")                                                  \
  ROW(burn_cat(NULL, 0, 0), INVALID_ARGUMENT, "cat: 0 tensors given")                                                  \
  ROW(stack2(F(2), F(3), 0), INVALID_SHAPE,                                                                            \
      "stack: cat: tensor 0 is [1,2] and tensor 1 is [1,3]; axes other than 0 must be equal")                          \
  ROW(burn_stack(NULL, 0, 0), INVALID_ARGUMENT, "stack: no tensors given")                                             \
  ROW(burn_repeat_dim(F(2), 0, -1), INVALID_ARGUMENT, "repeat_dim: -1 times is not possible")                          \
  ROW(burn_repeat_dim(F(2), 1, 2), OUT_OF_RANGE, "repeat_dim: dim 1 is outside -1..0 of shape [2]")                    \
  ROW(burn_repeat(F(2, 2), (const int64_t[]){2, -1}), INVALID_ARGUMENT,                                                \
      "repeat: repeat_dim: -1 times is not possible")                                                                  \
  ROW(burn_select(F(5, 2), 0, INDICES(0, 5)), OUT_OF_RANGE, "select: index 5 at position 1 is outside 0..4 (axis 0)")  \
  ROW(burn_select(F(5, 2), 1, INDICES(-1)), OUT_OF_RANGE, "select: index -1 at position 0 is outside 0..1 (axis 1)")   \
  ROW(burn_select(F(5), 0, F(2)), INVALID_DTYPE, "select: indices must be an int tensor, not f32")                     \
  ROW(burn_select(F(5), 0, I(2, 2)), INVALID_SHAPE, "select: indices has shape [2,2], rank 1 expected")                \
  ROW(burn_select(F(5), 1, INDICES(0)), OUT_OF_RANGE, "select: dim 1 is outside -1..0 of shape [5]")                   \
  ROW(burn_select_add(F(5), 0, INDICES(1, 2), F(3)), INVALID_SHAPE,                                                    \
      "select_assign: values have shape [3], [2] expected")                                                            \
  ROW(burn_select_assign(F(5), 0, INDICES(1, 7), F(2), BURN_UPDATE_MAX), OUT_OF_RANGE,                                 \
      "select_assign: index 7 at position 1 is outside 0..4 (axis 0)")                                                 \
  ROW(burn_select_assign(F(5), 1, INDICES(1), F(1), BURN_UPDATE_ADD), OUT_OF_RANGE,                                    \
      "select_assign: dim 1 is outside -1..0 of shape [5]")                                                            \
  ROW(burn_select_assign(F(5), 0, INDICES(1), I(1), BURN_UPDATE_ASSIGN), INVALID_DTYPE,                                \
      "select_assign: x is f32 and values is i64; convert one with burn_cast")                                         \
  ROW(burn_select_assign(F(5), 0, INDICES(1), F(1), 5), INVALID_ARGUMENT,                                              \
      "select_assign: there is no update mode 5; it is one of BURN_UPDATE_*")                                          \
  ROW(burn_select_assign(B(5), 0, INDICES(1), B(1), BURN_UPDATE_MIN), INVALID_DTYPE,                                   \
      "select_assign: update min is not defined for bool; it takes assign, add (or) and mul (and)")                    \
  ROW(burn_gather(F(5), 0, INDICES(0, 1, 2, 7)), OUT_OF_RANGE,                                                         \
      "gather: index 7 at position 3 is outside 0..4 (axis 0)")                                                        \
  ROW(burn_gather(F(2, 3), 1, I(3, 1)), INVALID_SHAPE,                                                                 \
      "gather: x is [2,3] and indices are [3,1]; axes other than 1 must be equal")                                     \
  ROW(burn_gather(F(2, 3), 1, I(2)), INVALID_SHAPE,                                                                    \
      "gather: x is [2,3] and indices are [2]; axes other than 1 must be equal")                                       \
  ROW(burn_gather(F(2, 0), 1, I(2, 1)), OUT_OF_RANGE, "gather: index 1 at position 0, but axis 1 is empty")            \
  ROW(burn_scatter_add(F(5), 0, INDICES(1), F(2)), INVALID_SHAPE, "scatter: values have shape [2], [1] expected")      \
  ROW(burn_scatter(F(5), 0, INDICES(-2), F(1), BURN_UPDATE_ASSIGN), OUT_OF_RANGE,                                      \
      "scatter: index -2 at position 0 is outside 0..4 (axis 0)")                                                      \
  ROW(burn_scatter(F(5), 0, INDICES(1), F(1), -1), INVALID_ARGUMENT,                                                   \
      "scatter: there is no update mode -1; it is one of BURN_UPDATE_*")                                               \
  ROW(burn_scatter(B(5), 0, INDICES(1), B(1), BURN_UPDATE_MAX), INVALID_DTYPE,                                         \
      "scatter: update max is not defined for bool; it takes assign, add (or) and mul (and)")                          \
  ROW(burn_mask_where(F(2), F(2), F(2)), INVALID_DTYPE, "mask_where: mask must be bool, not f32")                      \
  ROW(burn_mask_where(F(2), B(2), I(2)), INVALID_DTYPE,                                                                \
      "mask_where: x is f32 and value is i64; convert one with burn_cast")                                             \
  ROW(burn_mask_where(F(2), B(3), F(2)), INVALID_SHAPE, "mask_where: [2] and [3] do not broadcast: axis 0 is 2 and 3") \
  ROW(burn_mask_fill(F(2), I(2), 0), INVALID_DTYPE, "mask_fill: mask must be bool, not i64")                           \
  ROW(burn_mask_fill(F(2), B(3), 0), INVALID_SHAPE, "mask_fill: [2] and [3] do not broadcast: axis 0 is 2 and 3")      \
  ROW(burn_triu(F(3), 0), INVALID_SHAPE, "triu: shape [3]; rank 2 or more expected")                                   \
  ROW(burn_embedding(F(5), I(2, 2)), INVALID_SHAPE, "embedding: weight has shape [5], rank 2 expected")                \
  ROW(burn_embedding(F(5, 2), I(2)), INVALID_SHAPE, "embedding: indices has shape [2], rank 2 expected")               \
  ROW(burn_embedding(F(5, 2), F(2, 2)), INVALID_DTYPE, "embedding: indices must be an int tensor, not f32")            \
  ROW(burn_linear(F(2, 3), F(4, 5), F(5)), INVALID_SHAPE,                                                              \
      "linear: x [2,3] and weight [4,5]: the weight takes 4 inputs, x has 3")                                          \
  ROW(burn_linear(F(2, 3), F(3, 5), F(4)), INVALID_SHAPE,                                                              \
      "linear: bias has 4 entries, one per output channel (5) expected")                                               \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 4, 3, 3), NULL, conv(1, 0, 1, 1)), INVALID_SHAPE,                                \
      "conv2d: x [1,3,4,4] and weight [2,4,3,3]: the weight takes 4 channels per group, x has 3")                      \
  ROW(burn_conv2d(F(3, 4, 4), F(2, 3, 3, 3), NULL, conv(1, 0, 1, 1)), INVALID_SHAPE,                                   \
      "conv2d: x has shape [3,4,4], rank 4 expected")                                                                  \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 3, 3), F(3), conv(1, 0, 1, 1)), INVALID_SHAPE,                                \
      "conv2d: bias has 3 entries, one per output channel (2) expected")                                               \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 5, 5), NULL, conv(1, 0, 1, 1)), INVALID_SHAPE,                                \
      "conv2d: the kernel of weight [2,3,5,5] does not fit into x [1,3,4,4] with padding [0,0]")                       \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 3, 3), NULL, conv(0, 0, 1, 1)), INVALID_ARGUMENT,                             \
      "conv2d: stride [0,0]; 1 or more expected")                                                                      \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 3, 3), NULL, conv(1, -1, 1, 1)), INVALID_ARGUMENT,                            \
      "conv2d: padding [-1,-1]; 0 or more expected")                                                                   \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 3, 3), NULL, conv(1, 0, 0, 1)), INVALID_ARGUMENT,                             \
      "conv2d: dilation [0,0]; 1 or more expected")                                                                    \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 3, 3), NULL, conv(1, 0, 1, 2)), INVALID_ARGUMENT,                             \
      "conv2d: groups 2 does not divide the 3 input channels")                                                         \
  ROW(burn_conv2d(F(1, 4, 4, 4), F(3, 2, 3, 3), NULL, conv(1, 0, 1, 2)), INVALID_ARGUMENT,                             \
      "conv2d: groups 2 does not divide the 3 output channels")                                                        \
  ROW(burn_conv2d(F(1, 3, 4, 4), D(2, 3, 3, 3), NULL, conv(1, 0, 1, 1)), INVALID_DTYPE,                                \
      "conv2d: x is f32 and weight is f64; convert one with burn_cast")                                                \
  ROW(burn_conv1d(F(1, 3, 4, 4), F(2, 3, 3), NULL, BURN_CONV1D_OPTIONS), INVALID_SHAPE,                                \
      "conv1d: x [1,3,4,4] and weight [2,3,3]; rank 3 expected")                                                       \
  ROW(burn_conv_transpose2d(F(1, 3, 4, 4), F(2, 3, 3, 3), NULL, conv(1, 0, 1, 1)), INVALID_SHAPE,                      \
      "conv_transpose2d: x [1,3,4,4] and weight [2,3,3,3]: the weight takes 2 channels, x has 3")                      \
  ROW(burn_conv_transpose2d(F(1, 2, 1, 1), F(2, 3, 3, 3), NULL, conv(1, 2, 1, 1)), INVALID_SHAPE,                      \
      "conv_transpose2d: x [1,2,1,1] and weight [2,3,3,3] give an empty result")                                       \
  ROW(burn_max_pool2d(F(2, 3, 4), pool(2, 2, 1)), INVALID_SHAPE, "max_pool2d: x has shape [2,3,4], rank 4 expected")   \
  ROW(burn_max_pool2d(F(1, 1, 2, 2), pool(3, 1, 1)), INVALID_SHAPE,                                                    \
      "max_pool2d: a window of [3,3] does not fit into [1,1,2,2]")                                                     \
  ROW(pool_indices(F(1, 1, 2, 2), pool(0, 1, 1)), INVALID_ARGUMENT,                                                    \
      "max_pool2d_with_indices: kernel_size [0,0]; 1 or more expected")                                                \
  ROW(burn_avg_pool2d(F(1, 1, 4, 4), pool(2, 0, 1)), INVALID_ARGUMENT, "avg_pool2d: stride [0,0]; 1 or more expected") \
  ROW(burn_avg_pool2d(F(1, 1, 4, 4), pool(2, 1, 2)), INVALID_ARGUMENT, "avg_pool2d: dilation [2,2] must be [1,1]")     \
  ROW(burn_adaptive_avg_pool2d(F(1, 1, 4, 4), (const int64_t[]){0, 1}), INVALID_ARGUMENT,                              \
      "adaptive_avg_pool2d: output_size [0,1]; 1 or more expected")                                                    \
  ROW(burn_adaptive_avg_pool2d(F(1, 1, 0, 4), (const int64_t[]){1, 1}), INVALID_SHAPE,                                 \
      "adaptive_avg_pool2d: [1,1,0,4] has nothing to average")                                                         \
  ROW(burn_layer_norm(F(2, 3), F(4), NULL, 1e-5), INVALID_SHAPE,                                                       \
      "layer_norm: gamma has 4 entries, the last axis of [2,3] has 3")                                                 \
  ROW(burn_layer_norm(F(2, 3), F(3), F(1, 3), 1e-5), INVALID_SHAPE,                                                    \
      "layer_norm: beta has shape [1,3], rank 1 expected")                                                             \
  ROW(burn_conv3d(F(1, 3, 4, 4, 4), F(2, 4, 3, 3, 3), NULL, volume(1, 1)), INVALID_SHAPE,                              \
      "conv3d: x [1,3,4,4,4] and weight [2,4,3,3,3]: the weight takes 4 channels per group, x has 3")                  \
  ROW(burn_conv3d(F(1, 3, 4, 4), F(2, 3, 3, 3, 3), NULL, volume(1, 1)), INVALID_SHAPE,                                 \
      "conv3d: x has shape [1,3,4,4], rank 5 expected")                                                                \
  ROW(burn_conv3d(F(1, 3, 2, 4, 4), F(2, 3, 3, 3, 3), NULL, volume(1, 1)), INVALID_SHAPE,                              \
      "conv3d: the kernel of weight [2,3,3,3,3] does not fit into x [1,3,2,4,4] with padding [0,0,0]")                 \
  ROW(burn_conv3d(F(1, 3, 4, 4, 4), F(2, 3, 3, 3, 3), NULL, volume(0, 1)), INVALID_ARGUMENT,                           \
      "conv3d: stride [0,0,0]; 1 or more expected")                                                                    \
  ROW(burn_conv3d(F(1, 3, 4, 4, 4), F(2, 3, 3, 3, 3), NULL, volume(1, 2)), INVALID_ARGUMENT,                           \
      "conv3d: groups 2 does not divide the 3 input channels")                                                         \
  ROW(burn_conv3d_weight_backward(F(1, 3, 4, 4, 4), F(1, 2, 2, 2, 3), BURN_SHAPE(2, 3, 3, 3, 3), volume(1, 1)),        \
      INVALID_SHAPE,                                                                                                   \
      "conv3d_weight_backward: x [1,3,4,4,4], grad [1,2,2,2,3] and weight [2,3,3,3,3] do not belong together")         \
  ROW(burn_conv3d_weight_backward(F(1, 3, 4, 4, 4), F(1, 2, 2, 2, 2), BURN_SHAPE(2, 3, 3, 3), volume(1, 1)),           \
      INVALID_ARGUMENT, "conv3d_weight_backward: weight_shape needs 5 entries")                                        \
  ROW(burn_conv_transpose3d(F(1, 3, 4, 4, 4), F(2, 3, 3, 3, 3), NULL, volume(1, 1)), INVALID_SHAPE,                    \
      "conv_transpose3d: x [1,3,4,4,4] and weight [2,3,3,3,3]: the weight takes 2 channels, x has 3")                  \
  ROW(burn_conv_transpose1d(F(1, 3, 4, 4), F(2, 3, 3), NULL, BURN_CONV1D_OPTIONS), INVALID_SHAPE,                      \
      "conv_transpose1d: x [1,3,4,4] and weight [2,3,3]; rank 3 expected")                                             \
  ROW(burn_conv_transpose2d(F(1, 3, 4, 4), F(3, 3, 3, 3), NULL, uneven(0, 1)), INVALID_ARGUMENT,                       \
      "conv_transpose2d: padding must be the same on both sides")                                                      \
  ROW(burn_conv2d(F(1, 3, 4, 4), F(2, 3, 3, 3), NULL, uneven(0, -1)), INVALID_ARGUMENT,                                \
      "conv2d: padding [0,0] and padding_end [-1,-1]; 0 or more expected")                                             \
  ROW(burn_max_pool1d(F(3, 4), BURN_POOL1D_OPTIONS(2)), INVALID_SHAPE,                                                 \
      "max_pool1d: x has shape [3,4], rank 3 expected")                                                                \
  ROW(burn_avg_pool1d(F(1, 3, 4), BURN_POOL1D_OPTIONS(5)), INVALID_SHAPE,                                              \
      "avg_pool2d: a window of [1,5] does not fit into [1,3,1,4]")                                                     \
  ROW(burn_adaptive_avg_pool3d(F(1, 1, 4, 4, 4), (const int64_t[]){1, 0, 1}), INVALID_ARGUMENT,                        \
      "adaptive_avg_pool3d: output_size [1,0,1]; 1 or more expected")                                                  \
  ROW(burn_unfold4d(F(1, 2, 3, 3), (const int64_t[]){4, 1}, BURN_UNFOLD4D_OPTIONS), INVALID_SHAPE,                     \
      "unfold4d: a window of [4,1] does not fit into [1,2,3,3] with padding [0,0]")                                    \
  ROW(burn_unfold4d(F(1, 2, 3, 3), (const int64_t[]){2, 2}, (BurnUnfold4dOptions){{0, 1}, {0, 0}, {1, 1}}),            \
      INVALID_ARGUMENT, "unfold4d: stride [0,1]; 1 or more expected")                                                  \
  ROW(burn_fold4d(F(1, 6, 4), (const int64_t[]){3, 3}, (const int64_t[]){2, 2}, BURN_UNFOLD4D_OPTIONS), INVALID_SHAPE, \
      "fold4d: 6 rows are not a multiple of the 4 of a window of [2,2]")                                               \
  ROW(burn_fold4d(F(1, 8, 5), (const int64_t[]){3, 3}, (const int64_t[]){2, 2}, BURN_UNFOLD4D_OPTIONS), INVALID_SHAPE, \
      "fold4d: a result of [1,2,3,3] has 4 windows, x has 5")                                                          \
  ROW(burn_interpolate(F(1, 1, 0, 4), (const int64_t[]){2, 2}, BURN_INTERPOLATE_OPTIONS(BURN_INTERPOLATE_NEAREST)),    \
      INVALID_SHAPE, "interpolate: [1,1,0,4] has no pixels to read")                                                   \
  ROW(burn_interpolate(F(1, 1, 4, 4), (const int64_t[]){2, 0}, BURN_INTERPOLATE_OPTIONS(BURN_INTERPOLATE_NEAREST)),    \
      INVALID_ARGUMENT, "interpolate: output_size [2,0]; 1 or more expected")                                          \
  ROW(burn_interpolate(F(1, 1, 4, 4), (const int64_t[]){2, 2}, BURN_INTERPOLATE_OPTIONS((BurnInterpolateMode)5)),      \
      INVALID_ARGUMENT, "interpolate: mode 5 is not in 0..4")                                                          \
  ROW(burn_grid_sample_2d(F(2, 1, 4, 4), F(1, 3, 3, 2), BURN_GRID_SAMPLE_OPTIONS), INVALID_SHAPE,                      \
      "grid_sample_2d: grid has shape [1,3,3,2], [2, height, width, 2] expected")                                      \
  ROW(burn_grid_sample_2d(F(1, 1, 4, 4), D(1, 3, 3, 2), BURN_GRID_SAMPLE_OPTIONS), INVALID_DTYPE,                      \
      "grid_sample_2d: x is f32 and grid is f64; convert one with burn_cast")                                          \
  ROW(burn_deform_conv2d(F(1, 2, 3, 3), F(1, 8, 2, 3), F(1, 2, 2, 2), NULL, NULL, BURN_DEFORM_CONV2D_OPTIONS),         \
      INVALID_SHAPE, "deform_conv2d: offset has shape [1,8,2,3], [1,8,2,2] expected")                                  \
  ROW(burn_deform_conv2d(F(1, 2, 3, 3), F(1, 8, 2, 2), F(1, 2, 2, 2), F(1, 3, 2, 2), NULL,                             \
                         BURN_DEFORM_CONV2D_OPTIONS),                                                                  \
      INVALID_SHAPE, "deform_conv2d: mask has shape [1,3,2,2], [1,4,2,2] expected")                                    \
  ROW(burn_deform_conv2d(F(1, 2, 3, 3), F(1, 8, 2, 2), F(1, 3, 2, 2), NULL, NULL, BURN_DEFORM_CONV2D_OPTIONS),         \
      INVALID_SHAPE, "deform_conv2d: weight [1,3,2,2] does not fit x [1,2,3,3] in 1 groups")                           \
  ROW(burn_attention(F(1, 2, 3, 4), F(1, 2, 5, 3), F(1, 2, 5, 4), NULL, NULL, BURN_ATTENTION_OPTIONS), INVALID_SHAPE,  \
      "attention: query [1,2,3,4], key [1,2,5,3] and value [1,2,5,4] do not belong together")                          \
  ROW(burn_attention(F(1, 2, 3, 4), F(1, 2, 5, 4), F(1, 2, 5, 4), F(1, 1, 3, 5), NULL, BURN_ATTENTION_OPTIONS),        \
      INVALID_DTYPE, "attention: mask must be bool, not f32")                                                          \
  ROW(burn_attention(F(1, 2, 3, 4), F(1, 2, 5, 4), F(1, 2, 5, 4), B(1, 1, 3, 4), NULL, BURN_ATTENTION_OPTIONS),        \
      INVALID_SHAPE, "attention: mask of shape [1,1,3,4] does not stretch to the scores [1,2,3,5]")                    \
  ROW(burn_attention(F(1, 1, 1, 1), F(1, 1, 1, 1), F(1, 1, 1, 1), NULL, NULL, (BurnAttentionOptions){0, -1, false}),   \
      INVALID_ARGUMENT, "attention: softcap -1 is negative")                                                           \
  ROW(attention_gradient(F(1, 2, 3, 4), F(1, 2, 3, 4), F(1, 2, 4)), INVALID_SHAPE,                                     \
      "attention_with_logsumexp_backward: result [1,2,3,4] and logsumexp [1,2,4] do not belong to grad [1,2,3,4]")     \
  ROW(attention_gradient(F(1, 2, 3, 4), F(1, 2, 3, 4), D(1, 2, 3)), INVALID_DTYPE,                                     \
      "attention_with_logsumexp_backward: logsumexp must be f32, not f64")                                             \
  ROW(burn_lstm(F(2, 3, 8), F(2, 2), F(2, 2), F(2, 6), NULL), INVALID_SHAPE,                                           \
      "lstm: weight of shape [2,6] is not [hidden, 4 * hidden]")                                                       \
  ROW(burn_lstm(F(2, 3, 12), F(2, 2), F(2, 2), F(2, 8), NULL), INVALID_SHAPE,                                          \
      "lstm: gates has shape [2,3,12], [2,3,8] expected")                                                              \
  ROW(burn_lstm(F(2, 3, 8), F(2, 2), F(3, 2), F(2, 8), NULL), INVALID_SHAPE,                                           \
      "lstm: cell has shape [3,2], [2,2] expected")                                                                    \
  ROW(burn_lstm(F(2, 3, 8), D(2, 2), F(2, 2), F(2, 8), NULL), INVALID_DTYPE,                                           \
      "lstm: gates is f32 and hidden is f64; convert one with burn_cast")                                              \
  ROW(burn_batch_norm(F(2, 3), F(3), F(3), F(2), F(3), 1e-5), INVALID_SHAPE,                                           \
      "batch_norm: mean has 2 entries, x [2,3] has 3 channels")                                                        \
  ROW(burn_batch_norm(F(3), F(3), F(3), F(3), F(3), 1e-5), INVALID_SHAPE,                                              \
      "batch_norm: shape [3]; rank 2 or more expected")                                                                \
  ROW(burn_ctc_loss(F(4, 2, 3), I(3, 2), I(2), I(2), 0), INVALID_SHAPE,                                                \
      "ctc_loss: targets has 3 samples, log_probs 2")                                                                  \
  ROW(burn_ctc_loss(F(4, 2, 3), I(2, 2), I(2), I(2), 3), INVALID_ARGUMENT,                                             \
      "ctc_loss: blank 3 is not one of the 3 classes")                                                                 \
  ROW(burn_ctc_loss(F(4, 2, 3), F(2, 2), I(2), I(2), 0), INVALID_DTYPE,                                                \
      "ctc_loss: targets must be an int tensor, not f32")                                                              \
  ROW(burn_ctc_loss(F(4, 1, 3), I(1, 2), INDICES(5), I(1), 0), OUT_OF_RANGE,                                           \
      "select: index 5 at position 0 is outside 0..4 (axis 0)")                                                        \
  ROW(burn_ctc_loss(F(4, 1, 3), I(1, 2), I(1), INDICES(3), 0), OUT_OF_RANGE,                                           \
      "gather: index 6 at position 0 is outside 0..5 (axis 1)")                                                        \
  ROW(burn_dequantize(quantized(BURN_SHAPE(2, 3), 2, false), BURN_DTYPE_F32), INVALID_SHAPE,                           \
      "quantize: blocks of 2 do not divide axis 1 of [2,3]")                                                           \
  ROW(burn_dequantize(quantized(BURN_SHAPE(2, 4), 0, true), BURN_DTYPE_F32), INVALID_ARGUMENT,                         \
      "quantize: a block of rank 0 for a tensor of rank 2")                                                            \
  ROW(burn_dequantize(quantized_by(F(2, 4), F(2)), BURN_DTYPE_F32), INVALID_SHAPE,                                     \
      "quantize: axis 0 of scales has 2 entries, 1 blocks need one each")                                              \
  ROW(burn_dequantize(quantized_by(I(2, 4), F(1)), BURN_DTYPE_F32), INVALID_DTYPE,                                     \
      "quantize: not defined for i64; it takes float tensors")                                                         \
  ROW(quantized_conv(2, 4, NULL, BURN_DTYPE_F32), INVALID_SHAPE,                                                       \
      "quantized_conv2d: the kernel of weight [3,2,4,4] does not fit into x [1,2,3,3] with padding [0,0]")             \
  ROW(quantized_conv(1, 2, NULL, BURN_DTYPE_F32), INVALID_SHAPE,                                                       \
      "quantized_conv2d: x [1,2,3,3] and weight [3,1,2,2]: the weight takes 1 channels per group, x has 2")            \
  ROW(quantized_conv(2, 2, D(3), BURN_DTYPE_F32), INVALID_DTYPE,                                                       \
      "quantized_conv2d: bias is f64 and the result f32; convert one with burn_cast")                                  \
  ROW(quantized_conv(2, 2, F(2), BURN_DTYPE_F32), INVALID_SHAPE, "quantized_conv2d: bias [2]; [3] expected")           \
  ROW(quantized_conv(2, 2, NULL, BURN_DTYPE_I32), INVALID_DTYPE,                                                       \
      "quantized_conv2d: the result must be a float tensor, not i32")                                                  \
  ROW(burn_cross_entropy(F(2, 3), I(3)), INVALID_SHAPE, "cross_entropy: logits [2,3] need 2 targets, 3 given")         \
  ROW(burn_cross_entropy(F(2, 3), F(2)), INVALID_DTYPE, "cross_entropy: targets must be an int tensor, not f32")       \
  ROW(burn_cross_entropy(F(6), I(6)), INVALID_SHAPE, "cross_entropy: logits has shape [6], rank 2 expected")           \
  ROW(adam(F(2), F(3), F(2), F(2)), INVALID_SHAPE, "adam_step: shapes [2] and [3] differ")                             \
  ROW(adam(F(2), F(2), D(2), F(2)), INVALID_DTYPE,                                                                     \
      "adam_step: param is f32 and moment_1 is f64; convert one with burn_cast")                                       \
  ROW(burn_mse(F(2), F(3)), INVALID_SHAPE, "mse: shapes [2] and [3] differ")                                           \
  ROW(burn_mse(I(2), I(2)), INVALID_DTYPE, "mse: not defined for i64; it takes float tensors")                         \
  ROW(sgd(F(2), F(1, 2), NULL), INVALID_SHAPE, "sgd_step: shapes [2] and [1,2] differ")                                \
  ROW(sgd(F(2), F(2), F(3)), INVALID_SHAPE, "sgd_step: shapes [2] and [3] differ")                                     \
  ROW(burn_dropout(F(2), 1.5), INVALID_ARGUMENT, "dropout: prob 1.5 is not in 0..1")                                   \
  ROW(burn_arange(device, 0, 3, 0), INVALID_ARGUMENT, "arange: step 0 is not positive")                                \
  ROW(burn_eye(device, -1, 0), INVALID_SHAPE, "eye: a tensor of shape [-1,-1] is not possible")                        \
  ROW(burn_zeros(device, rank_0(), 0), INVALID_SHAPE, "full: rank 0; tensors have rank 1 to 8")                        \
  ROW(burn_zeros(device, rank_9(), 0), INVALID_SHAPE, "full: rank 9; at most 8 is possible")                           \
  ROW(burn_zeros(device, BURN_SHAPE(2, -1), 0), INVALID_SHAPE, "full: a tensor of shape [2,-1] is not possible")       \
  ROW(burn_zeros(device, BURN_SHAPE(INT64_MAX, 4), 0), INVALID_SHAPE,                                                  \
      "full: a tensor of shape [9223372036854775807,4] is not possible")                                               \
  ROW(burn_zeros(device, BURN_SHAPE(2), 99), INVALID_DTYPE, "full: there is no dtype number 99")                       \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), 0, 2, 1), INVALID_ARGUMENT, "random_uniform: low 2 is above high 1")  \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_I64, 0, 1e10), INVALID_ARGUMENT,                           \
      "random_uniform: the range 0 .. 1e+10 is wider than 2^32")                                                       \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_F32, 0, (double)INFINITY), INVALID_ARGUMENT,               \
      "random_uniform: the range 0 .. inf overflows f32")                                                              \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_F32, 0, 1e39), INVALID_ARGUMENT,                           \
      "random_uniform: the range 0 .. 1e+39 overflows f32")                                                            \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_F32, -3e38, 3e38), INVALID_ARGUMENT,                       \
      "random_uniform: the range -3e+38 .. 3e+38 overflows f32")                                                       \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_F64, -1.5e308, 1.5e308), INVALID_ARGUMENT,                 \
      "random_uniform: the range -1.5e+308 .. 1.5e+308 overflows f64")                                                 \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_F16, 0, 70000), INVALID_ARGUMENT,                          \
      "random_uniform: the range 0 .. 70000 overflows f16")                                                            \
  ROW(burn_random_uniform_i64(device, BURN_SHAPE(2), BURN_DTYPE_F16, 0, 70000), INVALID_ARGUMENT,                      \
      "random_uniform: the range 0 .. 70000 overflows f16")                                                            \
  ROW(burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_BF16, 0, 3.4e38), INVALID_ARGUMENT,                        \
      "random_uniform: the range 0 .. 3.4e+38 overflows bf16")                                                         \
  ROW(burn_random_normal(device, BURN_SHAPE(2), 0, 0, -1), INVALID_ARGUMENT, "random_normal: std -1 is negative")      \
  ROW(burn_random_normal(device, BURN_SHAPE(2), BURN_DTYPE_I64, 0, 1), INVALID_DTYPE,                                  \
      "random_normal: not defined for i64; it takes float tensors")                                                    \
  ROW(burn_random_bernoulli(device, BURN_SHAPE(2), 0, 2), INVALID_ARGUMENT, "random_bernoulli: prob 2 is not in 0..1") \
  ROW(burn_tensor_from(device, NULL, BURN_DTYPE_F32, BURN_SHAPE(2)), INVALID_ARGUMENT, "tensor: the data is NULL")     \
  ROW(burn_tensor_from(device, "", 99, BURN_SHAPE(2)), INVALID_DTYPE, "tensor: there is no dtype number 99")           \
  ROW(burn_tensor_from(device, "", BURN_DTYPE_F32, rank_0()), INVALID_SHAPE, "tensor: rank 0 is not in 1..8")          \
  ROW(burn_tensor_from(device, "", BURN_DTYPE_F32, BURN_SHAPE(2, -2)), INVALID_SHAPE,                                  \
      "tensor: shape [2,-2] is not possible")                                                                          \
  ROW(read_status(F(2, 3), 4), INVALID_ARGUMENT, "read: the buffer holds 4 elements, a tensor of shape [2,3] has 6")   \
  ROW(scalar_status(F(2)), INVALID_ARGUMENT, "read: the buffer holds 1 elements, a tensor of shape [2] has 2")         \
  ROW(write_status(F(2), 4), INVALID_ARGUMENT, "write: 4 bytes given, the tensor has 8")

typedef struct Mistake {
  const char *call;
  uint32_t code;
  const char *message;
} Mistake;

/* The call of a row: one function for all, since a macro cannot name one per row. */
static BurnTensor *make_mistake(size_t number) {
  size_t row = 0;
#define ROW(call, code, message) \
  if (row++ == number) return call;
  MISTAKES(ROW)
#undef ROW
  return NULL;
}

static const Mistake mistakes[] = {
#define ROW(call, code, message) {#call, BURN_STATUS_##code, message},
    MISTAKES(ROW)
#undef ROW
};
enum { MISTAKE_COUNT = sizeof mistakes / sizeof mistakes[0] };

static void check_failed(BurnTensor *x, uint32_t code, const char *message, const char *what) {
  const BurnStatus status = test_failure(x);
  if (status == BURN_OK) fail_msg("%s on %s does not fail; expected: %s", what, burn_device_name(device), message);
  if (strcmp(burn_status_message(status), message) != 0) {
    fail_msg("%s on %s says\n  %s\nexpected\n  %s", what, burn_device_name(device), burn_status_message(status),
             message);
  }
  if (burn_status_code(status) != code)
    fail_msg("%s on %s: %s", what, burn_device_name(device), burn_status_text(status));
  burn_drop(x);
}

#define STACKS "ndarray; ndarray:primitives=true; autodiff<ndarray>"

static void make_mistakes(void **state) {
  (void)state;
  for (size_t i = 0; i < MISTAKE_COUNT; i++) {
    check_failed(make_mistake(i), mistakes[i].code, mistakes[i].message, mistakes[i].call);
    if (burn_device_memory(device).live_tensors != 0) fail_msg("%s: tensors are left over", mistakes[i].call);
  }
}

static void test_mistakes(void **state) {
  (void)state;
  test_on_stacks(STACKS, &device, NULL, make_mistakes);
}

/* An index inside a decomposition fails with the op that met it; the message has the values. */
static void index_inside_decompositions(void **state) {
  (void)state;
  const int64_t tokens[] = {0, 9};
  BurnTensor *x = burn_embedding(F(5, 2), burn_tensor_i64(device, tokens, BURN_SHAPE(1, 2)));
  assert_int_equal(burn_status_code(test_failure(x)), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(test_failure(x)), "index 9 at position 1 is outside 0..4"));
  burn_drop(x);
  x = burn_cross_entropy(F(2, 5), burn_tensor_i64(device, tokens, BURN_SHAPE(2)));
  assert_int_equal(burn_status_code(test_failure(x)), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(test_failure(x)), " 9 at"));
  burn_drop(x);
}

static void test_indices_inside_decompositions(void **state) {
  (void)state;
  test_on_stacks(STACKS, &device, NULL, index_inside_decompositions);
}

/* -- failures travel -------------------------------------------------------------------------- */

static const char first_message[] = "matmul: [3,4] x [5,6]: inner dimensions 4 and 5 differ";

static BurnTensor *broken(void) { return burn_matmul(F(3, 4), F(5, 6)); }

static void test_the_first_message_travels(void **state) {
  (void)state;
  device = burn_device_open("autodiff<ndarray>");
  BurnTensor *where = NULL, *parts[4] = {NULL}, *out[3] = {NULL};
  size_t count = 0;
  float values[4];
  BurnGradients *gradients = NULL;
  check_failed(burn_relu(burn_sum_dim(burn_add(broken(), F(1)), 0)), BURN_STATUS_INVALID_SHAPE, first_message,
               "a chain");
  check_failed(burn_add(F(1), broken()), BURN_STATUS_INVALID_SHAPE, first_message, "on the right");
  check_failed(burn_add(broken(), burn_exp(I(2))), BURN_STATUS_INVALID_SHAPE, first_message, "the first of two");
  check_failed(burn_reshape(broken(), BURN_SHAPE(1)), BURN_STATUS_INVALID_SHAPE, first_message, "reshape");
  check_failed(burn_slice(broken(), NULL, 0), BURN_STATUS_INVALID_SHAPE, first_message, "slice");
  check_failed(burn_linear(F(2, 2), broken(), F(2)), BURN_STATUS_INVALID_SHAPE, first_message, "linear");
  check_failed(burn_conv1d(F(2, 2, 2), broken(), NULL, BURN_CONV1D_OPTIONS), BURN_STATUS_INVALID_SHAPE, first_message,
               "conv1d");
  check_failed(burn_var(broken(), 0), BURN_STATUS_INVALID_SHAPE, first_message, "var");
  check_failed(burn_istft(broken(), F(8), 0, BURN_STFT_OPTIONS(8)), BURN_STATUS_INVALID_SHAPE, first_message, "istft");
  check_failed(burn_stft(F(1, 20), broken(), BURN_STFT_OPTIONS(8)), BURN_STATUS_INVALID_SHAPE, first_message, "stft");
  check_failed(burn_cross(F(3), broken(), 0), BURN_STATUS_INVALID_SHAPE, first_message, "cross");
  check_failed(burn_cosine_similarity(F(3), broken(), 0, 1), BURN_STATUS_INVALID_SHAPE, first_message,
               "cosine_similarity");
  check_failed(burn_vector_normalize(broken(), 2, 0, 1), BURN_STATUS_INVALID_SHAPE, first_message, "vector_normalize");
  check_failed(burn_affine_grid_2d(broken(), 2, 2), BURN_STATUS_INVALID_SHAPE, first_message, "affine_grid_2d");
  check_failed(burn_square(broken()), BURN_STATUS_INVALID_SHAPE, first_message, "square");
  check_failed(burn_int(broken()), BURN_STATUS_INVALID_SHAPE, first_message, "int");
  check_failed(burn_dropout(broken(), 0.5), BURN_STATUS_INVALID_SHAPE, first_message, "dropout");
  check_failed(burn_zeros_like(broken()), BURN_STATUS_INVALID_SHAPE, first_message, "zeros_like");
  check_failed(burn_repeat(broken(), (const int64_t[]){2, 2}), BURN_STATUS_INVALID_SHAPE, first_message, "repeat");
  check_failed(cat2(F(1), broken(), 0), BURN_STATUS_INVALID_SHAPE, first_message, "cat");
  check_failed(stack2(broken(), F(1), 0), BURN_STATUS_INVALID_SHAPE, first_message, "stack");
  check_failed(burn_layer_norm(F(1), F(1), broken(), 1), BURN_STATUS_INVALID_SHAPE, first_message, "an optional input");
  check_failed(burn_max_dim_with_indices(broken(), 0, &where), BURN_STATUS_INVALID_SHAPE, first_message,
               "max_dim_with_indices");
  check_failed(where, BURN_STATUS_INVALID_SHAPE, first_message, "its indices");
  burn_adam_step(F(1), broken(), F(1), F(1), 1, 1, 1, 1, 1, 1, out);
  for (size_t i = 0; i < 3; i++) check_failed(out[i], BURN_STATUS_INVALID_SHAPE, first_message, "adam_step");
  check_failed(burn_tensor_failed(burn_split(broken(), 1, 0, parts, 4, &count)), BURN_STATUS_INVALID_SHAPE,
               first_message, "split");
  check_failed(burn_require_grad(broken()), BURN_STATUS_INVALID_SHAPE, first_message, "require_grad");
  check_failed(burn_detach(broken()), BURN_STATUS_INVALID_SHAPE, first_message, "detach");
  check_failed(burn_inner(broken()), BURN_STATUS_INVALID_SHAPE, first_message, "inner");
  check_failed(burn_to_device(broken(), device), BURN_STATUS_INVALID_SHAPE, first_message, "to_device");
  assert_string_equal(burn_status_message(burn_read_f32(broken(), values, 4)), first_message);
  assert_string_equal(burn_status_message(burn_backward(broken(), &gradients)), first_message);
  assert_null(gradients);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

static void test_clone_of_broken_is_not_leaked(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  BurnTensor *x = broken();
  BurnTensor *y = burn_clone(x);
  burn_drop(x);
  check_failed(y, BURN_STATUS_INVALID_SHAPE, first_message, "a clone");
  burn_device_close(device);
}

static void test_a_failed_tensor_has_no_shape(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  BurnTensor *x = broken();
  assert_int_equal(burn_shape(x).rank, 0);
  assert_int_equal(burn_rank(x), 0);
  assert_int_equal(burn_dim(x, 0), -1);
  assert_int_equal(burn_element_count(x), 0);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_DEFAULT);
  assert_null(burn_tensor_device(x));
  burn_drop(x);
  burn_device_close(device);
}

/* A message outlives the ring of 1024 in the tensor that carries it. */
static void test_an_old_failure_keeps_its_message(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  BurnTensor *x = broken();
  for (int i = 0; i < 3000; i++) burn_drop(burn_exp(I(2)));
  check_failed(burn_relu(x), BURN_STATUS_INVALID_SHAPE, first_message, "after 3000 other failures");
  burn_device_close(device);
}

/* -- NULL and devices ------------------------------------------------------------------------- */

static void test_null(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  double value = 0;
  assert_null(burn_clone(NULL));
  burn_drop(NULL);
  check_failed(burn_relu(NULL), BURN_STATUS_INVALID_ARGUMENT, "relu: a tensor is NULL", "relu");
  check_failed(burn_add(NULL, NULL), BURN_STATUS_INVALID_ARGUMENT, "add: a tensor is NULL", "add");
  check_failed(burn_add(F(1), NULL), BURN_STATUS_INVALID_ARGUMENT, "add: input 1 (rhs) is missing", "add");
  check_failed(burn_add(NULL, F(1)), BURN_STATUS_INVALID_ARGUMENT, "add: input 0 (lhs) is missing", "add");
  check_failed(burn_sum_dim(NULL, 0), BURN_STATUS_INVALID_ARGUMENT, "sum_dim: a tensor is NULL", "sum_dim");
  check_failed(burn_reshape(NULL, BURN_SHAPE(1)), BURN_STATUS_INVALID_ARGUMENT, "reshape: a tensor is NULL", "reshape");
  check_failed(burn_int(NULL), BURN_STATUS_INVALID_ARGUMENT, "cast: a tensor is NULL", "int");
  check_failed(burn_square(NULL), BURN_STATUS_INVALID_ARGUMENT, "mul: a tensor is NULL", "square");
  check_failed(burn_zeros_like(NULL), BURN_STATUS_INVALID_ARGUMENT, "full_like: a tensor is NULL", "zeros_like");
  check_failed(burn_gather(F(1), 0, NULL), BURN_STATUS_INVALID_ARGUMENT, "gather: input 1 (indices) is missing",
               "gather");
  check_failed(burn_conv2d(F(1, 1, 1, 1), NULL, NULL, BURN_CONV2D_OPTIONS), BURN_STATUS_INVALID_ARGUMENT,
               "conv2d: input 1 (weight) is missing", "conv2d");
  check_failed(burn_conv1d(F(1, 1, 1), NULL, NULL, BURN_CONV1D_OPTIONS), BURN_STATUS_INVALID_ARGUMENT,
               "unsqueeze_dim: a tensor is NULL", "conv1d");
  assert_string_equal(burn_status_message(burn_read_scalar(NULL, &value)), "read: a tensor is NULL");
  assert_int_equal(burn_rank(NULL), 0);
  assert_int_equal(burn_dtype(NULL), BURN_DTYPE_DEFAULT);
  check_failed(burn_zeros(NULL, BURN_SHAPE(1), 0), BURN_STATUS_INVALID_ARGUMENT, "the device is NULL", "no device");
  check_failed(burn_random_normal(NULL, BURN_SHAPE(1), 0, 0, 1), BURN_STATUS_INVALID_ARGUMENT, "the device is NULL",
               "no device");
  check_failed(burn_arange(NULL, 0, 2, 1), BURN_STATUS_INVALID_ARGUMENT, "the device is NULL", "no device");
  check_failed(burn_to_device(F(1), NULL), BURN_STATUS_INVALID_ARGUMENT, "the device is NULL", "no device");
  check_failed(burn_tensor_failed(BURN_OK), BURN_STATUS_INTERNAL, "a failed tensor was asked for without a failure",
               "tensor_failed");
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
  burn_device_close(NULL);
}

static void test_different_devices(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  BurnDevice *other = burn_device_open_training("ndarray");
  BurnTensor *x = F(2), *y = burn_ones(other, BURN_SHAPE(2), 0);
  check_failed(
      burn_add(burn_clone(x), burn_clone(y)), BURN_STATUS_INVALID_ARGUMENT,
      "add: tensors live on different devices: 'ndarray' and 'autodiff<ndarray>'; move one with burn_to_device", "add");
  BurnDevice *again = burn_device_open("ndarray");
  check_failed(burn_add(burn_clone(x), burn_ones(again, BURN_SHAPE(2), 0)), BURN_STATUS_INVALID_ARGUMENT,
               "add: tensors live on two devices, each opened as 'ndarray'; open it once for both, or move one with "
               "burn_to_device",
               "add, opened twice");
  burn_device_close(again);
  const char *below =
      "add: tensors live on 'autodiff<ndarray>' and on its inner device 'ndarray'; take a module's valid "
      "copy there, or lift a tensor with burn_from_inner";
  BurnDevice *inner = burn_device_inner(other);
  check_failed(burn_add(burn_clone(y), burn_ones(inner, BURN_SHAPE(2), 0)), BURN_STATUS_INVALID_ARGUMENT, below, "add");
  check_failed(burn_add(burn_ones(inner, BURN_SHAPE(2), 0), burn_clone(y)), BURN_STATUS_INVALID_ARGUMENT, below, "add");
  check_failed(burn_from_inner(burn_clone(x), other), BURN_STATUS_INVALID_ARGUMENT,
               "from_inner: 'ndarray' is not the inner device of 'autodiff<ndarray>'", "from_inner");
  BurnTensor *sum = burn_add(burn_to_device(x, other), y);
  assert_string_equal(burn_status_message(burn_tensor_status(sum)), "ok");
  assert_ptr_equal(burn_tensor_device(sum), other);
  burn_drop(sum);
  check_failed(burn_require_grad(burn_ones(device, BURN_SHAPE(1), 0)), BURN_STATUS_NO_AUTODIFF,
               "require_grad: the stack 'ndarray' has no autodiff; open it with burn_device_open_training or as "
               "'autodiff<ndarray>'",
               "require_grad");
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  assert_int_equal(burn_device_memory(other).live_tensors, 0);
  burn_device_close(other);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_indices_inside_decompositions),
      cmocka_unit_test(test_the_first_message_travels),
      cmocka_unit_test(test_clone_of_broken_is_not_leaked),
      cmocka_unit_test(test_a_failed_tensor_has_no_shape),
      cmocka_unit_test(test_an_old_failure_keeps_its_message),
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_different_devices),
  };
  return test_stacks_result(cmocka_run_group_tests_name("shape rules", tests, NULL, NULL));
}
