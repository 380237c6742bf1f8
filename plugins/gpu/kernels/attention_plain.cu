/* attention_plain.cu - attention of f32 and its gradients, without mask, bias and cap, where rows lie by fours and are 32,
 * 64, 96 or 128 wide: scores and results stay in registers, tiles come into shared memory beside the work.
 *
 * BURN_VARIANT % 4 is the pass. 0: attention, and the logsumexp of each query's scores if it is wanted. 1: the gradient of
 * the queries, and how much the gradient hits the result of each. 2: the gradients of keys and values. The gradients take
 * scores from the logsumexp: pass 1 makes three products, pass 2 four. BURN_VARIANT / 4 % 2: products on tensor cores, of
 * TF32. BURN_VARIANT / 8 % 2: there are many rows, so blocks have more of them. BURN_VARIANT / 16: 32s of the width.
 *
 * A block has ROWS rows (queries; keys in pass 2), each warp 16 or 32 of them, and goes through tiles of the other side: no
 * warp needs what another makes. Tiles that causal attention hides are left out, by the warp, too. A dot product adds by FMA
 * along the axis, a result over the other side in its order; a sum of exponentials is made of 8 or 4 threads' in a fixed
 * order: numbers do not depend on how many rows a block has. Powers are those of 2, to 2^-22. */
#define PASS (BURN_VARIANT % 4)
#define ON_TENSOR_CORES (BURN_VARIANT / 4 % 2)
#define HAS_MANY (BURN_VARIANT / 8 % 2)
#define W (BURN_VARIANT / 16 * 32)
#define WARPS GPU_PLAIN_WARPS(PASS, ON_TENSOR_CORES, HAS_MANY, W)
#define SHARES GPU_PLAIN_SHARES(PASS, ON_TENSOR_CORES, HAS_MANY, W) /* 16s of rows of a warp */
#define ROWS (16 * SHARES * WARPS)
#define TILE GPU_PLAIN_TILE(PASS, ON_TENSOR_CORES, W)
#define STAGES GPU_PLAIN_STAGES(ON_TENSOR_CORES, W)
#define THREADS (32 * WARPS)
/* On a multiprocessor, as registers and shared memory of sm_90 allow. */
#if W > 64
#define BURN_BLOCKS (ON_TENSOR_CORES && PASS > 0 ? 1 : 2)
#elif ON_TENSOR_CORES
#define BURN_BLOCKS (PASS == 0 || HAS_MANY ? 2 : 3)
#else
#define BURN_BLOCKS (PASS == 0 && !HAS_MANY ? 3 : 2)
#endif
#define PITCH (W + 4) /* of rows in shared memory: fragments, and fours of eight rows, then meet each bank once */
#define LOG2_E 1.4426950408889634f
#define LOG_2 0.6931471805599453f

/* What of a tile [ROWS, TILE] of scores, and of results [ROWS, W], a thread has. */
#if ON_TENSOR_CORES
#define MY_ROWS (2 * SHARES)
#define MY_SCORES (TILE / 4)
#define MY_RESULTS (W / 4)
#define SHARERS 4 /* threads beside each other that share rows */
#define NEIGHBOURS 2 /* results beside each other */
static __device__ inline int burn_row(int i) {
  return threadIdx.x / 32 * 16 * SHARES + i / 2 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
}
static __device__ inline int burn_column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
static __device__ inline int burn_result_column(int k) { return burn_column(k); }
#else
#define MY_ROWS (4 * SHARES)
#define MY_SCORES (TILE / 8)
#define MY_RESULTS (W / 8)
#define SHARERS 8
#define NEIGHBOURS 4
#define WEIGHT_PITCH (TILE + 8)
static __device__ inline int burn_row(int i) {
  return threadIdx.x / 32 * 16 * SHARES + threadIdx.x % 32 / 8 + i * 4;
}
static __device__ inline int burn_column(int j) { return j * 8 + threadIdx.x % 8; }
static __device__ inline int burn_result_column(int k) { return k / 4 * 32 + threadIdx.x % 8 * 4 + k % 4; }
#endif

