/* fuzz_functions.c - public functions that resolve their arguments before an op sees them: dims, ranges, padding,
 * windows, options.
 *
 * Input: the stack, then function after function: its number, the arguments below, its tensors. */
#include "fuzz_target.h"

#include <burn/grid.h>
#include <burn/linalg.h>
#include <burn/quantization.h>
#include <burn/signal.h>

/* What a row may use, drawn before the call. A tensor that is not taken is dropped. */
typedef struct Draw {
  BurnDevice *device;
  BurnTensor *tensors[4], *second; /* second: the second result */
  int64_t n[6];
  int d[4];
  double f[2];
  uint32_t count; /* of d, n, ranges: 0 .. 4 */
  BurnShape shape;
  BurnRange ranges[4];
  BurnDType dtype;
  bool flag;
} Draw;

static BurnTensor *take(Draw *v, int i) {
  BurnTensor *x = v->tensors[i];
  v->tensors[i] = NULL;
  return x;
}
#define X take(v, 0)
#define Y take(v, 1)
#define Z take(v, 2)
#define W take(v, 3)

static BurnTensor *quantized(BurnTensor *x, const Draw *v) {
  const BurnQuantScheme scheme = {.value = (BurnQuantValue)(v->d[0] & 7),
                                  .scale_dtype = v->dtype,
                                  .block_rank = v->count,
                                  .block = {v->n[0], v->n[1], v->n[2], v->n[3], 1},
                                  .two_level = v->flag};
  return burn_dequantize(burn_quantize_dynamic(x, scheme), BURN_DTYPE_DEFAULT);
}

static BurnTensor *first_part(BurnStatus status, BurnTensor **parts, size_t capacity, size_t count) {
  if (!fuzz_ok(status)) return burn_tensor_failed(status);
  FUZZ_REQUIRE(count <= capacity, "%zu parts, the list holds %zu", count, capacity);
  for (size_t i = 1; i < count; i++) burn_drop(parts[i]);
  return count ? parts[0] : NULL;
}

