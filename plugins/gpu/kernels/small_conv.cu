/* small_conv.cu - convolutions of few channels, whose numbers of taps and steps are known to the compiler. Names are
 * those of the conv2d that it is, or is the gradient of: `in` are the pixels, `windows` the places of the kernel.
 *
 * BURN_VARIANT % 4, 0: conv2d; 1: conv_transpose2d; 2: parts of the gradient of the weight; 3: their sum. Then, by bits:
 * 2 to 4 and 5 to 7, taps along y and x; 8 and 9, the stride of both; 10 to 13, channels of a thread, a multiple of 4;
 * from 14 on, in 0 and 1, rows of results of a thread; 14, in 2, the gradient of windows lies in shared memory, as all
 * warps of a block have the same places; 15, in 2, a block has two halves of 8 warps, each with CHANNELS of its own.
 *
 * In 0 and 1 a thread makes ROWS results, one below the other, of CHANNELS channels; a warp's lie beside each other, so
 * that it reads and writes whole lines. On Vulkan a block takes several turns with its weights. A transposed convolution
 * of stride s is s x s convolutions of stride 1, each of the pixels that lie at the same place of a step, with every s-th
 * tap, the last first. In 2 a warp has a channel of the pixels and CHANNELS of the windows, and all taps of both; a
 * thread goes down ROWS places and keeps what it has read. */
#define BURN_PASS (BURN_VARIANT % 4)
#define TAPS_Y (BURN_VARIANT / 4 % 8)
#define TAPS_X (BURN_VARIANT / 32 % 8)
#define STRIDE (BURN_VARIANT / 256 % 4)
#define CHANNELS (BURN_VARIANT / 1024 % 16)
#define SHARED_GRADIENT (BURN_VARIANT / 16384 % 2)
#define HALVES (BURN_VARIANT / 32768 + 1)
#define ROWS_OF_THREAD (BURN_VARIANT / 16384)
#define MAX_WEIGHTS 400 /* of a result: channels times taps */
typedef Element<IN0>::C C;

struct alignas(16) Four { C at[4]; };

#if BURN_PASS < 2
#define ROWS ROWS_OF_THREAD
#if BURN_PASS == 0
#define STEP STRIDE /* from a result to the next, in what is read */
#define PHASES 1
#define USED_Y TAPS_Y
#define USED_X TAPS_X
#else
#define STEP 1
#define PHASES STRIDE
#define USED_Y ((TAPS_Y + STRIDE - 1) / STRIDE) /* taps of a phase; where there is none, its weight is 0 */
#define USED_X ((TAPS_X + STRIDE - 1) / STRIDE)
#endif
#define USED (USED_Y * USED_X)
#define LINES ((ROWS - 1) * STEP + USED_Y)
/* The bias and then the taps row by row are ndarray's order: for few channels its kernels give these bits. Several turns of a
 * block cost NVRTC registers, and 10 % more time. */
#if defined(BURN_SPIRV)
#define HAS_TURNS 1
#else
#define HAS_TURNS 0
#endif
#define IS_INSIDE(y, x) ((uint32_t)(top + (y)) < (uint32_t)height && (uint32_t)(left + (x)) < (uint32_t)width)

/* The weight of tap (y, x) of a phase between two channels of a group. */
static __device__ inline C burn_weight(const GpuConv &p, int32_t group, int32_t from, int32_t to, int32_t y, int32_t x,
                                       int32_t phase_y, int32_t phase_x) {
  const int32_t in_group = (int32_t)(p.in_channels / p.groups), out_group = (int32_t)(p.out_channels / p.groups);
  const IN0 *weight = (const IN0 *)p.weight;
#if BURN_PASS == 0
  if (to >= out_group) return (C)0;
  return burn_get(weight[(((group * out_group + to) * in_group + from) * TAPS_Y + y) * TAPS_X + x]);
#else
  const int32_t ky = phase_y + STRIDE * (USED_Y - 1 - y), kx = phase_x + STRIDE * (USED_X - 1 - x);
  if (to >= in_group || ky >= TAPS_Y || kx >= TAPS_X) return (C)0;
  return burn_get(weight[(((group * out_group + from) * in_group + to) * TAPS_Y + ky) * TAPS_X + kx]);
#endif
}

