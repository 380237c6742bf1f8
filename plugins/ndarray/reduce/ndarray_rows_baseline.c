/* ndarray_rows_baseline.c - the loops over rows for any processor. */
#define ND_VECTOR_BYTES 16
#define ND_ROWS nd_rows_baseline
#define ND_ROWS_F64 1
#include "ndarray_rows_isa.inc"
