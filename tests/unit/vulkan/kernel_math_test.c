/* kernel_math_test.c - plugins/vulkan/kernels/math.cu, compiled as C, against the C library: its long double functions are
 * taken as exact. The random numbers are the same in every run. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <common/arithmetic.h>

/* -- the text as C ---------------------------------------------------------------------------- */

typedef struct MathPair MathPair;
typedef struct MathPower MathPower;
typedef struct MathAngle MathAngle;
#define __device__
#define exp kernel_exp
#define log kernel_log
#define log1p kernel_log1p
#define sinh kernel_sinh
#define cosh kernel_cosh
#define tanh kernel_tanh
#define asinh kernel_asinh
#define acosh kernel_acosh
#define atanh kernel_atanh
#define erf kernel_erf
#define pow kernel_pow
#define hypot kernel_hypot
#define fmod kernel_fmod
#define sin kernel_sin
#define cos kernel_cos
#define tan kernel_tan
#define asin kernel_asin
#define acos kernel_acos
#define atan kernel_atan
#define atan2 kernel_atan2
#define sinf kernel_sinf
#define cosf kernel_cosf
#define tanf kernel_tanf
#define sinhf kernel_sinhf
#define coshf kernel_coshf
#define asinf kernel_asinf
#define acosf kernel_acosf
#define atanf kernel_atanf
#define asinhf kernel_asinhf
#define acoshf kernel_acoshf
#define atanhf kernel_atanhf
#define atan2f kernel_atan2f
#define hypotf kernel_hypotf
#define fmodf kernel_fmodf
#include "math.cu"

/* -- what is measured ------------------------------------------------------------------------- */

/* A row: ours, exact, the bound in units of the last place, and the range that is looked at beside all numbers. */
typedef struct Unary {
  const char *name;
  double (*ours)(double);
  long double (*exact)(long double);
  double bound, low, high;
} Unary;
typedef struct Binary {
  const char *name;
  double (*ours)(double, double);
  long double (*exact)(long double, long double);
  double bound, low, high, second_low, second_high;
} Binary;

static const Unary unaries[] = {
    {"exp", exp, expl, 0.76, -750.0, 712.0},   {"exp", exp, expl, 0.76, -1.0, 1.0},
    {"log", log, logl, 0.51, 0.0, 3.0},        {"log1p", log1p, log1pl, 0.51, -1.0, 3.0},
    {"sinh", sinh, sinhl, 0.75, -4.0, 4.0},    {"sinh", sinh, sinhl, 0.75, -715.0, 715.0},
    {"cosh", cosh, coshl, 0.75, -4.0, 4.0},    {"cosh", cosh, coshl, 0.75, -715.0, 715.0},
    {"tanh", tanh, tanhl, 0.75, -2.0, 2.0},    {"tanh", tanh, tanhl, 0.75, -21.0, 21.0},
    {"asinh", asinh, asinhl, 0.51, -3.0, 3.0}, {"acosh", acosh, acoshl, 0.51, 1.0, 3.0},
    {"atanh", atanh, atanhl, 0.51, -1.0, 1.0}, {"erf", erf, erfl, 0.9, -6.0, 6.0},
    {"erf", erf, erfl, 0.9, 0.9, 1.3},         {"sin", sin, sinl, 0.8, -10.0, 10.0},
    {"sin", sin, sinl, 0.8, -2.0e9, 2.0e9},    {"cos", cos, cosl, 0.8, -10.0, 10.0},
    {"cos", cos, cosl, 0.8, -2.0e9, 2.0e9},    {"tan", tan, tanl, 0.9, -10.0, 10.0},
    {"tan", tan, tanl, 0.9, -2.0e9, 2.0e9},    {"asin", asin, asinl, 0.65, -1.0, 1.0},
    {"acos", acos, acosl, 0.65, -1.0, 1.0},    {"atan", atan, atanl, 0.65, -4.0, 4.0},
};
static const Binary binaries[] = {
    {"pow", pow, powl, 0.76, 0.0, 20.0, -100.0, 100.0},   {"pow", pow, powl, 0.76, 0.0, 1.0e-3, -110.0, 110.0},
    {"pow", pow, powl, 0.76, 0.99, 1.01, -7.0e4, 7.0e4},  {"hypot", hypot, hypotl, 0.76, -2.0, 2.0, -2.0, 2.0},
    {"atan2", atan2, atan2l, 0.76, -2.0, 2.0, -2.0, 2.0}, {"fmod", fmod, fmodl, 0.0, -2.0, 2.0, -2.0, 2.0},
};

