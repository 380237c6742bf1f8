/* elementwise.cu - element i of the result from element i of the inputs. The lines before this define BURN_INPUTS and
 * burn_apply(x, y, z, s, q).
 *
 * kernel_0: all lie in the same order without gaps, or are one element (stride 0; not an only input), at addresses of
 * whole vectors; kernel_1: the same at any address, and an only input of one element; kernel_2: any strides, fewer than
 * 2^31 elements; kernel_3: any strides. */

/* V vectors of a thread, those of a group one after the other. What comes before the first load is kept short, as memory
 * waits for it: whether any input repeats is asked once. */
template <int W, int V, bool REPEATS>
static __device__ inline void burn_vectors(const GpuElementwise &p, int64_t first) {
  Vector<IN0, W> x[V];
  Vector<IN1, W> y[V];
  Vector<IN2, W> z[V];
#pragma unroll
  for (int v = 0; v < V; v++) {
    const int64_t i = first + v * GPU_ELEMENT_THREADS * W;
    x[v] = burn_load<IN0, W>(p.in[0], REPEATS ? p.strides[0][0] : 1, i);
    y[v] = burn_load<IN1, W>(p.in[BURN_SECOND], REPEATS ? p.strides[BURN_SECOND][0] : 1, i);
    z[v] = burn_load<IN2, W>(p.in[BURN_THIRD], REPEATS ? p.strides[BURN_THIRD][0] : 1, i);
  }
#pragma unroll
  for (int v = 0; v < V; v++) {
    Vector<OUT, W> out;
    for (int k = 0; k < W; k++)
      burn_put(out.at[k], burn_apply(burn_get(x[v].at[k]), burn_get(y[v].at[k]), burn_get(z[v].at[k]), p.s, p.q));
    *(Vector<OUT, W> *)((OUT *)p.out + first + v * GPU_ELEMENT_THREADS * W) = out;
  }
}

static __device__ inline void burn_single(const GpuElementwise &p, int64_t i) {
  const IN0 x = ((const IN0 *)p.in[0])[p.strides[0][0] ? i : 0];
  const IN1 y = ((const IN1 *)p.in[BURN_SECOND])[p.strides[BURN_SECOND][0] ? i : 0];
  const IN2 z = ((const IN2 *)p.in[BURN_THIRD])[p.strides[BURN_THIRD][0] ? i : 0];
  burn_put(((OUT *)p.out)[i], burn_apply(burn_get(x), burn_get(y), burn_get(z), p.s, p.q));
}

static __device__ inline void burn_flat(const GpuElementwise &p) {
  const int V = GPU_ELEMENT_VECTORS(BURN_INPUTS), W = BURN_WIDTH, STEP = GPU_ELEMENT_THREADS * BURN_WIDTH;
  const int64_t first = (int64_t)blockIdx.x * (V * STEP) + (int64_t)threadIdx.x * W;
  if (first + (V - 1) * STEP + W <= p.count) {
    if (BURN_INPUTS == 1 || p.repeats == 0)
      burn_vectors<BURN_WIDTH, GPU_ELEMENT_VECTORS(BURN_INPUTS), false>(p, first);
    else
      burn_vectors<BURN_WIDTH, GPU_ELEMENT_VECTORS(BURN_INPUTS), true>(p, first);
    return;
  }
  for (int64_t from = first; from < p.count; from += STEP)
    for (int64_t i = from; i < from + W && i < p.count; i++) burn_single(p, i);
}

template <class Place> static __device__ inline void burn_strided(const GpuElementwise &p) {
  const int64_t i = burn_thread();
  if (i >= p.count) return;
  Place rest = (Place)i;
  int64_t at[3] = {0, 0, 0}, to = 0;
  for (int axis = p.rank - 1; axis > 0; axis--) {
    const Place size = (Place)p.shape[axis], next = rest / size, here = rest - next * size;
    rest = next;
    to += (int64_t)here * p.out_strides[axis];
    for (int k = 0; k < BURN_INPUTS; k++) at[k] += (int64_t)here * p.strides[k][axis];
  }
  to += (int64_t)rest * p.out_strides[0];
  for (int k = 0; k < BURN_INPUTS; k++) at[k] += (int64_t)rest * p.strides[k][0];
  const IN0 x = ((const IN0 *)p.in[0])[at[0]];
  const IN1 y = ((const IN1 *)p.in[BURN_SECOND])[at[BURN_SECOND]];
  const IN2 z = ((const IN2 *)p.in[BURN_THIRD])[at[BURN_THIRD]];
  burn_put(((OUT *)p.out)[to], burn_apply(burn_get(x), burn_get(y), burn_get(z), p.s, p.q));
}

extern "C" __global__ void __launch_bounds__(GPU_ELEMENT_THREADS) kernel_0(const GpuElementwise p) { burn_flat(p); }
extern "C" __global__ void __launch_bounds__(GPU_ELEMENT_THREADS) kernel_1(const GpuElementwise p) {
  if (burn_thread() < p.count) burn_single(p, burn_thread());
}
extern "C" __global__ void __launch_bounds__(GPU_ELEMENT_THREADS) kernel_2(const GpuElementwise p) { burn_strided<uint32_t>(p); }
extern "C" __global__ void __launch_bounds__(GPU_ELEMENT_THREADS) kernel_3(const GpuElementwise p) { burn_strided<int64_t>(p); }
