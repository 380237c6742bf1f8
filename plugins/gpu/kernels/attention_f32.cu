/* attention_f32.cu - attention of f32 and its gradients by multiply-add, without mask, bias and cap, where rows lie by fours and are
 * 32, 64 or 96 wide: scores and results stay in registers. For devices that give a group no more shared memory than it declares;
 * attention_plain.cu is for the others.
 *
 * BURN_VARIANT % 4 is the pass. 0: attention, and the logsumexp of each query's scores if it is wanted. 1: the gradient of
 * the queries, and how much the gradient hits the result of each. 2: the gradients of keys and values. The gradients take
 * scores from the logsumexp: pass 1 makes three products, pass 2 four. + 4 * the warps of a block, + 64 * 16s of lines of a tile,
 * + 1024 * 32s of the width.
 *
 * A block has ROWS rows (queries; keys in pass 2), each warp 16 of them, and goes through tiles of the other side, whose two
 * matrices come one after the other to the same place, each while the one before is multiplied. Tiles that causal attention hides
 * are left out. A dot product adds by FMA along the axis, a result over the other side in its order; a sum of exponentials is made
 * of 8 threads' in a fixed order: numbers do not depend on how many rows a block has. */
#define PASS (BURN_VARIANT % 4)
#define WARPS (BURN_VARIANT / 4 % 16)
#define TILE (BURN_VARIANT / 64 % 16 * 16)
#define W (BURN_VARIANT / 1024 * 32)
#define ROWS (16 * WARPS)
#define THREADS (32 * WARPS)
#define TOGETHER 4 /* fours of a product at once */
/* Of a tile [ROWS, TILE] of scores, and of results [ROWS, W], a thread has: */
#define MY_ROWS 4
#define MY_SCORES (TILE / 8)
#define MY_RESULTS (W / 8)
#define SHARERS 8 /* threads beside each other that share rows */

/* What a block shares, in fours: rows of its own, one or two matrices of them; a tile; weights on their way from those who made
 * them to those who multiply by them. The four u of row r lies at u ^ r % 8, and that of weights at u ^ r % 4 * 2: threads
 * beside each other then meet each bank once. */
#define FOURS (W / 4)
#define WEIGHT_FOURS (TILE / 4)
#define OWN_MATRICES (PASS == 0 ? 1 : 2)
#define PLACE_OF_TILE (OWN_MATRICES * ROWS * FOURS)
#define WEIGHTS (PLACE_OF_TILE + TILE * FOURS)
#define ROOM (WEIGHTS + ROWS * WEIGHT_FOURS)

struct alignas(16) Four { float at[4]; };

static __device__ inline int burn_lane() { return (int)threadIdx.x % 32; }
static __device__ inline int burn_row(int i) { return (int)threadIdx.x / 32 * 16 + burn_lane() / 8 + i * 4; }
static __device__ inline int burn_column(int j) { return j * 8 + burn_lane() % 8; }
static __device__ inline int burn_result_column(int k) { return k / 4 * 32 + burn_lane() % 8 * 4 + k % 4; }

/* -- from memory to shared memory -------------------------------------------------------------- */

/* COUNT rows of a matrix from `first` on, 0 beyond: on their way, a thread's part of them, and then in shared memory. */
#define HELD(count) ((count) * FOURS / THREADS)
template <int COUNT> static __device__ inline void burn_hold(Four held[HELD(COUNT)], const Matrix &m, int first) {
#pragma unroll
  for (int k = 0; k < HELD(COUNT); k++) {
    const int i = (int)threadIdx.x + k * THREADS, row = first + i / FOURS;
    const Four none = {{0.0f, 0.0f, 0.0f, 0.0f}};
    held[k] = none;
    if (row < m.rows) held[k] = *(const Four *)(m.at + row * m.row + i % FOURS * 4);
  }
}
template <int COUNT> static __device__ inline void burn_put_lines(Four *to, const Four held[HELD(COUNT)]) {
#pragma unroll
  for (int k = 0; k < HELD(COUNT); k++) {
    const int i = (int)threadIdx.x + k * THREADS, row = i / FOURS;
    to[row * FOURS + ((i % FOURS) ^ (row % 8))] = held[k];
  }
}
static __device__ inline void burn_put_own(Four *to, const Matrix &m, int first) {
  Four held[HELD(ROWS)];
  burn_hold<ROWS>(held, m, first);
  burn_put_lines<ROWS>(to, held);
}

