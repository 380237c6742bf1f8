/* reference_test.c - what the golden rows do not reach of the reference backend: which ops it runs itself, dtypes that
 * ndarray may lack, rounding once, and the same random bits as ndarray. */
#include "status_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/backend.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

static BurnDevice *device;

static int open_device(void **state) {
  (void)state;
  device = burn_device_open("reference");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int close_device(void **state) {
  (void)state;
  const int64_t live = burn_device_memory(device).live_tensors;
  burn_device_close(device);
  return live == 0 ? 0 : -1;
}

static void test_it_runs_the_primitives_and_nothing_else(void **state) {
  (void)state;
  const BurnBackend *backend = burn_device_backend(device);
  uint32_t count = 0;
  for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) {
    const BurnOpInfo *info = burn_op_info(op);
    const uint32_t expected = info && !info->is_composite ? BURN_SUPPORT_YES : BURN_SUPPORT_NO;
    if (backend->op_support(backend->self, op) != expected) fail_msg("op %u (%s)", op, info ? info->name : "unknown");
    count += expected == BURN_SUPPORT_YES;
  }
  assert_true(count > 60);
  for (BurnDType dtype = 1; burn_dtype_bytes(dtype); dtype++) {
    assert_int_equal(backend->dtype_usage(backend->self, dtype), BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC);
  }
}

/* -- halves ----------------------------------------------------------------------------------- */

typedef struct Rounding {
  double value;
  uint16_t bits;
} Rounding;

/* From numpy.float16. The one with 2^-40 rounds wrongly by way of f32. */
static const Rounding f16_rows[] = {{0.0, 0x0000},
                                    {-0.0, 0x8000},
                                    {1.0, 0x3c00},
                                    {-2.5, 0xc100},
                                    {0.1, 0x2e66},
                                    {65504.0, 0x7bff},
                                    {65519.99, 0x7bff},
                                    {65520.0, 0x7c00},
                                    {1e9, 0x7c00},
                                    {-(double)INFINITY, 0xfc00},
                                    {0x1p-24, 0x0001},
                                    {0x1p-25, 0x0000},
                                    {0x1.00000004p-25, 0x0001},
                                    {0x1p-14, 0x0400},
                                    {0x1p-14 - 0x1p-26, 0x0400},
                                    {1 + 0x1p-11, 0x3c00},
                                    {1 + 0x1p-11 + 0x1p-40, 0x3c01},
                                    {1 + 0x3p-11, 0x3c02},
                                    {-1e-9, 0x8000}};
/* bf16 is the upper half of an f32: 8 bits of exponent, 7 of fraction. */
static const Rounding bf16_rows[] = {{0.0, 0x0000},
                                     {1.0, 0x3f80},
                                     {-2.5, 0xc020},
                                     {1 + 0x1p-8, 0x3f80},
                                     {1 + 0x1p-8 + 0x1p-40, 0x3f81},
                                     {1 + 0x3p-8, 0x3f82},
                                     {3e38, 0x7f62},
                                     {0x1.fep127, 0x7f7f},
                                     {0x1.fefp127, 0x7f7f},
                                     {0x1.ffp127, 0x7f80},
                                     {0x1p-126, 0x0080},
                                     {0x1p-133, 0x0001},
                                     {0x1p-134, 0x0000},
                                     {-0x1.8p-134, 0x8001}};

static void check_rounding(const Rounding *rows, size_t count, BurnDType dtype) {
  for (size_t i = 0; i < count; i++) {
    uint16_t bits = 0;
    check_status(
        burn_read(burn_cast(burn_tensor_f64(device, &rows[i].value, BURN_SHAPE(1)), dtype), &bits, sizeof bits));
    if (bits != rows[i].bits) {
      fail_msg("%s of %.17g is %04x, expected %04x", burn_dtype_name(dtype), rows[i].value, bits, rows[i].bits);
    }
  }
}

