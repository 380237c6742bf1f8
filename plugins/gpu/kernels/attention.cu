/* attention.cu - attention in tiles, and its gradients: no matrix of all queries with all keys is ever made.
 *
 * BURN_VARIANT % 4 is the pass. 0: attention, a running softmax over tiles of 64 keys. 1: the gradient of the queries, and
 * for each query what pass 2 needs: the largest score, 1 / the sum of the exponentials, and how much the gradient hits the
 * result; from the logsumexp and the result where it has them. 2: the gradients of keys and values, over tiles of 64 queries. 3: the gradient of a bias from that of all scores.
 * BURN_VARIANT / 4 % 2: a block has 64 rows (queries; keys in pass 2), not 32. BURN_VARIANT / 8 % 2: a head may take 2^31
 * elements of memory or more. BURN_VARIANT / 16 % 2: products on tensor cores, of TF32, which halves fit into.
 * BURN_VARIANT / 32 % 2: rows lie so that four neighbours can be read at once. BURN_VARIANT / 64: 32s of columns of the
 * results that a block makes; wider ones take several blocks, which all make the scores anew.
 *
 * A dot product adds by FMA along the axis, a result over the keys (or queries) one after the other, a sum of exponentials
 * first within each tile: the order depends on the shapes alone, not on the rows of a block. */
typedef Element<IN0>::C C;
#define BURN_PASS (BURN_VARIANT % 4)
#define ROWS (BURN_VARIANT / 4 % 2 ? 64 : 32)
#define ON_TENSOR_CORES (BURN_VARIANT / 16 % 2)
#define BY_FOUR (BURN_VARIANT / 32 % 2)
#define COLUMNS (BURN_VARIANT / 64 * 32)
#define TILE 64
#if !defined(BURN_DEPTH) /* of a step of a dot product; 16 where a block shares little memory: the order stays */
#define BURN_DEPTH 32
#endif
#define DEPTH BURN_DEPTH
#if BURN_VARIANT / 8 % 2
typedef int64_t Offset;
#else
typedef int32_t Offset;
#endif

static __device__ inline float burn_fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#if defined(BURN_SPIRV) && !BURN_FUSED_F64 /* emulated, it takes sixteen times the code, for the last bit of f64 */
static __device__ inline double burn_fused(double a, double b, double c) { return a * b + c; }
#else
static __device__ inline double burn_fused(double a, double b, double c) { return __fma_rn(a, b, c); }
#endif
static __device__ inline float burn_power_of_e(float x) { return burn_exp_f32(x); }
static __device__ inline double burn_power_of_e(double x) { return exp(x); }
static __device__ inline float burn_logarithm(float x) { return burn_log_f32(x); }
static __device__ inline double burn_logarithm(double x) { return burn_log2_f64(x) * 0.6931471805599453; }
static __device__ inline float burn_bent(float x) { return burn_tanh_f32(x); }
static __device__ inline double burn_bent(double x) { return tanh(x); }

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

struct alignas(16) Four { C at[4]; };
struct alignas(2 * sizeof(C)) Two { C at[2]; };

/* What of a tile [ROWS, TILE] of scores, and of results [ROWS, COLUMNS], a thread has. */
#if ON_TENSOR_CORES
#define THREADS (2 * ROWS)
#define BURN_BLOCKS ((COLUMNS > 64 || BURN_PASS == 2 ? 2 : 3) * 128 / THREADS) /* that a unit has registers for */
#define MY_ROWS 2
#define MY_SCORES 16
#define MY_RESULTS (COLUMNS / 4)
#define SHARERS 4 /* threads beside each other that share rows */
#define STRIDE (COLUMNS + 4)
static __device__ inline int burn_row(int i) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * i; }
static __device__ inline int burn_column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
static __device__ inline int burn_result_column(int k) { return burn_column(k); }
#else
#define THREADS (4 * ROWS)
#define BURN_BLOCKS (COLUMNS > 64 || sizeof(C) > 4 ? 1 : ROWS == 32 ? 3 : 2)
#define MY_ROWS 4
#define MY_SCORES 4
#define MY_RESULTS (COLUMNS / 16)
#define SHARERS 16
#define STRIDE COLUMNS
static __device__ inline int burn_row(int i) { return threadIdx.x / 16 * 4 + i; }
static __device__ inline int burn_column(int j) { return threadIdx.x % 16 * 4 + j; }
static __device__ inline int burn_result_column(int k) { return k / 2 * 32 + threadIdx.x % 16 * 2 + k % 2; }
#endif

