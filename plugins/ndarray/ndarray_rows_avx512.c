/* ndarray_rows_avx512.c - the loops over rows for AVX-512 (x86-64-v4); those on elements of 8 bytes are left to AVX2. */
#define ND_ROWS nd_rows_avx512
#define ND_FOLDS_ALL 0
#define ND_ROWS_64 0
#include "ndarray_rows.inc"
