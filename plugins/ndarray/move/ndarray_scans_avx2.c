/* ndarray_scans_avx2.c - the loops of scans for AVX2 (x86-64-v3). */
#define ND_SCANS nd_scans_avx2
#define ND_SCANS_SMALL 0
#include "ndarray_scans_isa.inc"

#include <immintrin.h>

/* Four rows of four elements, as columns, or back. */
static inline void turn(__m128 *x) { _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]); }

enum { LINE = 16 }; /* elements of a row that are made before they are written */

/* LINE elements of each row, of which the sums so far are carried on. */
static inline __m256d sum_lines(const float *from, int64_t step, __m256d sums, float (*made)[LINE]) {
  ND_UNROLL for (int k = 0; k < LINE; k += 4) {
    __m128 x[4];
    ND_UNROLL for (int r = 0; r < 4; r++) x[r] = _mm_loadu_ps(from + r * step + k);
    turn(x);
    ND_UNROLL for (int c = 0; c < 4; c++) {
      sums = _mm256_add_pd(sums, _mm256_cvtps_pd(x[c]));
      x[c] = _mm256_cvtpd_ps(sums);
    }
    turn(x);
    ND_UNROLL for (int r = 0; r < 4; r++) _mm_store_ps(made[r] + k, x[r]);
  }
  return sums;
}

static inline void write_line(float *to, const float *made, bool streams) {
  const __m256 low = _mm256_load_ps(made), high = _mm256_load_ps(made + 8);
  if (streams) {
    _mm256_stream_ps(to, low);
    _mm256_stream_ps(to + 8, high);
  } else {
    _mm256_storeu_ps(to, low);
    _mm256_storeu_ps(to + 8, high);
  }
}

void nd_sum_rows_avx2(const float *from, float *to, int64_t count, bool streams) {
  const bool past_caches = streams && ((uintptr_t)to | (uintptr_t)(count * (int64_t)sizeof *to)) % 32 == 0;
  __m256d sums = _mm256_setzero_pd();
  _Alignas(64) float made[4][LINE];
  _Alignas(32) double carry[4];
  int64_t i = 0;
  for (; i + LINE <= count; i += LINE) {
    for (int r = 4; r < 8; r++) _mm_prefetch((const char *)(from + r * count + i), _MM_HINT_T0); /* for the next call */
    sums = sum_lines(from + i, count, sums, made);
    for (int r = 0; r < 4; r++) write_line(to + r * count + i, made[r], past_caches);
  }
  _mm256_store_pd(carry, sums);
  for (; i < count; i++) {
    for (int r = 0; r < 4; r++) {
      carry[r] += (double)from[r * count + i];
      to[r * count + i] = (float)carry[r];
    }
  }
}
