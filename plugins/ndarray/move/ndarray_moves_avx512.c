/* ndarray_moves_avx512.c - the loops that move memory for AVX-512 (x86-64-v4). */
#define ND_MOVES nd_moves_avx512
#include "ndarray_moves_isa.inc"