static uint64_t state_of_random = 88172645463325252u;

static uint64_t next_bits(void) {
  state_of_random ^= state_of_random << 13;
  state_of_random ^= state_of_random >> 7;
  return state_of_random ^= state_of_random << 17;
}

static double next_between(double low, double high) {
  return low + (high - low) * ((double)(next_bits() >> 11) * 0x1p-53);
}
static double next_any(void) { return burn_from_bits_f64(next_bits()); }
/* A number of 30 decades around 1. */
static double next_usual(void) {
  return burn_from_bits_f64((next_bits() & 0x800fffffffffffffu) | (next_bits() % 100u + 973u) << 52);
}

/* In units of the last place of the exact number; 0 where both are NaN or the same. */
static double error_of(double ours, long double exact) {
  const double rounded = (double)exact;
  if (isnan(ours) || isnan(rounded)) return isnan(ours) && isnan(rounded) ? 0.0 : HUGE_VAL;
  if (ours == rounded && signbit(ours) != signbit(rounded)) return HUGE_VAL;
  if (ours == rounded && (isinf(ours) || (long double)ours == exact)) return 0.0;
  if (isinf(ours)) ours = copysign(0x1p1023, ours), exact = exact / 2; /* beside the largest number */
  int exponent = 0;
  (void)frexpl(exact, &exponent);
  return (double)(fabsl((long double)ours - exact) / ldexpl(1.0L, (exponent < -1021 ? -1021 : exponent) - 53));
}

static double larger(double a, double b) { return a > b ? a : b; }

static double unary_error(const Unary *f, double x) { return error_of(f->ours(x), f->exact((long double)x)); }
static double binary_error(const Binary *f, double x, double y) {
  return error_of(f->ours(x, y), f->exact((long double)x, (long double)y));
}

static void expect_bound(const char *name, double x, double y, double error, double bound) {
  if (error <= bound) return;
  fail_msg("%s at %a, %a is off by %g units of the last place; the bound is %g", name, x, y, error, bound);
}

/* -- random numbers --------------------------------------------------------------------------- */

enum { POINTS = 100000 };

static void test_functions_of_one_number(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
    const Unary *f = &unaries[i];
    double worst = 0.0;
    for (int n = 0; n < POINTS; n++) {
      const double points[] = {next_between(f->low, f->high), next_usual(), next_any()};
      for (size_t k = 0; k < 3; k++) {
        const double error = unary_error(f, points[k]);
        expect_bound(f->name, points[k], 0.0, error, f->bound);
        worst = larger(worst, error);
      }
    }
    print_message("%s, %g to %g: %.3f ulp\n", f->name, f->low, f->high, worst);
  }
}

static void test_functions_of_two_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
    const Binary *f = &binaries[i];
    double worst = 0.0;
    for (int n = 0; n < POINTS; n++) {
      const double x[] = {next_between(f->low, f->high), next_usual(), next_any()};
      const double y[] = {next_between(f->second_low, f->second_high), next_usual(), next_any()};
      for (size_t k = 0; k < 3; k++) {
        const double error = binary_error(f, x[k], y[k]);
        expect_bound(f->name, x[k], y[k], error, f->bound);
        worst = larger(worst, error);
      }
    }
    print_message("%s, %g to %g: %.3f ulp\n", f->name, f->low, f->high, worst);
  }
}

/* -- special numbers -------------------------------------------------------------------------- */

