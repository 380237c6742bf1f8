/* ndarray_conv_avx512.c - the convolution loops for x86-64-v4: 32 registers of 64 bytes, masks, permutations of two
 * vectors. f32 only: f64 has smaller tiles (ndarray_conv_f64_avx512.c). */
#include "ndarray_conv_loops.h"

#include <immintrin.h>

#define CONV_TABLE nd_conv_avx512
#define CONV_F32_ONLY
#define ND_VECTOR_BYTES 64
#define CONV_ROWS 8
#define CONV_TAPS 6
#define CONV_SWEEP_TAPS 25
#define CONV_TILE_TAPS 24
#define CONV_PANEL 4
#define CONV_BLOCK 128
#define CONV_POINTS_BLOCK 64
#define CONV_SQUARES /* weights are broadcast by the products themselves */
#define CONV_WINOGRAD 1
#define CONV_PLANES 1
#define CONV_LANES_HEADER "ndarray_conv_lanes_avx512_type.inc"
#include "ndarray_conv_isa.inc"
