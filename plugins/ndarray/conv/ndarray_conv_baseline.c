/* ndarray_conv_baseline.c - the convolution loops for whatever the compiler targets by default. */
#include "ndarray_conv_loops.h"

#define CONV_TABLE nd_conv_baseline
#define ND_VECTOR_BYTES 16
#if defined(__aarch64__) /* 32 registers */
#define CONV_ROWS 8
#define CONV_TAPS 6
#define CONV_SWEEP_TAPS 25
#define CONV_TILE_TAPS 24
#define CONV_PANEL 4
#else
#define CONV_ROWS 4
#define CONV_TAPS 3
#define CONV_SWEEP_TAPS 12
#define CONV_TILE_TAPS 12
#define CONV_PANEL 2
#endif
#if !defined(BURN_NDARRAY_X86_VARIANTS) /* where there are variants, the baseline is small */
#define CONV_WINOGRAD 1
#endif
#include "ndarray_conv_isa.inc"
