/* row.cu - how threads share a row of [outer, size]; before the texts of softmax, layer_norm and losses. BURN_VARIANT is
 * made by burn__gpu_rows: what the text computes, V, and the logarithm of T.
 *
 * A row belongs to T threads: a warp, of which a block has 8, or the whole block. Each has V vectors of 16 bytes in
 * registers; for V == 0 the row is too long for them, and read again. Thread t has the vectors t, t + T, t + 2 T ..
 * whether or not they can be read at once, so the order of sums follows from the length of the row.
 * Of a row that is read again it takes STRETCH vectors at once.
 *
 * BURN_EXACT: rows begin where vectors can be read at once, and fill the registers of their threads: 768 f32 are six
 * vectors of a warp. Nothing asks then where a row ends. What is computed, and in which order, is the same.
 *
 * IN2 is the dtype that rows are cut up by. Rows of another one have as many elements in a vector, so sums over them
 * have the order that they have after a cast to IN2. */
#define BURN_KIND (BURN_VARIANT % 64)
#define BURN_HAS_FAST_POWERS (BURN_VARIANT / 64 % 2 == 1)
#define BURN_EXACT (BURN_VARIANT / 128 % 2 == 1)
#define BURN_V (BURN_VARIANT / 256 % 256)
#define BURN_T (1 << BURN_VARIANT / 65536)
#define BURN_BLOCK (BURN_T == 32 ? 256 : BURN_T)
typedef Element<IN2>::C C;
enum { V = BURN_V, T = BURN_T, W = 16 / sizeof(IN2), N = V > 0 ? V * W : 1, STRETCH = W == 4 ? 4 : W == 8 ? 2 : 1 };

/* Blocks that a unit of the device is to have at work at once, where rows are in registers. */
#define BURN_RESIDENT (sizeof(C) == 4 && V > 0 ? (N <= 16 ? 1280 : 1024) / BURN_BLOCK : 1)

static __device__ inline float burn_exponential(float x) { return burn_exp_f32(x); }
static __device__ inline double burn_exponential(double x) { return exp(x); }
/* Drivers of Vulkan promise less of a power than NVIDIA's own compiler: what rows of f32 become is computed there, also
 * where they are read as halves, which has the bits of a cast before. */
#if defined(BURN_SPIRV)
#define BURN_TRUSTS_POWERS 0
#else
#define BURN_TRUSTS_POWERS 1
#endif

/* e^x for x <= 0, or NaN: what is not a normal number becomes 0. The chip's own power is off by 2^-22 (NVIDIA's) and takes
 * two instructions; the other one takes 15, and rows of halves are read faster than that. */
static __device__ inline float burn_decay(float x) {
#if BURN_HAS_FAST_POWERS && BURN_HAS_FAST_EXP && !defined(BURN_CUDA_EMULATED)
  if (BURN_TRUSTS_POWERS || sizeof(IN2) == 2) return burn_fast_exp(x);
#endif
  return x < -87.0f ? 0.0f : burn_exp_bounded_f32(x);
}
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

/* Whether vector c is in a row that is made of vectors. */
static __device__ inline bool burn_has(int64_t size, int64_t c) { return BURN_EXACT ? size > 0 : c * W < size; }

/* Two halves in a word. */
template <class S> static __device__ inline void burn_set_bits(S &, uint32_t) {}
static __device__ inline void burn_set_bits(f16_t &x, uint32_t bits) { x.bits = (uint16_t)bits; }
static __device__ inline void burn_set_bits(bf16_t &x, uint32_t bits) { x.bits = (uint16_t)bits; }

/* A vector that is read at once, halves by the words that they lie in, elements one by one. */
enum { AT_ONCE, BY_WORDS, BY_ELEMENTS };

/* The low word of two that move by some bits to the right. */
static __device__ inline uint32_t burn_funnel(uint32_t low, uint32_t high, uint32_t bits) {
#if defined(BURN_SPIRV)
  return (uint32_t)(((uint64_t)high << 32 | low) >> bits);
#else
  return __funnelshift_r(low, high, bits);
#endif
}

