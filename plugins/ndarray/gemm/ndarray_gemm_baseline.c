/* ndarray_gemm_baseline.c - the tiles of a matrix product for any processor: vectors of 16 bytes where the compiler has
 * them. */
#include "ndarray_gemm.h"

#include <string.h>

#define GEMM_TABLE nd_gemm_baseline
#define ND_VECTOR_BYTES 16
#define GEMM_ROWS 4
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4)
#define GEMM_DOT_ROWS 2
#define GEMM_STREAM_TERMS 4
#include "ndarray_gemm_isa.inc"
