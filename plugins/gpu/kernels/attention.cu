/* attention.cu - attention in tiles, and its gradients: no matrix of all queries with all keys is ever made. attention_parts.cu comes
 * before, and the products: attention_products.cu or attention_matrices.cu.
 *
 * BURN_VARIANT % 4 is the pass. 0: attention, a running softmax over tiles of 64 keys. 1: the gradient of the queries, and
 * for each query what pass 2 needs: the largest score, 1 / the sum of the exponentials, and how much the gradient hits the
 * result; from the logsumexp and the result where it has them. 2: the gradients of keys and values, over tiles of 64 queries.
 * 3: the gradient of a bias from that of all scores.
 * BURN_VARIANT / 4 % 2: a block has 64 rows (queries; keys in pass 2), not 32. BURN_VARIANT / 8 % 2: a head may take 2^31
 * elements of memory or more. BURN_VARIANT / 16 % 2: products on tensor cores, of TF32, which halves fit into; for Vulkan,
 * of halves by matrices of subgroups. BURN_VARIANT / 32 % 2: rows lie so that four neighbours can be read at once.
 * BURN_VARIANT / 64 % 2: scores may have a mask, a bias and a cap, which are more than half of the time that compiling takes.
 * BURN_VARIANT / 128: 32s of columns of the results that a block makes; wider ones take several blocks, which all make the
 * scores anew.
 *
 * A dot product adds by FMA along the axis, a result over the keys (or queries) one after the other, a sum of exponentials
 * first within each tile: the order depends on the shapes alone, not on the rows of a block. */
#if BURN_PASS == 3
/* `count` scores of a bias axis each; an element of the bias takes them by a thread, or by a block where they are many. */
extern "C" __global__ void __launch_bounds__(128) kernel(const GpuScoreSum p) {
  __shared__ C shared[128];
  const int64_t i = p.by_block ? (int64_t)blockIdx.x : burn_thread();
  const int64_t step = p.by_block ? 128 : 1;
  if (i >= p.shape[0] * p.shape[1] * p.shape[2] * p.shape[3]) return; /* never a part of a block of one element */
  int64_t rest = i, base = 0;
  for (int axis = 3; axis >= 0; axis--) {
    base += rest % p.shape[axis] * p.strides[axis];
    rest /= p.shape[axis];
  }
  C sum = (C)0;
  for (int64_t k = p.by_block ? threadIdx.x : 0; k < p.count; k += step) {
    int64_t left = k, at = base;
    for (int axis = 3; axis >= 0; axis--) {
      at += left % p.repeats[axis] * p.strides[axis];
      left /= p.repeats[axis];
    }
    sum += ((const C *)p.in)[at];
  }
  if (p.by_block) {
    shared[threadIdx.x] = sum;
    for (int half = 64; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x != 0) return;
    sum = shared[0];
  }
  burn_put(((OUT *)p.out)[i], sum);
}
#else

/* Of the threads that share rows. */
static __device__ inline C burn_row_sum(C x) {
#pragma unroll
  for (int step = SHARERS / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
static __device__ inline C burn_row_largest(C x) {
#pragma unroll
  for (int step = SHARERS / 2; step > 0; step /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, x, step);
    x = other > x ? other : x;
  }
  return x;
}

/* A score from a dot product: -infinity where it is hidden. In *slope, what its gradient is multiplied by. */
static __device__ inline C burn_score(const GpuAttention &p, int n, int head, int query, int key, C dot,
                                      C *slope) {
  C score = dot * (C)p.scale;
  *slope = (C)p.scale;
  const bool has_cap = HAS_EXTRAS && p.cap > 0, has_mask = HAS_EXTRAS && p.mask, has_bias = HAS_EXTRAS && p.bias;
  if (has_cap) {
    const C bent = burn_bent(score * (C)(1 / p.cap));
    score = bent * (C)p.cap;
    *slope = *slope * ((C)1 - bent * bent);
  }
  const int queries = (int)p.queries, keys = (int)p.keys;
  bool is_hidden = query >= queries || key >= keys || (p.is_causal && key > query + keys - queries);
  if (has_mask && !is_hidden)
    is_hidden = ((const uint8_t *)p.mask)[n * p.mask_strides[0] + head * p.mask_strides[1] + query * p.mask_strides[2] +
                                          key * p.mask_strides[3]] != 0;
  if (is_hidden) return -(C)INFINITY;
  if (has_bias)
    score = score + burn_get(((const IN0 *)p.bias)[n * p.bias_strides[0] + head * p.bias_strides[1] +
                                                   query * p.bias_strides[2] + key * p.bias_strides[3]]);
  return score;
}

/* Where a block works. Blocks with most to do come first: the last queries and the first keys of causal heads. */
struct Place {
  int n, head, first, column;
};
static __device__ inline Place burn_place(const GpuAttention &p) {
  const int chunks = (int)p.chunks, heads = (int)p.heads, batch = (int)p.batch;
  Place at;
  int rest = blockIdx.x;
  at.column = rest % chunks * COLUMNS;
  rest /= chunks;
  at.head = rest % heads;
  rest /= heads;
  at.n = rest % batch;
  rest /= batch;
  at.first = (BURN_PASS == 2 ? rest : (int)p.tiles - 1 - rest) * ROWS;
  return at;
}

static __device__ inline void burn_clear(C sum[MY_ROWS][MY_RESULTS]) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k++) sum[i][k] = (C)0;
}

