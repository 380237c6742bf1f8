/* product_parts.cu - the parts of a product, f32 or i32 [parts, batches, m, n], one after the other, and the bias;
 * sums.cu comes before. */
#define THREADS 256
#define MINE 4

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuMatmul p) {
  const int64_t count = p.batches * p.m * p.n;
#pragma unroll
  for (int e = 0; e < MINE; e++) {
    const int64_t at = ((int64_t)blockIdx.x * MINE + e) * THREADS + threadIdx.x;
    if (at < count) {
      A sum = (A)0;
      for (int64_t part = 0; part < p.parts; part++) sum = sum + (A)((const IN0 *)p.lhs)[part * count + at];
      if (p.bias != 0u) sum = sum + (A)burn_get(((const OUT *)p.bias)[at % p.n]);
      burn_put(((OUT *)p.out)[at], (C)sum);
    }
  }
}
