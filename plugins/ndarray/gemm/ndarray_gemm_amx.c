/* ndarray_gemm_amx.c - bf16 products on AMX: 8 registers of 16 rows x 64 bytes, and an instruction that multiplies two
 * of them; and on vectors, by vdpbf16ps, where that is faster than f32.
 *
 * tdpbf16ps takes a tile of A (16 rows x 32 terms) and one of B (16 pairs of terms x 16 columns, the two of a pair side
 * by side) and adds 16 x 16 sums in f32. A block of C is 2 x 2 tiles, so every tile loaded is used twice. Both operands
 * are packed tile after tile, with zeros where the matrix ends: what lies beyond it may be a NaN, and 0 * NaN would not
 * vanish.
 *
 * A row of a packed tile of B is an operand of vdpbf16ps, too: the same panels serve vectors, which take rows of A pair
 * by pair.
 *
 * Both instructions take subnormal numbers as 0 and give none, whatever the mode of the thread. */
#define _GNU_SOURCE /* syscall */
#include "ndarray_gemm_amx.h"

#if defined(BURN_NDARRAY_AMX)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

enum {
  SIDE = ND_AMX_SIDE,       /* a block of C: 2 x 2 tiles of 16 x 16 */
  STEP = ND_AMX_STEP,       /* terms that one step along k takes */
  PANEL_STEP = SIDE * STEP, /* elements of a packed panel per step */
  TILE = 512,               /* elements of a tile */
  ROW_BYTES = 64,           /* of a tile */
  AHEAD = 3,                /* steps that tiles are fetched before they are loaded */
  ROWS_AT_ONCE = 11,        /* of vectors: 22 sums and their operands stay in registers */
};

/* True where there are tile registers; else vectors do it. As long as the process lives. */
static atomic_bool has_tiles;

/* -- may we? ---------------------------------------------------------------------------------- */

static uint64_t enabled_states(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

/* The system saves these registers. */
static bool saves(uint64_t states) {
  uint32_t a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 27) && (enabled_states() & states) == states;
}

static bool has_bf16_vectors(void) {
  uint32_t a, b, c, d;
  return saves(0xe6u) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
}

static bool may_use_tiles(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* of arch_prctl; lasts as long as the process */
  uint32_t a, b, c, d;
  if (!saves(3u << 17) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & 1u << 22) || !(d & 1u << 24)) return false;
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* AMD's: Zen 5 made 1.7 times as many products in the same time as by multiply-adds of f32 (Zen 4 was not measured);
 * Intel's without AMX make a third. */
static bool has_fast_vectors(void) {
  uint32_t a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

bool nd_bf16_available(void) {
  if (!has_bf16_vectors()) return false; /* the conversion is of them */
  const bool tiles = may_use_tiles();
  atomic_store(&has_tiles, tiles);
  return tiles || has_fast_vectors();
}

/* All eight registers with 16 rows of 64 bytes. In memory of its own, as compilers do not know how much of it is read.
 */
static const struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} config = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

AMX void nd_amx_open(void) {
  if (atomic_load_explicit(&has_tiles, memory_order_relaxed)) _tile_loadconfig(&config);
}

AMX void nd_amx_close(void) {
  if (atomic_load_explicit(&has_tiles, memory_order_relaxed)) _tile_release();
}

/* -- packing ---------------------------------------------------------------------------------- */

static AMX inline __mmask32 mask_of(int64_t count) {
  return count >= 32 ? 0xffffffffu : (__mmask32)((1u << count) - 1u);
}

