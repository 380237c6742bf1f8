/* ndarray_pooling_baseline.c - the loops of pooling for what every CPU of the architecture has. */
#define ND_POOLING nd_pooling_baseline
#include "ndarray_pooling.inc"
