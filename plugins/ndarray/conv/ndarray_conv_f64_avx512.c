/* ndarray_conv_f64_avx512.c - the convolution loops on f64 for x86-64-v4. Tiles are those of AVX2: larger ones are no
 * faster, and would be 12 KB more. */
#include "ndarray_conv_loops.h"

#include <immintrin.h>

#define CONV_TABLE nd_conv_f64_avx512
#define CONV_F64_ONLY
#define ND_VECTOR_BYTES 64
#define CONV_ROWS 4
#define CONV_TAPS 3
#define CONV_SWEEP_TAPS 12
#define CONV_TILE_TAPS 12
#define CONV_PANEL 2
#define CONV_LANES_HEADER "ndarray_conv_lanes_avx512_type.inc"
#include "ndarray_conv_isa.inc"