/* 16 x 16 numbers of 32 bits, transposed. */
static AMX inline void transpose(__m512i x[16]) {
  __m512i y[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512i a = _mm512_unpacklo_epi32(x[i], x[i + 1]), b = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    const __m512i c = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]), d = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
    y[i] = _mm512_unpacklo_epi64(a, c);
    y[i + 1] = _mm512_unpackhi_epi64(a, c);
    y[i + 2] = _mm512_unpacklo_epi64(b, d);
    y[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  for (int c = 0; c < 4; c++) { /* y[4g + c]: columns c, 4 + c, 8 + c, 12 + c of rows 4g .. 4g + 3 */
    const __m512i low = _mm512_shuffle_i32x4(y[c], y[4 + c], 0x88), high = _mm512_shuffle_i32x4(y[c], y[4 + c], 0xdd);
    const __m512i low2 = _mm512_shuffle_i32x4(y[8 + c], y[12 + c], 0x88);
    const __m512i high2 = _mm512_shuffle_i32x4(y[8 + c], y[12 + c], 0xdd);
    x[c] = _mm512_shuffle_i32x4(low, low2, 0x88);
    x[4 + c] = _mm512_shuffle_i32x4(high, high2, 0x88);
    x[8 + c] = _mm512_shuffle_i32x4(low, low2, 0xdd);
    x[12 + c] = _mm512_shuffle_i32x4(high, high2, 0xdd);
  }
}

/* Pairs of terms side by side: number p holds terms 2p and 2p + 1 of `lines` <= 16 columns (or rows) that lie dense. */
static AMX inline void load_pairs(const uint16_t *from, int64_t step, int64_t lines, int64_t terms, __m512i x[16]) {
  const __mmask16 mask = (__mmask16)mask_of(lines);
  for (int p = 0; p < 16; p++) {
    __m512i pair = _mm512_setzero_si512();
    if (2 * p < terms) pair = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + 2 * p * step));
    if (2 * p + 1 < terms)
      pair = _mm512_or_si512(
          pair,
          _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + (2 * p + 1) * step)), 16));
    x[p] = pair;
  }
}

/* `lines` <= 16 rows (or columns) whose terms lie dense. */
static AMX inline void load_lines(const uint16_t *from, int64_t line, int64_t lines, int64_t terms, __m512i x[16]) {
  const __mmask32 mask = mask_of(terms);
  for (int r = 0; r < 16; r++) {
    x[r] = _mm512_setzero_si512();
    if (r < lines) x[r] = _mm512_maskz_loadu_epi16(mask, from + r * line);
  }
}

/* The same with any strides. */
static AMX inline void load_strided(const uint16_t *from, int64_t line, int64_t step, int64_t lines, int64_t terms,
                                    __m512i x[16]) {
  uint16_t numbers[16][32] = {{0}};
  for (int64_t r = 0; r < lines; r++)
    for (int64_t p = 0; p < terms; p++) numbers[r][p] = from[r * line + p * step];
  for (int r = 0; r < 16; r++) x[r] = _mm512_loadu_si512(numbers[r]);
}

/* A tile of `lines` rows (of A) or columns (of B) x `terms`; in pairs: as B is wanted. */
static AMX void pack_tile(const uint16_t *from, int64_t line, int64_t step, int64_t lines, int64_t terms, bool in_pairs,
                          uint16_t *to) {
  __m512i x[16];
  const bool pairs = line == 1 && step != 1;
  if (lines <= 0) {
    memset(to, 0, TILE * sizeof *to);
    return;
  }
  if (pairs)
    load_pairs(from, step, lines, terms, x);
  else if (step == 1)
    load_lines(from, line, lines, terms, x);
  else
    load_strided(from, line, step, lines, terms, x);
  if (pairs != in_pairs) transpose(x);
  for (int r = 0; r < 16; r++) _mm512_storeu_si512(to + 32 * r, x[r]);
}

/* A whole step of a panel of B whose rows lie dense: two rows side by side are a row of both tiles. The next step's are
 * fetched. */
static AMX void pack_rows(const uint16_t *from, int64_t step, uint16_t *to) {
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (int r = 0; r < 16; r++, from += 2 * step, to += 32) {
    const __m512i even = _mm512_loadu_si512(from), odd = _mm512_loadu_si512(from + step);
    const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
    __builtin_prefetch(to + PANEL_STEP, 1);
    __builtin_prefetch(to + PANEL_STEP + TILE, 1);
    _mm_prefetch((const char *)(from + STEP * step), _MM_HINT_T0);
    _mm_prefetch((const char *)(from + (STEP + 1) * step), _MM_HINT_T0);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(to + TILE, _mm512_permutex2var_epi64(low, second, high));
  }
}

