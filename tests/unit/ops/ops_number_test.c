/* ops_number_test.c - scalars of ops: integers that no double holds keep all their bits, on every stack; what they
 * become in dtypes that do not hold them; I64 and F64 by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test_stacks.h"

static BurnDevice *device; /* of the stack that is tested */
static const char *stack;

#define ODD INT64_C(9007199254740993) /* 2^53 + 1, the first that f64 has not */
static const int64_t numbers[] = {ODD, -ODD, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 0, -1};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

/* Takes x [1]. */
static int64_t whole(BurnTensor *x, const char *what) {
  int64_t value = 0;
  const BurnStatus status = burn_read_i64(x, &value, 1);
  if (status != BURN_OK) fail_msg("%s: %s: %s", stack, what, burn_status_message(status));
  return value;
}
static void check(BurnTensor *x, int64_t expected, const char *what, int64_t number) {
  const int64_t found = whole(x, what);
  if (found == expected) return;
  fail_msg("%s: %s of %" PRId64 " is %" PRId64 ", expected %" PRId64, stack, what, number, found, expected);
}
static BurnTensor *of(int64_t value) { return burn_tensor_i64(device, &value, BURN_SHAPE(1)); }
static BurnTensor *of_dtype(int64_t value, BurnDType dtype) { return burn_cast(of(value), dtype); }

/* -- i64 -------------------------------------------------------------------------------------- */

static void check_creation(int64_t n) {
  const BurnShape one = BURN_SHAPE(1);
  check(burn_full_i64(device, one, BURN_DTYPE_I64, n), n, "full", n);
  check(burn_full_like_i64(of(3), n), n, "full_like", n);
  if (n < INT64_MAX) {
    check(burn_random_uniform_i64(device, one, BURN_DTYPE_I64, n, n + 1), n, "random_uniform", n);
    check(burn_random_uniform_like_i64(of(3), n, n + 1), n, "random_uniform_like", n);
  }
  const BurnRange all = BURN_RANGE_ALL;
  check(burn_slice_fill_i64(of(3), &all, 1, n), n, "slice_fill", n);
  check(burn_narrow(burn_pad_i64(of(3), (const int64_t[]){1, 0}, 1, BURN_PAD_CONSTANT, n), 0, 0, 1), n, "pad", n);
  check(burn_mask_fill_i64(of(3), burn_ones(device, one, BURN_DTYPE_BOOL), n), n, "mask_fill", n);
  check(burn_narrow(burn_one_hot_fill_i64(of(0), 2, n, 5, -1), 1, 0, 1), n, "one_hot_fill on", n);
  check(burn_narrow(burn_one_hot_fill_i64(of(0), 2, 5, n, -1), 1, 1, 1), n, "one_hot_fill off", n);
}

static void check_arithmetic(int64_t n) {
  check(burn_add_scalar_i64(of(0), n), n, "add_scalar", n);
  check(burn_add_scalar_i64(of(1), n), (int64_t)((uint64_t)n + 1), "add_scalar, wrapping", n);
  check(burn_sub_scalar_i64(of(n), n), 0, "sub_scalar", n);
  check(burn_mul_scalar_i64(of(1), n), n, "mul_scalar", n);
  check(burn_mul_scalar_i64(of(3), n), (int64_t)((uint64_t)n * 3), "mul_scalar, wrapping", n);
  check(burn_scalar_sub_i64(n, of(0)), n, "scalar_sub", n);
  check(burn_scalar_div_i64(n, of(1)), n, "scalar_div", n);
  check(burn_div_scalar_i64(of(n), n), n != 0, "div_scalar", n);
  if (n > 1) check(burn_div_scalar_i64(of(n - 1), n), 0, "div_scalar of one less", n);
  if (n > 1) check(burn_remainder_scalar_i64(of(n - 1), n), n - 1, "remainder_scalar of one less", n);
  check(burn_remainder_scalar_i64(of(n), n), 0, "remainder_scalar", n);
  check(burn_clamp_min_i64(of(INT64_MIN), n), n, "clamp_min", n);
  check(burn_clamp_max_i64(of(INT64_MAX), n), n, "clamp_max", n);
  check(burn_clamp_i64(of(7), n, n), n, "clamp", n);
}

/* n against x, which is n or beside it. */
static void check_comparisons(int64_t x, int64_t n) {
  check(burn_equal_scalar_i64(of(x), n), x == n, "equal_scalar", n);
  check(burn_not_equal_scalar_i64(of(x), n), x != n, "not_equal_scalar", n);
  check(burn_greater_scalar_i64(of(x), n), x > n, "greater_scalar", n);
  check(burn_greater_equal_scalar_i64(of(x), n), x >= n, "greater_equal_scalar", n);
  check(burn_lower_scalar_i64(of(x), n), x < n, "lower_scalar", n);
  check(burn_lower_equal_scalar_i64(of(x), n), x <= n, "lower_equal_scalar", n);
}

