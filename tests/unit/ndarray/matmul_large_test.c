/* matmul_large_test.c - matrix products that are large enough for threads to share, and others with loops of their own:
 * sizes with edges everywhere, operands in every orientation, a bias, several blocks of k. Numbers are small integers,
 * so every sum is exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdlib.h>

typedef struct Shape {
  int64_t m, k, n;
} Shape;

static const Shape shapes[] = {
    {131, 130, 133},                 /* just large enough to be shared */
    {257, 1100, 47},                 /* two blocks of k, few rows: threads pack their own panels of B */
    {1003, 1031, 33},                /* many rows: panels are shared */
    {4099, 30, 40},                  /* more rows, ... */
    {37, 30, 4130},                  /* ... or columns, than are packed at once */
    {256, 256, 256},                 /* no edges */
    {8, 1101, 1130},                 /* few rows: B is streamed, or vectors run along k */
    {3, 37, 545},     {301, 259, 3}, /* few columns */
    {33, 1, 45},      {5, 1, 3},     /* one term, ... */
    {1, 1, 1},        {130, 1, 200}, /* ... just one product, and more than are made row by row */
};

static const char *const stacks[] = {"ndarray", "ndarray:isa=baseline"};

/* Number i of a matrix: -3 .. 3 without a pattern. */
static float number(int64_t i, int64_t seed) {
  return (float)((uint64_t)(i * 2654435761 + seed * 40503) >> 7 & 63) / 9 - 3.5f;
}

static float whole(int64_t i, int64_t seed) { return (float)(int)number(i, seed); }

/* [rows, columns] of integers, lying as such or transposed. */
static BurnTensor *matrix(BurnDevice *device, int64_t rows, int64_t columns, int64_t seed, bool transposed,
                          BurnDType dtype) {
  float *values = malloc((size_t)(rows * columns) * sizeof *values);
  assert_non_null(values);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      values[transposed ? j * rows + i : i * columns + j] = whole(i * columns + j, seed);
  BurnTensor *out = burn_tensor_f32(device, values, transposed ? BURN_SHAPE(columns, rows) : BURN_SHAPE(rows, columns));
  out = burn_cast(out, dtype);
  free(values);
  return transposed ? burn_transpose(out) : out;
}

/* The same product in plain loops. */
static float *expected_of(const Shape *s, bool bias) {
  float *out = calloc((size_t)(s->m * s->n), sizeof *out);
  assert_non_null(out);
  for (int64_t i = 0; i < s->m; i++) {
    for (int64_t j = 0; j < s->n && bias; j++) out[i * s->n + j] = whole(j, 3);
    for (int64_t p = 0; p < s->k; p++) {
      const float x = whole(i * s->k + p, 1);
      for (int64_t j = 0; j < s->n; j++) out[i * s->n + j] += x * whole(p * s->n + j, 2);
    }
  }
  return out;
}

/* Compares with what is expected, rounded as the dtype rounds. */
static void check(BurnDevice *device, BurnTensor *result, const float *expected, const Shape *s, BurnDType dtype) {
  const size_t count = (size_t)(s->m * s->n);
  float *got = malloc(count * sizeof *got), *rounded = malloc(count * sizeof *rounded);
  assert_non_null(got);
  assert_non_null(rounded);
  BurnTensor *truth = burn_cast(burn_tensor_f32(device, expected, BURN_SHAPE(s->m, s->n)), dtype);
  assert_int_equal(burn_read_f32(burn_cast(truth, BURN_DTYPE_F32), rounded, count), BURN_OK);
  assert_int_equal(burn_read_f32(burn_cast(result, BURN_DTYPE_F32), got, count), BURN_OK);
  for (size_t i = 0; i < count; i++)
    if (!(got[i] == rounded[i]))
      fail_msg("%dx%dx%d: element %d is %g instead of %g", (int)s->m, (int)s->k, (int)s->n, (int)i, (double)got[i],
               (double)rounded[i]);
  free(got);
  free(rounded);
}

/* All orientations, without and with a bias. */
static void check_dtype(BurnDevice *device, const Shape *s, BurnDType dtype) {
  float *plain = expected_of(s, false), *biased = expected_of(s, true);
  for (int way = 0; way < 4; way++) {
    BurnTensor *a = matrix(device, s->m, s->k, 1, (way & 1) != 0, dtype);
    BurnTensor *b = matrix(device, s->k, s->n, 2, (way & 2) != 0, dtype);
    BurnTensor *bias = burn_reshape(matrix(device, 1, s->n, 3, false, dtype), BURN_SHAPE(s->n));
    check(device, burn_matmul(burn_clone(a), burn_clone(b)), plain, s, dtype);
    check(device, burn_linear(a, b, bias), biased, s, dtype);
  }
  free(plain);
  free(biased);
}

static void test_large_products(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    assert_non_null(device);
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
      check_dtype(device, &shapes[k], BURN_DTYPE_F32);
      check_dtype(device, &shapes[k], BURN_DTYPE_BF16);
    }
    burn_device_close(device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_products)};
  return cmocka_run_group_tests_name("large matrix products", tests, NULL, NULL);
}
