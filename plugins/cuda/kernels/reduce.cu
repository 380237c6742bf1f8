/* reduce.cu - one number per line, in an order that depends on the length of the line alone.
 *
 * BURN_VARIANT 0: lines lie along the last axis, a warp each; 1: the same, a block each; 2: lines lie side by side, 32 in
 * a block of 8 rows of threads. With `parts` above 1 a line is cut, and the results are joined by a second pass. */
extern "C" __global__ void __launch_bounds__(256) kernel(const CudaReduce p) {
  const IN0 *in = (const IN0 *)p.in;
  OUT *out = (OUT *)p.out;
  A sum = burn_nothing();
#if BURN_VARIANT == 2
  __shared__ A shared[8][33];
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32;
  const int64_t columns = (p.inner + 31) / 32, column = (int64_t)blockIdx.x % columns * 32 + lane;
  const int64_t part = (int64_t)blockIdx.x / columns % p.parts, line = (int64_t)blockIdx.x / columns / p.parts;
  const int64_t end = (part + 1) * p.part_size < p.size ? (part + 1) * p.part_size : p.size;
  if (column < p.inner)
    for (int64_t k = part * p.part_size + row; k < end; k += 8)
      sum = burn_join(sum, (A)burn_get(in[(line * p.size + k) * p.inner + column]));
  shared[row][lane] = sum;
  __syncthreads();
  if (row != 0 || column >= p.inner) return;
  for (int k = 1; k < 8; k++) sum = burn_join(sum, shared[k][lane]);
  burn_put(out[(line * p.parts + part) * p.inner + column], sum);
#else
  const int width = BURN_VARIANT == 0 ? 32 : 256, in_block = BURN_VARIANT == 0 ? 8 : 1;
  const int64_t at = (int64_t)blockIdx.x * in_block + threadIdx.x / width;
  const int64_t line = at / p.parts, part = at % p.parts;
  if (line >= p.outer) return; /* whole warps, and in variant 1 no block */
  const int64_t end = (part + 1) * p.part_size < p.size ? (part + 1) * p.part_size : p.size;
  for (int64_t k = part * p.part_size + threadIdx.x % width; k < end; k += width)
    sum = burn_join(sum, (A)burn_get(in[line * p.size + k]));
  for (int step = 16; step > 0; step /= 2) sum = burn_join(sum, __shfl_down_sync(0xffffffffu, sum, step));
#if BURN_VARIANT == 1
  __shared__ A shared[8];
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int k = 1; k < 8 && threadIdx.x == 0; k++) sum = burn_join(sum, shared[k]);
#endif
  if (threadIdx.x % width == 0) burn_put(out[at], sum);
#endif
}
