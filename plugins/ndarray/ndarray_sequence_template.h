/* ndarray_sequence_template.h - the loops of ndarray_sequence.h for one dtype (REAL) and one vector width.
 *
 * Loops over lanes have a constant length, so that compilers make whole vectors of them; functions that take the length
 * as an argument are inlined once per width. Without vector types the same text works on single numbers. */

#if defined(__GNUC__)
typedef REAL NAME(Vector) __attribute__((vector_size(SEQUENCE_VECTOR_BYTES)));
#else
typedef REAL NAME(Vector);
#endif
#define VECTOR NAME(Vector)
#define LANES ((int)(sizeof(VECTOR) / sizeof(REAL)))

/* -- products --------------------------------------------------------------------------------- */

SEQUENCE_INLINE VECTOR NAME(load)(const REAL *from) {
  VECTOR x;
  memcpy(&x, from, sizeof x);
  return x;
}

SEQUENCE_INLINE void NAME(store)(REAL *to, VECTOR x) { memcpy(to, &x, sizeof x); }

/* x - 0 is x whatever x is, so a compiler leaves only the broadcast. */
SEQUENCE_INLINE VECTOR NAME(splat)(REAL x) {
  const VECTOR zero = {0};
  return x - zero;
}

/* A tile of `rows` rows and `vectors` vectors of columns. Three rows share a pointer, which leaves registers for the
 * rest. In tiles of an lstm's width, B may be a weight in the second-level cache: it is asked for some rows ahead; and
 * what is to be fetched is asked for little by little, as much at once would keep the tile's own loads waiting. */
SEQUENCE_INLINE void NAME(tile)(const int rows, const int vectors, const NdProduct *p, int64_t first_row,
                                int64_t first_column) {
  VECTOR sum[SEQUENCE_TILE_ROWS][4];
  const bool streams = vectors >= SEQUENCE_VECTORS;
  const NdFetch *fetch = streams && first_column == 0 ? p->fetch : NULL;
  const REAL *a = (const REAL *)p->a + first_row * p->a_row, *b = (const REAL *)p->b + first_column;
  const int64_t a_row = p->a_row, a_step = p->a_step, b_row = p->b_row, depth = p->depth;
  const int64_t stretch = fetch ? SEQUENCE_STRETCH : depth,
                share = fetch ? fetch->count * SEQUENCE_STRETCH / depth + 1 : 0;
  int64_t line = 0;
  const REAL *third[(SEQUENCE_TILE_ROWS + 2) / 3];
  SEQUENCE_UNROLL for (int r = 0; r < rows; r += 3) third[r / 3] = a + r * a_row;
  SEQUENCE_UNROLL for (int r = 0; r < rows; r++) SEQUENCE_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
      NAME(splat)(0);
  for (int64_t k = 0; k < depth;) {
    const int64_t end = depth - k < stretch ? depth : k + stretch;
    for (int64_t last = line + share; fetch && line < last && line < fetch->count; line++)
      SEQUENCE_PREFETCH(fetch->lines[line]);
    for (; k < end; k++) {
      VECTOR columns[4];
      SEQUENCE_UNROLL for (int v = 0; v < vectors; v++) columns[v] = NAME(load)(b + v * LANES);
      if (streams && rows > 2) { /* fewer have no time for it */
        const REAL *ahead = b + SEQUENCE_AHEAD * b_row;
        SEQUENCE_UNROLL for (int v = 0; v < vectors; v += SEQUENCE_LINE_VECTORS) SEQUENCE_PREFETCH(ahead + v * LANES);
      }
      SEQUENCE_UNROLL for (int r = 0; r < rows; r++) {
        VECTOR x = NAME(splat)(third[r / 3][r % 3 * a_row + k * a_step]);
        if (vectors > 1) SEQUENCE_KEEP(x);
        SEQUENCE_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += x * columns[v];
      }
      b += b_row;
    }
  }
  REAL *c = (REAL *)p->c + first_row * p->c_row + first_column;
  SEQUENCE_UNROLL for (int r = 0; r < rows; r++, c += p->c_row) SEQUENCE_UNROLL for (int v = 0; v < vectors; v++)
      NAME(store)(c + v * LANES, p->accumulate ? NAME(load)(c + v * LANES) + sum[r][v] : sum[r][v]);
}

