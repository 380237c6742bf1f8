/* row.cu - how threads share a row of [outer, size]; before the texts of softmax, layer_norm and losses. BURN_VARIANT is
 * made by burn__gpu_row_variant: what the text computes, V, and the logarithm of T.
 *
 * A row belongs to T threads: a warp, of which a block has 8, or the whole block. Each has V vectors of 16 bytes in
 * registers; for V == 0 the row is too long for them, and read again. Thread t has the vectors t, t + T, t + 2 T ..
 * whether or not they can be read at once, so the order of sums follows from the length of the row.
 * Of a row that is read again it takes STRETCH vectors at once.
 *
 * IN2 is the dtype that rows are cut up by. Rows of another one have as many elements in a vector, so sums over them
 * have the order that they have after a cast to IN2. */
#define BURN_KIND (BURN_VARIANT % 256)
#define BURN_V (BURN_VARIANT / 256 % 256)
#define BURN_T (1 << BURN_VARIANT / 65536)
#define BURN_BLOCK (BURN_T == 32 ? 256 : BURN_T)
typedef Element<IN2>::C C;
enum { V = BURN_V, T = BURN_T, W = 16 / sizeof(IN2), N = V > 0 ? V * W : 1, STRETCH = W == 4 ? 4 : W == 8 ? 2 : 1 };

/* Blocks that a unit of the device is to have at work at once, where rows are in registers. */
#define BURN_RESIDENT (sizeof(C) == 4 && V > 0 ? (N <= 16 ? 1280 : 1024) / BURN_BLOCK : 1)

static __device__ inline float burn_exponential(float x) { return burn_exp_f32(x); }
static __device__ inline double burn_exponential(double x) { return exp(x); }
/* e^x for x <= 0, or NaN: what is no normal number becomes 0. */
static __device__ inline float burn_decay(float x) { return x < -87.0f ? 0.0f : burn_exp_bounded_f32(x); }
static __device__ inline double burn_decay(double x) { return exp(x); }
static __device__ inline float burn_logarithm(float x) { return burn_log_f32(x); }
static __device__ inline double burn_logarithm(double x) { return log(x); }
static __device__ inline float burn_root(float x) { return sqrtf(x); }
static __device__ inline double burn_root(double x) { return sqrt(x); }

/* The thread's place in its row, and the row. */
static __device__ inline int burn_lane() { return threadIdx.x % T; }
static __device__ inline int64_t burn_row() { return (int64_t)blockIdx.x * (BURN_BLOCK / T) + threadIdx.x / T; }
/* Its elements: none of a row that is not there, whose threads go along, as all of a block come to each shuffle. */
static __device__ inline bool burn_is_row(const GpuRows &p, int64_t row) { return T > 32 || row < p.outer; }
static __device__ inline int64_t burn_row_size(const GpuRows &p, int64_t row) { return burn_is_row(p, row) ? p.size : 0; }

template <class S> struct alignas(sizeof(S) * W) Vector { S at[W]; };

/* Elements c * W .. of a row, `fill` beyond its end. `whole`: rows begin where vectors can be read at once. */
template <class S>
static __device__ inline void burn_read(C *v, const S *row, int64_t size, int64_t c, bool whole, C fill) {
  if (whole && c * W + W <= size) {
    const Vector<S> vector = *(const Vector<S> *)(row + c * W);
    for (int k = 0; k < W; k++) v[k] = burn_get(vector.at[k]);
    return;
  }
  for (int k = 0; k < W; k++) v[k] = c * W + k < size ? burn_get(row[c * W + k]) : fill;
}
template <class S>
static __device__ inline void burn_write(S *row, const C *v, int64_t size, int64_t c, bool whole) {
  if (whole && c * W + W <= size) {
    Vector<S> vector;
    for (int k = 0; k < W; k++) burn_put(vector.at[k], v[k]);
    *(Vector<S> *)(row + c * W) = vector;
    return;
  }
  for (int k = 0; k < W && c * W + k < size; k++) burn_put(row[c * W + k], v[k]);
}