/* Steps `first` .. `last` - 1 of a panel: for each two tiles, of lines 0 .. 15 and 16 .. 31. */
static AMX void pack_steps(const uint16_t *from, int64_t line, int64_t step, int64_t lines, int64_t k, int64_t first,
                           int64_t last, bool in_pairs, uint16_t *to) {
  for (int64_t s = first; s < last; s++) {
    const int64_t terms = nd_min(STEP, k - s * STEP);
    const uint16_t *tile = from + s * STEP * step;
    if (in_pairs && line == 1 && lines >= SIDE && terms == STEP) {
      pack_rows(tile, step, to + s * PANEL_STEP);
      continue;
    }
    pack_tile(tile, line, step, nd_min(16, lines), terms, in_pairs, to + s * PANEL_STEP);
    pack_tile(tile + 16 * line, line, step, nd_min(16, lines - 16), terms, in_pairs, to + s * PANEL_STEP + TILE);
  }
}

/* Those of the panel of B from column `j` on. */
static void pack_b(const NdGemm *g, int64_t j, int64_t first, int64_t last, uint16_t *to) {
  pack_steps((const uint16_t *)g->b + j * g->b_column, g->b_column, g->b_step, nd_min(SIDE, g->n - j), g->k, first,
             last, true, to);
}

/* -- the product ------------------------------------------------------------------------------ */

/* 32 rows of A: packed, or where they lie. */
typedef struct Rows {
  const uint16_t *tile;            /* of the first 16 rows */
  int64_t second, step, row_bytes; /* elements to the other 16, and from step to step; bytes of a row */
} Rows;

/* Lines of B that will be packed next, fetched meanwhile: `count` per step along k. */
typedef struct Fetch {
  const char *at;
  int64_t line, count; /* line: bytes from one to the next */
} Fetch;

/* Blocks of sums by turns, and the one of them, if any, that waits to be rounded into C. */
typedef struct Sums {
  float blocks[2][SIDE][SIDE];
  int turn; /* the other one waits: rows of it, from row i and column j of C on */
  int64_t i, j, rows, columns;
} Sums;

/* Rounds `columns` sums, with what is added to them, into C. */
static AMX inline void store_part(const NdGemm *g, int64_t i, int64_t j, int64_t columns, const float *sums) {
  const __mmask16 mask = (__mmask16)mask_of(nd_min(16, columns));
  __m512 x = _mm512_loadu_ps(sums);
  if (g->add) {
    const __m512i wide =
        _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, (const uint16_t *)g->add + i * g->add_row + j));
    x = _mm512_add_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16)));
  }
  _mm256_mask_storeu_epi16((uint16_t *)g->c + i * g->c_row + j, mask, (__m256i)_mm512_cvtneps_pbh(x));
}

/* A row of the block that waits. */
static AMX inline void store_row(const NdGemm *g, const Sums *s, int64_t r) {
  const float *sums = s->blocks[1 - s->turn][r];
  if (!g->add && s->columns == SIDE) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + 16), _mm512_loadu_ps(sums));
    _mm512_storeu_si512((uint16_t *)g->c + (s->i + r) * g->c_row + s->j, (__m512i)both);
    return;
  }
  for (int64_t v = 0; v < s->columns; v += 16) store_part(g, s->i + r, s->j + v, s->columns - v, sums + v);
}

static AMX void store_rows(const NdGemm *g, Sums *s, int64_t r) {
  for (; r < s->rows; r++) store_row(g, s, r);
  s->rows = 0;
}

/* The lines of a tile, into the first-level cache. */
static AMX inline __attribute__((always_inline)) void fetch_tile(const uint16_t *tile, int64_t row_bytes) {
  for (int r = 0; r < 16; r++) _mm_prefetch((const char *)tile + r * row_bytes, _MM_HINT_T0);
}

/* A block of sums [32][32]; `tall` and `wide`: the second row, or column, of tiles has something to do. The block
 * before it is stored meanwhile, as the vector registers have nothing else to do. */
