/* conv.cu - convolutions by their definition. BURN_VARIANT 0: conv2d, a thread for each result; 1: conv_transpose2d, a
 * thread for each pixel; 2: the gradient of the weight, a block for each weight. Names are those of the conv2d that it
 * is, or is the gradient of: `in` are the pixels, `windows` the places of the kernel. */
typedef Element<IN0>::C C;
static __device__ inline float burn_fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ inline double burn_fused(double a, double b, double c) { return __fma_rn(a, b, c); }

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaConv p) {
  const int64_t in_group = p.in_channels / p.groups, out_group = p.out_channels / p.groups;
  C sum = (C)0;
#if BURN_VARIANT == 0
  const int64_t i = burn_thread();
  if (i >= p.batch * p.out_channels * p.windows[0] * p.windows[1]) return;
  const int64_t ox = i % p.windows[1], oy = i / p.windows[1] % p.windows[0];
  const int64_t channel = i / p.windows[1] / p.windows[0] % p.out_channels;
  const int64_t n = i / p.windows[1] / p.windows[0] / p.out_channels, first = channel / out_group * in_group;
  for (int64_t c = 0; c < in_group; c++) {
    const IN0 *x = (const IN0 *)p.x + (n * p.in_channels + first + c) * p.in[0] * p.in[1];
    const IN0 *w = (const IN0 *)p.weight + (channel * in_group + c) * p.kernel[0] * p.kernel[1];
    for (int64_t ky = 0; ky < p.kernel[0]; ky++) {
      const int64_t iy = oy * p.stride[0] + ky * p.dilation[0] - p.padding[0];
      if (iy < 0 || iy >= p.in[0]) continue;
      for (int64_t kx = 0; kx < p.kernel[1]; kx++) {
        const int64_t ix = ox * p.stride[1] + kx * p.dilation[1] - p.padding[1];
        if (ix < 0 || ix >= p.in[1]) continue;
        sum = burn_fused(burn_get(x[iy * p.in[1] + ix]), burn_get(w[ky * p.kernel[1] + kx]), sum);
      }
    }
  }
  if (p.bias) sum = sum + burn_get(((const IN0 *)p.bias)[channel]);
  burn_put(((OUT *)p.out)[i], sum);
#elif BURN_VARIANT == 1
  const int64_t i = burn_thread();
  if (i >= p.batch * p.in_channels * p.in[0] * p.in[1]) return;
  const int64_t ix = i % p.in[1], iy = i / p.in[1] % p.in[0], channel = i / p.in[1] / p.in[0] % p.in_channels;
  const int64_t n = i / p.in[1] / p.in[0] / p.in_channels, first = channel / in_group * out_group;
  for (int64_t ky = 0; ky < p.kernel[0]; ky++) {
    const int64_t y = iy + p.padding[0] - ky * p.dilation[0], oy = y / p.stride[0];
    if (y < 0 || y % p.stride[0] != 0 || oy >= p.windows[0]) continue;
    for (int64_t kx = 0; kx < p.kernel[1]; kx++) {
      const int64_t x = ix + p.padding[1] - kx * p.dilation[1], ox = x / p.stride[1];
      if (x < 0 || x % p.stride[1] != 0 || ox >= p.windows[1]) continue;
      for (int64_t c = 0; c < out_group; c++) {
        const int64_t from = ((n * p.out_channels + first + c) * p.windows[0] + oy) * p.windows[1] + ox;
        const int64_t at = (((first + c) * in_group + channel % in_group) * p.kernel[0] + ky) * p.kernel[1] + kx;
        sum = burn_fused(burn_get(((const IN0 *)p.x)[from]), burn_get(((const IN0 *)p.weight)[at]), sum);
      }
    }
  }
  if (p.bias) sum = sum + burn_get(((const IN0 *)p.bias)[channel]);
  burn_put(((OUT *)p.out)[i], sum);
#else
  __shared__ C shared[256];
  const int64_t i = blockIdx.x, kx = i % p.kernel[1], ky = i / p.kernel[1] % p.kernel[0];
  const int64_t c = i / p.kernel[1] / p.kernel[0] % in_group, channel = i / p.kernel[1] / p.kernel[0] / in_group;
  const int64_t plane = p.windows[0] * p.windows[1];
  for (int64_t k = threadIdx.x; k < p.batch * plane; k += 256) {
    const int64_t n = k / plane, oy = k % plane / p.windows[1], ox = k % p.windows[1];
    const int64_t iy = oy * p.stride[0] + ky * p.dilation[0] - p.padding[0];
    const int64_t ix = ox * p.stride[1] + kx * p.dilation[1] - p.padding[1];
    if (iy < 0 || iy >= p.in[0] || ix < 0 || ix >= p.in[1]) continue;
    const int64_t from = ((n * p.in_channels + channel / out_group * in_group + c) * p.in[0] + iy) * p.in[1] + ix;
    sum = burn_fused(burn_get(((const IN0 *)p.x)[from]),
                     burn_get(((const IN0 *)p.weight)[(n * p.out_channels + channel) * plane + k % plane]), sum);
  }
  shared[threadIdx.x] = sum;
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
  }
  if (threadIdx.x == 0) burn_put(((OUT *)p.out)[i], shared[0]);
#endif
}
