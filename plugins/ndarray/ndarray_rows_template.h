/* ndarray_rows_template.h - softmax, losses and norms over rows of one float type: REAL, with names made by NAME;
 * EXP_RUN makes runs of exponentials. Included by ndarray_rows.inc once per type; the loops are described in
 * ndarray_rows.h.
 *
 * A row is read from memory once: all passes over it follow each other while it lies in the cache, and the pass that
 * computes asks for the row after it. Passes take blocks of BLOCK elements into as many accumulators; sums go to f64
 * after ND_STRETCH blocks. The last pass writes to the result or, where that is too large for the cache, to a piece on
 * the stack that is streamed past it. */

#define ALIGNED _Alignas(64) /* vectors that cross cache lines take twice as long */
#define BLOCK ((int64_t)(512 / sizeof(REAL)))
#define PIECE ((int64_t)(4096 / sizeof(REAL)))
#define KEPT ((int64_t)(32768 / sizeof(REAL))) /* exponentials of rows up to this long are kept until the last pass */

/* -- accumulators ----------------------------------------------------------------------------- */

ND_INLINE void NAME(clear)(REAL *lanes) {
  for (int64_t j = 0; j < BLOCK; j++) lanes[j] = 0;
}

ND_INLINE void NAME(sum_block)(int64_t n, REAL *lanes, const REAL *x, const REAL *factor) {
  ND_VECTOR for (int64_t j = 0; j < n; j++) lanes[j] += factor ? x[j] * factor[j] : x[j];
}

/* Their sum, as a tree. Not a loop over its levels, so that the lengths are constants and vectors. */
ND_INLINE double NAME(total)(REAL *lanes) {
  double sums[8];
  NAME(sum_block)(BLOCK / 2, lanes, lanes + BLOCK / 2, NULL);
  NAME(sum_block)(BLOCK / 4, lanes, lanes + BLOCK / 4, NULL);
  if (BLOCK > 64) NAME(sum_block)(BLOCK / 8, lanes, lanes + BLOCK / 8, NULL); /* 16 are left */
  for (int64_t j = 0; j < 8; j++) sums[j] = (double)lanes[j] + (double)lanes[j + 8];
  for (int64_t j = 0; j < 4; j++) sums[j] += sums[j + 4];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/* The end of a stretch of blocks that starts at i. */
static int64_t NAME(stretch_end)(int64_t i, int64_t n) { return smaller(n, i + ND_STRETCH * BLOCK); }

ND_INLINE void NAME(fetch)(const REAL *x, int64_t n) { fetch_lines(x, n * (int64_t)sizeof(REAL)); }

/* -- rows of results -------------------------------------------------------------------------- */

/* Where the elements from i on of a result go. */
ND_INLINE REAL *NAME(target)(REAL *out, int64_t i, REAL *piece, bool stream) { return stream ? piece : out + i; }

ND_INLINE void NAME(finish)(REAL *out, int64_t i, const REAL *piece, int64_t n, bool stream) {
  if (stream) stream_copy(out + i, piece, n * (int64_t)sizeof(REAL));
}

/* -- maximum and exponentials of a row -------------------------------------------------------- */

ND_INLINE void NAME(max_block)(int64_t n, REAL *lanes, const REAL *x) {
  ND_VECTOR for (int64_t j = 0; j < n; j++) lanes[j] = x[j] > lanes[j] ? x[j] : lanes[j];
}

/* NaNs are skipped: their exponential makes the sum NaN anyway. -infinity if there is nothing else. */
static REAL NAME(row_max)(int64_t n, const REAL *x) {
  ALIGNED REAL lanes[BLOCK];
  int64_t i = 0;
  for (int64_t j = 0; j < BLOCK; j++) lanes[j] = -(REAL)INFINITY;
  for (; i + BLOCK <= n; i += BLOCK) NAME(max_block)(BLOCK, lanes, x + i);
  NAME(max_block)(n - i, lanes, x + i);
  NAME(max_block)(BLOCK / 2, lanes, lanes + BLOCK / 2); /* not a loop: so the lengths are constants */
  NAME(max_block)(BLOCK / 4, lanes, lanes + BLOCK / 4);
  NAME(max_block)(BLOCK / 8, lanes, lanes + BLOCK / 8);
  for (int64_t j = 0; j < 8; j++) lanes[j] = lanes[j + 8] > lanes[j] ? lanes[j + 8] : lanes[j];
  for (int64_t j = 0; j < 4; j++) lanes[j] = lanes[j + 4] > lanes[j] ? lanes[j + 4] : lanes[j];
  for (int64_t j = 0; j < 2; j++) lanes[j] = lanes[j + 2] > lanes[j] ? lanes[j + 2] : lanes[j];
  return lanes[1] > lanes[0] ? lanes[1] : lanes[0];
}

ND_INLINE void NAME(exp_block)(int64_t n, REAL *lanes, REAL *kept, const REAL *x, REAL shift) {
  ALIGNED REAL grown[BLOCK];
  REAL *to = kept ? kept : grown;
  EXP_RUN(n, to, x, &shift, 0);
  ND_VECTOR for (int64_t j = 0; j < n; j++) lanes[j] += to[j];
}

/* Sum of e^(x - shift), which goes to `kept` unless that is NULL. Asks for n elements at `ahead`. */
ND_INLINE double NAME(exp_sum)(int64_t n, const REAL *x, REAL shift, REAL *kept, const REAL *ahead) {
  double total = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = NAME(stretch_end)(i, n);
    ALIGNED REAL lanes[BLOCK];
    NAME(clear)(lanes);
    for (; i + BLOCK <= end; i += BLOCK) {
      NAME(fetch)(ahead + i, BLOCK);
      NAME(exp_block)(BLOCK, lanes, kept ? kept + i : NULL, x + i, shift);
    }
    NAME(fetch)(ahead + i, end - i);
    NAME(exp_block)(end - i, lanes, kept ? kept + i : NULL, x + i, shift);
    total += NAME(total)(lanes);
    i = end;
  }
  return total;
}

