/* ndarray_conv_loops.h - the inner loops of convolution, once per instruction set.
 *
 * ndarray_conv_type.inc is compiled by ndarray_conv_{baseline,avx2,avx512}.c, each with its own compiler flags and
 * each for f32 and f64; this header is what the drivers (ndarray_conv*.c) see of it. Every element of a result is one
 * chain of multiply-adds in a fixed order, so its bits do not depend on where it lies in a tile or who computes it. */
#ifndef BURN_NDARRAY_CONV_LOOPS_H
#define BURN_NDARRAY_CONV_LOOPS_H

#include "ndarray_internal.h"

#define ND_CONV_LANES 16                               /* most lanes of a vector */
#define ND_CONV_VECTORS 3                              /* vectors of pixels in a tile */
#define ND_CONV_CHUNK 128                              /* pixels that the sums of a weight gradient take at once */
#define ND_CONV_COLUMN (ND_CONV_CHUNK + ND_CONV_LANES) /* from one tap to the next: rows do not meet in the cache */

/* Taps at once: what they see of a tile of pixels stays in the first-level cache. */
enum { ND_CONV_DEPTH = 192 };

/* One plane of the padded copy from one plane of the input: to[r][j] = from[first_row + r * row_step][first_column + j
 * * column_step], and 0 outside. With a column step of 2, `odd` gets the columns in between, unless it is NULL. Up to a
 * vector is written beyond the last row. */
typedef struct NdConvCopy {
  const void *from;
  void *to, *odd;
  int64_t height, width;
  int64_t first_row, row_step, rows;
  int64_t first_column, column_step, columns;
  int64_t ahead; /* what lies so many elements further is wanted next */
} NdConvCopy;

/* Lanes first .. first+count-1 of a vector of results go to output, output + step, .. */
typedef struct NdConvPiece {
  int64_t output;
  int32_t first, count;
} NdConvPiece;

/* LANES pixels: where each one's window starts, relative to the first one's; and the pieces they are stored in. */
typedef enum NdConvKind { ND_CONV_NEIGHBOURS, ND_CONV_NEAR, ND_CONV_ANYWHERE } NdConvKind;
typedef struct NdConvVector {
  int64_t input; /* of the first pixel */
  int64_t place; /* of its sums among those of an item, where lanes are images: vectors before it */
  int32_t index[ND_CONV_LANES];
  NdConvKind kind; /* index[i] = i; all below 2 * LANES, and that far may be read; any */
  int32_t piece, piece_count;
} NdConvVector;

/* What an output channel adds up: a number of the input, so many elements from a pixel's first, times one of its
 * weights. */
typedef struct NdConvTap {
  int64_t input, weight;
} NdConvTap;

/* columns[k][vector][lane] = input[vectors[vector].input + index[lane] + taps[k].input], k's `row` elements apart. */
typedef struct NdConvGather {
  const void *input;
  const NdConvVector *vectors;
  int64_t vector_count;
  const NdConvTap *taps;
  int64_t depth;
  void *columns;
  int64_t row;
} NdConvGather;

/* One tile of pixels of some output channels: sum over taps of weights[channel][tap.weight] * input[base[v] + tap.input
 * + lane]; then again further on in both, for so many rounds. */
typedef struct NdConvProduct {
  const void *input;
  int64_t base[ND_CONV_VECTORS];
  const NdConvTap *taps; /* [depth] */
  int64_t depth, rounds;
  int64_t input_step, weights_step; /* from round to round */
  const void *weights;              /* of the first channel, where the op has them */
  int64_t weights_row;              /* elements from channel to channel */
  bool packed; /* weights lie as `pack` leaves them, and the input is gathered: [depth, ND_CONV_VECTORS * lanes] */
  int64_t channels;
  const void *bias; /* [channels] or NULL; used by the first chunk */
  void *partial;    /* sums between the chunks of depth: [channels], `partial_row` elements apart, .. */
  int64_t partial_row;
  int64_t place[ND_CONV_VECTORS]; /* .. where those of a vector are so many elements further */
  bool first, last;               /* the chunk starts with the bias, ends in the output */
  const NdConvVector *vectors;
  int64_t vector_count;      /* 1 .. ND_CONV_VECTORS */
  const NdConvPiece *pieces; /* of all vectors of the item */
  void *output;
  int64_t plane; /* elements between output channels */
  int64_t step;  /* between pixels of a row */
} NdConvProduct;

