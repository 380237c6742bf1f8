/* ndarray_conv_baseline.c - the convolution loops for whatever the compiler targets by default. */
#include "ndarray_conv_loops.h"

#define CONV_TABLE nd_conv_baseline
#define ND_VECTOR_BYTES 16
#define CONV_ROWS 4
#define CONV_TAPS 3
#define CONV_SWEEP_TAPS 12
#define CONV_TILE_TAPS 12
#define CONV_PANEL 2
#include "ndarray_conv_isa.inc"
