/* pool.cu - windows over planes. BURN_VARIANT % 8 is what is made, 0: the largest and where it lies; 1: the mean of each
 * window; 2: what each pixel gets of the gradients of its windows; 3 and 4: 1 and 2 for adaptive windows; 5: 2 for the
 * largest; 6: the same of planes that fit into shared memory. BURN_VARIANT / 8 % 2: counts and places take 64 bits.
 * BURN_VARIANT / 16: the logarithm of the planes that a thread makes the same place of. */
#define BURN_POOL (BURN_VARIANT % 8)
#if BURN_VARIANT / 8 % 2
typedef int64_t Place;
typedef uint64_t Natural;
#else
typedef int32_t Place;
typedef uint32_t Natural; /* what is never negative: its divisions take fewer instructions */
#endif
typedef Element<IN0>::C C;

struct Span {
  Place begin, end, divisor;
};

static __device__ inline Span burn_span(const GpuPool &p, int axis, Place i) {
  const Place pixels = (Place)p.pixels[axis];
  Span span;
#if BURN_POOL == 3 || BURN_POOL == 4
  const Natural windows = (Natural)p.windows[axis], from = (Natural)i * (Natural)pixels;
  span.begin = (Place)(from / windows);
  span.end = (Place)((from + (Natural)pixels + windows - 1) / windows);
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

#if BURN_POOL == 2 || BURN_POOL == 4
/* x / divisor; the compiler makes the reciprocal once for all planes. */
static __device__ inline float burn_share_of(float x, float divisor) {
#if BURN_HAS_FAST_F64
  return burn_quotient(x, 1.0 / (double)divisor);
#else
  return x / divisor;
#endif
}
static __device__ inline double burn_share_of(double x, double divisor) { return x / divisor; }
#endif

/* Windows outside first .. last do not cover the pixel; some within may not, either, where they are not adaptive. */
static __device__ inline void burn_candidates(const GpuPool &p, int axis, Place pixel, Place *first, Place *last) {
  const Place windows = (Place)p.windows[axis];
#if BURN_POOL == 4
  /* window o begins at floor(o * pixels / windows), and ends where its next would begin, rounded up */
  const Natural pixels = (Natural)p.pixels[axis], from = (Natural)pixel * (Natural)windows;
  *first = (Place)(from / pixels);
  *last = (Place)((from + (Natural)windows + pixels - 1) / pixels) - 1;
#else
  const Place padding = (Place)p.padding[axis], stride = (Place)p.stride[axis];
  *first = (pixel + padding - (Place)p.kernel[axis]) / stride - 1;
  *last = (pixel + padding) / stride;
#endif
  if (*first < 0) *first = 0;
  if (*last >= windows) *last = windows - 1;
}

#if BURN_POOL == 6
enum { MOST = GPU_POOL_PLANE(sizeof(C)) };
#define NOBODY 0xffffffffu

/* A block has a plane. Of the windows that name a pixel one after the other adds what it has, so that sums have the order of
 * the windows: in each round the first that has not done so. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuPool p) {
  __shared__ C sums[MOST];
  __shared__ uint32_t first[MOST]; /* of those that are left */
  __shared__ int32_t last[MOST];   /* of those that have added */
  __shared__ uint32_t is_more;     /* the last round that left some */
  const int32_t count = (int32_t)(p.pixels[0] * p.pixels[1]), windows = (int32_t)(p.windows[0] * p.windows[1]);
  const IN0 *grad = (const IN0 *)p.in + (int64_t)blockIdx.x * windows;
  const IN1 *indices = (const IN1 *)p.indices + (int64_t)blockIdx.x * windows;
  OUT *out = (OUT *)p.out + (int64_t)blockIdx.x * count;
  for (int32_t i = threadIdx.x; i < count; i += 256) {
    sums[i] = (C)0;
    first[i] = NOBODY;
    last[i] = -1;
  }
  if (threadIdx.x == 0) is_more = 0;
  for (int32_t round = 1;; round++) {
    __syncthreads();
    for (int32_t w = threadIdx.x; w < windows; w += 256) {
      const int64_t i = burn_get(indices[w]);
      if (i >= 0 && i < count && last[i] < w) atomicMin(&first[i], (uint32_t)w);
    }
    __syncthreads();
    for (int32_t w = threadIdx.x; w < windows; w += 256) {
      const int64_t i = burn_get(indices[w]);
      if (i < 0 || i >= count || (uint32_t)w < first[i]) continue;
      if ((uint32_t)w > first[i]) {
        atomicMax(&is_more, (uint32_t)round);
        continue;
      }
      sums[i] += burn_get(grad[w]);
      last[i] = w;
    }
    __syncthreads();
    if (is_more < (uint32_t)round) break;
    for (int32_t i = threadIdx.x; i < count; i += 256) first[i] = NOBODY;
  }
  for (int32_t i = threadIdx.x; i < count; i += 256) burn_put(out[i], sums[i]);
}
#elif BURN_POOL == 5

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
/* A thread makes the same place of PLANES planes, since what it has to find out of its windows takes longer than they do. */
enum { PLANES = 1 << BURN_VARIANT / 16 };

