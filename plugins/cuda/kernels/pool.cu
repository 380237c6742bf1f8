/* pool.cu - windows over planes. BURN_VARIANT 0: the largest and where it lies; 1: the mean of each window; 2: what each
 * pixel gets of the gradients of its windows; 3 and 4: 1 and 2 for adaptive windows. */
typedef Element<IN0>::C C;

struct Span {
  int64_t begin, end, divisor;
};

static __device__ inline Span burn_span(const CudaPool &p, int axis, int64_t i) {
  Span span;
#if BURN_VARIANT > 2
  span.begin = i * p.pixels[axis] / p.windows[axis];
  span.end = ((i + 1) * p.pixels[axis] + p.windows[axis] - 1) / p.windows[axis];
  span.divisor = span.end - span.begin;
#else
  span.begin = i * p.stride[axis] - p.padding[axis];
  span.end = span.begin + p.kernel[axis];
  if (span.end > p.pixels[axis] + p.padding[axis]) span.end = p.pixels[axis] + p.padding[axis];
  span.divisor = span.end - span.begin;
  if (span.begin < 0) span.begin = 0;
  if (span.end > p.pixels[axis]) span.end = p.pixels[axis];
  if (!p.count_include_pad) span.divisor = span.end - span.begin;
  if (span.divisor < 0) span.divisor = 0; /* ceil_mode can make a window that lies outside */
#endif
  return span;
}

/* Windows outside first .. last do not cover the pixel; some within may not, either. */
static __device__ inline void burn_candidates(const CudaPool &p, int axis, int64_t pixel, int64_t *first, int64_t *last) {
#if BURN_VARIANT > 2
  *first = pixel * p.windows[axis] / p.pixels[axis] - 1;
  *last = (pixel + 1) * p.windows[axis] / p.pixels[axis] + 1;
#else
  *first = (pixel + p.padding[axis] - p.kernel[axis]) / p.stride[axis] - 1;
  *last = (pixel + p.padding[axis]) / p.stride[axis];
#endif
  if (*first < 0) *first = 0;
  if (*last >= p.windows[axis]) *last = p.windows[axis] - 1;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaPool p) {
  const int64_t i = burn_thread();
  const IN0 *in = (const IN0 *)p.in;
#if BURN_VARIANT == 0
  if (i >= p.planes * p.windows[0] * p.windows[1]) return;
  const int64_t ox = i % p.windows[1], oy = i / p.windows[1] % p.windows[0];
  const IN0 *plane = in + i / p.windows[1] / p.windows[0] * p.pixels[0] * p.pixels[1];
  C best = -(C)INFINITY; /* a window in the padding alone: -infinity at position 0 */
  int64_t at = -1;
  for (int64_t ky = 0; ky < p.kernel[0]; ky++) {
    const int64_t iy = oy * p.stride[0] + ky * p.dilation[0] - p.padding[0];
    if (iy < 0 || iy >= p.pixels[0]) continue;
    for (int64_t kx = 0; kx < p.kernel[1]; kx++) {
      const int64_t ix = ox * p.stride[1] + kx * p.dilation[1] - p.padding[1];
      if (ix < 0 || ix >= p.pixels[1]) continue;
      const C value = burn_get(plane[iy * p.pixels[1] + ix]);
      if (at >= 0 && !(value > best || (value != value && best == best))) continue; /* the first stays; NaN wins */
      best = value;
      at = iy * p.pixels[1] + ix;
    }
  }
  burn_put(((OUT *)p.out)[i], best);
  burn_put(((IN1 *)p.indices)[i], at < 0 ? (int64_t)0 : at);
#elif BURN_VARIANT == 1 || BURN_VARIANT == 3
  if (i >= p.planes * p.windows[0] * p.windows[1]) return;
  const Span x = burn_span(p, 1, i % p.windows[1]), y = burn_span(p, 0, i / p.windows[1] % p.windows[0]);
  const IN0 *plane = in + i / p.windows[1] / p.windows[0] * p.pixels[0] * p.pixels[1];
  const int64_t divisor = y.divisor * x.divisor;
  C sum = (C)0;
  for (int64_t iy = y.begin; iy < y.end; iy++)
    for (int64_t ix = x.begin; ix < x.end; ix++) sum += burn_get(plane[iy * p.pixels[1] + ix]);
  burn_put(((OUT *)p.out)[i], divisor > 0 ? sum / (C)divisor : sum);
#else
  if (i >= p.planes * p.pixels[0] * p.pixels[1]) return;
  const int64_t ix = i % p.pixels[1], iy = i / p.pixels[1] % p.pixels[0];
  const IN0 *plane = in + i / p.pixels[1] / p.pixels[0] * p.windows[0] * p.windows[1];
  int64_t y_first, y_last, x_first, x_last;
  burn_candidates(p, 0, iy, &y_first, &y_last);
  burn_candidates(p, 1, ix, &x_first, &x_last);
  C sum = (C)0;
  for (int64_t oy = y_first; oy <= y_last; oy++) {
    const Span y = burn_span(p, 0, oy);
    if (iy < y.begin || iy >= y.end) continue;
    for (int64_t ox = x_first; ox <= x_last; ox++) {
      const Span x = burn_span(p, 1, ox);
      if (ix >= x.begin && ix < x.end) sum += burn_get(plane[oy * p.windows[1] + ox]) / (C)(y.divisor * x.divisor);
    }
  }
  burn_put(((OUT *)p.out)[i], sum);
#endif
}
