/* attention.cu - attention in tiles, and its gradients: no matrix of all queries with all keys is ever made.
 *
 * BURN_VARIANT % 4 is the pass. 0: attention, a running softmax over tiles of 64 keys. 1: the gradient of the queries, and
 * for each query what pass 2 needs: the largest score, 1 / the sum of the exponentials, and how much the gradient hits the
 * result. 2: the gradients of keys and values, over tiles of 64 queries. 3: the gradient of a bias from that of all scores.
 * BURN_VARIANT / 4 % 2: a block has 64 rows (queries; keys in pass 2), not 32. BURN_VARIANT / 8 % 2: a head may take 2^31
 * elements of memory or more. BURN_VARIANT / 16: 32s of columns of the results that a block makes; wider ones take several
 * blocks, which all make the scores anew.
 *
 * A dot product adds by FMA along the axis, a result over the keys (or queries) one after the other, a sum of exponentials
 * first within each tile: the order depends on the shapes alone, not on the rows of a block. */
typedef Element<IN0>::C C;
#define BURN_PASS (BURN_VARIANT % 4)
#define ROWS (BURN_VARIANT / 4 % 2 ? 64 : 32)
#define THREADS (4 * ROWS) /* 16 beside each other, with 4 x 4 scores each */
#define COLUMNS (BURN_VARIANT / 16 * 32)
#define PAIRS (COLUMNS / 32)
#define TILE 64
#define DEPTH 32
/* Blocks that a unit has registers for. */
#define BURN_BLOCKS (512 / THREADS / (sizeof(C) / 4) / (COLUMNS > 64 ? 2 : 1))
#define AT_ONCE 8 /* loads of a thread that are under way together */
#if BURN_VARIANT / 8 % 2
typedef int64_t Offset;
#else
typedef int32_t Offset;
#endif

static __device__ inline float burn_fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ inline double burn_fused(double a, double b, double c) { return __fma_rn(a, b, c); }
static __device__ inline float burn_power_of_e(float x) { return burn_exp_f32(x); }
static __device__ inline double burn_power_of_e(double x) { return exp(x); }
static __device__ inline float burn_bent(float x) { return burn_tanh_f32(x); }
static __device__ inline double burn_bent(double x) { return tanh(x); }

#if BURN_PASS == 3
/* `count` scores of a bias axis each; an element of the bias takes them by a thread, or by a block where they are many. */
extern "C" __global__ void __launch_bounds__(128) kernel(const CudaScoreSum p) {
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

struct alignas(16) Four { C at[4]; };
struct alignas(2 * sizeof(C)) Two { C at[2]; };

/* Tiles of one step: turned ones are [DEPTH][rows], four rows a unit; the unit of row r at depth d lies at
 * r / 4 ^ d % 8, so that neither who writes nor who reads waits for the same bank. */
struct Room {
  Four left[DEPTH][ROWS / 4], right[DEPTH][TILE / 4];
};
/* Rows of [TILE, COLUMNS] that fit into a Room at once: a power of two. */
static __device__ constexpr int burn_part_rows() {
  int rows = TILE;
  while (rows * COLUMNS > DEPTH * (ROWS + TILE)) rows /= 2;
  return rows;
}
#define PART burn_part_rows()

/* A matrix [rows, width] in memory. */
struct Matrix {
  const IN0 *at;
  Offset row, column;
  int rows, width;
};

static __device__ inline Matrix burn_matrix(uint64_t address, const int64_t *strides, int64_t n, int64_t head, int64_t rows,
                                            int64_t width) {
  Matrix m = {(const IN0 *)address + n * strides[0] + head * strides[1], (Offset)strides[2], (Offset)strides[3], (int)rows,
              (int)width};
  return m;
}

/* tile[d][r] = m[first + r][depth + d], 0 outside. */
template <int N>
static __device__ inline void burn_load_turned(Four (*tile)[N / 4], const Matrix &m, int first, int depth) {
#pragma unroll 1
  for (int from = threadIdx.x; from < N * DEPTH; from += AT_ONCE * THREADS) {
    C held[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = from + k * THREADS, d = i % 8 + i / (8 * N) * 8, r = i / 8 % N;
      const bool is_there = first + r < m.rows && depth + d < m.width;
      held[k] = is_there ? (C)burn_get(m.at[(first + r) * m.row + (depth + d) * m.column]) : (C)0;
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = from + k * THREADS, d = i % 8 + i / (8 * N) * 8, r = i / 8 % N;
      tile[d][(r / 4) ^ (d % 8)].at[r % 4] = held[k];
    }
  }
}

/* part[r][c] = m[first + r][column + c], 0 outside. */
static __device__ inline void burn_load_part(C *part, const Matrix &m, int first, int column) {
#pragma unroll 1
  for (int from = threadIdx.x; from < PART * COLUMNS; from += AT_ONCE * THREADS) {
    C held[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = from + k * THREADS, r = i / COLUMNS, c = i % COLUMNS;
      const bool is_there = first + r < m.rows && column + c < m.width;
      held[k] = is_there ? (C)burn_get(m.at[(first + r) * m.row + (column + c) * m.column]) : (C)0;
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) part[from + k * THREADS] = held[k];
  }
}

/* s[i][j] = a[row + 4 ty + i] . b[column + 4 tx + j] */
static __device__ inline void burn_dots(Room &room, C s[4][4], const Matrix &a, int row, const Matrix &b,
                                        int column) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) s[i][j] = (C)0;
  for (int depth = 0; depth < a.width; depth += DEPTH) {
    __syncthreads();
    burn_load_turned<ROWS>(room.left, a, row, depth);
    burn_load_turned<TILE>(room.right, b, column, depth);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < DEPTH; d++) {
      const Four left = room.left[d][ty ^ (d % 8)], right = room.right[d][tx ^ (d % 8)];
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) s[i][j] = burn_fused(left.at[i], right.at[j], s[i][j]);
    }
  }
}

