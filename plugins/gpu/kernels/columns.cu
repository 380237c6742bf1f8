/* columns.cu - between pixels and columns: row k of the columns has, for every window, the pixel that tap k (channel, y,
 * x) meets there, so that convolutions are products of matrices. BURN_VARIANT % 4, 0: columns from pixels; 1: pixels
 * from columns, each the sum of what its taps have; 2: adds a bias to each channel. BURN_VARIANT / 4: counts and places
 * take 64 bits. */
#define BURN_PASS (BURN_VARIANT % 4)
#if BURN_VARIANT / 4
typedef int64_t Place;
#else
typedef int32_t Place;
#endif
typedef Element<IN0>::C C;

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuColumns p) {
  const Place i = (Place)burn_thread(), channels = (Place)p.channels;
  const Place kw = (Place)p.kernel[1], taps = (Place)p.kernel[0] * kw;
  const Place columns = (Place)p.windows[1], places = (Place)p.windows[0] * columns;
  const Place height = (Place)p.pixels[0], width = (Place)p.pixels[1];
#if BURN_PASS == 0
  if (burn_thread() >= p.batch * p.channels * taps * places) return;
  const Place place = i % places, rest = i / places, k = rest % (channels * taps), n = rest / (channels * taps);
  const Place c = k / taps, ky = k % taps / kw, kx = k % kw;
  const Place y = place / columns * (Place)p.stride[0] + ky * (Place)p.dilation[0] - (Place)p.padding[0];
  const Place x = place % columns * (Place)p.stride[1] + kx * (Place)p.dilation[1] - (Place)p.padding[1];
  const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
  OUT *to = (OUT *)p.out + n * p.batch_stride + k * p.row_stride + place;
  if (is_inside) {
    *to = ((const OUT *)p.in)[((n * channels + c) * height + y) * width + x];
  } else {
    burn_put(*to, (C)0);
  }
#elif BURN_PASS == 1
  if (burn_thread() >= p.batch * p.channels * p.pixels[0] * p.pixels[1]) return;
  const Place ix = i % width, rest = i / width, iy = rest % height, c = rest / height % channels;
  const Place n = rest / height / channels, y_stride = (Place)p.stride[0], x_stride = (Place)p.stride[1];
  const IN0 *from = (const IN0 *)p.in + n * p.batch_stride + (int64_t)c * taps * p.row_stride;
  C sum = (C)0;
  for (Place ky = 0; ky < (Place)p.kernel[0]; ky++) {
    const Place y = iy + (Place)p.padding[0] - ky * (Place)p.dilation[0], oy = y / y_stride;
    if (y < 0 || y % y_stride != 0 || oy >= (Place)p.windows[0]) continue;
    for (Place kx = 0; kx < kw; kx++) {
      const Place x = ix + (Place)p.padding[1] - kx * (Place)p.dilation[1], ox = x / x_stride;
      if (x < 0 || x % x_stride != 0 || ox >= columns) continue;
      sum += burn_get(from[(ky * kw + kx) * p.row_stride + oy * columns + ox]);
    }
  }
  if (p.bias) sum += burn_get(((const OUT *)p.bias)[c]);
  burn_put(((OUT *)p.out)[i], sum);
#else
  if (burn_thread() >= p.batch * p.channels * places) return;
  OUT *at = (OUT *)p.out + i;
  burn_put(*at, burn_get(*at) + burn_get(((const OUT *)p.bias)[i / places % channels]));
#endif
}
