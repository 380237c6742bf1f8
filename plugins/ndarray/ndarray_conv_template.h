/* ndarray_conv_template.h - the convolution loops for one dtype (REAL) and one vector width.
 *
 * All of them keep a tile of sums in registers and stream over the long axis. Functions take the tile's size as a
 * constant and are inlined, so that the arrays of vectors become registers. Without vector types the same text works on
 * single numbers. */

#if defined(__GNUC__)
#define LANES_MAX ((int)(CONV_VECTOR_BYTES / sizeof(REAL)))
typedef REAL NAME(Vector) __attribute__((vector_size(CONV_VECTOR_BYTES)));
typedef INTEGER NAME(Mask) __attribute__((vector_size(CONV_VECTOR_BYTES)));
#else
#define LANES_MAX 1
typedef REAL NAME(Vector);
#endif
#define VECTOR NAME(Vector)
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))

CONV_INLINE VECTOR NAME(load)(const REAL *from) {
  VECTOR x;
  memcpy(&x, from, sizeof x);
  return x;
}

CONV_INLINE void NAME(store)(REAL *to, VECTOR x) { memcpy(to, &x, sizeof x); }

CONV_INLINE VECTOR NAME(splat)(REAL value) {
  const VECTOR zero = {0};
  return value - zero; /* which, unlike a sum, leaves -0 alone, and so costs nothing */
}

#include CONV_LANES_HEADER

/* -- the padded copy -------------------------------------------------------------------------- */

/* Bits of the lanes j .. that lie in begin .. end - 1. */
CONV_INLINE uint32_t NAME(lanes_within)(int64_t begin, int64_t end, int64_t j) {
  const int64_t low = begin > j ? begin - j : 0, high = end < j + LANES ? end - j : LANES;
  return low < high ? (1u << high) - (1u << low) : 0;
}

/* One row; `from` is where its element 0 would lie, and elements begin .. end-1 are there. */
CONV_INLINE void NAME(copy_row)(const REAL *from, int64_t step, int64_t begin, int64_t end, int64_t columns, REAL *to) {
  for (int64_t j = 0; j < columns; j += LANES) {
    const uint32_t bits = NAME(lanes_within)(begin, end, j);
    if (step == 1) {
      NAME(store)(to + j, NAME(load_lanes)(from + j, bits));
    } else if (step == 2) {
      NAME(store)(to + j, NAME(load_even)(from + 2 * j, bits));
    } else {
      for (int64_t i = 0; i < LANES; i++) to[j + i] = bits >> i & 1u ? from[(j + i) * step] : 0;
    }
  }
}

/* Rows of at most NARROW vectors that follow each other: which lanes there are is worked out once for all rows. */
#define NARROW 4
static void NAME(copy_narrow)(const NdConvCopy *copy, int64_t begin, int64_t end) {
  const int64_t row_step = copy->row_step * copy->width, columns = copy->columns;
  const REAL *from = (const REAL *)copy->from + copy->first_row * copy->width + copy->first_column;
  REAL *to = (REAL *)copy->to;
  uint32_t bits[NARROW];
  int64_t row = copy->first_row;
  for (int64_t j = 0; j < columns; j += LANES) bits[j / LANES] = NAME(lanes_within)(begin, end, j);
  for (int64_t r = copy->rows; r > 0; r--, row += copy->row_step, from += row_step, to += columns) {
    const bool inside = row >= 0 && row < copy->height;
    for (int64_t j = 0; j < columns; j += LANES) {
      if (inside) PREFETCH(from + j + copy->ahead);
      NAME(store)(to + j, inside ? NAME(load_lanes)(from + j, bits[j / LANES]) : NAME(splat)(0));
    }
  }
}

static void NAME(copy)(const NdConvCopy *copy) {
  const int64_t step = copy->column_step, first = copy->first_column, left = copy->width - first;
  const int64_t begin = first < 0 ? (-first + step - 1) / step : 0, end = left > 0 ? (left + step - 1) / step : 0;
  REAL *to = (REAL *)copy->to;
  if (step == 1 && copy->columns <= NARROW * LANES) {
    NAME(copy_narrow)(copy, begin, end);
    return;
  }
  for (int64_t r = 0; r < copy->rows; r++, to += copy->columns) {
    const int64_t row = copy->first_row + r * copy->row_step;
    const REAL *from = (const REAL *)copy->from + (row < 0 ? 0 : row) * copy->width + first;
    const bool inside = row >= 0 && row < copy->height;
    NAME(copy_row)(from, step, begin, inside ? end : begin, copy->columns, to);
  }
}

