/* ndarray_scans_avx512.c - the loops of scans for AVX-512 (x86-64-v4). */
#define ND_SCANS nd_scans_avx512
#define ND_SCANS_SMALL 0
#include "ndarray_scans_isa.inc"
