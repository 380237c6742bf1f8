/* padding.c - paddings as described values, one type per rank. What they mean for a tensor is in window.c, for all. */
#include "nn_internal.h"

static const BurnField explicit_1d[] = {
    {NULL, BurnSize_type, offsetof(BurnPadding1d, left), "before the first position", true},
    {NULL, BurnSize_type, offsetof(BurnPadding1d, right), "after the last position", true},
};
static const BurnField explicit_2d[] = {
    {NULL, BurnSize_type, offsetof(BurnPadding2d, top), "above the first row", true},
    {NULL, BurnSize_type, offsetof(BurnPadding2d, left), "before the first column", true},
    {NULL, BurnSize_type, offsetof(BurnPadding2d, bottom), "below the last row", true},
    {NULL, BurnSize_type, offsetof(BurnPadding2d, right), "after the last column", true},
};
static const BurnField explicit_3d[] = {
    {NULL, BurnSize_type, offsetof(BurnPadding3d, depth), "before the first plane and after the last", true},
    {NULL, BurnSize_type, offsetof(BurnPadding3d, height), "above and below", true},
    {NULL, BurnSize_type, offsetof(BurnPadding3d, width), "left and right", true},
};

const BurnType *BurnPadding1d_type(void) {
  static const BurnVariant variants[] = {{"Same", 0, NULL}, {"Valid", 0, NULL}, {"Explicit", 2, explicit_1d}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnPadding1d",
                                .bytes = sizeof(BurnPadding1d),
                                .count = 3,
                                .variants = variants};
  return &type;
}

const BurnType *BurnPadding2d_type(void) {
  static const BurnVariant variants[] = {{"Same", 0, NULL}, {"Valid", 0, NULL}, {"Explicit", 4, explicit_2d}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnPadding2d",
                                .bytes = sizeof(BurnPadding2d),
                                .count = 3,
                                .variants = variants};
  return &type;
}

const BurnType *BurnPadding3d_type(void) {
  static const BurnVariant variants[] = {{"Same", 0, NULL}, {"Valid", 0, NULL}, {"Explicit", 3, explicit_3d}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnPadding3d",
                                .bytes = sizeof(BurnPadding3d),
                                .count = 3,
                                .variants = variants};
  return &type;
}

BurnNnPadding burn_nn_padding_1d(const BurnPadding1d *padding) {
  return (BurnNnPadding){padding->kind, {padding->left}, {padding->right}};
}

BurnNnPadding burn_nn_padding_2d(const BurnPadding2d *padding) {
  return (BurnNnPadding){padding->kind, {padding->top, padding->left}, {padding->bottom, padding->right}};
}

BurnNnPadding burn_nn_padding_3d(const BurnPadding3d *padding) {
  const size_t depth = padding->depth, height = padding->height, width = padding->width;
  return (BurnNnPadding){padding->kind, {depth, height, width}, {depth, height, width}};
}