/* Maximum of a long row and sum of e^(x - max), piece by piece: whenever the maximum grows, what was added up shrinks.
 */
static double NAME(long_exp_sum)(int64_t n, const REAL *x, REAL *max) {
  double total = 0;
  *max = -(REAL)INFINITY;
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t m = smaller(PIECE, n - i);
    const REAL high = NAME(row_max)(m, x + i);
    if (high > *max) {
      total *= exp((double)*max - (double)high);
      *max = high;
    }
    const REAL shift = *max > -(REAL)INFINITY ? *max : 0; /* so far all are 0 or NaN */
    total += NAME(exp_sum)(m, x + i, shift, NULL, x + i);
  }
  return total;
}

/* Maximum of a row and sum of e^(x - max). Rows up to KEPT leave the exponentials in `kept`, unless that is NULL. */
static double NAME(row_statistics)(int64_t n, const REAL *x, const REAL *ahead, REAL *kept, REAL *max) {
  if (n > KEPT) return NAME(long_exp_sum)(n, x, max);
  *max = NAME(row_max)(n, x);
  return kept ? NAME(exp_sum)(n, x, *max, kept, ahead) : NAME(exp_sum)(n, x, *max, NULL, ahead);
}

/* -- softmax ---------------------------------------------------------------------------------- */

/* The row after r, or r itself if that is the last one. */
ND_INLINE int64_t NAME(next)(const NdRowJob *job, int64_t r) { return r + 1 < job->rows ? r + 1 : r; }

/* out = kept * factor, or e^(x - max) * factor where nothing was kept. */
ND_INLINE void NAME(softmax_write)(int64_t n, REAL *out, const REAL *x, const REAL *kept, REAL max, REAL factor,
                                   bool stream) {
  ALIGNED REAL piece[PIECE];
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t m = smaller(PIECE, n - i);
    REAL *to = NAME(target)(out, i, piece, stream);
    if (n <= KEPT) {
      ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] = kept[i + j] * factor;
    } else {
      EXP_RUN(m, to, x + i, &max, 0);
      ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] *= factor;
    }
    NAME(finish)(out, i, piece, m, stream);
  }
}

