/* elementwise.cu - element i of the result from element i of the inputs. The lines before this define BURN_INPUTS and
 * burn_apply(x, y, z, s, q).
 *
 * BURN_VARIANT 0: all lie in the same order without gaps, or are one element (stride 0), at addresses of whole vectors;
 * 1: the same at any address; 2: any strides, fewer than 2^31 elements; 3: any strides. */
#if BURN_VARIANT == 0
#define BURN_LARGEST(a, b) ((a) > (b) ? (a) : (b))
#define BURN_WIDTH (16 / BURN_LARGEST(BURN_LARGEST(sizeof(OUT), sizeof(IN0)), BURN_LARGEST(sizeof(IN1), sizeof(IN2))))
#else
#define BURN_WIDTH 1
#endif

template <class S> struct alignas(sizeof(S) * BURN_WIDTH) Vector { S at[BURN_WIDTH]; };

#if BURN_VARIANT < 2
template <class S> static __device__ inline Vector<S> burn_load(uint64_t address, int64_t stride, int64_t i) {
  const S *from = (const S *)address;
  if (stride != 0) return *(const Vector<S> *)(from + i);
  Vector<S> same;
  for (int k = 0; k < BURN_WIDTH; k++) same.at[k] = from[0];
  return same;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaElementwise p) {
  const int64_t i = burn_thread() * BURN_WIDTH;
  if (i >= p.count) return;
  Vector<OUT> out;
  if (i + BURN_WIDTH <= p.count) {
    const Vector<IN0> x = burn_load<IN0>(p.in[0], p.strides[0][0], i);
    const Vector<IN1> y = burn_load<IN1>(p.in[BURN_INPUTS > 1], p.strides[BURN_INPUTS > 1][0], i);
    const Vector<IN2> z = burn_load<IN2>(p.in[BURN_INPUTS > 2 ? 2 : 0], p.strides[BURN_INPUTS > 2 ? 2 : 0][0], i);
    for (int k = 0; k < BURN_WIDTH; k++)
      burn_put(out.at[k], burn_apply(burn_get(x.at[k]), burn_get(y.at[k]), burn_get(z.at[k]), p.s, p.q));
    *(Vector<OUT> *)((OUT *)p.out + i) = out;
    return;
  }
  for (int64_t k = i; k < p.count; k++) {
    const IN0 x = ((const IN0 *)p.in[0])[p.strides[0][0] ? k : 0];
    const IN1 y = ((const IN1 *)p.in[BURN_INPUTS > 1])[p.strides[BURN_INPUTS > 1][0] ? k : 0];
    const IN2 z = ((const IN2 *)p.in[BURN_INPUTS > 2 ? 2 : 0])[p.strides[BURN_INPUTS > 2 ? 2 : 0][0] ? k : 0];
    burn_put(((OUT *)p.out)[k], burn_apply(burn_get(x), burn_get(y), burn_get(z), p.s, p.q));
  }
}
#else
#if BURN_VARIANT == 2
typedef uint32_t Place;
#else
typedef int64_t Place;
#endif

extern "C" __global__ void __launch_bounds__(256) kernel(const CudaElementwise p) {
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
  const IN1 y = ((const IN1 *)p.in[BURN_INPUTS > 1])[at[BURN_INPUTS > 1]];
  const IN2 z = ((const IN2 *)p.in[BURN_INPUTS > 2 ? 2 : 0])[at[BURN_INPUTS > 2 ? 2 : 0]];
  burn_put(((OUT *)p.out)[to], burn_apply(burn_get(x), burn_get(y), burn_get(z), p.s, p.q));
}
#endif
