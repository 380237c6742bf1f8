/* ndarray_fused_avx512.c - the machine of fused bodies for AVX-512 (x86-64-v4). */
#define ND_FUSED_MACHINE nd_fused_machine_avx512
#include "ndarray_fused_machine_isa.inc"
