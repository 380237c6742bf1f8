/* scan.cu - every element joined with all before it on its line. BURN_VARIANT 0: lines lie along the last axis, a block
 * each, 256 elements at a time; 1: a thread for each line. A sum starts from 0, so that -0 becomes 0. */
static __device__ inline A burn_first(A x) {
#if BURN_JOIN == 0
  return burn_join((A)0, x);
#else
  return x;
#endif
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuScan p) {
  const IN0 *in = (const IN0 *)p.in;
  OUT *out = (OUT *)p.out;
#if BURN_VARIANT == 0
  __shared__ A ends[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t line = (int64_t)blockIdx.x * p.size;
  A before = burn_nothing();
  for (int64_t tile = 0; tile < p.size; tile += 256) {
    const int64_t k = tile + threadIdx.x;
    A sum = k < p.size ? burn_first((A)burn_get(in[line + k])) : burn_nothing();
    for (int step = 1; step < 32; step *= 2) {
      const A left = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum = burn_join(left, sum);
    }
    if (lane == 31) ends[warp] = sum;
    __syncthreads();
    A left = before;
    for (int w = 0; w < warp; w++) left = burn_join(left, ends[w]);
    if (k < p.size) burn_put(out[line + k], burn_join(left, sum));
    for (int w = 0; w < 8; w++) before = burn_join(before, ends[w]);
    __syncthreads();
  }
#else
  const int64_t i = burn_thread();
  if (i >= p.outer * p.inner) return;
  const int64_t start = i / p.inner * p.size * p.inner + i % p.inner;
  A sum = burn_nothing();
  for (int64_t k = 0; k < p.size; k++) {
    sum = burn_join(sum, burn_first((A)burn_get(in[start + k * p.inner])));
    burn_put(out[start + k * p.inner], sum);
  }
#endif
}
