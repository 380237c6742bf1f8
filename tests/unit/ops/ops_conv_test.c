/* ops_conv_test.c - convolutions of lines, planes and volumes, and windows as columns; see ops_case.h. */
#define OPS_GOLDEN "ops_conv_golden.h"
#include "ops_golden.h"

#define PAIR(i) \
  { WHOLE(i), WHOLE((i) + 1) }
#define TRIPLE(i) \
  { WHOLE(i), WHOLE((i) + 1), WHOLE((i) + 2) }

static BurnConv2dOptions conv_options(const OpsRun *run) {
  BurnConv2dOptions options = {
      {WHOLE(0), WHOLE(1)}, {WHOLE(2), WHOLE(3)}, {WHOLE(4), WHOLE(5)}, WHOLE(6), {0, 0}, false, {0, 0}};
  if (run->number_count > 7) {
    options.padding_out[0] = WHOLE(7);
    options.padding_out[1] = WHOLE(8);
  }
  return options;
}

static BurnConv1dOptions conv1d_options(const OpsRun *run) {
  return (BurnConv1dOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3), 0, false, 0};
}

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

static BurnUnfold4dOptions window(const OpsRun *run, size_t at) {
  return (BurnUnfold4dOptions){PAIR(at), PAIR(at + 2), PAIR(at + 4)};
}

static BurnDeformConv2dOptions deform(const OpsRun *run) {
  return (BurnDeformConv2dOptions){PAIR(0), PAIR(2), PAIR(4), WHOLE(6), WHOLE(7)};
}

/* A shape of as many numbers as are left. */
static BurnShape shape_from(const OpsRun *run, size_t at) {
  BurnShape shape = {(uint32_t)(run->number_count - at), {0}};
  for (size_t i = at; i < run->number_count; i++) shape.dims[i - at] = WHOLE(i);
  return shape;
}

/* The op itself and the public function, which must agree to the last bit. */
static BurnTensor *weight_backward(OpsRun *run) {
  const int64_t *w = run->wholes;
  const BurnAttr attrs[] = {burn_attr_i64s(w + 7, 4), burn_attr_i64s(w, 2), burn_attr_i64s(w + 2, 2),
                            burn_attr_i64s(w + 4, 2), burn_attr_i64(w[6])};
  BurnTensor *x = IN(0), *grad = IN(1), *const copies[] = {burn_clone(x), burn_clone(grad)};
  BurnTensor *raw = ops_raw(run, BURN_OP_conv2d_weight_backward, copies, 2, attrs, 5);
  return ops_same(burn_conv2d_weight_backward(x, grad, shape_from(run, 7), plane(run)), raw);
}

static BurnTensor *volume_weight_backward(OpsRun *run) {
  const BurnConv3dOptions options = {TRIPLE(0), TRIPLE(3), TRIPLE(6), WHOLE(9), {0, 0, 0}};
  return burn_conv3d_weight_backward(IN(0), IN(1), shape_from(run, 10), options);
}

#define ROWS(OPS)                                                                                \
  OPS(conv1d, OUT(0) = burn_conv1d(IN(0), IN(1), IN(2), conv1d_options(run)))                    \
  OPS(conv2d, OUT(0) = burn_conv2d(IN(0), IN(1), IN(2), conv_options(run)))                      \
  OPS(conv2d_weight_backward, OUT(0) = weight_backward(run))                                     \
  OPS(conv_transpose2d, OUT(0) = burn_conv_transpose2d(IN(0), IN(1), IN(2), conv_options(run)))  \
  OPS(conv3d, OUT(0) = burn_conv3d(IN(0), IN(1), IN(2), volume(run)))                            \
  OPS(conv3d_weight_backward, OUT(0) = volume_weight_backward(run))                              \
  OPS(conv_transpose3d, OUT(0) = burn_conv_transpose3d(IN(0), IN(1), IN(2), volume(run)))        \
  OPS(conv2d_asymmetric, OUT(0) = burn_conv2d(IN(0), IN(1), IN(2), sides_2d(run)))               \
  OPS(conv1d_asymmetric, OUT(0) = burn_conv1d(IN(0), IN(1), IN(2), sides_1d(run)))               \
  OPS(conv_transpose1d, OUT(0) = burn_conv_transpose1d(IN(0), IN(1), IN(2), transposed_1d(run))) \
  OPS(unfold4d, OUT(0) = burn_unfold4d(IN(0), run->wholes, window(run, 2)))                      \
  OPS(fold4d, OUT(0) = burn_fold4d(IN(0), run->wholes, run->wholes + 2, window(run, 4)))         \
  OPS(deform_conv2d, OUT(0) = burn_deform_conv2d(IN(0), IN(1), IN(2), IN(3), IN(4), deform(run)))

OPS_MAIN("convolutions", ROWS)
