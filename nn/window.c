/* window.c - windows over 1 to 3 axes and what a padding means for them, the same for every rank.
 *
 * Ops pad both ends of an axis alike. Where the ends differ (Same with an even kernel, uneven Explicit), the input is
 * written into a larger tensor of the padded value, which has a gradient like any slice_assign. */
#include "nn_internal.h"

BurnNnWindow burn_nn_window(uint32_t axes, const size_t *kernel_size, const size_t *stride, const size_t *dilation) {
  BurnNnWindow window = {.axes = axes};
  for (uint32_t i = 0; i < axes; i++) {
    window.kernel_size[i] = kernel_size[i];
    window.stride[i] = stride[i];
    window.dilation[i] = dilation ? dilation[i] : 1;
  }
  return window;
}

int64_t burn_nn_product(int64_t a, int64_t b) { return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b; }

int64_t burn_nn_positions(const BurnNnWindow *window) {
  int64_t positions = 1;
  for (uint32_t i = 0; i < window->axes; i++) positions = burn_nn_product(positions, (int64_t)window->kernel_size[i]);
  return positions;
}

void burn_nn_to_options(uint32_t axes, const size_t *from, int64_t *to) {
  for (uint32_t i = 0; i < axes; i++) to[i] = (int64_t)from[i];
}

/* The sides that give ceil(size / stride) positions along one spatial axis. Values that no op accepts give none: the op
 * then says what is wrong with them. */
static void same_sides(BurnNnSides *sides, uint32_t axis, const BurnTensor *x, const BurnNnWindow *window) {
  const size_t kernel_size = window->kernel_size[axis], stride = window->stride[axis],
               dilation = window->dilation[axis];
  const int64_t size = burn_rank(x) == sides->axes + 2 ? burn_dim(x, (int)axis + 2) : 0;
  const bool sane =
      kernel_size > 0 && stride > 0 && kernel_size <= INT32_MAX && stride <= INT32_MAX && dilation <= INT32_MAX;
  if (size <= 0 || !sane) return;
  const int64_t outputs = (size - 1) / (int64_t)stride + 1;
  const int64_t reach = (int64_t)dilation * ((int64_t)kernel_size - 1) + 1;
  const int64_t total = (outputs - 1) * (int64_t)stride + reach - size;
  if (total <= 0) return;
  sides->start[axis] = total / 2;
  sides->end[axis] = total - total / 2;
}

/* A padded size as a signed number; too large ones become INT64_MAX, which is refused later. */
static int64_t side(size_t size) { return size > INT64_MAX ? INT64_MAX : (int64_t)size; }

BurnNnSides burn_nn_sides(const BurnNnPadding *padding, const BurnTensor *x, const BurnNnWindow *window) {
  BurnNnSides sides = {.axes = window->axes};
  for (uint32_t i = 0; i < window->axes; i++) {
    if (padding->kind == BURN_PADDING_KIND_SAME) same_sides(&sides, i, x, window);
    if (padding->kind != BURN_PADDING_KIND_EXPLICIT) continue;
    sides.start[i] = side(padding->start[i]);
    sides.end[i] = side(padding->end[i]);
  }
  return sides;
}

/* Takes x and returns it in the middle of a larger tensor filled with value. */
static BurnTensor *surround(BurnTensor *x, const BurnNnSides *sides, double value) {
  BurnShape shape = burn_shape(x);
  BurnRange ranges[BURN_NN_MAX_AXES + 2] = {BURN_RANGE_ALL, BURN_RANGE_ALL};
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
  BurnTensor *frame = burn_full(burn_tensor_device(x), shape, burn_dtype(x), value);
  return burn_slice_assign(frame, ranges, sides->axes + 2, x);
}

BurnTensor *burn_nn_pad(BurnTensor *x, const BurnNnSides *sides, double value, int64_t *padding) {
  bool even = true;
  for (uint32_t i = 0; i < sides->axes; i++) even = even && sides->start[i] == sides->end[i];
  for (uint32_t i = 0; i < sides->axes; i++) padding[i] = even ? sides->start[i] : 0;
  /* A wrong rank is left to the op, which names it. */
  return even || burn_rank(x) != sides->axes + 2 ? x : surround(x, sides, value);
}
