/* elementwise.cu - element i of the result from element i of the inputs. The lines before this define BURN_INPUTS and
 * burn_apply(x, y, z, s, q).
 *
 * kernel_0: all lie in the same order without gaps, or are one element (stride 0), at addresses of whole vectors;
 * kernel_1: the same at any address; kernel_2: any strides, fewer than 2^31 elements; kernel_3: any strides. */
template <int W> static __device__ inline void burn_flat(const GpuElementwise &p) {
  const int64_t i = burn_thread() * W;
  if (i + W <= p.count) {
    Vector<OUT, W> out;
    const Vector<IN0, W> x = burn_load<IN0, W>(p.in[0], p.strides[0][0], i);
    const Vector<IN1, W> y = burn_load<IN1, W>(p.in[BURN_SECOND], p.strides[BURN_SECOND][0], i);
    const Vector<IN2, W> z = burn_load<IN2, W>(p.in[BURN_THIRD], p.strides[BURN_THIRD][0], i);
    for (int k = 0; k < W; k++)
      burn_put(out.at[k], burn_apply(burn_get(x.at[k]), burn_get(y.at[k]), burn_get(z.at[k]), p.s, p.q));
    *(Vector<OUT, W> *)((OUT *)p.out + i) = out;
    return;
  }
  for (int64_t k = i; k < p.count; k++) {
    const IN0 x = ((const IN0 *)p.in[0])[p.strides[0][0] ? k : 0];
    const IN1 y = ((const IN1 *)p.in[BURN_SECOND])[p.strides[BURN_SECOND][0] ? k : 0];
    const IN2 z = ((const IN2 *)p.in[BURN_THIRD])[p.strides[BURN_THIRD][0] ? k : 0];
    burn_put(((OUT *)p.out)[k], burn_apply(burn_get(x), burn_get(y), burn_get(z), p.s, p.q));
  }
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

extern "C" __global__ void __launch_bounds__(256) kernel_0(const GpuElementwise p) { burn_flat<BURN_WIDTH>(p); }
extern "C" __global__ void __launch_bounds__(256) kernel_1(const GpuElementwise p) { burn_flat<1>(p); }
extern "C" __global__ void __launch_bounds__(256) kernel_2(const GpuElementwise p) { burn_strided<uint32_t>(p); }
extern "C" __global__ void __launch_bounds__(256) kernel_3(const GpuElementwise p) { burn_strided<int64_t>(p); }