extern "C" __global__ void __launch_bounds__(128) kernel(const GpuConv p) {
  __shared__ Four weights[MAX_WEIGHTS][CHANNELS / 4];
  __shared__ C biases[CHANNELS];
  const int32_t in_group = (int32_t)(p.in_channels / p.groups), out_group = (int32_t)(p.out_channels / p.groups);
#if BURN_PASS == 0
  const int32_t from_group = in_group, to_group = out_group;
  const int32_t height = (int32_t)p.in[0], width = (int32_t)p.in[1];
  const int32_t rows = (int32_t)p.windows[0], columns = (int32_t)p.windows[1];
#else
  const int32_t from_group = out_group, to_group = in_group;
  const int32_t height = (int32_t)p.windows[0], width = (int32_t)p.windows[1];
  const int32_t rows = (int32_t)p.in[0], columns = (int32_t)p.in[1];
#endif
  const int32_t groups = (int32_t)p.groups, sets = (to_group + CHANNELS - 1) / CHANNELS;
  const int32_t block = (int32_t)blockIdx.x, set = block % sets, group = block / sets % groups;
  const int32_t phase = block / sets / groups % (PHASES * PHASES), phase_y = phase / PHASES, phase_x = phase % PHASES;
  const int32_t first = set * CHANNELS;
  for (int32_t t = (int32_t)threadIdx.x; t < from_group * USED; t += 128) {
#pragma unroll
    for (int k = 0; k < CHANNELS; k++)
      weights[t][k / 4].at[k % 4] =
          burn_weight(p, group, t / USED, first + k, t % USED / USED_X, t % USED_X, phase_y, phase_x);
  }
  const int32_t own = first + (int32_t)threadIdx.x; /* a channel of the group */
  const bool has_bias = p.bias != 0u && own < to_group;
  if (threadIdx.x < CHANNELS)
    biases[threadIdx.x] = has_bias ? burn_get(((const IN0 *)p.bias)[group * to_group + own]) : (C)0;
  __syncthreads();

  /* Places of a phase; the results of a place lie STRIDE apart. */
  const int32_t down = ((rows + PHASES - 1) / PHASES + ROWS - 1) / ROWS, across = (columns + PHASES - 1) / PHASES;
  const int32_t all = (int32_t)p.batch * down * across, step = (int32_t)p.parts * 128;
#pragma unroll 1
  for (int32_t i = block / sets / groups / (PHASES * PHASES) * 128 + (int32_t)threadIdx.x; i < all;
       i = HAS_TURNS ? i + step : all) {
    const int32_t px = i % across, py = i / across % down * ROWS, n = i / across / down;
#if BURN_PASS == 0
    const int32_t top = py * STRIDE - (int32_t)p.padding[0], left = px * STRIDE - (int32_t)p.padding[1];
    const int32_t to_y = py, to_x = px;
#else
    const int32_t first_y = (phase_y + STRIDE - (int32_t)p.padding[0] % STRIDE) % STRIDE;
    const int32_t first_x = (phase_x + STRIDE - (int32_t)p.padding[1] % STRIDE) % STRIDE;
    const int32_t top = py + (first_y + (int32_t)p.padding[0] - phase_y) / STRIDE - (USED_Y - 1);
    const int32_t left = px + (first_x + (int32_t)p.padding[1] - phase_x) / STRIDE - (USED_X - 1);
    const int32_t to_y = py * STRIDE + first_y, to_x = px * STRIDE + first_x;
#endif
    const IN0 *corner = (const IN0 *)p.x + (int64_t)(n * groups + group) * from_group * height * width;
    corner += (int64_t)top * width + left;
    const int64_t plane = (int64_t)height * width;
    C sum[ROWS][CHANNELS];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
      for (int k = 0; k < CHANNELS; k++) sum[j][k] = biases[k];
    for (int32_t c = 0; c < from_group; c++, corner += plane) {
      const IN0 *lines[LINES];
#pragma unroll
      for (int y = 0; y < LINES; y++) lines[y] = y == 0 ? corner : lines[y > 0 ? y - 1 : 0] + width;
      C pixels[LINES][USED_X];
#pragma unroll
      for (int y = 0; y < LINES; y++)
#pragma unroll
        for (int x = 0; x < USED_X; x++) pixels[y][x] = IS_INSIDE(y, x) ? burn_get(lines[y][x]) : (C)0;
#pragma unroll
      for (int t = 0; t < USED; t++) {
#pragma unroll
        for (int k = 0; k < CHANNELS; k++) {
          const C weight = weights[c * USED + t][k / 4].at[k % 4];
#pragma unroll
          for (int j = 0; j < ROWS; j++)
            sum[j][k] = burn_fused(pixels[j * STEP + t / USED_X][t % USED_X], weight, sum[j][k]);
        }
      }
    }
    const int32_t size = rows * columns, there = to_group - first;
    OUT *to = (OUT *)p.out + ((int64_t)n * groups * to_group + group * to_group + first) * size + to_y * columns + to_x;
    if (to_x >= columns) continue;
#pragma unroll
    for (int j = 0; j < ROWS; j++, to += PHASES * columns) {
      if (to_y + j * PHASES >= rows) break;
#pragma unroll
      for (int k = 0; k < CHANNELS; k++)
        if (k < there) burn_put((to + (int64_t)(k * size))[0], sum[j][k]);
    }
  }
}