/* What a thread has: its place in its planes, where they begin, how many of them there are. */
struct Work {
  Place x, y, left;
  int64_t first;
};

static __device__ inline Work burn_work(const GpuPool &p, Place height, Place width) {
  Work work;
  const Natural n = (Natural)burn_thread(), rest = n / (Natural)width, row = rest / (Natural)height;
  work.x = (Place)(n - rest * (Natural)width);
  work.y = (Place)(rest - row * (Natural)height);
  work.first = (int64_t)row * PLANES;
  work.left = work.first < p.planes ? (Place)(p.planes - work.first) : 0;
  return work;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuPool p) {
  const Place height = (Place)p.pixels[0], width = (Place)p.pixels[1];
  const Place rows = (Place)p.windows[0], columns = (Place)p.windows[1];
#if BURN_POOL == 2 || BURN_POOL == 4
  const Place from_plane = rows * columns, to_plane = height * width;
  const Work work = burn_work(p, height, width);
#else
  const Place from_plane = height * width, to_plane = rows * columns;
  const Work work = burn_work(p, rows, columns);
#endif
  if (work.left == 0) return;
  const IN0 *in = (const IN0 *)p.in + work.first * from_plane;
  Place planes[PLANES]; /* of one that is not there the first is read, and nothing is written */
  C sum[PLANES];
#pragma unroll
  for (int n = 0; n < PLANES; n++) {
    planes[n] = n < work.left ? n * from_plane : 0;
    sum[n] = (C)0;
  }
#if BURN_POOL == 0
  const Place top = work.y * (Place)p.stride[0] - (Place)p.padding[0];
  const Place left = work.x * (Place)p.stride[1] - (Place)p.padding[1];
  const Place y_step = (Place)p.dilation[0], x_step = (Place)p.dilation[1];
  Place at[PLANES];
#pragma unroll
  for (int n = 0; n < PLANES; n++) {
    sum[n] = -(C)INFINITY; /* a window in the padding alone: -infinity at position 0 */
    at[n] = -1;
  }
  for (Place ky = 0, iy = top; ky < (Place)p.kernel[0]; ky++, iy += y_step) {
    if (iy < 0 || iy >= height) continue;
    for (Place kx = 0, ix = left; kx < (Place)p.kernel[1]; kx++, ix += x_step) {
      if (ix < 0 || ix >= width) continue;
      const Place place = iy * width + ix;
      C value[PLANES];
#pragma unroll
      for (int n = 0; n < PLANES; n++) value[n] = burn_get(in[planes[n] + place]);
#pragma unroll
      for (int n = 0; n < PLANES; n++) { /* the first of equals stays; NaN wins */
        const bool is_better = at[n] < 0 || (!(value[n] <= sum[n]) && sum[n] == sum[n]);
        sum[n] = is_better ? value[n] : sum[n];
        at[n] = is_better ? place : at[n];
      }
    }
  }
#elif BURN_POOL == 1 || BURN_POOL == 3
  const Span x = burn_span(p, 1, work.x), y = burn_span(p, 0, work.y);
  const Place divisor = y.divisor * x.divisor;
  for (Place iy = y.begin; iy < y.end; iy++)
    for (Place ix = x.begin; ix < x.end; ix++)
#pragma unroll
      for (int n = 0; n < PLANES; n++) sum[n] += burn_get(in[planes[n] + iy * width + ix]);
#pragma unroll
  for (int n = 0; n < PLANES; n++)
    if (divisor > 0) sum[n] = sum[n] / (C)divisor;
#else
  Place y_first, y_last, x_first, x_last;
  burn_candidates(p, 0, work.y, &y_first, &y_last);
  burn_candidates(p, 1, work.x, &x_first, &x_last);
  for (Place oy = y_first; oy <= y_last; oy++) {
    const Span y = burn_span(p, 0, oy);
    if (work.y < y.begin || work.y >= y.end) continue;
    for (Place ox = x_first; ox <= x_last; ox++) {
      const Span x = burn_span(p, 1, ox);
      if (work.x < x.begin || work.x >= x.end) continue;
      const C divisor = (C)(y.divisor * x.divisor);
#pragma unroll
      for (int n = 0; n < PLANES; n++)
        sum[n] += burn_share_of(burn_get(in[planes[n] + oy * columns + ox]), divisor);
    }
  }
#endif
#if BURN_POOL == 2 || BURN_POOL == 4
  const int64_t to = work.first * to_plane + work.y * width + work.x;
#else
  const int64_t to = work.first * to_plane + work.y * columns + work.x;
#endif
#pragma unroll
  for (int n = 0; n < PLANES; n++) {
    if (n >= work.left) continue;
    burn_put(((OUT *)p.out)[to + n * to_plane], sum[n]);
#if BURN_POOL == 0
    if (p.indices) burn_put(((IN1 *)p.indices)[to + n * to_plane], (int64_t)(at[n] < 0 ? 0 : at[n]));
#endif
  }
}
#endif
