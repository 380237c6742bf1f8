/* implicit_conv.cu - convolutions as products whose right operand is gathered from an image while it is read (implicit GEMM), instead of
 * from columns in memory; sums.cu and tiles.cu come before. Names are those of the conv2d that it is, or is the gradient of.
 *
 * BURN_VARIANT % 4, 0: conv2d: weight [channels, taps] times windows [taps, places]; 1: conv_transpose2d: weight [channels, taps] of
 * the other side times gradients [taps, pixels]; 2: the gradient of the weight: gradients [channels, places] times windows [places,
 * taps]. Places and pixels are those of all examples. + 4 * the tile; + 16: the left operand is read by fours.
 *
 * A column of the right operand, and a step of k, each have an offset into the image and a place along both axes: an element lies
 * at the sum of both, and is 0 where that is outside. Steps are found by some threads for all, and lie in shared memory.
 *
 * A transposed convolution of strides (a, b) is a x b convolutions of stride 1, its phases: of the pixels whose windows meet them with
 * the same taps. A result adds along k by FMA, from 0, in the order of channels and taps (2: of examples and places), which is that of
 * products of columns; where k is in parts, the shape alone decides them. */
#define PASS (BURN_VARIANT % 4)
#define BY_FOURS (BURN_VARIANT / 16)
#if BURN_VARIANT / 4 % 4 == 0
#define TILE_ROWS 64
#define TILE_COLUMNS 64
#define MY_ROWS 8
#define MY_COLUMNS 4
#define BURN_BLOCKS 3 /* that a unit has registers for */
#else
#define TILE_ROWS 32
#define TILE_COLUMNS 128
#define MY_ROWS 4
#define MY_COLUMNS 8
#define BURN_BLOCKS 3
#endif
#define DEPTH GPU_CONV_DEPTH
#define ROW_SIDE (TILE_ROWS / MY_ROWS) /* threads along a side of the tile */
#define COLUMN_SIDE (TILE_COLUMNS / MY_COLUMNS)
#define THREADS (ROW_SIDE * COLUMN_SIDE)
#define LEFT_PITCH TILE_PITCH(TILE_ROWS)
#define RIGHT_PITCH TILE_PITCH(TILE_COLUMNS)
#define LEFT_READS (TILE_ROWS * DEPTH / THREADS)
#define RIGHT_READS (TILE_COLUMNS * DEPTH / THREADS)
#define LEFT_STEP (BY_FOURS ? THREADS / (DEPTH / 4) : THREADS / DEPTH) /* rows from one read to the next */
#define RIGHT_STEP (THREADS / TILE_COLUMNS)                                      /* steps of k, likewise */
#define UNROLLED 2

/* What meets in an element of the image. `left` of a step: where it is in a row of the left operand, -1 beyond the last. */
struct alignas(16) Place { int32_t offset, y, x, left; };
#define NO_COLUMN (-0x40000000)
#define NO_STEP 0x20000000

/* What a block has. Taps, first taps, counts and first windows: of pass 1, the taps of its phase, the first of them, the pixels of its
 * phase and the windows that the first tap of the first of these meets. */
struct Sizes {
  int32_t group, in_group, out_group;                          /* channels */
  int32_t height, width, rows, columns;                        /* of pixels, of windows */
  int32_t taps_y, taps_x, first_tap_y, first_tap_x;
  int32_t count_y, count_x, first_y, first_x;
  int32_t lines, results, steps; /* m, n and k */
};

/* The results of a phase among `size` pixels, and the first one's window. */
static __device__ inline int32_t burn_first_of(int32_t phase, int32_t stride, int32_t padding) {
  return padding > phase ? (padding - phase + stride - 1) / stride : 0;
}
static __device__ inline int32_t burn_count_of(int32_t phase, int32_t stride, int32_t padding, int32_t size) {
  const int32_t from = burn_first_of(phase, stride, padding) * stride + phase - padding;
  return from < size ? (size - from + stride - 1) / stride : 0;
}

