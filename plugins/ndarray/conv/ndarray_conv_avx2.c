/* ndarray_conv_avx2.c - the convolution loops for x86-64-v3: 16 registers of 32 bytes, fused multiply-add. */
#include "ndarray_conv_loops.h"

#include <immintrin.h>

#define CONV_TABLE nd_conv_avx2
#define ND_VECTOR_BYTES 32
#define CONV_ROWS 4
#define CONV_TAPS 3
#define CONV_SWEEP_TAPS 12
#define CONV_TILE_TAPS 12
#define CONV_PANEL 2
#define CONV_BLOCK 16
#define CONV_WINOGRAD 1
#define CONV_PLANES 1
#define CONV_LANES_HEADER "ndarray_conv_lanes_avx2_type.inc"
#define CONV_LANES_F64_HEADER "ndarray_conv_lanes_type.inc"
#include "support/ndarray_transpose.h"
#include "ndarray_conv_isa.inc"
