/* ndarray_int8_avx2.c - i8 products with AVX2: both sides widened to i16, of which vpmaddwd adds two products in i32,
 * exactly. (vpmaddubsw would take i8, but its sums saturate at i16.) */
#include "ndarray_int8.h"

#include <immintrin.h>
#include <string.h>

#define LANES 8
#define VECTORS 2
#define UNIT 2
#define IS_SHIFTED false
typedef int16_t Number;
typedef __m256i Sums;
typedef __m256 Floats;
#define SUMS_OF(i) _mm256_set1_epi32(i)
#define LOAD_B(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define DOT(sums, b, a) _mm256_add_epi32(sums, _mm256_madd_epi16(b, a))
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

/* Of two rows, number by number by turns. */
ND_INLINE void load_rows(const int8_t *b, int64_t step, int64_t terms, __m256i x[VECTORS]) {
  const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)b);
  const __m128i second = terms > 1 ? _mm_loadu_si128((const __m128i *)(const void *)(b + step)) : _mm_setzero_si128();
  x[0] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second));
  x[1] = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second));
}
#define LOAD_ROWS(b, step, terms, x) load_rows(b, step, terms, x)

#include "ndarray_int8_isa.inc"

/* Two rows, number by number by turns. */
static void pack(const int8_t *b, int64_t step, int64_t terms, uint8_t *to) {
  for (int64_t p = 0; p < nd_round_up(terms, ND_INT8_UNIT); p += 2, b += 2 * step) {
    for (int j = 0; j < ND_INT8_COLUMNS; j += 16, to += 32) {
      const __m128i zero = _mm_setzero_si128();
      const __m128i x = p < terms ? _mm_loadu_si128((const __m128i *)(const void *)(b + j)) : zero;
      const __m128i y = p + 1 < terms ? _mm_loadu_si128((const __m128i *)(const void *)(b + step + j)) : zero;
      _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi8(x, y));
      _mm_storeu_si128((__m128i *)(void *)(to + 16), _mm_unpackhi_epi8(x, y));
    }
  }
}

static void widen(const int8_t *a, int64_t count, int16_t *to) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + i));
    _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_cvtepi8_epi16(x));
  }
  for (; i < count; i++) to[i] = a[i];
  for (; i % ND_INT8_UNIT != 0; i++) to[i] = 0;
}

const NdInt8Loops nd_int8_avx2 = {
    .name = "avx2", .widens = true, .pack = pack, .tile = tile, .direct = direct_row, .direct_rows = 1, .widen = widen};
