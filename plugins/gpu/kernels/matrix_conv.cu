/* matrix_conv.cu - convolutions of stride 1 as products of TF32 on tensor cores, of f32 that may be rounded to it and of
 * halves, which fit into it. Pixels are read row-major, as they lie. Names are those of the conv2d that it is, or is the
 * gradient of.
 *
 * BURN_VARIANT % 4, 0: conv2d; 1: conv_transpose2d; 2: parts of the gradient of the weight (small_conv.cu adds them). Then,
 * by bits: 2 to 4 and 5 to 7, taps along y and x; 8 to 10, RUN; 11 to 13, ROWS; 14, SHARES - 1; 15, ACROSS - 1; 16,
 * IN_SHARES - 1; 17 and 18, the logarithm of IN_ACROSS; 19 and 20, that of AT_ONCE; 21, whether weights are copied by four.
 *
 * A block has a tile of places, at most 8 * RUN wide, and copies lines of pixels into shared memory beside the work. Each of
 * the eight columns of a fragment, or of the eight of its middle axis, has RUN places beside each other: what a thread has
 * read for one tap it has for the next. Distances in shared memory are such that the 32 threads of a warp read from all
 * banks (parameters.h). */
#define BURN_PASS (BURN_VARIANT % 4)
#define TAPS_Y (BURN_VARIANT / 4 % 8)
#define TAPS_X (BURN_VARIANT / 32 % 8)
#define TAPS (TAPS_Y * TAPS_X)
#define RUN (BURN_VARIANT / 256 % 8)
#define ROWS (BURN_VARIANT / 2048 % 8)            /* of results of a warp */
#define SHARES (BURN_VARIANT / 16384 % 2 + 1)     /* 16s of channels of a warp */
#define ACROSS (BURN_VARIANT / 32768 % 2 + 1)     /* warps of a block that have other ones */
#define IN_SHARES (BURN_VARIANT / 65536 % 2 + 1)  /* eights of channels of pixels of a warp */
#define IN_ACROSS (1 << BURN_VARIANT / 131072 % 4) /* warps of a block that have other ones */
#define AT_ONCE (1 << BURN_VARIANT / 524288 % 4) /* numbers of a line that are copied at once, which divide lines of tensors */
#define WEIGHTS_AT_ONCE (BURN_VARIANT / 2097152 ? 4 : 1)
typedef Element<IN0>::C C;
typedef BurnFloats<2> Two;

/* What a block finds out about its tile. */
struct Tile {
  int32_t n, top, left; /* the first place */
};

/* Tile number `i` of all; `down` and `across`: tiles of an example. */
static __device__ inline Tile burn_tile(const GpuConv &p, int32_t i, int32_t down, int32_t across) {
  Tile tile;
  tile.n = i / across / down;
  tile.top = i / across % down * (int32_t)p.tile[0];
  tile.left = i % across * (int32_t)p.tile[1];
  return tile;
}

/* f32 comes beside the work, and is rounded where it is used; halves are TF32 as they are. */
template <int COUNT> static __device__ inline void burn_bring(float *to, const float *from, bool is_there) {
  burn_copy_ahead<COUNT>(to, from, is_there);
}
template <int COUNT, class T> static __device__ inline void burn_bring(float *to, const T *from, bool is_there) {
  *to = is_there ? burn_get(*from) : 0.0f;
}
static __device__ inline float burn_take(float x) { return sizeof(IN0) == sizeof(float) ? burn_tf32(x) : x; }

/* Lines of some planes: the size of these, which lines and columns of them, and how many planes there are. */
struct Lines {
  int32_t height, width, top, left, count, columns, planes;
};

/* How far the first place of a tile lies behind where copies of its line begin. */
static __device__ inline int32_t burn_offset(int32_t before) { return (AT_ONCE - before % AT_ONCE) % AT_ONCE; }

/* Lines of COUNT planes, of LENGTH each, `plane` apart; what lies outside is 0. A thread takes the same numbers of eight
 * planes after each other. */
template <int COUNT, int LENGTH, int THREADS>
static __device__ inline void burn_bring_lines(float *to, int32_t plane, const IN0 *from, const Lines &lines) {
  const int32_t pieces = LENGTH / AT_ONCE, size = lines.height * lines.width;
  for (int32_t unit = (int32_t)threadIdx.x; unit < COUNT / 8 * lines.count * pieces; unit += THREADS) {
    const int32_t row = unit / pieces, column = unit % pieces * AT_ONCE, eight = COUNT == 8 ? 0 : row / lines.count;
    const int32_t line = row - eight * lines.count, y = lines.top + line, x = lines.left + column;
    const bool is_inside = (uint32_t)y < (uint32_t)lines.height && (uint32_t)x < (uint32_t)lines.width && column < lines.columns;
    const int32_t there = is_inside ? lines.planes - 8 * eight : 0, step = is_inside ? size : 0;
    const IN0 *own = from + (there > 0 ? 8 * eight * size + y * lines.width + x : 0);
    float *own_to = to + 8 * eight * plane + line * LENGTH + column;
#pragma unroll
    for (int c = 0; c < 8; c++, own += step) burn_bring<AT_ONCE>(own_to + c * plane, own, c < there);
  }
}

