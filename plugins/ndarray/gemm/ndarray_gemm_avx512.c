/* ndarray_gemm_avx512.c - the tiles of a matrix product for x86-64-v4: 32 registers of 64 bytes. */
#include "ndarray_gemm.h"

#include <string.h>

#define GEMM_TABLE nd_gemm_avx512
#define ND_VECTOR_BYTES 64
#define GEMM_ROWS 14
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
#define GEMM_DOT_ROWS 4
#define GEMM_STREAM_TERMS 8
#define GEMM_CHEAP_PARTS true /* masks cost nothing: no second form for whole vectors */

#include "support/ndarray_transpose.h"

#define GEMM_PART_HOOKS
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

#define GEMM_SUM_HOOKS
#include "support/ndarray_lane_sums.h"

#include "ndarray_gemm_isa.inc"
