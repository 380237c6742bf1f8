/* ndarray_int8_avx512vnni.c - i8 products with AVX-512 VNNI: vpdpbusd adds four products of u8 and i8 in i32. Few rows
 * read B where it lies. */
#include "ndarray_int8.h"

#include <immintrin.h>
#include <string.h>

#define LANES 16
#define VECTORS 4
#define UNIT 4
#define IS_SHIFTED true
typedef int8_t Number;
typedef __m512i Sums;
typedef __m512 Floats;
#define SUMS_OF(i) _mm512_set1_epi32(i)
#define LOAD_B(p) _mm512_loadu_si512(p)
#define DOT(sums, b, a) _mm512_dpbusd_epi32(sums, b, a)
#define TO_FLOATS(sums) _mm512_cvtepi32_ps(sums)
#define FLOATS_OF(x) _mm512_set1_ps(x)
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, x) _mm512_storeu_ps(p, x)
#define STORE_FIRST(p, x, count) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (count)) - 1), x)
#define ADD(x, y) _mm512_add_ps(x, y)
#define MUL(x, y) _mm512_mul_ps(x, y)

#include "ndarray_int8_isa.inc"

/* Numbers of four rows by columns: x[i] holds columns 4 i .. 4 i + 3 of each of the four 16 columns. */
ND_INLINE void turn_unit(__m512i x[4]) {
  const __m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
  const __m512i low2 = _mm512_unpacklo_epi8(x[2], x[3]), high2 = _mm512_unpackhi_epi8(x[2], x[3]);
  x[0] = _mm512_unpacklo_epi16(low, low2);
  x[1] = _mm512_unpackhi_epi16(low, low2);
  x[2] = _mm512_unpacklo_epi16(high, high2);
  x[3] = _mm512_unpackhi_epi16(high, high2);
}