#elif BURN_PASS == 2
#define ROWS 8
#define WARPS 8
#define TAPS (TAPS_Y * TAPS_X)
#define SUMS (CHANNELS * TAPS)
#define NEW_LINES (STRIDE < TAPS_Y ? STRIDE : TAPS_Y) /* of pixels, from a row of places to the next */
#if defined(BURN_SPIRV)
#define AHEAD 1 /* what the next row and the next places need is under way while these are multiplied */
#else
#define AHEAD 0 /* NVRTC would leave a unit registers for one block in the place of two */
#endif
#define HELD (ROWS * CHANNELS / WARPS)                 /* numbers of the shared gradient that a thread brings */

/* A place of windows: the first of ROWS, one below the other. */
struct Place { int32_t x, y, n; };
static __device__ inline Place burn_place_of(int32_t i, int32_t columns, int32_t down) {
  const Place place = {i % columns, i / columns % down * ROWS, i / columns / down};
  return place;
}

/* Pixels of a line, whether it lies inside or not; 0 outside. */
static __device__ inline void burn_pixels(C *to, const IN0 *line, bool is_inside, const bool *is_column) {
#pragma unroll
  for (int x = 0; x < TAPS_X; x++) to[x] = is_inside && is_column[x] ? burn_get(line[x]) : (C)0;
}

/* The lines that a row of places has and the one before it has not, from `line` on, which is number `from`; `line` goes on. */
static __device__ inline void burn_new_lines(C to[NEW_LINES][TAPS_X], const IN0 *&line, int32_t from, int32_t height,
                                             int32_t width, const bool *is_column) {
#pragma unroll
  for (int y = 0; y < NEW_LINES; y++, line += width)
    burn_pixels(to[y], line, (uint32_t)(from + y) < (uint32_t)height, is_column);
  if (STRIDE > TAPS_Y) line += (STRIDE - TAPS_Y) * width;
}

/* The gradient of one row of places. */
static __device__ inline void burn_gradients(C *to, const IN0 *from, int32_t places, int32_t there) {
#pragma unroll
  for (int k = 0; k < CHANNELS; k++, from += places) to[k] = k < there ? burn_get(from[0]) : (C)0;
}

#if SHARED_GRADIENT
/* A thread's numbers of the gradient of a place, for all warps. */
static __device__ inline void burn_hold(C *to, const IN0 *grads, const Place &place, bool is_place, int32_t places,
                                        int32_t columns, int32_t rows, int32_t all_out, int32_t there) {
  const IN0 *grad = grads + (int64_t)place.n * all_out * places + place.y * columns + place.x;
#pragma unroll
  for (int q = 0; q < HELD; q += 4) {
    const int32_t number = q / 4 * WARPS + (int32_t)threadIdx.x / 32 % WARPS, j = number / (CHANNELS / 4);
    const int32_t channel = number % (CHANNELS / 4) * 4;
    const IN0 *from = grad + (int64_t)channel * places + j * columns;
#pragma unroll
    for (int k = 0; k < 4; k++, from += places)
      to[q + k] = is_place && place.y + j < rows && channel + k < there ? burn_get(from[0]) : (C)0;
  }
}
#endif

/* One step of summing COUNT numbers over the threads of a warp: a thread hands half of them to another and adds what it
 * gets to the other half. After all steps it has some of the sums, those that burn_place tells. */
template <int COUNT> static __device__ inline void burn_join(C *sum, int32_t lane, int32_t step) {
  const int half = (COUNT + 1) / 2;
  const bool is_upper = (lane & step) != 0;
#pragma unroll
  for (int k = 0; k < half; k++) {
    const C low = sum[k], high = k + half < COUNT ? sum[k + half] : (C)0;
    sum[k] = (is_upper ? high : low) + __shfl_xor_sync(0xffffffffu, is_upper ? low : high, step);
  }
}
#define HALF_1 ((SUMS + 1) / 2)
#define HALF_2 ((HALF_1 + 1) / 2)
#define HALF_3 ((HALF_2 + 1) / 2)
#define HALF_4 ((HALF_3 + 1) / 2)
#define HALF_5 ((HALF_4 + 1) / 2)

