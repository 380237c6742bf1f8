/* ndarray_int8_avxvnni.c - i8 products with AVX-VNNI: vpdpbusd adds four products of u8 and i8 in i32. */
#include "ndarray_int8.h"

#include <immintrin.h>
#include <string.h>

#define LANES 8
#define VECTORS 2
#define UNIT 4
#define IS_SHIFTED true
typedef int8_t Number;
typedef __m256i Sums;
typedef __m256 Floats;
#define SUMS_OF(i) _mm256_set1_epi32(i)
#define LOAD_B(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define DOT(sums, b, a) _mm256_dpbusd_avx_epi32(sums, b, a)
#define TO_FLOATS(sums) _mm256_cvtepi32_ps(sums)
#define FLOATS_OF(x) _mm256_set1_ps(x)
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, x) _mm256_storeu_ps(p, x)
#define STORE_FIRST(p, x, count) store_first(p, x, count)
#define ADD(x, y) _mm256_add_ps(x, y)
#define MUL(x, y) _mm256_mul_ps(x, y)

static void store_first(float *to, __m256 x, int64_t count) {
  float lanes[8];
  _mm256_storeu_ps(lanes, x);
  memcpy(to, lanes, (size_t)count * sizeof *to);
}

/* Row p plus 128; 0 where there is none. */
ND_INLINE __m128i row_of(const int8_t *b, int64_t step, int64_t terms, int64_t p) {
  if (p >= terms) return _mm_setzero_si128();
  const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(b + p * step));
  return _mm_xor_si128(x, _mm_set1_epi8((char)-128));
}

/* Four rows, 16 columns: the four numbers of a column side by side. */
ND_INLINE void load_rows(const int8_t *b, int64_t step, int64_t terms, __m256i x[VECTORS]) {
  const __m128i x0 = row_of(b, step, terms, 0), x1 = row_of(b, step, terms, 1);
  const __m128i x2 = row_of(b, step, terms, 2), x3 = row_of(b, step, terms, 3);
  const __m128i low = _mm_unpacklo_epi8(x0, x1), high = _mm_unpackhi_epi8(x0, x1);
  const __m128i low2 = _mm_unpacklo_epi8(x2, x3), high2 = _mm_unpackhi_epi8(x2, x3);
  x[0] = _mm256_set_m128i(_mm_unpackhi_epi16(low, low2), _mm_unpacklo_epi16(low, low2));
  x[1] = _mm256_set_m128i(_mm_unpackhi_epi16(high, high2), _mm_unpacklo_epi16(high, high2));
}
#define LOAD_ROWS(b, step, terms, x) load_rows(b, step, terms, x)

#include "ndarray_int8_isa.inc"

static void pack(const int8_t *b, int64_t step, int64_t terms, uint8_t *to) {
  for (int64_t p = 0; p < terms; p += UNIT, b += UNIT * step) {
    for (int j = 0; j < ND_INT8_COLUMNS; j += PASS, to += UNIT * PASS) {
      __m256i x[VECTORS];
      load_rows(b + j, step, nd_min(terms - p, UNIT), x);
      ND_UNROLL for (int v = 0; v < VECTORS; v++) _mm256_storeu_si256((__m256i *)(void *)(to + 32 * v), x[v]);
    }
  }
}

static int32_t sum(const int8_t *a, int64_t count) {
  __m256i sums = _mm256_setzero_si256();
  int32_t lanes[8], total = 0;
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) sums = _mm256_dpbusd_avx_epi32(sums, _mm256_set1_epi8(1), LOAD_B(a + i));
  _mm256_storeu_si256((__m256i *)(void *)lanes, sums);
  for (int v = 0; v < 8; v++) total += lanes[v];
  for (; i < count; i++) total += a[i];
  return total;
}

const NdInt8Loops nd_int8_avxvnni = {.name = "avx-vnni",
                                     .is_shifted = true,
                                     .pack = pack,
                                     .tile = tile,
                                     .direct = direct_row,
                                     .direct_rows = 1,
                                     .sum = sum};
