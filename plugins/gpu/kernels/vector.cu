/* vector.cu - a matrix times a vector. Every sum is made in an order that the shape alone decides, whether 16 bytes can be
 * read at once or not.
 *
 * BURN_VARIANT 0: lines of k elements, four to a warp; 1: the same, four to a block; 2: lines lie side by side, 32 times 16 bytes
 * of them in a block, whose 8 warps take every 8th step of k; with `parts` above 1 the results are sums of parts of k; 3:
 * adds the parts, 32 results a block; 4: as 2, but only 2 times 16 bytes of lines in a block, whose threads take every
 * 128th step of k: many blocks for few lines. */
typedef Element<IN0>::C C;
#define BURN_WIDTH (16 / (int)sizeof(IN0))
struct alignas(16) Pack { IN0 at[BURN_WIDTH]; };

static __device__ inline int64_t burn_batch(const GpuVector &p, int64_t batch, const int64_t *strides) {
  int64_t at = 0;
  for (int axes = p.rank; axes > 0; axes--) {
    const int axis = BURN_LAST_OF(axes);
    at += batch % p.shape[axis] * strides[axis];
    batch /= p.shape[axis];
  }
  return at;
}

static __device__ inline void burn_finish(const GpuVector &p, int64_t at, C sum) {
  if (p.bias != 0u) sum += (C)burn_get(((const OUT *)p.bias)[at % p.lines * p.bias_stride]);
  burn_put(((OUT *)p.out)[at], sum);
}

#if BURN_VARIANT < 2
#define BURN_LANES (BURN_VARIANT == 0 ? 32 : 256)
#define BURN_STEP (BURN_LANES * BURN_WIDTH)
#define BURN_LINES GPU_VECTOR_LINES

/* What a lane adds up of some lines: the same steps of k of all of them, so that their loads are under way together. */
template <bool is_packed>
static __device__ inline void burn_dots(const IN0 *const *lines, const IN0 *vector, int64_t stride, int64_t k, C *sums) {
  int64_t i = threadIdx.x % BURN_LANES * BURN_WIDTH;
#pragma unroll 2
  for (; i + BURN_WIDTH <= k; i += BURN_STEP) {
    Pack x[BURN_LINES], y;
    if (is_packed) {
      y = *(const Pack *)(vector + i);
      for (int n = 0; n < BURN_LINES; n++) x[n] = *(const Pack *)(lines[n] + i);
    } else {
      for (int w = 0; w < BURN_WIDTH; w++) y.at[w] = vector[(i + w) * stride];
      for (int n = 0; n < BURN_LINES; n++)
        for (int w = 0; w < BURN_WIDTH; w++) x[n].at[w] = lines[n][i + w];
    }
    for (int n = 0; n < BURN_LINES; n++)
      for (int w = 0; w < BURN_WIDTH; w++)
        sums[n] = burn_fused((C)burn_get(x[n].at[w]), (C)burn_get(y.at[w]), sums[n]);
  }
  for (; i < k; i++) { /* fewer than BURN_WIDTH, for one lane */
    for (int n = 0; n < BURN_LINES; n++)
      sums[n] = burn_fused((C)burn_get(lines[n][i]), (C)burn_get(vector[i * stride]), sums[n]);
  }
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuVector p) {
  const int64_t groups = (p.lines + BURN_LINES - 1) / BURN_LINES;
  const int64_t at = (int64_t)blockIdx.x * (256 / BURN_LANES) + threadIdx.x / BURN_LANES;
  /* warps of no line go along, as all come to each shuffle; in variant 1 there are none */
  const bool is_there = BURN_VARIANT == 1 || at < groups * p.batches;
  const int64_t batch = is_there ? at / groups : 0, first = is_there ? at % groups * BURN_LINES : 0;
  const int64_t k = is_there ? p.k : 0;
  const IN0 *matrix = (const IN0 *)p.matrix + burn_batch(p, batch, p.matrix_strides);
  const IN0 *vector = (const IN0 *)p.vector + burn_batch(p, batch, p.vector_strides), *lines[BURN_LINES];
  C sums[BURN_LINES];
  for (int n = 0; n < BURN_LINES; n++) {
    lines[n] = matrix + (first + n < p.lines ? first + n : first) * p.stride;
    sums[n] = (C)-0.0f;
  }
  const uint64_t places = (uint64_t)lines[0] | (uint64_t)vector | (uint64_t)p.stride * sizeof(IN0);
  if (places % 16u == 0u && p.vector_stride == 1) burn_dots<true>(lines, vector, 1, k, sums);
  else burn_dots<false>(lines, vector, p.vector_stride, k, sums);
  for (int n = 0; n < BURN_LINES; n++)
    for (int step = 16; step > 0; step /= 2) sums[n] += __shfl_down_sync(0xffffffffu, sums[n], step);
#if BURN_VARIANT == 1
  __shared__ C shared[8][BURN_LINES];
  if (threadIdx.x % 32 == 0)
    for (int n = 0; n < BURN_LINES; n++) shared[threadIdx.x / 32][n] = sums[n];
  __syncthreads();
  if (threadIdx.x >= BURN_LINES || first + threadIdx.x >= p.lines) return;
  C sum = shared[0][threadIdx.x];
  for (int w = 1; w < 8; w++) sum += shared[w][threadIdx.x];
  burn_finish(p, batch * p.lines + first + threadIdx.x, sum);
#else
  if (!is_there || threadIdx.x % 32 != 0) return;
  for (int n = 0; n < BURN_LINES; n++)
    if (first + n < p.lines) burn_finish(p, batch * p.lines + first + n, sums[n]);
#endif
}

#elif BURN_VARIANT != 3
#define BURN_AHEAD 8 /* rows that are under way together */

