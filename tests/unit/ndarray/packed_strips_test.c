/* packed_strips_test.c - the gradient of softmax along another axis than the last one, and layer norm of transposed
 * tensors, which the CPU backend computes by packed strips of columns: by their definitions, with the same bits on all
 * instruction sets, for one stretch of 64 rows and several, whole strips and what is left of them, strips of a thread each
 * and such as all threads share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/activation.h>
#include <burn/burn.h>
#include <burn/ops_layers.h>

#include "isa_device.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const stacks[] = {"ndarray", "ndarray:isa=avx2", "ndarray:isa=baseline"};
enum { STACKS = sizeof stacks / sizeof *stacks };

/* [outer, count, inner]; what is computed goes along count. */
typedef struct Sizes {
  int64_t outer, count, inner;
} Sizes;

static const Sizes all_sizes[] = {{1, 1, 64},     {1, 2, 70},    {1, 63, 128},   {1, 64, 129},   {1, 65, 64},
                                  {3, 128, 100},  {1, 129, 191}, {2, 200, 4099}, {1, 2100, 520}, {1, 3000, 1000},
                                  {2, 8300, 270}, {4, 10, 7},    {1, 500, 1},    {0, 100, 100},  {1, 100, 0}};
enum { SIZES = sizeof all_sizes / sizeof *all_sizes };

static size_t bytes_of(Sizes s) { return (size_t)(s.outer * s.count * s.inner) * sizeof(float); }

static float *numbers(Sizes s, int64_t seed, float center) {
  float *x = malloc(bytes_of(s) + 1);
  assert_non_null(x);
  for (int64_t i = 0; i < s.outer * s.count * s.inner; i++) x[i] = center + (float)((i + seed) * 7919 % 1009) / 300.0f;
  return x;
}

static BurnTensor *tensor_of(BurnDevice *device, const float *x, Sizes s) {
  return burn_tensor_f32(device, x, BURN_SHAPE(s.outer, s.count, s.inner));
}

static float *read_all(BurnTensor *x, Sizes s) {
  float *found = malloc(bytes_of(s) + 1);
  assert_non_null(found);
  assert_int_equal(burn_read(x, found, bytes_of(s)), BURN_OK);
  return found;
}

static void expect_near(Sizes s, int64_t at, float found, double wanted, double scale) {
  if (fabs((double)found - wanted) <= 4e-6 * scale) return;
  fail_msg("element %lld of [%lld, %lld, %lld] is %.9g, not %.9g", (long long)at, (long long)s.outer,
           (long long)s.count, (long long)s.inner, (double)found, wanted);
}

/* What an instruction set finds against the definition, and against the bits of the first. Takes `found`. */
typedef void (*Definition)(Sizes s, const float *x, const float *y, const float *found);
static void expect_all(Sizes s, BurnTensor *(*run)(BurnDevice *, Sizes, const float *, const float *),
                       Definition definition, float center) {
  float *x = numbers(s, 0, center), *y = numbers(s, 77, -1.5f), *first = NULL;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = isa_device_open(stacks[i]);
    if (!device) continue;
    float *found = read_all(run(device, s, x, y), s);
    definition(s, x, y, found);
    if (first) assert_memory_equal(first, found, bytes_of(s));
    burn_device_close(device);
    if (first) free(found);
    if (!first) first = found;
  }
  free(first);
  free(x);
  free(y);
}

/* Element (o, r, c). */
static int64_t place(Sizes s, int64_t o, int64_t r, int64_t c) { return (o * s.count + r) * s.inner + c; }

/* -- gradient of softmax ---------------------------------------------------------------------- */

static BurnTensor *gradient(uint32_t op, BurnDevice *device, Sizes s, const float *grad, const float *output) {
  BurnTensor *result = NULL, *const inputs[] = {tensor_of(device, grad, s), tensor_of(device, output, s)};
  const BurnAttr dim = burn_attr_i64(1);
  burn_op_call(device, burn_op_info(op), inputs, 2, &dim, 1, &result);
  return result;
}
static BurnTensor *run_gradient(BurnDevice *device, Sizes s, const float *grad, const float *output) {
  return gradient(BURN_OP_softmax_backward, device, s, grad, output);
}
static BurnTensor *run_log_gradient(BurnDevice *device, Sizes s, const float *grad, const float *output) {
  return gradient(BURN_OP_log_softmax_backward, device, s, grad, output);
}

