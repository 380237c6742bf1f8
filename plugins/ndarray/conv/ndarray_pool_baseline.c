/* ndarray_pool_baseline.c - the loops of pooling for what every CPU of the architecture has. */
#define ND_POOLING nd_pooling_baseline
#define ND_POOLING_F64 1
#include "ndarray_pool_isa.inc"
