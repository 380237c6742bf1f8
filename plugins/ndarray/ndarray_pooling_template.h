/* ndarray_pooling_template.h - pooling of one plane, for one dtype: REAL, INDEX and BITS (integers of the same size, so
 * that values, positions and masks fill equal vectors) and NAME are defined by ndarray_pooling.inc.
 *
 * A largest element is found along the rows first: what a row has for each column of windows joins the windows that the
 * row belongs to. Rows come in order and only a larger element replaces one, so the first hit of a window stays, and a
 * NaN is the largest. Averages add up the rows of a window first, and then along the row of sums. */

/* -- the largest ------------------------------------------------------------------------------ */

ND_INLINE int NAME(beats)(REAL x, REAL known) { return (x > known) | ((x != x) & (known == known)); }

/* first ? a : b by arithmetic on bits, which every compiler makes vectors of. */
ND_INLINE REAL NAME(pick)(int first, REAL a, REAL b) {
  const BITS mask = (BITS)0 - (BITS)first;
  BITS p, q;
  memcpy(&p, &a, sizeof p);
  memcpy(&q, &b, sizeof q);
  p = (p & mask) | (q & ~mask);
  memcpy(&a, &p, sizeof a);
  return a;
}
ND_INLINE INDEX NAME(pick_index)(int first, INDEX a, INDEX b) {
  const INDEX mask = (INDEX)((BITS)0 - (BITS)first);
  return (a & mask) | (b & ~mask);
}

/* The columns of a padded row that tap k of the windows sees: column i * stride + k is element i. Of a row that was
 * split into even and odd columns, for windows two apart, the elements of a tap are neighbours. */
typedef struct NAME(Columns) {
  const REAL *even, *odd;
  int64_t stride;
  bool is_split;
} NAME(Columns);

ND_INLINE REAL NAME(column)(const NAME(Columns) * columns, int64_t i, int64_t k) {
  if (columns->is_split) return (k % 2 ? columns->odd : columns->even)[i + k / 2];
  return columns->even[i * columns->stride + k];
}

/* Splits n columns; `room` takes them. */
static NAME(Columns) NAME(split)(const REAL *restrict from, int64_t n, REAL *restrict room) {
  const int64_t half = (n + 1) / 2;
  REAL *odd = room + half;
  ND_VECTOR for (int64_t i = 0; i < n / 2; i++) {
    room[i] = from[2 * i];
    odd[i] = from[2 * i + 1];
  }
  if (n % 2) room[half - 1] = from[n - 1];
  return (NAME(Columns)){room, odd, 2, true};
}

/* Joins taps `first` .. `last` of all windows; `base` is the position of the first column. */
ND_INLINE void NAME(max_taps)(NAME(Columns) columns, int64_t count, int64_t first, int64_t last, INDEX base,
                              REAL *restrict best, INDEX *restrict at) {
  ND_VECTOR for (int64_t i = 0; i < count; i++) {
    REAL largest = NAME(column)(&columns, i, first);
    INDEX tap = (INDEX)first;
    ND_UNROLL for (int64_t k = first + 1; k <= last; k++) {
      const REAL x = NAME(column)(&columns, i, k);
      const int better = NAME(beats)(x, largest);
      largest = NAME(pick)(better, x, largest);
      tap = NAME(pick_index)(better, (INDEX)k, tap);
    }
    const int better = NAME(beats)(largest, best[i]);
    best[i] = NAME(pick)(better, largest, best[i]);
    if (at) at[i] = NAME(pick_index)(better, base + (INDEX)(i * columns.stride) + tap, at[i]);
  }
}