/* What a block shares: rows of its own, one or two matrices of them; stages of tiles, two matrices each; per stage, in pass
 * 2, the logsumexp and the hit of each query of the tile; then, in pass 1, the hits of the own rows; then weights on their
 * way from those who made them to those who multiply by them, who are of the same warp. */
#define OWN_MATRICES (PASS == 0 ? 1 : 2)
#define STAGE (2 * TILE * PITCH + (PASS == 2 ? 2 * TILE : 0))
#define HITS (OWN_MATRICES * ROWS * PITCH + STAGES * STAGE)
#define WEIGHTS (HITS + (PASS == 1 ? ROWS : 0))

typedef BurnFloats<4> Four;
typedef BurnFloats<2> Two;

/* -- from memory to shared memory -------------------------------------------------------------- */

#if defined(BURN_CUDA_EMULATED)
static __device__ inline float burn_power_of_2(float x) { return exp2(x); }
#else
static __device__ inline float burn_power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

/* Rows from `first` on; N * W / 4 is a multiple of the threads. */
template <int N> static __device__ inline void burn_copy(float *to, const Matrix &m, int first) {
#pragma unroll
  for (int k = 0; k < N * W / 4 / THREADS; k++) {
    const int i = threadIdx.x + k * THREADS, row = i / (W / 4), column = i % (W / 4) * 4;
    const bool is_there = first + row < m.rows;
    burn_copy_ahead<4>(to + row * PITCH + column, is_there ? m.at + (first + row) * m.row + column : m.at, is_there);
  }
}

/* To TF32 what the thread has copied, after it has come. */
template <int N> static __device__ inline void burn_round(float *tile) {
#if ON_TENSOR_CORES
#pragma unroll
  for (int k = 0; k < N * W / 4 / THREADS; k++) {
    const int i = threadIdx.x + k * THREADS;
    Four *at = (Four *)(tile + i / (W / 4) * PITCH + i % (W / 4) * 4);
    Four four = *at;
#pragma unroll
    for (int e = 0; e < 4; e++) four.at[e] = burn_tf32(four.at[e]);
    *at = four;
  }
#endif
}

/* -- products ---------------------------------------------------------------------------------- */

#if ON_TENSOR_CORES
/* Four matrices of 8 rows and 4 columns: of each, a thread gets row lane / 4, column lane % 4. They lie `down` and `right`
 * of each other, the second `down` if `is_down_first`, else `right`. */
static __device__ inline void burn_fragments(float to[4], const float *from, bool is_down_first) {
  const int lane = threadIdx.x % 32;
#if defined(BURN_CUDA_EMULATED)
  for (int k = 0; k < 4; k++) {
    const int down = is_down_first ? k % 2 : k / 2, right = is_down_first ? k / 2 : k % 2;
    to[k] = from[(down * 8 + lane / 4) * PITCH + right * 4 + lane % 4];
  }
#else
  const int down = is_down_first ? lane / 8 % 2 : lane / 16, right = is_down_first ? lane / 16 : lane / 8 % 2;
  const uint32_t place = burn_place_of(from + (down * 8 + lane % 8) * PITCH + right * 4);
  uint32_t bits[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
               : "r"(place)
               : "memory");
#pragma unroll
  for (int k = 0; k < 4; k++) to[k] = __uint_as_float(bits[k]);
#endif
}

/* s[i][j] = a[my row i] . b[my column j] */
static __device__ inline void burn_dots(float s[MY_ROWS][MY_SCORES], const float *a, const float *b) {
  const float *left = a + threadIdx.x / 32 * 16 * SHARES * PITCH;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) s[i][j] = 0.0f;
#pragma unroll
  for (int d = 0; d < W; d += 8) {
    float of_left[SHARES][4];
#pragma unroll
    for (int m = 0; m < SHARES; m++) burn_fragments(of_left[m], left + m * 16 * PITCH + d, true);
#pragma unroll
    for (int j = 0; j < MY_SCORES; j += 4) {
      float right[4];
      burn_fragments(right, b + j * 4 * PITCH + d, false);
#pragma unroll
      for (int m = 0; m < SHARES; m++) {
        float *high = s[2 * m], *low = s[2 * m + 1];
        burn_multiply(high[j], high[j + 1], low[j], low[j + 1], of_left[m], right[0], right[1]);
        burn_multiply(high[j + 2], high[j + 3], low[j + 2], low[j + 3], of_left[m], right[2], right[3]);
      }
    }
  }
}

