/* turned_rows_test.c - the gradient of layer norm of transposed tensors, whose rows the CPU backend turns strip by
 * strip: the same bits as of tensors whose rows are contiguous, on all instruction sets, whether the gradient of the
 * result lies as the tensor does or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include "isa_device.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const stacks[] = {"ndarray", "ndarray:isa=avx2", "ndarray:isa=baseline"};
enum { STACKS = sizeof stacks / sizeof *stacks, RESULTS = 3 };

/* In memory [outer, count, inner]; norms go along count. */
typedef struct Sizes {
  int64_t outer, count, inner;
} Sizes;

/* From 2048 rows on parts have 64 of them: whole and cut strips, parts that end within an outer item, tiles that are cut,
 * copies too large for two parts or for any. */
static const Sizes all_sizes[] = {{1, 16, 2048}, {1, 100, 2100},  {3, 50, 750}, {40, 7, 66},  {2, 1, 1100},
                                  {1, 33, 2049}, {1, 2200, 2050}, {1, 10, 100}, {3000, 20, 1}};
enum { SIZES = sizeof all_sizes / sizeof *all_sizes };

static int64_t elements(Sizes s) { return s.outer * s.count * s.inner; }

/* Numbers [outer, count, inner], or as rows [outer, inner, count]. */
static float *numbers(Sizes s, int64_t seed, bool as_rows) {
  float *x = malloc(sizeof *x * (size_t)elements(s));
  assert_non_null(x);
  for (int64_t i = 0; i < elements(s); i++) {
    const int64_t c = i % s.inner, r = i / s.inner % s.count, o = i / s.inner / s.count;
    const int64_t at = as_rows ? (o * s.inner + c) * s.count + r : i;
    x[at] = (float)((i + seed) * 7919 % 1009) / 300.0f - 1.0f;
  }
  return x;
}

/* The tensor [outer, inner, count], with the layout that is wanted. */
static BurnTensor *tensor(BurnDevice *device, BurnDType dtype, Sizes s, int64_t seed, bool as_rows) {
  float *x = numbers(s, seed, as_rows);
  const BurnShape shape = as_rows ? BURN_SHAPE(s.outer, s.inner, s.count) : BURN_SHAPE(s.outer, s.count, s.inner);
  BurnTensor *result = burn_cast(burn_tensor_f32(device, x, shape), dtype);
  free(x);
  return as_rows ? result : burn_swap_dims(result, 1, 2);
}

/* The gradients of x, gamma and beta, one after the other. */
static char *gradients(BurnDevice *device, BurnDType dtype, Sizes s, bool x_as_rows, bool grad_as_rows) {
  const Sizes one = {1, s.count, 1};
  BurnTensor *results[RESULTS];
  BurnTensor *const inputs[] = {tensor(device, dtype, s, 5, grad_as_rows), tensor(device, dtype, s, 0, x_as_rows),
                                burn_reshape(tensor(device, dtype, one, 3, true), BURN_SHAPE(s.count))};
  const BurnAttr epsilon = burn_attr_f64(1e-3);
  burn_op_call(device, burn_op_info(BURN_OP_layer_norm_backward), inputs, 3, &epsilon, 1, results);
  const size_t bytes = burn_dtype_bytes(dtype), all = (size_t)elements(s) * bytes, row = (size_t)s.count * bytes;
  char *found = malloc(all + 2 * row);
  assert_non_null(found);
  assert_int_equal(burn_read(results[0], found, all), BURN_OK);
  assert_int_equal(burn_read(results[1], found + all, row), BURN_OK);
  assert_int_equal(burn_read(results[2], found + all + row, row), BURN_OK);
  return found;
}

static void expect_same_bits(BurnDType dtype, Sizes s) {
  char *wanted = NULL;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = isa_device_open(stacks[i]);
    if (!device) continue;
    if (!wanted) wanted = gradients(device, dtype, s, true, true);
    for (int layout = 0; layout < 4; layout++) {
      char *found = gradients(device, dtype, s, layout % 2 == 1, layout / 2 == 1);
      const size_t count = (size_t)(elements(s) + 2 * s.count), bytes = burn_dtype_bytes(dtype);
      for (size_t at = 0; at < count; at++) {
        if (memcmp(found + at * bytes, wanted + at * bytes, bytes) == 0) continue;
        fail_msg("[%lld, %lld, %lld], %s, layout %d: element %zu differs", (long long)s.outer, (long long)s.count,
                 (long long)s.inner, stacks[i], layout, at);
      }
      free(found);
    }
    burn_device_close(device);
  }
  free(wanted);
}

static void test_f32(void **state) {
  (void)state;
  for (int i = 0; i < SIZES; i++) expect_same_bits(BURN_DTYPE_F32, all_sizes[i]);
}

static void test_f64(void **state) {
  (void)state;
  for (int i = 0; i < SIZES; i += 2) expect_same_bits(BURN_DTYPE_F64, all_sizes[i]);
}

/* Rows whose order in memory is another than that of the tensor are parts in the tensor's order. */
static void test_rows_out_of_order(void **state) {
  (void)state;
  const Sizes s = {1, 24, 30 * 80};
  BurnDevice *device = isa_device_open("ndarray");
  const BurnAttr epsilon = burn_attr_f64(1e-3);
  float found[2][24];
  for (int packed = 0; packed < 2; packed++) {
    float *x = numbers(s, 0, false);
    BurnTensor *turned = burn_permute(burn_tensor_f32(device, x, BURN_SHAPE(24, 30, 80)), (const int[]){2, 1, 0});
    if (packed) turned = burn_reshape(burn_reshape(turned, BURN_SHAPE(s.inner * s.count)), BURN_SHAPE(80, 30, 24));
    BurnTensor *results[RESULTS];
    BurnTensor *const inputs[] = {burn_clone(turned), turned, burn_ones(device, BURN_SHAPE(24), BURN_DTYPE_F32)};
    burn_op_call(device, burn_op_info(BURN_OP_layer_norm_backward), inputs, 3, &epsilon, 1, results);
    assert_int_equal(burn_read_f32(results[1], found[packed], 24), BURN_OK);
    burn_drop(results[0]);
    burn_drop(results[2]);
    free(x);
  }
  assert_memory_equal(found[0], found[1], sizeof found[0]);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32),
      cmocka_unit_test(test_f64),
      cmocka_unit_test(test_rows_out_of_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
