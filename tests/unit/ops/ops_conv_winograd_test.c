/* ops_conv_winograd_test.c - convolutions with kernels of 3x3 whose channels are enough for Winograd's algorithm on the
 * CPU backend, against plain sums in double precision, on every instruction set: odd sizes, every padding, wide rows,
 * transposed ones; and what a result depends on: the windows that it sees, and not the batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_stacks.h"

#define STACKS "ndarray; ndarray:isa=avx512; ndarray:isa=avx2; ndarray:isa=baseline"
enum { KERNEL = 3, TAPS = 9 };

/* A convolution, or a transposed one. */
typedef struct Case {
  int64_t batch, in, out, height, width, padding;
  bool transpose;
} Case;

static BurnDevice *device;

/* Numbers in -1 .. 1. */
static float *numbers(int64_t count, uint32_t seed) {
  float *data = malloc((size_t)count * sizeof *data);
  assert_non_null(data);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
  return data;
}

static int64_t grown(const Case *c, int64_t size) {
  return size + (c->transpose ? 2 - 2 * c->padding : 2 * c->padding - 2);
}

static int64_t result_count(const Case *c) { return c->batch * c->out * grown(c, c->height) * grown(c, c->width); }

static float *run(const Case *c, const float *x, const float *weight, const float *bias) {
  float *result = malloc((size_t)result_count(c) * sizeof *result);
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  const int64_t rows = c->transpose ? c->in : c->out, columns = c->transpose ? c->out : c->in;
  BurnTensor *a = burn_tensor_f32(device, x, BURN_SHAPE(c->batch, c->in, c->height, c->width));
  BurnTensor *b = burn_tensor_f32(device, weight, BURN_SHAPE(rows, columns, KERNEL, KERNEL));
  BurnTensor *sums = bias ? burn_tensor_f32(device, bias, BURN_SHAPE(c->out)) : NULL;
  options.padding[0] = options.padding[1] = c->padding;
  BurnTensor *y = c->transpose ? burn_conv_transpose2d(a, b, sums, options) : burn_conv2d(a, b, sums, options);
  const BurnStatus status = burn_read_f32(y, result, (size_t)result_count(c));
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  return result;
}

/* The sum over all taps of one number of the result, in double precision. */
static double sum_at(const Case *c, const float *x, const float *weight, int64_t image, int64_t o, int64_t row,
                     int64_t column) {
  const int64_t before = c->transpose ? 2 - c->padding : c->padding;
  double sum = 0;
  for (int64_t i = 0; i < c->in; i++)
    for (int64_t tap = 0; tap < TAPS; tap++) {
      const int64_t iy = row - before + tap / KERNEL, ix = column - before + tap % KERNEL;
      if (iy < 0 || iy >= c->height || ix < 0 || ix >= c->width) continue;
      const int64_t at = c->transpose ? (i * c->out + o) * TAPS + TAPS - 1 - tap : (o * c->in + i) * TAPS + tap;
      sum += (double)x[((image * c->in + i) * c->height + iy) * c->width + ix] * (double)weight[at];
    }
  return sum;
}

/* The errors' root mean square by that of the results; fails where an error is beyond its bound.
 *
 * All numbers are at most 1 in size. In the other basis those of the input are at most 4, those of weights at most 9/4,
 * and for each channel the places that a result adds up are at most 64 in all. They come after 2 roundings of the input,
 * 4 of a weight, 1 or 2 of a product, 1 for each channel, 4 on the way back and 1 of the bias: with u = 2^-24 errors are
 * below (channels + 13) u * 64 channels. */
static double check_case(const Case *c) {
  const int64_t height = grown(c, c->height), width = grown(c, c->width);
  float *x = numbers(c->batch * c->in * c->height * c->width, 1), *weight = numbers(c->out * c->in * TAPS, 2);
  float *bias = numbers(c->out, 3), *found = run(c, x, weight, bias);
  const double bound = (double)(c->in + 13) * 64.0 * (double)c->in * 0x1p-24;
  double errors = 0, squares = 0;
  for (int64_t i = 0; i < result_count(c); i++) {
    const int64_t image = i / (c->out * height * width), o = i / (height * width) % c->out;
    const int64_t row = i / width % height, column = i % width;
    const double wanted = sum_at(c, x, weight, image, o, row, column) + (double)bias[o];
    const double error = fabs((double)found[i] - wanted);
    if (!(error <= bound))
      fail_msg("%dx%d channels of %dx%d, padding %d: %g at channel %d, (%d, %d), expected %g", (int)c->in, (int)c->out,
               (int)c->height, (int)c->width, (int)c->padding, (double)found[i], (int)o, (int)row, (int)column, wanted);
    errors += error * error;
    squares += wanted * wanted;
  }
  free(x);
  free(weight);
  free(bias);
  free(found);
  return sqrt(errors / squares);
}

