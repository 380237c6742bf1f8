/* ndarray_scaling_baseline.c - the loops of quantize and dequantize for any processor that the compiler was told. */
#define ND_SCALING nd_scaling_baseline
#include "ndarray_scaling_isa.inc"