/* The vectors of a thread; its i-th is the vector i * T + lane of the row. */
template <class S> static __device__ inline void burn_take(C *v, const S *row, int64_t size, bool whole, C fill) {
#pragma unroll
  for (int i = 0; i < V; i++) burn_read(v + i * W, row, size, i * T + burn_lane(), whole, fill);
}
template <class S> static __device__ inline void burn_give(S *row, const C *v, int64_t size, bool whole) {
#pragma unroll
  for (int i = 0; i < V; i++) burn_write(row, v + i * W, size, i * T + burn_lane(), whole);
}
/* How many elements of the thread's vector i are in the row, or more than there are in a vector. */
static __device__ inline int burn_there(int64_t size, int i) { return (int)size - (i * T + burn_lane()) * W; }

static __device__ inline C burn_larger(C a, C b) { return b > a ? b : a; }

/* The sum of what all threads of the row have, and the largest of it that is a number: the same for each of them. */
static __device__ inline C burn_row_sum(C x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
#if BURN_T > 32
  __shared__ C shared[T / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[threadIdx.x % (T / 32)];
  for (int step = T / 64; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
#endif
  return x;
}
static __device__ inline C burn_row_largest(C x) {
  for (int step = 16; step > 0; step /= 2) x = burn_larger(x, __shfl_xor_sync(0xffffffffu, x, step));
#if BURN_T > 32
  __shared__ C shared[T / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[threadIdx.x % (T / 32)];
  for (int step = T / 64; step > 0; step /= 2) x = burn_larger(x, __shfl_xor_sync(0xffffffffu, x, step));
#endif
  return x;
}

/* The largest of some numbers and the sum of e^(x - largest), while they are read: when a larger one comes, what has been
 * added shrinks. NaN is in the sum. */
struct Exponentials { C most, sum; };
static __device__ inline C burn_shift(C most) { return most > (C)-INFINITY ? most : (C)0; }
static __device__ inline C burn_shrink(C sum, C from, C to) {
  return from == to ? sum : sum * burn_decay(from - to);
}
template <int COUNT> static __device__ inline void burn_add_exponentials(Exponentials &all, const C *v) {
  C most = all.most, sum = (C)0;
#pragma unroll
  for (int k = 0; k < COUNT; k++) most = burn_larger(most, v[k]);
  const C shift = burn_shift(most);
#pragma unroll
  for (int k = 0; k < COUNT; k++) sum += burn_decay(v[k] - shift);
  all.sum = burn_shrink(all.sum, all.most, most) + sum;
  all.most = most;
}
static __device__ inline Exponentials burn_join_row(const Exponentials &part) {
  Exponentials all;
  all.most = burn_row_largest(part.most);
  all.sum = burn_row_sum(burn_shrink(part.sum, part.most, all.most));
  return all;
}
/* Those of a row in memory, read once. */
static __device__ inline Exponentials burn_row_exponentials(const IN0 *row, int64_t size, bool whole) {
  Exponentials all = {(C)-INFINITY, (C)0};
  C v[STRETCH * W];
  for (int64_t c = burn_lane(); c * W < size; c += STRETCH * T) {
#pragma unroll
    for (int i = 0; i < STRETCH; i++) burn_read(v + i * W, row, size, c + i * T, whole, (C)-INFINITY);
    burn_add_exponentials<STRETCH * W>(all, v);
  }
  return burn_join_row(all);
}
/* The last of the vectors that start stretches of the thread; negative: it has none. */
static __device__ inline int64_t burn_last_stretch(int64_t size) {
  const int64_t vectors = (size + W - 1) / W - burn_lane();
  return vectors <= 0 ? -1 : burn_lane() + (vectors - 1) / (STRETCH * T) * (STRETCH * T);
}
