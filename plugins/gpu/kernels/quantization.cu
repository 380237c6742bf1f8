/* quantization.cu - sums of products of i8, in i32, as floats: times the scales of their row and column. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuScaled p) {
  const int64_t tiles = (p.n + GPU_SCALED_TILE - 1) / GPU_SCALED_TILE, row = (int64_t)blockIdx.x / tiles;
  const int64_t first = (int64_t)blockIdx.x % tiles * GPU_SCALED_TILE, rhs_stride = p.rhs_strides[p.rank - 1];
  int64_t rest = row, at_lhs = 0, at_rhs = 0;
  for (int axes = p.rank - 1; axes > 0; axes--) {
    const int axis = BURN_LAST_OF(axes);
    const int64_t here = rest % p.shape[axis];
    rest /= p.shape[axis];
    at_lhs += here * p.lhs_strides[axis];
    at_rhs += here * p.rhs_strides[axis];
  }
  const float row_scale = ((const float *)p.lhs)[at_lhs], *scales = (const float *)p.rhs + at_rhs;
  const int32_t *sums = (const int32_t *)p.sums + row * p.n;
  OUT *out = (OUT *)p.out + row * p.n;
  for (int i = 0; i < GPU_SCALED_TILE; i += 256) {
    const int64_t column = first + i + threadIdx.x;
    if (column < p.n) burn_put(out[column], (float)sums[column] * (row_scale * scales[column * rhs_stride]));
  }
}
