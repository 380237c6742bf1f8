/* complaint.cu - an index that is outside, told to the host; before the texts that read indices. The first one stays. */
static __device__ inline void burn_complain(uint64_t complaint, uint32_t op, int64_t index, int64_t position,
                                            int64_t size, int64_t dim) {
  GpuComplaint *c = (GpuComplaint *)complaint;
  if (atomicCAS(&c->is_set, 0u, 2u) != 0u) return;
  c->op = op;
  c->index = index;
  c->position = position;
  c->size = size;
  c->dim = dim;
  __threadfence_system();
  *(volatile uint32_t *)&c->is_set = 1u;
}
