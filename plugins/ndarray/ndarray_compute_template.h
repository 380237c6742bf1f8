/* ndarray_compute_template.h - GEMM and convolution loops for one dtype (REAL) and one vector width.
 *
 * All kernels keep a tile of sums in registers and stream over the long axis: vectors hold neighbouring columns or
 * pixels, the other operand is broadcast. Functions take the tile's size as a constant and are inlined, so that the
 * arrays of vectors become registers. Without vector types the same text works on single numbers. */

#if defined(__GNUC__)
typedef REAL NAME(Vector) __attribute__((vector_size(COMPUTE_VECTOR_BYTES)));
typedef INTEGER NAME(Mask) __attribute__((vector_size(COMPUTE_VECTOR_BYTES)));
#define MASKED(x, mask) ((VECTOR)((NAME(Mask))(x) & (mask)))
#else
typedef REAL NAME(Vector);
typedef INTEGER NAME(Mask);
#define MASKED(x, mask) (x)
#endif
#define VECTOR NAME(Vector)
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))
#define PANEL (2 * LANES) /* columns of a GEMM tile */
#define BLOCK_COLUMNS ((int64_t)(COMPUTE_BLOCK_BYTES / sizeof(REAL)) / COMPUTE_BLOCK_DEPTH)

COMPUTE_INLINE VECTOR NAME(load)(const REAL *from) {
  VECTOR x;
  memcpy(&x, from, sizeof x);
  return x;
}

COMPUTE_INLINE void NAME(store)(REAL *to, VECTOR x) { memcpy(to, &x, sizeof x); }

COMPUTE_INLINE VECTOR NAME(splat)(REAL value) {
  const VECTOR zero = {0};
  return zero + value;
}

/* -- matrix product
 * ---------------------------------------------------------------------------------------------------- */

/* C[rows, columns] (+)= A[rows, depth] x panel[depth, PANEL]; element (r, p) of A is a[r * a_row + p * a_step]. */
COMPUTE_INLINE void NAME(gemm_tile)(const int rows, int64_t depth, const REAL *a, int64_t a_row, int64_t a_step,
                                    const REAL *panel, REAL *c, int64_t ldc, int64_t columns, bool accumulate) {
  VECTOR sum[COMPUTE_TILE_ROWS][2];
  for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = NAME(splat)(0);
  for (int64_t p = 0; p < depth; p++) {
    const VECTOR b0 = NAME(load)(panel), b1 = NAME(load)(panel + LANES);
    for (int r = 0; r < rows; r++) {
      const REAL x = a[r * a_row];
      sum[r][0] += b0 * x;
      sum[r][1] += b1 * x;
    }
    a += a_step;
    panel += PANEL;
  }
  for (int r = 0; r < rows; r++) {
    REAL *to = c + r * ldc;
    if (columns == PANEL) {
      NAME(store)(to, accumulate ? NAME(load)(to) + sum[r][0] : sum[r][0]);
      NAME(store)(to + LANES, accumulate ? NAME(load)(to + LANES) + sum[r][1] : sum[r][1]);
    } else {
      REAL edge[2 * COMPUTE_VECTOR_BYTES / sizeof(REAL)];
      NAME(store)(edge, sum[r][0]);
      NAME(store)(edge + LANES, sum[r][1]);
      for (int64_t j = 0; j < columns; j++) to[j] = accumulate ? to[j] + edge[j] : edge[j];
    }
  }
}

/* The tile function for each number of rows left at the lower edge. */
static void NAME(gemm_rows)(int64_t rows, int64_t depth, const REAL *a, int64_t a_row, int64_t a_step,
                            const REAL *panel, REAL *c, int64_t ldc, int64_t columns, bool accumulate) {
#define ROWS(count)                                                                      \
  case count:                                                                            \
    NAME(gemm_tile)(count, depth, a, a_row, a_step, panel, c, ldc, columns, accumulate); \
    break;
  switch (rows) {
    ROWS(1)
    ROWS(2) ROWS(3) ROWS(4)
#if COMPUTE_TILE_ROWS >= 6
        ROWS(5) ROWS(6)
#endif
#if COMPUTE_TILE_ROWS >= 12
            ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12)
#endif
                default : break;
  }
#undef ROWS
}

