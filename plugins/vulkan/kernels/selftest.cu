/* selftest.cu - asks a device what its arithmetic is like, one case a thread: see vulkan_selftest.c, which has the same
 * structs and knows the answers. */
struct Case {
  float a, b, c;
  uint32_t half;
  double wide_a, wide_b, wide_c;
  int64_t long_a, long_b;
};

struct Answer {
  float fused, quotient, reciprocal, root, sum, widened;
  uint32_t half, rounds;
  float through, lost;
  uint32_t order;
  float power;
  double wide_fused, wide_quotient, wide_root;
  int64_t product, divided, remainder;
};

struct Parameters {
  uint64_t cases, answers;
  int64_t count;
};

extern "C" __global__ void __launch_bounds__(64) kernel(Parameters p) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  const Case *x = (const Case *)p.cases + i;
  Answer *to = (Answer *)p.answers + i;
  to->fused = BURN_FMA(x->a, x->b, x->c);
  to->quotient = x->a / x->b;
  to->reciprocal = 1.0f / x->b;
  to->root = sqrtf(x->a);
  to->sum = x->a + x->c;
  to->widened = burn_half_to_f32((uint16_t)x->half);
  to->half = burn_f32_to_half(x->b);
  const float through = burn_through_half(x->b);
  to->through = through;
  to->lost = through - x->b;
  to->order = through < x->b ? 1u : through > x->b ? 2u : 0u;
  to->power = burn_native_exp2((float)i * -0.123f);
  to->wide_fused = BURN_FMA_F64(x->wide_a, x->wide_b, x->wide_c);
  to->wide_quotient = x->wide_a / x->wide_b;
  to->wide_root = sqrt(x->wide_a);
  to->product = x->long_a * x->long_b;
  to->divided = x->long_a / x->long_b;
  to->remainder = x->long_a % x->long_b;
  uint32_t rounds = 1;
  if (i == 0) /* llvmpipe ends the loops of a thread after 65,535 rounds */
    for (int k = 0; k < 70000; k++) rounds = rounds * 1664525u + 1013904223u;
  to->rounds = rounds;
}
