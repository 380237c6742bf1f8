/* ndarray_kernels_avx2.c - the elementwise loops for AVX2 and FMA (x86-64-v3). */
#define ND_KERNELS nd_kernels_avx2
#define ND_KERNELS_LEVEL 1
#include "ndarray_kernels_isa.inc"