#if BURN_PASS < 2
#define DOWN GPU_MATRIX_DOWN
#define THREADS (32 * DOWN * ACROSS)
#define CHANNELS (16 * SHARES * ACROSS) /* of results of a block */
#define LINES (DOWN * ROWS + TAPS_Y - 1)
#define LENGTH GPU_MATRIX_LINE(RUN, TAPS_X, AT_ONCE)
#define PLANE GPU_MATRIX_PLANE(RUN, ROWS, TAPS_Y, TAPS_X, AT_ONCE)
#define STAGE (8 * PLANE + GPU_MATRIX_WEIGHTS(BURN_PASS, CHANNELS, TAPS))
#define PITCH GPU_MATRIX_PITCH(8 * RUN, RUN) /* of results on their way out */
/* From a channel of results, and from one of pixels, to the next among the weights. */
#define WEIGHT_TO (BURN_PASS == 0 ? GPU_MATRIX_PADDED(8 * TAPS, 12) : TAPS)
#define WEIGHT_FROM (BURN_PASS == 0 ? TAPS : GPU_MATRIX_PADDED(CHANNELS * TAPS, 8))

/* The convolution as it is for a block: channels, pixels, results. */
struct Geometry {
  int32_t from, to, height, width, rows, columns, above, before;
};

static __device__ inline Geometry burn_geometry(const GpuConv &p) {
#if BURN_PASS == 0
  Geometry g = {(int32_t)p.in_channels, (int32_t)p.out_channels, (int32_t)p.in[0],      (int32_t)p.in[1],
                (int32_t)p.windows[0],  (int32_t)p.windows[1],   (int32_t)p.padding[0], (int32_t)p.padding[1]};
#else
  Geometry g = {(int32_t)p.out_channels,
                (int32_t)p.in_channels,
                (int32_t)p.windows[0],
                (int32_t)p.windows[1],
                (int32_t)p.in[0],
                (int32_t)p.in[1],
                TAPS_Y - 1 - (int32_t)p.padding[0],
                TAPS_X - 1 - (int32_t)p.padding[1]};
#endif
  return g;
}

/* The weights between CHANNELS channels of results and eight of pixels, each tap beside the next; 0 for channels that are
 * not there. */
static __device__ inline void burn_bring_weights(float *to, const IN0 *weight, const Geometry &g, int32_t first_to,
                                                 int32_t first_from) {
#if BURN_PASS == 0
  const int32_t pieces = 8 * TAPS / WEIGHTS_AT_ONCE, pitch = WEIGHT_TO; /* of what lies beside each other */
  const int32_t line_step = g.from * TAPS, lines = g.to - first_to, length = (g.from - first_from) * TAPS;
#else
  const int32_t pieces = CHANNELS * TAPS / WEIGHTS_AT_ONCE, pitch = WEIGHT_FROM;
  const int32_t line_step = g.to * TAPS, lines = g.from - first_from, length = (g.to - first_to) * TAPS;
#endif
  const IN0 *first = weight + (BURN_PASS == 0 ? first_to * line_step + first_from * TAPS : first_from * line_step + first_to * TAPS);
#pragma unroll 4
  for (int32_t i = (int32_t)threadIdx.x; i < 8 * CHANNELS * TAPS / WEIGHTS_AT_ONCE; i += THREADS) {
    const int32_t line = i / pieces, at = i % pieces * WEIGHTS_AT_ONCE;
    const bool is_there = line < lines && at < length;
    burn_bring<WEIGHTS_AT_ONCE>(to + line * pitch + at, first + (is_there ? line * line_step + at : 0), is_there);
  }
}

