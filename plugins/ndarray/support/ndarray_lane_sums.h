/* ndarray_lane_sums.h - the sum of a vector's lanes in registers, for files that are compiled for one of x86's wider
 * instruction sets: included after ND_VECTOR_BYTES. Each lane of the first half is added to its partner in the second,
 * then each of the first quarter, and so on; others have loops with that order. */
#ifndef BURN_NDARRAY_LANE_SUMS_H
#define BURN_NDARRAY_LANE_SUMS_H

#include <immintrin.h>

/* Down to what fits into 16 bytes. */
#if ND_VECTOR_BYTES == 64
#define ND_WIDE_F32 __m512
#define ND_WIDE_F64 __m512d
static inline __m128 narrow_sums_f32(__m512 x) {
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}
static inline __m128d narrow_sums_f64(__m512d x) {
  const __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
  return _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
}
#else
#define ND_WIDE_F32 __m256
#define ND_WIDE_F64 __m256d
static inline __m128 narrow_sums_f32(__m256 x) {
  return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}
static inline __m128d narrow_sums_f64(__m256d x) {
  return _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
}
#endif

static inline float sum_lanes_f32(ND_WIDE_F32 x) {
  const __m128 four = narrow_sums_f32(x), two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
static inline double sum_lanes_f64(ND_WIDE_F64 x) {
  const __m128d two = narrow_sums_f64(x);
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* Those of four vectors, to to[0], to[1] .. */
static inline void sum_four_f32(ND_WIDE_F32 x, ND_WIDE_F32 y, ND_WIDE_F32 z, ND_WIDE_F32 w, float *to) {
  const __m128 a = narrow_sums_f32(x), b = narrow_sums_f32(y), c = narrow_sums_f32(z), d = narrow_sums_f32(w);
  const __m128 left = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
  const __m128 right = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
  _mm_storeu_ps(to, _mm_add_ps(_mm_shuffle_ps(left, right, 0x88), _mm_shuffle_ps(left, right, 0xdd)));
}
static inline void sum_four_f64(ND_WIDE_F64 x, ND_WIDE_F64 y, ND_WIDE_F64 z, ND_WIDE_F64 w, double *to) {
  const __m128d a = narrow_sums_f64(x), b = narrow_sums_f64(y), c = narrow_sums_f64(z), d = narrow_sums_f64(w);
  _mm_storeu_pd(to, _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b)));
  _mm_storeu_pd(to + 2, _mm_add_pd(_mm_unpacklo_pd(c, d), _mm_unpackhi_pd(c, d)));
}

#endif
