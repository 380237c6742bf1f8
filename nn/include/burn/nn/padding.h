/* padding.h - how convolution and pooling layers pad: as values for config rows and JSON ("Same", "Valid",
 * {"Explicit": [top, left, bottom, right]}; of volumes {"Explicit": [depth, height, width]}, on both sides of each
 * axis).
 *
 * Same gives ceil(input / stride) outputs; of an odd number of padded positions the odd one is at the end, so an even
 * kernel works too. Uneven padding is carried out as a tensor of its own in front of the op. */
#ifndef BURN_NN_PADDING_H
#define BURN_NN_PADDING_H

#include <burn/reflect.h>

BURN_EXTERN_C_BEGIN

/* Cases of a padding, in the order of Burn's enum. */
enum { BURN_PADDING_KIND_SAME = 0, BURN_PADDING_KIND_VALID, BURN_PADDING_KIND_EXPLICIT };

/* A padding with its case; the sizes count for Explicit only. */
typedef struct BurnPadding1d {
  uint32_t kind; /* BURN_PADDING_KIND_* */
  BurnSize left, right;
} BurnPadding1d;
typedef struct BurnPadding2d {
  uint32_t kind; /* BURN_PADDING_KIND_* */
  BurnSize top, left, bottom, right;
} BurnPadding2d;
typedef struct BurnPadding3d {
  uint32_t kind; /* BURN_PADDING_KIND_* */
  BurnSize depth, height, width;
} BurnPadding3d;
BURN_API const BurnType *BurnPadding1d_type(void);
BURN_API const BurnType *BurnPadding2d_type(void);
BURN_API const BurnType *BurnPadding3d_type(void);

/* Values for rows; with a cast for assignments and arguments: config.padding = (BurnPadding2d)BURN_PADDING_SAME; */
#define BURN_PADDING_SAME BURN_INTERNAL_PADDING_KIND(SAME)
#define BURN_PADDING_VALID BURN_INTERNAL_PADDING_KIND(VALID)
#define BURN_PADDING_1D(at_left, at_right) \
  BURN_INTERNAL_ROW_VALUE(BurnPadding1d, BURN_PADDING_KIND_EXPLICIT, (at_left), (at_right))
#define BURN_PADDING_2D(at_top, at_left, at_bottom, at_right) \
  BURN_INTERNAL_ROW_VALUE(BurnPadding2d, BURN_PADDING_KIND_EXPLICIT, (at_top), (at_left), (at_bottom), (at_right))
#define BURN_PADDING_3D(of_depth, of_height, of_width) \
  BURN_INTERNAL_ROW_VALUE(BurnPadding3d, BURN_PADDING_KIND_EXPLICIT, (of_depth), (of_height), (of_width))

/* Same and Valid are values of all these types. */
#ifdef __cplusplus
struct BurnPaddingKind {
  uint32_t kind;
  operator BurnPadding1d() const { return {kind, 0, 0}; }
  operator BurnPadding2d() const { return {kind, 0, 0, 0, 0}; }
  operator BurnPadding3d() const { return {kind, 0, 0, 0}; }
};
#define BURN_INTERNAL_PADDING_KIND(KIND) \
  BurnPaddingKind { BURN_PADDING_KIND_##KIND }
#else
#define BURN_INTERNAL_PADDING_KIND(KIND) \
  { .kind = BURN_PADDING_KIND_##KIND }
#endif

/* A pair as an expression, {height, width} or {in, out}, and a triple, {depth, height, width}; both as defaults of
 * rows. */
#define BURN_SIZE2(first, second) BURN_INTERNAL_VALUE(BurnSize2, {(first), (second)})
#define BURN_SIZE3(first, second, third) BURN_INTERNAL_VALUE(BurnSize3, {(first), (second), (third)})
#define BURN_PAIR_OF_ZEROS BURN_INTERNAL_ROW_VALUE(BurnSize2, {0, 0})
#define BURN_PAIR_OF_ONES BURN_INTERNAL_ROW_VALUE(BurnSize2, {1, 1})
#define BURN_TRIPLE_OF_ZEROS BURN_INTERNAL_ROW_VALUE(BurnSize3, {0, 0, 0})
#define BURN_TRIPLE_OF_ONES BURN_INTERNAL_ROW_VALUE(BurnSize3, {1, 1, 1})

/* Zeros and ones per axis for the rows that layers of every rank share: BURN_INTERNAL_ONES_##D of rank D. */
#define BURN_INTERNAL_ZEROS_1D 0
#define BURN_INTERNAL_ZEROS_2D BURN_PAIR_OF_ZEROS
#define BURN_INTERNAL_ZEROS_3D BURN_TRIPLE_OF_ZEROS
#define BURN_INTERNAL_ONES_1D 1
#define BURN_INTERNAL_ONES_2D BURN_PAIR_OF_ONES
#define BURN_INTERNAL_ONES_3D BURN_TRIPLE_OF_ONES

BURN_EXTERN_C_END

#endif
