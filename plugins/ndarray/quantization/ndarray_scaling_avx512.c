/* ndarray_scaling_avx512.c - the loops of quantize and dequantize for AVX-512 (x86-64-v4). */
#define ND_SCALING nd_scaling_avx512
#include "ndarray_scaling_isa.inc"
