/* pool.cu - windows over planes. BURN_VARIANT % 8 is what is made, 0: the largest and where it lies; 1: the mean of each
 * window; 2: what each pixel gets of the gradients of its windows; 3 and 4: 1 and 2 for adaptive windows; 5: 2 for the
 * largest. BURN_VARIANT / 8: counts and places take 64 bits. */
#define BURN_POOL (BURN_VARIANT % 8)
#if BURN_VARIANT / 8
typedef int64_t Place;
#else
typedef int32_t Place;
#endif
typedef Element<IN0>::C C;

struct Span {
  Place begin, end, divisor;
};

static __device__ inline Span burn_span(const GpuPool &p, int axis, Place i) {
  const Place pixels = (Place)p.pixels[axis];
  Span span;
#if BURN_POOL == 3 || BURN_POOL == 4
  const Place windows = (Place)p.windows[axis];
  span.begin = i * pixels / windows;
  span.end = ((i + 1) * pixels + windows - 1) / windows;
  span.divisor = span.end - span.begin;
#else
  const Place padding = (Place)p.padding[axis];
  span.begin = i * (Place)p.stride[axis] - padding;
  span.end = span.begin + (Place)p.kernel[axis];
  if (span.end > pixels + padding) span.end = pixels + padding;
  span.divisor = span.end - span.begin;
  if (span.begin < 0) span.begin = 0;
  if (span.end > pixels) span.end = pixels;
  if (!p.count_include_pad) span.divisor = span.end - span.begin;
  if (span.divisor < 0) span.divisor = 0; /* ceil_mode can make a window that lies outside */
#endif
  return span;
}

/* Windows outside first .. last do not cover the pixel; some within may not, either. */
static __device__ inline void burn_candidates(const GpuPool &p, int axis, Place pixel, Place *first, Place *last) {
  const Place windows = (Place)p.windows[axis];
#if BURN_POOL == 4
  const Place pixels = (Place)p.pixels[axis];
  *first = pixel * windows / pixels - 1;
  *last = (pixel + 1) * windows / pixels + 1;
#else
  const Place padding = (Place)p.padding[axis], stride = (Place)p.stride[axis];
  *first = (pixel + padding - (Place)p.kernel[axis]) / stride - 1;
  *last = (pixel + padding) / stride;
#endif
  if (*first < 0) *first = 0;
  if (*last >= windows) *last = windows - 1;
}

#if BURN_POOL == 5

/* Which of `count` ranges low .. high have position i, at most. */
static __device__ inline void burn_find(const int32_t *low, const int32_t *high, int count, int i, int32_t *first,
                                        int32_t *last) {
  *first = count;
  *last = -1;
  for (int k = 0; k < count; k++) {
    if (low[k] > i || high[k] < i) continue;
    if (*first == count) *first = k;
    *last = k;
  }
}

