/* create.cu - tensors from nothing, four elements a thread at a time. BURN_VARIANT: 0 full, 1 arange, 2 uniform,
 * 3 normal, 4 bernoulli. The numbers of the random ones are those of burn/plugin/random.h, which come by fours, too. */
enum { FOUR = 4 };
struct alignas(FOUR * sizeof(OUT)) Four { OUT at[FOUR]; };

#if BURN_VARIANT >= 2
static __device__ inline void burn_random_words(uint32_t *words, uint64_t seed, uint64_t block) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32), c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
  uint32_t c2 = 0, c3 = 0;
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}
#endif

typedef Element<OUT>::C T;

#if BURN_VARIANT == 0
static __device__ inline void burn_make(Four &out, const GpuCreate &p, int64_t) {
  for (int k = 0; k < FOUR; k++) burn_put(out.at[k], Element<OUT>::is_float ? (T)p.first.real : (T)p.first.integer);
}
#elif BURN_VARIANT == 1
static __device__ inline void burn_make(Four &out, const GpuCreate &p, int64_t i) {
  for (int k = 0; k < FOUR; k++)
    burn_put(out.at[k], (T)(int64_t)((uint64_t)p.first.integer + (uint64_t)(i + k) * (uint64_t)p.second.integer));
}
#elif BURN_VARIANT == 2
/* What reaches the end, or would by rounding to a half, is the beginning: for floats, numbers from that of `threshold` on. */
static __device__ inline void burn_uniform(f64_t &out, uint32_t word, const GpuCreate &p) {
  const double low = p.first.real, high = p.second.real, scaled = ((double)word + 0.5) * (1.0 / 4294967296.0) * (high - low);
  out = low + scaled < high ? low + scaled : low;
}
template <class S> static __device__ inline void burn_uniform(S &out, uint32_t word, const GpuCreate &p) {
  if (Element<S>::is_float) {
    const float low = (float)p.first.real, high = (float)p.second.real;
    const float scaled = (float)(word >> 8) * (1.0f / 16777216.0f) * (high - low), sum = low + scaled;
    burn_put(out, sum < burn_from_bits_f32((uint32_t)p.threshold) ? sum : low);
    return;
  }
  const uint64_t range = p.second.integer > p.first.integer ? (uint64_t)p.second.integer - (uint64_t)p.first.integer : 0;
  const uint64_t scaled = range >> 32 ? word : word * range >> 32;
  burn_put(out, (T)((uint64_t)p.first.integer + scaled));
}
static __device__ inline void burn_make(Four &out, const GpuCreate &p, int64_t i) {
  uint32_t words[FOUR];
  burn_random_words(words, p.seed, p.offset + (uint64_t)i / FOUR);
  for (int k = 0; k < FOUR; k++) burn_uniform(out.at[k], words[k], p);
}
#elif BURN_VARIANT == 3
/* Two words give two numbers. */
static __device__ inline void burn_normal(OUT &first, OUT &second, uint32_t a, uint32_t b, const GpuCreate &p) {
  const double unit = 1.0 / 4294967296.0, angle = 6.28318530717958647692 * (double)b * unit;
  const double radius = sqrt(-2.0 * log(((double)a + 1.0) * unit));
#if defined(BURN_SPIRV)
  const double sine = sin(angle), cosine = cos(angle);
#else
  double sine, cosine;
  sincos(angle, &sine, &cosine);
#endif
  burn_put(first, (T)(p.first.real + p.second.real * (radius * cosine))); /* halves go through f32 */
  burn_put(second, (T)(p.first.real + p.second.real * (radius * sine)));
}
static __device__ inline void burn_make(Four &out, const GpuCreate &p, int64_t i) {
  uint32_t words[FOUR];
  burn_random_words(words, p.seed, p.offset + (uint64_t)i / FOUR);
  burn_normal(out.at[0], out.at[1], words[0], words[1], p);
  burn_normal(out.at[2], out.at[3], words[2], words[3], p);
}
#else
static __device__ inline void burn_make(Four &out, const GpuCreate &p, int64_t i) {
  uint32_t words[FOUR];
  burn_random_words(words, p.seed, p.offset + (uint64_t)i / FOUR);
  for (int k = 0; k < FOUR; k++) burn_put(out.at[k], (T)(words[k] < p.threshold ? 1 : 0));
}
#endif

/* The result is new, so it begins where four elements can be written at once. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuCreate p) {
  OUT *out = (OUT *)p.out;
  for (int64_t i = burn_thread() * FOUR; i < p.count; i += burn_threads() * FOUR) {
    Four four;
    burn_make(four, p, i);
    if (i + FOUR <= p.count) {
      *(Four *)(out + i) = four;
      continue;
    }
#pragma unroll
    for (int k = 0; k < FOUR; k++)
      if (i + k < p.count) out[i + k] = four.at[k];
  }
}
