/* conv.cu - convolutions by their definition. BURN_VARIANT % 4, 0: conv2d; 1: conv_transpose2d; 2: the gradient of the
 * weight; 3: the sum of its parts. BURN_VARIANT / 4: counts and places take 64 bits. Names are those of the conv2d that
 * it is, or is the gradient of: `in` are the pixels, `windows` the places of the kernel.
 *
 * In 0 and 1 a thread makes the results of 8 channels at one place, whose weights lie in shared memory, 256 taps of them
 * at a time. In 2 a block makes 9 taps of a pair of channels, over a part of all places. */
#define BURN_PASS (BURN_VARIANT % 4)
#if BURN_VARIANT / 4
typedef int64_t Place;
#else
typedef int32_t Place;
#endif
#define CHANNELS 8
#define CHUNK 256
#define TAPS 9
typedef Element<IN0>::C C;

struct alignas(16) Four { C at[4]; };

#if BURN_PASS < 2

/* Which weight tap t of output k of the eight takes; 0 where there is none. */
static __device__ inline C burn_weight(const GpuConv &p, Place group, Place channel, Place t) {
  const Place in_group = (Place)(p.in_channels / p.groups), out_group = (Place)(p.out_channels / p.groups);
  const Place plane = (Place)(p.kernel[0] * p.kernel[1]);
  const IN0 *weight = (const IN0 *)p.weight;
#if BURN_PASS == 0
  if (channel >= out_group || t >= in_group * plane) return (C)0;
  return burn_get(weight[(group * out_group + channel) * in_group * plane + t]);
#else
  if (channel >= in_group || t >= out_group * plane) return (C)0;
  const Place k = t / out_group, c = t % out_group;
  return burn_get(weight[((group * out_group + c) * in_group + channel) * plane + k]);
#endif
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuConv p) {
  __shared__ Four weights[CHUNK][CHANNELS / 4];
  const Place in_group = (Place)(p.in_channels / p.groups), out_group = (Place)(p.out_channels / p.groups);
  const Place height = (Place)p.in[0], width = (Place)p.in[1], rows = (Place)p.windows[0], columns = (Place)p.windows[1];
  const Place kh = (Place)p.kernel[0], kw = (Place)p.kernel[1];
  const Place y_step = (Place)p.dilation[0], x_step = (Place)p.dilation[1];
#if BURN_PASS == 0
  const Place of_group = out_group, taps = in_group * kh * kw, place_rows = rows, place_columns = columns;
#else
  const Place of_group = in_group, taps = out_group * kh * kw, place_rows = height, place_columns = width;
#endif
  const Place eights = (of_group + CHANNELS - 1) / CHANNELS, groups = (Place)p.groups;
  const Place block = (Place)blockIdx.x, first = block % eights * CHANNELS, group = block / eights % groups;
  const Place i = block / eights / groups * 256 + (Place)threadIdx.x;
  const Place px = i % place_columns, py = i / place_columns % place_rows, n = i / place_columns / place_rows;
  const bool is_there = n < (Place)p.batch;
  C sum[CHANNELS];
#pragma unroll
  for (int k = 0; k < CHANNELS; k++) sum[k] = (C)0;
#if BURN_PASS == 0
  const IN0 *x = (const IN0 *)p.x + (int64_t)(is_there ? n * (Place)p.in_channels + group * in_group : 0) * height * width;
  const Place top = py * (Place)p.stride[0] - (Place)p.padding[0], left = px * (Place)p.stride[1] - (Place)p.padding[1];
#else
  const IN0 *x = (const IN0 *)p.x + (int64_t)(is_there ? n * (Place)p.out_channels + group * out_group : 0) * rows * columns;
  const Place y_stride = (Place)p.stride[0], x_stride = (Place)p.stride[1];
#endif
  Place c = 0, ky = 0, kx = 0;
  for (Place from = 0; from < taps; from += CHUNK) {
    __syncthreads();
    for (int k = threadIdx.x; k < CHUNK * CHANNELS; k += 256) {
      const int tap = BURN_PASS == 0 ? k % CHUNK : k / CHANNELS, channel = BURN_PASS == 0 ? k / CHUNK : k % CHANNELS;
      weights[tap][channel / 4].at[channel % 4] = burn_weight(p, group, first + channel, from + tap);
    }
    __syncthreads();
    const int count = taps - from < CHUNK ? (int)(taps - from) : CHUNK;
    for (int t = 0; t < count; t++) {
#if BURN_PASS == 0
      const Place y = top + ky * y_step, at = left + kx * x_step;
      const bool is_inside = is_there && y >= 0 && y < height && at >= 0 && at < width;
      const Place element = (c * height + y) * width + at;
      if (++kx == kw) kx = 0, ky++;
      if (ky == kh) ky = 0, c++;
#else
      const Place down = py + (Place)p.padding[0] - ky * y_step, right = px + (Place)p.padding[1] - kx * x_step;
      const Place y = down / y_stride, at = right / x_stride;
      const bool is_inside = is_there && down >= 0 && right >= 0 && y * y_stride == down && at * x_stride == right &&
                             y < rows && at < columns;
      const Place element = (c * rows + y) * columns + at;
      if (++c == out_group) c = 0, kx++;
      if (kx == kw) kx = 0, ky++;
#endif
      if (!is_inside) continue;
      const C value = burn_get(x[element]);
#pragma unroll
      for (int k = 0; k < CHANNELS; k++) sum[k] = burn_fused(value, weights[t][k / 4].at[k % 4], sum[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < CHANNELS; k++) {
    const Place channel = group * of_group + first + k;
    if (!is_there || first + k >= of_group) continue;
    if (p.bias) sum[k] = sum[k] + burn_get(((const IN0 *)p.bias)[channel]);
    burn_put(((OUT *)p.out)[((int64_t)(n * of_group * groups + channel) * place_rows + py) * place_columns + px], sum[k]);
  }
}

#elif BURN_PASS == 2

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuConv p) {
  __shared__ C shared[TAPS][8];
  const Place in_group = (Place)(p.in_channels / p.groups), out_group = (Place)(p.out_channels / p.groups);
  const Place height = (Place)p.in[0], width = (Place)p.in[1], columns = (Place)p.windows[1];
  const Place taps = (Place)(p.kernel[0] * p.kernel[1]), kw = (Place)p.kernel[1], plane = (Place)p.windows[0] * columns;
  const Place chunks = (taps + TAPS - 1) / TAPS, block = (Place)blockIdx.x, tap = block % chunks * TAPS;
  const Place pair = block / chunks % ((Place)p.out_channels * in_group), part = block / chunks / ((Place)p.out_channels * in_group);
  const Place c = pair % in_group, channel = pair / in_group, y_step = (Place)p.dilation[0], x_step = (Place)p.dilation[1];
  const IN0 *grad = (const IN0 *)p.weight + (int64_t)channel * plane;
  const IN0 *x = (const IN0 *)p.x + (int64_t)(channel / out_group * in_group + c) * height * width;
  const int64_t in_plane = (int64_t)p.in_channels * height * width, out_plane = (int64_t)p.out_channels * plane;
  const Place size = (Place)p.part_size, last = (Place)p.batch * plane;
  const Place end = (part + 1) * size < last ? (part + 1) * size : last;
  C sum[TAPS];
#pragma unroll
  for (int t = 0; t < TAPS; t++) sum[t] = (C)0;
  for (Place k = part * size + (Place)threadIdx.x; k < end; k += 256) {
    const Place n = k / plane, rest = k % plane, oy = rest / columns, ox = rest % columns;
    const Place top = oy * (Place)p.stride[0] - (Place)p.padding[0], left = ox * (Place)p.stride[1] - (Place)p.padding[1];
    const C value = burn_get(grad[n * out_plane + rest]);
    Place ky = tap / kw, kx = tap % kw;
#pragma unroll
    for (int t = 0; t < TAPS; t++) {
      const Place y = top + ky * y_step, at = left + kx * x_step;
      const bool is_inside = tap + t < taps && y >= 0 && y < height && at >= 0 && at < width;
      if (is_inside) sum[t] = burn_fused(burn_get(x[n * in_plane + y * width + at]), value, sum[t]);
      if (++kx == kw) kx = 0, ky++;
    }
  }
#pragma unroll
  for (int t = 0; t < TAPS; t++) {
    for (int step = 16; step > 0; step /= 2) sum[t] += __shfl_down_sync(0xffffffffu, sum[t], step);
    if (threadIdx.x % 32 == 0) shared[t][threadIdx.x / 32] = sum[t];
  }
  __syncthreads();
  if (threadIdx.x >= TAPS || tap + (Place)threadIdx.x >= taps) return;
  C total = shared[threadIdx.x][0];
  for (int k = 1; k < 8; k++) total += shared[threadIdx.x][k];
  const int64_t weights = p.out_channels * in_group * taps, at = (int64_t)pair * taps + tap + threadIdx.x;
  if (p.parts == 1) {
    burn_put(((OUT *)p.out)[at], total);
  } else {
    ((C *)p.bias)[part * weights + at] = total;
  }
}

#else

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuConv p) {
  const int64_t weights = p.out_channels * (p.in_channels / p.groups) * p.kernel[0] * p.kernel[1], i = burn_thread();
  if (i >= weights) return;
  C sum = (C)0;
  for (int64_t part = 0; part < p.parts; part++) sum += ((const C *)p.bias)[part * weights + i];
  burn_put(((OUT *)p.out)[i], sum);
}
#endif
