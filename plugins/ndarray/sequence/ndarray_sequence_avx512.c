/* ndarray_sequence_avx512.c - the loops of attention and lstm for x86-64-v4: 32 registers of 64 bytes. */
#include "ndarray_sequence.h"

#define SEQUENCE_TABLE nd_sequence_avx512
#define ND_VECTOR_BYTES 64
#define SEQUENCE_VECTORS 4
#define SEQUENCE_TILE_ROWS 12
#define SEQUENCE_QUAD_ROWS 6
#define SEQUENCE_HAS_F64 0
#include "ndarray_sequence_isa.inc"
