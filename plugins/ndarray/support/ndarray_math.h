/* ndarray_math.h - elementary functions in f32 without branches, so that a loop over them becomes vector code.
 *
 * Each is a few selects around a polynomial; both sides of a select are always computed. Errors are in units of the
 * last place against exact values, over all finite inputs (with FMA; a little more without). NaN, infinities, zeros and
 * subnormal numbers behave as in <math.h>. Compile with -fno-math-errno -fno-trapping-math, which allow the selects to
 * become masks; never with -ffast-math, which would simplify the range reductions away. Polynomials of exp, log and
 * tanh follow Cephes, erf follows N. Juffa. */
#ifndef BURN_NDARRAY_MATH_H
#define BURN_NDARRAY_MATH_H

#include <math.h>
#include <stdint.h>

typedef union NdBits32 {
  float value;
  uint32_t bits;
} NdBits32;
typedef union NdBits64 {
  double value;
  uint64_t bits;
} NdBits64;

static inline uint32_t nd_bits_f32(float x) {
  NdBits32 u;
  u.value = x;
  return u.bits;
}
static inline float nd_from_bits_f32(uint32_t bits) {
  NdBits32 u;
  u.bits = bits;
  return u.value;
}
static inline uint64_t nd_bits_f64(double x) {
  NdBits64 u;
  u.value = x;
  return u.bits;
}
static inline double nd_from_bits_f64(uint64_t bits) {
  NdBits64 u;
  u.bits = bits;
  return u.value;
}
static inline float nd_abs_f32(float x) { return nd_from_bits_f32(nd_bits_f32(x) & 0x7fffffffu); }
/* The size of `size` with the sign of `sign`. */
static inline float nd_copysign_f32(float size, float sign) {
  return nd_from_bits_f32((nd_bits_f32(size) & 0x7fffffffu) | (nd_bits_f32(sign) & 0x80000000u));
}

#define ND_ROUND_F32 12582912.0f /* 1.5 * 2^23: x + this - this rounds |x| < 2^22; its low bits hold the integer */
#define ND_ROUND_F64 6755399441055744.0 /* 1.5 * 2^52, the same in f64 */

/* 2^n for n in -126 .. 127, from a number whose low bits are n. */
static inline float nd_exp2_int_f32(int32_t n) { return nd_from_bits_f32((uint32_t)(n + 127) << 23); }

/* e^r for |r| <= ln 2 / 2, by a polynomial. */
static inline float nd_exp_reduced_f32(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r + 1.0f;
}

/* e^x; 1 ulp. */
static inline float nd_exp_f32(float x) {
  float c = x < -104.0f ? -104.0f : x; /* NaN passes */
  c = c > 89.0f ? 89.0f : c;
  const float t = c * 1.44269504088896341f + ND_ROUND_F32;
  const int32_t n = (int32_t)(nd_bits_f32(t) - nd_bits_f32(ND_ROUND_F32));
  const float k = t - ND_ROUND_F32;
  const float p = nd_exp_reduced_f32((c - k * 0.693359375f) - k * -2.12194440e-4f);
  const int32_t half = n >> 1; /* in two steps: reaches infinity and the subnormal numbers */
  return p * nd_exp2_int_f32(half) * nd_exp2_int_f32(n - half);
}

/* e^x for |x| <= 80 or NaN; 1 ulp. */
static inline float nd_exp_bounded_f32(float x) {
  const float t = x * 1.44269504088896341f + ND_ROUND_F32;
  const float k = t - ND_ROUND_F32;
  const float p = nd_exp_reduced_f32((x - k * 0.693359375f) - k * -2.12194440e-4f);
  return p * nd_from_bits_f32((nd_bits_f32(t) + 127u) << 23); /* the low bits of t are the exponent */
}

/* Natural logarithm; 1 ulp. */
static inline float nd_log_f32(float x) {
  const int tiny = x < 1.17549435e-38f;
  const uint32_t bits = nd_bits_f32(tiny ? x * 8388608.0f : x);
  const uint32_t from_root = bits - 0x3f3504f3u; /* mantissa to [sqrt 1/2, sqrt 2) */
  const float e = (float)((int32_t)from_root >> 23) - (tiny ? 23.0f : 0.0f);
  const float f = nd_from_bits_f32(bits - (from_root & 0xff800000u)) - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  float y = p * f * z;
  y = y + e * -2.12194440e-4f;
  y = y - 0.5f * z;
  float result = (f + y) + e * 0.693359375f;
  result = x == 0.0f ? -INFINITY : result;
  result = x < INFINITY ? result : x; /* infinity and NaN stay */
  return x < 0.0f ? NAN : result;
}

/* log(1 + x); 2 ulp. */
static inline float nd_log1p_f32(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f); /* by the rounding of u */
  const float result = nd_log_f32(u) + lost / u;
  return u > 0.0f && u < INFINITY ? result : nd_log_f32(u);
}

