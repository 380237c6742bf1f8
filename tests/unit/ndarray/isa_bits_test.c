/* isa_bits_test.c - one arithmetic everywhere: every row of plugins/common/elementwise.def on 2^20 numbers of each
 * dtype has the same bits on isa=baseline, avx2 and avx512 of ndarray, on ARM on baseline and neon, and so have sums,
 * norms, softmax and products of quantized values; products and convolutions of floats on avx2 and avx512. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/activation.h>
#include <burn/ops_layers.h>
#include <burn/quantization.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise_rows.h"
#include "isa_device.h"

enum { COUNT = 1 << 20, ISAS = 4 };
static const char *const stacks[ISAS] = {"ndarray:isa=baseline", "ndarray:isa=avx2", "ndarray:isa=avx512",
                                         "ndarray:isa=neon"};
static BurnDevice *devices[ISAS];
static char *x_data, *y_data, *results[ISAS];

static int open_devices(void **state) {
  (void)state;
  for (int i = 0; i < ISAS; i++) {
    devices[i] = isa_device_open(stacks[i]);
    results[i] = malloc(8 * (size_t)COUNT);
  }
  x_data = malloc(8 * (size_t)COUNT), y_data = malloc(8 * (size_t)COUNT);
  elementwise_numbers(x_data, 8 * (size_t)COUNT, 1);
  elementwise_numbers(y_data, 8 * (size_t)COUNT, 2);
  return devices[0] ? 0 : -1;
}

static int close_devices(void **state) {
  (void)state;
  for (int i = 0; i < ISAS; i++) {
    burn_device_close(devices[i]);
    free(results[i]);
  }
  free(x_data);
  free(y_data);
  return 0;
}

static double number_at(BurnDType dtype, const char *data, size_t at) {
  float f32;
  double f64;
  int32_t i32;
  if (dtype == BURN_DTYPE_F64) return memcpy(&f64, data + 8 * at, sizeof f64), f64;
  if (dtype == BURN_DTYPE_F32) return memcpy(&f32, data + 4 * at, sizeof f32), (double)f32;
  if (dtype == BURN_DTYPE_I32) return memcpy(&i32, data + 4 * at, sizeof i32), (double)i32;
  return (double)*(const unsigned char *)(data + (size_t)burn_dtype_bytes(dtype) * at);
}

/* The results of all instruction sets from `first` on against those of the first one; false if any differs. */
static bool compare(const char *name, BurnDType dtype, int first, size_t count) {
  bool fine = true;
  for (int i = first + 1; i < ISAS; i++) {
    size_t at = 0;
    if (!devices[i] || elementwise_same(dtype, results[first], results[i], count, &at)) continue;
    printf("%s of %s: %s has %a at %zu, %s %a\n", name, burn_dtype_name(dtype), stacks[first],
           number_at(dtype, results[first], at), at, stacks[i], number_at(dtype, results[i], at));
    fine = false;
  }
  return fine;
}

static bool row_agrees(const ElementwiseRow *row, BurnDType dtype) {
  const BurnDType result_dtype = row->is_test ? BURN_DTYPE_BOOL : dtype;
  const size_t bytes = (size_t)COUNT * (size_t)burn_dtype_bytes(result_dtype);
  for (int i = 0; i < ISAS; i++) {
    if (!devices[i]) continue;
    BurnTensor *x = burn_tensor_from(devices[i], x_data, dtype, BURN_SHAPE(COUNT));
    BurnTensor *y = burn_tensor_from(devices[i], y_data, dtype, BURN_SHAPE(COUNT));
    const BurnStatus status = burn_read(elementwise_apply(row, x, y), results[i], bytes);
    if (status != BURN_OK) print_message("%s: %s\n", row->name, burn_status_message(status));
    assert_int_equal(status, BURN_OK);
  }
  return compare(row->name, result_dtype, 0, COUNT);
}