/* The usual windows have loops of their own, where a window is in registers. */
ND_INLINE void NAME(max_narrow)(const NdPoolAxis *x, const REAL *from, INDEX base, REAL *best, INDEX *at, REAL *room) {
  const int64_t n = x->out, reach = (x->kernel - 1) * x->dilation;
  if (x->stride == 2 && reach == 1) {
    NAME(max_taps)((NAME(Columns)){from, NULL, 2, false}, n, 0, 1, base, best, at);
  } else if (x->stride == 2) {
    const NAME(Columns) split = NAME(split)(from, 2 * (n - 1) + reach + 1, room);
    const NAME(Columns) columns = {split.even, split.odd, 2, true};
    if (x->kernel == 3 && x->dilation == 1)
      NAME(max_taps)(columns, n, 0, 2, base, best, at);
    else
      for (int64_t k = 0; k <= reach; k += x->dilation) NAME(max_taps)(columns, n, k, k, base, best, at);
  } else if (x->stride == 1) {
    const NAME(Columns) columns = {from, NULL, 1, false};
    if (x->kernel == 3 && x->dilation == 1)
      NAME(max_taps)(columns, n, 0, 2, base, best, at);
    else
      for (int64_t k = 0; k <= reach; k += x->dilation) NAME(max_taps)(columns, n, k, k, base, best, at);
  } else {
    const NAME(Columns) columns = {from, NULL, x->stride, false};
    for (int64_t k = 0; k <= reach; k += x->dilation) NAME(max_taps)(columns, n, k, k, base, best, at);
  }
}

/* Joins x[first .. last] to one window: blocks without a larger element are passed over. */
static void NAME(max_wide)(const REAL *x, Span span, INDEX base, REAL *best, INDEX *at) {
  enum { BLOCK = 64 };
  for (int64_t i = span.first; i <= span.last && *best == *best;) {
    const REAL known = *best;
    const int64_t end = least(i + BLOCK, span.last + 1);
    int found = end - i < BLOCK;
    if (!found) {
      for (int j = 0; j < BLOCK; j++) found |= (x[i + j] > known) | (x[i + j] != x[i + j]);
    }
    for (; found && i < end; i++) {
      if (!NAME(beats)(x[i], *best)) continue;
      *best = x[i];
      if (at) *at = base + (INDEX)i;
    }
    i = end;
  }
}

/* The same for windows that overlap: `queue` holds the elements of the window that no later one of it beats, in order.
 */
static void NAME(max_slid)(const NdPooling *pool, const REAL *x, INDEX base, REAL *best, INDEX *at, INDEX *queue) {
  int64_t head = 0, tail = 0, next = 0;
  for (int64_t o = 0; o < pool->x.out; o++) {
    const Span span = window(pool, &pool->x, o);
    for (; next <= span.last; next++) {
      while (tail > head && NAME(beats)(x[next], x[queue[tail - 1]])) tail--;
      queue[tail++] = (INDEX)next;
    }
    while (head < tail && queue[head] < span.first) head++;
    if (head == tail || !NAME(beats)(x[queue[head]], best[o])) continue;
    best[o] = x[queue[head]];
    if (at) at[o] = base + queue[head];
  }
}

/* Joins a row of the input to the windows of best and at (NULL: places are not wanted). `padded` has -infinity around
 * room for a row, `queue` has as much room. */
ND_INLINE void NAME(max_row)(const NdPooling *pool, const REAL *row, INDEX base, REAL *best, INDEX *at, REAL *padded,
                             INDEX *queue) {
  const NdPoolAxis *x = &pool->x;
  if (is_slid(pool)) {
    NAME(max_slid)(pool, row, base, best, at, queue);
  } else if (is_wide(pool)) {
    for (int64_t o = 0; o < x->out; o++) NAME(max_wide)(row, window(pool, x, o), base, best + o, at ? at + o : NULL);
  } else {
    const bool inside = x->padding == 0 && (x->out - 1) * x->stride + (x->kernel - 1) * x->dilation < x->in;
    if (!inside) memcpy(padded + x->padding, row, (size_t)x->in * sizeof *row);
    NAME(max_narrow)(x, inside ? row : padded, base - (INDEX)x->padding, best, at, (REAL *)(void *)queue);
  }
}

