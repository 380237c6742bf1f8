/* ndarray_sequence_avx2.c - the loops of attention and lstm for x86-64-v3: 16 registers of 32 bytes, fused
 * multiply-add. */
#include "ndarray_sequence.h"

#define SEQUENCE_TABLE nd_sequence_avx2
#define ND_VECTOR_BYTES 32
#define SEQUENCE_VECTORS 2
#define SEQUENCE_TILE_ROWS 6
#define SEQUENCE_QUAD_ROWS 3
#define SEQUENCE_HAS_F64 1
#include "ndarray_sequence_isa.inc"