ND_INLINE void NAME(log_softmax_write)(int64_t n, REAL *out, const REAL *x, REAL max, REAL logarithm, bool stream) {
  ALIGNED REAL piece[PIECE];
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t m = smaller(PIECE, n - i);
    REAL *to = NAME(target)(out, i, piece, stream);
    ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] = x[i + j] - max - logarithm;
    NAME(finish)(out, i, piece, m, stream);
  }
}

static void NAME(softmax)(const NdRowJob *job, int64_t begin, int64_t end) {
  const int64_t n = job->count;
  const REAL *all = (const REAL *)job->x;
  ALIGNED REAL kept[KEPT];
  REAL max;
  for (int64_t r = begin; r < end; r++) {
    const REAL *x = all + r * n, *ahead = all + NAME(next)(job, r) * n;
    REAL *out = (REAL *)job->out + r * n;
    const double sum = NAME(row_statistics)(n, x, ahead, job->is_log ? NULL : kept, &max);
    if (job->is_log) {
      NAME(log_softmax_write)(n, out, x, max, (REAL)log(sum), job->stream);
    } else {
      NAME(softmax_write)(n, out, x, kept, max, (REAL)(1 / sum), job->stream);
    }
  }
}

/* -- gradient of softmax ---------------------------------------------------------------------- */

/* Sum of x, or of x * factor unless that is NULL. */
ND_INLINE double NAME(row_sum)(int64_t n, const REAL *x, const REAL *factor) {
  double total = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = NAME(stretch_end)(i, n);
    ALIGNED REAL lanes[BLOCK];
    NAME(clear)(lanes);
    for (; i + BLOCK <= end; i += BLOCK) NAME(sum_block)(BLOCK, lanes, x + i, factor ? factor + i : NULL);
    NAME(sum_block)(end - i, lanes, x + i, factor ? factor + i : NULL);
    total += NAME(total)(lanes);
    i = end;
  }
  return total;
}

/* output * (grad - sum), or grad - e^output * sum; at most BLOCK elements. */
ND_INLINE void NAME(softmax_slope)(int64_t n, REAL *to, const REAL *grad, const REAL *output, REAL sum, bool is_log) {
  if (is_log) {
    ALIGNED REAL grown[BLOCK];
    const REAL none = 0;
    EXP_RUN(n, grown, output, &none, 0);
    ND_VECTOR for (int64_t j = 0; j < n; j++) to[j] = grad[j] - grown[j] * sum;
  } else {
    ND_VECTOR for (int64_t j = 0; j < n; j++) to[j] = output[j] * (grad[j] - sum);
  }
}

static void NAME(softmax_backward)(const NdRowJob *job, int64_t begin, int64_t end) {
  const int64_t n = job->count;
  ALIGNED REAL piece[PIECE];
  for (int64_t r = begin; r < end; r++) {
    const int64_t ahead = (NAME(next)(job, r) - r) * n;
    const REAL *grad = (const REAL *)job->grad + r * n, *output = (const REAL *)job->x + r * n;
    REAL *out = (REAL *)job->out + r * n;
    const REAL sum = (REAL)(job->is_log ? NAME(row_sum)(n, grad, NULL) : NAME(row_sum)(n, grad, output));
    for (int64_t i = 0; i < n; i += PIECE) {
      const int64_t m = smaller(PIECE, n - i);
      REAL *to = NAME(target)(out, i, piece, job->stream);
      for (int64_t j = 0; j < m; j += BLOCK) {
        const int64_t k = smaller(BLOCK, m - j);
        NAME(fetch)(grad + ahead + i + j, k);
        NAME(fetch)(output + ahead + i + j, k);
        NAME(softmax_slope)(k, to + j, grad + i + j, output + i + j, sum, job->is_log);
      }
      NAME(finish)(out, i, piece, m, job->stream);
    }
  }
}

/* -- softmax along another axis: strips of columns -------------------------------------------- */

/* A strip of x [.., count, inner]: where it starts, and how many columns it has. */
ND_INLINE int64_t NAME(strip)(const NdRowJob *job, int64_t item, int64_t *width) {
  const int64_t strips = (job->inner + job->part - 1) / job->part, column = item % strips * job->part;
  *width = smaller(job->part, job->inner - column);
  return item / strips * job->count * job->inner + column;
}