/* sum[i][k] += s [rows, TILE] x b [TILE, W]. Scores are already where a fragment wants them, if columns 2 t and 2 t + 1 of
 * eight are its t and t + 4. */
static __device__ inline void burn_add(float *room, const float s[MY_ROWS][MY_SCORES], float sum[MY_ROWS][MY_RESULTS],
                                       const float *b) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < TILE; r += 8) {
    const int j = r / 4;
    const float *right = b + (r + lane % 4 * 2) * PITCH + lane / 4;
    float left[SHARES][4];
#pragma unroll
    for (int m = 0; m < SHARES; m++)
#pragma unroll
      for (int k = 0; k < 4; k++) left[m][k] = burn_tf32(s[2 * m + k % 2][j + k / 2]);
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k += 2) {
      const float first = right[k * 4], second = right[PITCH + k * 4];
#pragma unroll
      for (int m = 0; m < SHARES; m++)
        burn_multiply(sum[2 * m][k], sum[2 * m][k + 1], sum[2 * m + 1][k], sum[2 * m + 1][k + 1], left[m], first, second);
    }
  }
}
#else
static __device__ inline void burn_dots(float s[MY_ROWS][MY_SCORES], const float *a, const float *b) {
  const float *left = a + burn_row(0) * PITCH, *right = b + burn_column(0) * PITCH;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) s[i][j] = 0.0f;
#pragma unroll 2
  for (int d = 0; d < W; d += 4) {
    Four of_left[MY_ROWS];
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++) of_left[i] = *(const Four *)(left + i * 4 * PITCH + d);
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) {
      const Four of_right = *(const Four *)(right + j * 8 * PITCH + d);
#pragma unroll
      for (int e = 0; e < 4; e++)
#pragma unroll
        for (int i = 0; i < MY_ROWS; i++) s[i][j] = __fmaf_rn(of_left[i].at[e], of_right.at[e], s[i][j]);
    }
  }
}

static __device__ inline void burn_add(float *room, const float s[MY_ROWS][MY_SCORES], float sum[MY_ROWS][MY_RESULTS],
                                       const float *b) {
  float *weights = room + WEIGHTS;
  const float *left = weights + burn_row(0) * WEIGHT_PITCH, *right = b + burn_result_column(0);
  __syncwarp(); /* who still reads the weights before */
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) weights[burn_row(i) * WEIGHT_PITCH + burn_column(j)] = s[i][j];
  __syncwarp();
#pragma unroll 2
  for (int r = 0; r < TILE; r += 4) {
    Four of_left[MY_ROWS];
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++) of_left[i] = *(const Four *)(left + i * 4 * WEIGHT_PITCH + r);
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
      for (int k = 0; k < MY_RESULTS; k += 4) {
        const Four of_right = *(const Four *)(right + (r + e) * PITCH + k * 8);
#pragma unroll
        for (int c = 0; c < 4; c++)
#pragma unroll
          for (int i = 0; i < MY_ROWS; i++)
            sum[i][k + c] = __fmaf_rn(of_left[i].at[e], of_right.at[c], sum[i][k + c]);
      }
  }
}
#endif

/* -- what passes share -------------------------------------------------------------------------- */

/* factor[i] times row i of `sum`. */
static __device__ inline void burn_write(uint64_t address, const int64_t *strides, const Place &at, int64_t rows,
                                         const float sum[MY_ROWS][MY_RESULTS], const float factor[MY_ROWS]) {
  float *to = (float *)address + at.n * strides[0] + at.head * strides[1];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int row = at.first + burn_row(i);
    if (row >= (int)rows) continue;
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k += NEIGHBOURS) {
      float *place = to + row * strides[2] + burn_result_column(k);
#if ON_TENSOR_CORES
      const Two two = {{sum[i][k] * factor[i], sum[i][k + 1] * factor[i]}};
      *(Two *)place = two;
#else
      const Four four = {{sum[i][k] * factor[i], sum[i][k + 1] * factor[i], sum[i][k + 2] * factor[i],
                          sum[i][k + 3] * factor[i]}};
      *(Four *)place = four;
#endif
    }
  }
}