/* The tile function for each number of rows. */
#define TILE(count)                             \
  case count:                                   \
    NAME(tile)(count, vectors, p, row, column); \
    break;
/* Of rows that tiles of four vectors have. */
SEQUENCE_INLINE void NAME(low_tile)(int64_t rows, const int vectors, const NdProduct *p, int64_t row, int64_t column) {
  switch (rows) {
    TILE(1)
    TILE(2)
#if SEQUENCE_QUAD_ROWS >= 3
    TILE(3)
#endif
#if SEQUENCE_QUAD_ROWS >= 6
    TILE(4)
    TILE(5)
    TILE(6)
#endif
    default:
      break;
  }
}
SEQUENCE_INLINE void NAME(any_tile)(int64_t rows, const int vectors, const NdProduct *p, int64_t row, int64_t column) {
  switch (rows) {
#if SEQUENCE_QUAD_ROWS < 3
    TILE(3)
#endif
#if SEQUENCE_QUAD_ROWS < 6
    TILE(4)
#endif
#if SEQUENCE_TILE_ROWS == 6
    TILE(5)
    TILE(6)
#endif
#if SEQUENCE_TILE_ROWS >= 12
    TILE(7)
    TILE(8)
    TILE(9)
    TILE(10)
    TILE(11)
    TILE(12)
#endif
    default:
      NAME(low_tile)(rows, vectors, p, row, column);
      break;
  }
}
#undef TILE

typedef void NAME(TileFunction)(int64_t rows, const NdProduct *p, int64_t row, int64_t column);
static void NAME(tile_quad)(int64_t rows, const NdProduct *p, int64_t row, int64_t column) {
  NAME(low_tile)(rows, 4, p, row, column);
}
static void NAME(tile_pair)(int64_t rows, const NdProduct *p, int64_t row, int64_t column) {
  NAME(any_tile)(rows, 2, p, row, column);
}
static void NAME(tile_single)(int64_t rows, const NdProduct *p, int64_t row, int64_t column) {
  NAME(any_tile)(rows, 1, p, row, column);
}

/* Tiles of about equal height: a low one at the end would leave the multipliers waiting. */
static void NAME(stripe)(const NdProduct *p, int64_t tile_rows, NAME(TileFunction) * run, int64_t column) {
  const int64_t tiles = (p->rows + tile_rows - 1) / tile_rows;
  for (int64_t tile = 0, row = 0; tile < tiles; tile++) {
    const int64_t rows = p->rows / tiles + (tile < p->rows % tiles);
    run(rows, p, row, column);
    row += rows;
  }
}

/* Four vectors of columns at a time where there are registers for enough rows of them, or few rows: sums have to wait
 * for their last term. */
static void NAME(product)(const NdProduct *p) {
  const int64_t quads =
      SEQUENCE_VECTORS == 4 || p->rows <= SEQUENCE_QUAD_ROWS ? p->columns / (4 * LANES) * (4 * LANES) : 0;
  int64_t column = 0;
  for (; column < quads; column += 4 * LANES) NAME(stripe)(p, SEQUENCE_QUAD_ROWS, NAME(tile_quad), column);
  for (; column + LANES < p->columns; column += 2 * LANES) NAME(stripe)(p, SEQUENCE_TILE_ROWS, NAME(tile_pair), column);
  if (column < p->columns) NAME(stripe)(p, SEQUENCE_TILE_ROWS, NAME(tile_single), column);
}

/* -- other layouts ---------------------------------------------------------------------------- */

static void NAME(pack)(int64_t depth, int64_t columns, const void *from, int64_t step, int64_t column, void *to,
                       int64_t to_row, int64_t to_columns) {
  const REAL *x = (const REAL *)from;
  REAL *y = (REAL *)to;
  if (column == 1 && columns == LANES) {
    for (int64_t p = 0; p < depth; p++) NAME(store)(y + p * to_row, NAME(load)(x + p * step));
  } else if (column == 1) {
    for (int64_t p = 0; p < depth; p++) memcpy(y + p * to_row, x + p * step, (size_t)columns * sizeof(REAL));
  } else { /* by blocks whose lines stay in the cache */
    for (int64_t begin = 0; begin < depth; begin += 32)
      for (int64_t j = 0; j < columns; j++)
        for (int64_t p = begin; p < depth && p < begin + 32; p++) y[p * to_row + j] = x[p * step + j * column];
  }
  for (int64_t p = 0; p < depth && columns < to_columns; p++)
    memset(y + p * to_row + columns, 0, (size_t)(to_columns - columns) * sizeof(REAL));
}

