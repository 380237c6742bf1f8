/* fused_parts.cu - what the text of a fused body calls (gpu_fused_text.c); after the prelude, before the body. */
template <class S, int W> struct alignas(sizeof(S) * W) Vector { S at[W]; };

/* A number of the call: the bits of an f32 (of an f64 where a step computes in that). */
static __device__ inline float fused_number(uint64_t bits) { return __uint_as_float((uint32_t)bits); }

/* n / d for n < 2^31 by a product: the low half of `magic` and, above it, a shift. */
static __device__ inline uint32_t fused_divide(uint32_t n, uint32_t, uint64_t magic) {
  return ((uint32_t)((uint64_t)n * (uint32_t)magic >> 32) + n) >> (uint32_t)(magic >> 32);
}
static __device__ inline int64_t fused_divide(int64_t n, int64_t d, uint64_t) { return n / d; }

/* Elements as steps see them: bools, and what all else is computed in. */
static __device__ inline bool fused_get(bool_t x) { return x.bits != 0; }
template <class S> static __device__ inline COMPUTE(S) fused_get(S x) { return burn_get(x); }

/* `left` elements in order, of which W count; those that are not there are 0. By one access, or one by one. */
template <class S, int W, class V> static __device__ inline void fused_vector(const S *from, int64_t left, V *to) {
  Vector<S, W> in;
  if (left >= W) {
    in = *(const Vector<S, W> *)from;
  } else {
    for (int k = 0; k < W; k++) in.at[k] = from[k < left ? k : 0];
  }
#pragma unroll
  for (int k = 0; k < W; k++) to[k] = fused_get(in.at[k]);
}
template <class S, int W, class V>
static __device__ inline void fused_lanes(const S *from, int64_t step, int64_t left, V *to) {
#pragma unroll
  for (int k = 0; k < W; k++) to[k] = fused_get(from[k < left ? k * step : 0]);
}
/* Elements that serve SPREAD places each, from place `at` of a line on. */
template <class S, int W, int SPREAD, class P, class V>
static __device__ inline void fused_spread(const S *from, P at, int64_t step, int64_t left, V *to) {
#pragma unroll
  for (int k = 0; k < W; k++) to[k] = fused_get(from[(int64_t)((at + (P)(k < left ? k : 0)) / (P)SPREAD) * step]);
}
template <class S, int W, class V> static __device__ inline void fused_same(const S *from, V *to) {
  const V one = fused_get(from[0]);
#pragma unroll
  for (int k = 0; k < W; k++) to[k] = one;
}
template <class S, int W> static __device__ inline void fused_store(S *to, int64_t left, const Vector<S, W> &out) {
  if (left >= W) {
    *(Vector<S, W> *)to = out;
  } else {
#pragma unroll
    for (int k = 0; k < W; k++)
      if (k < left) to[k] = out.at[k];
  }
}

static __device__ inline float fused_quotient(float x, float s, uint64_t reciprocal) {
#if BURN_HAS_FAST_F64
  return burn_quotient(x, burn_from_bits_f64(reciprocal));
#else
  return x / s;
#endif
}

/* 0 + x: -0 becomes 0. By bits, as drivers take the sum for x. */
static __device__ inline float fused_add_to_zero(float x) { return burn_bits_f32(x) << 1 == 0u ? 0.0f : x; }
static __device__ inline double fused_add_to_zero(double x) { return burn_bits_f64(x) << 1 == 0u ? 0.0 : x; }

/* A step's result as its dtype has it. */
static __device__ inline float fused_round_f16_t(float x) { return burn_through_half(x); }
static __device__ inline float fused_round_bf16_t(float x) { return burn_brain_to_f32(burn_f32_to_brain(x)); }

/* How reductions join two numbers, as kernels/join.cu does; NaN stays. */
static __device__ inline float fused_sum(float a, float b) { return a + b; }
static __device__ inline double fused_sum(double a, double b) { return a + b; }
static __device__ inline int64_t fused_sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
template <class A> static __device__ inline A fused_largest(A a, A b) { return (b > a || b != b) && a == a ? b : a; }
template <class A> static __device__ inline A fused_smallest(A a, A b) { return (b < a || b != b) && a == a ? b : a; }

/* Words of burn/plugin/random.h: of four elements at once, or of fewer. */
static __device__ inline void fused_random(uint64_t seed, uint64_t block, uint32_t *c) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  c[0] = (uint32_t)block;
  c[1] = (uint32_t)(block >> 32);
  c[2] = c[3] = 0;
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
    c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
    c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
    c[1] = (uint32_t)p1;
    c[3] = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
template <int W>
static __device__ inline void fused_words(uint64_t seed, uint64_t offset, uint64_t element, uint32_t *to) {
  uint32_t four[4];
#pragma unroll
  for (int k = 0; k < W; k++) {
    if (k % 4 == 0) fused_random(seed, offset + (element + k) / 4u, four);
    const uint32_t which = W < 4 ? (uint32_t)((element + k) % 4u) : (uint32_t)k % 4u;
    to[k] = which == 0 ? four[0] : which == 1 ? four[1] : which == 2 ? four[2] : four[3];
  }
}

/* The f32 of [low, high) that random_uniform makes of a word. */
static __device__ inline float fused_uniform(uint32_t word, float low, float high) {
  const float scaled = (float)(word >> 8) * (1.0f / 16777216.0f) * (high - low), sum = low + scaled;
  return sum < high ? sum : low;
}
