/* loss.cu - losses. Kinds: 0 the cross entropy of each row, as C; 1 its gradient; 2 the sum of such numbers divided by
 * `count`, by one block; 3 sums of (x - y)^2 over parts of all elements, as C; 4 the gradient of its mean.
 *
 * IN0 are the logits, IN1 the targets, IN2 the loss and what comes back to it; OUT is what is written. */
#if BURN_KIND < 2
/* The class of a row; -1, and a complaint, where it is none. -1 for no row. */
static __device__ inline int64_t burn_target(const GpuRows &p, int64_t row) {
  if (!burn_is_row(p, row)) return -1;
  const int64_t target = (int64_t)burn_get(((const IN1 *)p.y)[row]);
  if (target >= 0 && target < p.size) return target;
  if (burn_lane() == 0) burn_complain(p.complaint, p.op, target, row, p.size, 1);
  return -1;
}
#endif

/* Of rows that are read again two are at work at once in a unit of the device: one is read while the other's threads
 * wait for each other. */
#define BURN_AT_ONCE (BURN_V == 0 && BURN_T == 1024 && sizeof(C) == 4 ? 2 : 1)

#if BURN_KIND == 0
extern "C" __global__ void __launch_bounds__(BURN_BLOCK, BURN_AT_ONCE) kernel(const GpuRows p) {
  const int64_t row = burn_row();
  const IN0 *x = (const IN0 *)p.x + row * p.size;
  const Exponentials all = burn_row_exponentials<1>(x, burn_row_size(p, row), p.whole);
  const int64_t target = burn_target(p, row);
  const C hit = target < 0 ? (C)0 : burn_get(x[target]);
  if (burn_is_row(p, row) && burn_lane() == 0) ((C *)p.out)[row] = burn_logarithm(all.sum) - (hit - all.most);
}
#elif BURN_KIND == 1
#if BURN_V == 0
/* Takes `factor` off the target's number, if it is in the vector c, whose numbers are v. */
static __device__ inline void burn_hit(C *v, int64_t c, int64_t target, C factor) {
  if (target < 0 || target / W != c) return;
#pragma unroll
  for (int k = 0; k < W; k++) v[k] = k == (int)(target % W) ? v[k] - factor : v[k];
}

/* How many elements lie before `row` since the last place where a vector can be read. */
template <class S> static __device__ inline int64_t burn_lead(const S *row) {
  return (int64_t)(((uint64_t)row / sizeof(S)) & (uint64_t)(W - 1));
}

struct Gradient {
  C most, share, factor;
  int64_t target; /* negative: none */
};
static __device__ inline void burn_vector_gradient(OUT *out, const Vector<IN0> &x, int64_t c, const Gradient &g) {
  Vector<OUT> result;
  C v[W];
#pragma unroll
  for (int k = 0; k < W; k++) v[k] = burn_decay(burn_get(x.at[k]) - g.most) * g.share;
  burn_hit(v, c, g.target, g.factor);
  for (int k = 0; k < W; k++) burn_put(result.at[k], v[k]);
  *(Vector<OUT> *)(out + c * W) = result;
}
static __device__ inline void burn_one_gradient(OUT *out, const IN0 *x, int64_t i, const Gradient &g) {
  const C v = burn_decay(burn_get(x[i]) - g.most) * g.share;
  burn_put(out[i], i == g.target ? v - g.factor : v);
}

/* The gradient of a row that was read, from its end to its start: what was read last is still in the cache. Vectors are
 * cut where memory has them, and not where the row begins, as each element is computed alone. */
static __device__ inline void burn_row_gradient(OUT *out, const IN0 *x, int64_t size, Gradient g) {
  const int64_t lead = burn_lead(x), end = lead + size, first = lead > 0 ? 1 : 0, last = end / W;
  if (sizeof(IN0) != sizeof(OUT) || burn_lead(out) != lead) {
    for (int64_t i = burn_lane(); i < size; i += T) burn_one_gradient(out, x, i, g);
    return;
  }
  x -= lead;
  out -= lead;
  if (g.target >= 0) g.target += lead;
  int64_t c = last - 1 - burn_lane();
  for (; c - T >= first; c -= 2 * T) {
    Vector<IN0> near, far;
    burn_load<AT_ONCE>(near, x + c * W);
    burn_load<AT_ONCE>(far, x + (c - T) * W);
    burn_vector_gradient(out, near, c, g);
    burn_vector_gradient(out, far, c - T, g);
  }
  if (c >= first) {
    Vector<IN0> near;
    burn_load<AT_ONCE>(near, x + c * W);
    burn_vector_gradient(out, near, c, g);
  }
  const int64_t tail = (last < first ? first : last) * W + burn_lane(), head = burn_lane();
  if (tail < end) burn_one_gradient(out, x, tail, g);
  if (head >= lead && head < first * W && head < end) burn_one_gradient(out, x, head, g);
}
#endif

