/* small_matrix_conv.cu - convolutions of few channels and stride 1 as products of TF32 on tensor cores, of f32 that may be
 * rounded to it and of halves, which fit into it. Names are those of the conv2d that it is, or is the gradient of.
 *
 * BURN_VARIANT % 4, 0: conv2d; 1: conv_transpose2d; 2: parts of the gradient of the weight (small_conv.cu adds them). Then,
 * by bits: 2 to 4 and 5 to 7, taps along y and x; 8 and 9, eights of channels that a block of 0 and 1 makes.
 *
 * A block has a tile of places. Its pixels lie in shared memory, a channel after the other, line by line as far apart as
 * the lines of results: so place q of the tile meets tap (y, x) at q + y * pitch + x, and 16 places in a row are the rows
 * of a fragment, also across the end of a line, where what comes out belongs to nobody. The distance of channels is such
 * that the 32 threads of a warp read from 32 banks. */
#define BURN_PASS (BURN_VARIANT % 4)
#define TAPS_Y (BURN_VARIANT / 4 % 8)
#define TAPS_X (BURN_VARIANT / 32 % 8)
#define TAPS (TAPS_Y * TAPS_X)
#define SETS (BURN_VARIANT / 256 % 4)
#define THREADS 128
#define WARPS 4
typedef Element<IN0>::C C;

/* What a block finds out about its tile. */
struct Tile {
  int32_t rows, columns, pitch, lines; /* lines: of pixels */
  int32_t n, top, left;                /* the first place */
};

/* Tile number `i` of all; `down` and `across`: tiles of an example. */
static __device__ inline Tile burn_tile(const GpuConv &p, int32_t i, int32_t down, int32_t across) {
  Tile tile;
  tile.rows = (int32_t)p.tile[0];
  tile.columns = (int32_t)p.tile[1];
  tile.pitch = tile.columns + TAPS_X - 1;
  tile.lines = tile.rows + TAPS_Y - 1;
  tile.n = i / across / down;
  tile.top = i / across % down * tile.rows;
  tile.left = i % across * tile.columns;
  return tile;
}

/* COUNT channels of the lines of a tile into shared memory; 0 outside. A warp takes a line at a time, which has 32 numbers
 * at most. All are read before the first is looked at, and what lies outside is read elsewhere: a read within a branch
 * would be waited for there. */
template <int COUNT, int PLANE>
static __device__ inline void burn_fill(float *to, const IN0 *from, const Tile &tile, int32_t lines, int32_t top,
                                        int32_t left, int32_t height, int32_t width, int32_t end, int32_t there) {
  const int32_t lane = (int32_t)threadIdx.x % 32, column = left + lane, plane = height * width;
  const bool is_column = lane < end && (uint32_t)column < (uint32_t)width;
  if (lane >= tile.pitch) return;
  for (int32_t line = (int32_t)threadIdx.x / 32; line < lines; line += WARPS) {
    const bool is_inside = is_column && (uint32_t)(top + line) < (uint32_t)height;
    const IN0 *at = from + (is_inside ? (top + line) * width + column : 0);
    float *own = to + line * tile.pitch + lane;
    IN0 numbers[COUNT];
#pragma unroll
    for (int c = 0; c < COUNT; c++, at += c < there ? plane : 0) numbers[c] = at[0];
#pragma unroll
    for (int c = 0; c < COUNT; c++) own[c * PLANE] = is_inside && c < there ? burn_tf32(burn_get(numbers[c])) : 0.0f;
  }
}

#if BURN_PASS < 2
#define TILES (GPU_SMALL_PLACES / (16 * WARPS)) /* of 16 places, of a warp */
#define PLANE 456 /* places, four lines and five more; 8 more than whole lines of banks */
#define STEP 12   /* from a channel of results to the next among the weights, which also meet each bank once */