static __device__ inline Sizes burn_sizes(const GpuConv &p, int32_t phase, int32_t group) {
  Sizes s;
  s.group = group;
  s.in_group = (int32_t)(p.in_channels / p.groups), s.out_group = (int32_t)(p.out_channels / p.groups);
  s.height = (int32_t)p.in[0], s.width = (int32_t)p.in[1];
  s.rows = (int32_t)p.windows[0], s.columns = (int32_t)p.windows[1];
  s.taps_y = (int32_t)p.kernel[0], s.taps_x = (int32_t)p.kernel[1];
  s.first_tap_y = 0, s.first_tap_x = 0, s.count_y = 0, s.count_x = 0, s.first_y = 0, s.first_x = 0;
#if PASS == 0
  s.lines = s.out_group;
  s.results = (int32_t)p.batch * s.rows * s.columns;
  s.steps = s.in_group * s.taps_y * s.taps_x;
#elif PASS == 1
  const int32_t stride_y = (int32_t)p.stride[0], stride_x = (int32_t)p.stride[1];
  const int32_t padding_y = (int32_t)p.padding[0], padding_x = (int32_t)p.padding[1];
  s.first_tap_y = phase / stride_x, s.first_tap_x = phase % stride_x;
  s.count_y = burn_count_of(s.first_tap_y, stride_y, padding_y, s.height);
  s.count_x = burn_count_of(s.first_tap_x, stride_x, padding_x, s.width);
  s.first_y = burn_first_of(s.first_tap_y, stride_y, padding_y);
  s.first_x = burn_first_of(s.first_tap_x, stride_x, padding_x);
  s.taps_y = s.taps_y > s.first_tap_y ? (s.taps_y - s.first_tap_y + stride_y - 1) / stride_y : 0;
  s.taps_x = s.taps_x > s.first_tap_x ? (s.taps_x - s.first_tap_x + stride_x - 1) / stride_x : 0;
  s.lines = s.in_group;
  s.results = (int32_t)p.batch * s.count_y * s.count_x;
  s.steps = s.out_group * s.taps_y * s.taps_x;
#else
  s.lines = s.out_group;
  s.results = s.in_group * s.taps_y * s.taps_x;
  s.steps = (int32_t)p.batch * s.rows * s.columns;
#endif
  return s;
}

/* -- where elements lie ----------------------------------------------------------------------- */

/* The corner of window k of all examples. */
static __device__ inline Place burn_window(const GpuConv &p, const Sizes &s, int32_t k) {
  const int32_t plane = s.rows * s.columns, n = k / plane, rest = k % plane;
  Place place;
  place.y = rest / s.columns * (int32_t)p.stride[0] - (int32_t)p.padding[0];
  place.x = rest % s.columns * (int32_t)p.stride[1] - (int32_t)p.padding[1];
  place.offset = n * (int32_t)p.in_channels * s.height * s.width + place.y * s.width + place.x;
  place.left = n * (int32_t)p.out_channels * plane + rest;
  return place;
}

/* Tap k of all channels of a group, from its corner on. */
static __device__ inline Place burn_tap(const GpuConv &p, const Sizes &s, int32_t k) {
  const int32_t taps = s.taps_y * s.taps_x, c = k / taps, rest = k % taps;
  Place place;
  place.y = rest / s.taps_x * (int32_t)p.dilation[0];
  place.x = rest % s.taps_x * (int32_t)p.dilation[1];
  place.offset = (c * s.height + place.y) * s.width + place.x;
  place.left = k;
  return place;
}

/* Window that the first tap of pixel k of a phase meets. */
static __device__ inline Place burn_pixel(const GpuConv &p, const Sizes &s, int32_t k) {
  const int32_t plane = s.count_y * s.count_x, n = k / plane, rest = k % plane;
  Place place;
  place.y = s.first_y + rest / s.count_x;
  place.x = s.first_x + rest % s.count_x;
  place.offset = (n * (int32_t)p.out_channels * s.rows + place.y) * s.columns + place.x;
  place.left = 0;
  return place;
}