static void NAME(unpack)(int64_t depth, int64_t columns, const void *from, int64_t width, const void *factor, void *to,
                         int64_t row, int64_t step) {
  const REAL *x = (const REAL *)from, *factors = (const REAL *)factor;
  REAL *y = (REAL *)to;
  for (int64_t j = 0; j < columns; j++) {
    const REAL f = factors ? factors[j] : 1;
    for (int64_t p = 0; p < depth; p++) y[j * row + p * step] = x[p * width + j] * f;
  }
}

/* -- attention -------------------------------------------------------------------------------- */

/* STATEMENT(width) with a width that the compiler sees. */
#define BY_WIDTH(width, STATEMENT)   \
  if ((width) == LANES) {            \
    STATEMENT(LANES)                 \
  } else if ((width) == 2 * LANES) { \
    STATEMENT(2 * LANES)             \
  } else {                           \
    STATEMENT(4 * LANES)             \
  }

static void NAME(bend)(const NdScores *s, double cap, void *slopes) {
  REAL *x = (REAL *)s->scores, *d = (REAL *)slopes;
  const int64_t count = s->keys * s->width;
  const REAL scale = (REAL)s->scale, limit = (REAL)cap, part = cap > 0 ? (REAL)(1 / cap) : 0;
  if (!(cap > 0)) {
    SEQUENCE_VECTOR for (int64_t i = 0; i < count; i++) x[i] *= scale;
    return;
  }
  SEQUENCE_VECTOR for (int64_t i = 0; i < count; i++) x[i] = NAME(tanh)(x[i] * scale * part);
  if (d) {
    SEQUENCE_VECTOR for (int64_t i = 0; i < count; i++) d[i] = 1 - x[i] * x[i];
  }
  SEQUENCE_VECTOR for (int64_t i = 0; i < count; i++) x[i] *= limit;
}

static void NAME(hide_future)(const NdScores *s, int64_t first) {
  REAL *x = (REAL *)s->scores;
  for (int64_t r = first < 0 ? 0 : first + 1; r < s->keys; r++) {
    const int64_t hidden = r - first < s->width ? r - first : s->width;
    for (int64_t j = 0; j < hidden; j++) x[r * s->width + j] = -(REAL)INFINITY;
  }
}

static void NAME(hide_masked)(const NdScores *s, int64_t lanes, const uint8_t *mask, int64_t key, int64_t query) {
  REAL *x = (REAL *)s->scores;
  for (int64_t r = 0; r < s->keys; r++, x += s->width, mask += key) {
    if (query == 0 && !*mask) continue;
    for (int64_t j = 0; j < lanes; j++) x[j] = mask[j * query] ? -(REAL)INFINITY : x[j];
  }
}

static void NAME(add_bias)(const NdScores *s, int64_t lanes, const void *bias, int64_t key, int64_t query) {
  const REAL *b = (const REAL *)bias;
  REAL *x = (REAL *)s->scores;
  for (int64_t r = 0; r < s->keys; r++, x += s->width, b += key)
    for (int64_t j = 0; j < lanes; j++) x[j] += b[j * query];
}

/* The largest number of every lane goes from `before` to state->high. */
SEQUENCE_INLINE void NAME(raise_high)(const int width, const NdScores *s, REAL *high) {
  const REAL *x = (const REAL *)s->scores;
  REAL most[4 * SEQUENCE_VECTOR_BYTES / sizeof(REAL)];
  for (int j = 0; j < width; j++) most[j] = high[j];
  for (int64_t r = 0; r < s->keys; r++, x += width)
    SEQUENCE_VECTOR for (int j = 0; j < width; j++) most[j] = x[j] > most[j] ? x[j] : most[j];
  for (int j = 0; j < width; j++) high[j] = most[j];
}

