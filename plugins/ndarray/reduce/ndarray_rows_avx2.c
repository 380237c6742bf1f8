/* ndarray_rows_avx2.c - the loops over rows for AVX2 and FMA (x86-64-v3). */
#define ND_VECTOR_BYTES 32
#define ND_ROWS nd_rows_avx2
#define ND_ROWS_F64 1
#include "ndarray_rows_isa.inc"
