/* ndarray_half.h - f16 and bf16: their 16 bits to and from f32 and f64, without branches, so that loops become vector
 * code.
 *
 * To a half: one rounding, to nearest, ties to even; what is too large becomes infinite; subnormal numbers are exact.
 * To f32: exact. A NaN stays one, made quiet, with its sign and the upper bits of its payload, as the instructions of
 * processors do it: so loops may use those where there are any. None of this depends on the processor's modes for
 * subnormal numbers. */
#ifndef BURN_NDARRAY_HALF_H
#define BURN_NDARRAY_HALF_H

#include "common/functions.h"

static inline float nd_f16_to_f32(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu, shifted = magnitude << 13;
  const uint32_t normal = shifted + 0x38000000u; /* 127 - 15 more in the exponent */
  /* A subnormal number is (2^-14 + number) - 2^-14: both normal in f32, and the difference exact. */
  const uint32_t small = burn_bits_f32(burn_from_bits_f32(shifted | 0x38800000u) - 0x1p-14f);
  const uint32_t special = shifted | 0x7f800000u | (magnitude > 0x7c00u ? 0x00400000u : 0u);
  const uint32_t finite = magnitude < 0x0400u ? small : normal;
  return burn_from_bits_f32(sign | (magnitude >= 0x7c00u ? special : finite));
}

static inline uint16_t nd_f16_from_f32(float x) {
  const uint32_t bits = burn_bits_f32(x), magnitude = bits & 0x7fffffffu;
  /* The bits that fall away, and half of the last that stays: a carry into the exponent is right, up to infinity. */
  const uint32_t normal = (magnitude - 0x38000000u + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  /* The last bit of 1/2 + x is worth 2^-24, as that of the subnormal halves: the addition rounds. */
  const uint32_t small = burn_bits_f32(burn_from_bits_f32(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x03ffu) : 0x7c00u;
  const uint32_t finite = magnitude < 0x38800000u ? small : normal;
  return (uint16_t)(((bits >> 16) & 0x8000u) | (magnitude >= 0x47800000u ? special : finite));
}

static inline float nd_bf16_to_f32(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  return burn_from_bits_f32((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x00400000u : bits);
}

static inline uint16_t nd_bf16_from_f32(float x) {
  const uint32_t bits = burn_bits_f32(x), rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x0040u : rounded);
}

/* f64 in f32 such that a later rounding to a half is that of the f64: a number that does not fit keeps an odd last bit
 * ("round to odd"), by which the later rounding sees on which side of a tie it lay. */
static inline float nd_odd_f32(double x) {
  const float nearest = (float)x;
  const double back = (double)nearest, size = x < 0 ? -x : x, back_size = back < 0 ? -back : back;
  const uint32_t bits = burn_bits_f32(nearest), toward_zero = back_size > size ? bits - 1u : bits;
  return back < x || back > x ? burn_from_bits_f32(toward_zero | 1u) : nearest;
}

static inline uint16_t nd_f16_from_f64(double x) { return nd_f16_from_f32(nd_odd_f32(x)); }
static inline uint16_t nd_bf16_from_f64(double x) { return nd_bf16_from_f32(nd_odd_f32(x)); }

#endif