SEQUENCE_INLINE void NAME(softmax_width)(const int width, const NdScores *s, const NdSoftmaxState *state) {
  REAL *x = (REAL *)s->scores, *high = (REAL *)state->high, *sum = (REAL *)state->sum, *factor = (REAL *)state->factor;
  REAL shift[4 * SEQUENCE_VECTOR_BYTES / sizeof(REAL)], total[4 * SEQUENCE_VECTOR_BYTES / sizeof(REAL)];
  const REAL scale = (REAL)s->scale;
  for (int j = 0; j < width; j++) shift[j] = high[j];
  NAME(raise_high)(width, s, high);
  for (int j = 0; j < width; j++) { /* nothing but -infinity so far: any number will do instead */
    const REAL at = high[j] == -(REAL)INFINITY ? 0 : high[j];
    factor[j] = NAME(decay)((shift[j] - at) * scale);
    shift[j] = at * scale;
    total[j] = 0;
  }
  for (int64_t r = 0; r < s->keys; r++, x += width) SEQUENCE_VECTOR for (int j = 0; j < width; j++) {
      const REAL y = NAME(decay)(x[j] * scale - shift[j]);
      x[j] = y;
      total[j] += y;
    }
  for (int j = 0; j < width; j++) sum[j] = sum[j] * factor[j] + total[j];
}

static void NAME(softmax)(const NdScores *s, const NdSoftmaxState *state) {
#define SOFTMAX(width) NAME(softmax_width)(width, s, state);
  BY_WIDTH(s->width, SOFTMAX)
#undef SOFTMAX
}

static void NAME(rescale)(int64_t depth, int64_t width, void *rows, const void *factor) {
  const REAL *f = (const REAL *)factor;
  REAL *x = (REAL *)rows;
#define RESCALE(width) \
  for (int64_t p = 0; p < depth; p++, x += (width)) SEQUENCE_VECTOR for (int j = 0; j < (width); j++) x[j] *= f[j];
  BY_WIDTH(width, RESCALE)
#undef RESCALE
}

static void NAME(invert)(int64_t width, const void *sum, void *factor) {
  const REAL *x = (const REAL *)sum;
  REAL *y = (REAL *)factor;
  for (int64_t j = 0; j < width; j++) y[j] = x[j] == 0 ? 0 : 1 / x[j];
}

SEQUENCE_INLINE void NAME(softmax_back_width)(const int width, const NdScores *weights, REAL *slopes) {
  const REAL *p = (const REAL *)weights->scores;
  REAL total[4 * SEQUENCE_VECTOR_BYTES / sizeof(REAL)];
  for (int j = 0; j < width; j++) total[j] = 0;
  for (int64_t i = 0; i < weights->keys * width; i += width)
    SEQUENCE_VECTOR for (int j = 0; j < width; j++) total[j] += p[i + j] * slopes[i + j];
  for (int64_t i = 0; i < weights->keys * width; i += width)
    SEQUENCE_VECTOR for (int j = 0; j < width; j++) slopes[i + j] = p[i + j] * (slopes[i + j] - total[j]);
}

static void NAME(softmax_back)(const NdScores *weights, void *slopes) {
#define SOFTMAX_BACK(width) NAME(softmax_back_width)(width, weights, (REAL *)slopes);
  BY_WIDTH(weights->width, SOFTMAX_BACK)
#undef SOFTMAX_BACK
}

static void NAME(fold_bias)(const NdScores *s, int64_t lanes, void *grad, int64_t key, int64_t query) {
  const REAL *x = (const REAL *)s->scores;
  REAL *g = (REAL *)grad;
  for (int64_t r = 0; r < s->keys; r++, x += s->width, g += key)
    for (int64_t j = 0; j < lanes; j++) g[j * query] += x[j];
}

static void NAME(scale_back)(const NdScores *s, const void *slopes) {
  const REAL *d = (const REAL *)slopes, scale = (REAL)s->scale;
  REAL *x = (REAL *)s->scores;
  const int64_t count = s->keys * s->width;
  if (d) {
    SEQUENCE_VECTOR for (int64_t i = 0; i < count; i++) x[i] = x[i] * d[i] * scale;
  } else {
    SEQUENCE_VECTOR for (int64_t i = 0; i < count; i++) x[i] *= scale;
  }
}

#undef BY_WIDTH
#undef VECTOR
#undef LANES