/* Elements from a strip to the one that is taken next, 0 after the last. */
ND_INLINE int64_t NAME(strip_ahead)(const NdRowJob *job, int64_t item) {
  int64_t width;
  if (item + 1 == job->rows) return 0;
  return NAME(strip)(job, item + 1, &width) - NAME(strip)(job, item, &width);
}

static void NAME(strip_max)(const NdRowJob *job, const REAL *x, int64_t width, REAL *max) {
  for (int64_t j = 0; j < width; j++) max[j] = -(REAL)INFINITY;
  for (int64_t r = 0; r < job->count; r++) NAME(max_block)(width, max, x + r * job->inner);
}

/* sums[j] of e^(x - max[j]). */
static void NAME(strip_exp_sums)(const NdRowJob *job, const REAL *x, int64_t ahead, int64_t width, const REAL *max,
                                 double *sums) {
  for (int64_t j = 0; j < width; j++) sums[j] = 0;
  for (int64_t r = 0; r < job->count;) {
    const int64_t end = smaller(job->count, r + ND_STRETCH);
    ALIGNED REAL lanes[ND_COLUMNS], grown[ND_COLUMNS];
    for (int64_t j = 0; j < width; j++) lanes[j] = 0;
    for (; r < end; r++) {
      const REAL *row = x + r * job->inner;
      NAME(fetch)(row + ahead, width);
      EXP_RUN(width, grown, row, max, 1);
      ND_VECTOR for (int64_t j = 0; j < width; j++) lanes[j] += grown[j];
    }
    for (int64_t j = 0; j < width; j++) sums[j] += (double)lanes[j];
  }
}

static void NAME(softmax_strips)(const NdRowJob *job, int64_t begin, int64_t end) {
  ALIGNED REAL piece[ND_COLUMNS], max[ND_COLUMNS], last[ND_COLUMNS];
  ALIGNED double sums[ND_COLUMNS];
  for (int64_t item = begin; item < end; item++) {
    int64_t width;
    const int64_t start = NAME(strip)(job, item, &width);
    const REAL *x = (const REAL *)job->x + start;
    REAL *out = (REAL *)job->out + start;
    NAME(strip_max)(job, x, width, max);
    NAME(strip_exp_sums)(job, x, NAME(strip_ahead)(job, item), width, max, sums);
    for (int64_t j = 0; j < width; j++) last[j] = (REAL)(job->is_log ? log(sums[j]) : 1 / sums[j]);
    for (int64_t r = 0; r < job->count; r++) {
      const REAL *row = x + r * job->inner;
      REAL *to = NAME(target)(out, r * job->inner, piece, job->stream);
      if (job->is_log) {
        ND_VECTOR for (int64_t j = 0; j < width; j++) to[j] = row[j] - max[j] - last[j];
      } else {
        EXP_RUN(width, to, row, max, 1);
        ND_VECTOR for (int64_t j = 0; j < width; j++) to[j] *= last[j];
      }
      NAME(finish)(out, r * job->inner, piece, width, job->stream);
    }
  }
}

/* sums[j] of grad, or of grad * output. */
static void NAME(strip_sums)(const NdRowJob *job, const REAL *grad, const REAL *output, int64_t width, REAL *sums) {
  ALIGNED double totals[ND_COLUMNS];
  for (int64_t j = 0; j < width; j++) totals[j] = 0;
  for (int64_t r = 0; r < job->count;) {
    const int64_t end = smaller(job->count, r + ND_STRETCH);
    ALIGNED REAL lanes[ND_COLUMNS];
    for (int64_t j = 0; j < width; j++) lanes[j] = 0;
    for (; r < end; r++)
      NAME(sum_block)(width, lanes, grad + r * job->inner, job->is_log ? NULL : output + r * job->inner);
    for (int64_t j = 0; j < width; j++) totals[j] += (double)lanes[j];
  }
  for (int64_t j = 0; j < width; j++) sums[j] = (REAL)totals[j];
}

