/* ndarray_compute_template.h - convolution loops for one dtype (REAL) and one vector width.
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
