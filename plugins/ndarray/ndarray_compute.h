/* ndarray_compute.h - the inner loops of convolution, once per instruction set.
 *
 * ndarray_compute_template.h is compiled by ndarray_compute_{baseline,avx2,avx512}.c, each with its own compiler flags
 * and each for f32 and f64; this header is what the drivers (conv) see of it. Every element of a result
 * is one chain of multiply-adds in a fixed order, so its bits do not depend on where it lies in a tile or who computes
 * it. */
#ifndef BURN_NDARRAY_COMPUTE_H
#define BURN_NDARRAY_COMPUTE_H

#include "ndarray_internal.h"

/* Up to `lanes` neighbouring pixels of an output: where the first one's window starts in the padded input, and where
 * the results go. The last lanes may belong to the following row of the output (`next_*`), or to nothing. */
typedef struct NdConvVector {
  int64_t input;
  int64_t output;
  int64_t next_output;
  int32_t lanes;      /* lanes 0 .. lanes-1 go to output, output + step, ... */
  int32_t next_first; /* lanes next_first .. next_first+next_lanes-1 go to next_output, ... */
  int32_t next_lanes; /* 0 for most */
} NdConvVector;

/* Some output channels over a list of pixels: output[c][pixel] = bias[c] + sum over taps of weights[c][tap] *
 * input[pixel + offsets[tap]]. The input may be read up to a vector beyond its last element. */
typedef struct NdConvTile {
  const void *input;
  const void *weights; /* [channels, taps] */
  const void *bias;    /* [channels] or NULL */
  void *output;
  int64_t channels, taps;
  int64_t plane;          /* elements between output channels */
  int64_t step;           /* elements between pixels of an output row */
  const int64_t *offsets; /* [taps] */
  const NdConvVector *vectors;
  int64_t vector_count;
} NdConvTile;

/* sums[c][tap][lane] += over rows and columns: grad[c][row][column] * input[row][column + offsets[tap]]. Rows of grad
 * are readable, and zero, up to a whole number of vectors. */
typedef struct NdConvCorrelation {
  const void *input, *grad;
  void *sums; /* [channels, taps, lanes] */
  int64_t channels, taps, rows, columns;
  int64_t input_row, grad_row, grad_plane; /* elements from one to the next */
  const int64_t *offsets;                  /* [taps] */
} NdConvCorrelation;

/* The loops for one dtype. */
typedef struct NdConvLoops {
  int64_t lanes;
  void (*convolve)(const NdConvTile *tile);
  void (*correlate)(const NdConvCorrelation *correlation);
  /* out[i] = sum of sums[i][0 .. lanes-1] */
  void (*fold)(const void *sums, int64_t count, void *out);
} NdConvLoops;

/* All loops of one instruction set. */
typedef struct NdCompute {
  NdConvLoops conv_f32, conv_f64;
} NdCompute;

extern const NdCompute nd_compute_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdCompute nd_compute_avx2;
extern const NdCompute nd_compute_avx512;
#endif

/* The loops for NDARRAY_ISA_*; baseline if this build has no such variant. */
static inline const NdCompute *nd_compute(uint32_t isa) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (isa == NDARRAY_ISA_AVX512) return &nd_compute_avx512;
  if (isa == NDARRAY_ISA_AVX2) return &nd_compute_avx2;
#endif
  (void)isa;
  return &nd_compute_baseline;
}

#endif