static void define_gradient(Sizes s, const float *grad, const float *output, const float *found) {
  for (int64_t o = 0; o < s.outer; o++) {
    for (int64_t c = 0; c < s.inner; c++) {
      double sum = 0, size = 0;
      for (int64_t r = 0; r < s.count; r++) {
        const double product = (double)grad[place(s, o, r, c)] * (double)output[place(s, o, r, c)];
        sum += product, size += fabs(product);
      }
      for (int64_t r = 0; r < s.count; r++) {
        const int64_t at = place(s, o, r, c);
        expect_near(s, at, found[at], (double)output[at] * ((double)grad[at] - sum), 10 + 2 * size);
      }
    }
  }
}

static void define_log_gradient(Sizes s, const float *grad, const float *output, const float *found) {
  for (int64_t o = 0; o < s.outer; o++) {
    for (int64_t c = 0; c < s.inner; c++) {
      double sum = 0;
      for (int64_t r = 0; r < s.count; r++) sum += (double)grad[place(s, o, r, c)];
      for (int64_t r = 0; r < s.count; r++) {
        const int64_t at = place(s, o, r, c);
        const double wanted = (double)grad[at] - exp((double)output[at]) * sum;
        expect_near(s, at, found[at], wanted, 1 + fabs(wanted));
      }
    }
  }
}

static void test_gradients(void **state) {
  (void)state;
  for (int i = 0; i < SIZES; i++) {
    expect_all(all_sizes[i], run_gradient, define_gradient, -1.5f);
    expect_all(all_sizes[i], run_log_gradient, define_log_gradient, -1.5f);
  }
}

/* -- layer norm ------------------------------------------------------------------------------- */

static float gamma_of(int64_t r) { return (float)(r % 7) / 4.0f - 0.5f; }
static float beta_of(int64_t r) { return (float)(r % 5) / 3.0f; }

static BurnTensor *per_row(BurnDevice *device, int64_t count, float (*value)(int64_t)) {
  float *x = malloc(sizeof *x * (size_t)count);
  assert_non_null(x);
  for (int64_t r = 0; r < count; r++) x[r] = value(r);
  BurnTensor *result = burn_tensor_f32(device, x, BURN_SHAPE(count));
  free(x);
  return result;
}

/* Of the middle axis, which is last meanwhile. */
static BurnTensor *norm(BurnDevice *device, Sizes s, const float *x, bool has_beta) {
  BurnTensor *const gamma = per_row(device, s.count, gamma_of);
  BurnTensor *const beta = has_beta ? per_row(device, s.count, beta_of) : NULL;
  return burn_swap_dims(burn_layer_norm(burn_swap_dims(tensor_of(device, x, s), 1, 2), gamma, beta, 1e-3), 1, 2);
}
static BurnTensor *run_norm(BurnDevice *device, Sizes s, const float *x, const float *y) {
  (void)y;
  return norm(device, s, x, true);
}
static BurnTensor *run_norm_without_beta(BurnDevice *device, Sizes s, const float *x, const float *y) {
  (void)y;
  return norm(device, s, x, false);
}

static void expect_norm(Sizes s, const float *x, const float *found, bool has_beta) {
  for (int64_t o = 0; o < s.outer; o++) {
    for (int64_t c = 0; c < s.inner; c++) {
      double mean = 0, squares = 0;
      for (int64_t r = 0; r < s.count; r++) mean += (double)x[place(s, o, r, c)] / (double)s.count;
      for (int64_t r = 0; r < s.count; r++) squares += pow((double)x[place(s, o, r, c)] - mean, 2) / (double)s.count;
      for (int64_t r = 0; r < s.count; r++) {
        const int64_t at = place(s, o, r, c);
        const double normal = ((double)x[at] - mean) / sqrt(squares + 1e-3);
        const double beta = has_beta ? (double)beta_of(r) : 0;
        expect_near(s, at, found[at], normal * (double)gamma_of(r) + beta, 3);
      }
    }
  }
}
static void define_norm(Sizes s, const float *x, const float *y, const float *found) {
  (void)y;
  expect_norm(s, x, found, true);
}
static void define_norm_without_beta(Sizes s, const float *x, const float *y, const float *found) {
  (void)y;
  expect_norm(s, x, found, false);
}