static const double specials[] = {0.0,
                                  0x1p-1074,
                                  0x1.8p-1073,
                                  0x0.fffffffffffffp-1022,
                                  0x1p-1022,
                                  0x1p-600,
                                  0x1p-537,
                                  0x1p-54,
                                  0x1p-53,
                                  0x1p-27,
                                  1e-9,
                                  0.25,
                                  1.0 / 3.0,
                                  0.41421356237309503,
                                  0.5,
                                  0x1.6a09e667f3bccp-1,
                                  0x1.6a09e667f3bcdp-1,
                                  0x1.fffffffffffffp-1,
                                  1.0,
                                  0x1.0000000000001p+0,
                                  1.5,
                                  0x1.921fb54442d18p+0,
                                  2.0,
                                  2.414213562373095,
                                  2.5,
                                  3.0,
                                  0x1.921fb54442d18p+1,
                                  4.0,
                                  5.0,
                                  7.0,
                                  20.0,
                                  22.0,
                                  255.0,
                                  709.0,
                                  0x1.62e42fefa39efp+9,
                                  0x1.62e42fefa39fp+9,
                                  0x1.633ce8fb9f87dp+9,
                                  0x1.633ce8fb9f87ep+9,
                                  745.0,
                                  0x1.74910d52d3051p+9,
                                  0x1.74910d52d3053p+9,
                                  1e3,
                                  1074.0,
                                  0x1p30,
                                  0x1.fffffffffffffp29,
                                  0x1.fffffffffffffp51,
                                  0x1p52,
                                  0x1.0000000000001p52,
                                  0x1.fffffffffffffp52,
                                  0x1p53,
                                  0x1p54,
                                  1e22,
                                  0x1p500,
                                  0x1.6ac5b262ca1ffp+849,
                                  0x1.fffffffffffffp1022,
                                  0x1p1023,
                                  0x1.fffffffffffffp1023,
                                  HUGE_VAL};
enum { SPECIALS = 2 * sizeof specials / sizeof *specials + 1 };

/* Both signs of each, then NaN. */
static double special(int i) {
  if (i == SPECIALS - 1) return (double)NAN;
  return i % 2 != 0 ? -specials[i / 2] : specials[i / 2];
}

static void test_special_numbers(void **state) {
  (void)state;
  for (int i = 0; i < SPECIALS; i++) {
    const double x = special(i);
    for (size_t k = 0; k < sizeof unaries / sizeof *unaries; k++)
      expect_bound(unaries[k].name, x, 0.0, unary_error(&unaries[k], x), unaries[k].bound);
    for (int j = 0; j < SPECIALS; j++)
      for (size_t k = 0; k < sizeof binaries / sizeof *binaries; k++)
        expect_bound(binaries[k].name, x, special(j), binary_error(&binaries[k], x, special(j)), binaries[k].bound);
  }
}

/* Every subnormal number whose bits are few, and what is beside powers of two. */
static void test_numbers_beside_powers_of_two(void **state) {
  (void)state;
  for (int exponent = -1074; exponent < 1024; exponent++)
    for (int step = -2; step <= 2; step++) {
      const uint64_t bits = burn_bits_f64(ldexp(1.0, exponent));
      const double x = burn_from_bits_f64(bits + (uint64_t)(int64_t)step);
      if (isnan(x)) continue;
      for (size_t k = 0; k < sizeof unaries / sizeof *unaries; k++)
        expect_bound(unaries[k].name, x, 0.0, unary_error(&unaries[k], x), unaries[k].bound);
    }
}

/* The double that lies nearest to a multiple of pi / 2, and others that are near one. */
static void test_multiples_of_quarters(void **state) {
  const Unary *f = unaries;
  (void)state;
  for (size_t k = 0; k < sizeof unaries / sizeof *unaries; k++, f++) {
    if (f->ours != sin && f->ours != cos && f->ours != tan) continue;
    expect_bound(f->name, 0x1.6ac5b262ca1ffp+849, 0.0, unary_error(f, 0x1.6ac5b262ca1ffp+849), f->bound);
    for (int n = 1; n < 200000; n++) {
      const double x = (double)(1.57079632679489661923132169163975144L * (long double)n);
      expect_bound(f->name, x, 0.0, unary_error(f, x), f->bound);
      const double far_off = (double)(1.57079632679489661923132169163975144L * (long double)(next_bits() >> n % 40));
      expect_bound(f->name, far_off, 0.0, unary_error(f, far_off), f->bound);
    }
  }
}

