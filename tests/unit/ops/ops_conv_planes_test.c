/* ops_conv_planes_test.c - conv2d of groups of one channel, of few channels with stride 2, and of many, and their
 * gradients, against
 * plain loops: every height of a plane around the tiles of the CPU backend, on every instruction set. Values are small
 * integers, so that all sums are exact in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdlib.h>

#include "test_stacks.h"

/* Channels in and out, groups, rows and columns of the input, kernel, stride, padding, dilation. */
typedef struct Case {
  int64_t in, out, groups, height, width, kernel, stride, padding, dilation;
} Case;

static BurnDevice *device;
static BurnDType dtype;

static double number(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x45D9F3Bu;
  i ^= i >> 16;
  return (double)(i % 17) - 8.0;
}

static double *numbers(int64_t count, uint32_t first) {
  double *data = malloc((size_t)count * sizeof *data);
  assert_non_null(data);
  for (int64_t i = 0; i < count; i++) data[i] = number(first + (uint32_t)i);
  return data;
}

/* One number of the result: channel o, row y, column x. */
static double sum_at(const Case *c, const double *x, const double *weight, int64_t o, int64_t row, int64_t column) {
  const int64_t channels = c->in / c->groups, first = o / (c->out / c->groups) * channels, k = c->kernel;
  double sum = 0;
  for (int64_t i = 0; i < channels; i++)
    for (int64_t tap = 0; tap < k * k; tap++) {
      const int64_t iy = row * c->stride - c->padding + tap / k * c->dilation;
      const int64_t ix = column * c->stride - c->padding + tap % k * c->dilation;
      if (iy < 0 || iy >= c->height || ix < 0 || ix >= c->width) continue;
      sum += x[((first + i) * c->height + iy) * c->width + ix] * weight[(o * channels + i) * k * k + tap];
    }
  return sum;
}

static BurnConv2dOptions options_of(const Case *c) {
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  options.groups = c->groups;
  options.stride[0] = options.stride[1] = c->stride;
  options.padding[0] = options.padding[1] = c->padding;
  options.dilation[0] = options.dilation[1] = c->dilation;
  return options;
}

static BurnTensor *tensor_of(const double *data, BurnShape shape) {
  return burn_cast(burn_tensor_f64(device, data, shape), dtype);
}

static void check_case(const Case *c) {
  const int64_t channels = c->in / c->groups, span = (c->kernel - 1) * c->dilation + 1;
  const int64_t rows = (c->height + 2 * c->padding - span) / c->stride + 1;
  const int64_t columns = (c->width + 2 * c->padding - span) / c->stride + 1;
  double *x = numbers(c->in * c->height * c->width, 1), *bias = numbers(c->out, 7);
  double *weight = numbers(c->out * channels * c->kernel * c->kernel, 99);
  double *found = malloc((size_t)(c->out * rows * columns) * sizeof *found);
  assert_non_null(found);
  BurnTensor *y = burn_conv2d(tensor_of(x, BURN_SHAPE(1, c->in, c->height, c->width)),
                              tensor_of(weight, BURN_SHAPE(c->out, channels, c->kernel, c->kernel)),
                              tensor_of(bias, BURN_SHAPE(c->out)), options_of(c));
  const BurnStatus status = burn_read_f64(y, found, (size_t)(c->out * rows * columns));
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  for (int64_t i = 0; i < c->out * rows * columns; i++) {
    const int64_t o = i / (rows * columns), row = i / columns % rows, column = i % columns;
    const double wanted = bias[o] + sum_at(c, x, weight, o, row, column);
    if (found[i] != wanted)
      fail_msg("kernel %d of %dx%d, stride %d: %g at channel %d, (%d, %d), expected %g", (int)c->kernel, (int)c->height,
               (int)c->width, (int)c->stride, found[i], (int)o, (int)row, (int)column, wanted);
  }
  free(x);
  free(bias);
  free(weight);
  free(found);
}

/* Many output channels and pixels: weights are packed, also an incomplete tile of them, and in more than one chunk. */
static void check_many_channels(void) {
  static const int64_t widths[] = {24, 23, 30};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    check_case(&(Case){25, 30, 1, 24, widths[w], 3, 1, 1, 1});
    check_case(&(Case){10, 36, 2, 27, widths[w], 3, 1, 0, 1});
    check_case(&(Case){7, 17, 1, 51, 2 * widths[w] + 1, 3, 2, 1, 1});
    check_case(&(Case){40, 64, 1, 24, widths[w], 1, 1, 0, 1});
    check_case(&(Case){5, 65, 1, 49, 2 * widths[w], 1, 2, 0, 1});
    check_case(&(Case){3, 18, 1, 30, widths[w], 3, 1, 2, 2});
    check_case(&(Case){25, 18, 1, 5, widths[w], 3, 1, 1, 1});
    check_case(&(Case){25, 130, 1, 24, widths[w], 3, 2, 1, 1});
    check_case(&(Case){6, 280, 2, 24, widths[w], 1, 1, 0, 1});
    check_case(&(Case){30, 133, 1, 25, widths[w], 2, 1, 0, 1});
  }
}