static AMX inline __attribute__((always_inline)) void block(const bool tall, const bool wide, const NdGemm *g,
                                                            const Rows *rows, const uint16_t *b, int64_t steps,
                                                            Fetch fetch, Sums *s) {
  const int row = SIDE * sizeof(float);
  const int64_t max_rows = steps > 0 ? nd_ceil_div(s->rows, steps) : 0;
  const uint16_t *a = rows->tile;
  float(*sums)[SIDE] = s->blocks[s->turn];
  int64_t stored = 0;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t p = 0; p < steps; p++, a += rows->step, b += PANEL_STEP) {
    const uint16_t *later_a = a + AHEAD * rows->step, *later_b = b + AHEAD * PANEL_STEP;
    _tile_loadd(6, b, ROW_BYTES);
    _tile_loadd(4, a, rows->row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if (tall && wide) {
      fetch_tile(later_a, rows->row_bytes);
      fetch_tile(later_b, ROW_BYTES);
    }
    for (int64_t i = 0; i < fetch.count; i++, fetch.at += fetch.line) _mm_prefetch(fetch.at, _MM_HINT_T1);
    if (tall) {
      _tile_loadd(5, a + rows->second, rows->row_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (wide) {
      _tile_loadd(7, b + TILE, ROW_BYTES);
      _tile_dpbf16ps(1, 4, 7);
      if (tall) _tile_dpbf16ps(3, 5, 7);
    }
    if (tall && wide) {
      fetch_tile(later_a + rows->second, rows->row_bytes);
      fetch_tile(later_b + TILE, ROW_BYTES);
    }
    for (const int64_t stop = nd_min(stored + max_rows, s->rows); stored < stop; stored++) store_row(g, s, stored);
  }
  _tile_stored(0, &sums[0][0], row);
  _tile_stored(1, &sums[0][16], row);
  _tile_stored(2, &sums[16][0], row);
  _tile_stored(3, &sums[16][16], row);
  store_rows(g, s, stored);
}

/* Of a block `height` rows from `first` on, by vectors. Rows of both tiles of A are equally far apart; three share a
 * pointer, as there are not registers for one each. */
static AMX inline __attribute__((always_inline)) void sum_rows(const int height, const bool wide, const Rows *rows,
                                                               const uint16_t *b, int64_t steps, int first,
                                                               float (*sums)[SIDE]) {
  const int64_t row = rows->row_bytes, step = rows->step * 2;
  __m512 sum[ROWS_AT_ONCE][2];
  const char *third[(ROWS_AT_ONCE + 2) / 3];
  for (int r = 0; r < height; r++) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
  for (int r = 0; r < height; r += 3) third[r / 3] = (const char *)rows->tile + (first + r) * row;
  for (int64_t p = 0; p < steps; p++, b += PANEL_STEP) {
    for (int pair = 0; pair < 16; pair++) {
      const __m512bh left = (__m512bh)_mm512_loadu_si512(b + 32 * pair);
      const __m512bh right = (__m512bh)_mm512_loadu_si512(b + TILE + 32 * pair);
      for (int r = 0; r < height; r += 3) ND_KEEP_POINTER(third[r / 3]);
      for (int r = 0; r < height; r++) {
        int32_t terms;
        memcpy(&terms, third[r / 3] + r % 3 * row + pair * 4, sizeof terms);
        const __m512bh both = (__m512bh)_mm512_set1_epi32(terms);
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], both, left);
        if (wide) sum[r][1] = _mm512_dpbf16_ps(sum[r][1], both, right);
      }
    }
    for (int r = 0; r < height; r += 3) third[r / 3] += step;
  }
  for (int r = 0; r < height; r++) {
    _mm512_storeu_ps(sums[first + r], sum[r][0]);
    _mm512_storeu_ps(sums[first + r] + 16, sum[r][1]);
  }
}

