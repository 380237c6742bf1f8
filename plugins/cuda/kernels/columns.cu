/* columns.cu - between pixels and columns: row k of the columns has, for every window, the pixel that tap k (channel, y,
 * x) meets there, so that convolutions are products of matrices. BURN_VARIANT 0: columns from pixels; 1: pixels from
 * columns, each the sum of what its taps have; 2: adds a bias to each channel. */
typedef Element<IN0>::C C;

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaColumns p) {
  const int64_t i = burn_thread();
  const int64_t taps = p.kernel[0] * p.kernel[1], places = p.windows[0] * p.windows[1];
#if BURN_VARIANT == 0
  if (i >= p.batch * p.channels * taps * places) return;
  const int64_t place = i % places, k = i / places % (p.channels * taps), n = i / places / (p.channels * taps);
  const int64_t c = k / taps, ky = k % taps / p.kernel[1], kx = k % p.kernel[1];
  const int64_t y = place / p.windows[1] * p.stride[0] + ky * p.dilation[0] - p.padding[0];
  const int64_t x = place % p.windows[1] * p.stride[1] + kx * p.dilation[1] - p.padding[1];
  const bool is_inside = y >= 0 && y < p.pixels[0] && x >= 0 && x < p.pixels[1];
  OUT *to = (OUT *)p.out + n * p.batch_stride + k * p.row_stride + place;
  if (is_inside) {
    *to = ((const OUT *)p.in)[((n * p.channels + c) * p.pixels[0] + y) * p.pixels[1] + x];
  } else {
    burn_put(*to, (C)0);
  }
#elif BURN_VARIANT == 1
  if (i >= p.batch * p.channels * p.pixels[0] * p.pixels[1]) return;
  const int64_t ix = i % p.pixels[1], iy = i / p.pixels[1] % p.pixels[0];
  const int64_t c = i / p.pixels[1] / p.pixels[0] % p.channels, n = i / p.pixels[1] / p.pixels[0] / p.channels;
  C sum = (C)0;
  for (int64_t ky = 0; ky < p.kernel[0]; ky++) {
    const int64_t y = iy + p.padding[0] - ky * p.dilation[0], oy = y / p.stride[0];
    if (y < 0 || y % p.stride[0] != 0 || oy >= p.windows[0]) continue;
    for (int64_t kx = 0; kx < p.kernel[1]; kx++) {
      const int64_t x = ix + p.padding[1] - kx * p.dilation[1], ox = x / p.stride[1];
      if (x < 0 || x % p.stride[1] != 0 || ox >= p.windows[1]) continue;
      const int64_t k = c * taps + ky * p.kernel[1] + kx;
      sum += burn_get(((const IN0 *)p.in)[n * p.batch_stride + k * p.row_stride + oy * p.windows[1] + ox]);
    }
  }
  if (p.bias) sum += burn_get(((const OUT *)p.bias)[c]);
  burn_put(((OUT *)p.out)[i], sum);
#else
  if (i >= p.batch * p.channels * places) return;
  OUT *at = (OUT *)p.out + i;
  burn_put(*at, burn_get(*at) + burn_get(((const OUT *)p.bias)[i / places % p.channels]));
#endif
}