/* Kernels of one tap: every number of pixels that are left over after whole tiles, one chunk of taps and several. */
static void check_points(void) {
  for (int64_t width = 90; width <= 120; width++) {
    check_case(&(Case){5, 6, 1, 1, width, 1, 1, 0, 1});
    check_case(&(Case){8, 40, 2, 5, width, 1, 1, 0, 1});
    check_case(&(Case){401, 21, 1, 1, width, 1, 1, 0, 1});
  }
  check_case(&(Case){400, 20, 1, 22, 23, 1, 1, 0, 1});
  check_case(&(Case){200, 9, 1, 32, 32, 1, 1, 0, 1});
}

enum { BATCH = 3 };

/* Reads y, which it takes, and compares. */
static void check_numbers(const Case *c, const char *what, BurnTensor *y, const double *wanted, int64_t count) {
  double *found = malloc((size_t)count * sizeof *found);
  assert_non_null(found);
  const BurnStatus status = burn_read_f64(y, found, (size_t)count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  for (int64_t i = 0; i < count; i++)
    if (found[i] != wanted[i])
      fail_msg("%s, kernel %d of %dx%d, stride %d: %g at %d, expected %g", what, (int)c->kernel, (int)c->height,
               (int)c->width, (int)c->stride, found[i], (int)i, wanted[i]);
  free(found);
}

/* The gradient of weights, and the transposed convolution that takes a result's gradient back to the input, of BATCH
 * images: every pair of a number of x and one of the result that meet under a weight counts in both. */
static void check_gradients(const Case *c) {
  const int64_t span = (c->kernel - 1) * c->dilation + 1, row = c->in / c->groups, kernel = c->kernel * c->kernel;
  const int64_t rows = (c->height + 2 * c->padding - span) / c->stride + 1;
  const int64_t columns = (c->width + 2 * c->padding - span) / c->stride + 1;
  const int64_t plane = c->height * c->width, out_plane = rows * columns;
  double *x = numbers(BATCH * c->in * plane, 1), *grad = numbers(BATCH * c->out * out_plane, 7);
  double *weight = numbers(c->out * row * kernel, 99);
  double *weight_grad = calloc((size_t)(c->out * row * kernel), sizeof *weight_grad);
  double *back = calloc((size_t)(BATCH * c->in * plane), sizeof *back);
  assert_true(weight_grad && back);
  for (int64_t at = 0; at < BATCH * c->out * out_plane * row * kernel; at++) {
    const int64_t tap = at % kernel, i = at / kernel % row, pixel = at / kernel / row % out_plane;
    const int64_t o = at / kernel / row / out_plane % c->out, image = at / kernel / row / out_plane / c->out;
    const int64_t y = pixel / columns * c->stride - c->padding + tap / c->kernel * c->dilation;
    const int64_t z = pixel % columns * c->stride - c->padding + tap % c->kernel * c->dilation;
    if (y < 0 || y >= c->height || z < 0 || z >= c->width) continue;
    const int64_t place = ((image * c->in + o / (c->out / c->groups) * row + i) * c->height + y) * c->width + z;
    const int64_t w = (o * row + i) * kernel + tap;
    const double g = grad[(image * c->out + o) * out_plane + pixel];
    weight_grad[w] += g * x[place];
    back[place] += g * weight[w];
  }
  const BurnShape weights = BURN_SHAPE(c->out, row, c->kernel, c->kernel);
  BurnConv2dOptions options = options_of(c);
  check_numbers(
      c, "gradient of weights",
      burn_conv2d_weight_backward(tensor_of(x, BURN_SHAPE(BATCH, c->in, c->height, c->width)),
                                  tensor_of(grad, BURN_SHAPE(BATCH, c->out, rows, columns)), weights, options),
      weight_grad, c->out * row * kernel);
  options.padding_out[0] = c->height - ((rows - 1) * c->stride - 2 * c->padding + span);
  options.padding_out[1] = c->width - ((columns - 1) * c->stride - 2 * c->padding + span);
  check_numbers(c, "transposed",
                burn_conv_transpose2d(tensor_of(grad, BURN_SHAPE(BATCH, c->out, rows, columns)),
                                      tensor_of(weight, weights), NULL, options),
                back, BATCH * c->in * plane);
  free(x);
  free(grad);
  free(weight);
  free(weight_grad);
  free(back);
}

/* Weights of one tap, whose lanes are channels of the input or of the output; and groups of one channel with small
 * planes, of all sizes around those of vectors. */
static void check_all_gradients(void) {
  check_gradients(&(Case){33, 70, 1, 9, 7, 1, 1, 0, 1});
  check_gradients(&(Case){70, 33, 1, 9, 7, 1, 1, 0, 1});
  check_gradients(&(Case){72, 140, 2, 11, 13, 1, 1, 0, 1});
  check_gradients(&(Case){40, 200, 1, 14, 14, 1, 1, 0, 1});
  check_gradients(&(Case){130, 140, 1, 3, 3, 1, 1, 0, 1});
  check_gradients(&(Case){64, 70, 1, 14, 14, 1, 1, 0, 1}); /* planes of x, or of grad, are read where they lie */
  check_gradients(&(Case){70, 64, 1, 17, 15, 1, 1, 0, 1});
  check_gradients(&(Case){131, 128, 1, 32, 33, 1, 1, 0, 1});
  check_gradients(&(Case){66, 64, 1, 12, 12, 1, 1, 0, 1}); /* planes as far apart as copied rows */
  check_gradients(&(Case){140, 128, 2, 10, 10, 1, 1, 0, 1});
  check_gradients(&(Case){64, 70, 1, 27, 25, 1, 2, 0, 1});
  check_gradients(&(Case){70, 36, 2, 29, 22, 1, 3, 0, 1});
  check_gradients(&(Case){512, 512, 1, 5, 4, 1, 2, 0, 1}); /* so many weights that what they see is packed first */
  check_gradients(&(Case){257, 512, 1, 21, 19, 1, 2, 0, 1});
  for (int64_t size = 3; size <= 20; size++) {
    check_gradients(&(Case){35, 35, 35, size, size, 3, 1, 1, 1});
    check_gradients(&(Case){33, 33, 33, size, size + 1, 3, 2, 1, 1});
    check_gradients(&(Case){32, 32, 32, size + 4, size + 3, 5, 1, 2, 1});
    check_gradients(&(Case){32, 32, 32, size + 2, size + 2, 3, 1, 0, 1});
    check_gradients(&(Case){32, 32, 32, size + 5, 32 - size, 3, 2, 2, 2});
    check_gradients(&(Case){34, 34, 34, size, 20, 2, 2, 0, 1});
  }
}

static void check_planes(void **state) {
  (void)state;
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F64};
  static const int64_t widths[] = {5, 16, 22, 49};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    dtype = dtypes[d];
    for (int64_t height = 1; height <= 25; height++)
      for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        check_case(&(Case){3, 3, 3, height, widths[w], 3, 1, 1, 1});
        check_case(&(Case){3, 3, 3, height, widths[w], 5, 1, 2, 1});
        check_case(&(Case){2, 2, 2, height, widths[w], 3, 2, 1, 1});
        check_case(&(Case){2, 2, 2, height, widths[w], 3, 1, 2, 2});
        check_case(&(Case){3, 10, 1, height, 2 * widths[w] + 30, 3, 2, 1, 1});
      }
    check_case(&(Case){2, 2, 2, 12, 40, 5, 1, 0, 1});
    check_case(&(Case){10, 20, 1, 12, 12, 5, 1, 0, 1});
    check_case(&(Case){3, 50, 1, 25, 40, 3, 1, 0, 1});
    check_case(&(Case){2, 50, 1, 9, 13, 2, 1, 0, 2});
    check_case(&(Case){2, 2, 2, 12, 40, 7, 1, 3, 1});
    check_case(&(Case){3, 10, 1, 30, 150, 7, 2, 3, 1});
    check_case(&(Case){2, 2, 2, 41, 149, 3, 2, 1, 1});
    check_case(&(Case){2, 2, 2, 21, 40, 3, 2, 3, 3});
    check_case(&(Case){2, 2, 2, 21, 39, 3, 2, 2, 2});
    check_many_channels();
    check_points();
    check_all_gradients();
  }
}

static void planes_are_what_plain_loops_add_up(void **state) {
  (void)state;
  test_on_stacks("ndarray; ndarray:isa=avx2; ndarray:isa=baseline", &device, NULL, check_planes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(planes_are_what_plain_loops_add_up)};
  return test_stacks_result(cmocka_run_group_tests_name("planes", tests, NULL, NULL));
}
