/* math_accuracy_test.c - the elementary functions of the CPU backend on floats of all exponents, against the C library
 * in f64, for every instruction set: errors in units of the last place, subnormal results included. BURN_LONG=1 takes
 * every float. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/activation.h>
#include <burn/burn.h>

#include "isa_device.h"
#include "sampled.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 18 };

static const char *const stacks[] = {"ndarray:isa=baseline", "ndarray:isa=avx2", "ndarray:isa=avx512"};

/* Skipping through the floats by a prime meets all exponents and all kinds of mantissas. */
static uint32_t float_step(void) { return runs_all() ? 1 : 12289; }

/* -- functions -------------------------------------------------------------------------------- */

static double logistic(double x) { return x < -800 ? 0 : 1 / (1 + exp(-x)); }
static double power_exact(double x) { return pow(x, 2.5); }
static BurnTensor *power(BurnTensor *x) { return burn_powf_scalar(x, 2.5); }

/* `ulps` bounds the errors that plugins/common/functions.def promises. */
static const struct {
  const char *name;
  BurnTensor *(*run)(BurnTensor *x);
  double (*exact)(double x);
  double ulps;
} functions[] = {
    {"exp", burn_exp, exp, 1.1},
    {"log", burn_log, log, 1.1},
    {"log1p", burn_log1p, log1p, 2},
    {"tanh", burn_tanh, tanh, 2.5},
    {"erf", burn_erf, erf, 2},
    {"sin", burn_sin, sin, 2},
    {"cos", burn_cos, cos, 2},
    {"sqrt", burn_sqrt, sqrt, 0.5},
    {"sigmoid", burn_sigmoid, logistic, 2.2},
    {"powf 2.5", power, power_exact, 1.1},
};

/* -- errors ----------------------------------------------------------------------------------- */

/* Distance of y from the exact value in units of the last place of that; infinite where only one of them is a number.
 */
static double error_in_ulps(float y, double exact) {
  if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : (double)INFINITY;
  const double size = fabs(exact), found = fabs((double)y),
               limit = (double)FLT_MAX + ldexp(1, 104); /* where a next float would be */
  if (isinf(exact)) return isinf(y) && (y > 0) == (exact > 0) ? 0 : (double)INFINITY;
  int exponent;
  (void)frexp(exact, &exponent);
  const double unit = ldexp(1, exponent < -125 ? -149 : exponent - 24);
  if (size >= limit || isinf(y)) return (size >= limit ? isinf(y) : limit - size < 2 * unit) ? 0 : (double)INFINITY;
  return (y < 0) == (exact < 0) || found == 0 ? fabs(found - size) / unit : (double)INFINITY;
}

typedef struct Worst {
  double ulps;
  float x, y;
} Worst;

/* Floats of `step` apart in their bits, from `first` on; returns the next. */
static uint64_t fill(float *x, uint64_t first, uint32_t step) {
  for (int i = 0; i < CHUNK; i++, first += step) {
    const uint32_t bits = first <= UINT32_MAX ? (uint32_t)first : 0;
    memcpy(&x[i], &bits, sizeof bits);
  }
  return first;
}

static Worst sweep(BurnDevice *device, size_t which, float *x, float *y) {
  Worst worst = {0, 0, 0};
  for (uint64_t first = 0; first <= UINT32_MAX;) {
    first = fill(x, first, float_step());
    BurnTensor *result = functions[which].run(burn_tensor_f32(device, x, BURN_SHAPE(CHUNK)));
    assert_int_equal(burn_read_f32(result, y, CHUNK), BURN_OK);
    for (int i = 0; i < CHUNK; i++) {
      const double ulps = error_in_ulps(y[i], functions[which].exact((double)x[i]));
      if (ulps > worst.ulps) worst = (Worst){ulps, x[i], y[i]};
    }
  }
  return worst;
}

static void test_errors(void **state) {
  (void)state;
  float *x = malloc(CHUNK * sizeof *x), *y = malloc(CHUNK * sizeof *y);
  bool all_fine = true;
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      const Worst worst = sweep(device, i, x, y);
      const bool fine = worst.ulps <= functions[i].ulps;
      printf("%-22s %-9s %.3f ulp at %a: %a%s\n", stacks[s], functions[i].name, worst.ulps, (double)worst.x,
             (double)worst.y, fine ? "" : "  TOO MUCH");
      all_fine = all_fine && fine;
    }
    burn_device_close(device);
  }
  free(x);
  free(y);
  assert_true(all_fine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
