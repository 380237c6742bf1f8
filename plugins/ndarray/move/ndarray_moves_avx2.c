/* ndarray_moves_avx2.c - the loops that move memory for AVX2 (x86-64-v3). */
#define ND_MOVES nd_moves_avx2
#include "ndarray_moves_isa.inc"