/* Packs B[depth, columns] into panels of PANEL columns, the last one padded with zeros. */
static void NAME(gemm_pack)(bool transpose, int64_t depth, int64_t columns, const REAL *b, int64_t ldb, REAL *packed) {
  for (int64_t first = 0; first < columns; first += PANEL, packed += depth * PANEL) {
    const int64_t width = columns - first < PANEL ? columns - first : PANEL;
    if (width < PANEL) memset(packed, 0, (size_t)(depth * PANEL) * sizeof(REAL));
    if (!transpose && width == PANEL) {
      for (int64_t p = 0; p < depth; p++) memcpy(packed + p * PANEL, b + p * ldb + first, (size_t)PANEL * sizeof(REAL));
    } else {
      const int64_t column_step = transpose ? ldb : 1, row_step = transpose ? 1 : ldb;
      for (int64_t j = 0; j < width; j++) {
        const REAL *from = b + (first + j) * column_step;
        for (int64_t p = 0; p < depth; p++) packed[p * PANEL + j] = from[p * row_step];
      }
    }
  }
}

/* NdGemm: blocks of B are packed, A is read where it lies (one number per row and step). */
static void NAME(gemm)(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const REAL *a, int64_t lda,
                       const REAL *b, int64_t ldb, REAL *c, int64_t ldc, bool accumulate) {
  VECTOR block[COMPUTE_BLOCK_BYTES / sizeof(VECTOR)];
  REAL *packed = (REAL *)(void *)block;
  const int64_t a_row = transpose_a ? 1 : lda, a_step = transpose_a ? lda : 1;
  if (k <= 0 && !accumulate)
    for (int64_t i = 0; i < m && n > 0; i++) memset(c + i * ldc, 0, (size_t)n * sizeof(REAL));
  for (int64_t j = 0; j < n; j += BLOCK_COLUMNS) {
    const int64_t columns = n - j < BLOCK_COLUMNS ? n - j : BLOCK_COLUMNS;
    for (int64_t p = 0; p < k; p += COMPUTE_BLOCK_DEPTH) {
      const int64_t depth = k - p < COMPUTE_BLOCK_DEPTH ? k - p : COMPUTE_BLOCK_DEPTH;
      NAME(gemm_pack)(transpose_b, depth, columns, transpose_b ? b + j * ldb + p : b + p * ldb + j, ldb, packed);
      for (int64_t first = 0; first < columns; first += PANEL) {
        const int64_t width = columns - first < PANEL ? columns - first : PANEL;
        for (int64_t i = 0; i < m; i += COMPUTE_TILE_ROWS) {
          const int64_t rows = m - i < COMPUTE_TILE_ROWS ? m - i : COMPUTE_TILE_ROWS;
          NAME(gemm_rows)
          (rows, depth, a + i * a_row + p * a_step, a_row, a_step, packed + first * depth, c + i * ldc + j + first, ldc,
           width, accumulate || p > 0);
        }
      }
    }
  }
}

/* -- convolution
 * ------------------------------------------------------------------------------------------------------- */

/* Writes one vector of results to where its pixels lie. */
COMPUTE_INLINE void NAME(convolve_store)(const NdConvVector *v, REAL *plane, int64_t step, VECTOR x) {
  if (v->lanes == LANES && step == 1) {
    NAME(store)(plane + v->output, x);
  } else {
    REAL lanes[COMPUTE_VECTOR_BYTES / sizeof(REAL)];
    NAME(store)(lanes, x);
    for (int32_t i = 0; i < v->lanes; i++) plane[v->output + i * step] = lanes[i];
    for (int32_t i = 0; i < v->next_lanes; i++) plane[v->next_output + i * step] = lanes[v->next_first + i];
  }
}

/* `rows` output channels from `channel` on, for `count` vectors of pixels. */
COMPUTE_INLINE void NAME(convolve_block)(const int rows, const int count, const NdConvTile *tile, int64_t channel,
                                         const NdConvVector *vectors) {
  const REAL *weights = (const REAL *)tile->weights + channel * tile->taps, *pixels[COMPUTE_VECTORS];
  const int64_t taps = tile->taps, *offsets = tile->offsets;
  VECTOR sum[COMPUTE_CHANNELS][COMPUTE_VECTORS];
  for (int v = 0; v < count; v++) pixels[v] = (const REAL *)tile->input + vectors[v].input;
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < count; v++) sum[r][v] = NAME(splat)(tile->bias ? ((const REAL *)tile->bias)[channel + r] : 0);
  for (int64_t tap = 0; tap < taps; tap++) {
    VECTOR x[COMPUTE_VECTORS];
    for (int v = 0; v < count; v++) x[v] = NAME(load)(pixels[v] + offsets[tap]);
    for (int r = 0; r < rows; r++) {
      const REAL weight = weights[r * taps + tap];
      for (int v = 0; v < count; v++) sum[r][v] += x[v] * weight;
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < count; v++)
      NAME(convolve_store)(&vectors[v], (REAL *)tile->output + (channel + r) * tile->plane, tile->step, sum[r][v]);
}