#undef NARROW

/* -- pixels side by side ---------------------------------------------------------------------- */

static void NAME(gather)(const NdConvGather *g) {
  for (int64_t v = 0; v < g->vector_count; v++) {
    const NdConvVector *vector = &g->vectors[v];
    const REAL *from = (const REAL *)g->input + vector->input;
    REAL *to = (REAL *)g->columns + v * LANES;
    if (vector->kind == ND_CONV_NEIGHBOURS) {
      for (int64_t k = 0; k < g->depth; k++, to += g->row) NAME(store)(to, NAME(load)(from + g->taps[k].input));
    } else if (vector->kind == ND_CONV_NEAR) {
      for (int64_t k = 0; k < g->depth; k++, to += g->row)
        NAME(store)(to, NAME(gather_near)(from + g->taps[k].input, vector->index));
    } else {
      for (int64_t k = 0; k < g->depth; k++, to += g->row)
        NAME(store)(to, NAME(gather_anywhere)(from + g->taps[k].input, vector->index));
    }
  }
}

static void NAME(interleave_images)(const void *from, const int32_t *index, int64_t step, int64_t count, void *to) {
  for (int64_t j = 0; j < count; j++)
    NAME(store)((REAL *)to + j * LANES, NAME(gather_anywhere)((const REAL *)from + j * step, index));
}

/* -- output channels times pixels ------------------------------------------------------------- */

/* Where the sums of a vector start. */
CONV_INLINE VECTOR NAME(start)(const NdConvProduct *p, int64_t channel, int v) {
  if (!p->first) return NAME(load)((const REAL *)p->partial + channel * p->partial_row + p->place[v]);
  return NAME(splat)(p->bias ? ((const REAL *)p->bias)[channel] : 0);
}

/* Lane first + i to to[i * step]. */
static CONV_APART void NAME(store_steps)(REAL *to, int64_t step, int32_t first, int32_t count, VECTOR x) {
  REAL lanes[LANES_MAX];
  NAME(store)(lanes, x);
  for (int32_t i = 0; i < count; i++) to[i * step] = lanes[first + i];
}

/* One piece of all rows; `sums` are its vector's of the first row. */
CONV_INLINE void NAME(finish_piece)(REAL *to, int64_t plane, int64_t step, int64_t rows, NdConvPiece piece,
                                    const REAL *sums) {
  if (step != 1) {
    for (int64_t r = 0; r < rows; r++, to += plane, sums += ND_CONV_VECTORS * LANES)
      NAME(store_steps)(to, step, piece.first, piece.count, NAME(load)(sums));
  } else if (piece.count == LANES) {
    for (int64_t r = 0; r < rows; r++, to += plane, sums += ND_CONV_VECTORS * LANES) NAME(store)(to, NAME(load)(sums));
  } else {
    for (int64_t r = 0; r < rows; r++, to += plane, sums += ND_CONV_VECTORS * LANES)
      NAME(store_lanes)(to, piece.first, piece.count, NAME(load)(sums));
  }
}

/* Writes the sums [channel][vector] of a tile to their places. */
static void NAME(finish)(const NdConvProduct *p, int64_t channel, int64_t rows, const REAL *sums) {
  REAL *output = (REAL *)p->output + channel * p->plane;
  for (int64_t v = 0; v < p->vector_count; v++) {
    const NdConvVector *vector = &p->vectors[v];
    for (const NdConvPiece *piece = &p->pieces[vector->piece], *const end = piece + vector->piece_count; piece < end;
         piece++)
      NAME(finish_piece)(output + piece->output, p->plane, p->step, rows, *piece, sums + v * LANES);
  }
}

/* Where the sums of a tile go: [channel][vector]. */
typedef struct NAME(Sums) {
  REAL *first;
  int64_t row;
  const int64_t *place; /* [vectors] */
} NAME(Sums);

