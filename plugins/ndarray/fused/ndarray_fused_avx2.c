/* ndarray_fused_avx2.c - the machine of fused bodies for AVX2 and FMA (x86-64-v3). */
#define ND_FUSED_MACHINE nd_fused_machine_avx2
#include "ndarray_fused_machine_isa.inc"
