/* ndarray_kernels_avx512.c - the elementwise loops for AVX-512 (x86-64-v4): f32, halves, i32 and i64. Wider vectors would make those on
 * other dtypes hardly faster, which wait for memory or for libm: they are left to AVX2. */
#define ND_KERNELS nd_kernels_avx512
#define ND_KERNELS_ALL 0
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "ndarray_kernels.inc"