/* `rows` output channels from `channel` on, `count` vectors of pixels. */
CONV_INLINE void NAME(sum_tile)(const int rows, const int count, const NdConvProduct *p, int64_t channel,
                                const NAME(Sums) * sums) {
  const int64_t row = p->weights_row;
  const REAL *weights = (const REAL *)p->weights + channel * row, *from[ND_CONV_VECTORS];
  VECTOR sum[CONV_ROWS][ND_CONV_VECTORS];
  CONV_UNROLL for (int v = 0; v < count; v++) {
    from[v] = (const REAL *)p->input + p->base[v];
    KEEP_POINTER(from[v]);
  }
  KEEP_POINTER(weights);
  CONV_UNROLL for (int r = 0; r < rows; r++) CONV_UNROLL for (int v = 0; v < count; v++) sum[r][v] =
      NAME(start)(p, channel + r, v);
  for (int64_t round = p->rounds; round > 0; round--) {
    for (const NdConvTap *tap = p->taps, *const end = tap + p->depth; tap < end; tap++) {
      const REAL *rows_of_three[3] = {weights + tap->weight};
      rows_of_three[1] = rows_of_three[0] + 3 * row;
      rows_of_three[2] = rows_of_three[1] + 3 * row;
      VECTOR x[ND_CONV_VECTORS];
      CONV_UNROLL for (int v = 0; v < count; v++) x[v] = NAME(load)(from[v] + tap->input);
      CONV_UNROLL for (int r = 0; r < rows; r++) {
        VECTOR weight = NAME(splat)(rows_of_three[r / 3][r % 3 * row]);
        if (count > 1) KEEP_IN_REGISTER(weight);
        CONV_UNROLL for (int v = 0; v < count; v++) sum[r][v] += x[v] * weight;
      }
    }
    weights += p->weights_step;
    CONV_UNROLL for (int v = 0; v < count; v++) from[v] += p->input_step;
  }
  CONV_UNROLL for (int r = 0; r < rows; r++) CONV_UNROLL for (int v = 0; v < count; v++)
      NAME(store)(sums->first + r * sums->row + sums->place[v], sum[r][v]);
}

/* A function of its own for each size: then all registers are the loop's. */
typedef void (*NAME(SumTile))(const NdConvProduct *p, int64_t channel, const NAME(Sums) * sums);
#define SUM_TILE(rows, count)                                                                \
  static CONV_APART void NAME(sum_##rows##_##count)(const NdConvProduct *p, int64_t channel, \
                                                    const NAME(Sums) * sums) {               \
    NAME(sum_tile)(rows, count, p, channel, sums);                                           \
  }
#define SUM_TILES(rows) SUM_TILE(rows, 1) SUM_TILE(rows, 2) SUM_TILE(rows, 3)
#define SUM_ROW(rows) {NAME(sum_##rows##_1), NAME(sum_##rows##_2), NAME(sum_##rows##_3)},
#if CONV_ROWS > 4
#define ALL_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#else
#define ALL_ROWS(X) X(1) X(2) X(3) X(4)
#endif
ALL_ROWS(SUM_TILES)
static const NAME(SumTile) NAME(sum_tiles)[CONV_ROWS][ND_CONV_VECTORS] = {ALL_ROWS(SUM_ROW)};
#undef SUM_TILE
#undef SUM_TILES
#undef SUM_ROW
#undef ALL_ROWS

static void NAME(product)(const NdConvProduct *p) {
  static const int64_t dense[ND_CONV_VECTORS] = {0, LANES, 2 * LANES};
  REAL last[CONV_ROWS * ND_CONV_VECTORS * LANES_MAX];
  for (int64_t channel = 0; channel < p->channels; channel += CONV_ROWS) {
    const int64_t rows = p->channels - channel < CONV_ROWS ? p->channels - channel : CONV_ROWS;
    NAME(Sums) sums = {(REAL *)p->partial + channel * p->partial_row, p->partial_row, p->place};
    if (p->last) sums = (NAME(Sums)){last, ND_CONV_VECTORS * LANES, dense};
    NAME(sum_tiles)[rows - 1][p->vector_count - 1](p, channel, &sums);
    if (p->last) NAME(finish)(p, channel, rows, last);
  }
}

/* -- a plane from a plane --------------------------------------------------------------------- */

