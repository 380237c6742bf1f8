/* ops_windows_test.c - volumes, windows as columns, pools and convolutions along one axis, resampling, attention,
 * batch_norm and ctc_loss, against PyTorch (tests/golden/ops_windows.py). */
#define OPS_GOLDEN "ops_windows_golden.h"
#include "ops_golden.h"

#define PAIR(i) \
  { WHOLE(i), WHOLE((i) + 1) }
#define TRIPLE(i) \
  { WHOLE(i), WHOLE((i) + 1), WHOLE((i) + 2) }

static BurnConv3dOptions volume(const OpsRun *run) {
  BurnConv3dOptions options = {TRIPLE(0), TRIPLE(3), TRIPLE(6), WHOLE(9), {0, 0, 0}};
  for (size_t i = 0; i < 3 && run->number_count > 10; i++) options.padding_out[i] = WHOLE(10 + i);
  return options;
}

static BurnConv2dOptions sides_2d(const OpsRun *run) {
  return (BurnConv2dOptions){PAIR(0), PAIR(2), {1, 1}, 1, {0, 0}, true, PAIR(4)};
}
static BurnConv1dOptions sides_1d(const OpsRun *run) {
  return (BurnConv1dOptions){WHOLE(0), WHOLE(1), 1, 1, 0, true, WHOLE(2)};
}
static BurnConv1dOptions transposed_1d(const OpsRun *run) {
  return (BurnConv1dOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3), WHOLE(4), false, 0};
}
static BurnConv2dOptions plane(const OpsRun *run) {
  return (BurnConv2dOptions){PAIR(0), PAIR(2), PAIR(4), WHOLE(6), {0, 0}, false, {0, 0}};
}
static BurnPool1dOptions pool(const OpsRun *run) {
  return (BurnPool1dOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3), WHOLE(4) != 0, WHOLE(5) != 0};
}
static BurnPool2dOptions pool_2d(const OpsRun *run, size_t at) {
  return (BurnPool2dOptions){PAIR(at), PAIR(at + 2), PAIR(at + 4), {1, 1}, false, WHOLE(at + 6) != 0};
}
static BurnUnfold4dOptions window(const OpsRun *run, size_t at) {
  return (BurnUnfold4dOptions){PAIR(at), PAIR(at + 2), PAIR(at + 4)};
}
static BurnDeformConv2dOptions deform(const OpsRun *run) {
  return (BurnDeformConv2dOptions){PAIR(0), PAIR(2), PAIR(4), WHOLE(6), WHOLE(7)};
}
static BurnInterpolateOptions interpolation(const OpsRun *run) {
  return (BurnInterpolateOptions){(BurnInterpolateMode)WHOLE(2), WHOLE(3) != 0};
}
static BurnGridSampleOptions grid(const OpsRun *run) {
  return (BurnGridSampleOptions){(BurnGridSampleMode)WHOLE(0), (BurnGridPaddingMode)WHOLE(1), WHOLE(2) != 0};
}
static BurnAttentionOptions heads(const OpsRun *run) {
  return (BurnAttentionOptions){NUMBER(0), NUMBER(1), WHOLE(2) != 0};
}

/* A shape of four numbers. */
static BurnShape shape_4(const OpsRun *run, size_t at) {
  return BURN_SHAPE(WHOLE(at), WHOLE(at + 1), WHOLE(at + 2), WHOLE(at + 3));
}

#define ROWS(OPS)                                                                                              \
  OPS(conv3d, OUT(0) = burn_conv3d(IN(0), IN(1), IN(2), volume(run)))                                          \
  OPS(conv_transpose3d, OUT(0) = burn_conv_transpose3d(IN(0), IN(1), IN(2), volume(run)))                      \
  OPS(adaptive_avg_pool3d, OUT(0) = burn_adaptive_avg_pool3d(IN(0), run->wholes))                              \
  OPS(conv2d_asymmetric, OUT(0) = burn_conv2d(IN(0), IN(1), IN(2), sides_2d(run)))                             \
  OPS(conv1d_asymmetric, OUT(0) = burn_conv1d(IN(0), IN(1), IN(2), sides_1d(run)))                             \
  OPS(conv_transpose1d, OUT(0) = burn_conv_transpose1d(IN(0), IN(1), IN(2), transposed_1d(run)))               \
  OPS(max_pool1d, OUT(0) = burn_max_pool1d(IN(0), pool(run)))                                                  \
  OPS(max_pool1d_with_indices, OUT(0) = burn_max_pool1d_with_indices(IN(0), pool(run), &OUT(1)))               \
  OPS(avg_pool1d, OUT(0) = burn_avg_pool1d(IN(0), pool(run)))                                                  \
  OPS(adaptive_avg_pool1d, OUT(0) = burn_adaptive_avg_pool1d(IN(0), WHOLE(0)))                                 \
  OPS(unfold4d, OUT(0) = burn_unfold4d(IN(0), run->wholes, window(run, 2)))                                    \
  OPS(fold4d, OUT(0) = burn_fold4d(IN(0), run->wholes, run->wholes + 2, window(run, 4)))                       \
  OPS(interpolate, OUT(0) = burn_interpolate(IN(0), run->wholes, interpolation(run)))                          \
  OPS(grid_sample_2d, OUT(0) = burn_grid_sample_2d(IN(0), IN(1), grid(run)))                                   \
  OPS(deform_conv2d, OUT(0) = burn_deform_conv2d(IN(0), IN(1), IN(2), IN(3), IN(4), deform(run)))              \
  OPS(attention, OUT(0) = burn_attention(IN(0), IN(1), IN(2), IN(3), IN(4), heads(run)))                       \
  OPS(batch_norm, OUT(0) = burn_batch_norm(IN(0), IN(1), IN(2), IN(3), IN(4), NUMBER(0)))                      \
  OPS(ctc_loss, OUT(0) = burn_ctc_loss(IN(0), IN(1), IN(2), IN(3), WHOLE(0)))                                  \
  OPS(conv2d_weight_backward, OUT(0) = burn_conv2d_weight_backward(IN(0), IN(1), shape_4(run, 7), plane(run))) \
  OPS(avg_pool2d_backward, OUT(0) = burn_avg_pool2d_backward(IN(0), shape_4(run, 0), pool_2d(run, 4)))         \
  OPS(max_pool2d_with_indices_backward, OUT(0) = burn_max_pool2d_with_indices_backward(IN(0), IN(1), shape_4(run, 0)))

OPS_MAIN("windows, resampling and attention", ROWS)
