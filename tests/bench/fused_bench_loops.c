/* fused_bench_loops.c - see fused_bench.h; compiled like the widest kernels of ndarray, with its functions. */
#include "fused_bench.h"

#include "../../plugins/common/functions.h"

bool fused_bench_loops_run(void) {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return true;
#endif
}

#define LOOP(name, expression)                                                         \
  void name(const float *const *in, float *restrict out, int64_t begin, int64_t end) { \
    const float *restrict xs = in[0], *restrict ys = in[1], *restrict zs = in[2];      \
    (void)ys;                                                                          \
    (void)zs;                                                                          \
    for (int64_t i = begin; i < end; i++) {                                            \
      const float x = xs[i];                                                           \
      out[i] = (expression);                                                           \
    }                                                                                  \
  }

LOOP(fused_bench_silu, x *(1.0f / (burn_exp_f32(-x) + 1.0f)))
LOOP(fused_bench_affine, ((((x * 1.5f + 0.25f) * 0.75f - ys[i]) * 2.5f + 1.0f) * x))
LOOP(fused_bench_gelu, x *(burn_erf_f32(x / 1.41421356237f) + 1.0f) / 2.0f)
LOOP(fused_bench_gelu_of_product, burn_gelu_f32(x *ys[i] + zs[i]))