static __device__ inline void burn_write(uint64_t address, const int64_t *strides, const Place &at, int64_t rows,
                                         int64_t width, const C sum[MY_ROWS][MY_RESULTS]) {
  OUT *to = (OUT *)address + at.n * strides[0] + at.head * strides[1];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k++) {
      const int64_t row = at.first + burn_row(i), column = at.column + burn_result_column(k);
      if (row < rows && column < width) burn_put(to[row * strides[2] + column * strides[3]], sum[i][k]);
    }
}

/* The first key that no query of the rows sees. */
static __device__ inline int burn_seen(const GpuAttention &p, const Place &at) {
  const int keys = (int)p.keys, seen = at.first + ROWS + keys - (int)p.queries;
  return !p.is_causal || seen > keys ? keys : seen;
}

/* Takes a tile's scores into the running largest and sum of exponentials; s becomes the exponentials. */
static __device__ inline void burn_soften(C s[MY_ROWS][MY_SCORES], C high[MY_ROWS], C sum[MY_ROWS], C factor[MY_ROWS]) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    C largest = s[i][0], added = (C)0;
#pragma unroll
    for (int j = 1; j < MY_SCORES; j++) largest = s[i][j] > largest ? s[i][j] : largest;
    largest = burn_row_largest(largest);
    largest = largest > high[i] ? largest : high[i];
    const C base = largest == -(C)INFINITY ? (C)0 : largest;
    factor[i] = burn_power_of_e(high[i] - base);
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) added += s[i][j] = burn_power_of_e(s[i][j] - base);
    sum[i] = sum[i] * factor[i] + burn_row_sum(added);
    high[i] = largest;
  }
}

#if BURN_PASS == 0

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuAttention p) {
  BURN_SHARED_ROOM;
  const Place at = burn_place(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  C s[MY_ROWS][MY_SCORES], high[MY_ROWS], sum[MY_ROWS], factor[MY_ROWS], result[MY_ROWS][MY_RESULTS];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) high[i] = -(C)INFINITY, sum[i] = (C)0;
  burn_clear(result);
  const int seen = burn_seen(p, at);
  for (int key = 0; key < seen; key += TILE) {
    burn_dots(room, s, q, at.first, k, key);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int j = 0; j < MY_SCORES; j++) {
        C slope;
        s[i][j] = burn_score(p, at.n, at.head, at.first + burn_row(i), key + burn_column(j), s[i][j], &slope);
      }
    burn_soften(s, high, sum, factor);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int c = 0; c < MY_RESULTS; c++) result[i][c] = result[i][c] * factor[i];
    burn_add_rows(room, s, result, v, key, at.column);
  }
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    if (!p.logsumexp || threadIdx.x % SHARERS != 0 || query >= (int)p.queries || at.column != 0) continue;
    ((C *)p.logsumexp)[line + query] = sum[i] == (C)0 ? -(C)INFINITY : high[i] + burn_logarithm(sum[i]);
  }
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int c = 0; c < MY_RESULTS; c++) result[i][c] = sum[i] == (C)0 ? (C)0 : result[i][c] / sum[i];
  burn_write(p.out, p.out_strides, at, p.queries, p.value_width, result);
}

#elif BURN_PASS == 1