static void test_i64_keeps_all_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < NUMBERS; i++) {
    const int64_t n = numbers[i];
    check_creation(n);
    check_arithmetic(n);
    check_comparisons(n, n);
    if (n < INT64_MAX) check_comparisons(n + 1, n);
    if (n > INT64_MIN) check_comparisons(n - 1, n);
  }
}

/* A double is cut toward zero and saturated, as before. */
static void test_doubles_meet_i64(void **state) {
  (void)state;
  check(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_I64, -2.9), -2, "full", 0);
  check(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_I64, 1e300), INT64_MAX, "full", 0);
  check(burn_equal_scalar(of(ODD), 9007199254740992.0), 0, "equal_scalar", ODD);
  check(burn_greater_scalar(of(ODD), 9007199254740992.0), 1, "greater_scalar", ODD);
  check(burn_greater_scalar(of(2), 1.5), 1, "greater_scalar", 2);
  check(burn_lower_scalar(of(INT64_MAX), 9223372036854775808.0), 1, "lower_scalar", INT64_MAX);
}

/* -- dtypes that do not hold the number ------------------------------------------------------- */

static void test_narrow_integers(void **state) {
  (void)state;
  static const struct {
    BurnDType dtype;
    int64_t lowest, highest;
  } rows[] = {{BURN_DTYPE_U8, 0, UINT8_MAX},
              {BURN_DTYPE_I8, INT8_MIN, INT8_MAX},
              {BURN_DTYPE_I16, INT16_MIN, INT16_MAX},
              {BURN_DTYPE_I32, INT32_MIN, INT32_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const BurnDType dtype = rows[i].dtype;
    const int64_t above = rows[i].highest + 6, five = INT64_C(5) + (INT64_C(1) << 40);
    const char *name = burn_dtype_name(dtype);
    check(burn_full_i64(device, BURN_SHAPE(1), dtype, ODD), rows[i].highest, name, ODD);
    check(burn_full_i64(device, BURN_SHAPE(1), dtype, -ODD), rows[i].lowest, name, -ODD);
    check(burn_add_scalar_i64(of_dtype(2, dtype), five), 7, name, five); /* the low bits */
    check(burn_add_scalar_i64(of_dtype(2, dtype), -1), 1, name, -1);
    check(burn_mul_scalar_i64(of_dtype(2, dtype), five), 10, name, five);
    check(burn_div_scalar_i64(of_dtype(rows[i].highest, dtype), above), 1, name, above); /* the nearest */
    check(burn_clamp_min_i64(of_dtype(2, dtype), above), rows[i].highest, name, above);
    check(burn_clamp_max_i64(of_dtype(2, dtype), above), 2, name, above);
    check(burn_equal_scalar_i64(of_dtype(5, dtype), five), 0, name, five); /* as it is */
    check(burn_not_equal_scalar_i64(of_dtype(5, dtype), five), 1, name, five);
    check(burn_lower_scalar_i64(of_dtype(5, dtype), five), 1, name, five);
    check(burn_greater_scalar_i64(of_dtype(5, dtype), -five), 1, name, -five);
  }
}

static void test_bools_and_floats(void **state) {
  (void)state;
  check(burn_full_i64(device, BURN_SHAPE(1), BURN_DTYPE_BOOL, ODD), 1, "bool full", ODD);
  check(burn_equal_scalar_i64(of_dtype(1, BURN_DTYPE_BOOL), 1), 1, "bool equal_scalar", 1);
  check(burn_equal_scalar_i64(of_dtype(1, BURN_DTYPE_BOOL), ODD), 0, "bool equal_scalar", ODD);
  float f32 = 0;
  assert_int_equal(burn_read_f32(burn_add_scalar_i64(of_dtype(1, BURN_DTYPE_F32), 2), &f32, 1), BURN_OK);
  assert_true(f32 == 3.0f);
  assert_int_equal(burn_read_f32(burn_sub_scalar_i64(of_dtype(0, BURN_DTYPE_F32), INT64_MIN), &f32, 1), BURN_OK);
  assert_true(f32 == 0x1p63f);
  assert_int_equal(burn_read_f32(burn_clamp_i64(of_dtype(9, BURN_DTYPE_F32), -2, 4), &f32, 1), BURN_OK);
  assert_true(f32 == 4.0f);
  double f64 = 0;
  assert_int_equal(burn_read_f64(burn_full_i64(device, BURN_SHAPE(1), BURN_DTYPE_F64, ODD), &f64, 1), BURN_OK);
  assert_true(f64 == 9007199254740992.0);
  check(burn_equal_scalar_i64(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F64, 9007199254740992.0), ODD), 1,
        "f64 equal_scalar", ODD);
}

