/* attention_fragments.cu - attention of halves and its gradients without mask, bias and cap, for Vulkan where it is known which
 * elements of the matrices of a subgroup a thread has; attention_parts.cu comes before. So scores become weights, and sums results,
 * where they are: nothing but tiles of the other side goes through shared memory.
 *
 * BURN_VARIANT % 4 is the pass. 0: attention and its logsumexp. 1: the gradient of the queries, which leaves how much the gradient
 * hits each result. 2: the gradients of keys and values. + 8: as attention_parts.cu has it. The plugin defines DEPTH, the width of
 * heads as a multiple of 16, and SHARES, the 16s of rows of a subgroup.
 *
 * A thread has elements i of rows lane / 4 + i / 4 * 8 and columns lane % 4 * 2 + i % 2 + i / 2 % 2 * 8, of the left factor as of
 * sums. Scores are powers of two. Weights are rounded to halves, and sums are of f32, in an order that the shapes decide. */
#define SIDE 16
#define STEPS (DEPTH / SIDE)
#define BLOCKS (TILE / SIDE)
#define WARPS 4
#define THREADS (WARPS * 32)
#undef ROWS
#define ROWS (WARPS * SHARES * SIDE)
#define LINE (DEPTH / 8 | 1) /* vectors of a line in shared memory: an odd number, for the banks */
#define READS (TILE * DEPTH / 8 / THREADS)
#define ROOM ((ROWS > 2 * TILE ? ROWS : 2 * TILE) * LINE)
#define MINE (2 * SHARES) /* rows of a thread */
#define LOG2_E 1.44269504088896341f

struct alignas(16) Words { uint32_t at[4]; };
typedef burn_subgroup_matrix<IN0, SIDE, SIDE, 0> Left;
typedef burn_subgroup_matrix<IN0, SIDE, SIDE, 1> Right;
typedef burn_subgroup_matrix<float, SIDE, SIDE, 2> Sums;

static __device__ inline int burn_lane() { return (int)(threadIdx.x % 32u); }
static __device__ inline int burn_row(int i) {
  return (int)(threadIdx.x / 32u) * (SHARES * SIDE) + i / 2 * SIDE + burn_lane() / 4 + i % 2 * 8;
}
/* Of element i of a matrix. */
static __device__ inline int burn_column(int i) { return burn_lane() % 4 * 2 + i % 2 + i / 2 % 2 * 8; }

static __device__ inline float burn_power_of_two(float x) {
#if BURN_HAS_FAST_EXP
  return burn_native_exp2(x);
#else
  return burn_exp_f32(x * 0.693147180559945309f);
#endif
}

/* -- tiles ------------------------------------------------------------------------------------ */

/* A vector of m[r][c ..], 0 outside. */
static __device__ inline Words burn_vector(const Matrix &m, int r, int c) {
  Words words = {{0u, 0u, 0u, 0u}};
  if (r < m.rows && c < m.width) words = *(const Words *)(m.at + r * m.row + c);
  return words;
}

static __device__ inline void burn_hold(Words held[READS], const Matrix &m, int first) {
#pragma unroll
  for (int k = 0; k < READS; k++) {
    const int at = (int)threadIdx.x + k * THREADS;
    held[k] = burn_vector(m, first + at / (DEPTH / 8), at % (DEPTH / 8) * 8);
  }
}

static __device__ inline void burn_put_lines(Words *to, const Words held[READS]) {
#pragma unroll
  for (int k = 0; k < READS; k++) {
    const int at = (int)threadIdx.x + k * THREADS;
    to[at / (DEPTH / 8) * LINE + at % (DEPTH / 8)] = held[k];
  }
}

/* The rows of the block, as left factors of each subgroup. */
static __device__ inline void burn_keep(Words *room, Left kept[SHARES][STEPS], const Matrix &m, int first) {
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ROWS * DEPTH / 8 / THREADS; k++) {
    const int at = (int)threadIdx.x + k * THREADS, line = at / (DEPTH / 8), c = at % (DEPTH / 8);
    room[line * LINE + c] = burn_vector(m, first + line, c * 8);
  }
  __syncthreads();
  const int mine = (int)(threadIdx.x / 32u) * (SHARES * SIDE);
