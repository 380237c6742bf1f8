/* matmul.cu - products of any dtype and strides: 64 x 64 results a block of 256 threads, 16 steps of k at a time in
 * shared memory. Halves and f32 add in f32, f64 in f64, integers wrap; the bias is added before the rounding. */
typedef Element<IN0>::C C;
static __device__ inline float burn_fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ inline double burn_fused(double a, double b, double c) { return __fma_rn(a, b, c); }
static __device__ inline int64_t burn_fused(int64_t a, int64_t b, int64_t c) {
  return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}
static __device__ inline int32_t burn_fused(int32_t a, int32_t b, int32_t c) {
  return (int32_t)((uint32_t)a * (uint32_t)b + (uint32_t)c);
}
static __device__ inline uint8_t burn_fused(uint8_t a, uint8_t b, uint8_t c) { return (uint8_t)(a * b + c); }

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuMatmul p) {
  __shared__ C left[16][65], right[16][65];
  const int64_t columns = (p.n + 63) / 64, rows = (p.m + 63) / 64;
  const int64_t column = (int64_t)blockIdx.x % columns * 64, row = (int64_t)blockIdx.x / columns % rows * 64;
  const int64_t batch = (int64_t)blockIdx.x / columns / rows;
  int64_t rest = batch, at_left = 0, at_right = 0;
  for (int axis = p.rank - 1; axis >= 0; axis--) {
    const int64_t here = rest % p.shape[axis];
    rest /= p.shape[axis];
    at_left += here * p.lhs_strides[axis];
    at_right += here * p.rhs_strides[axis];
  }
  const IN0 *lhs = (const IN0 *)p.lhs + at_left, *rhs = (const IN0 *)p.rhs + at_right;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  C sum[4][4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) sum[i][j] = (C)0;
  for (int64_t k = 0; k < p.k; k += 16) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      /* neighbouring threads read neighbouring elements, whichever axis they lie along */
      const int a_k = p.lhs_column == 1 ? i % 16 : i / 64, a_row = p.lhs_column == 1 ? i / 16 : i % 64;
      const int b_k = p.rhs_column == 1 ? i / 64 : i % 16, b_column = p.rhs_column == 1 ? i % 64 : i / 16;
      const bool has_a = row + a_row < p.m && k + a_k < p.k, has_b = column + b_column < p.n && k + b_k < p.k;
      left[a_k][a_row] = has_a ? (C)burn_get(lhs[(row + a_row) * p.lhs_row + (k + a_k) * p.lhs_column]) : (C)0;
      right[b_k][b_column] = has_b ? (C)burn_get(rhs[(k + b_k) * p.rhs_row + (column + b_column) * p.rhs_column]) : (C)0;
    }
    __syncthreads();
    for (int step = 0; step < 16; step++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          sum[i][j] = burn_fused(left[step][ty + 16 * i], right[step][tx + 16 * j], sum[i][j]);
    __syncthreads();
  }
  OUT *out = (OUT *)p.out + batch * p.m * p.n;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const int64_t y = row + ty + 16 * i, x = column + tx + 16 * j;
      if (y >= p.m || x >= p.n) continue;
      const C result = p.bias != 0u ? sum[i][j] + (C)burn_get(((const OUT *)p.bias)[x]) : sum[i][j];
      burn_put(out[y * p.n + x], result);
    }
}
