/* softmax.cu - softmax and ops like it along an axis, and their gradients. Kinds: 0 softmax, 1 log_softmax, 2
 * quiet_softmax (whose sum has a 1 more), 3 softmin; 4 and 5 are the gradients of the first two, from grad (x) and
 * output (y).
 *
 * BURN_COLUMNS (T of 1): the axis is not the last one; a block has 32 lines beside each other and 8 rows of threads. */
#define BURN_IS_LOG (BURN_KIND == 1 || BURN_KIND == 5)
#define BURN_IS_BACKWARD (BURN_KIND >= 4)

static __device__ inline C burn_of(C x) { return BURN_KIND == 3 ? -x : x; }

#if !BURN_IS_BACKWARD
/* What a line's elements are finished with: the logarithm of its sum, or what to multiply with. */
static __device__ inline C burn_last(const Exponentials &all) {
  const C sum = BURN_KIND == 2 ? all.sum + burn_exponential(-all.most) : all.sum;
  return BURN_IS_LOG ? burn_logarithm(sum) : (C)1 / sum;
}
static __device__ inline C burn_result(C x, C most, C last) {
  return BURN_IS_LOG ? x - most - last : burn_decay(x - most) * last;
}
#else
static __device__ inline C burn_term(C grad, C output) { return BURN_IS_LOG ? grad : grad * output; }
static __device__ inline C burn_result(C grad, C output, C sum) {
  return BURN_IS_LOG ? grad - burn_exponential(output) * sum : output * (grad - sum);
}
#endif

#if BURN_T > 1 && !BURN_IS_BACKWARD
static __device__ inline void burn_run(const GpuRows &p, int64_t row) {
  const int64_t size = burn_row_size(p, row);
  const IN0 *x = (const IN0 *)p.x + row * p.size;
  IN0 *out = (IN0 *)p.out + row * p.size;
#if BURN_V > 0
  C v[N];
  Exponentials all = {(C)-INFINITY, (C)0};
  burn_take(v, x, size, p.whole, burn_of((C)-INFINITY));
#pragma unroll
  for (int k = 0; k < N; k++) all.most = burn_larger(all.most, v[k] = burn_of(v[k]));
  all.most = burn_row_largest(all.most);
#pragma unroll
  for (int k = 0; k < N; k++) {
    const C grown = burn_decay(v[k] - all.most);
    v[k] = BURN_IS_LOG ? v[k] - all.most : grown;
    all.sum += grown; /* 0 beyond the end, or all are NaN */
  }
  all.sum = burn_row_sum(all.sum);
  const C last = burn_last(all);
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = BURN_IS_LOG ? v[k] - last : v[k] * last;
  burn_give(out, v, size, p.whole);
#else
  const Exponentials all = burn_row_exponentials<BURN_KIND == 3 ? -1 : 1>(x, size, p.whole);
  C v[STRETCH * W];
  const C last = burn_last(all);
  /* backwards: what was read last is still in the cache */
  for (int64_t c = burn_last_stretch(size); c >= 0; c -= STRETCH * T) {
    burn_read_some<STRETCH>(v, x, size, c, p.whole, (C)0);
#pragma unroll
    for (int k = 0; k < STRETCH * W; k++) v[k] = burn_result(burn_of(v[k]), all.most, last);
#pragma unroll
    for (int i = 0; i < STRETCH; i++) burn_write(out, v + i * W, size, c + i * T, p.whole);
  }
#endif
}
#elif BURN_T > 1
static __device__ inline void burn_run(const GpuRows &p, int64_t row) {
  const int64_t size = burn_row_size(p, row);
  const IN0 *x = (const IN0 *)p.x + row * p.size, *y = (const IN0 *)p.y + row * p.size;
  IN0 *out = (IN0 *)p.out + row * p.size;
  C sum = (C)0;
#if BURN_V > 0
  C grad[N], output[N];
  burn_take(grad, x, size, p.whole, (C)0);
  burn_take(output, y, size, p.whole, (C)0);
#pragma unroll
  for (int k = 0; k < N; k++) sum += burn_term(grad[k], output[k]);
  sum = burn_row_sum(sum);
#pragma unroll
  for (int k = 0; k < N; k++) grad[k] = burn_result(grad[k], output[k], sum);
  burn_give(out, grad, size, p.whole);
#else
  C grad[W], output[W];
#pragma unroll 4
  for (int64_t c = burn_lane(); c * W < size; c += T) {
    burn_read(grad, x, size, c, p.whole, (C)0);
    burn_read(output, y, size, c, p.whole, (C)0);
    for (int k = 0; k < W; k++) sum += burn_term(grad[k], output[k]);
  }
  sum = burn_row_sum(sum);
#pragma unroll 2
  for (int64_t c = burn_lane(); c * W < size; c += T) {
    burn_read(grad, x, size, c, p.whole, (C)0);
    burn_read(output, y, size, c, p.whole, (C)0);
    for (int k = 0; k < W; k++) grad[k] = burn_result(grad[k], output[k], sum);
    burn_write(out, grad, size, c, p.whole);
  }
#endif
}
#endif

#if BURN_T > 1
extern "C" __global__ void __launch_bounds__(BURN_BLOCK, BURN_RESIDENT) kernel(const GpuRows p) {
  burn_run(p, burn_row());
}
#else
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuRows p) {
  __shared__ C sums[8][33];
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32;
  const int64_t columns = (p.inner + 31) / 32, column = (int64_t)blockIdx.x % columns * 32 + lane;
  const bool is_there = column < p.inner;
  const int64_t start = (int64_t)blockIdx.x / columns * p.size * p.inner + column;
  const IN0 *x = (const IN0 *)p.x + start, *y = (const IN0 *)p.y + start;
  IN0 *out = (IN0 *)p.out + start;
#if !BURN_IS_BACKWARD
  __shared__ C largest[8][33];
  Exponentials part = {(C)-INFINITY, (C)0}, all;
  for (int64_t k = row; k < p.size && is_there; k += 8) {
    const C v = burn_of(burn_get(x[k * p.inner]));
    burn_add_exponentials<1>(part, &v);
  }
  largest[row][lane] = part.most;
  sums[row][lane] = part.sum;
  __syncthreads();
  all.most = largest[0][lane];
  for (int k = 1; k < 8; k++) all.most = burn_larger(all.most, largest[k][lane]);
  all.sum = (C)0;
  for (int k = 0; k < 8; k++) all.sum += burn_shrink(sums[k][lane], largest[k][lane], all.most);
  const C last = burn_last(all);
  for (int64_t k = row; k < p.size && is_there; k += 8)
    burn_put(out[k * p.inner], burn_result(burn_of(burn_get(x[k * p.inner])), all.most, last));
#else
  C sum = (C)0;
  for (int64_t k = row; k < p.size && is_there; k += 8)
    sum += burn_term(burn_get(x[k * p.inner]), burn_get(y[k * p.inner]));
  sums[row][lane] = sum;
  __syncthreads();
  sum = sums[0][lane];
  for (int k = 1; k < 8; k++) sum += sums[k][lane];
  for (int64_t k = row; k < p.size && is_there; k += 8)
    burn_put(out[k * p.inner], burn_result(burn_get(x[k * p.inner]), burn_get(y[k * p.inner]), sum));
#endif
}
#endif
