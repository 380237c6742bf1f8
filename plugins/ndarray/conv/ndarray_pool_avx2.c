/* ndarray_pool_avx2.c - the loops of pooling for AVX2 (x86-64-v3). */
#define ND_POOLING nd_pooling_avx2
#define ND_POOLING_F64 1
#include "ndarray_pool_isa.inc"