/* What a block shares: `room`. Tiles of a step of a dot product, left and right, in whose place come parts [PART, STRIDE] of
 * what results are made of. On tensor cores they are [rows, DEPTH + 4]: a fragment then meets each bank once. Else they are
 * turned, [DEPTH, rows], four rows a unit; the unit of row r at depth d lies at r / 4 ^ d % 8, for the same reason; and so do
 * the weights after them, by row for each of TILE. */
#if ON_TENSOR_CORES
#define PITCH (DEPTH + 4)
#define ROOM (PITCH * (ROWS + TILE))
#else
#define PITCH DEPTH
#define ROOM (PITCH * (ROWS + TILE) + TILE * ROWS)
#endif
#define RIGHT (PITCH * ROWS)
#define WEIGHTS (PITCH * (ROWS + TILE))
#define FITS(rows) ((rows) * STRIDE <= PITCH * (ROWS + TILE))
enum { PART = FITS(TILE) ? TILE : FITS(TILE / 2) ? TILE / 2 : FITS(TILE / 4) ? TILE / 4 : TILE / 8 };
#if defined(BURN_SPIRV)
#define BURN_SHARED_ROOM __shared__ C room[ROOM]
#else
#define BURN_SHARED_ROOM alignas(16) __shared__ C room[ROOM]
#endif

/* Neighbours in shared memory, by one access. */
static __device__ inline Four burn_four(const C *from) {
#if defined(BURN_SPIRV)
  const Four four = {{from[0], from[1], from[2], from[3]}};
  return four;
#else
  return *(const Four *)from;
#endif
}
static __device__ inline Two burn_two(const C *from) {
#if defined(BURN_SPIRV)
  const Two two = {{from[0], from[1]}};
  return two;
#else
  return *(const Two *)from;
#endif
}
static __device__ inline void burn_put_four(C *to, const Four &four) {
#if defined(BURN_SPIRV)
  for (int e = 0; e < 4; e++) to[e] = four.at[e];
#else
  *(Four *)to = four;
#endif
}

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

#if ON_TENSOR_CORES
#define BURN_KEPT(x) burn_tf32(x)
#else
#define BURN_KEPT(x) (x)
#endif

/* Some neighbouring elements, as they are read at once. */
#if BY_FOUR
#define WIDTH 4
#else
#define WIDTH 1
#endif
struct alignas(sizeof(IN0) * WIDTH) Read { IN0 at[WIDTH]; };

/* What a thread holds of a tile [N, W] between memory and its place. Reads are all under way before the first is used.
 * Neighbouring threads have neighbouring elements of a row; of tiles that will be turned, two reads of each of 16 rows, so
 * that their elements then go to different banks. All sizes are powers of two, and no tile has fewer reads than a block
 * threads, so all threads have as many. */
template <int N, int W, bool TURNED> struct Held {
  static const int count = N * W / WIDTH / THREADS;
  /* Threads in a row, before the next row begins; how far a thread's next read lies from its last. */
  static const int beside = TURNED ? 2 : W / WIDTH, step = THREADS / beside;
  static const int shares = beside > THREADS ? beside / THREADS : 1; /* of a row that all threads do not reach at once */
  static const int turns = N > step && step > 0 ? N / step : 1;      /* reads that a turned tile's column takes */
  C at[count][WIDTH];
};

/* Where the thread's read k lies in the tile. */
template <int N, int W, bool TURNED> static __device__ inline int burn_held_row(int k) {
  const int beside = Held<N, W, TURNED>::beside, step = Held<N, W, TURNED>::step;
  const int shares = Held<N, W, TURNED>::shares, turns = Held<N, W, TURNED>::turns;
  if (!TURNED) return shares > 1 ? k / shares : threadIdx.x / beside + k * step;
  return step >= N ? threadIdx.x / 2 % N : threadIdx.x / 2 + k % turns * step;
}
template <int N, int W, bool TURNED> static __device__ inline int burn_held_column(int k) {
  const int beside = Held<N, W, TURNED>::beside, step = Held<N, W, TURNED>::step;
  const int shares = Held<N, W, TURNED>::shares, turns = Held<N, W, TURNED>::turns;
  if (!TURNED) return (shares > 1 ? threadIdx.x + k % shares * THREADS : threadIdx.x % beside) * WIDTH;
  const int pair = step >= N ? threadIdx.x / (2 * N) + k * (step / N) : k / turns;
  return (threadIdx.x % 2 + pair * 2) * WIDTH;
}

