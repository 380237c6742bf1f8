/* ndarray_random_avx2.c - the loops of the random ops for AVX2 (x86-64-v3). */
#define ND_RANDOM nd_random_avx2
#include "ndarray_random_isa.inc"
