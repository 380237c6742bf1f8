/* ndarray_conv.h - how convolutions are laid out; shared by the files ndarray_conv*.c.
 *
 * Every convolution becomes one of stride 1 over a padded copy of some rows of some images of one group. Where the
 * stride is s, the copy holds s * s planes, one for each phase of rows and columns (0, s, 2s, .. then 1, s + 1, ..), as
 * far as taps need them; so neighbouring outputs always read neighbouring numbers and a tap of the kernel is one
 * offset. A transposed convolution is s * s convolutions, one for each phase of its output. Without padding and stride
 * there is no copy: the planes of the input are read where they lie.
 *
 * The pixels of the output are cut into vectors in one of five ways:
 * - running: vectors run on over the rows of the copy, the unused columns at the ends of rows included; the loops load
 * them where they lie (ND_CONV_DIRECT).
 * - packed: vectors hold pixels only, also of several images; what each tap sees of them is gathered first, piece by
 * piece into the first-level cache (ND_CONV_PANELS, and the gradient of many weights). Rows that are whole vectors are
 * read where they lie here too.
 * - points: vectors run on over a whole plane, which counts as one column, and are read where they lie, without a
 * table of vectors (ND_CONV_POINTS: kernels of one tap with stride 1 and no padding). The last ones are moved back to
 * where they are whole.
 * - images: a vector holds one pixel of as many images, and the copy has it so (ND_CONV_IMAGES). Small planes then
 * waste no lanes and need no gathering; and pixels that see the same taps make tiles of their own, which leave the
 * padding out.
 * - rows: vectors begin anew in each row (ND_CONV_ROWS: groups of one channel, whose planes are too few multiplications
 * to do anything else with, and the gradient of few weights). The gradient of a weight has one more (ND_CONV_CHANNELS):
 * lanes are output channels, and pixels are numbers that are broadcast from where they lie.
 *
 * That is so for direct sums. Convolutions with kernels of 3x3 and enough channels have another form, which lies
 * otherwise: ndarray_conv_winograd.c. Small planes of groups of one channel are read by a table of what each vector
 * sees: ndarray_conv_planes.c.
 *
 * Weights are read where the op has them, or packed where many pixels use them: a tile broadcasts them one by one. */
#ifndef BURN_NDARRAY_CONV_H
#define BURN_NDARRAY_CONV_H

#include "ndarray_conv_loops.h"

enum {
  ND_CONV_MANY_CHANNELS = 32, /* output channels from which on a weight's gradient counts as one of many weights */
  ND_CONV_PLANE = 96, /* least pixels of a plane that is read where it lies: of fewer, too many lanes are lost */
  ND_CONV_PAGE = 4096 /* bytes: planes so far apart push each other out of the first-level cache */
};

typedef enum NdConvWay {
  ND_CONV_DIRECT,
  ND_CONV_PANELS,
  ND_CONV_POINTS,
  ND_CONV_IMAGES,
  ND_CONV_ROWS,
  ND_CONV_CHANNELS
} NdConvWay;

/* One axis, rows (y) or columns (x). */
typedef struct NdConvAxis {
  int64_t in, out;
  int64_t pad;      /* position 0 of the copy is position -pad of the input; may be negative */
  int64_t step;     /* input positions between grid points */
  int64_t dilation; /* input positions between taps, where step > 1 */
  int64_t phases;   /* planes of the copy: plane i starts at input position i * dilation % step - pad */
  int64_t span;     /* positions of a plane that one grid point needs */
  int64_t grid;     /* most grid points of a phase of the output */
  int64_t out_step; /* output positions between grid points */
} NdConvAxis;

/* Vectors whose sums are made together, and what they see of one input channel. */
typedef struct NdConvTile {
  int64_t first, vector_count;
  const NdConvTap *taps;
  int64_t tap_count;
} NdConvTile;

/* The vectors of an item: its pixels in one phase of the output. */
typedef struct NdConvGrid {
  NdConvVector *vectors;
  NdConvPiece *pieces;
  NdConvTile *tiles; /* of ND_CONV_IMAGES */
  int64_t vector_count, piece_count, tile_count;
  bool needs_gather; /* packed vectors, and not all of their pixels are neighbours in the copy */
} NdConvGrid;

/* One output phase: a grid of output pixels that share their taps. */
typedef struct NdConvPhase {
  int64_t tap_count; /* per output channel, input channels included */
  NdConvTap *taps;
  int64_t first_row, first_column; /* of the output */
  int64_t rows, columns;           /* of the grid */
  NdConvGrid whole, last;          /* of an item, and of the last band or block of images */
} NdConvPhase;

/* Everything that follows from shapes and attributes. Channels are those of one group. */
typedef struct NdConvPlan {
  Ndarray *nd;
  const NdConvLoops *loops;
  uint32_t element_bytes; /* 4 or 8 */
  int64_t batch, groups, channels_in, channels_out;
  NdConvAxis y, x;
  NdConvWay way;
  bool in_place;                 /* no copy */
  int64_t images, band;          /* images and grid rows per item; one of the two is whole */
  int64_t blocks, bands;         /* so many items for a group */
  int64_t depth;                 /* taps at once, at most; not of the gradient */
  int64_t kernel_columns;        /* of the kernel, for the gradient */
  int64_t pixel;                 /* elements of the copy (or input) from column to column */
  int64_t row_width;             /* and from row to row */
  int64_t plane, image, channel; /* and so on */
  int64_t weights_row;           /* elements of the weights from output to output channel, */
  int64_t weights_channel;       /* from input to input channel, */
  int64_t weights_group;         /* and from group to group */
  int64_t square; /* rows and columns of the kernel, where both are as many and its taps are neighbours; else 0 */
  int64_t phase_count;
  NdConvPhase *phases;
  void *tables; /* vectors and pieces */
  uint64_t phases_bytes, tables_bytes;
} NdConvPlan;