static void NAME(max_row_placed)(const NdPooling *pool, const REAL *row, INDEX base, REAL *best, INDEX *at,
                                 REAL *padded, INDEX *queue) {
  if (at)
    NAME(max_row)(pool, row, base, best, at, padded, queue);
  else
    NAME(max_row)(pool, row, base, best, NULL, padded, queue);
}

/* Where the first element of every window is, or 0 where a window has none. */
static void NAME(max_start)(const NdPooling *pool, INDEX *at) {
  const int64_t width = pool->x.out;
  for (int64_t oy = 0; oy < pool->y.out; oy++) {
    const int64_t top = oy * pool->y.stride - pool->y.padding, down = pool->y.dilation;
    const int64_t iy = top < 0 ? top + (-top + down - 1) / down * down : top;
    for (int64_t ox = 0; ox < width; ox++) {
      const int64_t left = ox * pool->x.stride - pool->x.padding, along = pool->x.dilation;
      const int64_t ix = left < 0 ? left + (-left + along - 1) / along * along : left;
      const bool within = iy < pool->y.in && iy <= top + (pool->y.kernel - 1) * down && ix < pool->x.in &&
                          ix <= left + (pool->x.kernel - 1) * along;
      at[oy * width + ox] = within ? (INDEX)(iy * pool->x.in + ix) : 0;
    }
  }
}

/* Joins the findings of one row to those of a row of windows. */
ND_INLINE void NAME(max_join)(int64_t n, const REAL *restrict found, const INDEX *restrict places, REAL *restrict best,
                              INDEX *restrict at) {
  ND_VECTOR for (int64_t i = 0; i < n; i++) {
    const int better = NAME(beats)(found[i], best[i]);
    best[i] = NAME(pick)(better, found[i], best[i]);
    if (at) at[i] = NAME(pick_index)(better, places[i], at[i]);
  }
}

static void NAME(max_rows)(const NdPooling *pool, const REAL *x, REAL *out, INDEX *at, void *scratch) {
  const NdPoolAxis *rows = &pool->y;
  const int64_t width = pool->x.out, room = nd_pooling_row(pool);
  REAL *padded = (REAL *)scratch, *found = (REAL *)((double *)scratch + room);
  INDEX *places = (INDEX *)(void *)((double *)scratch + 2 * room),
        *queue = (INDEX *)(void *)((double *)scratch + 3 * room);
  for (int64_t iy = 0; iy < rows->in; iy++) {
    const Span windows = covering(rows, iy);
    const INDEX base = (INDEX)(iy * pool->x.in);
    if (windows.first == windows.last && rows->dilation == 1) {
      const int64_t to = windows.first * width;
      NAME(max_row_placed)(pool, x + iy * pool->x.in, base, out + to, at ? at + to : NULL, padded, queue);
      continue;
    }
    if (windows.first > windows.last) continue;
    for (int64_t i = 0; i < width; i++) found[i] = -(REAL)INFINITY;
    NAME(max_row_placed)(pool, x + iy * pool->x.in, base, found, at ? places : NULL, padded, queue);
    for (int64_t oy = windows.first; oy <= windows.last; oy++) {
      if ((iy + rows->padding - oy * rows->stride) % rows->dilation != 0) continue;
      if (at)
        NAME(max_join)(width, found, places, out + oy * width, at + oy * width);
      else
        NAME(max_join)(width, found, NULL, out + oy * width, NULL);
    }
  }
}

/* Nothing is found yet where a plane starts: -infinity at the first element of every window. */
static void NAME(max_planes)(const NdPooling *pool, int64_t planes, const void *from, void *to, void *at, void *start,
                             void *scratch) {
  const int64_t inputs = pool->y.in * pool->x.in, outputs = pool->y.out * pool->x.out, room = nd_pooling_row(pool);
  const REAL *x = (const REAL *)from;
  REAL *out = (REAL *)to, *padded = (REAL *)scratch;
  INDEX *places = (INDEX *)at;
  for (int64_t i = 0; i < room; i++) padded[i] = -(REAL)INFINITY;
  if (places) NAME(max_start)(pool, (INDEX *)start);
  for (int64_t plane = 0; plane < planes; plane++, x += inputs, out += outputs) {
    for (int64_t i = 0; i < outputs; i++) out[i] = -(REAL)INFINITY;
    if (places) memcpy(places, start, (size_t)outputs * sizeof *places);
    NAME(max_rows)(pool, x, out, places, scratch);
    if (places) places += outputs;
  }
}

