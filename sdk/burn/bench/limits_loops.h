/* limits_loops.h - the loops of limits.c for one instruction set; see limits_loops.inc. */
#ifndef BURN_BENCH_LIMITS_LOOPS_H
#define BURN_BENCH_LIMITS_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

/* Moves over `bytes` of each buffer, a multiple of 1024, all aligned to 64. `four`: from four places at
 * once. `streaming` stores pass the caches by where the
 * instruction set can do that. `fma` returns a number so that its work is not left out. */
typedef struct LimitLoops {
  size_t fma_flops; /* of one round */
  float (*read)(const float *a, size_t bytes, bool four);
  void (*copy)(float *c, const float *a, size_t bytes, bool streaming);
  void (*add)(float *c, const float *a, const float *b, size_t bytes, bool streaming);
  void (*fill)(float *c, size_t bytes, bool streaming);
  float (*fma)(size_t rounds);
} LimitLoops;
extern const LimitLoops limits_baseline, limits_avx2, limits_avx512;

#endif
