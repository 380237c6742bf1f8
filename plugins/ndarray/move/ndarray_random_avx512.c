/* ndarray_random_avx512.c - the loops of the random ops for AVX-512 (x86-64-v4). */
#define ND_RANDOM nd_random_avx512
#include "ndarray_random_isa.inc"