static void test_halves_round_once_to_nearest_even(void **state) {
  (void)state;
  check_rounding(f16_rows, sizeof f16_rows / sizeof f16_rows[0], BURN_DTYPE_F16);
  check_rounding(bf16_rows, sizeof bf16_rows / sizeof bf16_rows[0], BURN_DTYPE_BF16);
  const int64_t whole =
      (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1; /* f64 would lose the 1, and then the tie goes down */
  uint16_t bits = 0;
  check_status(
      burn_read(burn_cast(burn_tensor_i64(device, &whole, BURN_SHAPE(1)), BURN_DTYPE_BF16), &bits, sizeof bits));
  assert_int_equal(bits, 0x5d81);
}

/* Every one of the 65536 patterns: to f64 and back it stays, but for the bits of NaN. bf16 widens to f32 by definition.
 */
static void test_every_half_there_is(void **state) {
  (void)state;
  enum { COUNT = 65536 };
  static uint16_t patterns[COUNT], back[COUNT];
  static float wide[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) patterns[i] = (uint16_t)i;
  for (BurnDType dtype = BURN_DTYPE_F16; dtype <= BURN_DTYPE_BF16; dtype++) {
    BurnTensor *x = burn_tensor_from(device, patterns, dtype, BURN_SHAPE(COUNT));
    check_status(burn_read(burn_cast(burn_cast(burn_clone(x), BURN_DTYPE_F64), dtype), back, sizeof back));
    check_status(burn_read(burn_cast(x, BURN_DTYPE_F32), wide, sizeof wide));
    for (uint32_t i = 0; i < COUNT; i++) {
      const uint32_t upper = i << 16;
      if (!isnan(wide[i]) && back[i] != patterns[i])
        fail_msg("%s %04x came back as %04x", burn_dtype_name(dtype), i, back[i]);
      if (dtype == BURN_DTYPE_BF16 && !isnan(wide[i])) assert_memory_equal(&wide[i], &upper, sizeof upper);
    }
  }
  assert_true(wide[0x3f80] > 0.5f && isinf(wide[0x7f80]) && isnan(wide[0x7f81]));
}

/* Sums of halves are formed in f64: 2048 + 1 is not f16, 4096 times 1 is. */
static void test_sums_of_halves(void **state) {
  (void)state;
  double sum = 0;
  check_status(burn_read_scalar(burn_sum(burn_ones(device, BURN_SHAPE(4096), BURN_DTYPE_F16)), &sum));
  assert_true(sum > 4095.5 && sum < 4096.5);
  BurnTensor *row = burn_ones(device, BURN_SHAPE(1, 4096), BURN_DTYPE_F16);
  BurnTensor *column = burn_ones(device, BURN_SHAPE(4096, 1), BURN_DTYPE_F16);
  check_status(burn_read_scalar(burn_matmul(row, column), &sum));
  assert_true(sum > 4095.5 && sum < 4096.5);
}

/* -- narrow integers -------------------------------------------------------------------------- */

static int64_t whole_of(BurnTensor *x) {
  int64_t value = 0;
  check_status(burn_read_i64(x, &value, 1));
  return value;
}

static BurnTensor *of(int64_t value, BurnDType dtype) {
  return burn_cast(burn_tensor_i64(device, &value, BURN_SHAPE(1)), dtype);
}

static void test_narrow_integers(void **state) {
  (void)state;
  const BurnDType i8 = BURN_DTYPE_I8, i16 = BURN_DTYPE_I16;
  assert_int_equal(whole_of(burn_add(of(127, i8), of(1, i8))), -128);
  assert_int_equal(whole_of(burn_mul(of(300, i16), of(300, i16))), 90000 - 65536);
  assert_int_equal(whole_of(burn_neg(of(-128, i8))), -128);
  assert_int_equal(whole_of(burn_abs(of(INT64_MIN, BURN_DTYPE_I64))), INT64_MIN);
  assert_int_equal(whole_of(burn_div(of(-128, i8), of(-1, i8))), -128);
  assert_int_equal(whole_of(burn_div(of(INT64_MIN, BURN_DTYPE_I64), of(-1, BURN_DTYPE_I64))), INT64_MIN);
  assert_int_equal(whole_of(burn_div(of(5, i16), of(0, i16))), 0);
  assert_int_equal(whole_of(burn_remainder(of(-7, i16), of(3, i16))), 2);
  assert_int_equal(whole_of(burn_remainder(of(7, i16), of(-3, i16))), -2);
  assert_int_equal(whole_of(burn_cast(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F64, 1e9), i16)), 32767);
  assert_int_equal(whole_of(burn_cast(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F64, -1e9), i8)), -128);
  assert_int_equal(whole_of(burn_cast(of(0x12345, BURN_DTYPE_I64), i16)), 0x2345);
}