/* And then in the order of columns: a 4 x 4 of quarters, transposed. */
ND_INLINE void turn_quarters(__m512i x[4]) {
  const __m512i a = _mm512_shuffle_i32x4(x[0], x[1], 0x44), b = _mm512_shuffle_i32x4(x[0], x[1], 0xee);
  const __m512i c = _mm512_shuffle_i32x4(x[2], x[3], 0x44), d = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
  x[0] = _mm512_shuffle_i32x4(a, c, 0x88);
  x[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
  x[2] = _mm512_shuffle_i32x4(b, d, 0x88);
  x[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

/* Up to four rows plus 128; 0 where there is none. */
ND_INLINE void load_rows(const int8_t *b, int64_t step, int64_t terms, __m512i x[4]) {
  ND_UNROLL for (int p = 0; p < UNIT; p++) {
    x[p] = _mm512_setzero_si512();
    if (p < terms) x[p] = _mm512_xor_si512(_mm512_loadu_si512(b + p * step), _mm512_set1_epi8((char)-128));
  }
  turn_unit(x);
}

static void pack(const int8_t *b, int64_t step, int64_t terms, uint8_t *to) {
  __m512i x[4];
  for (int64_t p = 0; p < terms; p += UNIT, b += UNIT * step, to += UNIT_BYTES) {
    if (terms - p >= UNIT)
      load_rows(b, step, UNIT, x);
    else
      load_rows(b, step, terms - p, x);
    turn_quarters(x);
    ND_UNROLL for (int v = 0; v < VECTORS; v++) _mm512_storeu_si512(to + 64 * v, x[v]);
  }
}

/* -- B where it lies -------------------------------------------------------------------------- */

enum {
  AHEAD = 24,
  WIDE_AHEAD = 16
}; /* rows of B that are fetched ahead: they are too far apart for the processor to foresee */

ND_INLINE void direct_segment(const int rows, const int8_t *a, int64_t a_row, const int8_t *b, int64_t step,
                              int64_t terms, Sums sums[ND_INT8_ROWS][VECTORS]) {
  int8_t rest[ND_INT8_ROWS][UNIT];
  Sums x[VECTORS];
  int64_t p = 0;
  for (; p + UNIT <= terms; p += UNIT, b += UNIT * step) {
    ND_UNROLL for (int i = 0; i < UNIT; i++) ND_PREFETCH(b + (AHEAD + i) * step);
    load_rows(b, step, UNIT, x);
    add_unit(rows, a + p, a_row, x, sums);
  }
  if (p == terms) return;
  copy_rest(rows, a + p, a_row, terms - p, rest);
  load_rows(b, step, terms - p, x);
  add_unit(rows, rest[0], UNIT, x, sums);
}

ND_INLINE void direct_of(const int rows, const NdInt8Tile *t) {
  float parts[ND_INT8_ROWS][PASS];
  clear_parts(rows, parts);
  for (int64_t s = 0; s < t->segments; s++) {
    Sums sums[ND_INT8_ROWS][VECTORS];
    clear_sums(rows, t, s, sums);
    direct_segment(rows, (const int8_t *)t->a + s * t->a_segment, t->a_row,
                   (const int8_t *)t->b + s * t->segment * t->b_segment, t->b_segment,
                   nd_min(t->segment, t->terms - s * t->segment), sums);
    ND_UNROLL for (int r = 0; r < rows; r++) turn_quarters(sums[r]);
    finish_segment(rows, t, s, 0, sums, parts);
  }
}

/* One row of A by neighbouring panels, whose lines of B follow each other: those of one panel alone would push each
 * other out of the first cache where rows of B are a power of two apart. */
ND_INLINE void wide_segment(const int8_t *a, const int8_t *b, int64_t step, int64_t terms,
                            Sums sums[ND_INT8_WIDE][VECTORS]) {
  int8_t rest[ND_INT8_ROWS][UNIT];
  Sums x[VECTORS];
  int64_t p = 0;
  for (; p + UNIT <= terms; p += UNIT, b += UNIT * step) {
    ND_UNROLL for (int w = 0; w < ND_INT8_WIDE; w++) {
      const int8_t *from = b + w * ND_INT8_COLUMNS;
      ND_UNROLL for (int i = 0; i < UNIT; i++) ND_PREFETCH(from + (WIDE_AHEAD + i) * step);
      load_rows(from, step, UNIT, x);
      add_unit(1, a + p, 0, x, &sums[w]);
    }
  }
  if (p == terms) return;
  copy_rest(1, a + p, 0, terms - p, rest);
  ND_UNROLL for (int w = 0; w < ND_INT8_WIDE; w++) {
    load_rows(b + w * ND_INT8_COLUMNS, step, terms - p, x);
    add_unit(1, rest[0], UNIT, x, &sums[w]);
  }
}

static void wide(const NdInt8Tile *t) {
  float parts[ND_INT8_WIDE][PASS];
  ND_UNROLL for (int w = 0; w < ND_INT8_WIDE; w++) clear_parts(1, &parts[w]);
  for (int64_t s = 0; s < t->segments; s++) {
    Sums sums[ND_INT8_WIDE][VECTORS];
    ND_UNROLL for (int w = 0; w < ND_INT8_WIDE; w++) clear_sums(1, t, s, &sums[w]);
    wide_segment((const int8_t *)t->a + s * t->a_segment, (const int8_t *)t->b + s * t->segment * t->b_segment,
                 t->b_segment, nd_min(t->segment, t->terms - s * t->segment), sums);
    ND_UNROLL for (int w = 0; w < ND_INT8_WIDE; w++) {
      turn_quarters(sums[w]);
      finish_segment(1, t, s, w * ND_INT8_COLUMNS, &sums[w], &parts[w]);
    }
  }
}

static void direct(const NdInt8Tile *t) {
  if (t->columns > ND_INT8_COLUMNS) {
    wide(t);
    return;
  }
  BY_ROWS(direct_of, t)
}

static int32_t sum(const int8_t *a, int64_t count) {
  __m512i sums = _mm512_setzero_si512();
  for (int64_t i = 0; i < count; i += 64) {
    const __mmask64 mask = count - i >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (count - i)) - 1;
    sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), _mm512_maskz_loadu_epi8(mask, a + i));
  }
  return _mm512_reduce_add_epi32(sums);
}

const NdInt8Loops nd_int8_avx512vnni = {.name = "avx512-vnni",
                                        .is_shifted = true,
                                        .pack = pack,
                                        .tile = tile,
                                        .direct = direct,
                                        .direct_rows = ND_INT8_ROWS,
                                        .sum = sum};