#pragma unroll
  for (int i = 0; i < SHARES; i++)
#pragma unroll
    for (int k = 0; k < STEPS; k++)
      kept[i][k] = burn_matrix_load<Left>(room + ((mine + i * SIDE) * LINE + k * 2), LINE, 0);
}

/* -- products --------------------------------------------------------------------------------- */

static __device__ inline void burn_clear(Sums sums[SHARES]) {
#pragma unroll
  for (int i = 0; i < SHARES; i++) sums[i] = burn_matrix_fill<Sums>(0.0f);
}
static __device__ inline void burn_clear_all(Sums sums[SHARES][STEPS]) {
#pragma unroll
  for (int i = 0; i < SHARES; i++)
#pragma unroll
    for (int c = 0; c < STEPS; c++) sums[i][c] = burn_matrix_fill<Sums>(0.0f);
}

/* The rows times 16 lines of a tile. */
static __device__ inline void burn_dots(Sums sums[SHARES], Left kept[SHARES][STEPS], const Words *lines) {
  burn_clear(sums);
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const Right y = burn_matrix_load<Right>(lines + k * 2, LINE, 1);
#pragma unroll
    for (int i = 0; i < SHARES; i++) sums[i] = burn_matrix_multiply_add(kept[i][k], y, sums[i]);
  }
}

/* sums += weights x 16 lines of a tile. */
static __device__ inline void burn_add_lines(Sums sums[SHARES][STEPS], Left weights[SHARES], const Words *lines) {
#pragma unroll
  for (int c = 0; c < STEPS; c++) {
    const Right y = burn_matrix_load<Right>(lines + c * 2, LINE, 0);
#pragma unroll
    for (int i = 0; i < SHARES; i++) sums[i][c] = burn_matrix_multiply_add(weights[i], y, sums[i][c]);
  }
}

/* -- blocks ----------------------------------------------------------------------------------- */

struct Place {
  int n, head, first;
};
/* Blocks with most to do come first: the last queries and the first keys of causal heads. */
static __device__ inline Place burn_place(const GpuAttention &p) {
  const int heads = (int)p.heads, batch = (int)p.batch;
  Place at;
  int rest = (int)blockIdx.x;
  at.head = rest % heads;
  rest /= heads;
  at.n = rest % batch;
  rest /= batch;
  at.first = (BURN_PASS == 2 ? rest : (int)p.tiles - 1 - rest) * ROWS;
  return at;
}

static __device__ inline uint32_t burn_word(f16_t x) { return (uint32_t)x.bits; }
static __device__ inline uint32_t burn_word(bf16_t x) { return (uint32_t)x.bits; }

/* Rows of results, each times its factor, two neighbours at once. */
static __device__ inline void burn_write(uint64_t address, const int64_t *strides, const Place &at, int rows, int width,
                                         Sums sums[SHARES][STEPS], const float factor[MINE]) {
  OUT *to = (OUT *)address + at.n * strides[0] + at.head * strides[1];
#pragma unroll
  for (int i = 0; i < SHARES; i++)
#pragma unroll
    for (int c = 0; c < STEPS; c++)
#pragma unroll
      for (int e = 0; e < 8; e += 2) {
        const int mine = i * 2 + e / 4, row = at.first + burn_row(mine), column = c * SIDE + burn_column(e);
        OUT low, high;
        burn_put(low, burn_matrix_get(sums[i][c], e) * factor[mine]);
        burn_put(high, burn_matrix_get(sums[i][c], e + 1) * factor[mine]);
        if (row < rows && column < width)
          *(uint32_t *)(to + row * strides[2] + column) = burn_word(low) | burn_word(high) << 16;
      }
}

/* The first key that no query of the rows sees. */
static __device__ inline int burn_seen(const GpuAttention &p, const Place &at) {
  const int keys = (int)p.keys, seen = at.first + ROWS + keys - (int)p.queries;
  return !p.is_causal || seen > keys ? keys : seen;
}

/* The first key that a query does not see. */
static __device__ inline int burn_end(const GpuAttention &p, int query) {
  const int keys = (int)p.keys, end = query + 1 + keys - (int)p.queries;
  return !p.is_causal || end > keys ? keys : end;
}