/* Of the number k that a thread has left, its place among all; -1: it is none. */
static __device__ inline int32_t burn_place(int32_t k, int32_t lane) {
  if ((lane & 1) != 0) k += HALF_5;
  if (k >= HALF_4) return -1;
  if ((lane & 2) != 0) k += HALF_4;
  if (k >= HALF_3) return -1;
  if ((lane & 4) != 0) k += HALF_3;
  if (k >= HALF_2) return -1;
  if ((lane & 8) != 0) k += HALF_2;
  if (k >= HALF_1) return -1;
  if ((lane & 16) != 0) k += HALF_1;
  return k < SUMS ? k : -1;
}

extern "C" __global__ void __launch_bounds__(256 * HALVES) kernel(const GpuConv p) {
  __shared__ C shared[HALVES * WARPS][SUMS];
#if SHARED_GRADIENT
  __shared__ Four gradient[HALVES][ROWS][CHANNELS / 4][32];
#endif
  const int32_t in_group = (int32_t)(p.in_channels / p.groups), out_group = (int32_t)(p.out_channels / p.groups);
  const int32_t height = (int32_t)p.in[0], width = (int32_t)p.in[1];
  const int32_t rows = (int32_t)p.windows[0], columns = (int32_t)p.windows[1], places = rows * columns;
  const int32_t sets = (out_group + HALVES * CHANNELS - 1) / (HALVES * CHANNELS), in_sets = (in_group + WARPS - 1) / WARPS;
  const int32_t of_set = (in_group + in_sets - 1) / in_sets, slices = WARPS / of_set; /* warps that share a channel */
  const int32_t groups = (int32_t)p.groups, block = (int32_t)blockIdx.x, half = (int32_t)threadIdx.x / 256;
  const int32_t first = (block % sets * HALVES + half) * CHANNELS;
  const int32_t first_in = block / sets % in_sets * of_set, group = block / sets / in_sets % groups;
  const int32_t part = block / sets / in_sets / groups;
  const int32_t warp = (int32_t)threadIdx.x / 32 % WARPS, lane = (int32_t)threadIdx.x % 32;
  const int32_t slice = warp / of_set, c = first_in + warp % of_set;
  const int32_t down = (rows + ROWS - 1) / ROWS, all = (int32_t)p.batch * down * columns, size = (int32_t)p.part_size;
  const int32_t end = (part + 1) * size < all ? (part + 1) * size : all;
  C sum[SUMS];
#pragma unroll
  for (int k = 0; k < SUMS; k++) sum[k] = (C)0;
  const int32_t there = out_group - first, all_out = (int32_t)p.out_channels;
  const bool works = slice < slices && c < in_group && there > 0;
  const IN0 *grads = (const IN0 *)p.weight + (int64_t)(group * out_group + first) * places;
#if SHARED_GRADIENT
  Place next_place = burn_place_of(part * size + lane, columns, down);
  C held[HELD];
  if (AHEAD) burn_hold(held, grads, next_place, part * size + lane < end, places, columns, rows, all_out, there);
  for (int32_t at = part * size; at < end; at += 32) {
    const int32_t i = at + lane;
    const Place place = AHEAD ? next_place : burn_place_of(i, columns, down);
    if (!AHEAD) burn_hold(held, grads, place, i < end, places, columns, rows, all_out, there);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < HELD; q += 4) {
      const Four numbers = {{held[q], held[q + 1], held[q + 2], held[q + 3]}};
      gradient[half][(q / 4 * WARPS + warp) / (CHANNELS / 4)][(q / 4 * WARPS + warp) % (CHANNELS / 4)][lane] = numbers;
    }
    __syncthreads();
    if (AHEAD) next_place = burn_place_of(i + 32, columns, down);
    if (AHEAD) burn_hold(held, grads, next_place, i + 32 < end, places, columns, rows, all_out, there);
    if (!works || i >= end) continue;
#else
  for (int32_t i = part * size + slice * 32 + lane; works && i < end; i += slices * 32) {
    const Place place = burn_place_of(i, columns, down);
    const IN0 *from = grads + (int64_t)place.n * all_out * places + place.y * columns + place.x;
    C values[CHANNELS], coming[CHANNELS];
    if (AHEAD) burn_gradients(coming, from, places, there);
#endif
    const int32_t top = place.y * STRIDE - (int32_t)p.padding[0], left = place.x * STRIDE - (int32_t)p.padding[1];
    const IN0 *line = (const IN0 *)p.x + ((int64_t)place.n * p.in_channels + group * in_group + c) * height * width;
    line += (int64_t)top * width + left;
    C pixels[TAPS_Y][TAPS_X], next[NEW_LINES][TAPS_X];
    bool is_column[TAPS_X];
#pragma unroll
    for (int x = 0; x < TAPS_X; x++) is_column[x] = (uint32_t)(left + x) < (uint32_t)width;
#pragma unroll
    for (int y = STRIDE; y < TAPS_Y; y++, line += width)
      burn_pixels(pixels[y], line, (uint32_t)(top + y - STRIDE) < (uint32_t)height, is_column);
    if (AHEAD) burn_new_lines(next, line, top + TAPS_Y - NEW_LINES, height, width, is_column);
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      if (place.y + j >= rows) break;
#pragma unroll
      for (int y = 0; y < TAPS_Y - STRIDE; y++)
#pragma unroll
        for (int x = 0; x < TAPS_X; x++) pixels[y][x] = pixels[y + STRIDE][x];
      const int32_t new_line = top + j * STRIDE + TAPS_Y - NEW_LINES;
      if (!AHEAD) burn_new_lines(next, line, new_line, height, width, is_column);
#pragma unroll
      for (int y = 0; y < NEW_LINES; y++)
#pragma unroll
        for (int x = 0; x < TAPS_X; x++) pixels[TAPS_Y - NEW_LINES + y][x] = next[y][x];
      if (AHEAD && j + 1 < ROWS) burn_new_lines(next, line, new_line + STRIDE, height, width, is_column);
#if !SHARED_GRADIENT
      if (!AHEAD) burn_gradients(coming, from + j * columns, places, there);
#pragma unroll
      for (int k = 0; k < CHANNELS; k++) values[k] = coming[k];
      if (AHEAD && place.y + j + 1 < rows && j + 1 < ROWS)
        burn_gradients(coming, from + (j + 1) * columns, places, there);
#endif
#pragma unroll
      for (int k = 0; k < CHANNELS; k++) {
#if SHARED_GRADIENT
        const C value = gradient[half][j][k / 4][lane].at[k % 4];
#else
        const C value = values[k];
#endif
#pragma unroll
        for (int t = 0; t < TAPS; t++)
          sum[k * TAPS + t] = burn_fused(pixels[t / TAPS_X][t % TAPS_X], value, sum[k * TAPS + t]);
      }
    }
  }
  burn_join<SUMS>(sum, lane, 16);
  burn_join<HALF_1>(sum, lane, 8);
  burn_join<HALF_2>(sum, lane, 4);
  burn_join<HALF_3>(sum, lane, 2);
  burn_join<HALF_4>(sum, lane, 1);