/* ROW(name, expression): a function that gives a tensor. */
#define ROWS(ROW)                                                                                                      \
  ROW(full, burn_full(v->device, v->shape, v->dtype, v->f[0]))                                                         \
  ROW(arange, burn_arange(v->device, v->n[0], v->n[1], v->n[2]))                                                       \
  ROW(eye, burn_eye(v->device, v->n[0], v->dtype))                                                                     \
  ROW(random_uniform, burn_random_uniform(v->device, v->shape, v->dtype, v->f[0], v->f[1]))                            \
  ROW(random_normal, burn_random_normal(v->device, v->shape, v->dtype, v->f[0], v->f[1]))                              \
  ROW(cartesian_grid, burn_cartesian_grid(v->device, v->shape))                                                        \
  ROW(triu_mask, burn_triu_mask(v->device, v->shape, v->n[0]))                                                         \
  ROW(diag_mask, burn_diag_mask(v->device, v->shape, v->n[0]))                                                         \
  ROW(reshape, burn_reshape(X, v->shape))                                                                              \
  ROW(expand, burn_expand(X, v->shape))                                                                                \
  ROW(flatten, burn_flatten(X, v->d[0], v->d[1]))                                                                      \
  ROW(squeeze_dims, burn_squeeze_dims(X, v->d, v->count))                                                              \
  ROW(unsqueeze, burn_unsqueeze(X, v->count))                                                                          \
  ROW(unsqueeze_dims, burn_unsqueeze_dims(X, v->d, v->count))                                                          \
  ROW(swap_dims, burn_swap_dims(X, v->d[0], v->d[1]))                                                                  \
  ROW(movedims, burn_movedims(X, v->d, v->d + 2, v->count % 3))                                                        \
  ROW(permute, burn_rank(v->tensors[0]) <= 4 ? burn_permute(X, v->d) : X)                                              \
  ROW(flip, burn_flip(X, v->d, v->count))                                                                              \
  ROW(roll, burn_roll(X, v->n, v->d, v->count))                                                                        \
  ROW(slice, burn_slice(X, v->ranges, v->count))                                                                       \
  ROW(slice_assign, burn_slice_assign(X, v->ranges, v->count, Y))                                                      \
  ROW(slice_fill, burn_slice_fill(X, v->ranges, v->count, v->f[0]))                                                    \
  ROW(slice_dim, burn_slice_dim(X, v->d[0], v->ranges[0]))                                                             \
  ROW(narrow, burn_narrow(X, v->d[0], v->n[0], v->n[1]))                                                               \
  ROW(select_dim, burn_select_dim(X, v->d[0], v->n[0]))                                                                \
  ROW(repeat_dim, burn_repeat_dim(X, v->d[0], v->n[0]))                                                                \
  ROW(unfold, burn_unfold(X, v->d[0], v->n[0], v->n[1]))                                                               \
  ROW(pad, burn_pad(X, v->n, v->count % 4, v->n[5], v->f[0]))                                                          \
  ROW(cat, burn_cat((BurnTensor *[]){X, Y}, 2, v->d[0]))                                                               \
  ROW(stack, burn_stack((BurnTensor *[]){X, Y}, 2, v->d[0]))                                                           \
  ROW(select, burn_select(X, v->d[0], Y))                                                                              \
  ROW(select_assign, burn_select_assign(X, v->d[0], Y, Z, v->n[0]))                                                    \
  ROW(gather, burn_gather(X, v->d[0], Y))                                                                              \
  ROW(scatter, burn_scatter(X, v->d[0], Y, Z, v->n[0]))                                                                \
  ROW(gather_nd, burn_gather_nd(X, Y))                                                                                 \
  ROW(scatter_nd, burn_scatter_nd(X, Y, Z, v->n[0]))                                                                   \
  ROW(take, burn_take(X, v->d[0], Y))                                                                                  \
  ROW(mask_select, burn_mask_select(X, burn_bool(Y)))                                                                  \
  ROW(argwhere, burn_argwhere(burn_bool(X)))                                                                           \
  ROW(one_hot, burn_one_hot(X, v->n[0]))                                                                               \
  ROW(one_hot_fill, burn_one_hot_fill(X, v->n[0], v->f[0], v->f[1], v->d[0]))                                          \
  ROW(cumprod, burn_cumprod(X, v->d[0]))                                                                               \
  ROW(cummax, burn_cummax(X, v->d[0]))                                                                                 \
  ROW(sort, burn_sort_with_indices(X, v->d[0], &v->second))                                                            \
  ROW(topk, burn_topk_with_indices(X, v->n[0], v->d[0], &v->second))                                                   \
  ROW(median, burn_median_with_indices(X, v->d[0], &v->second))                                                        \
  ROW(mean_dims, burn_mean_dims(X, v->d, v->count))                                                                    \
  ROW(max_dims, burn_max_dims(X, v->d, v->count))                                                                      \
  ROW(sum_dims_squeeze, burn_sum_dims_squeeze(X, v->d, v->count))                                                      \
  ROW(var_mean, burn_var_mean(X, v->d[0], &v->second))                                                                 \
  ROW(cov, burn_cov(X, v->d[0], v->n[0]))                                                                              \
  ROW(categorical, burn_categorical(X, v->n[0]))                                                                       \
  ROW(triu, burn_triu(X, v->n[0]))                                                                                     \
  ROW(powi_scalar, burn_powi_scalar(X, v->n[0]))                                                                       \
  ROW(left_shift, burn_bitwise_left_shift_scalar(X, v->n[0]))                                                          \
  ROW(clamp, burn_clamp(X, v->f[0], v->f[1]))                                                                          \
  ROW(matmul, burn_matmul(X, Y))                                                                                       \
  ROW(outer_dim, burn_outer_dim(X, Y, v->d[0]))                                                                        \
  ROW(vector_norm, burn_vector_norm(X, v->f[0], v->d[0]))                                                              \
  ROW(lu, burn_lu_decomposition(X, &v->second))                                                                        \
  ROW(qr, burn_qr(X, v->flag, &v->second))                                                                             \
  ROW(rfft, burn_rfft(X, v->d[0], v->n[0], &v->second))                                                                \
  ROW(irfft, burn_irfft(X, Y, v->d[0], v->n[0]))                                                                       \
  ROW(cfft, burn_cfft(X, Y, v->d[0], v->n[0], &v->second))                                                             \
  ROW(stft, burn_stft(X, Y, ((BurnStftOptions){v->n[0], v->n[1], v->n[2], v->flag, v->d[0] & 1})))                     \
  ROW(istft, burn_istft(X, Y, v->n[3], ((BurnStftOptions){v->n[0], v->n[1], v->n[2], v->flag, v->d[0] & 1})))          \
  ROW(hann_window, burn_hann_window(v->device, v->n[0], v->flag, v->dtype))                                            \
  ROW(affine_grid_2d, burn_affine_grid_2d(X, v->n[0], v->n[1]))                                                        \
  ROW(conv1d,                                                                                                          \
      burn_conv1d(X, Y, Z, ((BurnConv1dOptions){v->n[0], v->n[1], v->n[2], v->n[3], v->n[4], v->flag, v->n[5]})))      \
  ROW(conv_transpose1d,                                                                                                \
      burn_conv_transpose1d(X, Y, Z, ((BurnConv1dOptions){v->n[0], v->n[1], v->n[2], v->n[3], v->n[4], false, 0})))    \
  ROW(conv2d,                                                                                                          \
      burn_conv2d(X, Y, Z,                                                                                             \
                  ((BurnConv2dOptions){                                                                                \
                      {v->n[0], v->n[1]}, {v->n[2], v->n[3]}, {v->n[4], 1}, v->n[5], {0, 0}, v->flag, {1, 2}})))       \
  ROW(unfold4d, burn_unfold4d(X, v->n, ((BurnUnfold4dOptions){{v->n[2], v->n[3]}, {v->n[4], 0}, {v->n[5], 1}})))       \
  ROW(max_pool1d, burn_max_pool1d(X, ((BurnPool1dOptions){v->n[0], v->n[1], v->n[2], v->n[3], v->flag, true})))        \
  ROW(avg_pool2d,                                                                                                      \
      burn_avg_pool2d(X, ((BurnPool2dOptions){                                                                         \
                             {v->n[0], v->n[1]}, {v->n[2], v->n[3]}, {v->n[4], 0}, {1, 1}, v->flag, v->d[0] & 1})))    \
  ROW(adaptive_avg_pool2d, burn_adaptive_avg_pool2d(X, v->n))                                                          \
  ROW(interpolate, burn_interpolate(X, v->n, ((BurnInterpolateOptions){(BurnInterpolateMode)(v->d[0] & 3), v->flag}))) \
  ROW(attention, burn_attention(X, Y, Z, NULL, NULL, ((BurnAttentionOptions){v->f[0], v->f[1], v->flag})))             \
  ROW(dropout, burn_dropout(X, v->f[0]))                                                                               \
  ROW(cross_entropy, burn_cross_entropy(X, Y))                                                                         \
  ROW(ctc_loss, burn_ctc_loss(X, Y, Z, W, v->n[0]))                                                                    \
  ROW(softmax, burn_softmax(X, v->d[0]))                                                                               \
  ROW(glu, burn_glu(X, v->d[0]))                                                                                       \
  ROW(quantize, quantized(X, v))                                                                                       \
  ROW(cast, burn_cast(X, v->dtype))                                                                                    \
  ROW(split_with_sizes, split(v, X))                                                                                   \
  ROW(nonzero, nonzero(v, X))