static void NAME(softmax_backward_strips)(const NdRowJob *job, int64_t begin, int64_t end) {
  ALIGNED REAL piece[ND_COLUMNS], sums[ND_COLUMNS], grown[ND_COLUMNS];
  const REAL none = 0;
  for (int64_t item = begin; item < end; item++) {
    int64_t width;
    const int64_t start = NAME(strip)(job, item, &width), ahead = NAME(strip_ahead)(job, item);
    const REAL *grad = (const REAL *)job->grad + start, *output = (const REAL *)job->x + start;
    REAL *out = (REAL *)job->out + start;
    NAME(strip_sums)(job, grad, output, width, sums);
    for (int64_t r = 0; r < job->count; r++) {
      const REAL *g = grad + r * job->inner, *y = output + r * job->inner;
      REAL *to = NAME(target)(out, r * job->inner, piece, job->stream);
      NAME(fetch)(g + ahead, width);
      NAME(fetch)(y + ahead, width);
      if (job->is_log) {
        EXP_RUN(width, grown, y, &none, 0);
        ND_VECTOR for (int64_t j = 0; j < width; j++) to[j] = g[j] - grown[j] * sums[j];
      } else {
        ND_VECTOR for (int64_t j = 0; j < width; j++) to[j] = y[j] * (g[j] - sums[j]);
      }
      NAME(finish)(out, r * job->inner, piece, width, job->stream);
    }
  }
}

/* -- cross entropy ---------------------------------------------------------------------------- */

/* out[r], f64: log(sum of e^x) - x[target], each less the maximum. */
static void NAME(cross_entropy)(const NdRowJob *job, int64_t begin, int64_t end) {
  const int64_t n = job->count;
  const REAL *all = (const REAL *)job->x;
  REAL max;
  for (int64_t r = begin; r < end; r++) {
    const REAL *x = all + r * n;
    const double sum = NAME(row_statistics)(n, x, all + NAME(next)(job, r) * n, NULL, &max);
    ((double *)job->out)[r] = log(sum) - ((double)x[job->targets[r]] - (double)max);
  }
}

/* (softmax - 1 at the target) * grad, grad being one number for all. */
static void NAME(cross_entropy_backward)(const NdRowJob *job, int64_t begin, int64_t end) {
  const int64_t n = job->count;
  const REAL *all = (const REAL *)job->x, grad = *(const REAL *)job->grad;
  ALIGNED REAL kept[KEPT], piece[PIECE];
  REAL max;
  for (int64_t r = begin; r < end; r++) {
    const REAL *x = all + r * n;
    REAL *out = (REAL *)job->out + r * n;
    const REAL share = (REAL)(1 / NAME(row_statistics)(n, x, all + NAME(next)(job, r) * n, kept, &max));
    for (int64_t i = 0; i < n; i += PIECE) {
      const int64_t m = smaller(PIECE, n - i), hit = job->targets[r] - i;
      const bool is_hit = hit >= 0 && hit < m;
      REAL *to = NAME(target)(out, i, piece, job->stream);
      const REAL *from = n <= KEPT ? kept + i : to;
      if (n > KEPT) EXP_RUN(m, to, x + i, &max, 0);
      const REAL at_hit = is_hit ? (from[hit] * share - 1) * grad : 0;
      ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] = from[j] * share * grad;
      if (is_hit) to[hit] = at_hit;
      NAME(finish)(out, i, piece, m, job->stream);
    }
  }
}

/* -- mean and variance ------------------------------------------------------------------------ */

ND_INLINE void NAME(square_block)(int64_t n, REAL *lanes, const REAL *x, REAL center) {
  ND_VECTOR for (int64_t j = 0; j < n; j++) lanes[j] += (x[j] - center) * (x[j] - center);
}

ND_INLINE void NAME(distance_block)(int64_t n, REAL *lanes, const REAL *x, REAL center) {
  ND_VECTOR for (int64_t j = 0; j < n; j++) lanes[j] += x[j] - center;
}

/* Mean of a piece. Distances from the first element are added up instead of elements: so the mean of equal ones is
 * exact, where a last bit would show in every element once it is divided by the deviation. */