/* The tile from `from` on: copies that burn_wait waits for. */
static __device__ inline void burn_copy_stage(float *stage, const Matrix &b0, const Matrix &b1, int from) {
  burn_copy<TILE>(stage, b0, from);
  burn_copy<TILE>(stage + TILE * PITCH, b1, from);
}

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
    factor[i] = burn_power_of_2(high[i] * scale - base);
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) added += s[i][j] = burn_power_of_2(__fmaf_rn(s[i][j], scale, -base));
    sum[i] = sum[i] * factor[i] + added;
    high[i] = largest;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuAttention p) {
  extern __shared__ __align__(16) float room[];
  const Place at = burn_place<ROWS, PASS == 2>(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys);
  const int keys = (int)p.keys, ahead = p.is_causal ? keys - (int)p.queries : keys; /* last key seen, less the query */
  const int warp_first = at.first + threadIdx.x / 32 * 16 * SHARES, warp_last = warp_first + 16 * SHARES - 1;
  const int block_sees = at.first + ROWS + ahead, seen = block_sees < keys ? block_sees : keys;
  const float scale = (float)(p.scale * 1.4426950408889634);
  float *const stages = room + ROWS * PITCH;
  float s[MY_ROWS][MY_SCORES], high[MY_ROWS], sum[MY_ROWS], factor[MY_ROWS], result[MY_ROWS][MY_RESULTS];
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) high[i] = -INFINITY, sum[i] = 0.0f;
  burn_clear<MY_ROWS, MY_RESULTS>(result);
  burn_copy<ROWS>(room, q, at.first);
  if (STAGES == 2) burn_copy_stage(stages, k, v, 0);
  for (int key = 0; key < seen; key += TILE) {
    float *const stage = stages + (STAGES == 2 ? key / TILE % 2 * STAGE : 0);
    if (STAGES == 1) {
      __syncthreads(); /* who still reads the tile before */
      burn_copy_stage(stage, k, v, key);
    }
    burn_wait();
    if (key == 0) burn_round<ROWS>(room);
    burn_round<TILE>(stage);
    burn_round<TILE>(stage + TILE * PITCH);
    __syncthreads();
    if (STAGES == 2 && key + TILE < seen) burn_copy_stage(stages + (key / TILE + 1) % 2 * STAGE, k, v, key + TILE);
    if (key > warp_last + ahead || warp_first >= q.rows) continue;
    burn_dots(s, room, stage);
    if (key + TILE > keys || key + TILE - 1 > warp_first + ahead) {
#pragma unroll
      for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
        for (int j = 0; j < MY_SCORES; j++) {
          const int column = key + burn_column(j);
          if (column >= keys || column > at.first + burn_row(i) + ahead) s[i][j] = -INFINITY;
        }
    }
    burn_soften(s, high, sum, factor, scale);
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int c = 0; c < MY_RESULTS; c++) result[i][c] = result[i][c] * factor[i];
    burn_add(room, s, result, stage + TILE * PITCH);
  }
  burn_wait(); /* for copies that no tile has waited for */
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    const float all = burn_row_sum<SHARERS>(sum[i]);
    factor[i] = all == 0.0f ? 0.0f : 1.0f / all;
    if (p.logsumexp && threadIdx.x % SHARERS == 0 && query < (int)p.queries)
      ((float *)p.logsumexp)[line + query] =
          all == 0.0f ? -INFINITY : __fmaf_rn(high[i] * scale, LOG_2, burn_log_f32(all));
  }
  burn_write(p.out, p.out_strides, at, p.queries, result, factor);
}

#elif PASS == 1

