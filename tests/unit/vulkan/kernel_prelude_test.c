/* kernel_prelude_test.c - plugins/vulkan/kernels/prelude_spirv.cu where it computes what a device cannot: multiply-add in
 * one rounding, halves, conversions toward zero, warps. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel_prelude_words.h"

enum { POINTS = 2000000 };

static uint64_t state_of_random = 88172645463325252u;

static uint64_t next_bits(void) {
  state_of_random ^= state_of_random << 13;
  state_of_random ^= state_of_random >> 7;
  return state_of_random ^= state_of_random << 17;
}

static float next_float(void) {
  const union {
    uint32_t bits;
    float value;
  } u = {(uint32_t)(next_bits() >> 32)};
  return u.value;
}

/* With an exponent of -range .. range. */
static double next_double(int range) {
  const double size = 1.0 + (double)(next_bits() >> 12) * 0x1p-52;
  const double x = ldexp(size, (int)(next_bits() >> 32) % (range + 1));
  return next_bits() % 2u != 0 ? -x : x;
}

/* -- multiply-add ----------------------------------------------------------------------------- */

static void test_multiply_add_rounds_once(void **state) {
  (void)state;
  for (int n = 0; n < POINTS; n++) {
    const float a = next_float(), b = next_float(), product = a * b;
    const float c = n % 2 != 0 ? next_float() : nextafterf(-product, next_float());
    const float expected = fmaf(a, b, c), got = words_fma_f32(a, b, c);
    assert_true(got == expected || (isnan(got) && isnan(expected)));
  }
  for (int n = 0; n < POINTS; n++) {
    const double a = next_double(n % 400), b = next_double(n % 400), product = a * b;
    const double c = n % 2 != 0 ? next_double(n % 900) : nextafter(-product, next_double(1));
    assert_true(words_fma_f64(a, b, c) == fma(a, b, c));
  }
}

static void test_multiply_add_of_infinities(void **state) {
  (void)state;
  assert_true(words_fma_f64(HUGE_VAL, 2.0, 1.0) == HUGE_VAL);
  assert_true(words_fma_f64(2.0, 1.0, -HUGE_VAL) == -HUGE_VAL);
  assert_true(isnan(words_fma_f64(HUGE_VAL, 0.0, 1.0)));
  assert_true(isnan(words_fma_f64((double)NAN, 2.0, 1.0)));
  assert_true(words_fma_f32(HUGE_VALF, 2.0f, 1.0f) == HUGE_VALF);
  assert_true(isnan(words_fma_f32(HUGE_VALF, 1.0f, -HUGE_VALF)));
}

/* -- halves ----------------------------------------------------------------------------------- */

/* The number that the bits of a positive half mean; infinity is the next power of two. */
static double value_of(uint32_t bits) {
  const uint32_t fraction = bits & 0x3ffu;
  const int exponent = (int)(bits >> 10);
  return ldexp((double)(exponent > 0 ? fraction + 0x400u : fraction), (exponent > 0 ? exponent : 1) - 25);
}

static void test_every_half_is_read(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x7c00u; bits++) {
    const float x = words_half_to_f32((uint16_t)bits), minus_x = words_half_to_f32((uint16_t)(bits | 0x8000u));
    assert_true((double)x == value_of(bits) && !signbit(x));
    assert_true(minus_x == -x && signbit(minus_x));
  }
  assert_true(words_half_to_f32(0x7c00u) == HUGE_VALF && words_half_to_f32(0xfc00u) == -HUGE_VALF);
  for (uint32_t bits = 0x7c01u; bits < 0x8000u; bits++)
    assert_true(isnan(words_half_to_f32((uint16_t)bits)) && isnan(words_half_to_f32((uint16_t)(bits | 0x8000u))));
}

static void expect_half(float x, uint32_t bits) {
  assert_int_equal(words_f32_to_half(x), bits);
  assert_int_equal(words_f32_to_half(-x), bits | 0x8000u);
  const float through = words_through_half(x), expected = bits < 0x7c00u ? (float)value_of(bits) : HUGE_VALF;
  assert_true(through == expected && !signbit(through) && words_through_half(-x) == -expected);
}

