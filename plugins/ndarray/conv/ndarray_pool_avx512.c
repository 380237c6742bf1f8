/* ndarray_pool_avx512.c - the loops of pooling for AVX-512 (x86-64-v4); those on f64 are left to AVX2. */
#define ND_POOLING nd_pooling_avx512
#define ND_POOLING_F64 0
#include "ndarray_pool_isa.inc"