/* Tap k of a phase, of all channels of a group. With a stride of more than 1 there is no dilation. */
static __device__ inline Place burn_tap_back(const GpuConv &p, const Sizes &s, int32_t k) {
  const int32_t taps = s.taps_y * s.taps_x, c = k / taps, rest = k % taps, y = rest / s.taps_x, x = rest % s.taps_x;
  const int32_t ky = s.first_tap_y + y * (int32_t)p.stride[0], kx = s.first_tap_x + x * (int32_t)p.stride[1];
  Place place;
  place.y = -y * (int32_t)p.dilation[0];
  place.x = -x * (int32_t)p.dilation[1];
  place.offset = (c * s.rows + place.y) * s.columns + place.x;
  place.left = ((c * s.in_group) * (int32_t)p.kernel[0] + ky) * (int32_t)p.kernel[1] + kx;
  return place;
}

static __device__ inline Place burn_column(const GpuConv &p, const Sizes &s, int32_t k) {
  Place place = {0, NO_COLUMN, 0, 0};
  if (k < s.results) {
#if PASS == 0
    place = burn_window(p, s, k);
    place.offset += s.group * s.in_group * s.height * s.width;
#elif PASS == 1
    place = burn_pixel(p, s, k);
    place.offset += s.group * s.out_group * s.rows * s.columns;
#else
    place = burn_tap(p, s, k);
    place.offset += s.group * s.in_group * s.height * s.width;
#endif
  }
  return place;
}

static __device__ inline Place burn_step(const GpuConv &p, const Sizes &s, int32_t k, int32_t end) {
  Place place = {0, NO_STEP, 0, -1};
  if (k < end) {
#if PASS == 0
    place = burn_tap(p, s, k);
#elif PASS == 1
    place = burn_tap_back(p, s, k);
#else
    place = burn_window(p, s, k);
#endif
  }
  return place;
}

/* Elements from one row of the left operand to the next, and where the rows of the group begin. */
static __device__ inline int32_t burn_left_line(const GpuConv &p, const Sizes &s) {
#if PASS == 0
  return s.steps;
#elif PASS == 1
  return (int32_t)(p.kernel[0] * p.kernel[1]);
#else
  return s.rows * s.columns;
#endif
}
static __device__ inline int64_t burn_left_group(const GpuConv &p, const Sizes &s) {
#if PASS == 1
  return (int64_t)s.group * s.out_group * s.in_group * burn_left_line(p, s);
#else
  return (int64_t)s.group * s.lines * burn_left_line(p, s);
#endif
}

/* Where column k of the results lies in row 0 of the group, and elements from one row to the next. */
static __device__ inline int32_t burn_result(const GpuConv &p, const Sizes &s, int32_t k) {
#if PASS == 0
  const int32_t plane = s.rows * s.columns;
  return (k / plane * (int32_t)p.out_channels + s.group * s.lines) * plane + k % plane;
#elif PASS == 1
  const int32_t plane = s.count_y * s.count_x, rest = k % plane;
  const int32_t y = (s.first_y + rest / s.count_x) * (int32_t)p.stride[0] + s.first_tap_y - (int32_t)p.padding[0];
  const int32_t x = (s.first_x + rest % s.count_x) * (int32_t)p.stride[1] + s.first_tap_x - (int32_t)p.padding[1];
  return ((k / plane * (int32_t)p.in_channels + s.group * s.lines) * s.height + y) * s.width + x;
#else
  return s.group * s.lines * s.results + k;
#endif
}
static __device__ inline int32_t burn_result_line(const Sizes &s) {
#if PASS == 0
  return s.rows * s.columns;
#elif PASS == 1
  return s.height * s.width;
#else
  return s.results;
#endif
}

/* -- reading ---------------------------------------------------------------------------------- */

/* The rows of the left operand from `row` on; those beyond the last read that, for results that nobody writes. What is not
 * there is read at 0, so that no read waits for a branch, and is 0. */
