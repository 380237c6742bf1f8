// create.cpp - tensors from nothing: full, arange, and the random ops, whose numbers random.h defines to the bit.
#include "call.hpp"

#include <burn/plugin/random.h>

#include <cmath>

namespace backend {
namespace {

// Attributes of creation ops: shape, dtype, then their own.
void full(const Call &call) {
  for (int64_t i = 0; i < call.count(); i++) put_number(call.output(), i, call.raw.attrs[2]);
}

void arange(const Call &call) {
  for (int64_t i = 0; i < call.count(); i++) put(call.output(), i, sum(call.integer(2), product(call.integer(3), i)));
}

// The word of element i; seed and offset are the third and fourth attribute of every random op.
uint32_t word(const Call &call, int64_t i) {
  const auto number = [](int64_t value) { return static_cast<uint64_t>(value); };
  return burn_random_word(number(call.integer(2)), number(call.integer(3)), number(i));
}

// f32 and halves; low and high are numbers of the dtype.
double uniform(BurnDType dtype, uint32_t word, float low, float high) {
  const float scaled = burn_random_unit_f32(word) * (high - low);
  const float sum = low + scaled;
  const double rounded = round_to(dtype, static_cast<double>(sum < high ? sum : low));
  return static_cast<double>(rounded < static_cast<double>(high) ? static_cast<float>(rounded) : low);
}

double uniform(uint32_t word, double low, double high) {
  const double scaled = burn_random_unit_f64(word) * (high - low);
  const double sum = low + scaled;
  return sum < high ? sum : low;
}

void uniform_integers(const Call &call, int64_t low, int64_t high) {
  const uint64_t range = high > low ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 0;
  if (range > uint64_t{1} << 32)
    fail(BURN_STATUS_INVALID_ARGUMENT, "the range ", low, "..", high, " is larger than 2^32");
  for (int64_t i = 0; i < call.count(); i++) {
    const uint64_t bits = word(call, i), scaled = range >> 32 ? bits : bits * range >> 32;
    put(call.output(), i, sum(low, wrap(scaled)));
  }
}

void random_uniform(const Call &call) {
  const auto *attrs = BURN_ATTRS(random_uniform, &call.raw);
  BurnPrimitive *out = call.output();
  if (!is_float(out)) return uniform_integers(call, burn_attr_to_i64(&attrs->low), burn_attr_to_i64(&attrs->high));
  const double low = burn_attr_to_f64(&attrs->low), high = burn_attr_to_f64(&attrs->high);
  const auto least = static_cast<float>(round_to(out->dtype, low)),
             end = static_cast<float>(round_to(out->dtype, high));
  for (int64_t i = 0; i < call.count(); i++) {
    const uint32_t bits = word(call, i);
    put(out, i, out->dtype == BURN_DTYPE_F64 ? uniform(bits, low, high) : uniform(out->dtype, bits, least, end));
  }
}

// Box-Muller: the words of an even and an odd element make two numbers.
void random_normal(const Call &call) {
  const auto *attrs = BURN_ATTRS(random_normal, &call.raw);
  const double unit = 1.0 / 4294967296.0, turn = 6.28318530717958647692;
  BurnPrimitive *out = call.output();
  for (int64_t i = 0; i < call.count(); i++) {
    const double a = word(call, i - i % 2), b = word(call, i - i % 2 + 1);
    const double radius = std::sqrt(-2.0 * std::log((a + 1.0) * unit)), angle = turn * b * unit;
    const double number = radius * (i % 2 ? std::sin(angle) : std::cos(angle));
    const double value = attrs->mean.value.f64 + attrs->std.value.f64 * number;
    put(out, i, out->dtype == BURN_DTYPE_F64 ? value : round_to(BURN_DTYPE_F32, value));  // halves go through f32
  }
}

void random_bernoulli(const Call &call) {
  const uint64_t threshold = burn_random_threshold(BURN_ATTRS(random_bernoulli, &call.raw)->prob.value.f64);
  for (int64_t i = 0; i < call.count(); i++) put(call.output(), i, int64_t{word(call, i) < threshold});
}

}  // namespace

Kernel create_kernel(uint32_t op) {
  switch (op) {
    case BURN_OP_full: return full;
    case BURN_OP_arange: return arange;
    case BURN_OP_random_uniform: return random_uniform;
    case BURN_OP_random_normal: return random_normal;
    case BURN_OP_random_bernoulli: return random_bernoulli;
    default: return nullptr;
  }
}

}  // namespace backend