/* One vector of `rows` rows. */
CONV_INLINE void NAME(plane_tile)(const int rows, const NdConvPlane *p, int64_t row, int64_t column) {
  const int64_t left = p->columns - column, row_width = p->row_width;
  const REAL *weights = (const REAL *)p->weights, *from = (const REAL *)p->input + row * row_width + column;
  REAL *to = (REAL *)p->output + row * p->columns + column;
  VECTOR sum[CONV_PLANE_ROWS];
  CONV_UNROLL for (int r = 0; r < rows; r++) sum[r] = NAME(splat)(p->bias ? *(const REAL *)p->bias : 0);
  for (const NdConvTap *tap = p->taps, *const end = tap + p->tap_count; tap < end; tap++) {
    VECTOR weight = NAME(splat)(weights[tap->weight]);
    const REAL *x = from + tap->input;
    if (rows > 1) KEEP_IN_REGISTER(weight);
    CONV_UNROLL for (int r = 0; r < rows; r++, x += row_width) sum[r] += NAME(load)(x) * weight;
  }
  CONV_UNROLL for (int r = 0; r < rows; r++, to += p->columns) {
    if (left >= LANES)
      NAME(store)(to, sum[r]);
    else
      NAME(store_lanes)(to, 0, (int32_t)left, sum[r]);
  }
}

static void NAME(plane)(const NdConvPlane *p) {
  int64_t row = 0;
  for (; row + CONV_PLANE_ROWS <= p->rows; row += CONV_PLANE_ROWS)
    for (int64_t column = 0; column < p->columns; column += LANES) NAME(plane_tile)(CONV_PLANE_ROWS, p, row, column);
  for (; row < p->rows; row++)
    for (int64_t column = 0; column < p->columns; column += LANES) NAME(plane_tile)(1, p, row, column);
}

/* -- gradient of few weights ------------------------------------------------------------------ */

/* `channels` channels of grad from `channel` on times `count` taps, over all pixels. */
CONV_INLINE void NAME(correlate_tile)(const int channels, const int count, const NdConvCorrelation *c, int64_t channel,
                                      int64_t tap) {
  const int64_t blocks = (c->columns + LANES - 1) / LANES, plane = c->rows * blocks * LANES, row_width = c->row_width;
  const uint32_t whole = (1u << LANES) - 1u, last = whole >> (blocks * LANES - c->columns);
  REAL *sums = (REAL *)c->sums + (channel * c->tap_count + tap) * LANES;
  const REAL *grad = (const REAL *)c->grad + channel * plane, *from[CONV_TAPS];
  VECTOR sum[CORRELATE_CHANNELS][CONV_TAPS];
  int64_t row = c->rows;
  CONV_UNROLL for (int t = 0; t < count; t++) from[t] = (const REAL *)c->input + c->taps[tap + t].input;
  CONV_UNROLL for (int r = 0; r < channels; r++) CONV_UNROLL for (int t = 0; t < count; t++) sum[r][t] =
      NAME(load)(sums + (r * c->tap_count + t) * LANES);
  do {
    int64_t block = 0;
    do {
      const uint32_t bits = block + 1 < blocks ? whole : last;
      VECTOR g[CORRELATE_CHANNELS];
      CONV_UNROLL for (int r = 0; r < channels; r++) g[r] = NAME(load)(grad + r * plane);
      /* A zero of grad does not do: behind the row x may be anything, an infinity too, and 0 * infinity would not
       * vanish. */
      CONV_UNROLL for (int t = 0; t < count; t++) {
        const VECTOR x = NAME(load_masked)(from[t] + block * LANES, bits);
        CONV_UNROLL for (int r = 0; r < channels; r++) sum[r][t] += x * g[r];
      }
      grad += LANES;
    } while (++block < blocks);
    CONV_UNROLL for (int t = 0; t < count; t++) from[t] += row_width;
  } while (--row > 0);
  CONV_UNROLL for (int r = 0; r < channels; r++) CONV_UNROLL for (int t = 0; t < count; t++)
      NAME(store)(sums + (r * c->tap_count + t) * LANES, sum[r][t]);
}

/* All taps of `channels` channels. */
CONV_INLINE void NAME(correlate_channels)(const int channels, const NdConvCorrelation *c, int64_t channel) {
  int64_t tap = 0;
  for (; tap + CONV_TAPS <= c->tap_count; tap += CONV_TAPS) NAME(correlate_tile)(channels, CONV_TAPS, c, channel, tap);
#if CONV_TAPS > 3
  for (; tap + 3 <= c->tap_count; tap += 3) NAME(correlate_tile)(channels, 3, c, channel, tap);
#endif
  for (; tap < c->tap_count; tap++) NAME(correlate_tile)(channels, 1, c, channel, tap);
}

