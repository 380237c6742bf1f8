/* index.cu - elements through indices. BURN_VARIANT 0: pick, out[outer, picks, inner] from x[outer, size, inner]; 1: put,
 * values[outer, picks, inner] into out[outer, size, inner], which holds x already. For the latter `order` has the
 * positions of equal indices one after the other: the thread of the first does them all, in their order. */
static __device__ inline void burn_complain(const CudaIndex &p, int64_t index, int64_t position) {
  CudaComplaint *c = (CudaComplaint *)p.complaint;
  if (atomicCAS(&c->is_set, 0u, 2u) != 0u) return;
  c->op = p.op;
  c->index = index;
  c->position = position;
  c->size = p.size;
  c->dim = p.dim;
  __threadfence_system();
  *(volatile uint32_t *)&c->is_set = 1u;
}

static __device__ inline int64_t burn_position(const CudaIndex &p, int64_t outer, int64_t pick, int64_t inner) {
  return p.per_element ? (outer * p.picks + pick) * p.inner + inner : pick;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaIndex p) {
  const int64_t i = burn_thread();
  if (i >= p.outer * p.picks * p.inner) return;
  const int64_t inner = i % p.inner, k = i / p.inner % p.picks, outer = i / p.inner / p.picks;
  const IN1 *indices = (const IN1 *)p.indices;
#if BURN_VARIANT == 0
  const int64_t position = burn_position(p, outer, k, inner), index = (int64_t)burn_get(indices[position]);
  if (index < 0 || index >= p.size) {
    burn_complain(p, index, position);
    return;
  }
  ((OUT *)p.out)[i] = ((const OUT *)p.x)[(outer * p.size + index) * p.inner + inner];
#else
  const int64_t *order = (const int64_t *)p.order;
  int64_t position = burn_position(p, outer, k, inner);
  int64_t pick = order[position];
  const int64_t from = burn_position(p, outer, pick, inner), index = (int64_t)burn_get(indices[from]);
  if (index < 0 || index >= p.size) {
    burn_complain(p, index, from);
    return;
  }
  if (k > 0) {
    const int64_t before = burn_position(p, outer, order[burn_position(p, outer, k - 1, inner)], inner);
    if ((int64_t)burn_get(indices[before]) == index) return;
  }
  OUT *to = (OUT *)p.out + (outer * p.size + index) * p.inner + inner;
  A value = (A)burn_get(*to);
  for (int64_t next = k; next < p.picks; next++) {
    pick = order[burn_position(p, outer, next, inner)];
    if ((int64_t)burn_get(indices[burn_position(p, outer, pick, inner)]) != index) break;
    value = burn_join(value, (A)burn_get(((const OUT *)p.values)[(outer * p.picks + pick) * p.inner + inner]));
  }
  burn_put(*to, value);
#endif
}