/* -- averages --------------------------------------------------------------------------------- */

ND_INLINE void NAME(add)(int64_t n, REAL *restrict to, const REAL *restrict from) {
  ND_VECTOR for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* Sum of n elements, by as many accumulators as a few vectors have. */
static REAL NAME(run_sum)(const REAL *x, int64_t n) {
  enum { LANES = 32 };
  REAL lanes[LANES] = {0};
  double total = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int j = 0; j < LANES; j++) lanes[j] += x[i + j];
  for (int j = 0; n >= LANES && j < LANES; j++) total += (double)lanes[j];
  for (; i < n; i++) total += (double)x[i];
  return (REAL)total;
}

/* Sums of x over spans whose ends only grow, each element being added twice: `behind` has the sums from an element up
 * to the split, and what follows the split is added up as it comes. Nothing is subtracted, so infinities and rounding
 * stay within their spans. */
typedef struct NAME(Slide) {
  const REAL *x;
  double *behind;
  double ahead;
  int64_t split, end;
} NAME(Slide);

static REAL NAME(slide)(NAME(Slide) * slide, Span span) {
  for (; slide->end <= span.last; slide->end++) slide->ahead += (double)slide->x[slide->end];
  if (span.first >= slide->split) {
    double sum = 0;
    for (int64_t i = span.last; i >= span.first; i--) slide->behind[i] = sum += (double)slide->x[i];
    slide->split = slide->end = most(span.last + 1, slide->end);
    slide->ahead = 0;
    return (REAL)sum;
  }
  return (REAL)(span.last < span.first ? 0 : slide->behind[span.first] + slide->ahead);
}

/* out = sum of the taps / divisors, over a padded row of sums. */
ND_INLINE void NAME(avg_taps)(NAME(Columns) columns, int64_t n, int64_t kernel, const REAL *restrict divisors,
                              REAL *restrict out) {
  ND_VECTOR for (int64_t i = 0; i < n; i++) {
    REAL sum = NAME(column)(&columns, i, 0);
    ND_UNROLL for (int64_t k = 1; k < kernel; k++) sum += NAME(column)(&columns, i, k);
    out[i] = sum / divisors[i];
  }
}

static void NAME(avg_narrow)(const NdPoolAxis *x, const REAL *from, const REAL *divisors, REAL *out, REAL *room) {
  const int64_t n = x->out;
  if (x->stride == 2 && x->kernel == 2) {
    NAME(avg_taps)((NAME(Columns)){from, NULL, 2, false}, n, 2, divisors, out);
  } else if (x->stride == 2 && x->kernel == 3) {
    const NAME(Columns) split = NAME(split)(from, 2 * n + 1, room);
    NAME(avg_taps)((NAME(Columns)){split.even, split.odd, 2, true}, n, 3, divisors, out);
  } else if (x->stride == 1 && x->kernel == 3) {
    NAME(avg_taps)((NAME(Columns)){from, NULL, 1, false}, n, 3, divisors, out);
  } else if (x->stride == 4 && x->kernel == 4) {
    NAME(avg_taps)((NAME(Columns)){from, NULL, 4, false}, n, 4, divisors, out);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = from[i * x->stride];
    for (int64_t k = 1; k < x->kernel; k++)
      for (int64_t i = 0; i < n; i++) out[i] += from[i * x->stride + k];
    for (int64_t i = 0; i < n; i++) out[i] /= divisors[i];
  }
}