/* From m[first ..][from ..], 0 outside. */
template <int N, int W, bool TURNED>
static __device__ inline void burn_hold(Held<N, W, TURNED> &held, const Matrix &m, int first, int from) {
  Read raw[Held<N, W, TURNED>::count];
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++) {
    const int r = first + burn_held_row<N, W, TURNED>(k), c = from + burn_held_column<N, W, TURNED>(k);
    /* reads never leave the tile; NVRTC makes a twentieth less code where that is compared, too */
    const bool is_there =
        burn_held_row<N, W, TURNED>(k) < N && burn_held_column<N, W, TURNED>(k) < W && r < m.rows && c < m.width;
#if BY_FOUR
    if (is_there) raw[k] = *(const Read *)(m.at + r * m.row + c);
#else
    if (is_there) raw[k].at[0] = m.at[r * m.row + c * m.column];
#endif
#pragma unroll
    for (int e = 0; e < WIDTH && !is_there; e++) burn_put(raw[k].at[e], (C)0);
  }
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++)
#pragma unroll
    for (int e = 0; e < WIDTH; e++) held.at[k][e] = BURN_KEPT((C)burn_get(raw[k].at[e]));
}

/* To rows that begin `pitch` elements after each other. */
template <int N, int W, bool TURNED>
static __device__ inline void burn_put_rows(const Held<N, W, TURNED> &held, C *to, int pitch) {
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++) {
    const int row = burn_held_row<N, W, TURNED>(k), column = burn_held_column<N, W, TURNED>(k);
#pragma unroll
    for (int e = 0; e < WIDTH; e++) to[row * pitch + column + e] = held.at[k][e];
  }
}

template <int N, int W, bool TURNED>
static __device__ inline void burn_put_turned(const Held<N, W, TURNED> &held, C *to) {
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++) {
    const int row = burn_held_row<N, W, TURNED>(k), column = burn_held_column<N, W, TURNED>(k);
#pragma unroll
    for (int e = 0; e < WIDTH; e++) {
      const int d = column + e;
      to[d * N + ((row / 4) ^ (d % 8)) * 4 + row % 4] = held.at[k][e];
    }
  }
}

/* s[i][j] = a[row + my row i] . b[column + my column j] */
static __device__ inline void burn_dots(C *room, C s[MY_ROWS][MY_SCORES], const Matrix &a, int row, const Matrix &b,
                                        int column) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) s[i][j] = (C)0;
  for (int depth = 0; depth < a.width; depth += DEPTH) {
    Held<ROWS, DEPTH, !ON_TENSOR_CORES> held_a;
    Held<TILE, DEPTH, !ON_TENSOR_CORES> held_b;
    burn_hold<ROWS, DEPTH, !ON_TENSOR_CORES>(held_a, a, row, depth);
    burn_hold<TILE, DEPTH, !ON_TENSOR_CORES>(held_b, b, column, depth);
    __syncthreads();
#if ON_TENSOR_CORES
    burn_put_rows<ROWS, DEPTH, false>(held_a, room, PITCH);
    burn_put_rows<TILE, DEPTH, false>(held_b, room + RIGHT, PITCH);
#else
    burn_put_turned<ROWS, DEPTH, true>(held_a, room);
    burn_put_turned<TILE, DEPTH, true>(held_b, room + RIGHT);
#endif
    __syncthreads();
#if ON_TENSOR_CORES
    const int lane = threadIdx.x % 32;
    const C *left = room + (threadIdx.x / 32 * 16 + lane / 4) * PITCH + lane % 4;
    const C *right = room + RIGHT + lane / 4 * PITCH + lane % 4;
#pragma unroll
    for (int d = 0; d < DEPTH; d += 8) {
      const float fragment[4] = {left[d], left[8 * PITCH + d], left[d + 4], left[8 * PITCH + d + 4]};
#pragma unroll
      for (int j = 0; j < MY_SCORES; j += 2)
        burn_multiply(s[0][j], s[0][j + 1], s[1][j], s[1][j + 1], fragment, right[j * 4 * PITCH + d],
                      right[j * 4 * PITCH + d + 4]);
    }
#else
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll 8
    for (int d = 0; d < DEPTH; d++) {
      const Four left = burn_four(room + d * ROWS + (ty ^ (d % 8)) * 4);
      const Four right = burn_four(room + RIGHT + d * TILE + (tx ^ (d % 8)) * 4);
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) s[i][j] = burn_fused(left.at[i], right.at[j], s[i][j]);
    }
