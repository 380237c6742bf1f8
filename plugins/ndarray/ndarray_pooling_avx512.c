/* ndarray_pooling_avx512.c - the loops of pooling for AVX-512 (x86-64-v4). */
#define ND_POOLING nd_pooling_avx512
#include "ndarray_pooling.inc"
