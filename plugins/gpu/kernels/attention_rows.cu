/* attention_rows.cu - before attention_plain.cu and attention_f32.cu: matrices in memory, where a block works, what threads that
 * share rows do together. */

/* Rows of f32 that lie by fours. */
struct Matrix {
  const float *at;
  int64_t row;
  int rows;
};

static __device__ inline Matrix burn_matrix(uint64_t address, const int64_t *strides, int64_t n, int64_t head, int64_t rows) {
  Matrix m = {(const float *)address + n * strides[0] + head * strides[1], strides[2], (int)rows};
  return m;
}

/* Where a block works, of ROWS rows. Blocks of one head come after each other, so that they find its other side in the cache;
 * those with most to do first: the last queries and the first keys of causal heads. */
struct Place {
  int n, head, first;
};
template <int ROWS, bool HAS_KEYS> static __device__ inline Place burn_place(const GpuAttention &p) {
  const int tiles = (int)p.tiles, heads = (int)p.heads, rest = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  Place at = {rest / heads, rest % heads, (HAS_KEYS ? tile : tiles - 1 - tile) * ROWS};
  return at;
}

template <int ROWS, int COLUMNS> static __device__ inline void burn_clear(float sum[ROWS][COLUMNS]) {
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) sum[i][k] = 0.0f;
}

static __device__ inline float burn_larger(float x, float y) {
#if defined(BURN_SPIRV)
  return y > x ? y : x;
#else
  return fmaxf(x, y);
#endif
}

/* Of SHARERS threads beside each other, which share rows. */
template <int SHARERS> static __device__ inline float burn_row_sum(float x) {
#pragma unroll
  for (int step = SHARERS / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
template <int SHARERS> static __device__ inline float burn_row_largest(float x) {
#pragma unroll
  for (int step = SHARERS / 2; step > 0; step /= 2) x = burn_larger(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}