static void test_norms(void **state) {
  (void)state;
  for (int i = 0; i < SIZES; i++) {
    expect_all(all_sizes[i], run_norm, define_norm, 5.0f);
    expect_all(all_sizes[i], run_norm_without_beta, define_norm_without_beta, -1.5f);
  }
}

/* Equal elements have no deviation, however many there are: the result is beta. */
static void test_norm_of_equal_elements(void **state) {
  (void)state;
  const Sizes s = {1, 1000, 130};
  float *x = numbers(s, 0, 0);
  for (int64_t i = 0; i < s.count * s.inner; i++) x[i] = 0.1f + (float)(i % s.inner);
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = isa_device_open(stacks[i]);
    if (!device) continue;
    float *found = read_all(norm(device, s, x, true), s);
    for (int64_t at = 0; at < s.count * s.inner; at++) assert_true(found[at] == beta_of(at / s.inner));
    free(found);
    burn_device_close(device);
  }
  free(x);
}

/* NaN and infinity stay in their columns. */
static void test_norm_of_columns_that_are_not_finite(void **state) {
  (void)state;
  const Sizes s = {1, 300, 200};
  float *x = numbers(s, 0, 0);
  BurnDevice *device = isa_device_open("ndarray");
  x[place(s, 0, 100, 7)] = NAN;
  x[place(s, 0, 299, 150)] = INFINITY;
  float *found = read_all(norm(device, s, x, true), s);
  for (int64_t at = 0; at < s.count * s.inner; at++) {
    const int64_t c = at % s.inner;
    assert_int_equal(isnan(found[at]), c == 7 || c == 150);
  }
  free(found);
  free(x);
  burn_device_close(device);
}

/* -- other layouts: axes in any order, gaps, a result that is used further ----------------------- */

static void test_norm_of_layouts(void **state) {
  (void)state;
  const Sizes s = {2, 96, 5 * 30};
  float *x = numbers(s, 0, 0);
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = isa_device_open(stacks[i]);
    if (!device) continue;
    BurnTensor *images = burn_tensor_f32(device, x, BURN_SHAPE(2, 96, 5, 30));
    const int to_last[] = {2, 0, 3, 1}, back[] = {1, 3, 0, 2};
    BurnTensor *const gamma = per_row(device, s.count, gamma_of), *const beta = per_row(device, s.count, beta_of);
    BurnTensor *turned = burn_permute(burn_clone(images), to_last); /* [5, 2, 30, 96] */
    BurnTensor *result = burn_layer_norm(turned, burn_clone(gamma), burn_clone(beta), 1e-3);
    float *found = read_all(burn_permute(burn_neg(burn_neg(result)), back), s);
    expect_norm(s, x, found, true);
    free(found);
    /* half of the columns: the rows have gaps between them */
    BurnTensor *half = burn_narrow(burn_reshape(images, BURN_SHAPE(2, 96, 150)), 2, 0, 75);
    BurnTensor *normal = burn_layer_norm(burn_swap_dims(half, 1, 2), gamma, beta, 1e-3);
    const Sizes halves = {2, 96, 75};
    float *of_half = read_all(burn_swap_dims(normal, 1, 2), halves), *x_half = numbers(halves, 0, 0);
    for (int64_t r = 0; r < 2 * 96; r++) memcpy(x_half + r * 75, x + r * 150, 75 * sizeof *x);
    expect_norm(halves, x_half, of_half, true);
    free(of_half);
    free(x_half);
    burn_device_close(device);
  }
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients),
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_norm_of_equal_elements),
      cmocka_unit_test(test_norm_of_columns_that_are_not_finite),
      cmocka_unit_test(test_norm_of_layouts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