/* The tile that is held, into its place, once who reads the one before has done so; the next one is under way then. */
static __device__ inline void burn_bring(Four *tile, Four held[HELD(TILE)], const Matrix &next, int from) {
  __syncthreads();
  burn_put_lines<TILE>(tile, held);
  burn_hold<TILE>(held, next, from);
  __syncthreads();
}

/* -- products ---------------------------------------------------------------------------------- */

/* s[i][j] += own[my row i] . tile[my column j], of four u */
static __device__ inline void burn_dot(float s[MY_ROWS][MY_SCORES], const Four *own, const Four *tile, int u) {
  const int lane = burn_lane(), left = burn_row(0) * FOURS, right = lane % 8 * FOURS;
  Four of_left[MY_ROWS];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) of_left[i] = own[left + i * 4 * FOURS + (u ^ (lane / 8 + i % 2 * 4))];
#pragma unroll
  for (int j = 0; j < MY_SCORES; j++) {
    const Four of_right = tile[right + j * 8 * FOURS + (u ^ (lane % 8))];
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
      for (int i = 0; i < MY_ROWS; i++) s[i][j] = __fmaf_rn(of_left[i].at[e], of_right.at[e], s[i][j]);
  }
}
static __device__ inline void burn_dots(float s[MY_ROWS][MY_SCORES], const Four *own, const Four *tile) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) s[i][j] = 0.0f;
  for (int u = 0; u < FOURS; u += TOGETHER)
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) burn_dot(s, own, tile, u + k);
}

/* Where burn_add finds them, when all have come to a barrier. */
static __device__ inline void burn_put_weights(Four *weights, const float s[MY_ROWS][MY_SCORES]) {
  const int lane = burn_lane(), first = burn_row(0) * WEIGHT_FOURS;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++)
      weights[first + i * 4 * WEIGHT_FOURS + ((j * 2 + lane % 8 / 4) ^ (lane / 8 * 2))].at[lane % 4] = s[i][j];
}

/* sum[i][k] += weights[my row i] x tile[.., my column k], of four u */
static __device__ inline void burn_add_four(float sum[MY_ROWS][MY_RESULTS], const Four *weights, const Four *tile, int u) {
  const int lane = burn_lane(), left = burn_row(0) * WEIGHT_FOURS;
  Four of_left[MY_ROWS];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) of_left[i] = weights[left + i * 4 * WEIGHT_FOURS + (u ^ (lane / 8 * 2))];
#pragma unroll
  for (int e = 0; e < 4; e++)
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k += 4) {
      const Four of_right = tile[(u * 4 + e) * FOURS + k * 2 + ((lane % 8) ^ (u % 2 * 4 + e))];
#pragma unroll
      for (int c = 0; c < 4; c++)
#pragma unroll
        for (int i = 0; i < MY_ROWS; i++)
          sum[i][k + c] = __fmaf_rn(of_left[i].at[e], of_right.at[c], sum[i][k + c]);
    }
}
static __device__ inline void burn_add(float sum[MY_ROWS][MY_RESULTS], const Four *weights, const Four *tile) {
  for (int u = 0; u < WEIGHT_FOURS; u += TOGETHER)
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) burn_add_four(sum, weights, tile, u + k);
}

/* -- what passes share -------------------------------------------------------------------------- */

/* factor[i] times row i of `sum`. */
static __device__ inline void burn_write(uint64_t address, const int64_t *strides, const Place &at, int64_t rows,
                                         const float sum[MY_ROWS][MY_RESULTS], const float factor[MY_ROWS]) {
  float *to = (float *)address + at.n * strides[0] + at.head * strides[1];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int row = at.first + burn_row(i);
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k += 4) {
      const Four four = {{sum[i][k] * factor[i], sum[i][k + 1] * factor[i], sum[i][k + 2] * factor[i],
                          sum[i][k + 3] * factor[i]}};
      if (row < (int)rows) *(Four *)(to + row * strides[2] + burn_result_column(k)) = four;
    }
  }
}

#if PASS < 2
/* The first key that no query of the rows sees. */
static __device__ inline int burn_seen(const GpuAttention &p, int first) {
  const int keys = (int)p.keys, seen = first + ROWS + keys - (int)p.queries;
  return !p.is_causal || seen > keys ? keys : seen;
}
#endif

#if PASS == 0

/* Takes a tile's scores into the running largest and sum of exponentials, the latter of this thread's columns alone; s
 * becomes the exponentials, a former result is to be multiplied by factor. */
