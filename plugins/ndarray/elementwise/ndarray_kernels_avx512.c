/* ndarray_kernels_avx512.c - the elementwise loops for AVX-512 (x86-64-v4): f32, halves, masks, comparisons of f64, and
 * i64, for which AVX2 lacks products and comparisons. Wider vectors would not make other dtypes faster: they are left
 * to AVX2. */
#define ND_KERNELS nd_kernels_avx512
#define ND_KERNELS_LEVEL 2
#include "ndarray_kernels_isa.inc"
