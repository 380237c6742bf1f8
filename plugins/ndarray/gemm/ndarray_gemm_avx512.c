/* ndarray_gemm_avx512.c - the tiles of a matrix product for x86-64-v4: 32 registers of 64 bytes. */
#include "ndarray_gemm.h"

#include <immintrin.h>
#include <string.h>

#define GEMM_TABLE nd_gemm_avx512
#define ND_VECTOR_BYTES 64
#define GEMM_ROWS 14
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
#define GEMM_DOT_ROWS 4
#define GEMM_STREAM_TERMS 8
#define GEMM_CHEAP_PARTS true /* masks cost nothing: no second form for whole vectors */

#define GEMM_PART_HOOKS
static inline __mmask16 mask_f32(int64_t count) { return (__mmask16)(count >= 16 ? 0xffffu : (1u << count) - 1u); }
static inline __mmask8 mask_f64(int64_t count) { return (__mmask8)(count >= 8 ? 0xffu : (1u << count) - 1u); }
static inline __m512 load_part_f32(const float *from, int64_t count) {
  return _mm512_maskz_loadu_ps(mask_f32(count), from);
}
static inline __m512d load_part_f64(const double *from, int64_t count) {
  return _mm512_maskz_loadu_pd(mask_f64(count), from);
}
static inline void store_part_f32(float *to, __m512 x, int64_t count) { _mm512_mask_storeu_ps(to, mask_f32(count), x); }
static inline void store_part_f64(double *to, __m512d x, int64_t count) {
  _mm512_mask_storeu_pd(to, mask_f64(count), x);
}

#define GEMM_TRANSPOSE_HOOKS
/* Four vectors as 4 x 4 blocks of single lanes, transposed within each 128 bits. */
static inline void transpose_quads(__m512 x[4]) {
  const __m512 a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
  const __m512 c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
  x[0] = _mm512_shuffle_ps(a, c, 0x44);
  x[1] = _mm512_shuffle_ps(a, c, 0xee);
  x[2] = _mm512_shuffle_ps(b, d, 0x44);
  x[3] = _mm512_shuffle_ps(b, d, 0xee);
}

/* See ndarray_gemm_type.inc. */
static inline void transpose_f32(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
                                 int64_t to_step, int64_t width) {
  const __mmask16 mask = mask_f32(columns), stored = mask_f32(width);
  __m512 x[16];
  for (int r = 0; r < 16; r++) {
    x[r] = _mm512_setzero_ps();
    if (r < rows) x[r] = _mm512_maskz_loadu_ps(mask, from + r * from_row);
  }
  for (int g = 0; g < 4; g++) transpose_quads(x + 4 * g);
  for (int c = 0; c < 4; c++) { /* x[4g + c]: columns c, 4 + c, 8 + c, 12 + c of rows 4g .. 4g + 3 */
    const __m512 low = _mm512_shuffle_f32x4(x[c], x[4 + c], 0x88), high = _mm512_shuffle_f32x4(x[c], x[4 + c], 0xdd);
    const __m512 low2 = _mm512_shuffle_f32x4(x[8 + c], x[12 + c], 0x88),
                 high2 = _mm512_shuffle_f32x4(x[8 + c], x[12 + c], 0xdd);
    x[c] = _mm512_shuffle_f32x4(low, low2, 0x88);
    x[4 + c] = _mm512_shuffle_f32x4(high, high2, 0x88);
    x[8 + c] = _mm512_shuffle_f32x4(low, low2, 0xdd);
    x[12 + c] = _mm512_shuffle_f32x4(high, high2, 0xdd);
  }
  for (int c = 0; c < 16; c++)
    if (c < columns) _mm512_mask_storeu_ps(to + c * to_step, stored, x[c]);
}

#include "ndarray_gemm_isa.inc"