/* How much the gradient hits the result of each row of the warp: into shared memory, and for pass 2. */
static __device__ inline void burn_hit(const GpuAttention &p, const Place &at, float *hits) {
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries);
  const Matrix o = burn_matrix(p.result, p.result_strides, at.n, at.head, p.queries);
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
#pragma unroll
  for (int r = 0; r < 16 * SHARES; r += 4) {
    const int row = threadIdx.x / 32 * 16 * SHARES + r + threadIdx.x % 32 / 8, query = at.first + row;
    float hit = 0.0f;
#pragma unroll
    for (int c = threadIdx.x % 8 * 4; c < W; c += 32) {
      if (query >= g.rows) continue;
      const Four x = *(const Four *)(g.at + query * g.row + c), y = *(const Four *)(o.at + query * o.row + c);
#pragma unroll
      for (int e = 0; e < 4; e++) hit = __fmaf_rn(x.at[e], y.at[e], hit);
    }
#pragma unroll
    for (int step = 4; step > 0; step /= 2) hit += __shfl_xor_sync(0xffffffffu, hit, step);
    if (threadIdx.x % 8 != 0) continue;
    hits[row] = hit;
    if (query < g.rows) ((float *)p.hits)[line + query] = hit;
  }
  __syncwarp();
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuAttention p) {
  extern __shared__ __align__(16) float room[];
  const Place at = burn_place<ROWS, PASS == 2>(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys);
  const int keys = (int)p.keys, ahead = p.is_causal ? keys - (int)p.queries : keys; /* last key seen, less the query */
  const int warp_first = at.first + threadIdx.x / 32 * 16 * SHARES, warp_last = warp_first + 16 * SHARES - 1;
  const int block_sees = at.first + ROWS + ahead, seen = block_sees < keys ? block_sees : keys;
  const float scale = (float)(p.scale * 1.4426950408889634);
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  float *const stages = room + 2 * ROWS * PITCH;
  float s[MY_ROWS][MY_SCORES], hit[MY_ROWS][MY_SCORES], base[MY_ROWS], mean[MY_ROWS], result[MY_ROWS][MY_RESULTS];
  burn_copy<ROWS>(room, q, at.first);
  burn_copy<ROWS>(room + ROWS * PITCH, g, at.first);
  if (STAGES == 2) burn_copy_stage(stages, k, v, 0);
  burn_hit(p, at, room + HITS);
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int query = at.first + burn_row(i);
    base[i] = query < (int)p.queries ? ((const float *)p.logsumexp)[line + query] * LOG2_E : 0.0f;
    mean[i] = room[HITS + burn_row(i)];
  }
  burn_clear<MY_ROWS, MY_RESULTS>(result);
  for (int key = 0; key < seen; key += TILE) {
    float *const stage = stages + (STAGES == 2 ? key / TILE % 2 * STAGE : 0);
    if (STAGES == 1) {
      __syncthreads(); /* who still reads the tile before */
      burn_copy_stage(stage, k, v, key);
    }
    burn_wait();
    if (key == 0) burn_round<2 * ROWS>(room);
    burn_round<2 * TILE>(stage);
    __syncthreads();
    if (STAGES == 2 && key + TILE < seen) burn_copy_stage(stages + (key / TILE + 1) % 2 * STAGE, k, v, key + TILE);
    if (key > warp_last + ahead || warp_first >= q.rows) continue;
    burn_dots(s, room, stage);
    burn_dots(hit, room + ROWS * PITCH, stage + TILE * PITCH);
    const bool hides = key + TILE > keys || key + TILE - 1 > warp_first + ahead;
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int j = 0; j < MY_SCORES; j++) {
        const int column = key + burn_column(j);
        const float weight = burn_power_of_2(__fmaf_rn(s[i][j], scale, -base[i]));
        s[i][j] = weight * (hit[i][j] - mean[i]);
        if (hides && (column >= keys || column > at.first + burn_row(i) + ahead)) s[i][j] = 0.0f;
      }
    burn_add(room, s, result, stage);
  }
  burn_wait(); /* for copies that no tile has waited for */
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) base[i] = (float)p.scale;
  burn_write(p.out, p.out_strides, at, p.queries, result, base);
}

#else