static void test_powers_of_integers_are_exact(void **state) {
  (void)state;
  for (int x = -40; x <= 40; x++) {
    double exact = 1.0;
    for (int y = 0; fabs(exact) < 0x1p53 && y < 60; y++, exact *= (double)x)
      assert_true(pow((double)x, (double)y) == exact);
  }
}

static void test_remainders_of_near_multiples(void **state) {
  (void)state;
  for (int n = 0; n < POINTS; n++) {
    const double y = next_usual(), x = y * (double)(next_bits() >> (n % 53 + 11));
    for (int step = -1; step <= 1; step++) {
      const double beside = burn_from_bits_f64(burn_bits_f64(x) + (uint64_t)(int64_t)step);
      expect_bound("fmod", beside, y, error_of(fmod(beside, y), fmodl((long double)beside, (long double)y)), 0.0);
    }
  }
}

/* -- f32 -------------------------------------------------------------------------------------- */

typedef struct Narrow {
  const char *name;
  float (*ours)(float);
  long double (*exact)(long double);
} Narrow;
typedef struct NarrowPair {
  const char *name;
  float (*ours)(float, float);
  long double (*exact)(long double, long double);
} NarrowPair;

static const Narrow narrows[] = {
    {"sinf", sinf, sinl},       {"cosf", cosf, cosl},       {"tanf", tanf, tanl},       {"sinhf", sinhf, sinhl},
    {"coshf", coshf, coshl},    {"asinf", asinf, asinl},    {"acosf", acosf, acosl},    {"atanf", atanf, atanl},
    {"asinhf", asinhf, asinhl}, {"acoshf", acoshf, acoshl}, {"atanhf", atanhf, atanhl},
};
static const NarrowPair narrow_pairs[] = {
    {"atan2f", atan2f, atan2l}, {"hypotf", hypotf, hypotl}, {"fmodf", fmodf, fmodl}};

/* What f64 has rounded is rounded again: at most a hair beyond the half. */
static void expect_narrow(const char *name, float x, float y, float ours, long double exact) {
  const float rounded = (float)exact;
  if (isnan(ours) && isnan(rounded)) return;
  if (ours == rounded && signbit(ours) == signbit(rounded)) return;
  const float beside = nextafterf(ours, rounded);
  const long double middle = ((long double)ours + (long double)beside) / 2;
  if (beside == rounded && fabsl(exact - middle) <= fabsl(middle) * 0x1p-52L) return;
  fail_msg("%s at %a, %a is %a and not %La", name, (double)x, (double)y, (double)ours, exact);
}

static void test_f32(void **state) {
  (void)state;
  for (int n = 0; n < POINTS; n++) {
    const float x = burn_from_bits_f32((uint32_t)next_bits()), y = burn_from_bits_f32((uint32_t)next_bits());
    for (size_t k = 0; k < sizeof narrows / sizeof *narrows; k++)
      expect_narrow(narrows[k].name, x, 0.0f, narrows[k].ours(x), narrows[k].exact((long double)x));
    for (size_t k = 0; k < sizeof narrow_pairs / sizeof *narrow_pairs; k++) {
      const NarrowPair *f = &narrow_pairs[k];
      expect_narrow(f->name, x, y, f->ours(x, y), f->exact((long double)x, (long double)y));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions_of_one_number),
      cmocka_unit_test(test_functions_of_two_numbers),
      cmocka_unit_test(test_special_numbers),
      cmocka_unit_test(test_numbers_beside_powers_of_two),
      cmocka_unit_test(test_multiples_of_quarters),
      cmocka_unit_test(test_powers_of_integers_are_exact),
      cmocka_unit_test(test_remainders_of_near_multiples),
      cmocka_unit_test(test_f32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
