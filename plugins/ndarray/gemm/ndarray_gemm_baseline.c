/* ndarray_gemm_baseline.c - the tiles of a matrix product for any processor: vectors of 16 bytes where the compiler has
 * them. */
#include "ndarray_gemm.h"

#include <string.h>

#define GEMM_TABLE nd_gemm_baseline
#define ND_VECTOR_BYTES 16
#if defined(__aarch64__) /* 32 registers: GCC 12 stores sums of 12 rows */
#define GEMM_ROWS 10
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10)
#define GEMM_DOT_ROWS 4
#define GEMM_STREAM_TERMS 8
#else
#define GEMM_ROWS 4
#define GEMM_EACH_ROWS(M) M(1) M(2) M(3) M(4)
#define GEMM_DOT_ROWS 2
#define GEMM_STREAM_TERMS 4
#endif
#include "ndarray_gemm_isa.inc"
