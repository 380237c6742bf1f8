/* ndarray_moves_baseline.c - the loops that move memory for what every CPU of the architecture has. */
#define ND_MOVES nd_moves_baseline
#include "ndarray_moves_isa.inc"
