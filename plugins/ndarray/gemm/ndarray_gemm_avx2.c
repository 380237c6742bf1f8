/* ndarray_gemm_avx2.c - the tiles of a matrix product for x86-64-v3: 16 registers of 32 bytes, fused multiply-add. */
#include "ndarray_gemm.h"

#include <immintrin.h>
#include <string.h>

#define GEMM_TABLE nd_gemm_avx2
#define ND_VECTOR_BYTES 32
#define GEMM_ROWS 6
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#define GEMM_DOT_ROWS 2
#define GEMM_STREAM_TERMS 4

/* Lanes below `count`. */
static inline __m256i mask_f32(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count > 8 ? 8 : (int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
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

#define GEMM_TRANSPOSE_HOOKS
/* Four vectors as 4 x 4 blocks of single lanes, transposed within each 128 bits. */
static inline void transpose_quads(__m256 x[4]) {
  const __m256 a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]);
  const __m256 c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
  x[0] = _mm256_shuffle_ps(a, c, 0x44);
  x[1] = _mm256_shuffle_ps(a, c, 0xee);
  x[2] = _mm256_shuffle_ps(b, d, 0x44);
  x[3] = _mm256_shuffle_ps(b, d, 0xee);
}

/* See ndarray_gemm_type.inc. */
static inline void transpose_f32(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
                                 int64_t to_step, int64_t width) {
  const __m256i mask = mask_f32(columns), stored = mask_f32(width);
  __m256 x[8];
  for (int r = 0; r < 8; r++) {
    x[r] = _mm256_setzero_ps();
    if (r < rows) x[r] = _mm256_maskload_ps(from + r * from_row, mask);
  }
  transpose_quads(x);
  transpose_quads(x + 4);
  for (int c = 0; c < 4; c++) {
    if (c < columns) _mm256_maskstore_ps(to + c * to_step, stored, _mm256_permute2f128_ps(x[c], x[4 + c], 0x20));
    if (4 + c < columns)
      _mm256_maskstore_ps(to + (4 + c) * to_step, stored, _mm256_permute2f128_ps(x[c], x[4 + c], 0x31));
  }
}

#include "ndarray_gemm_isa.inc"
