/* fused_bench.h - loops that a compiler made of whole chains, to compare fused bodies with: one pass over memory,
 * nothing between. */
#ifndef BURN_FUSED_BENCH_H
#define BURN_FUSED_BENCH_H

#include <stdbool.h>
#include <stdint.h>

/* Elements begin .. end-1 of a chain. */
typedef void (*FusedBenchLoop)(const float *const *in, float *out, int64_t begin, int64_t end);

/* False on a processor for which fused_bench_loops.c is not compiled. */
bool fused_bench_loops_run(void);

void fused_bench_silu(const float *const *in, float *out, int64_t begin, int64_t end);
void fused_bench_affine(const float *const *in, float *out, int64_t begin, int64_t end);
void fused_bench_gelu(const float *const *in, float *out, int64_t begin, int64_t end);
void fused_bench_gelu_of_product(const float *const *in, float *out, int64_t begin, int64_t end);

#endif
