/* columns.cu - between pixels and columns: row k of the columns has, for every window, the pixel that tap k (channel, y,
 * x) meets there, so that convolutions are products of matrices. BURN_VARIANT % 4, 0: columns from pixels; 1: pixels
 * from columns, each the sum of what its taps have; 2: adds a bias to each channel. BURN_VARIANT & 4: counts and places
 * take 64 bits. BURN_VARIANT & 8: for processors, a thread of 0 and 2 has a line of windows, as dividing is slow. */
#define BURN_PASS (BURN_VARIANT % 4)
#define BURN_BY_LINES (BURN_VARIANT / 8)
#if BURN_VARIANT & 4
typedef int64_t Place;
#else
typedef int32_t Place;
#endif
typedef Element<IN0>::C C;

#if BURN_BY_LINES && BURN_PASS == 0
struct alignas(2 * sizeof(OUT)) Two { OUT at[2]; };

static __device__ inline OUT burn_pixel(const OUT *line, Place x, Place width) {
  OUT none;
  burn_put(none, (C)0);
  return x >= 0 && x < width ? line[x] : none;
}

/* Two windows at once where they lie so. Lines above and below the pixels have a width of 0. */
static __device__ inline void burn_fill_line(OUT *to, const OUT *line, Place columns, Place x, Place step,
                                             Place width) {
  const bool in_twos = ((uint64_t)to & (sizeof(Two) - 1u)) == 0u;
  Place k = 0;
  for (; in_twos && k + 2 <= columns; k += 2, x += 2 * step) {
    const Two two = {{burn_pixel(line, x, width), burn_pixel(line, x + step, width)}};
    *(Two *)(to + k) = two;
  }
  for (; k < columns; k++, x += step) to[k] = burn_pixel(line, x, width);
}
#endif

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuColumns p) {
  const Place i = (Place)burn_thread(), channels = (Place)p.channels;
  const Place kw = (Place)p.kernel[1], taps = (Place)p.kernel[0] * kw;
  const Place columns = (Place)p.windows[1], places = (Place)p.windows[0] * columns;
  const Place height = (Place)p.pixels[0], width = (Place)p.pixels[1];
#if BURN_BY_LINES && BURN_PASS == 0
  const Place lines = (Place)p.windows[0];
  if (burn_thread() >= p.batch * p.channels * taps * lines) return;
  const Place oy = i % lines, rest = i / lines, k = rest % (channels * taps), n = rest / (channels * taps);
  const Place c = k / taps, ky = k % taps / kw, kx = k % kw;
  const Place y = oy * (Place)p.stride[0] + ky * (Place)p.dilation[0] - (Place)p.padding[0];
  const bool is_inside = y >= 0 && y < height;
  burn_fill_line((OUT *)p.out + n * p.batch_stride + k * p.row_stride + oy * columns,
                 (const OUT *)p.in + ((n * channels + c) * height + (is_inside ? y : 0)) * width, columns,
                 kx * (Place)p.dilation[1] - (Place)p.padding[1], (Place)p.stride[1], is_inside ? width : 0);
#elif BURN_BY_LINES
  const Place lines = (Place)p.windows[0];
  if (burn_thread() >= p.batch * p.channels * lines) return;
  const C bias = burn_get(((const OUT *)p.bias)[i / lines % channels]);
  OUT *line = (OUT *)p.out + (int64_t)i * columns;
  for (Place k = 0; k < columns; k++) burn_put(line[k], burn_get(line[k]) + bias);
#elif BURN_PASS == 0
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