static __device__ inline void burn_soften(float s[MY_ROWS][MY_SCORES], float high[MY_ROWS], float sum[MY_ROWS],
                                          float factor[MY_ROWS], float scale) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    float largest = s[i][0], added = 0.0f;
#pragma unroll
    for (int j = 1; j < MY_SCORES; j++) largest = burn_larger(largest, s[i][j]);
    largest = burn_larger(burn_row_largest<SHARERS>(largest), high[i]); /* a NaN comes back by its power */
    const float base = largest == -INFINITY ? 0.0f : largest * scale;
    factor[i] = burn_exp_f32(high[i] * scale - base);
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) {
      s[i][j] = burn_exp_f32(__fmaf_rn(s[i][j], scale, -base));
      added += s[i][j];
    }
    sum[i] = sum[i] * factor[i] + added;
    high[i] = largest;
  }
}

static __device__ inline void burn_pass(const GpuAttention &p, Four *room) {
  const Place at = burn_place<ROWS, PASS == 2>(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys);
  const int keys = (int)p.keys, ahead = p.is_causal ? keys - (int)p.queries : keys; /* last key seen, less the query */
  const int seen = burn_seen(p, at.first);
  const float scale = (float)p.scale;
  Four *const tile = room + PLACE_OF_TILE;
  Four held[HELD(TILE)];
  float s[MY_ROWS][MY_SCORES], high[MY_ROWS], sum[MY_ROWS], factor[MY_ROWS], result[MY_ROWS][MY_RESULTS];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) high[i] = -INFINITY, sum[i] = 0.0f;
  burn_clear<MY_ROWS, MY_RESULTS>(result);
  burn_put_own(room, q, at.first);
  burn_hold<TILE>(held, k, 0);
  for (int key = 0; key < seen; key += TILE) {
    burn_bring(tile, held, v, key);
    burn_dots(s, room, tile);
    if (key + TILE > keys || key + TILE - 1 > at.first + ahead) {
#pragma unroll
      for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
        for (int j = 0; j < MY_SCORES; j++) {
          const int column = key + burn_column(j);
          if (column >= keys || column > at.first + burn_row(i) + ahead) s[i][j] = -INFINITY;
        }
    }
    burn_soften(s, high, sum, factor, scale);
    burn_put_weights(room + WEIGHTS, s);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int c = 0; c < MY_RESULTS; c++) result[i][c] = result[i][c] * factor[i];
    burn_bring(tile, held, k, key + TILE);
    burn_add(result, room + WEIGHTS, tile);
  }
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    const float all = burn_row_sum<SHARERS>(sum[i]);
    factor[i] = all == 0.0f ? 0.0f : 1.0f / all;
    if (p.logsumexp && burn_lane() % 8 == 0 && query < (int)p.queries)
      ((float *)p.logsumexp)[line + query] =
          all == 0.0f ? -INFINITY : high[i] * scale + burn_log_f32(all);
  }
  burn_write(p.out, p.out_strides, at, p.queries, result, factor);
}

#elif PASS == 1

/* How much the gradient hits the result of each row, also for pass 2. */
static __device__ inline void burn_hit(const GpuAttention &p, const Place &at, const Matrix &g, float hits[MY_ROWS]) {
  const Matrix o = burn_matrix(p.result, p.result_strides, at.n, at.head, p.queries);
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    float hit = 0.0f;
#pragma unroll
    for (int c = 0; c < W; c += 32) {
      if (query >= g.rows) continue;
      const int column = c + burn_lane() % 8 * 4;
      const Four x = *(const Four *)(g.at + query * g.row + column), y = *(const Four *)(o.at + query * o.row + column);
#pragma unroll
      for (int e = 0; e < 4; e++) hit = __fmaf_rn(x.at[e], y.at[e], hit);
    }
    hits[i] = burn_row_sum<SHARERS>(hit);
    if (burn_lane() % 8 == 0 && query < g.rows) ((float *)p.hits)[line + query] = hits[i];
  }
}

