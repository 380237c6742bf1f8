/* ndarray_sequence_baseline.c - the loops of attention and lstm for whatever the compiler targets by default. */
#include "ndarray_sequence.h"

#define SEQUENCE_TABLE nd_sequence_baseline
#define ND_VECTOR_BYTES 16
#define SEQUENCE_VECTORS 2
#if defined(__aarch64__) /* 32 registers */
#define SEQUENCE_TILE_ROWS 12
#define SEQUENCE_QUAD_ROWS 6
#else
#define SEQUENCE_TILE_ROWS 4
#define SEQUENCE_QUAD_ROWS 2
#endif
#define SEQUENCE_HAS_F64 1
#include "ndarray_sequence_isa.inc"
