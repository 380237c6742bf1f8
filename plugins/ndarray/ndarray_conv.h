/* ndarray_conv.h - how convolutions are laid out; shared by ndarray_conv.c, ndarray_conv_plan.c and
 * ndarray_conv_backward.c.
 *
 * All of them run over a padded copy of some rows of one group of one image. Where the stride along a row is s, each
 * row of the copy is split into s phases (columns 0, s, 2s, .. then 1, s + 1, ..), so neighbouring outputs always read
 * neighbouring numbers and a tap of the kernel is one offset. A transposed convolution is s * s convolutions of stride
 * 1, one for each phase of its output. */
#ifndef BURN_NDARRAY_CONV_H
#define BURN_NDARRAY_CONV_H

#include "ndarray_compute.h"

/* One output phase: a grid of output pixels that share their taps. */
typedef struct NdConvPhase {
  int64_t taps;                    /* per output channel, input channels included */
  int64_t *offsets;                /* [taps] into the copy */
  const void *weights;             /* [channels_out, taps] of group 0 */
  int64_t weights_group;           /* elements to the next group's */
  int64_t first_row, first_column; /* of the output */
  int64_t rows, columns;           /* of the grid */
} NdConvPhase;

/* Everything that follows from shapes and attributes. Channels are those of one group. */
typedef struct NdConvPlan {
  Ndarray *nd;
  const NdConvLoops *loops;
  uint32_t element_bytes; /* 4 or 8 */
  int64_t batch, groups, channels_in, channels_out;
  int64_t height, width;                         /* of the input */
  int64_t out_height, out_width;                 /* of the output */
  int64_t pad_top, pad_left;                     /* may be negative: rows or columns that are not used */
  int64_t row_step;                              /* rows of the copy between grid rows */
  int64_t column_phases, phase_width, row_width; /* of the copy, row_width = column_phases * phase_width */
  int64_t span;                                  /* rows of the copy that one grid row needs */
  int64_t copy_plane;                            /* elements between channels of the copy */
  bool direct;                                   /* no copy: the loops read the planes of the input */
  int64_t out_step_y, out_step_x;                /* output pixels between grid points */
  int64_t grid_rows;                             /* most rows of a phase */
  int64_t band;                                  /* grid rows done at once */
  int64_t phase_count;
  NdConvPhase *phases;
  int64_t *offsets; /* memory of all phases */
  void *packed;     /* rearranged weights, or NULL */
  uint64_t offsets_bytes, packed_bytes;
} NdConvPlan;

/* A convolution as the ops describe it. */
typedef struct NdConvShape {
  const int64_t *x, *output;                           /* [n, c, h, w] of conv2d (or conv_transpose2d) */
  const int64_t *kernel, *stride, *padding, *dilation; /* [2] each */
  int64_t groups;
  BurnDType dtype;
} NdConvShape;

/* Plans a conv2d. `weights` are those of the op, contiguous, and must outlive the plan; NULL plans the gradient of the
 * weight. False when out of memory. The output must not be empty. nd_conv_plan_close ends both kinds, failed ones too.
 */
bool nd_conv_plan_forward(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape, const void *weights);
/* The same for conv_transpose2d; copies the weights [in, out/groups, kh, kw] in another order. */
bool nd_conv_plan_transpose(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape, const void *weights);
void nd_conv_plan_close(NdConvPlan *plan);

/* Elements of the copy of `channels` planes for one band, room for reading a vector beyond its end included. */
int64_t nd_conv_copy_elements(const NdConvPlan *plan, int64_t channels);
/* What the loops shall read for `rows` grid rows from `first_row` on of `channels` planes that start at `planes`: the
 * copy, which is made in `copy`, or the planes themselves where no padding is needed. */
const void *nd_conv_input(const NdConvPlan *plan, const void *planes, int64_t channels, int64_t first_row, int64_t rows,
                          void *copy);

/* The kernel of conv2d_weight_backward (ndarray_conv_backward.c). */
BurnStatus nd_conv2d_weight_backward(Ndarray *nd, const BurnOpCall *call);

#endif