/* A convolution as the ops describe it. */
typedef struct NdConvShape {
  const int64_t *x, *output;                           /* [n, c, h, w] of conv2d (or conv_transpose2d) */
  const int64_t *kernel, *stride, *padding, *dilation; /* [2] each */
  int64_t groups;
  BurnDType dtype;
} NdConvShape;

/* Some pixels of a group. */
typedef struct NdConvItem {
  int64_t group, first_image, images, first_row, rows;
  bool last; /* the grids `last` hold: fewer images, or the last of several bands, where phases may have fewer rows */
} NdConvItem;

/* -- ndarray_conv_plan.c ---------------------------------------------------------------------- */

/* Plans a conv2d (or conv_transpose2d). False when out of memory. The output must not be empty. nd_conv_plan_close ends
 * all kinds, failed ones too. */
bool nd_conv_plan_forward(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape);
bool nd_conv_plan_transpose(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape);
/* Plans the gradient of a conv2d's weight; the cut depends on shapes alone. */
bool nd_conv_plan_gradient(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape);
void nd_conv_plan_close(NdConvPlan *plan);

/* The loops for a dtype. */
const NdConvLoops *nd_conv_loops(uint32_t isa, BurnDType dtype);

/* -- ndarray_conv_winograd.c ------------------------------------------------------------------ */

/* Contiguous operands and the result; bias may be NULL. */
typedef struct NdConvData {
  const void *x, *weights, *bias;
  void *out;
} NdConvData;

/* True where Winograd's algorithm is the faster one: shapes and attributes decide, where there are loops for it. */
bool nd_conv_suits_winograd(const Ndarray *nd, const NdConvShape *shape, bool transpose);
/* conv2d or conv_transpose2d where it suits; false when out of memory. */
bool nd_conv_winograd(Ndarray *nd, const NdConvShape *shape, bool transpose, const NdConvData *data);

/* -- ndarray_conv_planes.c --------------------------------------------------------------------- */

/* True if groups have one channel, and small planes: shapes and attributes decide, where there are loops for it. */
bool nd_conv_suits_planes(const Ndarray *nd, const NdConvShape *shape, bool transpose);
/* conv2d or conv_transpose2d where it suits; false when out of memory. */
bool nd_conv_planes(Ndarray *nd, const NdConvShape *shape, bool transpose, const NdConvData *data);
/* The same two for conv2d_weight_backward. */
bool nd_conv_suits_planes_gradient(const Ndarray *nd, const NdConvShape *shape);
bool nd_conv_planes_gradient(Ndarray *nd, const NdConvShape *shape, const void *x, const void *grad, void *out);

/* -- ndarray_conv_winograd_gradient.c --------------------------------------------------------- */

/* The same two for conv2d_weight_backward. */
bool nd_conv_suits_winograd_gradient(const Ndarray *nd, const NdConvShape *shape);
bool nd_conv_winograd_gradient(Ndarray *nd, const NdConvShape *shape, const void *x, const void *grad, void *out);

/* -- ndarray_conv_item.c ---------------------------------------------------------------------- */

/* Chooses the way and cuts the output into items, enough for so many threads, once the axes are known. */
void nd_conv_cut(NdConvPlan *plan, uint32_t threads);
/* The same for kernels of one tap, as ND_CONV_POINTS; false, and nothing done, where that does not suit. */
bool nd_conv_cut_points(NdConvPlan *plan);
/* The same for the gradient of a weight, where sums follow the cut: it depends on shapes alone. */
void nd_conv_cut_gradient(NdConvPlan *plan);
/* True if packed vectors are gathered even where their pixels are neighbours. */
bool nd_conv_gathers_all(const NdConvPlan *plan);
/* Makes the grids of all phases; false when out of memory. */
bool nd_conv_make_grids(NdConvPlan *plan);
/* Item `number` of all groups: those of a group follow each other. */
NdConvItem nd_conv_item(const NdConvPlan *plan, int64_t number);
/* The channels of a share where each of `items` items is cut into shares of the channels: `share`, or where that leaves
 * threads without work as many whole units as end first. Threads have a say, so no sum may be cut by it. */
int64_t nd_conv_share(int64_t share, int64_t unit, int64_t channels, int64_t items, int64_t threads);

/* Elements of the copy of `channels` planes for one item, room for reading beyond its end included; 0 for no copy. */
int64_t nd_conv_copy_elements(const NdConvPlan *plan, int64_t channels);
/* Makes the copy of `channels` planes of an item from `channel` on of the whole input `x`; then what may be read behind
 * it. */
void nd_conv_copy(const NdConvPlan *plan, const NdConvItem *item, const void *x, int64_t channel, int64_t channels,
                  void *copy);
void nd_conv_copy_end(const NdConvPlan *plan, int64_t channels, void *copy);
/* What the loops are to read for `channels` planes of an item from `channel` on of the whole input `x`: the copy, which
 * is made in `copy`, or the planes themselves. */
const void *nd_conv_input(const NdConvPlan *plan, const NdConvItem *item, const void *x, int64_t channel,
                          int64_t channels, void *copy);

/* -- ndarray_conv_backward.c ------------------------------------------------------------------ */

/* Output channels of the next panel of `left` ones: as wide as is not mostly empty. */
int64_t nd_conv_panel_width(const NdConvLoops *loops, int64_t left);
/* The kernel of conv2d_weight_backward. */
BurnStatus nd_conv2d_weight_backward(Ndarray *nd, const BurnOpCall *call);

#endif
