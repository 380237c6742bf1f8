/* common_widen_test.c - <burn/common/widen.h>: numbers rounded to halves, against all halves and what lies between them;
 * attributes of widened calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/common/widen.h>

/* The numbers of a half from 0 up, by their bits; the first that is too large is given as the next binade's. */
static double value_of(int fraction_bits, int bias, uint32_t bits) {
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1u);
  const int exponent = (int)(bits >> fraction_bits);
  return ldexp((double)(exponent > 0 ? fraction + (1u << fraction_bits) : fraction),
               (exponent > 0 ? exponent : 1) - bias - fraction_bits);
}

/* Every half, what lies half way to the next one (to the even one), and a double to both sides of it. */
static void expect_halves(BurnDType dtype, int fraction_bits, int bias, uint32_t infinity) {
  for (uint32_t bits = 0; bits < infinity; bits++) {
    const double x = value_of(fraction_bits, bias, bits), next = value_of(fraction_bits, bias, bits + 1);
    const double between = (x + next) / 2, above = bits + 1 == infinity ? HUGE_VAL : next;
    for (int sign = -1; sign <= 1; sign += 2) {
      assert_true(burn_common_round_number(dtype, sign * x) == sign * x);
      assert_true(burn_common_round_number(dtype, sign * nextafter(between, 0)) == sign * x);
      assert_true(burn_common_round_number(dtype, sign * between) == sign * (bits % 2 == 0 ? x : above));
      assert_true(burn_common_round_number(dtype, sign * nextafter(between, HUGE_VAL)) == sign * above);
    }
  }
  assert_true(burn_common_round_number(dtype, 1e300) == HUGE_VAL);
  assert_true(burn_common_round_number(dtype, -HUGE_VAL) == -HUGE_VAL);
  assert_true(burn_common_round_number(dtype, 5e-324) == 0);
  assert_true(isnan(burn_common_round_number(dtype, (double)NAN)));
  assert_true(signbit(burn_common_round_number(dtype, -0.0)) && signbit(burn_common_round_number(dtype, -1e-300)));
}

static void test_numbers_are_rounded_once(void **state) {
  (void)state;
  expect_halves(BURN_DTYPE_F16, 10, 15, 0x7c00);
  expect_halves(BURN_DTYPE_BF16, 7, 127, 0x7f80);
  assert_true(burn_common_round_number(BURN_DTYPE_F32, 0.1) == (double)0.1f);
  assert_true(burn_common_round_number(BURN_DTYPE_F64, 0.1) == 0.1);
}

static void test_dtypes(void **state) {
  (void)state;
  for (BurnDType dtype = 0; dtype < BURN_DTYPE_LIMIT; dtype++) {
    const BurnDType wide = burn_common_wide_dtype(dtype);
    assert_int_equal(burn_common_is_narrow(dtype), wide != dtype);
    assert_int_equal(burn_dtype_kind(wide), burn_dtype_kind(dtype));
    if (wide != dtype) assert_int_equal(burn_dtype_bytes(wide), 4);
  }
  assert_int_equal(burn_common_narrow_kinds(BURN_OP_slice), BURN_KIND_ANY);
  assert_int_equal(burn_common_narrow_kinds(BURN_OP_scatter), BURN_KIND_INT);
  assert_int_equal(burn_common_narrow_kinds(BURN_OP_exp), 0);
}

/* The attribute of an op on x of a dtype, as the widened call has it. */
static BurnAttr widened(uint32_t op, BurnDType dtype, BurnDType result, bool is_composite, BurnAttr attr) {
  BurnPrimitive x = {.dtype = dtype}, *inputs[] = {&x};
  static const uint32_t tags[] = {BURN_ATTR_NUMBER};
  const BurnOpInfo info = {.is_composite = is_composite, .traits = BURN_TRAIT_ELEMENTWISE, .attr_tags = tags};
  const BurnTensorDesc desc = {.dtype = result};
  const BurnOpCall call = {.op = op,
                           .input_count = 1,
                           .attr_count = 1,
                           .output_count = 1,
                           .inputs = inputs,
                           .attrs = &attr,
                           .output_descs = &desc};
  return burn_common_widen_attr(&info, &call, 0);
}

static void test_scalars_stand_for_narrow_tensors(void **state) {
  const BurnDType f16 = BURN_DTYPE_F16, i8 = BURN_DTYPE_I8, i16 = BURN_DTYPE_I16, truth = BURN_DTYPE_BOOL;
  const BurnAttr tenth = burn_attr_f64(0.1), many = burn_attr_i64(300);
  const double rounded = burn_common_round_number(f16, 0.1);
  (void)state;
  assert_true(widened(BURN_OP_add_scalar, f16, f16, false, tenth).value.f64 == rounded);
  assert_true(widened(BURN_OP_add_scalar, f16, f16, true, tenth).value.f64 == 0.1); /* rounded as a whole */
  assert_true(widened(BURN_OP_add_scalar, BURN_DTYPE_F32, BURN_DTYPE_F32, false, tenth).value.f64 == 0.1);
  assert_int_equal(widened(BURN_OP_clamp_max, i8, i8, false, many).value.i64, 127);
  assert_int_equal(widened(BURN_OP_clamp_max, i8, i8, false, burn_attr_f64(-1e9)).value.i64, -128);
  assert_int_equal(widened(BURN_OP_clamp_max, i16, i16, false, many).value.i64, 300);
  assert_int_equal(widened(BURN_OP_add_scalar, i8, i8, false, many).value.i64, 300);      /* it wraps */
  assert_int_equal(widened(BURN_OP_equal_scalar, i8, truth, false, many).value.i64, 300); /* none is equal */
  assert_true(isnan(widened(BURN_OP_clamp_max, i8, i8, false, burn_attr_f64((double)NAN)).value.f64));
}

static void test_what_is_made_is_made_wide(void **state) {
  const BurnAttr attr = burn_attr_dtype(BURN_DTYPE_BF16);
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_BF16};
  const BurnOpCall call = {
      .op = BURN_OP_eye, .attr_count = 1, .output_count = 1, .attrs = &attr, .output_descs = &desc};
  (void)state;
  assert_int_equal(burn_common_working_dtype(&call), BURN_DTYPE_BF16);
  assert_int_equal(burn_common_widen_attr(NULL, &call, 0).value.i64, BURN_DTYPE_F32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_are_rounded_once),
      cmocka_unit_test(test_dtypes),
      cmocka_unit_test(test_scalars_stand_for_narrow_tensors),
      cmocka_unit_test(test_what_is_made_is_made_wide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
