/* arithmetic.h - the numbers that every backend computes with: fused multiply-add, and bits of floats.
 *
 * One arithmetic everywhere: a product is rounded before it is added unless BURN_FMA says that it is not. So everything
 * is compiled with -ffp-contract=off (nvcc: -fmad=false), and an expression of elementwise.def has the same bits on
 * every instruction set and device whose +, -, *, / and square root round as IEEE 754 says, subnormal numbers included.
 * Which NaN comes out of an operation is not defined: any NaN is like any other.
 *
 *   BURN_FMA(a, b, c)       a * b + c in f32, rounded once
 *   BURN_FMA_F64(a, b, c)   the same in f64
 *   BURN_BOUND(number)      an f32 that bounds x by a select, x < bound ? bound : x, which is then one instruction
 *   BURN_SHARE(a, b)        a / b in f32 where a is 0 .. 1 and b is 1 .. 2: a GPU divides them without looking at sizes
 *   BURN_FAST_EXP(x)        nothing, or `return` of e^x to fewer digits: where GPUs make halves of results
 *
 * Where the instruction set has no fused multiply-add, both are computed from several operations: a dozen times slower,
 * same bits (in f64 where products are 0 or of sizes from 2^-960 to 2^960; what is not finite is what it would be
 * without fusing). */
#ifndef BURN_COMMON_ARITHMETIC_H
#define BURN_COMMON_ARITHMETIC_H

#include <math.h>
#include <stdint.h>

#define BURN_SHARE(a, b) ((a) / (b))

typedef union BurnBits32 {
  float value;
  uint32_t bits;
} BurnBits32;
typedef union BurnBits64 {
  double value;
  uint64_t bits;
} BurnBits64;

static inline uint32_t burn_bits_f32(float x) {
  BurnBits32 u;
  u.value = x;
  return u.bits;
}
static inline float burn_from_bits_f32(uint32_t bits) {
  BurnBits32 u;
  u.bits = bits;
  return u.value;
}
static inline uint64_t burn_bits_f64(double x) {
  BurnBits64 u;
  u.value = x;
  return u.bits;
}
static inline double burn_from_bits_f64(uint64_t bits) {
  BurnBits64 u;
  u.bits = bits;
  return u.value;
}

/* GCC makes one instruction of a maximum or minimum only where it does not know that the bound is a constant. */
#if defined(__GNUC__) && !defined(__clang__) && (defined(__x86_64__) || defined(__i386__))
#define BURN_BOUND(number)                                           \
  __extension__({                                                    \
    static BurnBits32 burn_bound __attribute__((used)) = {(number)}; \
    burn_from_bits_f32(burn_bound.bits);                             \
  })
#else
#define BURN_BOUND(number) (number)
#endif

#define BURN_FAST_EXP(x)

/* x + y rounded to odd: what is lost leaves its trace in the last bit, so that a second rounding, to at least two bits
 * fewer, gives what a single one would have (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
 */
static inline double burn_add_to_odd(double x, double y) {
  const double sum = x + y, y_part = sum - x, lost = (x - (sum - y_part)) + (y - y_part);
  const uint64_t bits = burn_bits_f64(sum), inexact = (uint64_t)(lost < 0.0) | (uint64_t)(lost > 0.0);
  const uint64_t outwards = (uint64_t)((lost > 0.0) == (sum > 0.0));
  const uint64_t odd = outwards ? bits + 1u : bits - 1u;
  return burn_from_bits_f64((inexact & ~bits & 1u) != 0 ? odd : bits);
}

/* The product of two f32 is exact in f64. */
static inline float burn_emulated_fma_f32(float a, float b, float c) {
  return (float)burn_add_to_odd((double)a * (double)b, (double)c);
}

/* x in two parts of 26 bits (Veltkamp). */
static inline double burn_upper_half(double x) {
  const double scaled = x * 134217729.0; /* 2^27 + 1 */
  return scaled - (scaled - x);
}

/* product + error is a * b (Dekker); then the sum of three numbers, rounded once. */
static inline double burn_emulated_fma_f64(double a, double b, double c) {
  const double product = a * b, a_high = burn_upper_half(a), b_high = burn_upper_half(b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  const double low = c + error, low_part = low - c, low_lost = (c - (low - low_part)) + (error - low_part);
  const double high = product + low, high_part = high - product;
  const double high_lost = (product - (high - high_part)) + (low - high_part);
  const double result = high + burn_add_to_odd(low_lost, high_lost);
  return result - result == 0.0 ? result : product + c;
}

#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
#define BURN_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define BURN_FMA_F64(a, b, c) __builtin_fma(a, b, c)
#else
#define BURN_FMA(a, b, c) burn_emulated_fma_f32(a, b, c)
#define BURN_FMA_F64(a, b, c) burn_emulated_fma_f64(a, b, c)
#endif

#endif
