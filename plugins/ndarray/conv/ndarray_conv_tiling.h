/* ndarray_conv_tiling.h - how images are cut into tiles for Winograd's algorithm, which ndarray_conv_winograd.c
 * describes: the same for convolutions and for the gradient of weights. */
#ifndef BURN_NDARRAY_CONV_TILING_H
#define BURN_NDARRAY_CONV_TILING_H

#include "ndarray_conv.h"

enum {
  ND_TILING_KERNEL = 3, /* rows and columns of a kernel */
  ND_TILING_TAPS = ND_TILING_KERNEL * ND_TILING_KERNEL,
  ND_TILING_CHUNK = 16,                /* input channels whose weights are transposed at once */
  ND_TILING_LINE = 64 / sizeof(float), /* elements */
};

/* Tiles of the output, two by two numbers, and the input that they see. They are cut into items: rows of tiles, which
 * may belong to several images, and of them a strip of columns. */
typedef struct NdConvTiling {
  const NdConvLoops *loops;
  const float *x;
  int64_t batch, channels_in, channels_out, height, width, out_height, out_width, pad[2];
  int64_t rows, columns; /* of tiles of an image */
  int64_t strip, strips; /* columns of an item, and how many strips there are */
  int64_t band, bands;   /* rows of an item, and how many such bands there are */
  int64_t items;
  int64_t row, plane;           /* elements from channel to channel of an item's input, and from place to place */
  int64_t copy_row, copy_plane; /* elements of the even (or odd) columns of a padded plane */
} NdConvTiling;

/* Rows of tiles of the whole batch, and columns. */
typedef struct NdConvTilingItem {
  int64_t first_row, rows, first_column, columns;
} NdConvTilingItem;

/* Those of them that belong to one image. */
typedef struct NdConvTilingSegment {
  int64_t image, first_row, rows;
} NdConvTilingSegment;

/* The sizes of a convolution (or a transposed one, whose input is padded accordingly). False where the algorithm does
 * not know it, or where it is more work than direct sums: shapes and attributes decide, where there are loops. */
bool nd_conv_tiling(NdConvTiling *tiling, const Ndarray *nd, const NdConvShape *shape, bool transpose);
/* Cuts it into items of about so many tiles. */
void nd_conv_tiling_cut(NdConvTiling *tiling, int64_t tiles);
/* Settles how the input of an item lies: rows of `least` elements or more. */
void nd_conv_tiling_settle(NdConvTiling *tiling, int64_t least);
NdConvTilingItem nd_conv_tiling_item(const NdConvTiling *tiling, int64_t number);
/* The segment that follows `before` rows of an item; false at its end. */
bool nd_conv_tiling_segment(const NdConvTiling *tiling, const NdConvTilingItem *item, int64_t before,
                            NdConvTilingSegment *segment);
/* Input channels channel .. channel + channels - 1 of an item in the other basis, places[place][channel][tile]. `copy`
 * is memory for two half planes; whole vectors are read beyond their ends. */
void nd_conv_tiling_input(const NdConvTiling *tiling, const NdConvTilingItem *item, int64_t channel, int64_t channels,
                          float *copy, float *places);

#endif
