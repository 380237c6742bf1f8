/* row_copy.cu - rows of vectors of 16 bytes to rows that lie further apart: a part of what is put together. */
struct alignas(16) Vector { uint64_t bits[2]; };

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuRowCopy p) {
  const int64_t i = burn_thread();
  if (i >= p.rows * p.width) return;
  const int64_t row = p.is_small ? (int64_t)((uint32_t)i / (uint32_t)p.width) : i / p.width;
  ((Vector *)p.out)[row * p.distance + (i - row * p.width)] = ((const Vector *)p.in)[i];
}
