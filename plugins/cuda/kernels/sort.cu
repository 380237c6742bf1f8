/* sort.cu - the order of the elements of each line, by a bitonic sort of keys and indices: equal keys keep their order,
 * as the index decides. A line is padded to a power of two with keys above all.
 *
 * BURN_VARIANT 0: all in one block's shared memory, lines of at most 4,096. Longer ones lie in memory: 1 writes keys
 * and indices, 2 is one step of the sort, 3 writes the result. */
static __device__ inline int64_t burn_key(f16_t x) {
  const int16_t bits = (int16_t)x.bits;
  return bits < 0 ? bits ^ 0x7fff : bits;
}
static __device__ inline int64_t burn_key(bf16_t x) {
  const int16_t bits = (int16_t)x.bits;
  return bits < 0 ? bits ^ 0x7fff : bits;
}
static __device__ inline int64_t burn_key(f32_t x) {
  const int32_t bits = __float_as_int(x);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
static __device__ inline int64_t burn_key(f64_t x) {
  const int64_t bits = __double_as_longlong(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}
template <class S> static __device__ inline int64_t burn_key(S x) { return (int64_t)burn_get(x); }

static __device__ inline int64_t burn_place(const CudaSort &p, int64_t line, int64_t k) {
  return (line / p.inner * p.size + k) * p.inner + line % p.inner;
}
static __device__ inline int64_t burn_key_at(const CudaSort &p, int64_t line, int64_t k) {
  if (k >= p.size) return INT64_MAX;
  const int64_t key = burn_key(((const IN0 *)p.in)[burn_place(p, line, k)]);
  return p.descending ? ~key : key;
}
/* Puts elements i and j, where i < j, in the order that the sort wants there. */
template <class I>
static __device__ inline void burn_exchange(int64_t *keys, I *indices, int64_t i, int64_t j, bool rising) {
  const bool is_above = keys[i] > keys[j] || (keys[i] == keys[j] && indices[i] > indices[j]);
  if (is_above != rising) return;
  const int64_t key = keys[i];
  const I index = indices[i];
  keys[i] = keys[j];
  indices[i] = indices[j];
  keys[j] = key;
  indices[j] = index;
}

extern "C" __global__ void __launch_bounds__(512) kernel(const CudaSort p) {
#if BURN_VARIANT == 0
  __shared__ int64_t keys[4096];
  __shared__ int32_t indices[4096];
  const int64_t line = blockIdx.x;
  for (int64_t k = threadIdx.x; k < p.padded; k += blockDim.x) {
    keys[k] = burn_key_at(p, line, k);
    indices[k] = (int32_t)k;
  }
  for (int64_t span = 2; span <= p.padded; span *= 2) {
    for (int64_t distance = span / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int64_t pair = threadIdx.x; pair < p.padded / 2; pair += blockDim.x) {
        const int64_t i = pair / distance * 2 * distance + pair % distance;
        burn_exchange(keys, indices, i, i + distance, (i & span) == 0);
      }
    }
  }
  __syncthreads();
  for (int64_t k = threadIdx.x; k < p.size; k += blockDim.x)
    burn_put(((OUT *)p.out)[burn_place(p, line, k)], indices[k]);
#else
  int64_t *keys = (int64_t *)p.ranks, *indices = keys + p.outer * p.inner * p.padded;
  const int64_t t = burn_thread();
#if BURN_VARIANT == 1
  if (t >= p.outer * p.inner * p.padded) return;
  keys[t] = burn_key_at(p, t / p.padded, t % p.padded);
  indices[t] = t % p.padded;
#elif BURN_VARIANT == 2
  if (t >= p.outer * p.inner * (p.padded / 2)) return;
  const int64_t line = t / (p.padded / 2), pair = t % (p.padded / 2);
  const int64_t i = pair / p.distance * 2 * p.distance + pair % p.distance;
  burn_exchange(keys + line * p.padded, indices + line * p.padded, i, i + p.distance, (i & p.span) == 0);
#else
  if (t >= p.outer * p.inner * p.size) return;
  const int64_t line = t / p.size, k = t % p.size;
  burn_put(((OUT *)p.out)[burn_place(p, line, k)], indices[line * p.padded + k]);
#endif
#endif
}
