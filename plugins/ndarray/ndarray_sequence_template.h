/* ndarray_sequence_template.h - the loops of ndarray_sequence.h for one dtype (REAL) and one vector width.
 *
 * Loops over lanes have a constant length, so that compilers make whole vectors of them; functions that take the length as
 * an argument are inlined once per width. Without vector types the same text works on single numbers. */

#if defined(__GNUC__)
typedef REAL NAME(Vector) __attribute__((vector_size(SEQUENCE_VECTOR_BYTES)));
#else
typedef REAL NAME(Vector);
#endif
#define VECTOR NAME(Vector)
#define LANES ((int)(sizeof(VECTOR) / sizeof(REAL)))

/* -- products ---------------------------------------------------------------------------------------------------------- */

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

/* A tile of `rows` rows and `vectors` vectors of columns. Three rows share a pointer, which leaves registers for the rest. */
SEQUENCE_INLINE void NAME(tile)(const int rows, const int vectors, const NdProduct *p, int64_t first_row, int64_t first_column) {
  VECTOR sum[SEQUENCE_TILE_ROWS][2];
  const REAL *a = (const REAL *)p->a + first_row * p->a_row, *b = (const REAL *)p->b + first_column;
  const int64_t a_row = p->a_row, a_step = p->a_step, b_row = p->b_row, depth = p->depth;
  const REAL *third[(SEQUENCE_TILE_ROWS + 2) / 3];
  for (int r = 0; r < rows; r += 3) third[r / 3] = a + r * a_row;
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vectors; v++) sum[r][v] = NAME(splat)(0);
  for (int64_t k = 0; k < depth; k++) {
    VECTOR columns[2];
    for (int v = 0; v < vectors; v++) columns[v] = NAME(load)(b + v * LANES);
    for (int r = 0; r < rows; r++) {
      VECTOR x = NAME(splat)(third[r / 3][r % 3 * a_row + k * a_step]);
      if (vectors > 1) SEQUENCE_KEEP(x);
      for (int v = 0; v < vectors; v++) sum[r][v] += x * columns[v];
    }
    b += b_row;
  }
  REAL *c = (REAL *)p->c + first_row * p->c_row + first_column;
  for (int r = 0; r < rows; r++, c += p->c_row)
    for (int v = 0; v < vectors; v++)
      NAME(store)(c + v * LANES, p->accumulate ? NAME(load)(c + v * LANES) + sum[r][v] : sum[r][v]);
}

/* The tile function for each number of rows. */
SEQUENCE_INLINE void NAME(tile_rows)(int64_t rows, const int vectors, const NdProduct *p, int64_t row, int64_t column) {
#define ROWS(count)                               \
  case count:                                     \
    NAME(tile)(count, vectors, p, row, column);   \
    break;
  switch (rows) {
    ROWS(1)
    ROWS(2)
    ROWS(3)
    ROWS(4)
#if SEQUENCE_TILE_ROWS >= 6
    ROWS(5)
    ROWS(6)
#endif
#if SEQUENCE_TILE_ROWS >= 12
    ROWS(7)
    ROWS(8)
    ROWS(9)
    ROWS(10)
    ROWS(11)
    ROWS(12)
#endif
    default:
      break;
  }
#undef ROWS
}

static void NAME(tile_pair)(int64_t rows, const NdProduct *p, int64_t row, int64_t column) {
  NAME(tile_rows)(rows, 2, p, row, column);
}
static void NAME(tile_single)(int64_t rows, const NdProduct *p, int64_t row, int64_t column) {
  NAME(tile_rows)(rows, 1, p, row, column);
}

/* Tiles of about equal height: a low one at the end would leave the multipliers waiting. */
static void NAME(product)(const NdProduct *p) {
  const int64_t tiles = (p->rows + SEQUENCE_TILE_ROWS - 1) / SEQUENCE_TILE_ROWS;
  for (int64_t column = 0; column < p->columns; column += 2 * LANES) {
    for (int64_t tile = 0, row = 0; tile < tiles; tile++) {
      const int64_t rows = p->rows / tiles + (tile < p->rows % tiles);
      if (column + LANES < p->columns) {
        NAME(tile_pair)(rows, p, row, column);
      } else {
        NAME(tile_single)(rows, p, row, column);
      }
      row += rows;
    }
  }
}

/* -- other layouts ----------------------------------------------------------------------------------------------------- */