/* Eight channels of pixels times their weights. A line of pixels meets all rows of results that it is in. */
static __device__ inline void burn_add(float (&sum)[ROWS][RUN][SHARES][4], const float *pixels, const float *weights) {
  const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const float *pixel = pixels + t * PLANE + warp % DOWN * ROWS * LENGTH + g * RUN;
  const float *weight = weights + (warp / DOWN * 16 * SHARES + g) * WEIGHT_TO + t * WEIGHT_FROM;
#pragma unroll
  for (int line = 0; line < ROWS + TAPS_Y - 1; line++) {
    float b[2][RUN + TAPS_X - 1];
#pragma unroll
    for (int k = 0; k < 2 * (RUN + TAPS_X - 1); k++)
      b[k % 2][k / 2] = burn_take(pixel[k % 2 * 4 * PLANE + line * LENGTH + k / 2]);
#pragma unroll
    for (int tap = 0; tap < TAPS * SHARES; tap++) {
      const int share = tap % SHARES, y = tap / SHARES / TAPS_X, x = tap / SHARES % TAPS_X, row = line - y;
      if (row < 0 || row >= ROWS) continue;
      const float *own = weight + share * 16 * WEIGHT_TO + (BURN_PASS == 0 ? tap / SHARES : TAPS - 1 - tap / SHARES);
      const float a[4] = {burn_take(own[0]), burn_take(own[8 * WEIGHT_TO]), burn_take(own[4 * WEIGHT_FROM]),
                          burn_take(own[8 * WEIGHT_TO + 4 * WEIGHT_FROM])};
#pragma unroll
      for (int j = 0; j < RUN; j++) {
        float *own_sum = sum[row][j][share];
        burn_multiply(own_sum[0], own_sum[1], own_sum[2], own_sum[3], a, b[0][j + x], b[1][j + x]);
      }
    }
  }
}