/* output[channel][pixel] = bias[channel] + the sum over k of weights[channel][k] * input[k][pixel], a chunk of k. */
typedef struct NdConvPoints {
  const void *input, *weights; /* packed; from the first k of the chunk on */
  const void *bias;            /* [channels] or NULL; used by the first chunk */
  void *output;                /* where sums are between the chunks, too, .. */
  void *partial;               /* .. but [channels, ND_CONV_VECTORS * lanes] of the last vectors are here */
  int64_t plane;               /* elements from row to row of input and output */
  int64_t pixels;              /* ND_CONV_VECTORS * lanes or more */
  int64_t channels, depth;
  int64_t weights_row; /* elements from channel to channel, k of other chunks included */
  bool first, last;    /* the chunk starts with the bias; nothing follows it */
} NdConvPoints;

/* Winograd's algorithm (ndarray_conv_winograd.c): a tile of the input, four by four numbers, and so are a kernel's
 * weights in its form; tiles are two apart and become two by two numbers of the output. Each of the 16 places of a tile
 * is a matrix, `plane` elements from that of the place before. */
enum { ND_CONV_PLACES = 16 };

/* filters: to[place][channel][lane] from from[channel][tap][lane], whose taps are counted backwards if `flip`; `panel`
 * lanes. unfilter: to[channel][tap][lane] from from[place][channel][lane] for their gradients; a vector of lanes. */
typedef struct NdConvFilters {
  const void *from;
  void *to;
  int64_t channels, plane;
  int64_t row; /* elements from channel to channel of a place, for unfilter */
  bool flip;
} NdConvFilters;

/* Rows of tiles of one channel, places[place][row][column]. */
typedef struct NdConvTiles {
  void *places; /* up to a vector is written beyond the last row, or read there */
  int64_t plane;
  int64_t rows, columns;
  const void *even, *odd; /* even and odd columns of the padded input, or of the gradient of the output, .. */
  int64_t row;            /* .. whose rows are so many elements apart */
  float bias;
  void *out; /* of which there are `out_rows` and `out_columns`, one less than two for each tile where they are odd */
  int64_t out_rows, out_columns, out_width;
} NdConvTiles;

/* sums[channel][tile] = the sum over k of weights[channel][k] * input[k][tile] for one place. */
typedef struct NdConvPlace {
  const void *weights; /* as NdConvFilters leaves them: [panels, depth, panel] */
  const void *input;
  void *sums;
  int64_t channels; /* in whole panels */
  int64_t depth, tiles;
  int64_t row; /* elements from k to k, and from channel to channel of the sums */
} NdConvPlace;

/* output[row][column] = bias + the sum over taps of weights[tap.weight] * input[row * row_width + column + tap.input].
 * Up to a vector is read beyond a row. */
typedef struct NdConvPlane {
  const void *input, *weights;
  const void *bias; /* one number, or NULL */
  void *output;     /* [rows, columns] */
  const NdConvTap *taps;
  int64_t tap_count;
  int64_t square; /* they see a square of so many rows and columns of the input, row by row; 0: others */
  int64_t rows, columns, row_width;
} NdConvPlane;

/* What a vector of an output plane sees by a tap: lane 0 the number `input` elements from the plane's first, the others
 * those that follow. Lanes whose bit is not set see 0, and nothing is read for them. */
typedef struct NdConvSight {
  int32_t input;
  uint32_t bits;
} NdConvSight;

/* Sums go to so many numbers from `output` on; those of a pair of vectors in turn. */
typedef struct NdConvSpan {
  int32_t output, count;
} NdConvSpan;

/* Small planes that follow each other, each from a plane of the input and the weights of its group. Or the gradient of
 * those weights: sums[plane][tap][lane] += output[pixel] * what the pixel sees of the input. */
typedef struct NdConvPlanes {
  const void *input, *weights; /* of the first plane; [groups, taps] */
  const void *bias;            /* [groups] or NULL */
  void *output;
  void *sums; /* of the gradient, which has no more groups than planes and reads the output */
  int64_t count, in_plane, out_plane;
  int64_t group, groups; /* of the first plane */
  int64_t taps, vectors;
  const NdConvSight *sights; /* [vectors, taps] */
  const NdConvSpan *spans;   /* [vectors] */
  int64_t half;              /* 0, or the odd columns' place in a plane that is split before it is read .. */
  void *scratch;             /* .. into this */
  bool pairs;
} NdConvPlanes;

