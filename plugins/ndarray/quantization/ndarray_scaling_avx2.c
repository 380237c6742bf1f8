/* ndarray_scaling_avx2.c - the loops of quantize and dequantize for AVX2 (x86-64-v3). */
#define ND_SCALING nd_scaling_avx2
#include "ndarray_scaling_isa.inc"
