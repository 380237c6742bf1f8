/* ops_pool_windows_test.c - max_pool2d, avg_pool2d, adaptive_avg_pool2d and their gradients against plain loops: every kind
 * of window that the CPU backend has loops for, on every instruction set. Values have ties, zeros of both signs, NaNs
 * and infinities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_stacks.h"

enum { PLANES = 3 };

/* Input, kernel, stride, padding and dilation of rows and columns. */
typedef struct Case {
  int64_t in[2], kernel[2], stride[2], padding[2], dilation[2];
  bool ceil_mode;
} Case;

static const Case cases[] = {
    {{24, 24}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false},     {{7, 37}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, true},
    {{33, 35}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},     {{9, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false},
    {{1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false},       {{12, 45}, {3, 4}, {4, 4}, {0, 1}, {1, 1}, true},
    {{16, 16}, {4, 4}, {4, 4}, {0, 0}, {1, 1}, false},     {{11, 40}, {5, 3}, {1, 3}, {2, 1}, {1, 1}, false},
    {{20, 41}, {3, 3}, {2, 2}, {1, 1}, {2, 3}, false},     {{19, 30}, {2, 2}, {1, 1}, {1, 1}, {3, 5}, false},
    {{6, 300}, {2, 60}, {1, 50}, {1, 30}, {1, 1}, true},   {{3, 900}, {1, 200}, {1, 1}, {0, 100}, {1, 1}, false},
    {{2, 3000}, {1, 1000}, {1, 7}, {0, 13}, {1, 1}, true}, {{400, 1}, {150, 1}, {2, 1}, {75, 0}, {1, 1}, false},
    {{40, 5}, {30, 5}, {3, 1}, {0, 2}, {1, 1}, false},     {{14, 14}, {14, 14}, {1, 1}, {0, 0}, {1, 1}, false},
    {{5, 130}, {5, 130}, {5, 130}, {0, 0}, {1, 1}, false}, {{10, 100}, {3, 50}, {2, 1}, {0, 0}, {1, 2}, false},
    {{6, 66}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false},      {{12, 64}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
    {{28, 28}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false},     {{10, 35}, {5, 7}, {1, 2}, {2, 3}, {1, 1}, true},
    {{10, 34}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},     {{2, 18}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
    {{6, 46}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
};
enum { CASES = sizeof cases / sizeof *cases };

/* -- values ----------------------------------------------------------------------------------- */

static uint32_t noise(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x45D9F3Bu;
  i = (i ^ (i >> 16)) * 0x45D9F3Bu;
  return i ^ (i >> 16);
}
static double plain(uint32_t i) { return (double)(noise(i) % 2001) / 500.0 - 2.0; }
static double tied(uint32_t i) { return noise(i) % 5 == 0 ? -0.0 : (double)(noise(i) % 3) - 2.0; }
static double special(uint32_t i) {
  const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
  return noise(i) % 40 < 5 ? values[noise(i) % 40] : plain(i);
}
static double low(uint32_t i) { return noise(i) % 9 == 0 ? plain(i) : -(double)INFINITY; }

static double *make(double (*value)(uint32_t), int64_t count) {
  double *data = malloc((size_t)count * sizeof *data);
  assert_non_null(data);
  for (int64_t i = 0; i < count; i++) data[i] = (double)(float)value((uint32_t)i);
  return data;
}

/* -- plain loops ------------------------------------------------------------------------------ */

/* Where tap number k of window (oy, ox) is in the plane; -1 in the padding. */
static int64_t tap_at(const Case *c, int64_t oy, int64_t ox, int64_t k) {
  const int64_t iy = oy * c->stride[0] - c->padding[0] + k / c->kernel[1] * c->dilation[0];
  const int64_t ix = ox * c->stride[1] - c->padding[1] + k % c->kernel[1] * c->dilation[1];
  return iy >= 0 && iy < c->in[0] && ix >= 0 && ix < c->in[1] ? iy * c->in[1] + ix : -1;
}

static void plain_max(const Case *c, const double *x, int64_t oy, int64_t ox, double *value, int64_t *place) {
  *value = -(double)INFINITY;
  *place = -1;
  for (int64_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
    const int64_t i = tap_at(c, oy, ox, k);
    if (i < 0) continue;
    if (*place >= 0 && !(x[i] > *value) && !(isnan(x[i]) && !isnan(*value))) continue;
    *value = x[i];
    *place = i;
  }
  if (*place < 0) *place = 0;
}

static int64_t counted(const Case *c, int axis, int64_t o, bool with_padding) {
  int64_t begin = o * c->stride[axis] - c->padding[axis], end = begin + c->kernel[axis];
  const int64_t last = c->in[axis] + (with_padding ? c->padding[axis] : 0);
  if (!with_padding && begin < 0) begin = 0;
  if (end > last) end = last;
  return end > begin ? end - begin : 0;
}

/* Sum of a window, and how many numbers it is divided by. */
static double plain_sum(const Case *c, const double *x, int64_t oy, int64_t ox) {
  double sum = 0;
  for (int64_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
    const int64_t i = tap_at(c, oy, ox, k);
    if (i >= 0) sum += x[i];
  }
  return sum;
}

/* -- comparing -------------------------------------------------------------------------------- */

static BurnDevice *device; /* of the stack that is tested */
static BurnDType dtype;

static BurnTensor *upload(const double *data, const int64_t *shape) {
  return burn_cast(burn_tensor_f64(device, data, BURN_SHAPE(1, PLANES, shape[0], shape[1])), dtype);
}

/* Takes x. */
static double *download(BurnTensor *x, int64_t *shape) {
  if (burn_tensor_status(x) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(x)));
  shape[0] = burn_dim(x, 2);
  shape[1] = burn_dim(x, 3);
  const size_t count = (size_t)burn_element_count(x);
  double *data = malloc((count + 1) * sizeof *data);
  assert_non_null(data);
  assert_true(burn_read_f64(burn_cast(x, BURN_DTYPE_F64), data, count) == BURN_OK);
  return data;
}

static void check(double found, double expected, double tolerance, const char *what, int number, int64_t at) {
  if (isnan(expected) ? isnan(found) : found == expected || fabs(found - expected) <= tolerance) return;
  fail_msg("%s, case %d, %s: element %d is %.9g, expected %.9g", what, number, burn_dtype_name(dtype), (int)at, found,
           expected);
}

static BurnPool2dOptions options_of(const Case *c) {
  return (BurnPool2dOptions){{c->kernel[0], c->kernel[1]},
                             {c->stride[0], c->stride[1]},
                             {c->padding[0], c->padding[1]},
                             {c->dilation[0], c->dilation[1]},
                             c->ceil_mode,
                             true};
}

static void check_max(const Case *c, int number, double (*value)(uint32_t)) {
  const int64_t inputs = c->in[0] * c->in[1];
  double *x = make(value, PLANES * inputs);
  int64_t out[2], same[2];
  BurnTensor *places = NULL;
  BurnTensor *values = burn_max_pool2d_with_indices(upload(x, c->in), options_of(c), &places);
  double *alone = download(burn_max_pool2d(upload(x, c->in), options_of(c)), same);
  BurnTensor *back = burn_max_pool2d_with_indices_backward(burn_clone(values), burn_clone(places),
                                                           BURN_SHAPE(1, PLANES, c->in[0], c->in[1]));
  double *found = download(values, out), *at = download(places, same), *dx = download(back, same),
         *sums = make(plain, PLANES * inputs);
  memset(sums, 0, (size_t)(PLANES * inputs) * sizeof *sums);
  for (int64_t i = 0; i < PLANES * out[0] * out[1]; i++) {
    const int64_t plane = i / (out[0] * out[1]), rest = i % (out[0] * out[1]);
    double expected;
    int64_t place;
    plain_max(c, x + plane * inputs, rest / out[1], rest % out[1], &expected, &place);
    check(found[i], expected, 0, "max", number, i);
    check(alone[i], expected, 0, "max alone", number, i);
    check(at[i], (double)place, 0, "place of max", number, i);
    sums[plane * inputs + place] += expected;
    if (isnan(expected)) continue;
    if (signbit(found[i]) != signbit(expected) || signbit(alone[i]) != signbit(expected))
      fail_msg("case %d: the sign of zero %d", number, (int)i);
  }
  for (int64_t i = 0; i < PLANES * inputs; i++)
    check(dx[i], sums[i], 1e-5 * fabs(sums[i]) + 1e-5, "gradient of max", number, i);
  free(x);
  free(dx);
  free(sums);
  free(alone);
  free(found);
  free(at);
}

/* Averages, with and without counting the padding, and both gradients: of ones weighted by `weights`. */
static void check_avg(const Case *c, int number, double (*value)(uint32_t), bool with_padding) {
  const int64_t inputs = c->in[0] * c->in[1];
  const double tolerance = dtype == BURN_DTYPE_F32 ? 4e-6 : 1e-13;
  BurnPool2dOptions options = options_of(c);
  options.count_include_pad = with_padding;
  double *x = make(value, PLANES * inputs);
  int64_t out[2], same[2];
  double *found = download(burn_avg_pool2d(upload(x, c->in), options), out);
  const int64_t outputs = out[0] * out[1];
  double *grad = make(plain, PLANES * outputs), *dx = calloc((size_t)(PLANES * inputs), sizeof *dx);
  assert_non_null(dx);
  for (int64_t i = 0; i < PLANES * outputs; i++) {
    const int64_t plane = i / outputs, oy = i % outputs / out[1], ox = i % out[1];
    const int64_t divisor = counted(c, 0, oy, with_padding) * counted(c, 1, ox, with_padding);
    const double mean = divisor > 0 ? plain_sum(c, x + plane * inputs, oy, ox) / (double)divisor : 0;
    check(found[i], mean, tolerance, "avg", number, i);
    for (int64_t k = 0; divisor > 0 && k < c->kernel[0] * c->kernel[1]; k++) {
      const int64_t at = tap_at(c, oy, ox, k);
      if (at >= 0) dx[plane * inputs + at] += grad[i] / (double)divisor;
    }
  }
  double *back =
      download(burn_avg_pool2d_backward(upload(grad, out), BURN_SHAPE(1, PLANES, c->in[0], c->in[1]), options), same);
  for (int64_t i = 0; i < PLANES * inputs; i++) check(back[i], dx[i], tolerance * 8, "gradient of avg", number, i);
  free(x);
  free(found);
  free(grad);
  free(dx);
  free(back);
}

static void check_adaptive(const int64_t *in, const int64_t *out, double (*value)(uint32_t)) {
  const double tolerance = dtype == BURN_DTYPE_F32 ? 4e-6 : 1e-13;
  const int64_t inputs = in[0] * in[1], outputs = out[0] * out[1];
  double *x = make(value, PLANES * inputs), *dx = calloc((size_t)(PLANES * inputs), sizeof *dx),
         *grad = make(plain, PLANES * outputs);
  int64_t same[2];
  assert_non_null(dx);
  double *found = download(burn_adaptive_avg_pool2d(upload(x, in), out), same);
  for (int64_t i = 0; i < PLANES * outputs; i++) {
    const int64_t oy = i % outputs / out[1], ox = i % out[1], plane = i / outputs;
    const int64_t top = oy * in[0] / out[0], down = ((oy + 1) * in[0] + out[0] - 1) / out[0];
    const int64_t left = ox * in[1] / out[1], right = ((ox + 1) * in[1] + out[1] - 1) / out[1];
    const double count = (double)((down - top) * (right - left));
    double sum = 0;
    for (int64_t y = top; y < down; y++)
      for (int64_t k = left; k < right; k++) {
        sum += x[plane * inputs + y * in[1] + k];
        dx[plane * inputs + y * in[1] + k] += grad[i] / count;
      }
    check(found[i], sum / count, tolerance, "adaptive", (int)in[1], i);
  }
  const int64_t sizes[] = {1, PLANES, in[0], in[1]};
  const BurnAttr shape = burn_attr_i64s(sizes, 4);
  BurnTensor *upstream = upload(grad, out);
  double *back = download(burn_op("adaptive_avg_pool2d_backward", &upstream, 1, &shape, 1), same);
  for (int64_t i = 0; i < PLANES * inputs; i++) check(back[i], dx[i], tolerance, "gradient of adaptive", (int)in[1], i);
  free(x);
  free(dx);
  free(grad);
  free(found);
  free(back);
}

static void check_windows(void **state) {
  (void)state;
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F64};
  static const int64_t shapes[][2][2] = {
      {{7, 7}, {1, 1}}, {{32, 32}, {8, 8}}, {{10, 70}, {3, 7}}, {{5, 4}, {8, 9}}, {{3, 500}, {1, 2}}};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    dtype = dtypes[d];
    for (int i = 0; i < CASES; i++) {
      check_max(&cases[i], i, plain);
      check_max(&cases[i], i, tied);
      check_max(&cases[i], i, special);
      check_max(&cases[i], i, low);
      if (cases[i].dilation[0] != 1 || cases[i].dilation[1] != 1) continue;
      check_avg(&cases[i], i, plain, true);
      check_avg(&cases[i], i, plain, false);
      check_avg(&cases[i], i, special, true);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      check_adaptive(shapes[i][0], shapes[i][1], plain);
      check_adaptive(shapes[i][0], shapes[i][1], special);
    }
  }
}

static void windows_hold_what_plain_loops_find(void **state) {
  (void)state;
  test_on_stacks("ndarray; ndarray:isa=avx2; ndarray:isa=baseline", &device, NULL, check_windows);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(windows_hold_what_plain_loops_find)};
  return test_stacks_result(cmocka_run_group_tests_name("pooling", tests, NULL, NULL));
}