static double NAME(piece_mean)(int64_t n, const REAL *x) {
  ALIGNED REAL lanes[BLOCK];
  const REAL first = x[0];
  int64_t i = 0;
  NAME(clear)(lanes);
  for (; i + BLOCK <= n; i += BLOCK) NAME(distance_block)(BLOCK, lanes, x + i, first);
  NAME(distance_block)(n - i, lanes, x + i, first);
  return (double)first + NAME(total)(lanes) / (double)n;
}

/* Sum of (x - center)^2 of a piece. Asks for n elements at `ahead`. */
static double NAME(piece_squares)(int64_t n, const REAL *x, REAL center, const REAL *ahead) {
  ALIGNED REAL lanes[BLOCK];
  int64_t i = 0;
  NAME(clear)(lanes);
  for (; i + BLOCK <= n; i += BLOCK) {
    NAME(fetch)(ahead + i, BLOCK);
    NAME(square_block)(BLOCK, lanes, x + i, center);
  }
  NAME(fetch)(ahead + i, n - i);
  NAME(square_block)(n - i, lanes, x + i, center);
  return NAME(total)(lanes);
}

/* Each piece in two passes, as it stays in the cache; pieces are joined by nd_moments_join. */
static NdMoments NAME(moments)(int64_t n, const void *data, const void *ahead) {
  const REAL *x = (const REAL *)data, *next = (const REAL *)ahead;
  NdMoments all = {0, 0, 0};
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t m = smaller(PIECE, n - i);
    NdMoments part = {(double)m, NAME(piece_mean)(m, x + i), 0};
    part.squares = NAME(piece_squares)(m, x + i, (REAL)part.mean, next + i);
    if (i == 0) {
      all = part;
    } else {
      nd_moments_join(&all, &part);
    }
  }
  return all;
}

/* sums[j] of column j over rows that lie `stride` apart. */
static void NAME(column_sums)(int64_t rows, int64_t width, int64_t stride, const void *data, double *sums) {
  for (int64_t j = 0; j < width; j++) sums[j] = 0;
  for (int64_t r = 0; r < rows; r++) {
    const REAL *x = (const REAL *)data + r * stride;
    NAME(fetch)(x + ND_ROWS_AHEAD * stride, width);
    ND_VECTOR for (int64_t j = 0; j < width; j++) sums[j] += (double)x[j];
  }
}

/* sums[j] of (x - center[j])^2, for at most ND_STRETCH rows and ND_COLUMNS columns. */
static void NAME(column_squares)(int64_t rows, int64_t width, int64_t stride, const void *data, const void *centers,
                                 double *sums) {
  const REAL *center = (const REAL *)centers;
  ALIGNED REAL squares[ND_COLUMNS];
  for (int64_t j = 0; j < width; j++) squares[j] = 0;
  for (int64_t r = 0; r < rows; r++) {
    const REAL *x = (const REAL *)data + r * stride;
    ND_VECTOR for (int64_t j = 0; j < width; j++) squares[j] += (x[j] - center[j]) * (x[j] - center[j]);
  }
  for (int64_t j = 0; j < width; j++) sums[j] = (double)squares[j];
}

/* -- norms ------------------------------------------------------------------------------------ */

ND_INLINE void NAME(normalize)(int64_t n, REAL *to, const REAL *x, REAL center, REAL factor, const REAL *gamma,
                               const REAL *beta) {
  if (beta) {
    ND_VECTOR for (int64_t j = 0; j < n; j++) to[j] = (x[j] - center) * factor * gamma[j] + beta[j];
  } else {
    ND_VECTOR for (int64_t j = 0; j < n; j++) to[j] = (x[j] - center) * factor * gamma[j];
  }
}