#pragma unroll
  for (int k = 0; k < HALF_5; k++) {
    const int32_t place = burn_place(k, lane);
    if (place >= 0) shared[half * WARPS + warp][place] = sum[k];
  }
  __syncthreads();
  const int64_t weights = p.out_channels * in_group * TAPS;
  for (int32_t k = (int32_t)threadIdx.x % 256; k < of_set * SUMS; k += 256) {
    const int32_t of = k / SUMS, place = k % SUMS, channel = first + place / TAPS, in_channel = first_in + of;
    if (channel >= out_group || in_channel >= in_group) continue;
    C total = shared[half * WARPS + of][place];
    for (int32_t s = 1; s < slices; s++) total += shared[half * WARPS + s * of_set + of][place];
    const int64_t at = ((int64_t)(group * out_group + channel) * in_group + in_channel) * TAPS + place % TAPS;
    if (p.parts == 1) {
      burn_put(((OUT *)p.out)[at], total);
    } else {
      ((C *)p.bias)[part * weights + at] = total;
    }
  }
}

#else

/* A block has 32 weights; each warp has every 8th part of them. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuConv p) {
  __shared__ C shared[8][32];
  const int64_t weights = p.out_channels * (p.in_channels / p.groups) * p.kernel[0] * p.kernel[1];
  const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
  const int64_t at = (int64_t)blockIdx.x * 32 + lane;
  C sum = (C)0;
  for (int64_t part = warp; part < p.parts && at < weights; part += 8) sum += ((const C *)p.bias)[part * weights + at];
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || at >= weights) return;
  for (int k = 1; k < 8; k++) sum += shared[k][lane];
  burn_put(((OUT *)p.out)[at], sum);
}
#endif