static __device__ inline void burn_read_left(A *to, const IN0 *left, int32_t row, int32_t last, int32_t line,
                                             const Place *steps) {
  const int32_t at = steps[BY_FOURS ? threadIdx.x % (DEPTH / 4) * 4 : threadIdx.x % DEPTH].left, there = at < 0 ? 0 : at;
#pragma unroll
  for (int i = 0; i < (BY_FOURS ? LEFT_READS / 4 : LEFT_READS); i++) {
    const int32_t here = row + i * LEFT_STEP < last ? row + i * LEFT_STEP : last;
#if BY_FOURS
    burn_read_four(to + i * 4, left + (here * line + there));
#pragma unroll
    for (int e = 0; e < 4; e++) to[i * 4 + e] = at < 0 ? (A)0 : to[i * 4 + e];
#else
    const A value = (A)burn_get(left[here * line + there]);
    to[i] = at < 0 ? (A)0 : value;
#endif
  }
}

static __device__ inline void burn_gather(A *to, const IN0 *image, const Place &column, int32_t height, int32_t width,
                                          const Place *steps) {
#pragma unroll
  for (int i = 0; i < RIGHT_READS; i++) {
    const Place step = steps[threadIdx.x / TILE_COLUMNS + i * RIGHT_STEP];
    const bool is_inside = (uint32_t)(column.y + step.y) < (uint32_t)height && (uint32_t)(column.x + step.x) < (uint32_t)width;
    const int32_t at = is_inside ? column.offset + step.offset : 0;
    const A value = (A)burn_get(image[at]);
    to[i] = is_inside ? value : (A)0;
  }
}

static __device__ inline void burn_share(Four *left, Four *right, const A *held_left, const A *held_right) {
  const int row = BY_FOURS ? threadIdx.x / (DEPTH / 4) : threadIdx.x / DEPTH;
  const int first = BY_FOURS ? threadIdx.x % (DEPTH / 4) * 4 : threadIdx.x % DEPTH;
#pragma unroll
  for (int i = 0; i < LEFT_READS; i++) {
    const int line = row + (BY_FOURS ? i / 4 : i) * LEFT_STEP, at = (first + (BY_FOURS ? i % 4 : 0)) * LEFT_PITCH + line;
    left[at / 4].at[at % 4] = held_left[i];
  }
#pragma unroll
  for (int i = 0; i < RIGHT_READS; i++) {
    const int at = (threadIdx.x / TILE_COLUMNS + i * RIGHT_STEP) * RIGHT_PITCH + threadIdx.x % TILE_COLUMNS;
    right[at / 4].at[at % 4] = held_right[i];
  }
}

/* -- writing ---------------------------------------------------------------------------------- */

/* Four columns of the results of a thread, from k on; `whole`: they lie beside each other. */
static __device__ inline void burn_write_columns(const GpuConv &p, const Sizes &s, A sum[MY_ROWS][MY_COLUMNS], int from,
                                                 int32_t row, int32_t k, bool whole, int32_t part) {
  const int32_t line = burn_result_line(s);
  const int64_t rows = PASS == 1 ? p.in_channels : p.out_channels, planes = PASS == 2 ? 1 : p.batch;
  OUT *out = (OUT *)p.out + (int64_t)part * rows * planes * line;
  int32_t at[4];
#pragma unroll
  for (int e = 0; e < 4; e++) at[e] = k + e < s.results && (e == 0 || !whole) ? burn_result(p, s, k + e) : 0;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int32_t y = row + i / 4 * (ROW_SIDE * 4) + i % 4;
    if (y >= s.lines) continue;
    const A bias = p.bias != 0u && part == 0 ? (A)burn_get(((const IN0 *)p.bias)[s.group * s.lines + y]) : (A)0;
    Results results;
#pragma unroll
    for (int e = 0; e < 4; e++) burn_put(results.at[e], p.bias != 0u ? sum[i][from + e] + bias : sum[i][from + e]);
    if (whole && k < s.results) {
      *(Results *)(out + (at[0] + y * line)) = results;
      continue;
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (k + e < s.results) out[at[e] + y * line] = results.at[e];
  }
}