static void check_sums(void **state) {
  (void)state;
  static const Case cases[] = {
      {1, 16, 16, 6, 6, 1, false},  {2, 17, 33, 7, 9, 1, false},   {3, 24, 20, 14, 14, 1, false},
      {2, 16, 40, 9, 12, 0, false}, {1, 20, 18, 11, 8, 2, false},  {1, 40, 16, 6, 800, 1, false},
      {5, 8, 24, 26, 30, 0, false}, {2, 200, 16, 8, 7, 1, false},  {1, 16, 300, 10, 10, 1, false},
      {1, 16, 24, 13, 8, 1, true},  {2, 33, 17, 10, 15, 0, true},  {3, 16, 16, 12, 9, 2, true},
      {1, 24, 200, 7, 7, 1, true},  {1, 18, 16, 9, 1200, 1, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double error = check_case(&cases[i]);
    if (!(error <= 1e-6)) fail_msg("case %d: the errors' root mean square is %g of that of the results", (int)i, error);
  }
}

/* Direct sums of 256 channels, which have 2304 products one after the other, are off by 8.3e-7. */
static void check_rounding(void **state) {
  (void)state;
  const double error = check_case(&(Case){1, 256, 16, 14, 14, 1, false});
  if (!(error <= 6.5e-7)) fail_msg("the errors' root mean square is %g of that of the results", error);
}

/* An image has the same bits alone, where its tiles are few, and in a batch, where they are many. */
static void check_batches(void **state) {
  (void)state;
  static const Case cases[] = {
      {24, 20, 70, 7, 9, 1, false}, {24, 20, 70, 9, 7, 1, true}, {40, 16, 16, 11, 30, 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Case *c = &cases[i];
    Case one = *c;
    const int64_t image = c->in * c->height * c->width, result = result_count(c) / c->batch;
    float *x = numbers(c->batch * image, 1), *weight = numbers(c->out * c->in * TAPS, 2);
    float *all = run(c, x, weight, NULL);
    one.batch = 1;
    for (int64_t n = 0; n < c->batch; n++) {
      float *alone = run(&one, x + n * image, weight, NULL);
      assert_memory_equal(alone, all + n * result, (size_t)result * sizeof(float));
      free(alone);
    }
    free(x);
    free(weight);
    free(all);
  }
}

/* A number that is not finite makes those results not finite that see it; the others keep their bits. */
static void check_not_finite(void **state) {
  (void)state;
  const Case c = {1, 16, 16, 12, 13, 1, false};
  const int64_t plane = c.height * c.width;
  float *x = numbers(c.in * plane, 1), *weight = numbers(c.out * c.in * TAPS, 2);
  float *before = run(&c, x, weight, NULL);
  for (int64_t at = 0; at < plane; at += 5) {
    const float kept = x[3 * plane + at];
    x[3 * plane + at] = at % 2 ? INFINITY : NAN;
    float *after = run(&c, x, weight, NULL);
    for (int64_t i = 0; i < c.out * plane; i++) {
      const int64_t row = i / c.width % c.height - at / c.width, column = i % c.width - at % c.width;
      if (row >= -1 && row <= 1 && column >= -1 && column <= 1)
        assert_true(!isfinite(after[i]));
      else
        assert_memory_equal(&after[i], &before[i], sizeof(float));
    }
    free(after);
    x[3 * plane + at] = kept;
  }
  free(x);
  free(weight);
  free(before);
}

/* The gradient of one weight, in double precision. */
static double gradient_at(const Case *c, const float *x, const float *grad, int64_t o, int64_t i, int64_t tap) {
  const int64_t height = grown(c, c->height), width = grown(c, c->width);
  double sum = 0;
  for (int64_t at = 0; at < c->batch * height * width; at++) {
    const int64_t image = at / (height * width), row = at / width % height, column = at % width;
    const int64_t iy = row - c->padding + tap / KERNEL, ix = column - c->padding + tap % KERNEL;
    if (iy < 0 || iy >= c->height || ix < 0 || ix >= c->width) continue;
    sum += (double)grad[((image * c->out + o) * height + row) * width + column] *
           (double)x[((image * c->in + i) * c->height + iy) * c->width + ix];
  }
  return sum;
}

/* For each tile the places that a weight's gradient adds up are at most 36 in all. They come after 2 roundings of the
 * input, 2 of the gradient, 1 or 2 of a product, 1 for each tile and for each of 16 slices, and 4 on the way back. */
static void check_gradient(const Case *c) {
  const int64_t height = grown(c, c->height), width = grown(c, c->width), count = c->out * c->in * TAPS;
  const double tiles = (double)(c->batch * ((height + 1) / 2) * ((width + 1) / 2));
  const double bound = (tiles + 16 + 10) * 36.0 * tiles * 0x1p-24;
  float *x = numbers(c->batch * c->in * c->height * c->width, 1), *grad = numbers(result_count(c), 2);
  float *found = malloc((size_t)count * sizeof *found);
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  double errors = 0, squares = 0;
  options.padding[0] = options.padding[1] = c->padding;
  BurnTensor *a = burn_tensor_f32(device, x, BURN_SHAPE(c->batch, c->in, c->height, c->width));
  BurnTensor *b = burn_tensor_f32(device, grad, BURN_SHAPE(c->batch, c->out, height, width));
  BurnTensor *y = burn_conv2d_weight_backward(a, b, BURN_SHAPE(c->out, c->in, KERNEL, KERNEL), options);
  const BurnStatus status = burn_read_f32(y, found, (size_t)count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  for (int64_t at = 0; at < count; at++) {
    const double wanted = gradient_at(c, x, grad, at / (c->in * TAPS), at / TAPS % c->in, at % TAPS);
    const double error = fabs((double)found[at] - wanted);
    if (!(error <= bound)) fail_msg("gradient of weight %d: %g, expected %g", (int)at, (double)found[at], wanted);
    errors += error * error;
    squares += wanted * wanted;
  }
  if (!(sqrt(errors / squares) <= 1e-6)) fail_msg("%g, by root mean square", sqrt(errors / squares));
  free(x);
  free(grad);
  free(found);
}

static void check_gradients(void **state) {
  (void)state;
  static const Case cases[] = {{1, 24, 24, 28, 28, 1, false}, {5, 30, 40, 11, 14, 0, false},
                               {3, 70, 24, 15, 17, 1, false}, {2, 24, 27, 19, 20, 2, false},
                               {1, 24, 25, 4, 300, 1, false}, {9, 130, 24, 9, 10, 1, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_gradient(&cases[i]);
}

static void gradients_of_weights_are_within_their_bound(void **state) {
  (void)state;
  test_on_stacks(STACKS, &device, NULL, check_gradients);
}

static void sums_are_within_their_bound(void **state) {
  (void)state;
  test_on_stacks(STACKS, &device, NULL, check_sums);
}

static void rounding_is_below_that_of_direct_sums(void **state) {
  (void)state;
  test_on_stacks("ndarray:isa=avx512; ndarray:isa=avx2; ndarray:isa=neon", &device, NULL, check_rounding);
}

static void images_do_not_depend_on_their_batch(void **state) {
  (void)state;
  test_on_stacks(STACKS, &device, NULL, check_batches);
}

static void what_is_not_finite_stays_in_its_windows(void **state) {
  (void)state;
  test_on_stacks(STACKS, &device, NULL, check_not_finite);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_within_their_bound), cmocka_unit_test(gradients_of_weights_are_within_their_bound),
      cmocka_unit_test(rounding_is_below_that_of_direct_sums), cmocka_unit_test(images_do_not_depend_on_their_batch),
      cmocka_unit_test(what_is_not_finite_stays_in_its_windows)};
  return test_stacks_result(cmocka_run_group_tests_name("winograd", tests, NULL, NULL));
}
