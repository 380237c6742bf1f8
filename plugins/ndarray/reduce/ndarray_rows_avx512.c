/* ndarray_rows_avx512.c - the loops over rows for AVX-512 (x86-64-v4); those on f64 are left to AVX2. */
#define ND_VECTOR_BYTES 64
#define ND_ROWS nd_rows_avx512
#define ND_ROWS_F64 0
#include "ndarray_rows_isa.inc"
