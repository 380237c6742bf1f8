/* ndarray_scans_baseline.c - the loops of scans for what every CPU of the architecture has. */
#define ND_SCANS nd_scans_baseline
#define ND_SCANS_SMALL 1
#include "ndarray_scans_isa.inc"