static BurnTensor *split(const Draw *v, BurnTensor *x) {
  BurnTensor *parts[4] = {NULL};
  size_t count = 0;
  const BurnStatus status = burn_split_with_sizes(x, v->n, v->count, v->d[0], parts, 4, &count);
  return first_part(status, parts, 4, count);
}

static BurnTensor *nonzero(const Draw *v, BurnTensor *x) {
  BurnTensor *parts[BURN_MAX_RANK] = {NULL};
  size_t count = 0;
  const size_t room = v->flag ? BURN_MAX_RANK : v->count;
  const BurnStatus status = burn_nonzero(burn_bool(x), parts, room, &count);
  return first_part(status, parts, room, count);
}

#define FUNCTION(name, expression) \
  static BurnTensor *call_##name(Draw *v) { return (expression); }
ROWS(FUNCTION)
#undef FUNCTION
#define ENTRY(name, expression) call_##name,
static BurnTensor *(*const functions[])(Draw *v) = {ROWS(ENTRY)};
#undef ENTRY

static void draw(FuzzInput *input, Draw *v) {
  for (int i = 0; i < 6; i++) v->n[i] = fuzz_integer(input);
  for (int i = 0; i < 4; i++) v->d[i] = (int)fuzz_integer(input);
  for (int i = 0; i < 2; i++) v->f[i] = fuzz_number(input);
  v->count = fuzz_below(input, 5);
  v->shape.rank = fuzz_below(input, 32) == 1 ? fuzz_byte(input) : 1 + fuzz_below(input, 4);
  for (int i = 0; i < 4; i++) v->shape.dims[i] = fuzz_integer(input);
  for (int i = 0; i < 4; i++) {
    v->ranges[i] = (BurnRange){fuzz_integer(input), 0, 0};
    v->ranges[i].end = fuzz_below(input, 4) ? fuzz_integer(input) : BURN_END;
    v->ranges[i].step = fuzz_below(input, 2) ? fuzz_integer(input) : 1;
  }
  v->dtype = fuzz_dtype(input);
  v->flag = fuzz_below(input, 2) == 1;
}

static void call(FuzzInput *input, BurnDevice *device) {
  Draw v = {.device = device};
  const uint32_t which = fuzz_byte(input) % (sizeof functions / sizeof functions[0]);
  draw(input, &v);
  for (int i = 0; i < 4; i++) v.tensors[i] = fuzz_tensor(input, device);
  BurnTensor *result = functions[which](&v);
  if (v.second) fuzz_use(v.second);
  if (result) fuzz_use(result);
  for (int i = 0; i < 4; i++) burn_drop(v.tensors[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const stacks[] = {"ndarray", "autodiff<fusion<ndarray>>", "reference", "autodiff<ndarray>"};
  FuzzInput input = {bytes, count};
  BurnDevice *device = fuzz_device(stacks[fuzz_below(&input, 4)]);
  for (int i = 0; i < 3 && input.left > 0; i++) call(&input, device);
  fuzz_device_end(device);
  return 0;
}
