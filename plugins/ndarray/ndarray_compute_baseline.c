/* ndarray_compute_baseline.c - the compute loops for whatever the compiler targets by default. */
#include "ndarray_compute.h"

#define COMPUTE_TABLE nd_compute_baseline
#define COMPUTE_VECTOR_BYTES 16
#include "ndarray_compute_isa.h"
