/* ndarray_random.h - inner loops of the random ops and of dropout, compiled once per instruction set.
 *
 * ndarray_random_isa.inc holds them; ndarray_random_{baseline,avx2,avx512}.c include it with other compiler flags, none
 * of which fuses products and sums: random.h defines the numbers to the bit. */
#ifndef BURN_NDARRAY_RANDOM_H
#define BURN_NDARRAY_RANDOM_H

#include "ndarray_internal.h"

/* Blocks of random words generated at a time, and the words in them. */
#define ND_RANDOM_BLOCKS 256
#define ND_RANDOM_WORDS (4 * ND_RANDOM_BLOCKS)

/* The loops for one instruction set. They take n <= ND_RANDOM_WORDS elements and a word for each. */
typedef struct NdRandomLoops {
  /* The words of blocks block .. block + ND_RANDOM_BLOCKS - 1. */
  void (*words)(uint64_t seed, uint64_t block, uint32_t *words);
  /* out = x * (word < threshold) * scale. */
  void (*dropout_f32)(int64_t n, const uint32_t *words, uint64_t threshold, const float *x, float *out, float scale);
  void (*dropout_f64)(int64_t n, const uint32_t *words, uint64_t threshold, const double *x, double *out, double scale);
  void (*uniform_f32)(int64_t n, const uint32_t *words, float low, float high, float *out);
  void (*uniform_f64)(int64_t n, const uint32_t *words, double low, double high, double *out);
  /* n is even: words come in pairs. */
  void (*normal_f32)(int64_t n, const uint32_t *words, double mean, double deviation, float *out);
  /* out = word < threshold ? one : 0, for elements of 1, 2, 4 and 8 bytes. */
  void (*bernoulli[4])(int64_t n, const uint32_t *words, uint64_t threshold, uint64_t one, void *out);
} NdRandomLoops;

extern const NdRandomLoops nd_random_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdRandomLoops nd_random_avx2, nd_random_avx512;
#endif

/* The loops for nd->isa. */
static inline const NdRandomLoops *nd_random(const Ndarray *nd) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_random_avx512;
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_random_avx2;
#endif
  (void)nd;
  return &nd_random_baseline;
}

#endif
