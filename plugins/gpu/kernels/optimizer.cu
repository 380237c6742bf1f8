/* optimizer.cu - a step of an optimizer on many tensors: a block takes a chunk of one of them. BURN_VARIANT % 2, 0:
 * adam_step, 1: sgd_step, as ops.def defines them; halves compute in f32 and are rounded once. BURN_VARIANT / 2: tensors
 * that say so have a gradient of dtype IN1.
 *
 * Results may lie in the memory of the inputs. An element is computed from elements at its place alone, so how the
 * tensors are cut changes nothing. */
typedef Element<IN0>::C C;
#define BURN_WIDTH (16 / (int)sizeof(IN0))
template <class S, int W> struct alignas(sizeof(S) * W) Group { S at[W]; };

static __device__ inline float burn_root(float x) { return sqrtf(x); }
static __device__ inline double burn_root(double x) { return sqrt(x); }

#if BURN_VARIANT % 2 == 0
#define BURN_INPUTS 4
#define BURN_OUTPUTS 3
struct Numbers { C beta_1, rest_1, beta_2, rest_2, step_size, epsilon, decay, penalty; };
static __device__ inline Numbers burn_numbers(const double *n, const GpuStepTensor &) {
  return {(C)n[0], (C)n[1], (C)n[2], (C)n[3], (C)n[4], (C)n[5], (C)n[6], (C)n[7]};
}
static __device__ inline void burn_step(const Numbers &n, const C *in, C *out) {
  const C gradient = burn_fused(n.penalty, in[0], in[1]);
  const C mean = burn_fused(n.beta_1, in[2], n.rest_1 * gradient);
  const C square = burn_fused(n.beta_2, in[3], n.rest_2 * (gradient * gradient));
  out[0] = burn_fused(in[0], n.decay, -(n.step_size * mean / (burn_root(square) + n.epsilon)));
  out[1] = mean;
  out[2] = square;
}
#else
#define BURN_INPUTS 3
#define BURN_OUTPUTS 2
struct Numbers { C step_size, momentum, rest, penalty; bool decays, nesterov, has_velocity; };
static __device__ inline Numbers burn_numbers(const double *n, const GpuStepTensor &tensor) {
  return {(C)n[0], (C)n[1], (C)n[2], (C)n[3], n[4] != 0.0, n[5] != 0.0, tensor.in[2] != 0u};
}
static __device__ inline void burn_step(const Numbers &n, const C *in, C *out) {
  const C gradient = n.decays ? in[1] + in[0] * n.penalty : in[1];
  const C velocity = n.has_velocity ? gradient * n.rest + in[2] * n.momentum : gradient;
  const C way = n.nesterov ? velocity * n.momentum + gradient : velocity;
  out[0] = in[0] - way * n.step_size;
  out[1] = velocity;
}
#endif

/* Elements i .. i + W - 1 of input k. */
template <class S, int W> static __device__ inline void burn_read(C *to, const GpuStepTensor &tensor, int k, int64_t i) {
  const Group<S, W> group = *(const Group<S, W> *)((const S *)tensor.in[k] + i);
  for (int w = 0; w < W; w++) to[w] = (C)burn_get(group.at[w]);
}

/* The step of those elements. */
template <int W>
static __device__ inline void burn_elements(const GpuStepTensor &tensor, const Numbers &numbers, int64_t i) {
  const bool has_half = BURN_VARIANT / 2 == 1 && tensor.set >= GPU_STEP_HALF;
  C in[BURN_INPUTS][W];
  Group<IN0, W> out[BURN_OUTPUTS];
  for (int k = 0; k < BURN_INPUTS; k++) {
    for (int w = 0; w < W; w++) in[k][w] = (C)0;
    if (k == 1 && has_half) burn_read<IN1, W>(in[k], tensor, k, i);
    else if (k < 2 || tensor.in[k] != 0u) burn_read<IN0, W>(in[k], tensor, k, i);
  }
  for (int w = 0; w < W; w++) {
    C from[BURN_INPUTS], to[BURN_OUTPUTS];
    for (int k = 0; k < BURN_INPUTS; k++) from[k] = in[k][w];
    burn_step(numbers, from, to);
    for (int k = 0; k < BURN_OUTPUTS; k++) burn_put(out[k].at[w], to[k]);
  }
  for (int k = 0; k < BURN_OUTPUTS; k++)
    if (k < 1 || tensor.out[k] != 0u) *(Group<IN0, W> *)((IN0 *)tensor.out[k] + i) = out[k];
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuSteps p) {
  uint32_t low = 0, high = p.count;
  while (high - low > 1u) { /* the last tensor that begins at this block or before it */
    const uint32_t middle = (low + high) / 2u;
    if (p.tensors[middle].first_block <= blockIdx.x) low = middle;
    else high = middle;
  }
  const GpuStepTensor tensor = p.tensors[low];
  const Numbers numbers = burn_numbers(p.numbers[tensor.set % GPU_STEP_HALF], tensor);
  const int64_t begin = (int64_t)(blockIdx.x - tensor.first_block) * GPU_STEP_CHUNK;
  const int64_t end = begin + GPU_STEP_CHUNK < tensor.count ? begin + GPU_STEP_CHUNK : tensor.count;
  uint64_t places = 0;
  for (int k = 0; k < BURN_INPUTS; k++) places |= tensor.in[k];
  for (int k = 0; k < BURN_OUTPUTS; k++) places |= tensor.out[k];
  int64_t i = begin;
  if (places % 16u == 0u) {
    const int64_t whole = begin + (end - begin) / BURN_WIDTH * BURN_WIDTH;
    for (int64_t at = begin + threadIdx.x * BURN_WIDTH; at < whole; at += 256 * BURN_WIDTH)
      burn_elements<BURN_WIDTH>(tensor, numbers, at);
    i = whole;
  }
  for (i += threadIdx.x; i < end; i += 256) burn_elements<1>(tensor, numbers, i);
}
