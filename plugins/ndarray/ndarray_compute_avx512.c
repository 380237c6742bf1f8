/* ndarray_compute_avx512.c - the compute loops for x86-64-v4: 32 registers of 64 bytes. */
#include "ndarray_compute.h"

#define COMPUTE_TABLE nd_compute_avx512
#define COMPUTE_VECTOR_BYTES 64
#include "ndarray_compute_isa.h"
