/* reduce.cu - one number per line, in an order that depends on the length of the line alone.
 *
 * BURN_VARIANT 0: lines lie along the last axis, a warp each; 1: the same, a block each; a thread takes one vector of 16
 * bytes after another. 2: lines lie side by side, 32 in a block of 8 rows of threads; 3: the same by vectors, of lines.
 * 4 and 5: for processors, a thread does what the warp or the block of 0 and 1 does, in that order.
 * With `parts` above 1 a line is cut, and the results are joined by a second pass. */
enum { W = 16 / sizeof(IN0), ROUNDS = 4 /* vectors that a thread reads at once */ };

struct alignas(16) Vector { IN0 at[W]; };

static __device__ inline void burn_finish(const GpuReduce &p, int64_t i, A sum) {
  if (BURN_JOIN == 0 && p.size == 0) sum = (A)0; /* not the -0 that sums begin with */
  burn_put(((OUT *)p.out)[i], p.is_mean ? sum / (A)p.divisor : sum);
}

#if BURN_VARIANT < 2 || BURN_VARIANT >= 4
static __device__ inline A burn_join_vector(A sum, const Vector &v) {
#pragma unroll
  for (int k = 0; k < W; k++) sum = burn_join(sum, (A)burn_get(v.at[k]));
  return sum;
}

#endif

#if BURN_VARIANT < 2
/* The vectors lane, lane + width .. of a line. */
static __device__ inline A burn_line(const IN0 *in, int64_t size, int lane, int width, bool whole) {
  A sum = burn_nothing();
  int64_t c = lane;
  for (; whole && (c + (ROUNDS - 1) * width + 1) * W <= size; c += ROUNDS * width) {
    Vector v[ROUNDS];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) v[i] = ((const Vector *)in)[c + i * width];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) sum = burn_join_vector(sum, v[i]);
  }
  for (; c * W < size; c += width) {
    if (whole && c * W + W <= size)
      sum = burn_join_vector(sum, ((const Vector *)in)[c]);
    else
      for (int64_t k = c * W; k < c * W + W && k < size; k++) sum = burn_join(sum, (A)burn_get(in[k]));
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  const int width = BURN_VARIANT == 0 ? 32 : 256, in_block = BURN_VARIANT == 0 ? 8 : 1;
  const int64_t at = (int64_t)blockIdx.x * in_block + threadIdx.x / width;
  const int64_t line = at / p.parts, start = at % p.parts * p.part_size;
  const bool is_there = BURN_VARIANT == 1 || line < p.outer; /* warps of no line go along: all come to each shuffle */
  const int64_t rest = p.size - start < p.part_size ? p.size - start : p.part_size, size = is_there ? rest : 0;
  A sum = burn_line((const IN0 *)p.in + line * p.size + start, size, threadIdx.x % width, width, p.whole);
  for (int step = 16; step > 0; step /= 2) sum = burn_join(sum, __shfl_down_sync(0xffffffffu, sum, step));
#if BURN_VARIANT == 1
  __shared__ A shared[8];
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int k = 1; k < 8 && threadIdx.x == 0; k++) sum = burn_join(sum, shared[k]);
#endif
  if (is_there && threadIdx.x % width == 0) burn_finish(p, at, sum);
}
#elif BURN_VARIANT >= 4
#define WARPS (BURN_VARIANT == 4 ? 1 : 8)

static __device__ inline A burn_lane(const IN0 *in, int64_t size, int64_t lane, bool whole) {
  A sum = burn_nothing();
  int64_t c = lane;
  for (; whole && c * W < size; c += 32 * WARPS) sum = burn_join_vector(sum, ((const Vector *)in)[c]);
  for (; c * W < size; c += 32 * WARPS)
    for (int64_t k = c * W; k < c * W + W && k < size; k++) sum = burn_join(sum, (A)burn_get(in[k]));
  return sum;
}

/* Joins as lanes of a warp do that shuffle, 16 apart at first: in the order of their reversed bits two neighbours are
 * joined, then two pairs .. held[i] waits for its neighbour of 2^i lanes. */
static __device__ inline A burn_warp(const IN0 *in, int64_t size, int warp, bool whole) {
  A held[5], sum;
#pragma unroll
  for (int i = 0; i < 5; i++) held[i] = burn_nothing();
  for (int turn = 0; turn < 32; turn++) {
    const int lane = (turn & 1) * 16 + (turn & 2) * 4 + (turn & 4) + (turn & 8) / 4 + (turn & 16) / 16;
    sum = burn_lane(in, size, warp * 32 + lane, whole);
    bool waits = false;
#pragma unroll
    for (int i = 0; i < 5; i++) {
      const bool is_second = (turn >> i & 1) != 0;
      const A both = burn_join(held[i], sum);
      if (!waits && !is_second) held[i] = sum;
      if (!waits && is_second) sum = both;
      waits = waits || !is_second;
    }
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(32) kernel(const GpuReduce p) {
  const int64_t at = burn_thread(), line = at / p.parts, start = at % p.parts * p.part_size;
  if (line >= p.outer) return;
  const int64_t size = p.size - start < p.part_size ? p.size - start : p.part_size;
  const IN0 *in = (const IN0 *)p.in + line * p.size + start;
  A sum = burn_warp(in, size, 0, p.whole);
  for (int warp = 1; warp < WARPS; warp++) sum = burn_join(sum, burn_warp(in, size, warp, p.whole));
  burn_finish(p, at, sum);
}
#else
enum { LINES = BURN_VARIANT == 3 ? W : 1 };
struct alignas(sizeof(IN0) * LINES) Few { IN0 at[LINES]; };

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  __shared__ A shared[8][32 * LINES + 1];
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32;
  const int64_t columns = (p.inner + 32 * LINES - 1) / (32 * LINES);
  const int64_t column = ((int64_t)blockIdx.x % columns * 32 + lane) * LINES;
  const int64_t part = (int64_t)blockIdx.x / columns % p.parts, line = (int64_t)blockIdx.x / columns / p.parts;
  const int64_t end = (part + 1) * p.part_size < p.size ? (part + 1) * p.part_size : p.size;
  const IN0 *in = (const IN0 *)p.in + line * p.size * p.inner + column;
  A sums[LINES];
  for (int j = 0; j < LINES; j++) sums[j] = burn_nothing();
  int64_t k = part * p.part_size + row;
  if (column >= p.inner) k = end;
  for (; k + 8 * (ROUNDS - 1) < end; k += 8 * ROUNDS) {
    Few v[ROUNDS];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) v[i] = *(const Few *)(in + (k + 8 * i) * p.inner);
#pragma unroll
    for (int i = 0; i < ROUNDS; i++)
      for (int j = 0; j < LINES; j++) sums[j] = burn_join(sums[j], (A)burn_get(v[i].at[j]));
  }
  for (; k < end; k += 8)
    for (int j = 0; j < LINES; j++) sums[j] = burn_join(sums[j], (A)burn_get(in[k * p.inner + j]));
  for (int j = 0; j < LINES; j++) shared[row][lane * LINES + j] = sums[j];
  __syncthreads();
  const int64_t first = (int64_t)blockIdx.x % columns * 32 * LINES;
  for (int at = threadIdx.x; at < 32 * LINES && first + at < p.inner; at += 256) {
    A sum = shared[0][at];
    for (int i = 1; i < 8; i++) sum = burn_join(sum, shared[i][at]);
    burn_finish(p, (line * p.parts + part) * p.inner + first + at, sum);
  }
}
#endif