static void NAME(layer_norm)(const NdRowJob *job, int64_t begin, int64_t end) {
  const int64_t n = job->count;
  const REAL *all = (const REAL *)job->x, *gamma = (const REAL *)job->gamma, *beta = (const REAL *)job->beta;
  ALIGNED REAL piece[PIECE];
  for (int64_t r = begin; r < end; r++) {
    const REAL *x = all + r * n;
    REAL *out = (REAL *)job->out + r * n;
    const NdMoments moments = NAME(moments)(n, x, all + NAME(next)(job, r) * n);
    const REAL factor = (REAL)(1 / sqrt(moments.squares / (double)n + job->epsilon));
    for (int64_t i = 0; i < n; i += PIECE) {
      const int64_t m = smaller(PIECE, n - i);
      REAL *to = NAME(target)(out, i, piece, job->stream);
      NAME(normalize)(m, to, x + i, (REAL)moments.mean, factor, gamma + i, beta ? beta + i : NULL);
      NAME(finish)(out, i, piece, m, job->stream);
    }
  }
}

ND_INLINE void NAME(along_block)(int64_t n, REAL *plain, REAL *moved, const REAL *grad, const REAL *x,
                                 const REAL *gamma, REAL center) {
  ND_VECTOR for (int64_t j = 0; j < n; j++) {
    const REAL g = gamma ? grad[j] * gamma[j] : grad[j];
    plain[j] += g;
    moved[j] += g * (x[j] - center);
  }
}

/* along[0] += sum of g and along[1] += sum of g * (x - center) with g = grad * gamma, or grad where gamma is NULL. */
ND_INLINE void NAME(along)(int64_t n, const REAL *grad, const REAL *x, const REAL *gamma, REAL center, double *along) {
  for (int64_t i = 0; i < n;) {
    const int64_t end = NAME(stretch_end)(i, n);
    ALIGNED REAL plain[BLOCK], moved[BLOCK];
    NAME(clear)(plain);
    NAME(clear)(moved);
    for (; i + BLOCK <= end; i += BLOCK) {
      NAME(along_block)(BLOCK, plain, moved, grad + i, x + i, gamma ? gamma + i : NULL, center);
    }
    NAME(along_block)(end - i, plain, moved, grad + i, x + i, gamma ? gamma + i : NULL, center);
    along[0] += NAME(total)(plain);
    along[1] += NAME(total)(moved);
    i = end;
  }
}

/* Row r: its gradient of x, and what it adds to those of gamma and beta. */
static void NAME(layer_norm_row_backward)(const NdRowJob *job, int64_t r, REAL *to_gamma, REAL *to_beta) {
  const int64_t n = job->count, ahead = (NAME(next)(job, r) - r) * n;
  const REAL *x = (const REAL *)job->x + r * n, *grad = (const REAL *)job->grad + r * n;
  const REAL *gamma = (const REAL *)job->gamma;
  ALIGNED REAL piece[PIECE];
  REAL *out = (REAL *)job->out + r * n;
  double along[2] = {0, 0};
  const NdMoments moments = NAME(moments)(n, x, x + ahead);
  const double scale = 1 / sqrt(moments.squares / (double)n + job->epsilon);
  const REAL center = (REAL)moments.mean, factor = (REAL)scale;
  NAME(along)(n, grad, x, gamma, center, along);
  const REAL plain = (REAL)(along[0] / (double)n), moved = (REAL)(along[1] / (double)n * scale);
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t end = smaller(n, i + PIECE);
    REAL *to = NAME(target)(out, i, piece, job->stream);
    for (int64_t start = i; start < end; start += BLOCK) {
      const int64_t block_end = smaller(end, start + BLOCK);
      NAME(fetch)(grad + ahead + start, block_end - start);
      ND_VECTOR for (int64_t j = start; j < block_end; j++) {
        /* All is read before anything is written: processors take a read for one of what was just written when both
         * are a multiple of 4096 bytes apart, as these arrays often are. */
        const REAL normal = (x[j] - center) * factor, g = grad[j];
        const REAL sum_gamma = to_gamma[j] + g * normal, sum_beta = to_beta[j] + g;
        const REAL slope = (g * gamma[j] - plain - normal * moved) * factor;
        to_gamma[j] = sum_gamma;
        to_beta[j] = sum_beta;
        to[j - i] = slope;
      }
    }
    NAME(finish)(out, i, piece, end - i, job->stream);
  }
}