/* The weight of tap (y, x) between two channels; 0 where one of them is not there. */
static __device__ inline float burn_weight(const GpuConv &p, int32_t from, int32_t to, int32_t y, int32_t x) {
  const int32_t ins = (int32_t)p.in_channels, outs = (int32_t)p.out_channels;
#if BURN_PASS == 0
  const bool is_there = from < ins && to < outs;
  const int32_t at = ((to * ins + from) * TAPS_Y + y) * TAPS_X + x;
#else
  const bool is_there = from < outs && to < ins;
  const int32_t at = ((from * ins + to) * TAPS_Y + TAPS_Y - 1 - y) * TAPS_X + TAPS_X - 1 - x;
#endif
  const IN0 weight = ((const IN0 *)p.weight)[is_there ? at : 0];
  return is_there ? burn_tf32(burn_get(weight)) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS, SETS > 1 ? 4 : 5) kernel(const GpuConv p) {
  __shared__ float pixels[8 * PLANE];
  __shared__ float weights[TAPS * SETS * 8 * STEP];
#if BURN_PASS == 0
  const int32_t from = (int32_t)p.in_channels, to = (int32_t)p.out_channels;
  const int32_t height = (int32_t)p.in[0], width = (int32_t)p.in[1];
  const int32_t rows = (int32_t)p.windows[0], columns = (int32_t)p.windows[1];
  const int32_t above = (int32_t)p.padding[0], before = (int32_t)p.padding[1];
#else
  const int32_t from = (int32_t)p.out_channels, to = (int32_t)p.in_channels;
  const int32_t height = (int32_t)p.windows[0], width = (int32_t)p.windows[1];
  const int32_t rows = (int32_t)p.in[0], columns = (int32_t)p.in[1];
  const int32_t above = TAPS_Y - 1 - (int32_t)p.padding[0], before = TAPS_X - 1 - (int32_t)p.padding[1];
#endif
  const int32_t sets = (to + 8 * SETS - 1) / (8 * SETS), block = (int32_t)blockIdx.x, first_to = block % sets * 8 * SETS;
  const int32_t down = (rows + (int32_t)p.tile[0] - 1) / (int32_t)p.tile[0];
  const int32_t across = (columns + (int32_t)p.tile[1] - 1) / (int32_t)p.tile[1];
  const Tile tile = burn_tile(p, block / sets, down, across);
  const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const float *first_pixel = pixels + t * PLANE + warp * 16 + g; /* of the warp's first places */
  const IN0 *input = (const IN0 *)p.x + (int64_t)tile.n * from * height * width;
  float sum[TILES][SETS][4];
#pragma unroll
  for (int m = 0; m < TILES; m++)
#pragma unroll
    for (int s = 0; s < SETS; s++)
#pragma unroll
      for (int k = 0; k < 4; k++) sum[m][s][k] = 0.0f;
  for (int32_t first = 0; first < from; first += 8) {
    if (first > 0) __syncthreads();
#pragma unroll 4
    for (int32_t i = (int32_t)threadIdx.x; i < TAPS * SETS * 64; i += THREADS) {
      const int32_t k = i % 8, c = i / 8 % (SETS * 8), tap = i / (SETS * 64);
      weights[(tap * SETS * 8 + c) * STEP + k] = burn_weight(p, first + k, first_to + c, tap / TAPS_X, tap % TAPS_X);
    }
    burn_fill<8, PLANE>(pixels, input + (int64_t)first * height * width, tile, tile.lines, tile.top - above,
                        tile.left - before, height, width, tile.pitch, from - first);
    __syncthreads();
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++) {
      float b[SETS][2];
#pragma unroll
      for (int s = 0; s < SETS; s++) {
        const float *own = weights + (tap * SETS * 8 + s * 8 + g) * STEP + t;
        b[s][0] = own[0];
        b[s][1] = own[4];
      }
#pragma unroll
      for (int m = 0; m < TILES; m++) {
        const float *own = first_pixel + m * WARPS * 16 + tap / TAPS_X * tile.pitch + tap % TAPS_X;
        const float a[4] = {own[0], own[8], own[4 * PLANE], own[4 * PLANE + 8]};
#pragma unroll
        for (int s = 0; s < SETS; s++)
          burn_multiply(sum[m][s][0], sum[m][s][1], sum[m][s][2], sum[m][s][3], a, b[s][0], b[s][1]);
      }
    }
  }
  float bias[SETS][2];
#pragma unroll
  for (int k = 0; k < SETS * 2; k++) {
    const int32_t channel = first_to + k / 2 * 8 + 2 * t + k % 2;
    bias[k / 2][k % 2] = p.bias != 0u && channel < to ? burn_get(((const IN0 *)p.bias)[channel]) : 0.0f;
  }
  const int32_t plane = rows * columns;
  OUT *out = (OUT *)p.out + ((int64_t)tile.n * to + first_to + 2 * t) * plane;
#pragma unroll
  for (int m = 0; m < TILES * 2; m++) {
    const int32_t place = (m / 2 * WARPS + warp) * 16 + g + m % 2 * 8;
    const int32_t y = place / tile.pitch, x = place - y * tile.pitch, row = tile.top + y, column = tile.left + x;
    if (y >= tile.rows || x >= tile.columns || row >= rows || column >= columns) continue;
#pragma unroll
    for (int k = 0; k < SETS * 2; k++) {
      const int32_t channel = k / 2 * 8 + k % 2; /* beyond the thread's first */
      if (first_to + 2 * t + channel >= to) continue;
      burn_put(out[channel * plane + row * columns + column], sum[m / 2][k / 2][m % 2 * 2 + k % 2] + bias[k / 2][k % 2]);
    }
  }
}

