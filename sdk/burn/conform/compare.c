/* compare.c - is a result close enough to the reference's? */
#include "conform.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How far a result may be from the reference: |found - expected| <= unit * (relative * |expected| + absolute), where
 * unit is that of the dtype. `terms`: absolute grows with the square root of the number of terms; `largest`: it is
 * relative to the largest element of the result. */
typedef struct Tolerance {
  double relative, absolute;
  bool terms, largest;
} Tolerance;

static const Tolerance tolerances[SAMPLE_TOLERANCE_COUNT] = {
    [SAMPLE_EXACT] = {0, 0, false, false},
    /* Functions of libm and their vector forms are a few units of the last place apart; near a zero of the function the
     * absolute part takes over. */
    [SAMPLE_MATH] = {1, 0.1, false, false},
    /* Terms up to 4 in size, added in any order: errors grow like a random walk. */
    [SAMPLE_SUM] = {1, 1, true, false},
    /* Results made by cancellation: the error is that of the large parts. */
    [SAMPLE_SCALED] = {1, 1, false, true},
    [SAMPLE_LOOSE] = {100, 100, true, true},
    [SAMPLE_SHAPE_ONLY] = {(double)INFINITY, (double)INFINITY, false, false},
};

/* One unit by dtype. f64 and f32 leave room for other orders of addition and functions of a few units;
 * halves, which are computed wide and rounded once, for one of their last places. */
double sample_unit(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return 1e-12;
    case BURN_DTYPE_F32:
      return 4e-6;
    case BURN_DTYPE_F16:
      return 1e-3;
    default:
      return 8e-3;
  }
}

/* Most terms that one element of the result can be made of. */
static double terms_of(const Sample *sample) {
  int64_t most = 1;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (!sample->inputs[i].absent && burn_desc_count(&sample->inputs[i].desc) > most)
      most = burn_desc_count(&sample->inputs[i].desc);
  }
  return (double)most;
}

static double largest_of(const BurnTensorDesc *desc, const void *data) {
  double largest = 1;
  const int64_t count = burn_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    const double magnitude = fabs(sample_load(desc->dtype, data, i, NULL));
    if (isfinite(magnitude) && magnitude > largest) largest = magnitude;
  }
  return largest;
}

static bool is_close(double found, double expected, double relative, double absolute, double largest_number) {
  if (isnan(expected) || isnan(found)) return isnan(expected) && isnan(found);
  if (found == expected) return relative > 0 || signbit(found) == signbit(expected);
  if (relative <= 0 && absolute <= 0) return false;
  /* A number at the end of the range may round to infinity in one and not in the other. */
  const double edge = largest_number * (1 - 2 * relative);
  if (isinf(found) || isinf(expected))
    return fabs(found) >= edge && fabs(expected) >= edge && signbit(found) == signbit(expected);
  return fabs(found - expected) <= relative * fabs(expected) + absolute;
}

void sample_tolerance(const Sample *sample, uint32_t output, const void *expected, double *relative, double *absolute) {
  const BurnTensorDesc *desc = &sample->outputs[output];
  const Tolerance *tolerance = &tolerances[sample->tolerance];
  const double unit = sample_unit(desc->dtype);
  *relative = unit * tolerance->relative;
  *absolute = unit * tolerance->absolute;
  if (tolerance->terms) *absolute *= 4 * sqrt(terms_of(sample));
  if (tolerance->largest) *absolute *= largest_of(desc, expected);
}

static bool float_is_close(const Sample *sample, uint32_t output, const Results *found, const Results *expected,
                           char *why, size_t why_bytes) {
  const BurnTensorDesc *desc = &expected->descs[output];
  double relative, absolute;
  sample_tolerance(sample, output, expected->data[output], &relative, &absolute);
  const int64_t count = burn_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    const double a = sample_load(desc->dtype, found->data[output], i, NULL),
                 b = sample_load(desc->dtype, expected->data[output], i, NULL);
    if (is_close(a, b, relative, absolute, sample_largest(desc->dtype))) continue;
    snprintf(why, why_bytes, "result %u, element %" PRId64 " is %.9g, the reference has %.9g (%s, tolerance %.3g)",
             output, i, a, b, burn_dtype_name(desc->dtype), absolute > 0 ? relative * fabs(b) + absolute : 0.0);
    return false;
  }
  return true;
}

static bool integers_are_same(uint32_t output, const Results *found, const Results *expected, char *why,
                              size_t why_bytes) {
  const BurnTensorDesc *desc = &expected->descs[output];
  const int64_t count = burn_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    int64_t a, b;
    sample_load(desc->dtype, found->data[output], i, &a);
    sample_load(desc->dtype, expected->data[output], i, &b);
    if (a == b) continue;
    snprintf(why, why_bytes, "result %u, element %" PRId64 " is %" PRId64 ", the reference has %" PRId64, output, i, a,
             b);
    return false;
  }
  return true;
}

bool results_are_close(const Sample *sample, const Results *found, const Results *expected, char *why,
                       size_t why_bytes) {
  for (uint32_t i = 0; i < expected->count; i++) {
    if (sample->tolerance == SAMPLE_SHAPE_ONLY) continue;
    const bool is_float = burn_dtype_kind(expected->descs[i].dtype) == BURN_KIND_FLOAT;
    const bool close = is_float ? float_is_close(sample, i, found, expected, why, why_bytes)
                                : integers_are_same(i, found, expected, why, why_bytes);
    if (!close) return false;
  }
  return true;
}

bool results_are_same(const Results *found, const Results *expected, char *why, size_t why_bytes) {
  for (uint32_t i = 0; i < expected->count; i++) {
    const BurnDType dtype = expected->descs[i].dtype;
    const int64_t count = burn_desc_count(&expected->descs[i]);
    const size_t bytes = burn_dtype_bytes(dtype);
    for (int64_t k = 0; k < count; k++) {
      const char *a = (const char *)found->data[i] + (size_t)k * bytes,
                 *b = (const char *)expected->data[i] + (size_t)k * bytes;
      if (memcmp(a, b, bytes) == 0) continue;
      const double x = sample_load(dtype, a, 0, NULL), y = sample_load(dtype, b, 0, NULL);
      if (isnan(x) && isnan(y)) continue; /* which NaN is not promised */
      snprintf(why, why_bytes, "result %u, element %" PRId64 " is %.17g, before it was %.17g", i, k, x, y);
      return false;
    }
  }
  return true;
}