/* Items are parts of job->part rows; each has sums of its own, [2, count]: those of gamma's gradient, then beta's. */
static void NAME(layer_norm_backward)(const NdRowJob *job, int64_t begin, int64_t end) {
  for (int64_t part = begin; part < end; part++) {
    REAL *to_gamma = (REAL *)job->sums + part * 2 * job->count, *to_beta = to_gamma + job->count;
    const int64_t last = smaller(job->rows, (part + 1) * job->part);
    for (int64_t j = 0; j < job->count; j++) to_gamma[j] = to_beta[j] = 0;
    for (int64_t r = part * job->part; r < last; r++) NAME(layer_norm_row_backward)(job, r, to_gamma, to_beta);
  }
}

/* -- batch norm: runs of one channel (step 0: one number for all) or of many (step 1: a number for each element) -- */

static void NAME(affine)(int64_t n, void *out, const void *data, const void *center, const void *gain,
                         const void *shift, int64_t step, bool stream) {
  const REAL *x = (const REAL *)data, *c = (const REAL *)center, *a = (const REAL *)gain, *b = (const REAL *)shift;
  ALIGNED REAL piece[PIECE];
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t m = smaller(PIECE, n - i);
    REAL *to = NAME(target)((REAL *)out, i, piece, stream);
    if (step == 0) {
      const REAL c0 = *c, a0 = *a, b0 = *b;
      ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] = (x[i + j] - c0) * a0 + b0;
    } else {
      ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] = (x[i + j] - c[i + j]) * a[i + j] + b[i + j];
    }
    NAME(finish)((REAL *)out, i, piece, m, stream);
  }
}

static void NAME(affine_backward)(int64_t n, void *out, const void *gradient, const void *data, const void *const k[4],
                                  int64_t step, bool stream) {
  const REAL *x = (const REAL *)data, *grad = (const REAL *)gradient, *c = (const REAL *)k[0];
  const REAL *gain = (const REAL *)k[1], *along = (const REAL *)k[2], *shift = (const REAL *)k[3];
  ALIGNED REAL piece[PIECE];
  for (int64_t i = 0; i < n; i += PIECE) {
    const int64_t m = smaller(PIECE, n - i);
    REAL *to = NAME(target)((REAL *)out, i, piece, stream);
    if (step == 0) {
      const REAL c0 = *c, g0 = *gain, a0 = *along, s0 = *shift;
      ND_VECTOR for (int64_t j = 0; j < m; j++) to[j] = grad[i + j] * g0 + (x[i + j] - c0) * a0 + s0;
    } else {
      ND_VECTOR for (int64_t j = 0; j < m; j++) {
        to[j] = grad[i + j] * gain[i + j] + (x[i + j] - c[i + j]) * along[i + j] + shift[i + j];
      }
    }
    NAME(finish)((REAL *)out, i, piece, m, stream);
  }
}

static void NAME(products)(int64_t n, const void *grad, const void *x, const void *center, double *along) {
  NAME(along)(n, (const REAL *)grad, (const REAL *)x, NULL, *(const REAL *)center, along);
}

static void NAME(column_products)(int64_t rows, int64_t width, int64_t stride, const void *gradient, const void *data,
                                  const void *center, double *plain, double *moved) {
  const REAL *c = (const REAL *)center;
  ALIGNED REAL sums[ND_COLUMNS], along[ND_COLUMNS];
  for (int64_t j = 0; j < width; j++) sums[j] = along[j] = 0;
  for (int64_t r = 0; r < rows; r++) {
    const REAL *grad = (const REAL *)gradient + r * stride, *x = (const REAL *)data + r * stride;
    NAME(fetch)(grad + ND_ROWS_AHEAD * stride, width);
    NAME(fetch)(x + ND_ROWS_AHEAD * stride, width);
    ND_VECTOR for (int64_t j = 0; j < width; j++) {
      sums[j] += grad[j];
      along[j] += grad[j] * (x[j] - c[j]);
    }
  }
  for (int64_t j = 0; j < width; j++) plain[j] += (double)sums[j], moved[j] += (double)along[j];
}

#undef ALIGNED
#undef BLOCK
#undef PIECE
#undef KEPT
