/* ndarray_int8.h - products of i8 matrices with exact sums in i32, scaled to f32 as they are stored.
 *
 * C[i, j] = (sum of A[i, p] * B[p, j] over a segment) * (row scale of i * column scale of j), added up over segments of
 * k in f32, one after the other; then the number that is added to the row. A segment is what has one scale on both
 * sides, and no more than ND_INT8_DEPTH terms, so that no sum overflows: all instruction sets give the same bits.
 *
 * B is packed panel by panel: 64 columns, whose terms stand in units of 4 (or 2) side by side, as the instructions want
 * them. Segments start at a whole unit. */
#ifndef BURN_NDARRAY_INT8_H
#define BURN_NDARRAY_INT8_H

#include "ndarray_internal.h"

enum {
  ND_INT8_COLUMNS = 64, /* of a panel */
  ND_INT8_ROWS = 6,     /* of a tile, at most */
  ND_INT8_WIDE = 4,     /* panels that `direct` takes at once with one row */
  ND_INT8_UNIT = 4,     /* segments are packed to a multiple of this */
  /* Terms whose sum cannot overflow: 2^16 * 2^7 * 2^7 = 2^30, twice that with the shift by 128. */
  ND_INT8_DEPTH = 65536,
};

/* Some rows of C in one panel. */
typedef struct NdInt8Tile {
  int64_t rows, columns;                     /* at most ND_INT8_ROWS, ND_INT8_COLUMNS */
  int64_t terms, segment, segments;          /* all of k, of a segment (the last may be shorter), and how many */
  const void *a;                             /* i8, or i16 where the loops widen: the first row, dense along k */
  int64_t a_row, a_segment;                  /* elements to the next row, the next segment */
  const uint8_t *b;                          /* a packed panel; for `direct` the first row of B, of 64 numbers */
  int64_t b_segment;                         /* bytes to the next segment; for `direct` to the next row */
  const int32_t *row_sums;                   /* of A by segment, where B is shifted: [rows, segments] */
  const float *row_scales;                   /* of this row on: [segments, ..] */
  const float *column_scales;                /* [segments, ..] of whole panels */
  int64_t row_scale_step, column_scale_step; /* numbers to those of the next segment */
  const float *add;                          /* [rows], or NULL */
  float *c;
  int64_t c_row;
} NdInt8Tile;

/* The loops of one instruction set. */
typedef struct NdInt8Loops {
  const char *name;
  bool is_shifted; /* B is packed as b + 128: sums of A's rows are needed to take that back */
  bool widens;     /* A is wanted as i16, segments of whole units */
  /* `terms` rows of 64 numbers, `step` apart, as units of a panel; terms that are missing in the last count as 0. */
  void (*pack)(const int8_t *b, int64_t step, int64_t terms, uint8_t *to);
  void (*tile)(const NdInt8Tile *tile);
  /* The same with B where it lies, for up to direct_rows rows of A in all; NULL where packing is as good. Of one row it
   * takes up to ND_INT8_WIDE panels at once, whose columns follow each other. */
  void (*direct)(const NdInt8Tile *tile);
  int64_t direct_rows;
  int32_t (*sum)(const int8_t *a, int64_t count);
  void (*widen)(const int8_t *a, int64_t count, int16_t *to); /* and zeros up to a whole unit */
} NdInt8Loops;

extern const NdInt8Loops nd_int8_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdInt8Loops nd_int8_avx2;
extern const NdInt8Loops nd_int8_avxvnni;
extern const NdInt8Loops nd_int8_avx512vnni;
#elif defined(__aarch64__)
extern const NdInt8Loops nd_int8_dotprod;
#endif

/* Some products of one shape, and who knows where their operands lie. */
typedef struct NdInt8Job NdInt8Job;
struct NdInt8Job {
  Ndarray *nd;
  int64_t products, m, n, k, segment;
  const int8_t *a; /* [products, m, k], dense */
  int64_t a_product;
  /* Rows p .. p + terms - 1 of B, columns j .. j + columns - 1: each 64 numbers in `to`, zeros after the last. */
  void (*fill)(const NdInt8Job *job, int64_t product, int64_t p, int64_t terms, int64_t j, int64_t columns, int8_t *to);
  /* Where 64 columns from j on lie as rows of B in memory, and in *step how far apart; or NULL. */
  const int8_t *(*rows)(const NdInt8Job *job, int64_t product, int64_t j, int64_t *step);
  /* Where C of these columns lies, and in *step how far its rows are apart; NULL if in several pieces: `scatter`. */
  float *(*place)(const NdInt8Job *job, int64_t product, int64_t j, int64_t columns, int64_t *step);
  void (*scatter)(const NdInt8Job *job, int64_t product, int64_t i, int64_t rows, int64_t j, int64_t columns,
                  const float *tile); /* rows of 64 */
  const void *context;                /* of the functions */
  const float *row_scales;            /* [products, segments, m] */
  const float *column_scales;         /* [products, segments, n up to whole panels] */
  int64_t column_scale_product;       /* numbers from product to product; 0: all have the same */
  const float *add;                   /* [products, m], or NULL */
};

/* Segments of k, and numbers in column_scales of one of them. */
static inline int64_t nd_int8_segments(const NdInt8Job *job) {
  return job->k > 0 ? nd_ceil_div(job->k, job->segment) : 1;
}
static inline int64_t nd_int8_padded(int64_t n) { return nd_round_up(n, ND_INT8_COLUMNS); }

/* Runs all of them; false when out of memory. m, n and products are at least 1. */
bool nd_int8_run(const NdInt8Job *job);

#endif