#endif
  }
}

/* sum[i][..] += the scores' weights s [rows, TILE] x m[first .. first + TILE], its columns from `column` on. */
#if ON_TENSOR_CORES
/* Scores are already where a fragment wants them, if keys 2 t and 2 t + 1 of eight are its t and t + 4. */
static __device__ inline void burn_add_rows(C *room, const C s[MY_ROWS][MY_SCORES], C sum[MY_ROWS][MY_RESULTS],
                                            const Matrix &m, int first, int column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int from = 0; from < TILE; from += PART) {
    if (first + from >= m.rows) continue;
    Held<PART, COLUMNS, false> held;
    burn_hold<PART, COLUMNS, false>(held, m, first + from, column);
    __syncthreads();
    burn_put_rows<PART, COLUMNS, false>(held, room, STRIDE);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < PART; r += 8) {
      const int j = (from + r) / 4;
      const float fragment[4] = {burn_tf32(s[0][j]), burn_tf32(s[1][j]), burn_tf32(s[0][j + 1]), burn_tf32(s[1][j + 1])};
      const C *right = room + (r + lane % 4 * 2) * STRIDE + lane / 4;
#pragma unroll
      for (int k = 0; k < MY_RESULTS; k += 2)
        burn_multiply(sum[0][k], sum[0][k + 1], sum[1][k], sum[1][k + 1], fragment, right[k * 4], right[STRIDE + k * 4]);
    }
  }
}
#else
static __device__ inline void burn_add_rows(C *room, const C s[MY_ROWS][MY_SCORES], C sum[MY_ROWS][MY_RESULTS],
                                            const Matrix &m, int first, int column) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  __syncthreads(); /* who still reads the weights of the tile before */
#pragma unroll
  for (int j = 0; j < 4; j++) {
    Four of_row;
#pragma unroll
    for (int i = 0; i < 4; i++) of_row.at[i] = s[i][j];
    burn_put_four(room + WEIGHTS + (4 * tx + j) * ROWS + (ty ^ (tx % 8)) * 4, of_row);
  }
  for (int from = 0; from < TILE && first + from < m.rows; from += PART) {
    Held<PART, COLUMNS, false> held;
    burn_hold<PART, COLUMNS, false>(held, m, first + from, column);
    __syncthreads();
    burn_put_rows<PART, COLUMNS, false>(held, room, STRIDE);
    __syncthreads();
#pragma unroll 4
    for (int r = 0; r < PART; r++) {
      const Four w = burn_four(room + WEIGHTS + (from + r) * ROWS + (ty ^ ((from + r) / 4 % 8)) * 4);
#pragma unroll
      for (int k = 0; k < MY_RESULTS; k += 2) {
        const Two v = burn_two(room + r * STRIDE + 16 * k + 2 * tx);
#pragma unroll
        for (int i = 0; i < 4; i++) {
          sum[i][k] = burn_fused(w.at[i], v.at[0], sum[i][k]);
          sum[i][k + 1] = burn_fused(w.at[i], v.at[1], sum[i][k + 1]);
        }
      }
    }
  }
}
#endif

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
    hit = burn_fused((C)burn_get(g.at[query * g.row + c * g.column]), (C)burn_get(o.at[query * o.row + c * o.column]), hit);
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
  const int seen = p.scores ? (int)p.keys : burn_seen(p, at);
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
        if (p.scores && at.column == 0 && query < (int)p.queries && column < (int)p.keys)
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