static void NAME(pack)(int64_t depth, int64_t columns, const void *from, int64_t step, int64_t column, void *to, int64_t to_row,
                       int64_t to_columns) {
  const REAL *x = (const REAL *)from;
  REAL *y = (REAL *)to;
  if (column == 1) {
    for (int64_t p = 0; p < depth; p++) memcpy(y + p * to_row, x + p * step, (size_t)columns * sizeof(REAL));
  } else {
    for (int64_t j = 0; j < columns; j++)
      for (int64_t p = 0; p < depth; p++) y[p * to_row + j] = x[p * step + j * column];
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

/* -- attention --------------------------------------------------------------------------------------------------------- */

/* STATEMENT(width) with a width that the compiler sees. */
#define BY_WIDTH(width, STATEMENT)    \
  if ((width) == LANES) {             \
    STATEMENT(LANES)                  \
  } else if ((width) == 2 * LANES) {  \
    STATEMENT(2 * LANES)              \
  } else {                            \
    STATEMENT(4 * LANES)              \
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
  for (int64_t r = 0; r < s->keys; r++, x += width)
    SEQUENCE_VECTOR for (int j = 0; j < width; j++) {
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
#define RESCALE(width)                          \
  for (int64_t p = 0; p < depth; p++, x += (width)) \
    SEQUENCE_VECTOR for (int j = 0; j < (width); j++) x[j] *= f[j];
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

/* -- lstm -------------------------------------------------------------------------------------------------------------- */

/* A sample; `units` is LANES for all but the last group of units. */
SEQUENCE_INLINE void NAME(lstm_sample)(const int units, const NdLstmStep *s, int64_t row) {
  const REAL *product = (const REAL *)s->product + row * 4 * LANES, *x = (const REAL *)s->gates + row * s->gates_row;
  const REAL *before = (const REAL *)s->cell_before + row * s->before_row;
  REAL *y = (REAL *)s->outputs + row * s->steps_row, *cells = (REAL *)s->cells + row * s->steps_row;
  REAL *activations = (REAL *)s->activations + row * s->activations_row, *state = (REAL *)s->state + row * s->state_row;
  const int64_t gate = s->gate;
  for (int64_t k = 0; k < 4; k++) {
    SEQUENCE_PREFETCH(x + (4 + k) * gate);
    SEQUENCE_PREFETCH(activations + (4 + k) * gate);
  }
  SEQUENCE_PREFETCH(y + gate);
  SEQUENCE_PREFETCH(cells + gate);
  SEQUENCE_VECTOR for (int j = 0; j < units; j++) {
    const REAL i = NAME(sigmoid)(product[j] + x[j]);
    const REAL f = NAME(sigmoid)(product[LANES + j] + x[gate + j]);
    const REAL g = NAME(tanh)(product[2 * LANES + j] + x[2 * gate + j]);
    const REAL o = NAME(sigmoid)(product[3 * LANES + j] + x[3 * gate + j]);
    const REAL cell = f * before[j] + i * g, hidden = o * NAME(tanh)(cell);
    activations[j] = i;
    activations[gate + j] = f;
    activations[2 * gate + j] = g;
    activations[3 * gate + j] = o;
    cells[j] = cell;
    y[j] = hidden;
    state[j] = hidden;
  }
}

static void NAME(lstm_step)(const NdLstmStep *step) {
  for (int64_t row = 0; row < step->rows; row++) {
    if (step->units == LANES) {
      NAME(lstm_sample)(LANES, step, row);
    } else {
      NAME(lstm_sample)((int)step->units, step, row);
    }
  }
}

SEQUENCE_INLINE void NAME(lstm_sample_back)(const int units, const NdLstmBack *s, int64_t row) {
  const REAL *product = (const REAL *)s->product + row * s->product_row, *grad = (const REAL *)s->grad + row * s->steps_row;
  const REAL *grad_cells = (const REAL *)s->grad_cells + row * s->cells_row;
  const REAL *further = (const REAL *)s->grad_activations + row * s->further_row;
  const REAL *activations = (const REAL *)s->activations + row * s->activations_row;
  const REAL *cells = (const REAL *)s->cells + row * s->steps_row, *before = (const REAL *)s->cell_before + row * s->before_row;
  REAL *carry = (REAL *)s->carry + row * s->carry_row, *out = (REAL *)s->grad_gates + row * s->activations_row;
  REAL *slopes = (REAL *)s->slopes + row * s->slopes_row;
  REAL *state = (REAL *)s->state + row * s->state_row;
  const int64_t gate = s->gate, other = s->further_gate;
  for (int64_t k = 0; k < 4; k++) {
    SEQUENCE_PREFETCH(activations - (4 - k) * gate);
    SEQUENCE_PREFETCH(out - (4 - k) * gate);
  }
  SEQUENCE_PREFETCH(grad - gate);
  SEQUENCE_PREFETCH(before - gate);
  SEQUENCE_PREFETCH(state - gate);
  SEQUENCE_VECTOR for (int j = 0; j < units; j++) {
    const REAL i = activations[j], f = activations[gate + j], g = activations[2 * gate + j], o = activations[3 * gate + j];
    const REAL bent = NAME(tanh)(cells[j]), hidden = product[j] + grad[j];
    const REAL cell = carry[j] + grad_cells[j] + hidden * o * (1 - bent * bent);
    const REAL of_i = (cell * g + further[j]) * (i * (1 - i));
    const REAL of_f = (cell * before[j] + further[other + j]) * (f * (1 - f));
    const REAL of_g = (cell * i + further[2 * other + j]) * (1 - g * g);
    const REAL of_o = (hidden * bent + further[3 * other + j]) * (o * (1 - o));
    carry[j] = cell * f;
    state[j] = o * bent;
    out[j] = of_i;
    out[gate + j] = of_f;
    out[2 * gate + j] = of_g;
    out[3 * gate + j] = of_o;
    slopes[j] = of_i;
    slopes[gate + j] = of_f;
    slopes[2 * gate + j] = of_g;
    slopes[3 * gate + j] = of_o;
  }
}

static void NAME(lstm_back)(const NdLstmBack *step) {
  for (int64_t row = 0; row < step->rows; row++) {
    if (step->units == LANES) {
      NAME(lstm_sample_back)(LANES, step, row);
    } else {
      NAME(lstm_sample_back)((int)step->units, step, row);
    }
  }
}

#undef BY_WIDTH
#undef VECTOR
#undef LANES