/* What else lies in the first and the last word is not looked at. */
template <class S> static __device__ inline void burn_load_words(Vector<S> &to, const S *from) {
  const uint32_t odd = (uint32_t)(uint64_t)from >> 1 & 1u;
  const uint32_t *words = (const uint32_t *)(from - odd);
  uint32_t word[W / 2 + 1];
  for (int k = 0; k < W / 2; k++) word[k] = words[k];
  word[W / 2] = odd != 0u ? words[W / 2] : 0u;
  for (int k = 0; k < W / 2; k++) {
    const uint32_t both = burn_funnel(word[k], word[k + 1], 16u * odd);
    burn_set_bits(to.at[2 * k], both);
    burn_set_bits(to.at[2 * k + 1], both >> 16);
  }
}
template <int WAY, class S> static __device__ inline void burn_load(Vector<S> &to, const S *from) {
  if (WAY == AT_ONCE) {
    to = *(const Vector<S> *)from;
  } else if (WAY == BY_WORDS && sizeof(S) == 2) {
    burn_load_words(to, from);
  } else {
    for (int k = 0; k < W; k++) to.at[k] = from[k];
  }
}

template <class S>
static __device__ inline void burn_fetch_pieces(Vector<S> &to, const S *row, int64_t size, int64_t c) {
  if (c * W + W <= size) {
    burn_load<BY_WORDS>(to, row + c * W);
    return;
  }
  for (int k = 0; k < W; k++)
    if (c * W + k < size) to.at[k] = row[c * W + k];
}

/* The vectors c, c + T .. of a row as they lie in memory, COUNT of them; nothing beyond its end. `whole`: rows begin
 * where vectors can be read at once, and are made of them. Nothing is computed with one before all are under way. */
template <int COUNT, class S>
static __device__ inline void burn_fetch(Vector<S> *raw, const S *row, int64_t size, int64_t c, bool whole) {
  if (BURN_EXACT || whole) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      for (int k = 0; k < W && BURN_EXACT; k++) burn_put(raw[i].at[k], (C)0); /* of a row that is not there */
      if (burn_has(size, c + i * T)) burn_load<AT_ONCE>(raw[i], row + (c + i * T) * W);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) burn_fetch_pieces(raw[i], row, size, c + i * T);
}

/* Their numbers, and `fill` beyond the row's end. */
template <int COUNT, class S>
static __device__ inline void burn_convert(C *v, const Vector<S> *raw, int64_t size, int64_t c, C fill) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int64_t rest = size - (c + i * T) * W;
    const int there = BURN_EXACT || rest >= W ? W : (int)rest;
#pragma unroll
    for (int k = 0; k < W; k++) v[i * W + k] = k < there ? burn_get(raw[i].at[k]) : fill;
  }
}

template <int COUNT, class S>
static __device__ inline void burn_read_some(C *v, const S *row, int64_t size, int64_t c, bool whole, C fill) {
  Vector<S> raw[COUNT];
  burn_fetch<COUNT>(raw, row, size, c, whole);
  burn_convert<COUNT>(v, raw, size, c, fill);
}

/* One of them. */
template <class S>
static __device__ inline void burn_read(C *v, const S *row, int64_t size, int64_t c, bool whole, C fill) {
  burn_read_some<1>(v, row, size, c, whole, fill);
}
template <class S>
static __device__ inline void burn_write(S *row, const C *v, int64_t size, int64_t c, bool whole) {
  if (BURN_EXACT || whole) {
    Vector<S> vector;
    for (int k = 0; k < W; k++) burn_put(vector.at[k], v[k]);
    if (burn_has(size, c)) *(Vector<S> *)(row + c * W) = vector;
    return;
  }
  for (int k = 0; k < W && c * W + k < size; k++) burn_put(row[c * W + k], v[k]);
}

/* The vectors of a thread; its i-th is the vector i * T + lane of the row. */
template <class S> static __device__ inline void burn_take(C *v, const S *row, int64_t size, bool whole, C fill) {
  burn_read_some<N / W>(v, row, size, burn_lane(), whole, fill);
}
template <class S> static __device__ inline void burn_give(S *row, const C *v, int64_t size, bool whole) {
#pragma unroll
  for (int i = 0; i < V; i++) burn_write(row, v + i * W, size, i * T + burn_lane(), whole);
}
/* How many elements of the thread's vector i are in the row, or more than there are in a vector. */
static __device__ inline int burn_there(int64_t size, int i) {
  return BURN_EXACT ? W : (int)size - (i * T + burn_lane()) * W;
}

/* The larger one, or the one that is a number. */
#if defined(BURN_SPIRV)
static __device__ inline float burn_larger(float a, float b) { return b > a ? b : a; }
#else
static __device__ inline float burn_larger(float a, float b) { return fmaxf(a, b); }
#endif
static __device__ inline double burn_larger(double a, double b) { return b > a ? b : a; }