static CONV_APART void NAME(correlate_1)(const NdConvCorrelation *c, int64_t channel) {
  NAME(correlate_channels)(1, c, channel);
}
static CONV_APART void NAME(correlate_2)(const NdConvCorrelation *c, int64_t channel) {
  NAME(correlate_channels)(2, c, channel);
}
static CONV_APART void NAME(correlate_4)(const NdConvCorrelation *c, int64_t channel) {
  NAME(correlate_channels)(4, c, channel);
}

static void NAME(correlate)(const NdConvCorrelation *c) {
  int64_t channel = 0;
  for (; channel + CORRELATE_CHANNELS <= c->channels; channel += CORRELATE_CHANNELS) NAME(correlate_4)(c, channel);
  for (; channel + 2 <= c->channels; channel += 2) NAME(correlate_2)(c, channel);
  if (channel < c->channels) NAME(correlate_1)(c, channel);
}

static void NAME(fold)(const void *sums, int64_t count, void *out) {
  const REAL *from = (const REAL *)sums;
  for (int64_t i = 0; i < count; i++) ((REAL *)out)[i] = NAME(fold_vector)(from + i * LANES);
}

/* -- gradient of few weights, lanes are output channels --------------------------------------- */

/* `runs` runs of `length` taps from `tap` on, over all pixels. */
CONV_INLINE void NAME(sweep_tile)(const int runs, const int length, const NdConvSweep *s, int64_t tap) {
  const REAL *grad = (const REAL *)s->grad, *from[CONV_SWEEP_RUNS];
  const int64_t columns = s->columns, row_width = s->row_width;
  REAL *sums = (REAL *)s->sums + tap * LANES;
  VECTOR sum[CONV_SWEEP_TAPS];
  CONV_UNROLL for (int r = 0; r < runs; r++) from[r] = (const REAL *)s->input + s->taps[tap + r * length].input;
  CONV_UNROLL for (int t = 0; t < runs * length; t++) sum[t] = NAME(load)(sums + t * LANES);
  int64_t row = s->rows;
  /* There is a pixel; loops that ask first would have GCC hold the sums in two places. */
  do {
    int64_t x = 0;
    do {
      const VECTOR g = NAME(load)(grad);
      FETCH_ANEW();
      CONV_UNROLL for (int r = 0; r < runs; r++) CONV_UNROLL for (int t = 0; t < length; t++) sum[r * length + t] +=
          g * NAME(splat)(from[r][x + t]);
      grad += LANES;
    } while (++x < columns);
    CONV_UNROLL for (int r = 0; r < runs; r++) from[r] += row_width;
  } while (--row > 0);
  CONV_UNROLL for (int t = 0; t < runs * length; t++) NAME(store)(sums + t * LANES, sum[t]);
}

typedef void (*NAME(SweepTile))(const NdConvSweep *s, int64_t tap);
#define SWEEP_TILE(runs, length)                                                            \
  static CONV_APART void NAME(sweep_##runs##_##length)(const NdConvSweep *s, int64_t tap) { \
    NAME(sweep_tile)(runs, length, s, tap);                                                 \
  }
#define SWEEP_ROW(runs, length) NAME(sweep_##runs##_##length),
CONV_SWEEPS_OF_1(SWEEP_TILE)
CONV_SWEEPS_OF_3(SWEEP_TILE)
CONV_SWEEPS_OF_5(SWEEP_TILE)
static const NAME(SweepTile) NAME(sweeps_of_1)[] = {CONV_SWEEPS_OF_1(SWEEP_ROW)};
static const NAME(SweepTile) NAME(sweeps_of_3)[] = {CONV_SWEEPS_OF_3(SWEEP_ROW)};
static const NAME(SweepTile) NAME(sweeps_of_5)[] = {CONV_SWEEPS_OF_5(SWEEP_ROW)};
#undef SWEEP_TILE
#undef SWEEP_ROW