/* Fragments leave through the warp's part of shared memory, so that lines are written beside each other. */
static __device__ inline void burn_leave(const GpuConv &p, const Geometry &geometry, const Tile &tile, float *room,
                                         float (&sum)[ROWS][RUN][SHARES][4], int32_t first_to) {
  const int32_t lanes = 8 * RUN > 16 ? 32 : 8 * RUN; /* of a line */
  const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int32_t plane = geometry.rows * geometry.columns, first = first_to + warp / DOWN * 16 * SHARES;
  const int32_t end = geometry.columns - tile.left < (int32_t)p.tile[1] ? geometry.columns - tile.left : (int32_t)p.tile[1];
  float *own = room + warp * 16 * PITCH, bias[SHARES][2];
#pragma unroll
  for (int k = 0; k < SHARES * 2; k++) {
    const int32_t channel = first + k * 8 + g;
    bias[k / 2][k % 2] = p.bias != 0u && channel < geometry.to ? burn_get(((const IN0 *)p.bias)[channel]) : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < ROWS * SHARES; i++) {
    const int32_t share = i % SHARES, line = warp % DOWN * ROWS + i / SHARES, row = tile.top + line;
    const bool is_row = line < (int32_t)p.tile[0] && row < geometry.rows;
    OUT *out = (OUT *)p.out + ((int64_t)tile.n * geometry.to + first + 16 * share) * plane + row * geometry.columns + tile.left;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2 * RUN; k++) {
      const int upper = k / RUN, at = 2 * (k % RUN);
      const float(*sums)[SHARES][4] = sum[i / SHARES];
      const Two two = {{sums[at % RUN][share][2 * upper + at / RUN] + bias[share][upper],
                        sums[(at + 1) % RUN][share][2 * upper + (at + 1) / RUN] + bias[share][upper]}};
      *(Two *)(own + (g + 8 * upper) * PITCH + 2 * RUN * t + at) = two;
    }
    __syncwarp();
    if (!is_row) continue;
    const int32_t there = geometry.to - first - 16 * share;
    const float *from = own + lane / lanes * PITCH + lane % lanes;
    out += lane / lanes * plane + lane % lanes;
#pragma unroll 4
    for (int32_t c = lane / lanes; c < 16 && c < there; c += 32 / lanes, from += 32 / lanes * PITCH) {
#pragma unroll
      for (int k = 0; k < (8 * RUN + lanes - 1) / lanes; k++)
        if (lane % lanes + k * lanes < end) burn_put(out[k * lanes], from[k * lanes]);
      out += 32 / lanes * plane;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, TAPS > 9 ? 1 : 2) kernel(const GpuConv p) {
  extern __shared__ __align__(16) float room[];
  const Geometry g = burn_geometry(p);
  const int32_t sets = (g.to + CHANNELS - 1) / CHANNELS, block = (int32_t)blockIdx.x, first_to = block % sets * CHANNELS;
  const int32_t down = (g.rows + (int32_t)p.tile[0] - 1) / (int32_t)p.tile[0];
  const int32_t across = (g.columns + (int32_t)p.tile[1] - 1) / (int32_t)p.tile[1];
  const Tile tile = burn_tile(p, block / sets, down, across);
  const IN0 *input = (const IN0 *)p.x + (int64_t)tile.n * g.from * g.height * g.width;
  const int32_t offset = burn_offset(g.before);
  Lines lines = {g.height,
                 g.width,
                 tile.top - g.above,
                 tile.left - g.before - offset,
                 LINES,
                 offset + (int32_t)p.tile[1] + TAPS_X - 1,
                 g.from};
  float sum[ROWS][RUN][SHARES][4];
#pragma unroll
  for (int k = 0; k < ROWS * RUN * SHARES * 4; k++) (&sum[0][0][0][0])[k] = 0.0f;
  burn_bring_weights(room + 8 * PLANE, (const IN0 *)p.weight, g, first_to, 0);
  burn_bring_lines<8, LENGTH, THREADS>(room, PLANE, input, lines);
  for (int32_t first = 0; first < g.from; first += 8) {
    float *stage = room + first / 8 % 2 * STAGE, *other = room + (1 - first / 8 % 2) * STAGE;
    burn_wait();
    __syncthreads();
    if (first + 8 < g.from) {
      lines.planes = g.from - first - 8;
      burn_bring_weights(other + 8 * PLANE, (const IN0 *)p.weight, g, first_to, first + 8);
      burn_bring_lines<8, LENGTH, THREADS>(other, PLANE, input + (int64_t)(first + 8) * g.height * g.width, lines);
    }
    burn_add(sum, stage + offset, stage + 8 * PLANE);
  }
  __syncthreads();
  burn_leave(p, g, tile, room, sum, first_to);
}

#else
#define THREADS (32 * GPU_MATRIX_WARPS)
#define ALONG (GPU_MATRIX_WARPS / ACROSS / IN_ACROSS) /* warps that share the rows of a tile */
#define OUTS (16 * SHARES * ACROSS)
#define INS (8 * IN_SHARES * IN_ACROSS)
#define LENGTH GPU_MATRIX_LINE(RUN, TAPS_X, AT_ONCE) /* of a line of pixels */
#define STEPS 4 /* along a line, whose gradients a thread has in registers */

/* The products of a row of windows with the lines of pixels that it meets. */
static __device__ inline void burn_add(float (&sum)[TAPS][SHARES][IN_SHARES][4], const float *gradient, int32_t outs,
                                       const float *pixels, int32_t ins) {
#pragma unroll
  for (int first = 0; first < RUN; first += STEPS) {
    const int steps = RUN - first < STEPS ? RUN - first : STEPS;
    float a[STEPS][SHARES][4];
#pragma unroll
    for (int k = 0; k < steps * SHARES * 4; k++) {
      const int j = k / 4 / SHARES, share = k / 4 % SHARES, upper = k % 2, half = k / 2 % 2;
      a[j][share][k % 4] = burn_take(gradient[(share * 16 + upper * 8) * outs + half * 4 * RUN + first + j]);
    }
#pragma unroll
    for (int k = 0; k < TAPS_Y * IN_SHARES; k++) {
      const int y = k / IN_SHARES, in_share = k % IN_SHARES;
      const float *own_pixels = pixels + in_share * 8 * ins + y * LENGTH + first;
      float b[STEPS + TAPS_X - 1][2];
#pragma unroll
      for (int i = 0; i < 2 * (steps + TAPS_X - 1); i++) b[i / 2][i % 2] = burn_take(own_pixels[i % 2 * 4 * RUN + i / 2]);
#pragma unroll
      for (int i = 0; i < steps * TAPS_X * SHARES; i++) {
        const int j = i / SHARES / TAPS_X, x = i / SHARES % TAPS_X, share = i % SHARES;
        float *own = sum[y * TAPS_X + x][share][in_share];
        burn_multiply(own[0], own[1], own[2], own[3], a[j][share], b[j + x][0], b[j + x][1]);
      }
    }
  }
}

/* A block has OUTS channels of windows, INS of pixels and some of the tiles, one after the other. */
extern "C" __global__ void __launch_bounds__(THREADS, TAPS * SHARES * IN_SHARES > 12 ? 1 : 2) kernel(const GpuConv p) {
  extern __shared__ __align__(16) float room[];
  const int32_t ins = (int32_t)p.in_channels, outs = (int32_t)p.out_channels, height = (int32_t)p.in[0];
  const int32_t width = (int32_t)p.in[1], windows_y = (int32_t)p.windows[0], windows_x = (int32_t)p.windows[1];
  const int32_t in_sets = (ins + INS - 1) / INS, out_sets = (outs + OUTS - 1) / OUTS, block = (int32_t)blockIdx.x;
  const int32_t first_in = block % in_sets * INS, first_out = block / in_sets % out_sets * OUTS;
  const int32_t part = block / in_sets / out_sets, rows = (int32_t)p.tile[0], columns = (int32_t)p.tile[1];
  const int32_t down = (windows_y + rows - 1) / rows, across = (windows_x + columns - 1) / columns;
  const int32_t all = (int32_t)p.batch * down * across, size = (int32_t)p.part_size;
  const int32_t begin = part * size, end = begin + size < all ? begin + size : all;
  const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int32_t row = warp % ALONG, in_across = warp / ALONG % IN_ACROSS, out_across = warp / ALONG / IN_ACROSS;
  const int32_t out_pitch = GPU_MATRIX_PLACES(rows * 8 * RUN, RUN);
  const int32_t in_pitch = GPU_MATRIX_PLACES((rows + TAPS_Y - 1) * LENGTH, RUN), stage = OUTS * out_pitch + INS * in_pitch;
  const int32_t offset = burn_offset((int32_t)p.padding[1]);
  float sum[TAPS][SHARES][IN_SHARES][4];
#pragma unroll
  for (int k = 0; k < TAPS * SHARES * IN_SHARES * 4; k++) (&sum[0][0][0][0])[k] = 0.0f;
  for (int32_t i = begin - 1; i < end; i++) {
    float *now = room + (i - begin + 2) % 2 * stage, *next = room + (i + 1 - begin) % 2 * stage;
    burn_wait();
    __syncthreads();
    if (i + 1 < end) {
      const Tile tile = burn_tile(p, i + 1, down, across);
      const Lines of_windows = {windows_y, windows_x, tile.top, tile.left, rows, columns, outs - first_out};
      const Lines of_pixels = {height,
                               width,
                               tile.top - (int32_t)p.padding[0],
                               tile.left - (int32_t)p.padding[1] - offset,
                               rows + TAPS_Y - 1,
                               offset + columns + TAPS_X - 1,
                               ins - first_in};
      burn_bring_lines<OUTS, 8 * RUN, THREADS>(
          next, out_pitch, (const IN0 *)p.weight + ((int64_t)tile.n * outs + first_out) * windows_y * windows_x, of_windows);
      burn_bring_lines<INS, LENGTH, THREADS>(next + OUTS * out_pitch, in_pitch,
                                             (const IN0 *)p.x + ((int64_t)tile.n * ins + first_in) * height * width,
                                             of_pixels);
    }
    if (i < begin) continue;
    const float *gradient = now + (out_across * 16 * SHARES + g) * out_pitch + RUN * t;
    const float *pixels = now + OUTS * out_pitch + (in_across * 8 * IN_SHARES + g) * in_pitch + RUN * t + offset;
    for (int32_t r = row; r < rows; r += ALONG)
      burn_add(sum, gradient + r * 8 * RUN, out_pitch, pixels + r * LENGTH, in_pitch);
  }
  /* The sums of warps that share rows, one after the other: by channel of windows, channel of pixels, tap. */
  const int32_t pitch = GPU_MATRIX_SUMS(INS, TAPS);
  for (int32_t turn = 0; turn < ALONG; turn++) {
    __syncthreads();
    if (row != turn) continue;
#pragma unroll
    for (int k = 0; k < TAPS * SHARES * IN_SHARES * 4; k++) {
      const int tap = k / 4 / IN_SHARES / SHARES, share = k / 4 / IN_SHARES % SHARES, in_share = k / 4 % IN_SHARES;
      const int32_t out = (out_across * SHARES + share) * 16 + g + k % 4 / 2 * 8;
      const int32_t in = (in_across * IN_SHARES + in_share) * 8 + 2 * t + k % 2;
      float *at = room + out * pitch + in * TAPS + tap;
      *at = turn == 0 ? sum[tap][share][in_share][k % 4] : *at + sum[tap][share][in_share][k % 4];
    }
  }
  __syncthreads();
  const int64_t weights = (int64_t)outs * ins * TAPS;
  for (int32_t k = (int32_t)threadIdx.x; k < OUTS * INS * TAPS; k += THREADS) {
    const int32_t c = k / (INS * TAPS), rest = k % (INS * TAPS), out = first_out + c, in = first_in + rest / TAPS;
    if (out >= outs || in >= ins) continue;
    const int64_t at = ((int64_t)out * ins + in) * TAPS + rest % TAPS;
    if (p.parts == 1) burn_put(((OUT *)p.out)[at], room[c * pitch + rest]);
    else ((C *)p.bias)[part * weights + at] = room[c * pitch + rest];
  }
}
#endif
