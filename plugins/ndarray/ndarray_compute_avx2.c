/* ndarray_compute_avx2.c - the compute loops for x86-64-v3: 16 registers of 32 bytes, fused multiply-add. */
#include "ndarray_compute.h"

#define COMPUTE_TABLE nd_compute_avx2
#define COMPUTE_VECTOR_BYTES 32
#include "ndarray_compute_isa.h"