/* What windows of this height divide by: 1 where they count nothing, as their sum is 0. */
static void NAME(divide_by)(const NdPooling *pool, int64_t height, const REAL *extents, REAL *divisors) {
  for (int64_t i = 0; i < pool->x.out; i++) divisors[i] = height > 0 && extents[i] > 0 ? (REAL)height * extents[i] : 1;
}
static void NAME(extents)(const NdPooling *pool, REAL *extents) {
  for (int64_t i = 0; i < pool->x.out; i++) extents[i] = (REAL)extent(pool, &pool->x, i);
}

/* Means of the windows of one row of windows; `sums` of the rows they cover stand in a row with padding, unless windows
 * are wide. */
static void NAME(avg_row)(const NdPooling *pool, const REAL *sums, const REAL *divisors, REAL *out, double *behind) {
  const NdPoolAxis *x = &pool->x;
  if (!is_wide(pool) && !is_slid(pool)) {
    NAME(avg_narrow)(x, sums - x->padding, divisors, out, (REAL *)(void *)behind);
    return;
  }
  NAME(Slide) slide = {.x = sums, .behind = behind};
  for (int64_t i = 0; i < x->out; i++) {
    const Span span = window(pool, x, i);
    const REAL sum =
        is_slid(pool) ? NAME(slide)(&slide, span) : NAME(run_sum)(sums + span.first, span.last - span.first + 1);
    out[i] = sum / divisors[i];
  }
}

/* The sums of rows that a row of windows covers: in `sums`, or the row itself where it is one and needs no padding. */
static const REAL *NAME(row_sums)(const NdPooling *pool, const REAL *x, Span rows, REAL *sums) {
  const int64_t width = pool->x.in;
  if (rows.first == rows.last && is_wide(pool)) return x + rows.first * width;
  if (rows.first > rows.last)
    memset(sums, 0, (size_t)width * sizeof *sums);
  else
    memcpy(sums, x + rows.first * width, (size_t)width * sizeof *sums);
  for (int64_t iy = rows.first + 1; iy <= rows.last; iy++) NAME(add)(width, sums, x + iy * width);
  return sums;
}

static void NAME(avg_planes)(const NdPooling *pool, int64_t planes, const void *from, void *to, void *scratch) {
  const int64_t inputs = pool->y.in * pool->x.in, room = nd_pooling_row(pool);
  const REAL *x = (const REAL *)from;
  REAL *out = (REAL *)to, *padded = (REAL *)scratch;
  REAL *extents = (REAL *)((double *)scratch + room), *divisors = (REAL *)((double *)scratch + 2 * room);
  int64_t known = -1;
  NAME(extents)(pool, extents);
  memset(padded, 0, (size_t)room * sizeof *padded);
  for (int64_t plane = 0; plane < planes; plane++, x += inputs)
    for (int64_t oy = 0; oy < pool->y.out; oy++, out += pool->x.out) {
      const int64_t height = extent(pool, &pool->y, oy);
      if (height != known) NAME(divide_by)(pool, height, extents, divisors);
      known = height;
      const REAL *sums = NAME(row_sums)(pool, x, window(pool, &pool->y, oy), padded + pool->x.padding);
      NAME(avg_row)(pool, sums, divisors, out, (double *)scratch + 3 * room);
    }
}

/* -- gradients of averages -------------------------------------------------------------------- */

/* Adds the share of every window to the columns that it covers. */
ND_INLINE void NAME(spread_taps)(const REAL *restrict shares, int64_t n, int64_t stride, int64_t kernel,
                                 REAL *restrict to) {
  for (int64_t k = 0; k < kernel; k++) {
    ND_VECTOR for (int64_t i = 0; i < n; i++) to[i * stride + k] += shares[i];
  }
}

/* The same where windows follow each other without gaps and overlaps. */
ND_INLINE void NAME(spread_tiles)(const REAL *restrict shares, int64_t n, int64_t kernel, REAL *restrict to) {
  ND_VECTOR for (int64_t i = 0; i < n; i++) {
    ND_UNROLL for (int64_t k = 0; k < kernel; k++) to[i * kernel + k] = shares[i];
  }
}