/* The same as block, by vectors; only rows that there are. */
static AMX inline __attribute__((always_inline)) void block_by_vectors(const bool wide, const NdGemm *g, int64_t height,
                                                                       const Rows *rows, const uint16_t *b,
                                                                       int64_t steps, Fetch fetch, Sums *s) {
  float(*sums)[SIDE] = s->blocks[s->turn];
  for (int64_t i = 0; i < fetch.count * steps; i++, fetch.at += fetch.line) _mm_prefetch(fetch.at, _MM_HINT_T1);
  for (int first = 0; first < height; first += ROWS_AT_ONCE) {
    if (height - first >= ROWS_AT_ONCE)
      sum_rows(ROWS_AT_ONCE, wide, rows, b, steps, first, sums);
    else if (height - first > 4)
      sum_rows(10, wide, rows, b, steps, first, sums); /* of a whole block the last ones, else some too many */
    else
      sum_rows(4, wide, rows, b, steps, first, sums);
  }
  store_rows(g, s, 0);
}

/* The block of C in row `i` and column `j` of blocks: it waits then. */
static AMX void block_of(const NdGemm *g, int64_t i, int64_t j, const Rows *rows, const uint16_t *b, int64_t steps,
                         Fetch fetch, Sums *s) {
  const bool tall = g->m - i * SIDE > 16, wide = g->n - j * SIDE > 16;
  const int64_t height = nd_min(SIDE, g->m - i * SIDE);
  const bool by_tiles = atomic_load_explicit(&has_tiles, memory_order_relaxed);
  if (!by_tiles && wide)
    block_by_vectors(true, g, height, rows, b, steps, fetch, s);
  else if (!by_tiles)
    block_by_vectors(false, g, height, rows, b, steps, fetch, s);
  else if (tall && wide)
    block(true, true, g, rows, b, steps, fetch, s);
  else if (tall)
    block(true, false, g, rows, b, steps, fetch, s);
  else if (wide)
    block(false, true, g, rows, b, steps, fetch, s);
  else
    block(false, false, g, rows, b, steps, fetch, s);
  s->turn = 1 - s->turn;
  s->i = i * SIDE;
  s->j = j * SIDE;
  s->rows = height;
  s->columns = nd_min(SIDE, g->n - s->j);
}

/* What `steps` steps of the panel after column j consist of: 32 lines each, of a row of B where those are dense. */
static Fetch fetch_slice(const NdGemm *g, int64_t j, int64_t first, int64_t count, int64_t steps) {
  const uint16_t *from = (const uint16_t *)g->b + j * g->b_column + first * STEP * g->b_step;
  const bool by_rows = g->b_column == 1;
  return (Fetch){(const char *)from, 2 * (by_rows ? g->b_step : g->b_column),
                 by_rows ? nd_ceil_div(SIDE * count, steps) : 0};
}

/* Rows of A from i on: in place if they are whole, and k is. */
static bool in_place(const NdGemm *g, int64_t i) { return g->a_step == 1 && g->k % STEP == 0 && g->m - i >= SIDE; }

/* One panel of B against all rows; meanwhile the next one is packed slice by slice. */
static AMX void multiply_panel(const NdGemm *g, int64_t j, const uint16_t *packed_a, const uint16_t *b, uint16_t *next,
                               Sums *sums) {
  const int64_t steps = nd_ceil_div(g->k, STEP), blocks = nd_ceil_div(g->m, SIDE), after = j + SIDE;
  const bool last = after >= g->n;
  for (int64_t i = 0; i < blocks; i++) {
    const bool there = in_place(g, i * SIDE);
    const int64_t slice = i * steps / blocks, stop = (i + 1) * steps / blocks;
    const Rows packed = {packed_a + i * steps * PANEL_STEP, TILE, PANEL_STEP, ROW_BYTES};
    const Rows lying = {(const uint16_t *)g->a + i * SIDE * g->a_row, 16 * g->a_row, STEP, 2 * g->a_row};
    const Fetch fetch = last || steps == 0 ? (Fetch){0} : fetch_slice(g, after, slice, stop - slice, steps);
    block_of(g, i, j / SIDE, there ? &lying : &packed, b, steps, fetch, sums);
    if (!last) pack_b(g, after, slice, stop, next);
  }
}