/* sums[channel][tap][lane] += over vectors of a row, over rows: grad[channel][row][column] * input[taps[tap].input +
 * row * row_width + column]. Rows of grad are whole vectors, with zeros after the last column. */
typedef struct NdConvCorrelation {
  const void *input, *grad;
  void *sums; /* [channels, tap_count, lanes] */
  int64_t channels, tap_count;
  const NdConvTap *taps;
  int64_t rows, columns, row_width;
} NdConvCorrelation;

/* sums[tap][channel] += over pixels of some rows: input[taps[tap].input + row * row_width + column] *
 * grad[pixel][channel], for a vector of channels. */
typedef struct NdConvSweep {
  const void *input;
  const void *grad; /* [rows * columns, lanes] */
  void *sums;       /* [tap_count, lanes] */
  const NdConvTap *taps;
  int64_t tap_count;
  int64_t run; /* so many taps follow each other in the input, and again so many .. */
  int64_t rows, columns, row_width;
} NdConvSweep;

/* sums[tap][channel] += over pixels: columns[tap][pixel] * grad[pixel][channel]. Columns and sums have room for whole
 * tiles of taps. */
typedef struct NdConvOuter {
  const void *columns; /* [taps, row] */
  int64_t row;         /* ND_CONV_COLUMN, or for the widest panel any */
  int64_t ahead;       /* then: what lies so many elements behind is fetched, unless it is 0 */
  const void *grad;    /* [pixels, width] */
  void *sums;
  int64_t taps, pixels;
  int64_t width;    /* one of the panel widths */
  int64_t sums_row; /* elements between taps */
} NdConvOuter;

/* The loops for one dtype. */
typedef struct NdConvLoops {
  int64_t lanes;
  int64_t rows;        /* output channels of a tile */
  int64_t max_vectors; /* of channels in a panel of NdConvOuter: 1, 2 or 4, each twice the one before */
  int64_t tile_taps;   /* of the narrowest panel; a panel of v vectors has tile_taps / v */
  int64_t block;     /* output channels that meet all gathered tiles before the next ones; 0: all, nothing is packed */
  bool reads_within; /* correlate reads no input after the last column */
  void (*copy)(const NdConvCopy *copy);
  void (*gather)(const NdConvGather *gather);
  /* to[j][lane] = from[index[lane] + j * step] for j < count */
  void (*interleave)(const void *from, const int32_t *index, int64_t step, int64_t count, void *to);
  void (*product)(const NdConvProduct *product);
  /* to[k][channel] = weights[channel * row + taps[k].weight] for channel < channels, else 0; NULL where block is
   * 0. */
  void (*pack)(const void *weights, int64_t row, const NdConvTap *taps, int64_t depth, int64_t channels, void *to);
  void (*points)(const NdConvPoints *points);    /* NULL where block is 0 */
  int64_t panel;                                 /* of NdConvFilters */
  void (*filters)(const NdConvFilters *filters); /* this and the next five: NULL where there is no such loop */
  void (*tiles)(const NdConvTiles *tiles);       /* input to places */
  void (*place)(const NdConvPlace *place);
  void (*untile)(const NdConvTiles *tiles); /* places to output */
  void (*grads)(const NdConvTiles *tiles);  /* gradient of the output to places */
  void (*unfilter)(const NdConvFilters *filters);
  void (*plane)(const NdConvPlane *plane);
  void (*planes)(const NdConvPlanes *planes); /* this and the next: NULL where there is no such loop */
  void (*planes_gradient)(const NdConvPlanes *planes);
  void (*correlate)(const NdConvCorrelation *correlation);
  void (*sweep)(const NdConvSweep *sweep);
  void (*outer)(const NdConvOuter *outer);
  /* out[i] = sum of sums[i][0 .. lanes-1] */
  void (*fold)(const void *sums, int64_t count, void *out);
  /* to[c][r] = from[r][c] for r < rows, c < columns; rows of `from` and `to` are that many elements apart. */
  void (*transpose)(const void *from, int64_t from_row, int64_t rows, int64_t columns, void *to, int64_t to_row);
} NdConvLoops;

/* All loops of one instruction set. */
typedef struct NdConvTable {
  NdConvLoops f32, f64;
} NdConvTable;

extern const NdConvTable nd_conv_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdConvTable nd_conv_avx2;
extern const NdConvTable nd_conv_avx512, nd_conv_f64_avx512; /* of one dtype each */
#endif

#endif