/* Adds every STEP-th row of lines that lie side by side, from row `k` on. */
template <int STEP>
static __device__ inline void burn_add_lines(const GpuVector &p, const IN0 *from, const IN0 *vector, int64_t column,
                                             bool is_packed, int64_t k, int64_t end, C *sums) {
  for (; is_packed && k < end; k += BURN_AHEAD * STEP) {
    Pack x[BURN_AHEAD];
    C y[BURN_AHEAD];
#pragma unroll
    for (int j = 0; j < BURN_AHEAD; j++) {
      const int64_t row = k + j * STEP < end ? k + j * STEP : k;
      x[j] = *(const Pack *)(from + row * p.stride);
      y[j] = (C)burn_get(vector[row * p.vector_stride]);
    }
#pragma unroll
    for (int j = 0; j < BURN_AHEAD; j++)
      for (int w = 0; w < BURN_WIDTH && k + j * STEP < end; w++)
        sums[w] = burn_fused((C)burn_get(x[j].at[w]), y[j], sums[w]);
  }
  for (; k < end; k += STEP) {
    const C y = (C)burn_get(vector[k * p.vector_stride]);
    for (int w = 0; w < BURN_WIDTH; w++)
      if (column + w < p.lines) sums[w] = burn_fused((C)burn_get(from[k * p.stride + w]), y, sums[w]);
  }
}
#endif

#if BURN_VARIANT == 2
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuVector p) {
  __shared__ C shared[8][32 * BURN_WIDTH + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t tiles = (p.lines + 32 * BURN_WIDTH - 1) / (32 * BURN_WIDTH), tile = (int64_t)blockIdx.x % tiles;
  const int64_t part = (int64_t)blockIdx.x / tiles % p.parts, batch = (int64_t)blockIdx.x / tiles / p.parts;
  const int64_t first = tile * 32 * BURN_WIDTH, column = first + lane * BURN_WIDTH;
  const int64_t end = (part + 1) * p.part_size < p.k ? (part + 1) * p.part_size : p.k;
  const IN0 *from = (const IN0 *)p.matrix + burn_batch(p, batch, p.matrix_strides) + column;
  const IN0 *vector = (const IN0 *)p.vector + burn_batch(p, batch, p.vector_strides);
  const bool is_packed = ((uint64_t)from | (uint64_t)p.stride * sizeof(IN0)) % 16u == 0u && column + BURN_WIDTH <= p.lines;
  C sums[BURN_WIDTH];
  for (int w = 0; w < BURN_WIDTH; w++) sums[w] = (C)-0.0f;
  burn_add_lines<8>(p, from, vector, column, is_packed, part * p.part_size + warp, end, sums);
  for (int w = 0; w < BURN_WIDTH; w++) shared[warp][lane * BURN_WIDTH + w] = sums[w];
  __syncthreads();
  const int mine = threadIdx.x;
  if (mine >= 32 * BURN_WIDTH || first + mine >= p.lines) return;
  C sum = shared[0][mine];
  for (int k = 1; k < 8; k++) sum += shared[k][mine];
  const int64_t at = batch * p.lines + first + mine;
  if (p.parts == 1) burn_finish(p, at, sum);
  else burn_put(((OUT *)p.out)[part * p.batches * p.lines + at], sum);
}

#elif BURN_VARIANT == 4
#define BURN_COLUMNS (2 * BURN_WIDTH)
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuVector p) {
  __shared__ C shared[8][BURN_COLUMNS];
  const int lane = threadIdx.x % 2, line = threadIdx.x / 2;
  const int64_t tiles = (p.lines + BURN_COLUMNS - 1) / BURN_COLUMNS, batch = (int64_t)blockIdx.x / tiles;
  const int64_t first = (int64_t)blockIdx.x % tiles * BURN_COLUMNS, column = first + lane * BURN_WIDTH;
  const IN0 *from = (const IN0 *)p.matrix + burn_batch(p, batch, p.matrix_strides) + column;
  const IN0 *vector = (const IN0 *)p.vector + burn_batch(p, batch, p.vector_strides);
  const bool is_packed = ((uint64_t)from | (uint64_t)p.stride * sizeof(IN0)) % 16u == 0u && column + BURN_WIDTH <= p.lines;
  C sums[BURN_WIDTH];
  for (int w = 0; w < BURN_WIDTH; w++) sums[w] = (C)-0.0f;
  burn_add_lines<128>(p, from, vector, column, is_packed, line, p.k, sums);
  for (int w = 0; w < BURN_WIDTH; w++)
    for (int step = 16; step > 1; step /= 2) sums[w] += __shfl_down_sync(0xffffffffu, sums[w], step);
  if (threadIdx.x % 32 < 2)
    for (int w = 0; w < BURN_WIDTH; w++) shared[threadIdx.x / 32][lane * BURN_WIDTH + w] = sums[w];
  __syncthreads();
  const int mine = threadIdx.x;
  if (mine >= BURN_COLUMNS || first + mine >= p.lines) return;
  C sum = shared[0][mine];
  for (int k = 1; k < 8; k++) sum += shared[k][mine];
  burn_finish(p, batch * p.lines + first + mine, sum);
}

#elif BURN_VARIANT == 3
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuVector p) {
  __shared__ C shared[8][33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t at = (int64_t)blockIdx.x * 32 + lane, results = p.batches * p.lines;
  const IN0 *parts = (const IN0 *)p.matrix;
  C sum = (C)-0.0f;
  if (at < results) {
#pragma unroll 8
    for (int64_t part = warp; part < p.parts; part += 8) sum += parts[part * results + at];
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || at >= results) return;
  for (int k = 1; k < 8; k++) sum += shared[k][lane];
  burn_finish(p, at, sum);
}
#endif