/* A tile of queries with their logsumexps and hits. */
static __device__ inline void burn_copy_queries(const GpuAttention &p, float *stage, const Matrix &q, const Matrix &g,
                                                int64_t line, int from) {
  burn_copy_stage(stage, q, g, from);
  if (threadIdx.x >= 2 * TILE) return;
  const int query = from + threadIdx.x % TILE;
  const float *lines = (const float *)(threadIdx.x < TILE ? p.logsumexp : p.hits) + line;
  burn_copy_ahead<1>(stage + 2 * TILE * PITCH + threadIdx.x, query < q.rows ? lines + query : lines, query < q.rows);
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuAttention p) {
  extern __shared__ __align__(16) float room[];
  const Place at = burn_place<ROWS, PASS == 2>(p);
  const Matrix q = burn_matrix(p.query, p.query_strides, at.n, at.head, p.queries);
  const Matrix g = burn_matrix(p.grad, p.grad_strides, at.n, at.head, p.queries);
  const Matrix k = burn_matrix(p.key, p.key_strides, at.n, at.head, p.keys);
  const Matrix v = burn_matrix(p.value, p.value_strides, at.n, at.head, p.keys);
  const int queries = (int)p.queries, ahead = p.is_causal ? (int)p.keys - queries : (int)p.keys;
  const int warp_first = at.first + threadIdx.x / 32 * 16 * SHARES, warp_last = warp_first + 16 * SHARES - 1;
  const int sees = at.first - ahead; /* the first query that sees a key of the rows */
  const float scale = (float)(p.scale * 1.4426950408889634);
  const int64_t line = ((int64_t)at.n * p.heads + at.head) * p.queries;
  float *const stages = room + 2 * ROWS * PITCH;
  float s[MY_ROWS][MY_SCORES], hit[MY_ROWS][MY_SCORES], factor[MY_ROWS];
  float of_key[MY_ROWS][MY_RESULTS], of_value[MY_ROWS][MY_RESULTS];
  burn_clear<MY_ROWS, MY_RESULTS>(of_key);
  burn_clear<MY_ROWS, MY_RESULTS>(of_value);
  burn_copy<ROWS>(room, k, at.first);
  burn_copy<ROWS>(room + ROWS * PITCH, v, at.first);
  const int first = sees > 0 ? sees / TILE * TILE : 0;
  if (STAGES == 2) burn_copy_queries(p, stages + first / TILE % 2 * STAGE, q, g, line, first);
  for (int query = first; query < queries; query += TILE) {
    float *const stage = stages + (STAGES == 2 ? query / TILE % 2 * STAGE : 0), *const lines = stage + 2 * TILE * PITCH;
    if (STAGES == 1) {
      __syncthreads(); /* who still reads the tile before */
      burn_copy_queries(p, stage, q, g, line, query);
    }
    burn_wait();
    if (query == first) burn_round<2 * ROWS>(room);
    burn_round<2 * TILE>(stage);
    __syncthreads();
    if (STAGES == 2 && query + TILE < queries)
      burn_copy_queries(p, stages + (query / TILE + 1) % 2 * STAGE, q, g, line, query + TILE);
    if (query + TILE - 1 + ahead < warp_first || warp_first >= k.rows) continue;
    burn_dots(s, room, stage);
    burn_dots(hit, room + ROWS * PITCH, stage + TILE * PITCH);
    const bool hides = warp_last > query + ahead;
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) {
      const int column = burn_column(j);
      const float base = lines[column] * LOG2_E, mean = lines[TILE + column];
#pragma unroll
      for (int i = 0; i < MY_ROWS; i++) {
        const bool is_hidden = hides && at.first + burn_row(i) > query + column + ahead;
        const float weight = is_hidden ? 0.0f : burn_power_of_2(__fmaf_rn(s[i][j], scale, -base));
        s[i][j] = weight;
        hit[i][j] = is_hidden ? 0.0f : weight * (hit[i][j] - mean);
      }
    }
    burn_add(room, s, of_value, stage + TILE * PITCH);
    burn_add(room, hit, of_key, stage);
  }
  burn_wait(); /* for copies that no tile has waited for */
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) factor[i] = 1.0f;
  burn_write(p.second_out, p.second_out_strides, at, p.keys, of_value, factor);
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) factor[i] = (float)p.scale;
  burn_write(p.out, p.out_strides, at, p.keys, of_key, factor);
}
#endif
