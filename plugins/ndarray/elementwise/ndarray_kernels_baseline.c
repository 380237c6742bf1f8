/* ndarray_kernels_baseline.c - the elementwise loops for the instruction set that the compiler targets anyway. */
#define ND_KERNELS nd_kernels_baseline
#define ND_KERNELS_LEVEL 0
#include "ndarray_kernels_isa.inc"
