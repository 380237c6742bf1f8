/* ndarray_gemm_avx2.c - the tiles of a matrix product for x86-64-v3: 16 registers of 32 bytes, fused multiply-add. */
#include "ndarray_gemm.h"

#include <string.h>

#define GEMM_TABLE nd_gemm_avx2
#define ND_VECTOR_BYTES 32
#define GEMM_ROWS 6
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#define GEMM_DOT_ROWS 2
#define GEMM_STREAM_TERMS 4

#include "support/ndarray_transpose.h"

/* Lanes below `count`. */
static inline __m256i mask_f64(int64_t count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

#define GEMM_PART_HOOKS
static inline __m256 load_part_f32(const float *from, int64_t count) {
  return _mm256_maskload_ps(from, mask_f32(count));
}
static inline __m256d load_part_f64(const double *from, int64_t count) {
  return _mm256_maskload_pd(from, mask_f64(count));
}
static inline void store_part_f32(float *to, __m256 x, int64_t count) { _mm256_maskstore_ps(to, mask_f32(count), x); }
static inline void store_part_f64(double *to, __m256d x, int64_t count) { _mm256_maskstore_pd(to, mask_f64(count), x); }

#define GEMM_SUM_HOOKS
static inline float sum_lanes_f32(__m256 x) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
static inline double sum_lanes_f64(__m256d x) {
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#include "ndarray_gemm_isa.inc"