/* i64 has numbers that f64 has not: nothing may go through f64. */
static void test_large_integers(void **state) {
  (void)state;
  const int64_t large = (INT64_C(1) << 60) + 1;
  const BurnDType i64 = BURN_DTYPE_I64;
  assert_int_equal(whole_of(burn_max_pair(of(large, i64), of(large - 1, i64))), large);
  assert_int_equal(whole_of(burn_sub(of(large, i64), of(1, i64))), large - 1);
  assert_int_equal(whole_of(burn_cast(burn_greater_scalar(of(large, i64), (double)(large - 1)), i64)), 1);
  assert_int_equal(whole_of(burn_cast(burn_equal_scalar(of(large, i64), (double)(large - 1)), i64)), 0);
  assert_int_equal(whole_of(burn_cast(burn_lower_scalar(of(INT64_MAX, i64), 0x1p63), i64)), 1);
  assert_int_equal(whole_of(burn_cast(burn_greater_scalar(of(1, i64), 0.5), i64)), 1);
}

/* -- random numbers --------------------------------------------------------------------------- */

static void test_random_bits_are_those_of_ndarray(void **state) {
  (void)state;
  enum { COUNT = 1001 };
  static unsigned char ours[COUNT * 8], theirs[COUNT * 8];
  BurnDevice *other = burn_device_open("ndarray");
  const BurnBackend *backend = burn_device_backend(other);
  int compared = 0;
  for (BurnDType dtype = 1; burn_dtype_bytes(dtype); dtype++) {
    if (!(backend->dtype_usage(backend->self, dtype) & BURN_USAGE_ARITHMETIC)) continue;
    for (int law = 0; law < 3; law++) {
      const size_t bytes = (size_t)COUNT * burn_dtype_bytes(dtype);
      BurnDevice *devices[] = {device, other};
      unsigned char *found[] = {ours, theirs};
      if (law == 0 && dtype == BURN_DTYPE_BOOL) continue;
      if (law == 1 && burn_dtype_kind(dtype) != BURN_KIND_FLOAT) continue;
      for (int d = 0; d < 2; d++) {
        burn_device_seed(devices[d], 77);
        BurnTensor *x = law == 0   ? burn_random_uniform(devices[d], BURN_SHAPE(COUNT), dtype, 0, 100)
                        : law == 1 ? burn_random_normal(devices[d], BURN_SHAPE(COUNT), dtype, 0.5, 2)
                                   : burn_random_bernoulli(devices[d], BURN_SHAPE(COUNT), dtype, 0.3);
        check_status(burn_read(x, found[d], bytes));
      }
      if (memcmp(ours, theirs, bytes) != 0) fail_msg("%s, law %d: other bits", burn_dtype_name(dtype), law);
      compared++;
    }
  }
  assert_true(compared >= 13);
  burn_device_close(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_runs_the_primitives_and_nothing_else),
      cmocka_unit_test(test_halves_round_once_to_nearest_even),
      cmocka_unit_test(test_every_half_there_is),
      cmocka_unit_test(test_sums_of_halves),
      cmocka_unit_test(test_narrow_integers),
      cmocka_unit_test(test_large_integers),
      cmocka_unit_test(test_random_bits_are_those_of_ndarray),
  };
  return cmocka_run_group_tests_name("reference", tests, open_device, close_device);
}