static void test_rows(void **state) {
  static const BurnDType floats[] = {BURN_DTYPE_F32, BURN_DTYPE_F64, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  static const BurnDType integers[] = {BURN_DTYPE_I8, BURN_DTYPE_I16, BURN_DTYPE_I32, BURN_DTYPE_I64, BURN_DTYPE_U8};
  bool fine = true;
  (void)state;
  for (size_t i = 0; i < elementwise_row_count; i++) {
    const ElementwiseRow *row = &elementwise_rows[i];
    for (size_t d = 0; row->f32 && d < sizeof floats / sizeof *floats; d++) fine &= row_agrees(row, floats[d]);
    for (size_t d = 0; row->integers && d < sizeof integers / sizeof *integers; d++)
      fine &= row_agrees(row, integers[d]);
  }
  assert_true(fine);
}

/* -- sums and products: gentle numbers, as orders are compared and not infinities ---------------- */

enum { ROWS = 67, COLUMNS = 301 };

static BurnTensor *numbers(BurnDevice *device, int64_t rows, int64_t columns) {
  return burn_random_normal(device, BURN_SHAPE(rows, columns), BURN_DTYPE_F32, 0.0, 1.0);
}

typedef BurnTensor *(*Function)(BurnDevice *device);
static BurnTensor *run_sum_columns(BurnDevice *d) { return burn_sum_dim(numbers(d, ROWS, COLUMNS), 0); }
static BurnTensor *run_sum_rows(BurnDevice *d) { return burn_sum_dim(numbers(d, ROWS, COLUMNS), 1); }
static BurnTensor *run_softmax_rows(BurnDevice *d) { return burn_softmax(numbers(d, ROWS, COLUMNS), 1); }
static BurnTensor *run_softmax_columns(BurnDevice *d) { return burn_softmax(numbers(d, ROWS, COLUMNS), 0); }
static BurnTensor *run_layer_norm(BurnDevice *d) {
  BurnTensor *const gamma = burn_random_normal(d, BURN_SHAPE(COLUMNS), BURN_DTYPE_F32, 1.0, 0.5);
  BurnTensor *const beta = burn_random_normal(d, BURN_SHAPE(COLUMNS), BURN_DTYPE_F32, 0.0, 0.5);
  return burn_layer_norm(numbers(d, ROWS, COLUMNS), gamma, beta, 1e-5);
}
static BurnTensor *run_matmul(BurnDevice *d) {
  BurnTensor *a = numbers(d, ROWS, COLUMNS);
  return burn_matmul(a, numbers(d, COLUMNS, ROWS));
}
static BurnTensor *run_one_term(BurnDevice *d) {
  BurnTensor *a = numbers(d, 67, 1);
  return burn_matmul(a, numbers(d, 1, 85));
}
static BurnTensor *run_large_matmul(BurnDevice *d) {
  BurnTensor *a = numbers(d, 256, 1024);
  return burn_matmul(a, numbers(d, 1024, 256));
}
static BurnTensor *run_conv(BurnDevice *d) {
  BurnTensor *x = burn_random_normal(d, BURN_SHAPE(3, 20, 9, 11), BURN_DTYPE_F32, 0.0, 1.0);
  BurnTensor *weight = burn_random_normal(d, BURN_SHAPE(24, 20, 3, 3), BURN_DTYPE_F32, 0.0, 1.0);
  return burn_conv2d(x, weight, NULL, BURN_CONV2D_OPTIONS);
}

/* Blocks of 16 along what is summed. */
static BurnQuantTensor in_blocks(BurnTensor *x, int64_t rows, int64_t columns) {
  BurnQuantScheme scheme = BURN_QUANT_SCHEME;
  scheme.block_rank = 2;
  scheme.block[0] = rows;
  scheme.block[1] = columns;
  return burn_quantize_dynamic(x, scheme);
}
static BurnTensor *run_quantized_matmul(BurnDevice *d) {
  BurnQuantTensor a = in_blocks(numbers(d, 67, 304), 1, 16);
  return burn_quant_matmul(a, in_blocks(numbers(d, 304, 130), 16, 1), BURN_DTYPE_F32);
}
static BurnTensor *run_quantized_conv(BurnDevice *d) {
  BurnTensor *x = burn_random_normal(d, BURN_SHAPE(2, 5, 11, 9), BURN_DTYPE_F32, 0.0, 1.0);
  BurnTensor *weight = burn_random_normal(d, BURN_SHAPE(7, 5, 3, 3), BURN_DTYPE_F32, 0.0, 1.0);
  BurnQuantTensor quantized = burn_quantize_dynamic(x, BURN_QUANT_SCHEME);
  return burn_quant_conv2d(quantized, burn_quantize_dynamic(weight, BURN_QUANT_SCHEME), NULL, BURN_CONV2D_OPTIONS,
                           BURN_DTYPE_F32);
}

static const struct {
  const char *name;
  Function run;
  int first; /* instruction set from which on bits are the same */
} functions[] = {{"sum along columns", run_sum_columns, 0},
                 {"sum along rows", run_sum_rows, 0},
                 {"softmax along rows", run_softmax_rows, 0},
                 {"softmax along columns", run_softmax_columns, 0},
                 {"layer_norm", run_layer_norm, 0},
                 {"matmul", run_matmul, 1},
                 {"large matmul", run_large_matmul, 1},
                 {"quantized_matmul", run_quantized_matmul, 0},
                 {"quantized_conv2d", run_quantized_conv, 0},
                 {"matmul of one term", run_one_term, 0},
                 {"conv2d", run_conv, 1}};

static void test_orders(void **state) {
  bool fine = true;
  (void)state;
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    size_t count = 0;
    for (int i = 0; i < ISAS; i++) {
      if (!devices[i]) continue;
      burn_device_seed(devices[i], 5);
      BurnTensor *out = functions[f].run(devices[i]);
      count = (size_t)burn_element_count(out);
      assert_int_equal(burn_read(out, results[i], count * sizeof(float)), BURN_OK);
    }
    if (devices[functions[f].first]) fine &= compare(functions[f].name, BURN_DTYPE_F32, functions[f].first, count);
  }
  assert_true(fine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_orders)};
  return cmocka_run_group_tests(tests, open_devices, close_devices);
}
