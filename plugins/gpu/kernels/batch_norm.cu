/* batch_norm.cu - normalization by channel of x [samples, channels, rest], whose rest is 1 if channels come last. Kinds: 0
 * by given means and variances; 1 the sums of a channel's parts, 2 normalization by these, 3 both at once; 4 to 6 the same
 * for the gradients.
 *
 * A channel has samples * rest elements, in parts of `part_size`. BURN_COLUMNS: a block has 32 channels beside each other
 * and 8 rows of threads, for short `rest`; else it has one channel. A thread takes vectors where `rest` is made of
 * them, so the order of sums follows from the shape. Sums are of f64. */
#define BURN_KIND (BURN_VARIANT % 128)
#define BURN_COLUMNS (BURN_VARIANT / 128)
#define BURN_IS_BACKWARD (BURN_KIND >= 4)
#define BURN_HAS_SUMS (BURN_KIND == 1 || BURN_KIND == 3 || BURN_KIND == 4 || BURN_KIND == 6)
#define BURN_HAS_RESULT (BURN_KIND != 1 && BURN_KIND != 4)
typedef Element<IN0>::C C;
#if !defined(BURN_CHANNEL_THREADS)
#define BURN_CHANNEL_THREADS 512
#endif
enum { T = BURN_COLUMNS ? 256 : BURN_CHANNEL_THREADS, ROWS = BURN_COLUMNS ? 8 : T, W = BURN_COLUMNS ? 1 : 16 / sizeof(IN0) };

static __device__ inline float burn_root(float x) { return sqrtf(x); }
static __device__ inline double burn_root(double x) { return sqrt(x); }

/* Of a channel: where it is, and which of its elements are the block's. */
struct Part { int64_t channel, begin, end; int row; bool is_there; };

static __device__ inline Part burn_part(const GpuBatchNorm &p) {
  const int64_t group = (int64_t)blockIdx.x / p.parts, count = p.samples * p.rest;
  Part part;
  part.channel = BURN_COLUMNS ? group * 32 + threadIdx.x % 32 : group;
  part.row = BURN_COLUMNS ? threadIdx.x / 32 : threadIdx.x;
  part.is_there = part.channel < p.channels;
  part.begin = (int64_t)blockIdx.x % p.parts * p.part_size;
  part.end = part.begin + p.part_size < count ? part.begin + p.part_size : count;
  if (!part.is_there) part.channel = 0;
  return part;
}

/* Where element e of a channel is. */
static __device__ inline int64_t burn_place(const GpuBatchNorm &p, int64_t channel, int64_t e) {
  const int64_t sample = p.is_small ? (int64_t)((uint32_t)e / (uint32_t)p.rest) : e / p.rest;
  return (sample * p.channels + channel) * p.rest + (e - sample * p.rest);
}

template <int S> struct alignas(sizeof(IN0) * S) Vector { IN0 at[S]; };
template <int S> static __device__ inline void burn_read(C *v, uint64_t from, int64_t at, bool whole) {
  const IN0 *x = (const IN0 *)from + at;
  if (whole) {
    const Vector<S> vector = *(const Vector<S> *)x;
    for (int k = 0; k < S; k++) v[k] = burn_get(vector.at[k]);
    return;
  }
  for (int k = 0; k < S; k++) v[k] = burn_get(x[k]);
}
template <int S> static __device__ inline void burn_write(const C *v, uint64_t to, int64_t at, bool whole) {
  IN0 *out = (IN0 *)to + at;
  if (whole) {
    Vector<S> vector;
    for (int k = 0; k < S; k++) burn_put(vector.at[k], v[k]);
    *(Vector<S> *)out = vector;
    return;
  }
  for (int k = 0; k < S; k++) burn_put(out[k], v[k]);
}
static __device__ inline C burn_number(uint64_t numbers, int64_t i) { return burn_get(((const IN0 *)numbers)[i]); }

/* Forward: of x - center and its square, where the center is the channel's first element. Backward: of grad, and of grad
 * times x - mean. */
struct Sums { double first, second; };

#if BURN_HAS_SUMS
template <int S> static __device__ inline Sums burn_add(const GpuBatchNorm &p, const Part &part, C center) {
  Sums sums = {0.0, 0.0};
  C x[S], grad[S];
#if BURN_COLUMNS
#pragma unroll 8
#else
#pragma unroll 2
#endif
  for (int64_t e = part.begin + part.row * S; e < part.end; e += ROWS * S) {
    const int64_t at = burn_place(p, part.channel, e);
    C first = (C)0, second = (C)0;
    burn_read<S>(x, p.x, at, S > 1 && p.whole);
    if (BURN_IS_BACKWARD) burn_read<S>(grad, p.grad, at, S > 1 && p.whole);
    for (int k = 0; k < S; k++) {
      const C distance = x[k] - center;
      first += BURN_IS_BACKWARD ? grad[k] : distance;
      second += BURN_IS_BACKWARD ? grad[k] * distance : distance * distance;
    }
    sums.first += (double)first;
    sums.second += (double)second;
  }
  return sums;
}

#endif

