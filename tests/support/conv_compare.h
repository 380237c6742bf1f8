/* conv_compare.h - a conv2d and both of its gradients on a device beside the same on another one. Numbers are small
 * integers, so that sums are exact in every order, and results are compared to the bit. */
#ifndef BURN_TEST_CONV_COMPARE_H
#define BURN_TEST_CONV_COMPARE_H

#include "forked.h"

#include <burn/burn.h>

static inline BurnTensor *integers(BurnDevice *device, BurnShape shape, BurnDType dtype, int seed) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  float *values = malloc((size_t)count * sizeof *values + 1);
  CHECK(values, "no memory");
  for (int64_t i = 0; i < count; i++) values[i] = (float)((i * 7 + i / 13 * 5 + seed * 3) % 5 - 2);
  BurnTensor *x = burn_cast(burn_tensor_f32(device, values, shape), dtype);
  free(values);
  return x;
}

/* Channels, planes and what a conv2d does with them. */
typedef struct ConvCase {
  int64_t batch, in, out, groups, height, width, taps_y, taps_x, stride, padding, dilation;
} ConvCase;

static inline void check_same(BurnTensor *x, BurnTensor *expected, const char *what, const ConvCase *c) {
  enum { MOST = 1 << 19 };
  static float got[MOST], wanted[MOST];
  const size_t count = (size_t)burn_element_count(x);
  CHECK(burn_tensor_status(x) == BURN_OK, "%s: %s", what, burn_status_message(burn_tensor_status(x)));
  CHECK(count <= MOST && count == (size_t)burn_element_count(expected), "%s: %zu elements", what, count);
  const BurnStatus first = burn_read_f32(burn_cast(x, BURN_DTYPE_F32), got, count);
  const BurnStatus second = burn_read_f32(burn_cast(expected, BURN_DTYPE_F32), wanted, count);
  CHECK(first == BURN_OK && second == BURN_OK, "%s", burn_status_message(first == BURN_OK ? second : first));
  for (size_t i = 0; i < count; i++)
    CHECK(got[i] == wanted[i],
          "%s of %d channels to %d, %d x %d taps, stride %d, padding %d: element %zu is %g, not %g", what, (int)c->in,
          (int)c->out, (int)c->taps_y, (int)c->taps_x, (int)c->stride, (int)c->padding, i, (double)got[i],
          (double)wanted[i]);
}

/* conv2d, its gradients of pixels and weight, for results that have as many rows and columns as conv2d gives. */
enum { CONV_RESULTS = 3 };
static inline void run_conv(BurnDevice *device, const ConvCase *c, BurnDType dtype, BurnTensor *out[CONV_RESULTS]) {
  const BurnShape weight = BURN_SHAPE(c->out, c->in / c->groups, c->taps_y, c->taps_x);
  const int64_t height = c->height + 2 * c->padding - (c->taps_y - 1) * c->dilation - 1;
  const int64_t width = c->width + 2 * c->padding - (c->taps_x - 1) * c->dilation - 1;
  const int64_t rows = height / c->stride + 1, columns = width / c->stride + 1;
  const BurnShape windows = BURN_SHAPE(c->batch, c->out, rows, columns);
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  for (int axis = 0; axis < 2; axis++) {
    options.stride[axis] = c->stride;
    options.padding[axis] = c->padding;
    options.dilation[axis] = c->dilation;
  }
  options.groups = c->groups;
  BurnTensor *pixels = integers(device, BURN_SHAPE(c->batch, c->in, c->height, c->width), dtype, 1);
  BurnTensor *grad = integers(device, windows, dtype, 2), *kernel = integers(device, weight, dtype, 3);
  out[0] = burn_conv2d(burn_clone(pixels), burn_clone(kernel), integers(device, BURN_SHAPE(c->out), dtype, 4), options);
  out[1] = burn_conv2d_weight_backward(pixels, burn_clone(grad), weight, options);
  options.padding_out[0] = height % c->stride;
  options.padding_out[1] = width % c->stride;
  out[2] = burn_conv_transpose2d(grad, kernel, integers(device, BURN_SHAPE(c->in), dtype, 5), options);
}

static inline void compare_conv(BurnDevice *device, BurnDevice *other, const ConvCase *c, BurnDType dtype) {
  static const char *const names[CONV_RESULTS] = {"conv2d", "conv2d_weight_backward", "conv_transpose2d"};
  BurnTensor *out[CONV_RESULTS], *expected[CONV_RESULTS];
  run_conv(device, c, dtype, out);
  run_conv(other, c, dtype, expected);
  for (int i = 0; i < CONV_RESULTS; i++) check_same(out[i], expected[i], names[i], c);
}

/* For kernels/implicit_conv.cu: channels and planes that fill no tile and several, groups, strides with phases that have no
 * pixel or no tap, dilation, fours and none, k in parts (of the weight's gradient, and of planes of a few pixels). */
static const ConvCase gathered_cases[] = {
    {2, 16, 40, 1, 61, 50, 3, 3, 1, 1, 2},  {3, 36, 130, 1, 30, 29, 3, 3, 2, 1, 1},
    {2, 36, 72, 2, 24, 24, 3, 3, 1, 1, 1},  {1, 34, 17, 1, 37, 53, 1, 5, 3, 0, 1},
    {4, 70, 33, 1, 31, 1, 2, 1, 2, 0, 1},   {1, 64, 48, 1, 40, 40, 7, 7, 1, 3, 1},
    {16, 40, 36, 1, 12, 12, 1, 1, 1, 0, 1}, {4, 130, 140, 1, 4, 4, 3, 3, 1, 1, 1},
    {1, 33, 40, 1, 33, 20, 4, 4, 4, 5, 1},  {12, 32, 20, 1, 16, 16, 3, 3, 1, 1, 2},
    {1, 16, 128, 1, 40, 40, 3, 3, 1, 1, 2}};

#endif
