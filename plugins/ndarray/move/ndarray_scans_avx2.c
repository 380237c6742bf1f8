/* ndarray_scans_avx2.c - the loops of scans for AVX2 (x86-64-v3). */
#define ND_SCANS nd_scans_avx2
#define ND_SCANS_SMALL 0
#include "ndarray_scans_isa.inc"
