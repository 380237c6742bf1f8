/* arg.cu - the index of the largest (BURN_JOIN 2) or smallest (3) element of each line; NaN wins, the lowest index of
 * equals. BURN_VARIANT 0: lines lie along the last axis, a block each; 1: a thread for each line; 2: as 0, a warp each. */
typedef Element<IN0>::C C;
struct Best {
  C value;
  int64_t index; /* -1: none */
};

/* Of a value that comes after the best one: is it better? */
static __device__ inline bool burn_follows(C value, C best) {
#if BURN_JOIN == 2
  return !(value <= best) && best == best;
#else
  return !(value >= best) && best == best;
#endif
}

static __device__ inline bool burn_is_better(const Best &b, const Best &a) {
  if (b.index < 0 || a.index < 0) return a.index < 0 && b.index >= 0;
  return b.index < a.index ? !burn_follows(a.value, b.value) : burn_follows(b.value, a.value);
}

#if BURN_VARIANT != 1
enum { T = BURN_VARIANT == 2 ? 32 : 256, W = 16 / sizeof(IN0), ROUNDS = 4 /* vectors that a thread reads at once */ };
struct alignas(16) Vector { IN0 at[W]; };

/* The best that a thread has seen; `number` counts what it has seen before. */
struct Seen {
  C value;
  int32_t number;
};
static __device__ inline void burn_see(Seen &best, C value, int32_t number) {
  const bool is_better = best.number < 0 || burn_follows(value, best.value);
  best.value = is_better ? value : best.value;
  best.number = is_better ? number : best.number;
}

/* Of the vectors lane, lane + T .. of a line. */
static __device__ inline Best burn_line(const IN0 *in, int64_t size, int lane, bool whole) {
  Seen seen = {(C)0, -1};
  int32_t number = 0;
  int64_t c = lane;
  for (; whole && (c + (ROUNDS - 1) * T + 1) * W <= size; c += ROUNDS * T, number += ROUNDS * W) {
    Vector v[ROUNDS];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) v[i] = ((const Vector *)in)[c + i * T];
#pragma unroll
    for (int i = 0; i < ROUNDS * W; i++) burn_see(seen, burn_get(v[i / W].at[i % W]), number + i);
  }
  for (; c * W < size; c += T, number += W)
    for (int i = 0; i < W && c * W + i < size; i++) burn_see(seen, burn_get(in[c * W + i]), number + i);
  Best best = {seen.value, -1};
  if (seen.number >= 0) best.index = ((int64_t)(seen.number / W) * T + lane) * W + seen.number % W;
  return best;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  __shared__ Best shared[256];
  const int lane = threadIdx.x % T;
  const int64_t line = (int64_t)blockIdx.x * (256 / T) + threadIdx.x / T, size = line < p.outer ? p.size : 0;
  shared[threadIdx.x] = burn_line((const IN0 *)p.in + line * p.size, size, lane, p.whole);
  for (int step = T / 2; step > 0; step /= 2) {
    __syncthreads();
    if (lane < step && burn_is_better(shared[threadIdx.x + step], shared[threadIdx.x]))
      shared[threadIdx.x] = shared[threadIdx.x + step];
  }
  if (lane == 0 && line < p.outer) burn_put(((OUT *)p.out)[line], shared[threadIdx.x].index);
}
#else
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  const IN0 *in = (const IN0 *)p.in;
  const int64_t i = burn_thread();
  if (i >= p.outer * p.inner) return;
  Best best = {(C)0, -1};
  for (int64_t k = 0; k < p.size; k++) {
    const C value = burn_get(in[(i / p.inner * p.size + k) * p.inner + i % p.inner]);
    if (best.index >= 0 && !burn_follows(value, best.value)) continue;
    best.value = value;
    best.index = k;
  }
  burn_put(((OUT *)p.out)[i], best.index);
}
#endif