/* How much the gradient hits the result of a row. */
static __device__ inline C burn_hit(const Matrix &g, const Matrix &o, int query) {
  C hit = (C)0;
  for (int c = threadIdx.x % SHARERS; c < g.width && query < g.rows; c += SHARERS)
    hit = burn_multiply_add((C)burn_get(g.at[query * g.row + c * g.column]), (C)burn_get(o.at[query * o.row + c * o.column]), hit);
  return burn_row_sum(hit);
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuAttention p) {
  BURN_SHARED_ROOM;
  const Place at = burn_place(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries, p.value_width);
  const Matrix o = burn_matrix(p.result, p.result_strides, at.n, at.head, p.queries, p.value_width);
  C s[MY_ROWS][MY_SCORES], hit[MY_ROWS][MY_SCORES], high[MY_ROWS], sum[MY_ROWS];
  C inverse[MY_ROWS], mean[MY_ROWS], factor[MY_ROWS], result[MY_ROWS][MY_RESULTS], slope;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) high[i] = -(C)INFINITY, sum[i] = mean[i] = (C)0;
  const int seen = HAS_EXTRAS && p.scores ? (int)p.keys : burn_seen(p, at);
  for (int key = 0; key < seen && !p.logsumexp; key += TILE) {
    burn_dots(room, s, q, at.first, k, key);
    burn_dots(room, hit, g, at.first, v, key);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int j = 0; j < MY_SCORES; j++)
        s[i][j] = burn_score(p, at.n, at.head, at.first + burn_row(i), key + burn_column(j), s[i][j], &slope);
    burn_soften(s, high, sum, factor);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++) {
      C added = (C)0;
#pragma unroll
      for (int j = 0; j < MY_SCORES; j++) added += s[i][j] == (C)0 ? (C)0 : s[i][j] * hit[i][j];
      mean[i] = mean[i] * factor[i] + burn_row_sum(added);
    }
  }
  const int64_t heads = p.batch * p.heads, line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    if (p.logsumexp) {
      high[i] = query < (int)p.queries ? ((const C *)p.logsumexp)[line + query] : (C)0;
      sum[i] = high[i] == -(C)INFINITY ? (C)0 : (C)1;
      mean[i] = burn_hit(g, o, query);
    }
    inverse[i] = sum[i] == (C)0 ? (C)0 : (C)1 / sum[i];
    mean[i] = mean[i] * inverse[i];
    if (high[i] == -(C)INFINITY) high[i] = (C)0;
    if (threadIdx.x % SHARERS != 0 || query >= (int)p.queries || at.column != 0) continue;
    ((C *)p.statistics)[line + query] = high[i];
    ((C *)p.statistics)[heads * p.queries + line + query] = inverse[i];
    ((C *)p.statistics)[2 * heads * p.queries + line + query] = mean[i];
  }
  burn_clear(result);
  for (int key = 0; key < seen; key += TILE) {
    burn_dots(room, s, q, at.first, k, key);
    burn_dots(room, hit, g, at.first, v, key);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int j = 0; j < MY_SCORES; j++) {
        const int query = at.first + burn_row(i), column = key + burn_column(j);
        const C score = burn_score(p, at.n, at.head, query, column, s[i][j], &slope);
        const bool is_hidden = score == -(C)INFINITY;
        const C change =
            is_hidden ? (C)0 : burn_power_of_e(score - high[i]) * inverse[i] * (hit[i][j] - mean[i]);
        if (HAS_EXTRAS && p.scores && at.column == 0 && query < (int)p.queries && column < (int)p.keys)
          ((C *)p.scores)[(line + query) * p.keys + column] = change;
        s[i][j] = is_hidden ? (C)0 : change * slope;
      }
    burn_add_rows(room, s, result, k, key, at.column);
  }
  burn_write(p.out, p.out_strides, at, p.queries, p.width, result);
}

#else

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuAttention p) {
  BURN_SHARED_ROOM;
  const Place at = burn_place(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries, p.value_width);
  const int64_t heads = p.batch * p.heads, line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  C s[MY_ROWS][MY_SCORES], hit[MY_ROWS][MY_SCORES], of_key[MY_ROWS][MY_RESULTS], of_value[MY_ROWS][MY_RESULTS];
  burn_clear(of_key);
  burn_clear(of_value);
  const int queries = (int)p.queries;
  const int sees = at.first - ((int)p.keys - queries); /* the first query that sees a key of the rows */
  for (int query = p.is_causal && sees > 0 ? sees / TILE * TILE : 0; query < queries; query += TILE) {
    burn_dots(room, s, k, at.first, q, query);
    burn_dots(room, hit, v, at.first, g, query);
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) {
      const int column = query + burn_column(j);
      const int64_t from = line + (column < queries ? column : 0);
      const C high = ((const C *)p.statistics)[from], inverse = ((const C *)p.statistics)[heads * p.queries + from];
      const C mean = ((const C *)p.statistics)[2 * heads * p.queries + from];
#pragma unroll
      for (int i = 0; i < MY_ROWS; i++) {
        C slope;
        const C score = burn_score(p, at.n, at.head, column, at.first + burn_row(i), s[i][j], &slope);
        const bool is_hidden = score == -(C)INFINITY;
        s[i][j] = is_hidden ? (C)0 : burn_power_of_e(score - high) * inverse;
        hit[i][j] = is_hidden ? (C)0 : s[i][j] * (hit[i][j] - mean) * slope;
      }
    }
    burn_add_rows(room, s, of_value, g, query, at.column);
    burn_add_rows(room, hit, of_key, q, query, at.column);
  }
  burn_write(p.out, p.out_strides, at, p.keys, p.width, of_key);
  burn_write(p.second_out, p.second_out_strides, at, p.keys, p.value_width, of_value);
}
#endif
#endif