void nd_amx_run(const NdGemm *g, void *scratch) {
  const int64_t steps = nd_ceil_div(g->k, STEP), panel = steps * PANEL_STEP;
  uint16_t *b[2] = {(uint16_t *)scratch, (uint16_t *)scratch + panel}, *a = b[1] + panel;
  Sums sums;
  sums.turn = 0;
  sums.rows = 0;
  for (int64_t i = 0; i < g->m; i += SIDE)
    if (!in_place(g, i))
      pack_steps((const uint16_t *)g->a + i * g->a_row, g->a_row, g->a_step, nd_min(SIDE, g->m - i), g->k, 0, steps,
                 false, a + i / SIDE * panel);
  pack_b(g, 0, 0, steps, b[0]);
  for (int64_t j = 0; j < g->n; j += SIDE) multiply_panel(g, j, a, b[j / SIDE % 2], b[(j / SIDE + 1) % 2], &sums);
  store_rows(g, &sums, 0);
}

/* -- a product shared by all threads ---------------------------------------------------------- */

/* Elements of a packed panel of a block. */
static int64_t panel_size(const NdGemmBlock *block) { return nd_ceil_div(block->depth, STEP) * PANEL_STEP; }

/* Steps of panels first .. stop - 1 from term p on; of lines that lie side by side all take a step before the next one.
 */
static AMX void pack_panels(const uint16_t *from, int64_t line, int64_t step, int64_t lines, const NdGemmBlock *block,
                            int64_t first, int64_t stop, int64_t p, int64_t count, bool in_pairs, uint16_t *to) {
  const int64_t end = nd_ceil_div(p + count, STEP), max_rows = line == 1 ? 1 : end;
  for (int64_t s = p / STEP; s < end; s += max_rows)
    for (int64_t i = first; i < stop; i++)
      pack_steps(from + i * SIDE * line, line, step, nd_min(SIDE, lines - i * SIDE), block->depth, s,
                 nd_min(s + max_rows, end), in_pairs, to + i * panel_size(block));
}

static void pack_shared_a(const NdGemm *g, const NdGemmBlock *block, int64_t first, int64_t stop, int64_t p,
                          int64_t count) {
  pack_panels((const uint16_t *)g->a, g->a_row, g->a_step, g->m, block, first, stop, p, count, false,
              (uint16_t *)block->a);
}

static void pack_shared_b(const NdGemm *g, const NdGemmBlock *block, int64_t first, int64_t stop, int64_t p,
                          int64_t count) {
  pack_panels((const uint16_t *)g->b, g->b_column, g->b_step, g->n, block, first, stop, p, count, true,
              (uint16_t *)block->b);
}

static AMX void multiply_shared(const NdGemm *g, const NdGemmBlock *block, int64_t tile, int64_t tile_stop,
                                int64_t panel, int64_t panel_stop, NdGemmOwn *own) {
  (void)own;
  const int64_t steps = nd_ceil_div(block->depth, STEP), panels = nd_ceil_div(g->n, SIDE), run = tile_stop - tile;
  const int64_t lines =
      nd_ceil_div(panel_size(block) * 2, ROW_BYTES * run * steps); /* of the next panel of B, per step */
  Sums sums;
  sums.turn = 0;
  sums.rows = 0;
  nd_amx_open();
  for (; panel < panel_stop; panel++) {
    const uint16_t *b = (const uint16_t *)block->b + panel * panel_size(block);
    for (int64_t i = tile; i < tile_stop; i++) {
      const Rows packed = {(const uint16_t *)block->a + i * panel_size(block), TILE, PANEL_STEP, ROW_BYTES};
      const Rows lying = {(const uint16_t *)g->a + i * SIDE * g->a_row, 16 * g->a_row, STEP, 2 * g->a_row};
      const char *next = (const char *)(b + panel_size(block)) + (i - tile) * lines * steps * ROW_BYTES;
      block_of(g, i, panel, block->a ? &packed : &lying, b, steps,
               (Fetch){next, ROW_BYTES, panel + 1 < panels ? lines : 0}, &sums);
    }
  }
  store_rows(g, &sums, 0);
  nd_amx_close();
}

const NdGemmLoops *nd_amx_loops(void) {
  static const NdGemmLoops loops = {
      .rows = SIDE, .columns = SIDE, .pack_a = pack_shared_a, .pack_b = pack_shared_b, .multiply = multiply_shared};
  return &loops;
}

#else
typedef int nd_amx_is_not_built; /* ISO C wants something in every file */
#endif
