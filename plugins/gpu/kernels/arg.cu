/* arg.cu - the index of the largest (BURN_JOIN 2) or smallest (3) element of each line; NaN wins, the lowest index of
 * equals. BURN_VARIANT 0: lines lie along the last axis, a block each; 1: a thread for each line. */
struct Best {
  Element<IN0>::C value;
  int64_t index; /* -1: none */
};

static __device__ inline bool burn_is_better(const Best &b, const Best &a) {
  if (b.index < 0 || a.index < 0) return a.index < 0 && b.index >= 0;
  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
  if (nan_a || nan_b) return nan_a && nan_b ? b.index < a.index : nan_b;
#if BURN_JOIN == 2
  if (b.value != a.value) return b.value > a.value;
#else
  if (b.value != a.value) return b.value < a.value;
#endif
  return b.index < a.index;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  const IN0 *in = (const IN0 *)p.in;
  Best best = {0, -1};
#if BURN_VARIANT == 0
  __shared__ Best shared[256];
#pragma unroll 8
  for (int64_t k = threadIdx.x; k < p.size; k += 256) {
    const Best here = {burn_get(in[(int64_t)blockIdx.x * p.size + k]), k};
    if (burn_is_better(here, best)) best = here;
  }
  shared[threadIdx.x] = best;
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step && burn_is_better(shared[threadIdx.x + step], shared[threadIdx.x]))
      shared[threadIdx.x] = shared[threadIdx.x + step];
  }
  if (threadIdx.x == 0) burn_put(((OUT *)p.out)[blockIdx.x], shared[0].index);
#else
  const int64_t i = burn_thread();
  if (i >= p.outer * p.inner) return;
  for (int64_t k = 0; k < p.size; k++) {
    const Best here = {burn_get(in[(i / p.inner * p.size + k) * p.inner + i % p.inner]), k};
    if (burn_is_better(here, best)) best = here;
  }
  burn_put(((OUT *)p.out)[i], best.index);
#endif
}
