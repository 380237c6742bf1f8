/* elementwise_rows.cu - element i of the result from element i of the inputs, fewer than 2^31, where along the last axis
 * all are made of whole vectors, or an input is one element. The lines before this define BURN_INPUTS and burn_apply. */
extern "C" __global__ void __launch_bounds__(GPU_ELEMENT_THREADS) kernel(const GpuElementwise p) {
  const int last = p.rank - 1;
  const uint32_t i = (uint32_t)burn_thread(), width = (uint32_t)p.shape[last] / BURN_WIDTH;
  if (burn_thread() >= p.count / BURN_WIDTH) return;
  uint32_t rest = i / width;
  const int64_t column = (int64_t)(i - rest * width) * BURN_WIDTH;
  int64_t at[3], to = column;
  for (int k = 0; k < BURN_INPUTS; k++) at[k] = column * p.strides[k][last];
  for (int axis = last - 1; axis > 0; axis--) {
    const uint32_t size = (uint32_t)p.shape[axis], next = rest / size, here = rest - next * size;
    rest = next;
    to += here * p.out_strides[axis];
    for (int k = 0; k < BURN_INPUTS; k++) at[k] += here * p.strides[k][axis];
  }
  to += rest * p.out_strides[0];
  for (int k = 0; k < BURN_INPUTS; k++) at[k] += rest * p.strides[k][0];
  const Vector<IN0, BURN_WIDTH> x = burn_load<IN0, BURN_WIDTH>(
      p.in[0] + at[0] * sizeof(IN0), p.strides[0][last], 0);
  const Vector<IN1, BURN_WIDTH> y = burn_load<IN1, BURN_WIDTH>(
      p.in[BURN_SECOND] + at[BURN_SECOND] * sizeof(IN1), p.strides[BURN_SECOND][last], 0);
  const Vector<IN2, BURN_WIDTH> z = burn_load<IN2, BURN_WIDTH>(
      p.in[BURN_THIRD] + at[BURN_THIRD] * sizeof(IN2), p.strides[BURN_THIRD][last], 0);
  Vector<OUT, BURN_WIDTH> out;
  for (int k = 0; k < BURN_WIDTH; k++)
    burn_put(out.at[k], burn_apply(burn_get(x.at[k]), burn_get(y.at[k]), burn_get(z.at[k]), p.s, p.q));
  *(Vector<OUT, BURN_WIDTH> *)((OUT *)p.out + to) = out;
}
