/* create.cu - tensors from nothing. BURN_VARIANT: 0 full, 1 arange, 2 uniform, 3 normal, 4 bernoulli. The numbers of the
 * random ones are those of burn/plugin/random.h. */
static __device__ inline uint32_t burn_random_word(uint64_t seed, uint64_t offset, uint64_t element) {
  const uint64_t block = offset + element / 4u;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32), c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
  uint32_t c2 = 0, c3 = 0;
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
  const uint32_t which = (uint32_t)(element % 4u);
  return which == 0 ? c0 : which == 1 ? c1 : which == 2 ? c2 : c3;
}

typedef Element<OUT>::C T;

#if BURN_VARIANT == 0
static __device__ inline void burn_make(OUT &out, const CudaCreate &p, int64_t i) {
  burn_put(out, Element<OUT>::is_float ? (T)p.first.real : (T)p.first.integer);
}
#elif BURN_VARIANT == 1
static __device__ inline void burn_make(OUT &out, const CudaCreate &p, int64_t i) {
  const int64_t value = (int64_t)((uint64_t)p.first.integer + (uint64_t)i * (uint64_t)p.second.integer);
  burn_put(out, Element<OUT>::is_float ? (T)value : (T)value);
}
#elif BURN_VARIANT == 2
/* Rounding to a half may reach the end, which is outside: then it is the beginning. */
static __device__ inline void burn_uniform(f64_t &out, uint32_t word, const CudaCreate &p) {
  const double low = p.first.real, high = p.second.real, scaled = ((double)word + 0.5) * (1.0 / 4294967296.0) * (high - low);
  out = low + scaled < high ? low + scaled : low;
}
template <class S> static __device__ inline void burn_uniform(S &out, uint32_t word, const CudaCreate &p) {
  if (Element<S>::is_float) {
    const float low = (float)p.first.real, high = (float)p.second.real;
    const float scaled = (float)(word >> 8) * (1.0f / 16777216.0f) * (high - low), sum = low + scaled;
    burn_put(out, sum < high ? sum : low);
    if (!((float)burn_get(out) < high)) burn_put(out, low);
    return;
  }
  const uint64_t range = p.second.integer > p.first.integer ? (uint64_t)p.second.integer - (uint64_t)p.first.integer : 0;
  const uint64_t scaled = range >> 32 ? word : word * range >> 32;
  burn_put(out, (T)((uint64_t)p.first.integer + scaled));
}
static __device__ inline void burn_make(OUT &out, const CudaCreate &p, int64_t i) {
  burn_uniform(out, burn_random_word(p.seed, p.offset, (uint64_t)i), p);
}
#elif BURN_VARIANT == 3
static __device__ inline void burn_make(OUT &out, const CudaCreate &p, int64_t i) {
  const double a = burn_random_word(p.seed, p.offset, (uint64_t)(i - i % 2));
  const double b = burn_random_word(p.seed, p.offset, (uint64_t)(i - i % 2 + 1));
  const double unit = 1.0 / 4294967296.0, angle = 6.28318530717958647692 * b * unit;
  const double radius = sqrt(-2.0 * log((a + 1.0) * unit));
  const double number = radius * (i % 2 ? sin(angle) : cos(angle)), value = p.first.real + p.second.real * number;
  burn_put(out, (T)value); /* halves go through f32 */
}
#else
static __device__ inline void burn_make(OUT &out, const CudaCreate &p, int64_t i) {
  burn_put(out, (T)(burn_random_word(p.seed, p.offset, (uint64_t)i) < p.threshold ? 1 : 0));
}
#endif

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaCreate p) {
  for (int64_t i = burn_thread(); i < p.count; i += burn_threads()) burn_make(((OUT *)p.out)[i], p, i);
}
