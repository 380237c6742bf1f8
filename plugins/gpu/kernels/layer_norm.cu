/* layer_norm.cu - normalization of rows. Kinds: 0 forward, 1 the gradients.
 *
 * 1: a row's threads do `part_size` rows one after the other, and add up what these give to gamma and beta; a block
 * leaves its sums, [2, blocks, size] of C. A part's vectors belong to the same threads all the time.
 *
 * IN0 is x, IN1 its result's gradient, IN2 gamma and beta; OUT is what has x's shape. */
/* The mean of a row and 1 / sqrt(variance + epsilon). */
struct Statistics { C mean, scale; };

#if BURN_V > 0
static __device__ inline Statistics burn_statistics(const C *v, const GpuRows &p) {
  Statistics s;
  C sum = (C)0, squares = (C)0;
#pragma unroll
  for (int k = 0; k < N; k++) sum += v[k]; /* 0 beyond the end */
  s.mean = burn_row_sum_in<0>(sum) / (C)p.size;
#pragma unroll
  for (int i = 0; i < V; i++) {
    const int there = burn_there(p.size, i);
#pragma unroll
    for (int k = 0; k < W; k++) {
      const C distance = k < there ? v[i * W + k] - s.mean : (C)0;
      squares += distance * distance;
    }
  }
  s.scale = (C)1 / burn_root(burn_row_sum_in<1>(squares) / (C)p.size + (C)p.epsilon);
  return s;
}
#else
static __device__ inline Statistics burn_statistics(const IN0 *x, int64_t size, const GpuRows &p) {
  Statistics s;
  C sum = (C)0, squares = (C)0, v[W];
#pragma unroll 4
  for (int64_t c = burn_lane(); c * W < size; c += T) {
    burn_read(v, x, size, c, p.whole, (C)0);
    for (int k = 0; k < W; k++) sum += v[k];
  }
  s.mean = burn_row_sum(sum) / (C)p.size;
#pragma unroll 4
  for (int64_t c = burn_lane(); c * W < size; c += T) {
    burn_read(v, x, size, c, p.whole, s.mean);
    for (int k = 0; k < W; k++) squares += (v[k] - s.mean) * (v[k] - s.mean);
  }
  s.scale = (C)1 / burn_root(burn_row_sum(squares) / (C)p.size + (C)p.epsilon);
  return s;
}
#endif

#if BURN_KIND == 0
static __device__ inline void burn_finish(OUT *out, C *v, int64_t size, int64_t c, const Statistics &s, const GpuRows &p) {
  C gamma[W], beta[W];
  burn_read(gamma, (const IN2 *)p.gamma, p.size, c, p.whole, (C)0);
  for (int k = 0; k < W; k++) beta[k] = (C)0;
  if (p.beta != 0) burn_read(beta, (const IN2 *)p.beta, p.size, c, p.whole, (C)0);
  for (int k = 0; k < W; k++) {
    v[k] = (v[k] - s.mean) * s.scale * gamma[k];
    if (p.beta != 0) v[k] += beta[k];
  }
  burn_write(out, v, size, c, p.whole);
}

extern "C" __global__ void __launch_bounds__(BURN_BLOCK, BURN_RESIDENT) kernel(const GpuRows p) {
  const int64_t size = burn_row_size(p, burn_row());
  const IN0 *x = (const IN0 *)p.x + burn_row() * p.size;
  OUT *out = (OUT *)p.out + burn_row() * p.size;
#if BURN_V > 0
  C v[N];
  burn_take(v, x, size, p.whole, (C)0);
  const Statistics s = burn_statistics(v, p);
#pragma unroll
  for (int i = 0; i < V; i++) burn_finish(out, v + i * W, size, i * T + burn_lane(), s, p);
#else
  const Statistics s = burn_statistics(x, size, p);
  C v[W];
#pragma unroll 2
  for (int64_t c = burn_lane(); c * W < size; c += T) {
    burn_read(v, x, size, c, p.whole, (C)0);
    burn_finish(out, v, size, c, s, p);
  }
#endif
}
#else
/* Adds a vector's share of the gradients of gamma and beta: grad times the normalised x, and grad. */
static __device__ inline void burn_add_part(C *part, int64_t size, int64_t c, const C *v, bool first) {
  for (int k = 0; k < W && c * W + k < size; k++)
    part[c * W + k] = first ? v[k] : part[c * W + k] + v[k];
}

/* Warps of no part, and of a shorter one, go along with the others of their block. */
static __device__ inline bool burn_goes_on(const GpuRows &p, int64_t row) { return T == 32 || row < p.outer; }

#if BURN_V > 0
/* Blocks that a unit of the device is to have at work at once, of rows without ends to look for: so many registers do. */
#define BURN_AT_WORK (BURN_EXACT && sizeof(C) == 4 ? (N <= 8 ? 1024 : 512) / BURN_BLOCK : 1)

