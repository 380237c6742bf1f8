/* ndarray_transpose.h - blocks of f32 transposed in registers, for files that are compiled for one of x86's wider
 * instruction sets: included after ND_VECTOR_BYTES. In others ND_TRANSPOSES_F32 is not defined; they have loops. */
#ifndef BURN_NDARRAY_TRANSPOSE_H
#define BURN_NDARRAY_TRANSPOSE_H

#include <stdint.h>

#if ND_VECTOR_BYTES > 16
#include <immintrin.h>

#define ND_TRANSPOSES_F32
#endif

#if ND_VECTOR_BYTES == 32
/* Lanes below `count`. */
static inline __m256i mask_f32(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count > 8 ? 8 : (int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The first `count` lanes. AMD's processors take a masked store apart: it takes them twelve cycles. */
static inline void store_first_f32(float *to, __m256 x, int64_t count) {
  __m128 left = _mm256_castps256_ps128(x);
  if (count >= 8) {
    _mm256_storeu_ps(to, x);
    return;
  }
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, left);
    left = _mm256_extractf128_ps(x, 1);
    to += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi((__m64 *)to, left);
    left = _mm_movehl_ps(left, left);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(to, left);
}

/* Four vectors as 4 x 4 blocks of single lanes, transposed within each 128 bits. */
static inline void transpose_quads(__m256 x[4]) {
  const __m256 a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]);
  const __m256 c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
  x[0] = _mm256_shuffle_ps(a, c, 0x44);
  x[1] = _mm256_shuffle_ps(a, c, 0xee);
  x[2] = _mm256_shuffle_ps(b, d, 0x44);
  x[3] = _mm256_shuffle_ps(b, d, 0xee);
}

/* to[c * to_step + r] = from[r * from_row + c] for r below rows and 0 for the lanes from there to `width`, c below
 * columns; all at most a vector's lanes. Nothing else is read or written. */
static inline void transpose_f32(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
                                 int64_t to_step, int64_t width) {
  const __m256i mask = mask_f32(columns);
  __m256 x[8];
  for (int r = 0; r < 8; r++) {
    x[r] = _mm256_setzero_ps();
    if (r < rows) x[r] = _mm256_maskload_ps(from + r * from_row, mask);
  }
  transpose_quads(x);
  transpose_quads(x + 4);
  for (int c = 0; c < 4; c++) {
    if (c < columns) store_first_f32(to + c * to_step, _mm256_permute2f128_ps(x[c], x[4 + c], 0x20), width);
    if (4 + c < columns) store_first_f32(to + (4 + c) * to_step, _mm256_permute2f128_ps(x[c], x[4 + c], 0x31), width);
  }
}
#elif ND_VECTOR_BYTES == 64
/* Lanes below `count`. */
static inline __mmask16 mask_f32(int64_t count) { return (__mmask16)(count >= 16 ? 0xffffu : (1u << count) - 1u); }

/* Four vectors as 4 x 4 blocks of single lanes, transposed within each 128 bits. */
static inline void transpose_quads(__m512 x[4]) {
  const __m512 a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
  const __m512 c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
  x[0] = _mm512_shuffle_ps(a, c, 0x44);
  x[1] = _mm512_shuffle_ps(a, c, 0xee);
  x[2] = _mm512_shuffle_ps(b, d, 0x44);
  x[3] = _mm512_shuffle_ps(b, d, 0xee);
}

/* to[c * to_step + r] = from[r * from_row + c] for r below rows and 0 for the lanes from there to `width`, c below
 * columns; all at most a vector's lanes. Nothing else is read or written. */
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
#endif

#endif