/* sums = what one row of windows gives to each of its rows; in a row with padding unless windows are wide. */
static void NAME(spread)(const NdPooling *pool, const REAL *shares, REAL *sums, double *behind) {
  const NdPoolAxis *x = &pool->x;
  REAL *padded = sums - (is_wide(pool) ? 0 : x->padding);
  NAME(Slide) slide = {.x = shares, .behind = behind};
  if (is_slid(pool)) {
    for (int64_t i = 0; i < x->in; i++) sums[i] = NAME(slide)(&slide, covering(x, i));
    return;
  }
  memset(padded, 0, (size_t)(is_wide(pool) ? x->in : nd_pooling_row(pool)) * sizeof *sums);
  if (is_wide(pool)) {
    for (int64_t o = 0; o < x->out; o++) {
      const Span span = window(pool, x, o);
      for (int64_t i = span.first; i <= span.last; i++) sums[i] += shares[o];
    }
  } else if (x->kernel == 2 && x->stride == 2) {
    NAME(spread_tiles)(shares, x->out, 2, padded);
  } else if (x->kernel == 4 && x->stride == 4) {
    NAME(spread_tiles)(shares, x->out, 4, padded);
  } else if (x->stride == 1) {
    NAME(spread_taps)(shares, x->out, 1, x->kernel, padded);
  } else {
    NAME(spread_taps)(shares, x->out, x->stride, x->kernel, padded);
  }
}

/* Adds the row of sums to rows of dx; those from `fresh` on have got nothing yet. Returns where these begin now. */
static int64_t NAME(give)(const NdPooling *pool, Span rows, int64_t fresh, const REAL *sums, REAL *dx) {
  const int64_t width = pool->x.in;
  for (int64_t iy = rows.first; iy < least(fresh, rows.last + 1); iy++) NAME(add)(width, dx + iy * width, sums);
  if (rows.last < fresh) return fresh;
  const int64_t begin = most(rows.first, fresh);
  memset(dx + fresh * width, 0, (size_t)((begin - fresh) * width) * sizeof *dx);
  for (int64_t iy = begin; iy <= rows.last; iy++) {
    if (dx + iy * width != sums) memcpy(dx + iy * width, sums, (size_t)width * sizeof *dx);
  }
  return rows.last + 1;
}

static void NAME(avg_backward_planes)(const NdPooling *pool, int64_t planes, const void *from, void *to,
                                      void *scratch) {
  const REAL *grad = (const REAL *)from;
  REAL *dx = (REAL *)to;
  const int64_t width = pool->x.in, room = nd_pooling_row(pool);
  REAL *padded = (REAL *)scratch, *extents = (REAL *)((double *)scratch + room),
       *shares = (REAL *)((double *)scratch + 2 * room);
  NAME(extents)(pool, extents);
  for (int64_t plane = 0; plane < planes; plane++, dx += pool->y.in * width) {
    int64_t fresh = 0;
    for (int64_t oy = 0; oy < pool->y.out; oy++, grad += pool->x.out) {
      const Span rows = window(pool, &pool->y, oy);
      if (rows.first > rows.last) continue;
      const bool is_alone = is_wide(pool) && rows.first == rows.last && rows.first >= fresh;
      REAL *sums = is_alone ? dx + rows.first * width : padded + pool->x.padding;
      NAME(divide_by)(pool, extent(pool, &pool->y, oy), extents, shares);
      ND_VECTOR for (int64_t i = 0; i < pool->x.out; i++) shares[i] = grad[i] / shares[i];
      NAME(spread)(pool, shares, sums, (double *)scratch + 3 * room);
      fresh = NAME(give)(pool, rows, fresh, sums, dx);
    }
    memset(dx + fresh * width, 0, (size_t)((pool->y.in - fresh) * width) * sizeof *dx);
  }
}