#else
#define PIXELS 484   /* places in whole eights, four lines and five more; 4 more than whole lines of banks */
#define GRADIENT 332 /* places in whole eights; 12 more */

/* A block has 16 channels of windows, 8 of pixels and some of the tiles; its warps share the places of each tile. */
extern "C" __global__ void __launch_bounds__(THREADS, TAPS > 9 ? 2 : 5) kernel(const GpuConv p) {
  __shared__ float pixels[8 * PIXELS];
  __shared__ float gradient[16 * GRADIENT];
  const int32_t ins = (int32_t)p.in_channels, outs = (int32_t)p.out_channels;
  const int32_t height = (int32_t)p.in[0], width = (int32_t)p.in[1];
  const int32_t rows = (int32_t)p.windows[0], columns = (int32_t)p.windows[1];
  const int32_t in_sets = (ins + 7) / 8, out_sets = (outs + 15) / 16, block = (int32_t)blockIdx.x;
  const int32_t first_in = block % in_sets * 8, first_out = block / in_sets % out_sets * 16;
  const int32_t part = block / in_sets / out_sets;
  const int32_t down = (rows + (int32_t)p.tile[0] - 1) / (int32_t)p.tile[0];
  const int32_t across = (columns + (int32_t)p.tile[1] - 1) / (int32_t)p.tile[1];
  const int32_t all = (int32_t)p.batch * down * across, size = (int32_t)p.part_size;
  const int32_t end = (part + 1) * size < all ? (part + 1) * size : all;
  const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32, g = lane / 4, t = lane % 4;
  /* What lies behind the lines is multiplied, too, where it makes an eight whole. */
  for (int32_t i = (int32_t)threadIdx.x; i < 8 * PIXELS; i += THREADS) pixels[i] = 0.0f;
  for (int32_t i = (int32_t)threadIdx.x; i < 16 * GRADIENT; i += THREADS) gradient[i] = 0.0f;
  float sum[TAPS][4];
#pragma unroll
  for (int tap = 0; tap < TAPS; tap++)
#pragma unroll
    for (int k = 0; k < 4; k++) sum[tap][k] = 0.0f;
  for (int32_t i = part * size; i < end; i++) {
    const Tile tile = burn_tile(p, i, down, across);
    __syncthreads();
    burn_fill<8, PIXELS>(pixels, (const IN0 *)p.x + ((int64_t)tile.n * ins + first_in) * height * width, tile, tile.lines,
                         tile.top - (int32_t)p.padding[0], tile.left - (int32_t)p.padding[1], height, width, tile.pitch,
                         ins - first_in);
    burn_fill<16, GRADIENT>(gradient, (const IN0 *)p.weight + ((int64_t)tile.n * outs + first_out) * rows * columns, tile,
                            tile.rows, tile.top, tile.left, rows, columns, tile.columns, outs - first_out);
    __syncthreads();
    for (int32_t place = warp * 8; place < tile.rows * tile.pitch; place += WARPS * 8) {
      const float *left = gradient + g * GRADIENT + place + t, *right = pixels + g * PIXELS + place + t;
      const float a[4] = {left[0], left[8 * GRADIENT], left[4], left[8 * GRADIENT + 4]};
#pragma unroll
      for (int tap = 0; tap < TAPS; tap++) {
        const float *own = right + tap / TAPS_X * tile.pitch + tap % TAPS_X;
        burn_multiply(sum[tap][0], sum[tap][1], sum[tap][2], sum[tap][3], a, own[0], own[4]);
      }
    }
  }
  /* The warps' sums, one after the other: by channel of windows, channel of pixels, tap. */
  for (int32_t turn = 0; turn < WARPS; turn++) {
    __syncthreads();
    if (warp != turn) continue;
#pragma unroll
    for (int k = 0; k < TAPS * 4; k++) {
      float *at = pixels + ((g + k % 4 / 2 * 8) * 8 + 2 * t + k % 2) * TAPS + k / 4;
      *at = turn == 0 ? sum[k / 4][k % 4] : *at + sum[k / 4][k % 4];
    }
  }
  __syncthreads();
  const int64_t weights = (int64_t)outs * ins * TAPS;
  for (int32_t k = (int32_t)threadIdx.x; k < 128 * TAPS; k += THREADS) {
    const int32_t out = first_out + k / (8 * TAPS), in = first_in + k / TAPS % 8;
    if (out >= outs || in >= ins) continue;
    const int64_t at = ((int64_t)out * ins + in) * TAPS + k % TAPS;
    if (p.parts == 1) burn_put(((OUT *)p.out)[at], pixels[k]);
    else ((C *)p.bias)[part * weights + at] = pixels[k];
  }
}
#endif