/* Every half, what lies half way to the next one (to the even one), and an f32 to both sides of it. */
static void test_halves_are_rounded_to_even(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x7c00u; bits++) {
    const float between = (float)((value_of(bits) + value_of(bits + 1u)) / 2.0);
    expect_half((float)value_of(bits), bits);
    expect_half(nextafterf(between, 0.0f), bits);
    expect_half(between, bits + bits % 2u);
    expect_half(nextafterf(between, HUGE_VALF), bits + 1u);
    assert_true(words_f64_through_half(value_of(bits)) == value_of(bits));
    assert_true(words_f64_through_half(nextafter((double)between, 0.0)) == value_of(bits));
  }
  expect_half(HUGE_VALF, 0x7c00u);
  expect_half(FLT_MAX, 0x7c00u);
  expect_half(0x1p-149f, 0u);
  for (int n = 0; n < 1000; n++) { /* every NaN stays one, and so does its sign */
    const union {
      uint32_t bits;
      float value;
    } u = {0x7f800001u + (uint32_t)(next_bits() % 0x7fffffu)};
    assert_true((words_f32_to_half(u.value) & 0x7fffu) > 0x7c00u);
    assert_true((words_f32_to_brain(u.value) & 0x7fffu) > 0x7f80u);
  }
}

static void test_brains_are_rounded_to_even(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x7f80u; bits++)
    for (uint32_t rest = 0; rest < 4u; rest++) {
      const uint32_t rests[] = {0u, 0x7fffu, 0x8000u, 0x8001u};
      const union {
        uint32_t bits;
        float value;
      } u = {bits << 16 | rests[rest]};
      const uint32_t up = rest == 3u || (rest == 2u && bits % 2u != 0) ? 1u : 0u;
      assert_int_equal(words_f32_to_brain(u.value), bits + up);
      assert_int_equal(words_f32_to_brain(-u.value), (bits + up) | 0x8000u);
    }
}

/* -- toward zero ------------------------------------------------------------------------------ */

static void expect_f32_toward_zero(double x) {
  const float y = words_f64_to_f32_toward_zero(x), beyond = nextafterf(y, x < 0.0 ? -HUGE_VALF : HUGE_VALF);
  assert_true(fabs((double)y) <= fabs(x));
  assert_true(fabs((double)beyond) > fabs(x) || isinf(x));
}

static void test_conversions_toward_zero(void **state) {
  (void)state;
  for (int n = 0; n < POINTS; n++) {
    expect_f32_toward_zero(next_double(140));
    expect_f32_toward_zero(1.0 / next_double(160));
    const int64_t x = (int64_t)(next_bits() >> n % 64) * (n % 2 != 0 ? 1 : -1);
    const double y = words_i64_to_f64_toward_zero(x);
    uint64_t size = x < 0 ? 0u - (uint64_t)x : (uint64_t)x, ones = 0u;
    while (size >> 53 != 0) size >>= 1, ones++;
    assert_true(y == ldexp(x < 0 ? -(double)size : (double)size, (int)ones));
  }
  assert_true(words_i64_to_f64_toward_zero(INT64_MIN) == -0x1p63);
  assert_true(words_i64_to_f64_toward_zero(INT64_MAX) == 0x1.fffffffffffffp62);
  expect_f32_toward_zero(1e300);
  expect_f32_toward_zero(-HUGE_VAL);
  assert_true(isnan(words_f64_to_f32_toward_zero((double)NAN)));
}

/* -- warps, all texts together ---------------------------------------------------------------- */

static void test_lanes_find_each_other(void **state) {
  (void)state;
  assert_int_equal(words_wrong_lanes(1), 0);
  assert_int_equal(words_wrong_lanes(0), 0);
}

static void test_the_shared_prelude_calls_the_functions(void **state) {
  (void)state;
  assert_true(words_power(3.0, 5) == 243.0 && words_power(-2.0, -3) == -0.125 && words_power(0.0, 0) == 1.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_multiply_add_rounds_once),   cmocka_unit_test(test_multiply_add_of_infinities),
      cmocka_unit_test(test_every_half_is_read),         cmocka_unit_test(test_halves_are_rounded_to_even),
      cmocka_unit_test(test_brains_are_rounded_to_even), cmocka_unit_test(test_conversions_toward_zero),
      cmocka_unit_test(test_lanes_find_each_other),      cmocka_unit_test(test_the_shared_prelude_calls_the_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
