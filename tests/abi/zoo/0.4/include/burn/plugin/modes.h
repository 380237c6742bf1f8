/* modes.h - the numbers that the mode attributes of ops.def take; public options use them too. */
#ifndef BURN_PLUGIN_MODES_H
#define BURN_PLUGIN_MODES_H

/* How interpolate finds a value between pixels. */
typedef enum BurnInterpolateMode {
  BURN_INTERPOLATE_NEAREST = 0,       /* pixel floor(i * in / out) */
  BURN_INTERPOLATE_NEAREST_EXACT = 1, /* pixel floor((i + 0.5) * in / out) */
  BURN_INTERPOLATE_BILINEAR = 2,
  BURN_INTERPOLATE_BICUBIC = 3, /* the cubic kernel with A = -0.75, as in PyTorch */
  BURN_INTERPOLATE_LANCZOS3 = 4 /* sinc(t) sinc(t / 3) for |t| < 3 over its sum, without the taps outside */
} BurnInterpolateMode;

/* How grid_sample_2d finds a value between pixels. */
typedef enum BurnGridSampleMode {
  BURN_GRID_SAMPLE_BILINEAR = 0,
  BURN_GRID_SAMPLE_NEAREST = 1, /* halves go to the even pixel */
  BURN_GRID_SAMPLE_BICUBIC = 2  /* the cubic kernel with A = -0.75 */
} BurnGridSampleMode;

/* What grid_sample_2d finds outside of the picture. */
typedef enum BurnGridPaddingMode {
  BURN_GRID_PADDING_ZEROS = 0,
  BURN_GRID_PADDING_BORDER = 1,    /* the nearest pixel of the border */
  BURN_GRID_PADDING_REFLECTION = 2 /* mirrored at the border as often as needed */
} BurnGridPaddingMode;

#endif
