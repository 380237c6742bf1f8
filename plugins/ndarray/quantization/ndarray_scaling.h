/* ndarray_scaling.h - floats to i8 by a scale and back: the loops of each instruction set (ndarray_scaling_isa.inc). */
#ifndef BURN_NDARRAY_SCALING_H
#define BURN_NDARRAY_SCALING_H

#include "ndarray_internal.h"

typedef struct NdScaling {
  /* round(x / scale), halves to even, within low .. high; NaN is 0. low and high are integers of i8, scale is not 0. */
  void (*quantize)(const float *x, float scale, float low, float high, int8_t *out, int64_t count);
  void (*dequantize)(const int8_t *x, float scale, float *out, int64_t count);
} NdScaling;

extern const NdScaling nd_scaling_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdScaling nd_scaling_avx2, nd_scaling_avx512;
#endif

static inline const NdScaling *nd_scaling(const Ndarray *nd) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_scaling_avx512;
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_scaling_avx2;
#endif
  (void)nd;
  return &nd_scaling_baseline;
}

#endif