static void test_random_ranges(void **state) {
  (void)state;
  BurnTensor *x = burn_random_uniform_i64(device, BURN_SHAPE(1), BURN_DTYPE_I64, ODD, ODD - 1);
  assert_non_null(
      strstr(burn_status_message(burn_tensor_status(x)), "random_uniform: low is above high: 9007199254740993 .. "));
  burn_drop(x);
  x = burn_random_uniform_i64(device, BURN_SHAPE(1), BURN_DTYPE_I64, INT64_MIN, INT64_MAX);
  assert_non_null(strstr(burn_status_message(burn_tensor_status(x)), "the range is wider than 2^32"));
  burn_drop(x);
  int64_t found[64];
  x = burn_random_uniform_i64(device, BURN_SHAPE(64), BURN_DTYPE_I64, INT64_MAX - 3, INT64_MAX);
  assert_int_equal(burn_read_i64(x, found, 64), BURN_OK);
  for (size_t i = 0; i < 64; i++) assert_true(found[i] >= INT64_MAX - 3 && found[i] < INT64_MAX);
}

/* -- by name, through gradients, in fused bodies ---------------------------------------------- */

static void test_by_name(void **state) {
  (void)state;
  BurnTensor *x = of(1);
  const BurnAttr i64 = burn_attr_i64(ODD), f64 = burn_attr_f64(2.5), dtype = burn_attr_dtype(BURN_DTYPE_F32);
  check(burn_op("add_scalar", &x, 1, &i64, 1), ODD + 1, "by name", ODD);
  x = of(1);
  check(burn_op("add_scalar", &x, 1, &f64, 1), 3, "by name", 2);
  x = burn_op("add_scalar", (BurnTensor *const[]){of(1)}, 1, &dtype, 1);
  assert_string_equal(burn_status_message(burn_tensor_status(x)),
                      "add_scalar: attribute 'value' has tag 4, expected 1 or 2");
  burn_drop(x);
}

static void test_gradients(void **state) {
  (void)state;
  if (!burn_device_is_autodiff(device)) return;
  BurnTensor *x = burn_require_grad(burn_full_i64(device, BURN_SHAPE(1), BURN_DTYPE_F32, 3));
  BurnTensor *y = burn_clamp_i64(burn_add_scalar_i64(burn_mul_scalar_i64(burn_clone(x), 5), 4), -100, 100);
  BurnGradients *gradients = NULL;
  assert_int_equal(burn_backward(burn_div_scalar_i64(y, 2), &gradients), BURN_OK);
  float gradient = 0;
  assert_int_equal(burn_read_f32(burn_grad(x, gradients), &gradient, 1), BURN_OK);
  assert_true(gradient == 2.5f);
  burn_gradients_drop(gradients);
  burn_drop(x);
}

/* The same ops with other numbers, and with the other kind of number: fused, they are one body that is run with what it
 * is given. */
static void test_numbers_vary_in_one_body(void **state) {
  (void)state;
  enum { COUNT = 100 };
  for (int64_t k = 1; k <= 6; k++) {
    BurnTensor *x = burn_ones(device, BURN_SHAPE(COUNT), BURN_DTYPE_F32);
    x = burn_add_scalar_i64(burn_mul_scalar_i64(burn_exp(burn_mul_scalar(x, 0)), k), 2 * k);
    x = k % 2 ? burn_clamp_max_i64(x, 3 * k - 1) : burn_clamp_max(x, 3 * (double)k - 1);
    float found[COUNT];
    assert_int_equal(burn_read_f32(x, found, COUNT), BURN_OK);
    for (size_t i = 0; i < COUNT; i++) assert_true(found[i] == (float)(3 * k - 1));
  }
}

/* -- on every stack --------------------------------------------------------------------------- */

#define STACKS                                                                                                  \
  "ndarray; ndarray:primitives=true; reference; autodiff<ndarray>; fusion<ndarray>; autodiff<fusion<ndarray>>;" \
  "validate<ndarray>; torch:cpu"

#define TESTS(X)             \
  X(test_i64_keeps_all_bits) \
  X(test_doubles_meet_i64)   \
  X(test_narrow_integers)    \
  X(test_bools_and_floats)   \
  X(test_random_ranges)      \
  X(test_by_name)            \
  X(test_gradients)          \
  X(test_numbers_vary_in_one_body)

#define ON_STACKS(name)                            \
  static void name##_on(void **state) {            \
    (void)state;                                   \
    test_on_stacks(STACKS, &device, &stack, name); \
  }
TESTS(ON_STACKS)

int main(void) {
#define ROW(name) {#name, name##_on, NULL, NULL, NULL},
  const struct CMUnitTest tests[] = {TESTS(ROW)};
  return test_stacks_result(cmocka_run_group_tests_name("numbers", tests, NULL, NULL));
}
