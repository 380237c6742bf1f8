/* ndarray_pooling_template.h - pooling of one plane, for one dtype: REAL, INDEX (an integer of the same size, so that
 * values and positions fill equal vectors) and NAME are defined by ndarray_pooling.c.
 *
 * Output rows are done in runs of RUN pixels; for each tap of the window the loop over the pixels is the inner one. */

/* Largest value, and the position y * w + x of its first hit, per output pixel. `positions` NULL if not wanted. */
static void NAME(max_plane)(const Pool *pool, const REAL *x, REAL *out, void *positions) {
  const Axis *rows = &pool->y, *columns = &pool->x;
  for (int64_t oy = 0; oy < rows->out; oy++)
    for (int64_t first = 0; first < columns->out; first += RUN) {
      const int64_t count = least(RUN, columns->out - first);
      REAL best[RUN];
      INDEX at[RUN];
      for (int64_t i = 0; i < count; i++) best[i] = -(REAL)INFINITY, at[i] = -1;
      for (int64_t ky = 0; ky < rows->kernel; ky++) {
        const int64_t iy = oy * rows->stride + ky * rows->dilation - rows->padding;
        if (iy < 0 || iy >= rows->in) continue;
        for (int64_t kx = 0; kx < columns->kernel; kx++) {
          const int64_t shift = kx * columns->dilation - columns->padding;
          int64_t begin, end;
          axis_range(columns, shift, first, count, &begin, &end);
          const REAL *from = x + iy * columns->in;
          for (int64_t i = begin; i < end; i++) {
            const int64_t ix = (first + i) * columns->stride + shift;
            const REAL value = from[ix];
            const bool better = (value > best[i]) | ((value != value) & (best[i] == best[i])) | (at[i] < 0);
            best[i] = better ? value : best[i];
            at[i] = better ? (INDEX)(iy * columns->in + ix) : at[i];
          }
        }
      }
      memcpy(out + oy * columns->out + first, best, (size_t)count * sizeof(REAL));
      for (int64_t i = 0; positions && i < count; i++)
        put_index(pool->index_dtype, positions, oy * columns->out + first + i, at[i] < 0 ? 0 : (int64_t)at[i]);
    }
}

/* Mean of the window, zeros of the padding included; the divisor is that of axis_extent. */
static void NAME(avg_plane)(const Pool *pool, const REAL *x, REAL *out) {
  const Axis *rows = &pool->y, *columns = &pool->x;
  for (int64_t oy = 0; oy < rows->out; oy++) {
    const int64_t height = axis_extent(rows, oy, pool->count_include_pad);
    for (int64_t first = 0; first < columns->out; first += RUN) {
      const int64_t count = least(RUN, columns->out - first);
      REAL sum[RUN];
      for (int64_t i = 0; i < count; i++) sum[i] = 0;
      for (int64_t ky = 0; ky < rows->kernel; ky++) {
        const int64_t iy = oy * rows->stride + ky - rows->padding;
        if (iy < 0 || iy >= rows->in) continue;
        for (int64_t kx = 0; kx < columns->kernel; kx++) {
          const int64_t shift = kx - columns->padding;
          const REAL *from = x + iy * columns->in;
          int64_t begin, end;
          axis_range(columns, shift, first, count, &begin, &end);
          for (int64_t i = begin; i < end; i++) sum[i] += from[(first + i) * columns->stride + shift];
        }
      }
      for (int64_t i = 0; i < count; i++) {
        const int64_t divisor = height * axis_extent(columns, first + i, pool->count_include_pad);
        out[oy * columns->out + first + i] = divisor > 0 ? sum[i] / (REAL)divisor : 0;
      }
    }
  }
}

/* dx += grad / divisor over every window; dx is all zero at first. */
static void NAME(avg_plane_backward)(const Pool *pool, const REAL *grad, REAL *dx) {
  const Axis *rows = &pool->y, *columns = &pool->x;
  for (int64_t oy = 0; oy < rows->out; oy++) {
    const int64_t height = axis_extent(rows, oy, pool->count_include_pad);
    for (int64_t first = 0; first < columns->out; first += RUN) {
      const int64_t count = least(RUN, columns->out - first);
      REAL share[RUN];
      for (int64_t i = 0; i < count; i++) {
        const int64_t divisor = height * axis_extent(columns, first + i, pool->count_include_pad);
        share[i] = divisor > 0 ? grad[oy * columns->out + first + i] / (REAL)divisor : 0;
      }
      for (int64_t ky = 0; ky < rows->kernel; ky++) {
        const int64_t iy = oy * rows->stride + ky - rows->padding;
        if (iy < 0 || iy >= rows->in) continue;
        for (int64_t kx = 0; kx < columns->kernel; kx++) {
          const int64_t shift = kx - columns->padding;
          REAL *to = dx + iy * columns->in;
          int64_t begin, end;
          axis_range(columns, shift, first, count, &begin, &end);
          for (int64_t i = begin; i < end; i++) to[(first + i) * columns->stride + shift] += share[i];
        }
      }
    }
  }
}

static void NAME(adaptive_plane)(const Pool *pool, const REAL *x, REAL *out) {
  const Span first_column = span_first(&pool->x);
  Span row = span_first(&pool->y);
  for (int64_t oy = 0; oy < pool->y.out; oy++, span_next(&row)) {
    Span column = first_column;
    for (int64_t ox = 0; ox < pool->x.out; ox++, span_next(&column)) {
      REAL sum = 0;
      for (int64_t iy = row.begin; iy < row.end; iy++)
        for (int64_t ix = column.begin; ix < column.end; ix++) sum += x[iy * pool->x.in + ix];
      *out++ = sum / (REAL)((row.end - row.begin) * (column.end - column.begin));
    }
  }
}

/* Neighbouring windows may share pixels, so shares are added. */
static void NAME(adaptive_plane_backward)(const Pool *pool, const REAL *grad, REAL *dx) {
  const Span first_column = span_first(&pool->x);
  Span row = span_first(&pool->y);
  for (int64_t oy = 0; oy < pool->y.out; oy++, span_next(&row)) {
    Span column = first_column;
    for (int64_t ox = 0; ox < pool->x.out; ox++, span_next(&column)) {
      const REAL share = *grad++ / (REAL)((row.end - row.begin) * (column.end - column.begin));
      for (int64_t iy = row.begin; iy < row.end; iy++)
        for (int64_t ix = column.begin; ix < column.end; ix++) dx[iy * pool->x.in + ix] += share;
    }
  }
}

/* dx[position] += grad; false, with the number of the output pixel, if a position lies outside the plane. */
static bool NAME(max_plane_backward)(const Pool *pool, const REAL *grad, const void *positions, REAL *dx,
                                     int64_t *bad) {
  const int64_t outputs = pool->y.out * pool->x.out, inputs = pool->y.in * pool->x.in;
  for (int64_t i = 0; i < outputs; i++) {
    const int64_t position = get_index(pool->index_dtype, positions, i);
    if (position < 0 || position >= inputs) {
      *bad = i;
      return false;
    }
    dx[position] += grad[i];
  }
  return true;
}