/* weights[4 tx + j][unit of rows 4 ty ..] = s[..][j] */
static __device__ inline void burn_keep(Four (*weights)[ROWS / 4], const C s[4][4]) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  __syncthreads(); /* who still reads those of the tile before */
#pragma unroll
  for (int j = 0; j < 4; j++) {
    Four column;
#pragma unroll
    for (int i = 0; i < 4; i++) column.at[i] = s[i][j];
    weights[4 * tx + j][ty ^ (tx % 8)] = column;
  }
}

/* sum[i][..] += weights^T [.., TILE] x m[first .. first + TILE], columns from `column` on: pairs 2 tx + 32 k of them. */
static __device__ inline void burn_add_rows(Room &room, Four (*weights)[ROWS / 4], C sum[4][2 * PAIRS], const Matrix &m,
                                            int first, int column) {
  C *part = (C *)&room;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int from = 0; from < TILE && first + from < m.rows; from += PART) {
    __syncthreads();
    burn_load_part(part, m, first + from, column);
    __syncthreads();
#pragma unroll 4
    for (int r = 0; r < PART; r++) {
      const Four w = weights[from + r][ty ^ ((from + r) / 4 % 8)];
#pragma unroll
      for (int k = 0; k < PAIRS; k++) {
        const Two v = *(const Two *)(part + r * COLUMNS + 32 * k + 2 * tx);
#pragma unroll
        for (int i = 0; i < 4; i++) {
          sum[i][2 * k] = burn_fused(w.at[i], v.at[0], sum[i][2 * k]);
          sum[i][2 * k + 1] = burn_fused(w.at[i], v.at[1], sum[i][2 * k + 1]);
        }
      }
    }
  }
}

/* Of the 16 threads that share rows. */
static __device__ inline C burn_row_sum(C x) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
static __device__ inline C burn_row_largest(C x) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, x, step);
    x = other > x ? other : x;
  }
  return x;
}

/* A score from a dot product: -infinity where it is hidden. In *slope, what its gradient is multiplied by. */
static __device__ inline C burn_score(const CudaAttention &p, int n, int head, int query, int key, C dot,
                                      C *slope) {
  C score = dot * (C)p.scale;
  *slope = (C)p.scale;
  if (p.cap > 0) {
    const C bent = burn_bent(score * (C)(1 / p.cap));
    score = bent * (C)p.cap;
    *slope = *slope * ((C)1 - bent * bent);
  }
  const int queries = (int)p.queries, keys = (int)p.keys;
  bool is_hidden = query >= queries || key >= keys || (p.is_causal && key > query + keys - queries);
  if (p.mask && !is_hidden)
    is_hidden = ((const uint8_t *)p.mask)[n * p.mask_strides[0] + head * p.mask_strides[1] + query * p.mask_strides[2] +
                                          key * p.mask_strides[3]] != 0;
  if (is_hidden) return -(C)INFINITY;
  if (p.bias)
    score = score + burn_get(((const IN0 *)p.bias)[n * p.bias_strides[0] + head * p.bias_strides[1] +
                                                   query * p.bias_strides[2] + key * p.bias_strides[3]]);
  return score;
}

