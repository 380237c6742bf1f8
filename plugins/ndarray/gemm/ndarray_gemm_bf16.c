/* ndarray_gemm_bf16.c - bf16 products with few rows: tile registers would hold little but zeros, and B would be copied
 * to be read once.
 *
 * Numbers are widened in registers and multiplied in f32: vdpbf16ps does a third of the products that FMA does in the
 * same time. A vector of 32 becomes those of even and of odd places. Sums are rounded once. */
#include "ndarray_gemm_amx.h"

#if defined(BURN_NDARRAY_AMX)
#include <immintrin.h>
#include <string.h>

#define BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define BF16_INLINE BF16 inline __attribute__((always_inline))

enum {
  LANES = 32,    /* numbers of a vector */
  TERMS = 8,     /* rows of B at a time */
  COLUMNS = 512, /* of C whose sums stay in the first-level cache */
  ROWS = 4,      /* of A times ... */
  ACROSS = 4,    /* ... columns of B that are summed together where both lie along k */
};

static BF16_INLINE __mmask32 mask_of(int64_t count) {
  return count >= LANES ? 0xffffffffu : (__mmask32)((1u << count) - 1u);
}

/* Rounded as the instruction rounds. */
static BF16 uint16_t round_one(float x) {
  uint16_t lanes[LANES / 2];
  _mm256_storeu_si256((__m256i *)lanes, (__m256i)_mm512_cvtneps_pbh(_mm512_set1_ps(x)));
  return lanes[0];
}

static float widen_one(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

/* The numbers of even places and of odd ones. */
static BF16_INLINE void widen(__m512i x, __m512 out[2]) {
  out[0] = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
  out[1] = _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000u)));
}

/* -- rows of B lie dense ---------------------------------------------------------------------- */

/* Eight terms of 32 columns, onto the sums of all rows; the rows of B of the next ones are fetched. `whole`: B has all
 * eight. */
static BF16_INLINE void add_terms(const bool whole, const NdGemm *g, const float *a, int64_t a_row, int64_t p,
                                  int64_t j, float *sums) {
  const uint16_t *b = (const uint16_t *)g->b + p * g->b_step + j;
  const __mmask32 mask = mask_of(g->n - j);
  __m512 right[TERMS][2];
  for (int q = 0; q < TERMS; q++, b += g->b_step) {
    _mm_prefetch((const char *)(b + TERMS * g->b_step), _MM_HINT_T0);
    widen(whole || p + q < g->k ? _mm512_maskz_loadu_epi16(mask, b) : _mm512_setzero_si512(), right[q]);
  }
  for (int64_t i = 0; i < g->m; i++, a += a_row, sums += COLUMNS) {
    __m512 even = _mm512_load_ps(sums), odd = _mm512_load_ps(sums + 16);
    for (int q = 0; q < TERMS; q++) {
      __m512 left = _mm512_set1_ps(a[q]);
      __asm__("" : "+v"(left)); /* used twice, loaded once */
      even = _mm512_fmadd_ps(left, right[q][0], even);
      odd = _mm512_fmadd_ps(left, right[q][1], odd);
    }
    _mm512_store_ps(sums, even);
    _mm512_store_ps(sums + 16, odd);
  }
}

/* 32 sums into C. */
static BF16_INLINE void finish(const NdGemm *g, int64_t i, int64_t j, const float *sums) {
  const __m512i together = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                            21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __mmask32 mask = mask_of(g->n - j);
  __m512 x[2] = {_mm512_load_ps(sums), _mm512_load_ps(sums + 16)}, add[2];
  if (g->add) {
    widen(_mm512_maskz_loadu_epi16(mask, (const uint16_t *)g->add + i * g->add_row + j), add);
    x[0] = _mm512_add_ps(x[0], add[0]);
    x[1] = _mm512_add_ps(x[1], add[1]);
  }
  const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(x[1], x[0]);
  _mm512_mask_storeu_epi16((uint16_t *)g->c + i * g->c_row + j, mask, _mm512_permutexvar_epi16(together, rounded));
}

/* Up to 512 columns: rows of B pass by once. */
static BF16 void stream_columns(const NdGemm *g, const float *a, int64_t a_row) {
  _Alignas(64) float sums[ND_GEMM_MAX_DOT_ROWS * COLUMNS];
  for (int64_t i = 0; i < g->m; i++) memset(sums + i * COLUMNS, 0, COLUMNS * sizeof *sums);
  for (int64_t p = 0; p < g->k; p += TERMS) {
    for (int64_t j = 0; j < g->n; j += LANES) {
      if (g->k - p >= TERMS)
        add_terms(true, g, a + p, a_row, p, j, sums + j);
      else
        add_terms(false, g, a + p, a_row, p, j, sums + j);
    }
  }
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j += LANES) finish(g, i, j, sums + i * COLUMNS + j);
}