/* What the block has added up; warps of it join theirs. */
static __device__ inline void burn_leave(C *part, const C *sums, int64_t size) {
#if BURN_T == 32
  __shared__ C shared[8][T * W];
#pragma unroll
  for (int i = 0; i < V; i++) {
    __syncthreads();
    for (int k = 0; k < W; k++) shared[threadIdx.x / 32][burn_lane() * W + k] = sums[i * W + k];
    __syncthreads();
    for (int c = threadIdx.x; c < T * W && i * T * W + c < size; c += 256) {
      C sum = shared[0][c];
      for (int warp = 1; warp < 8; warp++) sum += shared[warp][c];
      part[i * T * W + c] = sum;
    }
  }
#else
#pragma unroll
  for (int i = 0; i < V; i++) burn_add_part(part, size, i * T + burn_lane(), sums + i * W, true);
#endif
}

/* The gradient of a row, from x in v and its result's gradient in g, into v; `gammas` and `betas` take what it gives
 * to gamma and beta. */
static __device__ inline void burn_row_gradient(C *v, C *g, C *gammas, C *betas, bool is_row, const GpuRows &p) {
  const Statistics s = burn_statistics(v, p);
  C gamma[W], mean = (C)0, along = (C)0;
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = (v[k] - s.mean) * s.scale;
  if (is_row) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      gammas[k] += g[k] * v[k];
      betas[k] += g[k];
    }
  }
#pragma unroll
  for (int i = 0; i < V; i++) {
    burn_read(gamma, (const IN2 *)p.gamma, p.size, i * T + burn_lane(), p.whole, (C)0);
#pragma unroll
    for (int k = 0; k < W; k++) {
      g[i * W + k] = g[i * W + k] * gamma[k]; /* 0 beyond the end */
      mean += g[i * W + k];
      along += g[i * W + k] * v[i * W + k];
    }
  }
  burn_row_sums_in<2>(mean, along);
  mean = mean / (C)p.size;
  along = along / (C)p.size;
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = (g[k] - mean - v[k] * along) * s.scale;
}

extern "C" __global__ void __launch_bounds__(BURN_BLOCK, BURN_AT_WORK) kernel(const GpuRows p) {
  const int64_t end = burn_row() * p.part_size + p.part_size;
  C gammas[N], betas[N];
#pragma unroll
  for (int k = 0; k < N; k++) gammas[k] = betas[k] = (C)0;
  for (int64_t row = burn_row() * p.part_size; row < end && burn_goes_on(p, row); row++) {
    const int64_t size = burn_row_size(p, row);
    Vector<IN0> x[N / W];
    Vector<IN1> y[N / W];
    C v[N], g[N];
    burn_fetch<N / W>(x, (const IN0 *)p.x + row * p.size, size, burn_lane(), p.whole);
    burn_fetch<N / W>(y, (const IN1 *)p.y + row * p.size, size, burn_lane(), p.whole);
    burn_convert<N / W>(v, x, size, burn_lane(), (C)0);
    burn_convert<N / W>(g, y, size, burn_lane(), (C)0);
    burn_row_gradient(v, g, gammas, betas, burn_is_row(p, row), p);
    burn_give((OUT *)p.out + row * p.size, v, size, p.whole);
  }
  C *parts = (C *)p.partial + (int64_t)blockIdx.x * p.size;
  burn_leave(parts, gammas, p.size);
  burn_leave(parts + gridDim.x * p.size, betas, p.size);
}
#else
extern "C" __global__ void __launch_bounds__(BURN_BLOCK) kernel(const GpuRows p) {
  const int64_t begin = burn_row() * p.part_size, end = begin + p.part_size;
  C *parts = (C *)p.partial + (int64_t)blockIdx.x * p.size;
  for (int64_t row = begin; row < end && burn_goes_on(p, row); row++) {
    const int64_t size = burn_row_size(p, row);
    const IN0 *x = (const IN0 *)p.x + row * p.size;
    const IN1 *y = (const IN1 *)p.y + row * p.size;
    const Statistics s = burn_statistics(x, size, p);
    C v[W], g[W], gamma[W], mean = (C)0, along = (C)0;
    for (int64_t c = burn_lane(); c * W < size; c += T) {
      burn_read(v, x, size, c, p.whole, (C)0);
      burn_read(g, y, size, c, p.whole, (C)0);
      burn_read(gamma, (const IN2 *)p.gamma, p.size, c, p.whole, (C)0);
      burn_add_part(parts + gridDim.x * p.size, size, c, g, row == begin);
      for (int k = 0; k < W; k++) {
        const C normal = (v[k] - s.mean) * s.scale;
        mean += g[k] * gamma[k];
        along += g[k] * gamma[k] * normal;
        g[k] *= normal;
      }
      burn_add_part(parts, size, c, g, row == begin);
    }
    mean = burn_row_sum(mean) / (C)p.size;
    along = burn_row_sum(along) / (C)p.size;
    for (int64_t c = burn_lane(); c * W < size; c += T) {
      burn_read(v, x, size, c, p.whole, (C)0);
      burn_read(g, y, size, c, p.whole, (C)0);
      burn_read(gamma, (const IN2 *)p.gamma, p.size, c, p.whole, (C)0);
      for (int k = 0; k < W; k++) {
        const C normal = (v[k] - s.mean) * s.scale;
        v[k] = (g[k] * gamma[k] - mean - normal * along) * s.scale;
      }
      burn_write((OUT *)p.out + row * p.size, v, size, c, p.whole);
    }
  }
}
#endif
#endif