#if BURN_HAS_SUMS || BURN_COLUMNS
/* What all threads of a channel have together: the same for each of them. */
static __device__ inline Sums burn_join(Sums sums) {
#if BURN_COLUMNS
  __shared__ double shared[2][8][33];
  const int lane = threadIdx.x % 32;
  shared[0][threadIdx.x / 32][lane] = sums.first;
  shared[1][threadIdx.x / 32][lane] = sums.second;
  __syncthreads();
  sums.first = shared[0][0][lane];
  sums.second = shared[1][0][lane];
  for (int k = 1; k < 8; k++) {
    sums.first += shared[0][k][lane];
    sums.second += shared[1][k][lane];
  }
#else
  __shared__ double shared[2][T / 32];
  for (int step = 16; step > 0; step /= 2) {
    sums.first += __shfl_xor_sync(0xffffffffu, sums.first, step);
    sums.second += __shfl_xor_sync(0xffffffffu, sums.second, step);
  }
  if (threadIdx.x % 32 == 0) {
    shared[0][threadIdx.x / 32] = sums.first;
    shared[1][threadIdx.x / 32] = sums.second;
  }
  __syncthreads();
  sums.first = shared[0][0];
  sums.second = shared[1][0];
  for (int k = 1; k < T / 32; k++) {
    sums.first += shared[0][k];
    sums.second += shared[1][k];
  }
#endif
  return sums;
}
#endif

static __device__ inline C burn_center(const GpuBatchNorm &p, int64_t channel) {
  if (BURN_IS_BACKWARD) return burn_number(p.mean, channel);
  return p.samples * p.rest > 0 ? burn_number(p.x, channel * p.rest) : (C)0;
}

#if BURN_HAS_RESULT
/* The result is (x - center) * gain + shift; backward it is (grad - shift - (x - center) * slope) * gain. */
struct Affine { C center, gain, shift, slope; };

template <int S> static __device__ inline void burn_finish(const GpuBatchNorm &p, const Part &part, const Affine &a) {
  C x[S], grad[S];
#if BURN_COLUMNS
#pragma unroll 8
#else
#pragma unroll 2
#endif
  for (int64_t e = part.begin + part.row * S; e < part.end; e += ROWS * S) {
    const int64_t at = burn_place(p, part.channel, e);
    burn_read<S>(x, p.x, at, S > 1 && p.whole);
    if (BURN_IS_BACKWARD) burn_read<S>(grad, p.grad, at, S > 1 && p.whole);
    for (int k = 0; k < S; k++)
      x[k] = BURN_IS_BACKWARD ? (grad[k] - a.shift - (x[k] - a.center) * a.slope) * a.gain
                              : (x[k] - a.center) * a.gain + a.shift;
    burn_write<S>(x, p.out, at, S > 1 && p.whole);
  }
}

/* From sums of a whole channel. The first part of a channel writes what else the op gives. */
static __device__ inline Affine burn_affine(const GpuBatchNorm &p, const Part &part, const Sums &sums) {
  const int64_t c = part.channel;
  const double count = (double)(p.samples * p.rest);
  const bool writes = part.is_there && part.begin == 0 && part.row == 0;
  const C gamma = burn_number(p.gamma, c);
  Affine a;
  a.center = burn_center(p, c);
#if BURN_KIND == 0
  a.center = burn_number(p.mean, c);
  a.gain = gamma / burn_root(burn_number(p.var, c) + (C)p.epsilon);
  a.shift = burn_number(p.beta, c);
#elif BURN_IS_BACKWARD
  const C scale = (C)1 / burn_root(burn_number(p.var, c) + (C)p.epsilon);
  a.gain = gamma * scale;
  a.shift = (C)(sums.first / count);
  a.slope = (C)(sums.second / count) * scale * scale;
  if (writes) {
    burn_put(((IN0 *)p.gamma_out)[c], (C)sums.second * scale);
    burn_put(((IN0 *)p.beta_out)[c], (C)sums.first);
  }
#else
  const double distance = sums.first / count, mean = (double)a.center + distance;
  const double square = sums.second / count - distance * distance, var = square < 0.0 ? 0.0 : square;
  a.center = (C)mean;
  a.gain = gamma / burn_root((C)var + (C)p.epsilon);
  a.shift = burn_number(p.beta, c);
  if (writes) {
    burn_put(((IN0 *)p.mean_out)[c], (C)mean);
    burn_put(((IN0 *)p.var_out)[c], (C)var);
  }
#endif
  return a;
}
#endif

extern "C" __global__ void __launch_bounds__(T) kernel(const GpuBatchNorm p) {
  const Part part = burn_part(p);
  Sums sums = {0.0, 0.0};
#if BURN_HAS_SUMS
  const C center = burn_center(p, part.channel);
  sums = burn_join(W > 1 && p.is_wide ? burn_add<W>(p, part, center) : burn_add<1>(p, part, center));
#endif
#if !BURN_HAS_RESULT
  double *parts = (double *)p.partial + 2 * (part.channel * p.parts + (int64_t)blockIdx.x % p.parts);
  if (part.row == 0 && part.is_there) {
    parts[0] = sums.first;
    parts[1] = sums.second;
  }
#else
#if BURN_KIND == 2 || BURN_KIND == 5
  const double *parts = (const double *)p.partial + 2 * part.channel * p.parts;
  for (int64_t k = BURN_COLUMNS ? part.row : 0; k < p.parts; k += BURN_COLUMNS ? ROWS : 1) {
    sums.first += parts[2 * k];
    sums.second += parts[2 * k + 1];
  }
#if BURN_COLUMNS
  sums = burn_join(sums);
#endif
#endif
  const Affine affine = burn_affine(p, part, sums);
  if (!part.is_there) return;
  if (W > 1 && p.is_wide)
    burn_finish<W>(p, part, affine);
  else
    burn_finish<1>(p, part, affine);
#endif
}