/* Where a block works. Blocks with most to do come first: the last queries and the first keys of causal heads. */
struct Place {
  int n, head, first, column;
};
static __device__ inline Place burn_place(const CudaAttention &p) {
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

static __device__ inline void burn_clear(C sum[4][2 * PAIRS]) {
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int k = 0; k < 2 * PAIRS; k++) sum[i][k] = (C)0;
}

static __device__ inline void burn_write(uint64_t address, const int64_t *strides, const Place &at, int64_t rows,
                                         int64_t width, const C sum[4][2 * PAIRS]) {
  OUT *to = (OUT *)address + at.n * strides[0] + at.head * strides[1];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int k = 0; k < 2 * PAIRS; k++) {
      const int64_t row = at.first + 4 * ty + i, column = at.column + 2 * tx + k % 2 + k / 2 * 32;
      if (row < rows && column < width) burn_put(to[row * strides[2] + column * strides[3]], sum[i][k]);
    }
}

/* The first key that no query of the rows sees. */
static __device__ inline int burn_seen(const CudaAttention &p, const Place &at) {
  const int keys = (int)p.keys, seen = at.first + ROWS + keys - (int)p.queries;
  return !p.is_causal || seen > keys ? keys : seen;
}

/* Takes a tile's scores into the running largest and sum of exponentials; s becomes the exponentials. */
static __device__ inline void burn_soften(C s[4][4], C high[4], C sum[4], C factor[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    C largest = s[i][0], added = (C)0;
#pragma unroll
    for (int j = 1; j < 4; j++) largest = s[i][j] > largest ? s[i][j] : largest;
    largest = burn_row_largest(largest);
    largest = largest > high[i] ? largest : high[i];
    const C base = largest == -(C)INFINITY ? (C)0 : largest;
    factor[i] = burn_power_of_e(high[i] - base);
#pragma unroll
    for (int j = 0; j < 4; j++) added += s[i][j] = burn_power_of_e(s[i][j] - base);
    sum[i] = sum[i] * factor[i] + burn_row_sum(added);
    high[i] = largest;
  }
}

#if BURN_PASS == 0

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const CudaAttention p) {
  __shared__ Room room;
  __shared__ Four weights[TILE][ROWS / 4];
  const Place at = burn_place(p);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  C s[4][4], high[4], sum[4], factor[4], result[4][2 * PAIRS];
#pragma unroll
  for (int i = 0; i < 4; i++) high[i] = -(C)INFINITY, sum[i] = (C)0;
  burn_clear(result);
  const int seen = burn_seen(p, at);
  for (int key = 0; key < seen; key += TILE) {
    burn_dots(room, s, q, at.first, k, key);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        C slope;
        s[i][j] = burn_score(p, at.n, at.head, at.first + 4 * ty + i, key + 4 * tx + j, s[i][j], &slope);
      }
    burn_soften(s, high, sum, factor);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int c = 0; c < 2 * PAIRS; c++) result[i][c] = result[i][c] * factor[i];
    burn_keep(weights, s);
    burn_add_rows(room, weights, result, v, key, at.column);
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int c = 0; c < 2 * PAIRS; c++) result[i][c] = sum[i] == (C)0 ? (C)0 : result[i][c] / sum[i];
  burn_write(p.out, p.out_strides, at, p.queries, p.value_width, result);
}

#elif BURN_PASS == 1

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const CudaAttention p) {
  __shared__ Room room;
  __shared__ Four weights[TILE][ROWS / 4];
  const Place at = burn_place(p);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries, p.value_width);
  C s[4][4], hit[4][4], high[4], sum[4], inverse[4], mean[4], factor[4], result[4][2 * PAIRS], slope;