void nd_bf16_stream(const NdGemm *g, void *scratch) {
  const int64_t a_row = nd_ceil_div(g->k, TERMS) * TERMS;
  float *a = (float *)scratch;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t p = 0; p < a_row; p++)
      a[i * a_row + p] = p < g->k ? widen_one(((const uint16_t *)g->a)[i * g->a_row + p * g->a_step]) : 0;
  NdGemm part = *g;
  for (int64_t j = 0; j < g->n; j += COLUMNS) {
    part.n = nd_min(COLUMNS, g->n - j);
    part.b = (const uint16_t *)g->b + j;
    part.c = (uint16_t *)g->c + j;
    part.add = g->add ? (const uint16_t *)g->add + j : NULL;
    stream_columns(&part, a, a_row);
  }
}

/* -- terms lie dense on both sides ------------------------------------------------------------ */

typedef struct Dots {
  int64_t k;
  const uint16_t *a[ROWS], *b[ACROSS];
  float out[ROWS][ACROSS];
} Dots;

static BF16_INLINE void dot_step(const int rows, const int columns, const Dots *d, int64_t p, __mmask32 mask,
                                 __m512 sum[][ACROSS]) {
  __m512 left[ROWS][2], right[2];
  for (int r = 0; r < rows; r++) widen(_mm512_maskz_loadu_epi16(mask, d->a[r] + p), left[r]);
  for (int s = 0; s < columns; s++) {
    widen(_mm512_maskz_loadu_epi16(mask, d->b[s] + p), right);
    for (int r = 0; r < rows; r++) sum[r][s] = _mm512_fmadd_ps(left[r][0], right[0], sum[r][s]);
    for (int r = 0; r < rows; r++) sum[r][s] = _mm512_fmadd_ps(left[r][1], right[1], sum[r][s]);
  }
}

static BF16_INLINE void dot_block(const int rows, const int columns, Dots *d) {
  __m512 sum[ROWS][ACROSS];
  int64_t p = 0;
  for (int r = 0; r < rows; r++)
    for (int s = 0; s < columns; s++) sum[r][s] = _mm512_setzero_ps();
  for (; p + LANES <= d->k; p += LANES) dot_step(rows, columns, d, p, 0xffffffffu, sum);
  if (p < d->k) dot_step(rows, columns, d, p, mask_of(d->k - p), sum);
  for (int r = 0; r < rows; r++)
    for (int s = 0; s < columns; s++) d->out[r][s] = _mm512_reduce_add_ps(sum[r][s]);
}

/* Rows and columns that a block lacks are the last one once more. */
static BF16 void dots_at(const NdGemm *g, int64_t i, int64_t j, Dots *d) {
  for (int64_t r = 0; r < ROWS; r++) d->a[r] = (const uint16_t *)g->a + nd_min(i + r, g->m - 1) * g->a_row;
  for (int64_t s = 0; s < ACROSS; s++) d->b[s] = (const uint16_t *)g->b + nd_min(j + s, g->n - 1) * g->b_column;
  if (g->m - i == 1 && g->n - j == 1)
    dot_block(1, 1, d);
  else if (g->m - i == 1)
    dot_block(1, ACROSS, d);
  else if (g->n - j == 1)
    dot_block(ROWS, 1, d);
  else
    dot_block(ROWS, ACROSS, d);
}

void nd_bf16_dots(const NdGemm *g) {
  Dots d = {.k = g->k};
  for (int64_t j = 0; j < g->n; j += ACROSS) {
    for (int64_t i = 0; i < g->m; i += ROWS) {
      dots_at(g, i, j, &d);
      for (int64_t r = i; r < nd_min(i + ROWS, g->m); r++) {
        for (int64_t s = j; s < nd_min(j + ACROSS, g->n); s++) {
          const float sum = d.out[r - i][s - j];
          const float added = g->add ? sum + widen_one(((const uint16_t *)g->add)[r * g->add_row + s]) : sum;
          ((uint16_t *)g->c)[r * g->c_row + s] = round_one(added);
        }
      }
    }
  }
}

#else
typedef int nd_bf16_is_not_built; /* ISO C wants something in every file */
#endif