/* The windows say where their largest lies and not which pixels they cover. So a block first finds between which rows and
 * columns those of a row and a column of windows lie, then between which windows each row and column of pixels can be
 * met; a pixel adds what those windows among them give that name it, row by row. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuPool p) {
  const int oh = (int)p.windows[0], ow = (int)p.windows[1], h = (int)p.pixels[0], w = (int)p.pixels[1];
  const int slices = (int)p.slices, slice = (int)(blockIdx.x % slices), lane = threadIdx.x % 32;
  const int64_t plane = blockIdx.x / slices;
  const IN0 *grad = (const IN0 *)p.in + plane * oh * ow;
  const IN1 *indices = (const IN1 *)p.indices + plane * oh * ow;
  int32_t *low_y = (int32_t *)p.ranges + (int64_t)blockIdx.x * 2 * (oh + ow + h + w), *high_y = low_y + oh;
  int32_t *low_x = high_y + oh, *high_x = low_x + ow, *first_y = high_x + ow, *last_y = first_y + h;
  int32_t *first_x = last_y + h, *last_x = first_x + w;
  for (int from = 0; from < oh; from += 8) { /* as often in all warps: all come to each shuffle */
    const int oy = from + threadIdx.x / 32, end = oy < oh ? ow : 0;
    int low = h, high = -1;
    for (int ox = lane; ox < end; ox += 32) {
      const int y = (int)((int64_t)burn_get(indices[(int64_t)oy * ow + ox]) / w);
      low = y < low ? y : low;
      high = y > high ? y : high;
    }
    for (int step = 16; step > 0; step /= 2) {
      const int other_low = __shfl_xor_sync(0xffffffffu, low, step), other = __shfl_xor_sync(0xffffffffu, high, step);
      low = other_low < low ? other_low : low;
      high = other > high ? other : high;
    }
    if (lane == 0 && oy < oh) low_y[oy] = low, high_y[oy] = high;
  }
  for (int ox = threadIdx.x; ox < ow; ox += 256) {
    int low = w, high = -1;
    for (int oy = 0; oy < oh; oy++) {
      const int x = (int)((int64_t)burn_get(indices[(int64_t)oy * ow + ox]) % w);
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    low_x[ox] = low, high_x[ox] = high;
  }
  __syncthreads();
  for (int y = threadIdx.x; y < h; y += 256) burn_find(low_y, high_y, oh, y, &first_y[y], &last_y[y]);
  for (int x = threadIdx.x; x < w; x += 256) burn_find(low_x, high_x, ow, x, &first_x[x], &last_x[x]);
  __syncthreads();
  const Place count = (Place)h * w, step = (Place)slices * 256;
  for (Place i = (Place)slice * 256 + threadIdx.x; i < count; i += step) {
    const int y = (int)(i / w), x = (int)(i % w);
    C sum = (C)0;
    for (int oy = first_y[y]; oy <= last_y[y]; oy++)
      for (int ox = first_x[x]; ox <= last_x[x]; ox++) {
        const int64_t at = (int64_t)oy * ow + ox;
        if ((int64_t)burn_get(indices[at]) == (int64_t)i) sum += burn_get(grad[at]);
      }
    burn_put(((OUT *)p.out)[plane * count + i], sum);
  }
}
#else

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuPool p) {
  const IN0 *in = (const IN0 *)p.in;
  const Place i = (Place)burn_thread(), height = (Place)p.pixels[0], width = (Place)p.pixels[1];
  const Place rows = (Place)p.windows[0], columns = (Place)p.windows[1];
#if BURN_POOL == 0
  if (burn_thread() >= p.planes * p.windows[0] * p.windows[1]) return;
  const Place ox = i % columns, rest = i / columns, oy = rest % rows;
  const IN0 *plane = in + (int64_t)(rest / rows) * height * width;
  const Place top = oy * (Place)p.stride[0] - (Place)p.padding[0], left = ox * (Place)p.stride[1] - (Place)p.padding[1];
  const Place y_step = (Place)p.dilation[0], x_step = (Place)p.dilation[1];
  C best = -(C)INFINITY; /* a window in the padding alone: -infinity at position 0 */
  Place at = -1;
  for (Place ky = 0, iy = top; ky < (Place)p.kernel[0]; ky++, iy += y_step) {
    if (iy < 0 || iy >= height) continue;
    for (Place kx = 0, ix = left; kx < (Place)p.kernel[1]; kx++, ix += x_step) {
      if (ix < 0 || ix >= width) continue;
      const C value = burn_get(plane[iy * width + ix]);
      if (at >= 0 && !(value > best || (value != value && best == best))) continue; /* the first stays; NaN wins */
      best = value;
      at = iy * width + ix;
    }
  }
  burn_put(((OUT *)p.out)[i], best);
  if (p.indices) burn_put(((IN1 *)p.indices)[i], (int64_t)(at < 0 ? 0 : at));
#elif BURN_POOL == 1 || BURN_POOL == 3
  if (burn_thread() >= p.planes * p.windows[0] * p.windows[1]) return;
  const Place rest = i / columns;
  const Span x = burn_span(p, 1, i % columns), y = burn_span(p, 0, rest % rows);
  const IN0 *plane = in + (int64_t)(rest / rows) * height * width;
  const Place divisor = y.divisor * x.divisor;
  C sum = (C)0;
  for (Place iy = y.begin; iy < y.end; iy++)
    for (Place ix = x.begin; ix < x.end; ix++) sum += burn_get(plane[iy * width + ix]);
  burn_put(((OUT *)p.out)[i], divisor > 0 ? sum / (C)divisor : sum);
#else
  if (burn_thread() >= p.planes * p.pixels[0] * p.pixels[1]) return;
  const Place ix = i % width, rest = i / width, iy = rest % height;
  const IN0 *plane = in + (int64_t)(rest / height) * rows * columns;
  Place y_first, y_last, x_first, x_last;
  burn_candidates(p, 0, iy, &y_first, &y_last);
  burn_candidates(p, 1, ix, &x_first, &x_last);
  C sum = (C)0;
  for (Place oy = y_first; oy <= y_last; oy++) {
    const Span y = burn_span(p, 0, oy);
    if (iy < y.begin || iy >= y.end) continue;
    for (Place ox = x_first; ox <= x_last; ox++) {
      const Span x = burn_span(p, 1, ox);
      if (ix >= x.begin && ix < x.end) sum += burn_get(plane[oy * columns + ox]) / (C)(y.divisor * x.divisor);
    }
  }
  burn_put(((OUT *)p.out)[i], sum);
#endif
}
#endif
