/* vector.cu - a matrix times a vector. Every sum is made in an order that k alone decides, whether 16 bytes can be read at
 * once or not.
 *
 * BURN_VARIANT 0: lines of k elements, a warp each; 1: the same, a block each; 2: lines lie side by side, 32 times 16 bytes
 * of them in a block, whose 8 warps take every 8th step of k; with `parts` above 1 the results are sums of parts of k; 3:
 * adds the parts, 32 results a block. Without a vector the sums are those of the matrix. */
typedef Element<IN0>::C C;
#define BURN_WIDTH (16 / (int)sizeof(IN0))
struct alignas(16) Pack { IN0 at[BURN_WIDTH]; };

static __device__ inline float burn_fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ inline double burn_fused(double a, double b, double c) { return __fma_rn(a, b, c); }

static __device__ inline int64_t burn_batch(const CudaVector &p, int64_t batch, const int64_t *strides) {
  int64_t at = 0;
  for (int axis = p.rank - 1; axis >= 0; axis--) {
    at += batch % p.shape[axis] * strides[axis];
    batch /= p.shape[axis];
  }
  return at;
}

static __device__ inline void burn_finish(const CudaVector &p, int64_t at, C sum) {
  if (p.bias != 0u) sum += (C)burn_get(((const OUT *)p.bias)[at % p.lines * p.bias_stride]);
  burn_put(((OUT *)p.out)[at], sum);
}

#if BURN_VARIANT < 2
#define BURN_LANES (BURN_VARIANT == 0 ? 32 : 256)
#define BURN_AT_ONCE 4
#define BURN_STEP (BURN_LANES * BURN_WIDTH)

/* BURN_WIDTH elements from i on, those from k on left out. */
template <bool is_packed>
static __device__ inline C burn_add(const IN0 *line, const IN0 *vector, int64_t stride, int64_t i, int64_t k, C sum) {
  if (is_packed && i + BURN_WIDTH <= k) {
    const Pack x = *(const Pack *)(line + i), y = *(const Pack *)(vector + i);
    for (int w = 0; w < BURN_WIDTH; w++) sum = burn_fused((C)burn_get(x.at[w]), (C)burn_get(y.at[w]), sum);
    return sum;
  }
  for (int w = 0; w < BURN_WIDTH; w++)
    if (i + w < k) sum = burn_fused((C)burn_get(line[i + w]), (C)burn_get(vector[(i + w) * stride]), sum);
  return sum;
}

template <bool is_packed>
static __device__ inline C burn_dot(const IN0 *line, const IN0 *vector, int64_t stride, int64_t k) {
  C sums[BURN_AT_ONCE];
  for (int u = 0; u < BURN_AT_ONCE; u++) sums[u] = (C)-0.0f;
  int64_t i = threadIdx.x % BURN_LANES * BURN_WIDTH;
  for (; i + (BURN_AT_ONCE - 1) * BURN_STEP + BURN_WIDTH <= k; i += BURN_AT_ONCE * BURN_STEP) {
#pragma unroll
    for (int u = 0; u < BURN_AT_ONCE; u++)
      sums[u] = burn_add<is_packed>(line, vector, stride, i + u * BURN_STEP, INT64_MAX, sums[u]);
  }
  for (int u = 0; u < BURN_AT_ONCE; u++)
    if (i + u * BURN_STEP < k) sums[u] = burn_add<is_packed>(line, vector, stride, i + u * BURN_STEP, k, sums[u]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaVector p) {
  const int64_t at = (int64_t)blockIdx.x * (256 / BURN_LANES) + threadIdx.x / BURN_LANES;
  if (at >= p.lines * p.batches) return; /* whole warps, and in variant 1 no block */
  const int64_t batch = at / p.lines;
  const IN0 *line = (const IN0 *)p.matrix + burn_batch(p, batch, p.matrix_strides) + at % p.lines * p.stride;
  const IN0 *vector = (const IN0 *)p.vector + burn_batch(p, batch, p.vector_strides);
  const bool is_packed = ((uint64_t)line | (uint64_t)vector) % 16u == 0u && p.vector_stride == 1;
  C sum = is_packed ? burn_dot<true>(line, vector, 1, p.k) : burn_dot<false>(line, vector, p.vector_stride, p.k);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
#if BURN_VARIANT == 1
  __shared__ C shared[8];
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int k = 1; k < 8 && threadIdx.x == 0; k++) sum += shared[k];
#endif
  if (threadIdx.x % BURN_LANES == 0) burn_finish(p, at, sum);
}

#elif BURN_VARIANT == 2
static __device__ inline C burn_factor(const CudaVector &p, const IN0 *vector, int64_t k) {
  return p.vector != 0u ? (C)burn_get(vector[k * p.vector_stride]) : (C)1;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaVector p) {
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
  if (is_packed) {
#pragma unroll 8
    for (int64_t k = part * p.part_size + warp; k < end; k += 8) {
      const Pack x = *(const Pack *)(from + k * p.stride);
      const C y = burn_factor(p, vector, k);
      for (int w = 0; w < BURN_WIDTH; w++) sums[w] = burn_fused((C)burn_get(x.at[w]), y, sums[w]);
    }
  } else {
    for (int64_t k = part * p.part_size + warp; k < end; k += 8) {
      const C y = burn_factor(p, vector, k);
      for (int w = 0; w < BURN_WIDTH; w++)
        if (column + w < p.lines) sums[w] = burn_fused((C)burn_get(from[k * p.stride + w]), y, sums[w]);
    }
  }
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

#else
extern "C" __global__ void __launch_bounds__(256) kernel(const CudaVector p) {
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
