/* half_products_test.c - products with a large weight of halves, which is widened piece by piece: beside the same in f32.
 * Numbers are small integers, few of them not 0, so that sums are exact in every order and results are halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include "isa_device.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Product {
  int64_t m, k, n;
} Product;

/* One row, several, one more than tiles have, more than are taken this way; blocks and pieces that are not whole. */
static const Product products[] = {{1, 2100, 130}, {1, 64, 1030},  {3, 1025, 128},  {8, 700, 129},
                                   {9, 2048, 96},  {33, 515, 257}, {256, 300, 260}, {257, 300, 260},
                                   {2, 9000, 8},   {5, 100, 700},  {1, 40, 30}};

/* Of 16 numbers one is -1, 0, 1 or 2. */
static BurnTensor *numbers(BurnDevice *device, BurnShape shape, int seed) {
  size_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= (size_t)shape.dims[i];
  float *values = malloc(count * sizeof *values);
  uint32_t state = (uint32_t)seed;
  assert_non_null(values);
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (state >> 24) % 16 != 0 ? 0 : (float)((int)(state >> 16 & 0xff) % 4 - 1);
  }
  BurnTensor *x = burn_tensor_f32(device, values, shape);
  free(values);
  return x;
}

static void check_equal(BurnTensor *halves, BurnTensor *wide, const char *what, const Product *p) {
  const size_t count = (size_t)burn_element_count(wide);
  float *got = malloc(count * sizeof *got), *wanted = malloc(count * sizeof *wanted);
  assert_non_null(got);
  assert_non_null(wanted);
  const BurnStatus first = burn_read_f32(burn_cast(halves, BURN_DTYPE_F32), got, count);
  const BurnStatus second = burn_read_f32(wide, wanted, count);
  if (first != BURN_OK || second != BURN_OK)
    fail_msg("%s: %s", what, burn_status_message(first != BURN_OK ? first : second));
  for (size_t i = 0; i < count; i++) {
    if (got[i] == wanted[i]) continue;
    fail_msg("%s, %d x %d x %d: element %zu is %g, not %g", what, (int)p->m, (int)p->k, (int)p->n, i, (double)got[i],
             (double)wanted[i]);
  }
  free(got);
  free(wanted);
}

/* x and a weight, which lies dense along n, or along k. */
typedef struct Pair {
  BurnTensor *x, *weight;
} Pair;

static Pair pair_of(BurnDevice *device, const Product *p, bool is_turned, BurnDType dtype) {
  BurnTensor *weight = numbers(device, is_turned ? BURN_SHAPE(p->n, p->k) : BURN_SHAPE(p->k, p->n), 2);
  weight = burn_cast(weight, dtype);
  if (is_turned) weight = burn_transpose(weight);
  return (Pair){burn_cast(numbers(device, BURN_SHAPE(p->m, p->k), 1), dtype), weight};
}

static void check_product(BurnDevice *device, const Product *p, bool is_turned, BurnDType dtype) {
  const Pair halves = pair_of(device, p, is_turned, dtype), wide = pair_of(device, p, is_turned, BURN_DTYPE_F32);
  BurnTensor *bias = numbers(device, BURN_SHAPE(p->n), 3);
  BurnTensor *linear = burn_linear(burn_clone(halves.x), burn_clone(halves.weight), burn_cast(burn_clone(bias), dtype));
  check_equal(linear, burn_linear(burn_clone(wide.x), burn_clone(wide.weight), bias), "linear", p);
  check_equal(burn_matmul(halves.x, halves.weight), burn_matmul(wide.x, wide.weight), "matmul", p);
}

/* Rows that repeat, rows of several axes, a row without others, rows that lie the other way. */
static void check_rows(BurnDevice *device, BurnDType dtype) {
  const Product p = {6, 600, 300};
  for (int way = 0; way < 4; way++) {
    BurnTensor *results[2];
    for (int wide = 0; wide < 2; wide++) {
      const Pair pair = pair_of(device, &p, way % 2 == 1, wide ? BURN_DTYPE_F32 : dtype);
      BurnTensor *x = pair.x;
      if (way == 0) x = burn_expand(burn_narrow(x, 0, 2, 1), BURN_SHAPE(5, 600));
      if (way == 1) x = burn_reshape(x, BURN_SHAPE(2, 3, 600));
      if (way == 2) x = burn_reshape(burn_narrow(x, 0, 1, 1), BURN_SHAPE(600));
      if (way == 3) x = burn_transpose(burn_add_scalar(burn_transpose(x), 0));
      results[wide] = burn_linear(x, pair.weight, NULL);
    }
    check_equal(results[0], results[1], "rows", &p);
  }
}

static void test_products(void **state) {
  static const char *const stacks[] = {"ndarray", "ndarray:isa=avx2", "ndarray:isa=baseline"};
  (void)state;
  for (size_t s = 0; s < sizeof stacks / sizeof stacks[0]; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (int half = 0; half < 2; half++) {
      const BurnDType dtype = half ? BURN_DTYPE_BF16 : BURN_DTYPE_F16;
      for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        for (int is_turned = 0; is_turned < 2; is_turned++) check_product(device, &products[i], is_turned, dtype);
      check_rows(device, dtype);
    }
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
  return cmocka_run_group_tests_name("half_products", tests, NULL, NULL);
}