#pragma unroll
  for (int i = 0; i < 4; i++) high[i] = -(C)INFINITY, sum[i] = mean[i] = (C)0;
  const int seen = p.scores ? (int)p.keys : burn_seen(p, at);
  for (int key = 0; key < seen; key += TILE) {
    burn_dots(room, s, q, at.first, k, key);
    burn_dots(room, hit, g, at.first, v, key);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
        s[i][j] = burn_score(p, at.n, at.head, at.first + 4 * ty + i, key + 4 * tx + j, s[i][j], &slope);
    burn_soften(s, high, sum, factor);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      C added = (C)0;
#pragma unroll
      for (int j = 0; j < 4; j++) added += s[i][j] == (C)0 ? (C)0 : s[i][j] * hit[i][j];
      mean[i] = mean[i] * factor[i] + burn_row_sum(added);
    }
  }
  const int64_t heads = p.batch * p.heads, line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int query = at.first + 4 * ty + i;
    inverse[i] = sum[i] == (C)0 ? (C)0 : (C)1 / sum[i];
    mean[i] = mean[i] * inverse[i];
    if (high[i] == -(C)INFINITY) high[i] = (C)0;
    if (tx != 0 || query >= (int)p.queries || at.column != 0) continue;
    ((C *)p.statistics)[line + query] = high[i];
    ((C *)p.statistics)[heads * p.queries + line + query] = inverse[i];
    ((C *)p.statistics)[2 * heads * p.queries + line + query] = mean[i];
  }
  burn_clear(result);
  for (int key = 0; key < seen; key += TILE) {
    burn_dots(room, s, q, at.first, k, key);
    burn_dots(room, hit, g, at.first, v, key);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int query = at.first + 4 * ty + i, column = key + 4 * tx + j;
        const C score = burn_score(p, at.n, at.head, query, column, s[i][j], &slope);
        const bool is_hidden = score == -(C)INFINITY;
        const C change =
            is_hidden ? (C)0 : burn_power_of_e(score - high[i]) * inverse[i] * (hit[i][j] - mean[i]);
        if (p.scores && at.column == 0 && query < (int)p.queries && column < (int)p.keys)
          ((C *)p.scores)[(line + query) * p.keys + column] = change;
        s[i][j] = is_hidden ? (C)0 : change * slope;
      }
    burn_keep(weights, s);
    burn_add_rows(room, weights, result, k, key, at.column);
  }
  burn_write(p.out, p.out_strides, at, p.queries, p.width, result);
}

#else

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const CudaAttention p) {
  __shared__ Room room;
  __shared__ Four weights[TILE][ROWS / 4];
  const Place at = burn_place(p);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries, p.value_width);
  const int64_t heads = p.batch * p.heads, line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  C s[4][4], hit[4][4], of_key[4][2 * PAIRS], of_value[4][2 * PAIRS];
  burn_clear(of_key);
  burn_clear(of_value);
  const int queries = (int)p.queries;
  const int sees = at.first - ((int)p.keys - queries); /* the first query that sees a key of the rows */
  for (int query = p.is_causal && sees > 0 ? sees / TILE * TILE : 0; query < queries; query += TILE) {
    burn_dots(room, s, k, at.first, q, query);
    burn_dots(room, hit, v, at.first, g, query);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int column = query + 4 * tx + j;
      const int64_t from = line + (column < queries ? column : 0);
      const C high = ((const C *)p.statistics)[from], inverse = ((const C *)p.statistics)[heads * p.queries + from];
      const C mean = ((const C *)p.statistics)[2 * heads * p.queries + from];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        C slope;
        const C score = burn_score(p, at.n, at.head, column, at.first + 4 * ty + i, s[i][j], &slope);
        const bool is_hidden = score == -(C)INFINITY;
        s[i][j] = is_hidden ? (C)0 : burn_power_of_e(score - high) * inverse;
        hit[i][j] = is_hidden ? (C)0 : s[i][j] * (hit[i][j] - mean) * slope;
      }
    }
    burn_keep(weights, s);
    burn_add_rows(room, weights, of_value, g, query, at.column);
    burn_keep(weights, hit);
    burn_add_rows(room, weights, of_key, q, query, at.column);
  }
  burn_write(p.out, p.out_strides, at, p.keys, p.width, of_key);
  burn_write(p.second_out, p.second_out_strides, at, p.keys, p.value_width, of_value);
}
#endif
#endif