/* Hyperbolic tangent; 2 ulp. */
static inline float nd_tanh_f32(float x) {
  const float size = nd_abs_f32(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near_zero = p * z * x + x;
  const float bounded = size > 10.0f ? 10.0f : size; /* 1 from 9.02 on */
  const float far = nd_copysign_f32(1.0f - 2.0f / (nd_exp_bounded_f32(2.0f * bounded) + 1.0f), x);
  return size > 0.625f ? far : near_zero; /* NaN takes near_zero, which is NaN */
}

/* 1 / (1 + e^-x), or e^x / (1 + e^x) for negative x, so that nothing overflows; 2.1 ulp. */
static inline float nd_sigmoid_f32(float x) {
  const float power = nd_exp_f32(-nd_abs_f32(x));
  return (x < 0.0f ? power : 1.0f) / (1.0f + power);
}

/* Error function; 2 ulp. */
static inline float nd_erf_f32(float x) {
  const float size = nd_abs_f32(x), t = size > 4.0f ? 4.0f : size, s = t * t; /* 1 from 3.92 on */
  float p = -1.72853470e-5f * t + 3.83197126e-4f;
  const float q = -3.88396438e-3f * t + 2.42546219e-2f;
  p = p * s + q;
  p = p * t - 1.06777877e-1f;
  p = p * t - 6.34846687e-1f;
  p = p * t - 1.28717512e-1f;
  p = p * t - t;
  const float far = nd_copysign_f32(1.0f - nd_exp_bounded_f32(p), x);
  float r = -5.96761703e-4f;
  r = r * s + 4.99119423e-3f;
  r = r * s - 2.67681349e-2f;
  r = r * s + 1.12819925e-1f;
  r = r * s - 3.76125336e-1f;
  r = r * s + 1.28379166e-1f;
  const float near_zero = r * x + x;
  return size > 0.927734375f ? far : near_zero;
}

/* x * (1 + erf(x / sqrt 2)) / 2. */
static inline float nd_gelu_f32(float x) { return 0.5f * x * (1.0f + nd_erf_f32(x * 0.70710678118654752f)); }

/* Its derivative: (1 + erf(x / sqrt 2)) / 2 + x * e^(-x^2 / 2) / sqrt(2 pi). */
static inline float nd_gelu_derivative_f32(float x) {
  return 0.5f * (1.0f + nd_erf_f32(x * 0.70710678118654752f)) + x * 0.39894228040143268f * nd_exp_f32(-0.5f * x * x);
}

/* Larger arguments go through libm: see nd_sin_cos_f32. */
#define ND_TRIGONOMETRIC_LIMIT 1.0e9f

/* sin(x + quarters * pi / 2) for |x| <= ND_TRIGONOMETRIC_LIMIT, 2 ulp; the reduction runs in f64, where the products
 * with the first two parts of pi / 2 (22 bits each) are exact. */
static inline float nd_sin_cos_f32(float x, uint32_t quarters) {
  const double wide = (double)x;
  const double t = wide * 0.63661977236758134 + ND_ROUND_F64;
  const double n = t - ND_ROUND_F64;
  double reduced = wide - n * 1.570796012878418;
  reduced = reduced - n * 3.139164164167596e-07;
  reduced = reduced - n * 6.223372171896613e-14;
  const uint32_t quarter = (uint32_t)nd_bits_f64(t) + quarters;
  const float r = (float)reduced, z = r * r;
  const float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
  const float cosine =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
  const float size = (quarter & 1u) != 0 ? cosine : sine;
  return nd_from_bits_f32(nd_bits_f32(size) ^ ((quarter & 2u) << 30));
}

/* log2(x) for finite x > 0, in f64 to about 1e-14; good to feed powers. */
static inline double nd_log2_f64(double x) {
  const uint64_t bits = nd_bits_f64(x);
  const uint64_t from_root = bits - 0x3fe6a09e667f3bcdu; /* mantissa to [sqrt 1/2, sqrt 2) */
  /* The exponent as a double without a conversion from int64, which few processors have for vectors. */
  const double e = nd_from_bits_f64(((from_root >> 52) ^ 0x800u) + 0x4330000000000000u) - (4503599627370496.0 + 2048.0);
  const double m = nd_from_bits_f64(bits - (from_root & 0xfff0000000000000u));
  const double s = (m - 1.0) / (m + 1.0), z = s * s; /* |s| < 0.1716: 9 terms of the artanh series */
  double p = 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return e + p * s * 2.8853900817779268;
}

/* 2^t for |t| <= 200 or NaN, in f64 to about 1e-12. */
static inline double nd_exp2_f64(double t) {
  const double shifted = t + ND_ROUND_F64;
  const double r = (t - (shifted - ND_ROUND_F64)) * 0.69314718055994531;
  double p = 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return p * nd_from_bits_f64(((nd_bits_f64(shifted) + 1023u) & 0x7ffu) << 52);
}

/* x ^ y with all the special cases of C's powf; 1 ulp. */
static inline float nd_pow_f32(float x, float y) {
  const double size = (double)nd_abs_f32(x); /* never subnormal as f64 */
  double log2_size = nd_log2_f64(size);
  log2_size = size == 0.0 ? -(double)INFINITY : log2_size;
  log2_size = size < (double)INFINITY ? log2_size : size; /* infinity or NaN */
  double t = (double)y * log2_size;
  t = t < -200.0 ? -200.0 : t;
  t = t > 200.0 ? 200.0 : t;
  float result = (float)nd_exp2_f64(t);
  /* Whole exponents and odd ones; from 2^24 on all are even. Plain selects of floats: a compiler gives up on mixed
   * masks. */
  const float y_size = nd_abs_f32(y), y_small = y_size < 16777216.0f ? y_size : 0.0f, half = y_small * 0.5f;
  const float integer = y_small < 8388608.0f ? (y_small + 8388608.0f) - 8388608.0f : y_small;
  const float half_integer = (half + 8388608.0f) - 8388608.0f;
  const float sign = integer == y_small ? nd_copysign_f32(1.0f, x) : 1.0f;
  result = half_integer == half ? result : result * sign;
  float of_negative = x < 0.0f ? NAN : result;
  of_negative = x == -INFINITY ? result : of_negative;
  result = integer == y_small ? result : of_negative;
  const float to_infinity = nd_abs_f32(x) == 1.0f ? 1.0f : result;
  result = y_size == INFINITY ? to_infinity : result;
  result = x == 1.0f ? 1.0f : result;
  return y == 0.0f ? 1.0f : result;
}

#endif