#define SWEEPS_MAX(table) ((int64_t)(sizeof(table) / sizeof((table)[0])))
static void NAME(sweep)(const NdConvSweep *s) {
  const int64_t length = s->run == 3 || s->run == 5 ? s->run : 1, all = s->tap_count / length;
  const NAME(SweepTile) *tiles = length == 5 ? NAME(sweeps_of_5) : length == 3 ? NAME(sweeps_of_3) : NAME(sweeps_of_1);
  const int64_t most = length == 5   ? SWEEPS_MAX(NAME(sweeps_of_5))
                       : length == 3 ? SWEEPS_MAX(NAME(sweeps_of_3))
                                     : SWEEPS_MAX(NAME(sweeps_of_1));
  const int64_t count = (all + most - 1) / most; /* of about equal size */
  for (int64_t i = 0; i < count; i++) {
    const int64_t first = i * all / count, runs = (i + 1) * all / count - first;
    tiles[runs - 1](s, first * length);
  }
}
#undef SWEEPS_MAX

/* -- gradient of many weights ----------------------------------------------------------------- */

/* `taps` taps times `count` vectors of channels, over all pixels. */
CONV_INLINE void NAME(outer_tile)(const int taps, const int count, const NdConvOuter *o, int64_t tap) {
  const REAL *columns = (const REAL *)o->columns + tap * ND_CONV_COLUMN, *grad = (const REAL *)o->grad;
  REAL *sums = (REAL *)o->sums + tap * o->sums_row;
  VECTOR sum[CONV_TILE_TAPS];
  CONV_UNROLL for (int t = 0; t < taps; t++) CONV_UNROLL for (int v = 0; v < count; v++) sum[t * count + v] =
      NAME(load)(sums + t * o->sums_row + v * LANES);
  for (int64_t p = 0; p < o->pixels; p++, grad += count * LANES) {
    VECTOR g[CONV_PANEL];
    CONV_UNROLL for (int v = 0; v < count; v++) g[v] = NAME(load)(grad + v * LANES);
    CONV_UNROLL for (int t = 0; t < taps; t++) {
      VECTOR x = NAME(splat)(columns[t * ND_CONV_COLUMN + p]);
      if (count > 1) KEEP_IN_REGISTER(x);
      CONV_UNROLL for (int v = 0; v < count; v++) sum[t * count + v] += g[v] * x;
    }
  }
  CONV_UNROLL for (int t = 0; t < taps; t++) CONV_UNROLL for (int v = 0; v < count; v++)
      NAME(store)(sums + t * o->sums_row + v * LANES, sum[t * count + v]);
}

static void NAME(outer_1)(const NdConvOuter *o) {
  for (int64_t tap = 0; tap < o->taps; tap += CONV_TILE_TAPS) NAME(outer_tile)(CONV_TILE_TAPS, 1, o, tap);
}
static void NAME(outer_2)(const NdConvOuter *o) {
  for (int64_t tap = 0; tap < o->taps; tap += CONV_TILE_TAPS / 2) NAME(outer_tile)(CONV_TILE_TAPS / 2, 2, o, tap);
}
#if CONV_PANEL > 2
static void NAME(outer_4)(const NdConvOuter *o) {
  for (int64_t tap = 0; tap < o->taps; tap += CONV_TILE_TAPS / 4) NAME(outer_tile)(CONV_TILE_TAPS / 4, 4, o, tap);
}
#endif

static void NAME(outer)(const NdConvOuter *o) {
  if (o->width == LANES) NAME(outer_1)(o);
  if (o->width == 2 * LANES) NAME(outer_2)(o);
#if CONV_PANEL > 2
  if (o->width == 4 * LANES) NAME(outer_4)(o);
#endif
}

static void NAME(transpose)(const void *from, int64_t from_row, int64_t rows, int64_t columns, void *to,
                            int64_t to_row) {
  const REAL *source = (const REAL *)from;
  REAL *target = (REAL *)to;
  /* Few rows of the target at a time: those may be pages apart. */
  for (int64_t c = 0; c < columns; c += LANES)
    for (int64_t r = 0; r < rows; r += LANES) {
      const int64_t block_rows = rows - r < LANES ? rows - r : LANES,
                    block_columns = columns - c < LANES ? columns - c : LANES;
      NAME(transpose_block)
      (source + r * from_row + c, from_row, block_rows, block_columns, target + c * to_row + r, to_row);
    }
}

#undef VECTOR
#undef LANES
#undef LANES_MAX
