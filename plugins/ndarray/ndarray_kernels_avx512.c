/* ndarray_kernels_avx512.c - the elementwise loops for AVX-512 (x86-64-v4). */
#define ND_KERNELS nd_kernels_avx512
#include "ndarray_kernels.inc"