/* Do fours of columns lie beside each other? */
static __device__ inline bool burn_has_fours(const GpuConv &p, const Sizes &s) {
  const bool dense = PASS != 1 || (p.stride[0] == 1 && p.stride[1] == 1);
  return dense && burn_result_line(s) % 4 == 0 && p.out % (4 * sizeof(OUT)) == 0u;
}

/* -- the kernel ------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuConv p) {
  __shared__ Four left[DEPTH * LEFT_PITCH / 4], right[DEPTH * RIGHT_PITCH / 4];
  __shared__ Place steps[2][DEPTH];
  const int32_t phases = PASS == 1 ? (int32_t)(p.stride[0] * p.stride[1]) : 1, groups = (int32_t)p.groups;
  const Sizes largest = burn_sizes(p, 0, 0);
  const int32_t tiles = (largest.lines + TILE_ROWS - 1) / TILE_ROWS;
  int32_t rest = (int32_t)blockIdx.x;
  const int32_t row = rest % tiles * TILE_ROWS;
  rest /= tiles;
  const int32_t group = rest % groups;
  rest /= groups;
  const int32_t phase = rest % phases;
  rest /= phases;
  const int32_t part = rest % (int32_t)p.parts, column = rest / (int32_t)p.parts * TILE_COLUMNS;
  const Sizes s = burn_sizes(p, phase, group);
  const int32_t first = part * (int32_t)p.part_size, last = first + (int32_t)p.part_size;
  const int32_t end = column >= s.results ? first : last < s.steps ? last : s.steps; /* phases differ in their results */
  const IN0 *operand = (const IN0 *)p.weight + burn_left_group(p, s), *image = (const IN0 *)p.x;
  const int32_t my_row = row + (BY_FOURS ? threadIdx.x / (DEPTH / 4) : threadIdx.x / DEPTH), left_line = burn_left_line(p, s);
  const Place mine = burn_column(p, s, column + (int32_t)(threadIdx.x % TILE_COLUMNS));
  const int32_t height = PASS == 1 ? s.rows : s.height, width = PASS == 1 ? s.columns : s.width;
  const int tx = threadIdx.x % COLUMN_SIDE, ty = threadIdx.x / COLUMN_SIDE;
  A sum[MY_ROWS][MY_COLUMNS], held_left[LEFT_READS], held_right[RIGHT_READS];
  burn_clear<MY_ROWS, MY_COLUMNS>(sum);
  if (threadIdx.x < 2 * DEPTH && first < end)
    steps[threadIdx.x / DEPTH][threadIdx.x % DEPTH] = burn_step(p, s, first + (int32_t)threadIdx.x, end);
  __syncthreads();
  if (first < end) {
    burn_read_left(held_left, operand, my_row, s.lines - 1, left_line, steps[0]);
    burn_gather(held_right, image, mine, height, width, steps[0]);
  }
  int now = 0;
  for (int32_t k = first; k < end; k += DEPTH) {
    burn_share(left, right, held_left, held_right);
    __syncthreads();
    if (k + DEPTH < end) { /* the next tiles are under way while these are multiplied */
      burn_read_left(held_left, operand, my_row, s.lines - 1, left_line, steps[1 - now]);
      burn_gather(held_right, image, mine, height, width, steps[1 - now]);
      if (threadIdx.x < DEPTH) steps[now][threadIdx.x] = burn_step(p, s, k + 2 * DEPTH + (int32_t)threadIdx.x, end);
    }
    burn_multiply<MY_ROWS, MY_COLUMNS, ROW_SIDE, COLUMN_SIDE, DEPTH, UNROLLED>(sum, left, ty, right, tx);
    __syncthreads();
    now = 1 - now;
  }
  burn_reload_parameters();
  const bool whole = burn_has_fours(p, s);
#pragma unroll
  for (int j = 0; j < MY_COLUMNS; j += 4)
    burn_write_columns(p, s, sum, j, row + ty * 4, column + j * COLUMN_SIDE + tx * 4, whole, part);
}