extern "C" __global__ void __launch_bounds__(BURN_BLOCK, BURN_AT_ONCE) kernel(const GpuRows p) {
  const int64_t row = burn_row(), size = burn_row_size(p, row);
  const IN0 *x = (const IN0 *)p.x + row * p.size;
  OUT *out = (OUT *)p.out + row * p.size;
  const int64_t target = burn_target(p, row);
  const C factor = burn_get(*(const IN2 *)p.grad) / (C)p.outer;
#if BURN_V > 0
  C v[N], lanes[W], most = (C)-INFINITY;
  burn_take(v, x, size, p.whole, (C)-INFINITY);
#pragma unroll
  for (int k = 0; k < N; k++) most = burn_larger(most, v[k]);
  most = burn_row_largest(most);
#pragma unroll
  for (int k = 0; k < W; k++) lanes[k] = (C)0;
#pragma unroll
  for (int k = 0; k < N; k++) lanes[k % W] += v[k] = burn_decay(v[k] - most);
  const C share = (C)(1.0 / burn_row_total(lanes));
#pragma unroll
  for (int k = 0; k < N; k++) {
    const bool is_hit = target == (int64_t)(k / W * T + burn_lane()) * W + k % W;
    v[k] = (is_hit ? burn_fused(v[k], share, (C)-1) : v[k] * share) * factor;
  }
  burn_give(out, v, size, p.whole);
#else
  const Exponentials all = burn_row_exponentials<1>(x, size, p.whole);
  const Gradient gradient = {all.most, factor / all.sum, factor, target};
  burn_row_gradient(out, x, size, gradient);
#endif
}
#elif BURN_KIND == 2
/* 1,024 sums, joined in one order, whatever the number of threads. */
enum { SUMS = 1024 };
extern "C" __global__ void __launch_bounds__(BURN_BLOCK) kernel(const GpuRows p) {
  __shared__ double shared[SUMS];
  for (int i = threadIdx.x; i < SUMS; i += T) {
    double sum = 0.0;
    for (int64_t k = i; k < p.size; k += SUMS) sum += (double)((const C *)p.x)[k];
    shared[i] = sum;
  }
  for (int step = SUMS / 2; step > 0; step /= 2) {
    __syncthreads();
    for (int i = threadIdx.x; i < step; i += T) shared[i] += shared[i + step];
  }
  if (threadIdx.x == 0) burn_put(*(OUT *)p.out, shared[0] / (double)p.count);
}
#elif BURN_KIND == 3
extern "C" __global__ void __launch_bounds__(BURN_BLOCK) kernel(const GpuRows p) {
  const int64_t start = (int64_t)blockIdx.x * p.part_size;
  const int64_t size = p.size - start < p.part_size ? p.size - start : p.part_size;
  const IN0 *x = (const IN0 *)p.x + start, *y = (const IN0 *)p.y + start;
  C sum = (C)0, a[W], b[W];
#pragma unroll 4
  for (int64_t c = burn_lane(); c * W < size; c += T) {
    burn_read(a, x, size, c, p.whole, (C)0);
    burn_read(b, y, size, c, p.whole, (C)0);
    for (int k = 0; k < W; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
  }
  sum = burn_row_sum(sum);
  if (threadIdx.x == 0) ((C *)p.out)[blockIdx.x] = sum;
}
#else
extern "C" __global__ void __launch_bounds__(BURN_BLOCK) kernel(const GpuRows p) {
  const int64_t c = burn_thread();
  const C factor = burn_get(*(const IN0 *)p.grad) / (C)p.size * (C)2;
  C a[W], b[W];
  if (c * W >= p.size) return;
  burn_read(a, (const IN0 *)p.x, p.size, c, p.whole, (C)0);
  burn_read(b, (const IN0 *)p.y, p.size, c, p.whole, (C)0);
  for (int k = 0; k < W; k++) a[k] = (a[k] - b[k]) * factor;
  burn_write((OUT *)p.out, a, p.size, c, p.whole);
}
#endif