/* The sum of what all threads of the row have, and the largest of it that is a number: the same for each of them. Of two
 * that follow on each other with different SLOTs the second need not wait until all have read the first. */
template <int SLOT> static __device__ inline C burn_row_sum_in(C x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
#if BURN_T > 32
  __shared__ C shared[T / 32];
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[threadIdx.x % (T / 32)];
  for (int step = T / 64; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
#endif
  return x;
}
static __device__ inline C burn_row_sum(C x) {
#if BURN_T > 32
  __syncthreads();
#endif
  return burn_row_sum_in<0>(x);
}
/* The sum of what all threads of the row have in their W lanes. Rows of f32 that a warp has are summed in ndarray's order:
 * of 128 lanes, four of them a thread's, each is added to the one 64 beyond, then 32, then 16; what is left in f64. */
#define BURN_IS_WARP_OF_F32 (BURN_T == 32 && sizeof(IN2) == 4)
static __device__ inline double burn_row_total(C *lanes) {
#if BURN_T == 32
  if (BURN_IS_WARP_OF_F32) {
    double left[W];
    for (int k = 0; k < W; k++) {
      for (int step = 16; step > 2; step /= 2) lanes[k] += __shfl_xor_sync(0xffffffffu, lanes[k], step);
      left[k] = (double)lanes[k];
      for (int step = 2; step > 0; step /= 2) left[k] += __shfl_xor_sync(0xffffffffu, left[k], step);
    }
#pragma unroll
    for (int half = W / 2; half > 0; half /= 2)
#pragma unroll
      for (int k = 0; k < half; k++) left[k] += left[k + half];
    return left[0];
  }
#endif
  C sum = (C)0;
  for (int k = 0; k < W; k++) sum += lanes[k];
  return (double)burn_row_sum(sum);
}
/* Two sums at once. */
template <int SLOT> static __device__ inline void burn_row_sums_in(C &x, C &y) {
  for (int step = 16; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, step);
    y += __shfl_xor_sync(0xffffffffu, y, step);
  }
#if BURN_T > 32
  __shared__ C shared[2][T / 32];
  if (threadIdx.x % 32 == 0) {
    shared[0][threadIdx.x / 32] = x;
    shared[1][threadIdx.x / 32] = y;
  }
  __syncthreads();
  x = shared[0][threadIdx.x % (T / 32)];
  y = shared[1][threadIdx.x % (T / 32)];
  for (int step = T / 64; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, step);
    y += __shfl_xor_sync(0xffffffffu, y, step);
  }
#endif
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
/* Those of a row in memory, read once; of the numbers times SIGN. First the stretches that lie within the row. */
template <int WAY, int SIGN>
static __device__ inline int64_t burn_add_stretches(Exponentials &all, const IN0 *row, int64_t size) {
  int64_t c = burn_lane();
  for (; (c + (STRETCH - 1) * T + 1) * W <= size; c += STRETCH * T) {
    const IN0 *at = row + c * W;
    Vector<IN0> raw[STRETCH];
    C v[STRETCH * W];
#pragma unroll
    for (int i = 0; i < STRETCH; i++) burn_load<WAY>(raw[i], at + i * T * W);
#pragma unroll
    for (int i = 0; i < STRETCH * W; i++) v[i] = (C)SIGN * burn_get(raw[i / W].at[i % W]);
    burn_add_exponentials<STRETCH * W>(all, v);
  }
  return c;
}
template <int SIGN>
static __device__ inline Exponentials burn_row_exponentials(const IN0 *row, int64_t size, bool whole) {
  Exponentials all = {(C)-INFINITY, (C)0};
  C v[W];
  int64_t c = whole ? burn_add_stretches<AT_ONCE, SIGN>(all, row, size) : burn_add_stretches<BY_WORDS, SIGN>(all, row, size);
#pragma unroll 1
  for (; c * W < size; c += T) {
    burn_read(v, row, size, c, whole, (C)SIGN * (C)-INFINITY);
#pragma unroll
    for (int k = 0; k < W; k++) v[k] = (C)SIGN * v[k];
    burn_add_exponentials<W>(all, v);
  }
  return burn_join_row(all);
}
/* The last of the vectors that start stretches of the thread; negative: it has none. */
static __device__ inline int64_t burn_last_stretch(int64_t size) {
  const int64_t vectors = (size + W - 1) / W - burn_lane();
  return vectors <= 0 ? -1 : burn_lane() + (vectors - 1) / (STRETCH * T) * (STRETCH * T);
}
