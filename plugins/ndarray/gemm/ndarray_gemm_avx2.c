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
static inline void store_part_f32(float *to, __m256 x, int64_t count) { store_first_f32(to, x, count); }
static inline void store_part_f64(double *to, __m256d x, int64_t count) {
  if (count >= 4) {
    _mm256_storeu_pd(to, x);
    return;
  }
  if ((count & 2) != 0) _mm_storeu_pd(to, _mm256_castpd256_pd128(x));
  if ((count & 1) != 0)
    _mm_store_sd(to + (count & 2), (count & 2) != 0 ? _mm256_extractf128_pd(x, 1) : _mm256_castpd256_pd128(x));
}

#define GEMM_SUM_HOOKS
#include "support/ndarray_lane_sums.h"

#include "ndarray_gemm_isa.inc"
