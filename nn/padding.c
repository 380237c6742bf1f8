/* padding.c - paddings as described values, and as work on tensors.
 *
 * Ops pad both ends of an axis alike. Where the ends differ (Same with an even kernel, uneven Explicit), the input is
 * written into a larger tensor of the padded value, which has a gradient like any slice_assign. */
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

/* The sides that give ceil(size / stride) positions along one spatial axis. Values that no op accepts give none: the op
 * then says what is wrong with them. */
static void same_sides(BurnNnSides *sides, uint32_t axis, const BurnTensor *x, const BurnNnWindow *window) {
  const size_t kernel_size = window->kernel_size[axis], stride = window->stride[axis],
               dilation = window->dilation[axis];
  const int64_t size = burn_rank(x) == sides->axes + 2 ? burn_dim(x, (int)axis + 2) : 0;
  const bool sane =
      kernel_size > 0 && stride > 0 && kernel_size <= INT32_MAX && stride <= INT32_MAX && dilation <= INT32_MAX;
  int64_t outputs, reach, total;
  if (size <= 0 || !sane) return;
  outputs = (size - 1) / (int64_t)stride + 1;
  reach = (int64_t)dilation * ((int64_t)kernel_size - 1) + 1;
  total = (outputs - 1) * (int64_t)stride + reach - size;
  if (total <= 0) return;
  sides->start[axis] = total / 2;
  sides->end[axis] = total - total / 2;
}

/* A padded size as a signed number; too large ones become INT64_MAX, which is refused later. */
static int64_t side(size_t size) { return size > INT64_MAX ? INT64_MAX : (int64_t)size; }

BurnNnSides burn_nn_sides_1d(const BurnPadding1d *padding, const BurnTensor *x, const BurnNnWindow *window) {
  BurnNnSides sides = {1, {0, 0}, {0, 0}};
  if (padding->kind == BURN_PADDING_KIND_SAME) same_sides(&sides, 0, x, window);
  if (padding->kind == BURN_PADDING_KIND_EXPLICIT) {
    sides.start[0] = side(padding->left);
    sides.end[0] = side(padding->right);
  }
  return sides;
}

BurnNnSides burn_nn_sides_2d(const BurnPadding2d *padding, const BurnTensor *x, const BurnNnWindow *window) {
  BurnNnSides sides = {2, {0, 0}, {0, 0}};
  if (padding->kind == BURN_PADDING_KIND_SAME) {
    same_sides(&sides, 0, x, window);
    same_sides(&sides, 1, x, window);
  }
  if (padding->kind == BURN_PADDING_KIND_EXPLICIT) {
    sides.start[0] = side(padding->top);
    sides.end[0] = side(padding->bottom);
    sides.start[1] = side(padding->left);
    sides.end[1] = side(padding->right);
  }
  return sides;
}

/* Takes x and returns it in the middle of a larger tensor filled with value. */
static BurnTensor *surround(BurnTensor *x, const BurnNnSides *sides, double value) {
  BurnShape shape = burn_shape(x);
  BurnRange ranges[4] = {BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_ALL};
  BurnTensor *frame;
  for (uint32_t i = 0; i < sides->axes; i++) {
    const int64_t size = shape.dims[i + 2], longest = INT32_MAX;
    if (sides->start[i] > longest || sides->end[i] > longest || size > INT64_MAX - 2 * longest) {
      burn_drop(x);
      return burn_tensor_failed(
          burn_status_make(BURN_STATUS_OUT_OF_RANGE, "padding: %lld and %lld around an axis of %lld are too much",
                           (long long)sides->start[i], (long long)sides->end[i], (long long)size));
    }
    ranges[i + 2] = BURN_RANGE(sides->start[i], sides->start[i] + size);
    shape.dims[i + 2] = sides->start[i] + size + sides->end[i];
  }
  frame = burn_full(burn_tensor_device(x), shape, burn_dtype(x), value);
  return burn_slice_assign(frame, ranges, sides->axes + 2, x);
}

BurnTensor *burn_nn_pad(BurnTensor *x, const BurnNnSides *sides, double value, int64_t padding[2]) {
  const bool even = sides->start[0] == sides->end[0] && sides->start[1] == sides->end[1];
  padding[0] = even ? sides->start[0] : 0;
  padding[1] = even ? sides->start[1] : 0;
  /* A wrong rank is left to the op, which names it. */
  return even || burn_rank(x) != sides->axes + 2 ? x : surround(x, sides, value);
}
