/* scan.cu - every element joined with all before it on its line. BURN_VARIANT 0: lines lie along the last axis, a block
 * each; 1: a thread for each part of a line; 2: as 0, a warp each; 3: what each part of a line makes together, for 1. A sum
 * starts from 0, so that -0 becomes 0.
 *
 * 0 and 2: a thread has K elements beside each other of each tile, joins them one after the other, and then what the
 * threads before it have with them. */
static __device__ inline A burn_first(A x) {
#if BURN_JOIN == 0
  return burn_join((A)0, x);
#else
  return x;
#endif
}

#if BURN_VARIANT % 2 == 0
enum { T = BURN_VARIANT == 2 ? 32 : 256, W = 16 / sizeof(IN0), K = sizeof(IN0) < 8 ? 16 : 8, TILE = T * K };
struct alignas(16) Vector { IN0 at[W]; };
struct alignas(sizeof(OUT) * W) Results { OUT at[W]; };

static __device__ inline void burn_take(A *sums, const IN0 *in, int64_t left, bool whole) {
  if (whole && left >= K) {
    Vector v[K / W];
#pragma unroll
    for (int i = 0; i < K / W; i++) v[i] = ((const Vector *)in)[i];
#pragma unroll
    for (int k = 0; k < K; k++) sums[k] = burn_first((A)burn_get(v[k / W].at[k % W]));
    return;
  }
#pragma unroll
  for (int k = 0; k < K; k++) sums[k] = k < left ? burn_first((A)burn_get(in[k])) : burn_nothing();
}

static __device__ inline void burn_give(OUT *out, A before, const A *sums, int64_t left, bool whole) {
  if (whole && left >= K) {
#pragma unroll
    for (int i = 0; i < K / W; i++) {
      Results results;
      for (int k = 0; k < W; k++) burn_put(results.at[k], burn_join(before, sums[i * W + k]));
      ((Results *)out)[i] = results;
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < K; k++)
    if (k < left) burn_put(out[k], burn_join(before, sums[k]));
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuScan p) {
  __shared__ A ends[8];
  const int lane = threadIdx.x % 32, place = threadIdx.x % T;
  const int64_t line = (int64_t)blockIdx.x * (256 / T) + threadIdx.x / T;
  const int64_t size = line < p.outer ? p.size : 0; /* warps of no line go along: all come to each shuffle */
  const IN0 *in = (const IN0 *)p.in + line * p.size;
  OUT *out = (OUT *)p.out + line * p.size;
  A before = burn_nothing();
  for (int64_t tile = 0; tile < p.size; tile += TILE) {
    const int64_t first = tile + place * K;
    A sums[K];
    burn_take(sums, in + first, size - first, p.whole);
#pragma unroll
    for (int k = 1; k < K; k++) sums[k] = burn_join(sums[k - 1], sums[k]);
    A all = sums[K - 1];
    for (int step = 1; step < 32; step *= 2) {
      const A left = __shfl_up_sync(0xffffffffu, all, step);
      if (lane >= step) all = burn_join(left, all);
    }
    A left = __shfl_up_sync(0xffffffffu, all, 1);
    if (lane == 0) left = burn_nothing();
    if (lane == 31) ends[threadIdx.x / 32] = all;
    __syncthreads();
    const int first_warp = T == 32 ? threadIdx.x / 32 : 0, warps = T / 32;
    A start = before;
    for (int w = 0; w < place / 32; w++) start = burn_join(start, ends[w]);
    for (int w = 0; w < warps; w++) before = burn_join(before, ends[first_warp + w]);
    burn_give(out + first, burn_join(start, left), sums, size - first, p.whole);
    __syncthreads();
  }
}

#else
/* Threads beside each other have lines beside each other, so that a warp reads and writes whole lines of memory. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuScan p) {
  const int64_t i = burn_thread(), column = i % p.inner, part = i / p.inner % p.parts, outer = i / p.inner / p.parts;
  if (outer >= p.outer) return;
  const int64_t begin = part * p.part_size, end = begin + p.part_size < p.size ? begin + p.part_size : p.size;
  const IN0 *in = (const IN0 *)p.in + outer * p.size * p.inner + column;
  A *totals = (A *)p.totals + outer * p.parts * p.inner + column;
  A sum = burn_nothing();
#if BURN_VARIANT == 1
  OUT *out = (OUT *)p.out + outer * p.size * p.inner + column;
  for (int64_t k = 0; k < part; k++) sum = burn_join(sum, totals[k * p.inner]);
#endif
  for (int64_t k = begin; k < end; k++) {
    sum = burn_join(sum, burn_first((A)burn_get(in[k * p.inner])));
#if BURN_VARIANT == 1
    burn_put(out[k * p.inner], sum);
#endif
  }
#if BURN_VARIANT == 3
  totals[part * p.inner] = sum;
#endif
}
#endif