#if BURN_PASS == 0

/* Of the threads that share rows. */
static __device__ inline float burn_row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 2);
  return x + __shfl_xor_sync(0xffffffffu, x, 1);
}
static __device__ inline float burn_larger(float x, float y) { return y > x ? y : x; }
static __device__ inline float burn_row_largest(float x) {
  x = burn_larger(x, __shfl_xor_sync(0xffffffffu, x, 2));
  return burn_larger(x, __shfl_xor_sync(0xffffffffu, x, 1));
}

/* Takes the scores of a tile into the running largest and sum of powers; they become the powers. */
static __device__ inline void burn_soften(float s[MINE][BLOCKS * 4], float high[MINE], float sum[MINE], float factor[MINE]) {
#pragma unroll
  for (int r = 0; r < MINE; r++) {
    float largest = high[r], added = 0.0f;
#pragma unroll
    for (int j = 0; j < BLOCKS * 4; j++) largest = burn_larger(largest, s[r][j]);
    largest = burn_row_largest(largest);
    const float base = largest == -INFINITY ? 0.0f : largest;
    factor[r] = burn_power_of_two(high[r] - base);
#pragma unroll
    for (int j = 0; j < BLOCKS * 4; j++) {
      s[r][j] = burn_power_of_two(s[r][j] - base);
      added += s[r][j];
    }
    sum[r] = sum[r] * factor[r] + burn_row_sum(added);
    high[r] = largest;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuAttention p) {
  __shared__ Words room[ROOM];
  burn_may_flush_subnormals();
  const Place at = burn_place(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const float scale = (float)p.scale * LOG2_E;
  Left queries[SHARES][STEPS];
  Sums result[SHARES][STEPS];
  float high[MINE], sum[MINE], factor[MINE];
  Words held_keys[READS], held_values[READS];
  const int seen = burn_seen(p, at);
  int end[MINE];
  burn_hold(held_keys, k, 0);
  burn_hold(held_values, v, 0);
  burn_keep(room, queries, q, at.first);
  burn_clear_all(result);
#pragma unroll
  for (int r = 0; r < MINE; r++) {
    high[r] = -INFINITY, sum[r] = 0.0f;
    end[r] = burn_end(p, at.first + burn_row(r));
  }
  for (int key = 0; key < seen; key += TILE) {
    float s[MINE][BLOCKS * 4];
    __syncthreads();
    burn_put_lines(room, held_keys);
    burn_put_lines(room + TILE * LINE, held_values);
    __syncthreads();
    if (key + TILE < seen) { /* the next tiles are under way while these are multiplied */
      burn_hold(held_keys, k, key + TILE);
      burn_hold(held_values, v, key + TILE);
    }
#pragma unroll
    for (int j = 0; j < BLOCKS; j++) {
      Sums dots[SHARES];
      burn_dots(dots, queries, room + j * SIDE * LINE);
#pragma unroll
      for (int i = 0; i < SHARES; i++)
#pragma unroll
        for (int e = 0; e < 8; e++) {
          const int r = i * 2 + e / 4;
          const float score = burn_matrix_get(dots[i], e) * scale;
          s[r][j * 4 + e % 4] = key + j * SIDE + burn_column(e) < end[r] ? score : -INFINITY;
        }
    }
    burn_soften(s, high, sum, factor);
#pragma unroll
    for (int i = 0; i < SHARES; i++)
#pragma unroll
      for (int c = 0; c < STEPS; c++)
#pragma unroll
        for (int e = 0; e < 8; e++)
          burn_matrix_set(result[i][c], e, burn_matrix_get(result[i][c], e) * factor[i * 2 + e / 4]);
#pragma unroll
    for (int j = 0; j < BLOCKS; j++) {
      Left weights[SHARES];
#pragma unroll
      for (int i = 0; i < SHARES; i++)
#pragma unroll
        for (int e = 0; e < 8; e++) burn_matrix_set(weights[i], e, s[i * 2 + e / 4][j * 4 + e % 4]);
      burn_add_lines(result, weights, room + (TILE + j * SIDE) * LINE);
    }
  }
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int r = 0; r < MINE; r++) {
    const int query = at.first + burn_row(r);
    const bool is_empty = sum[r] == 0.0f;
    factor[r] = is_empty ? 0.0f : 1.0f / sum[r];
    if (p.logsumexp != 0u && burn_lane() % 4 == 0 && query < (int)p.queries)
      ((float *)p.logsumexp)[line + query] = is_empty ? -INFINITY : high[r] * 0.693147180559945309f + burn_logarithm(sum[r]);
  }
  burn_write(p.out, p.out_strides, at, (int)p.queries, (int)p.value_width, result, factor);
}

#else

/* The logsumexp of a query as a power of two, larger than all scores where there is none. */
static __device__ inline float burn_base(const GpuAttention &p, int64_t line, int query) {
  if (query >= (int)p.queries) return INFINITY;
  const float sum = ((const float *)p.logsumexp)[line + query];
  return sum == -INFINITY ? INFINITY : sum * LOG2_E;
}

#if BURN_PASS == 1

static __device__ inline float burn_low(uint32_t word, f16_t) {
  const f16_t x = {(uint16_t)(word & 0xffffu)};
  return burn_get(x);
}
static __device__ inline float burn_low(uint32_t word, bf16_t) {
  const bf16_t x = {(uint16_t)(word & 0xffffu)};
  return burn_get(x);
}

/* How much the gradient hits the result of a row. */
static __device__ inline float burn_hit(const Matrix &g, const Matrix &o, int query) {
  const IN0 number = {(uint16_t)0};
  float hit = 0.0f;
  for (int c = burn_lane() % 4 * 8; c < g.width; c += 32) {
    const Words a = burn_vector(g, query, c), b = burn_vector(o, query, c);
#pragma unroll
    for (int w = 0; w < 4; w++) {
      hit = burn_multiply_add(burn_low(a.at[w], number), burn_low(b.at[w], number), hit);
      hit = burn_multiply_add(burn_low(a.at[w] >> 16, number), burn_low(b.at[w] >> 16, number), hit);
    }
  }
  hit += __shfl_xor_sync(0xffffffffu, hit, 2);
  return hit + __shfl_xor_sync(0xffffffffu, hit, 1);
}

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuAttention p) {
  __shared__ Words room[ROOM];
  burn_may_flush_subnormals();
  const Place at = burn_place(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries, p.value_width);
  const Matrix o = burn_matrix(p.result, p.result_strides, at.n, at.head, p.queries, p.value_width);
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  const float scale = (float)p.scale * LOG2_E;
  const int seen = burn_seen(p, at);
  Left queries[SHARES][STEPS], gradients[SHARES][STEPS];
  Sums result[SHARES][STEPS];
  float base[MINE], mean[MINE];
  int end[MINE];
  Words held_keys[READS], held_values[READS];
  burn_hold(held_keys, k, 0);
  burn_hold(held_values, v, 0);
  burn_keep(room, queries, q, at.first);
  burn_keep(room, gradients, g, at.first);
  burn_clear_all(result);
#pragma unroll
  for (int r = 0; r < MINE; r++) {
    const int query = at.first + burn_row(r);
    base[r] = burn_base(p, line, query);
    mean[r] = burn_hit(g, o, query);
    end[r] = burn_end(p, query);
    if (burn_lane() % 4 == 0 && query < (int)p.queries) ((float *)p.hits)[line + query] = mean[r];
  }
  for (int key = 0; key < seen; key += TILE) {
    __syncthreads();
    burn_put_lines(room, held_keys);
    burn_put_lines(room + TILE * LINE, held_values);
    __syncthreads();
    if (key + TILE < seen) {
      burn_hold(held_keys, k, key + TILE);
      burn_hold(held_values, v, key + TILE);
    }
#pragma unroll
    for (int j = 0; j < BLOCKS; j++) {
      Sums dots[SHARES], hits[SHARES];
      Left changes[SHARES];
      burn_dots(dots, queries, room + j * SIDE * LINE);
      burn_dots(hits, gradients, room + (TILE + j * SIDE) * LINE);
#pragma unroll
      for (int i = 0; i < SHARES; i++)
#pragma unroll
        for (int e = 0; e < 8; e++) {
          const int r = i * 2 + e / 4;
          const float score = burn_multiply_add(burn_matrix_get(dots[i], e), scale, -base[r]);
          const bool is_seen = key + j * SIDE + burn_column(e) < end[r];
          const float weight = burn_power_of_two(is_seen ? score : -INFINITY);
          burn_matrix_set(changes[i], e, weight * (burn_matrix_get(hits[i], e) - mean[r]));
        }
      burn_add_lines(result, changes, room + j * SIDE * LINE);
    }
  }
  float factor[MINE];
#pragma unroll
  for (int r = 0; r < MINE; r++) factor[r] = (float)p.scale;
  burn_write(p.out, p.out_strides, at, (int)p.queries, (int)p.width, result, factor);
}