static __device__ inline void burn_pass(const GpuAttention &p, Four *room) {
  const Place at = burn_place<ROWS, PASS == 2>(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys);
  const int keys = (int)p.keys, ahead = p.is_causal ? keys - (int)p.queries : keys; /* last key seen, less the query */
  const int seen = burn_seen(p, at.first);
  const float scale = (float)p.scale;
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  Four *const tile = room + PLACE_OF_TILE;
  Four held[HELD(TILE)];
  float s[MY_ROWS][MY_SCORES], hit[MY_ROWS][MY_SCORES], base[MY_ROWS], mean[MY_ROWS], result[MY_ROWS][MY_RESULTS];
  burn_put_own(room, q, at.first);
  burn_put_own(room + ROWS * FOURS, g, at.first);
  burn_hit(p, at, g, mean);
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    base[i] = query < (int)p.queries ? ((const float *)p.logsumexp)[line + query] : 0.0f;
  }
  burn_clear<MY_ROWS, MY_RESULTS>(result);
  burn_hold<TILE>(held, v, 0);
  for (int key = 0; key < seen; key += TILE) {
    burn_bring(tile, held, k, key);
    burn_dots(hit, room + ROWS * FOURS, tile);
    burn_bring(tile, held, v, key + TILE);
    burn_dots(s, room, tile);
    const bool hides = key + TILE > keys || key + TILE - 1 > at.first + ahead;
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int j = 0; j < MY_SCORES; j++) {
        const int column = key + burn_column(j);
        const float weight = burn_exp_f32(__fmaf_rn(s[i][j], scale, -base[i]));
        s[i][j] = weight * (hit[i][j] - mean[i]);
        if (hides && (column >= keys || column > at.first + burn_row(i) + ahead)) s[i][j] = 0.0f;
      }
    burn_put_weights(room + WEIGHTS, s);
    __syncthreads();
    burn_add(result, room + WEIGHTS, tile);
  }
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) base[i] = (float)p.scale;
  burn_write(p.out, p.out_strides, at, p.queries, result, base);
}

#else

static __device__ inline void burn_pass(const GpuAttention &p, Four *room) {
  const Place at = burn_place<ROWS, PASS == 2>(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys);
  const int queries = (int)p.queries, ahead = p.is_causal ? (int)p.keys - queries : (int)p.keys;
  const int sees = at.first - ahead; /* the first query that sees a key of the rows */
  const float scale = (float)p.scale;
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  Four *const tile = room + PLACE_OF_TILE;
  Four held[HELD(TILE)];
  float s[MY_ROWS][MY_SCORES], hit[MY_ROWS][MY_SCORES], factor[MY_ROWS];
  float of_key[MY_ROWS][MY_RESULTS], of_value[MY_ROWS][MY_RESULTS];
  burn_clear<MY_ROWS, MY_RESULTS>(of_key);
  burn_clear<MY_ROWS, MY_RESULTS>(of_value);
  burn_put_own(room, k, at.first);
  burn_put_own(room + ROWS * FOURS, v, at.first);
  const int first = sees > 0 ? sees / TILE * TILE : 0;
  burn_hold<TILE>(held, q, first);
  for (int query = first; query < queries; query += TILE) {
    burn_bring(tile, held, g, query);
    burn_dots(s, room, tile);
    burn_bring(tile, held, q, query);
    burn_dots(hit, room + ROWS * FOURS, tile);
    const bool hides = at.first + ROWS - 1 > query + ahead;
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) {
      const int column = burn_column(j);
      const bool is_query = query + column < queries;
      const int64_t from = line + (is_query ? query + column : 0);
      const float base = ((const float *)p.logsumexp)[from], mean = ((const float *)p.hits)[from];
#pragma unroll
      for (int i = 0; i < MY_ROWS; i++) {
        const bool is_hidden = !is_query || (hides && at.first + burn_row(i) > query + column + ahead);
        const float weight = is_hidden ? 0.0f : burn_exp_f32(__fmaf_rn(s[i][j], scale, -base));
        s[i][j] = weight;
        hit[i][j] = is_hidden ? 0.0f : weight * (hit[i][j] - mean);
      }
    }
    burn_put_weights(room + WEIGHTS, s);
    __syncthreads();
    burn_add(of_value, room + WEIGHTS, tile);
    burn_bring(tile, held, q, query + TILE);
    burn_put_weights(room + WEIGHTS, hit);
    __syncthreads();
    burn_add(of_key, room + WEIGHTS, tile);
  }
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) factor[i] = 1.0f;
  burn_write(p.second_out, p.second_out_strides, at, p.keys, of_value, factor);
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) factor[i] = (float)p.scale;
  burn_write(p.out, p.out_strides, at, p.keys, of_key, factor);
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuAttention p) {
  __shared__ Four room[ROOM];
  burn_pass(p, room);
}
