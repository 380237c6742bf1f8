/* reference_create.c - tensors from nothing: full, arange, and the random ops, whose numbers random.h defines to the
 * bit. */
#include "reference_internal.h"

#include <burn/plugin/random.h>

#include <math.h>

static BurnStatus full(const ReferenceRun *run) {
  const BurnAttr *value = &BURN_ATTRS(full, run->call)->value;
  for (int64_t i = 0, count = burn_primitive_count(run->out[0]); i < count; i++)
    reference_put_number(run->out[0], i, value);
  return BURN_OK;
}

static BurnStatus arange(const ReferenceRun *run) {
  const BurnAttrs_arange *attrs = BURN_ATTRS(arange, run->call);
  const uint64_t start = (uint64_t)attrs->start.value.i64, step = (uint64_t)attrs->step.value.i64; /* wraps */
  for (int64_t i = 0, count = burn_primitive_count(run->out[0]); i < count; i++) {
    reference_put_integer(run->out[0], i, (int64_t)(start + (uint64_t)i * step));
  }
  return BURN_OK;
}

/* The word of element i; seed and offset are the third and fourth attribute of every random op. */
static uint32_t word(const ReferenceRun *run, int64_t i) {
  const BurnAttr *attrs = run->call->attrs;
  return burn_random_word((uint64_t)attrs[2].value.i64, (uint64_t)attrs[3].value.i64, (uint64_t)i);
}

/* f32 and halves; low and high are numbers of the dtype. */
static double uniform_f32(BurnDType dtype, uint32_t word_of_element, float low, float high) {
  const float scaled = burn_random_unit_f32(word_of_element) * (high - low);
  const float sum = low + scaled;
  const double rounded = reference_round(dtype, (double)(sum < high ? sum : low));
  return rounded < (double)high ? rounded : (double)low;
}

static double uniform_f64(uint32_t word_of_element, double low, double high) {
  const double scaled = burn_random_unit_f64(word_of_element) * (high - low);
  const double sum = low + scaled;
  return sum < high ? sum : low;
}

static BurnStatus random_uniform(const ReferenceRun *run) {
  const BurnAttrs_random_uniform *attrs = BURN_ATTRS(random_uniform, run->call);
  const double low = burn_attr_to_f64(&attrs->low), high = burn_attr_to_f64(&attrs->high);
  const int64_t first = burn_attr_to_i64(&attrs->low), last = burn_attr_to_i64(&attrs->high);
  const uint64_t range = last > first ? (uint64_t)last - (uint64_t)first : 0;
  BurnPrimitive *out = run->out[0];
  if (!reference_is_float(out) && range > (uint64_t)1 << 32) {
    return reference_fail(run, BURN_STATUS_INVALID_ARGUMENT, "the range %lld..%lld is larger than 2^32",
                          (long long)first, (long long)last);
  }
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    const uint64_t bits = word(run, i), scaled = range >> 32 ? bits : bits * range >> 32;
    if (out->dtype == BURN_DTYPE_F64) {
      reference_put_float(out, i, uniform_f64((uint32_t)bits, low, high));
    } else if (reference_is_float(out)) {
      const float least = (float)reference_round(out->dtype, low), end = (float)reference_round(out->dtype, high);
      reference_put_float(out, i, uniform_f32(out->dtype, (uint32_t)bits, least, end));
    } else {
      reference_put_integer(out, i, (int64_t)((uint64_t)first + scaled));
    }
  }
  return BURN_OK;
}

static BurnStatus random_normal(const ReferenceRun *run) {
  const BurnAttrs_random_normal *attrs = BURN_ATTRS(random_normal, run->call);
  const double unit = 1.0 / 4294967296.0, turn = 6.28318530717958647692;
  BurnPrimitive *out = run->out[0];
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    const double a = word(run, i - i % 2), b = word(run, i - i % 2 + 1); /* of the even/odd pair that i belongs to */
    const double radius = sqrt(-2.0 * log((a + 1.0) * unit)), angle = turn * b * unit;
    const double number = radius * (i % 2 ? sin(angle) : cos(angle));
    const double value = attrs->mean.value.f64 + attrs->std.value.f64 * number;
    reference_put_float(out, i,
                        out->dtype == BURN_DTYPE_F64 ? value : (double)(float)value); /* halves go through f32 */
  }
  return BURN_OK;
}

static BurnStatus random_bernoulli(const ReferenceRun *run) {
  const uint64_t threshold = burn_random_threshold(BURN_ATTRS(random_bernoulli, run->call)->prob.value.f64);
  BurnPrimitive *out = run->out[0];
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++)
    reference_put_integer(out, i, word(run, i) < threshold);
  return BURN_OK;
}

const ReferenceRow reference_create_rows[] = {{BURN_OP_full, full, NULL, NULL, 0},
                                              {BURN_OP_arange, arange, NULL, NULL, 0},
                                              {BURN_OP_random_uniform, random_uniform, NULL, NULL, 0},
                                              {BURN_OP_random_normal, random_normal, NULL, NULL, 0},
                                              {BURN_OP_random_bernoulli, random_bernoulli, NULL, NULL, 0},
                                              {0, NULL, NULL, NULL, 0}};