/* All tiles of one row of blocks. */
COMPUTE_INLINE void NAME(convolve_rows)(const int rows, const NdConvTile *tile, int64_t channel) {
  int64_t v = 0;
  for (; v + 3 <= tile->vector_count; v += 3) NAME(convolve_block)(rows, 3, tile, channel, tile->vectors + v);
  if (v + 2 == tile->vector_count) NAME(convolve_block)(rows, 2, tile, channel, tile->vectors + v);
  if (v + 1 == tile->vector_count) NAME(convolve_block)(rows, 1, tile, channel, tile->vectors + v);
}

static void NAME(convolve)(const NdConvTile *tile) {
  for (int64_t channel = 0; channel < tile->channels; channel += COMPUTE_CHANNELS) {
    switch (tile->channels - channel) {
      case 1:
        NAME(convolve_rows)(1, tile, channel);
        break;
      case 2:
        NAME(convolve_rows)(2, tile, channel);
        break;
      case 3:
        NAME(convolve_rows)(3, tile, channel);
        break;
      default:
        NAME(convolve_rows)(4, tile, channel);
        break;
    }
  }
}

/* `rows` channels of grad times `count` taps, over all pixels. */
COMPUTE_INLINE void NAME(correlate_block)(const int rows, const int count, const NdConvCorrelation *c, int64_t channel,
                                          int64_t tap, NAME(Mask) tail) {
  REAL *sums = (REAL *)c->sums + (channel * c->taps + tap) * LANES;
  const REAL *input = (const REAL *)c->input, *grad = (const REAL *)c->grad + channel * c->grad_plane;
  VECTOR sum[COMPUTE_CHANNELS][COMPUTE_VECTORS], x[COMPUTE_VECTORS];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < count; v++) sum[r][v] = NAME(load)(sums + (r * c->taps + v) * LANES);
  for (int64_t row = 0; row < c->rows; row++, input += c->input_row, grad += c->grad_row) {
    const REAL *taps[COMPUTE_VECTORS];
    int64_t column = 0;
    for (int v = 0; v < count; v++) taps[v] = input + c->offsets[tap + v];
    for (; column + LANES <= c->columns; column += LANES) {
      for (int v = 0; v < count; v++) x[v] = NAME(load)(taps[v] + column);
      for (int r = 0; r < rows; r++) {
        const VECTOR g = NAME(load)(grad + r * c->grad_plane + column);
        for (int v = 0; v < count; v++) sum[r][v] += x[v] * g;
      }
    }
    if (column == c->columns) continue;
    /* Beyond the row x may be anything, an infinity too, and 0 * infinity would not vanish. */
    for (int v = 0; v < count; v++) x[v] = MASKED(NAME(load)(taps[v] + column), tail);
    for (int r = 0; r < rows; r++) {
      const VECTOR g = NAME(load)(grad + r * c->grad_plane + column);
      for (int v = 0; v < count; v++) sum[r][v] += x[v] * g;
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < count; v++) NAME(store)(sums + (r * c->taps + v) * LANES, sum[r][v]);
}

COMPUTE_INLINE void NAME(correlate_rows)(const int rows, const NdConvCorrelation *c, int64_t channel, NAME(Mask) tail) {
  int64_t tap = 0;
  for (; tap + 3 <= c->taps; tap += 3) NAME(correlate_block)(rows, 3, c, channel, tap, tail);
  if (tap + 2 == c->taps) NAME(correlate_block)(rows, 2, c, channel, tap, tail);
  if (tap + 1 == c->taps) NAME(correlate_block)(rows, 1, c, channel, tap, tail);
}

static void NAME(correlate)(const NdConvCorrelation *c) {
  INTEGER lanes[COMPUTE_VECTOR_BYTES / sizeof(REAL)];
  NAME(Mask) tail;
  for (int64_t i = 0; i < LANES; i++) lanes[i] = i < c->columns % LANES ? -1 : 0;
  memcpy(&tail, lanes, sizeof tail);
  for (int64_t channel = 0; channel < c->channels; channel += COMPUTE_CHANNELS) {
    switch (c->channels - channel) {
      case 1:
        NAME(correlate_rows)(1, c, channel, tail);
        break;
      case 2:
        NAME(correlate_rows)(2, c, channel, tail);
        break;
      case 3:
        NAME(correlate_rows)(3, c, channel, tail);
        break;
      default:
        NAME(correlate_rows)(4, c, channel, tail);
        break;
    }
  }
}

static void NAME(fold)(const void *sums, int64_t count, void *out) {
  const REAL *from = (const REAL *)sums;
  for (int64_t i = 0; i < count; i++, from += LANES) {
    REAL sum = from[0];
    for (int64_t lane = 1; lane < LANES; lane++) sum += from[lane];
    ((REAL *)out)[i] = sum;
  }
}

#undef MASKED
#undef VECTOR
#undef LANES
#undef PANEL
#undef BLOCK_COLUMNS
