/* ndarray_random_baseline.c - the loops of the random ops for what every CPU of the architecture has. */
#define ND_RANDOM nd_random_baseline
#include "ndarray_random_isa.inc"