#else

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuAttention p) {
  __shared__ Words room[ROOM];
  __shared__ float bases[TILE], means[TILE];
  burn_may_flush_subnormals();
  const Place at = burn_place(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries, p.width);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys, p.width);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys, p.value_width);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries, p.value_width);
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  const float scale = (float)p.scale * LOG2_E;
  const int queries = (int)p.queries, sees = at.first - ((int)p.keys - queries); /* the first query that sees a key of the rows */
  Left keys[SHARES][STEPS], values[SHARES][STEPS];
  Sums of_key[SHARES][STEPS], of_value[SHARES][STEPS];
  int first[MINE]; /* the first query that sees a key */
  Words held_queries[READS], held_gradients[READS];
  int query = p.is_causal && sees > 0 ? sees / TILE * TILE : 0;
  burn_hold(held_queries, q, query);
  burn_hold(held_gradients, g, query);
  burn_keep(room, keys, k, at.first);
  burn_keep(room, values, v, at.first);
  burn_clear_all(of_key);
  burn_clear_all(of_value);
#pragma unroll
  for (int r = 0; r < MINE; r++) first[r] = p.is_causal ? at.first + burn_row(r) - ((int)p.keys - queries) : 0;
  for (; query < queries; query += TILE) {
    const int mine = query + (int)threadIdx.x % TILE;
    const bool has_mine = (int)threadIdx.x < TILE;
    const float base = burn_base(p, line, mine), mean = mine < queries ? ((const float *)p.hits)[line + mine] : 0.0f;
    __syncthreads();
    burn_put_lines(room, held_queries);
    burn_put_lines(room + TILE * LINE, held_gradients);
    if (has_mine) bases[threadIdx.x % TILE] = base, means[threadIdx.x % TILE] = mean;
    __syncthreads();
    if (query + TILE < queries) {
      burn_hold(held_queries, q, query + TILE);
      burn_hold(held_gradients, g, query + TILE);
    }
#pragma unroll
    for (int j = 0; j < BLOCKS; j++) {
      Sums dots[SHARES], hits[SHARES];
      Left weights[SHARES], changes[SHARES];
      burn_dots(dots, keys, room + j * SIDE * LINE);
      burn_dots(hits, values, room + (TILE + j * SIDE) * LINE);
#pragma unroll
      for (int e = 0; e < 8; e++) {
        const int column = j * SIDE + burn_column(e);
#pragma unroll
        for (int i = 0; i < SHARES; i++) {
          const int r = i * 2 + e / 4;
          const float score = burn_multiply_add(burn_matrix_get(dots[i], e), scale, -bases[column]);
          const float weight = burn_power_of_two(query + column >= first[r] ? score : -INFINITY);
          burn_matrix_set(weights[i], e, weight);
          burn_matrix_set(changes[i], e, weight * (burn_matrix_get(hits[i], e) - means[column]));
        }
      }
      burn_add_lines(of_value, weights, room + (TILE + j * SIDE) * LINE);
      burn_add_lines(of_key, changes, room + j * SIDE * LINE);
    }
  }
  float factor[MINE], one[MINE];
#pragma unroll
  for (int r = 0; r < MINE; r++) factor[r] = (float)p.scale, one[r] = 1.0f;
  burn_write(p.out, p.out_strides, at, (int)p.keys, (int)p.width, of_key, factor);
  burn_write(p.second_out, p.second_out_strides, at, (int)p.keys, (int)p.value_width, of_value, one);
}
#endif
#endif
