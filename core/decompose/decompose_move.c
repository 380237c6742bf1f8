/* decompose_move.c - the composite ops that move elements by tuples of indices, by windows, into margins, and in order.
 * See decompose.c for what a decomposition may do. */
#include "decompose_internal.h"

/* -- tuples of indices ------------------------------------------------------------------------ */

/* Where x is true and y is true. */
static BurnPrimitive *either(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *y) {
  return x ? burn_build_op2(b, BURN_OP_bool_or, x, y) : y;
}

/* x [.., k, rest ..] and tuples [.., k]: numbers of the rows of x [product of the k leading axes, rest], rank 1. A
 * tuple with a coordinate outside its axis becomes -1, so that select, or whoever takes the numbers, refuses it. */
static BurnPrimitive *row_numbers(BurnBuilder *b, const BurnPrimitive *x, BurnPrimitive *tuples) {
  const int64_t width = tuples->shape[tuples->rank - 1];
  const int64_t pairs[] = {width > 0 ? burn_primitive_count(tuples) / width : 0, width};
  tuples = burn_build_reshape(b, burn_build_cast(b, tuples, BURN_DTYPE_I64), pairs, 2);
  BurnPrimitive *numbers = NULL, *outside = NULL;
  for (int64_t k = 0; k < width; k++) {
    const int64_t starts[] = {0, k}, counts[] = {pairs[0], 1}, steps[] = {1, 1};
    const BurnAttr attrs[] = {burn_attr_i64s(starts, 2), burn_attr_i64s(counts, 2), burn_attr_i64s(steps, 2)};
    BurnPrimitive *column = burn_build(b, BURN_OP_slice, 1, &tuples, 3, attrs);
    outside = either(b, outside, burn_build_scalar(b, BURN_OP_lower_scalar, column, 0));
    outside = either(b, outside, burn_build_scalar(b, BURN_OP_greater_equal_scalar, column, (double)x->shape[k]));
    numbers = numbers ? burn_build_add(b, scaled(b, numbers, (double)x->shape[k]), column) : column;
  }
  return burn_build_reshape(b, masked(b, numbers, outside, -1), pairs, 1);
}

/* x as rows: [product of the k leading axes, product of the others]. */
static BurnPrimitive *as_rows(BurnBuilder *b, BurnPrimitive *x, int64_t leading) {
  int64_t shape[] = {1, 1};
  for (int64_t i = 0; i < (int64_t)x->rank; i++) shape[i < leading ? 0 : 1] *= x->shape[i];
  return burn_build_reshape(b, x, shape, 2);
}

static int64_t tuple_width(const BurnPrimitive *indices) { return indices->shape[indices->rank - 1]; }

DECOMPOSE(gather_nd) {
  BurnPrimitive *x = call->inputs[0], *indices = call->inputs[1];
  BurnPrimitive *rows = as_rows(builder, x, tuple_width(indices));
  rows = burn_build_dim2(builder, BURN_OP_select, rows, row_numbers(builder, x, indices), 0);
  out[0] = burn_build_reshape(builder, rows, call->output_descs[0].shape, call->output_descs[0].rank);
}

DECOMPOSE(scatter_nd) {
  BurnPrimitive *x = call->inputs[0], *indices = call->inputs[1];
  BurnPrimitive *values = as_rows(builder, call->inputs[2], (int64_t)indices->rank - 1);
  BurnPrimitive *const inputs[] = {as_rows(builder, x, tuple_width(indices)), row_numbers(builder, x, indices), values};
  const BurnAttr attrs[] = {burn_attr_i64(0), BURN_ATTRS(scatter_nd, call)->update};
  out[0] =
      burn_build_reshape(builder, burn_build(builder, BURN_OP_select_assign, 3, inputs, 2, attrs), x->shape, x->rank);
}

/* -- windows ---------------------------------------------------------------------------------- */

/* Element (window, place) is element window * step + place of the axis. */
DECOMPOSE(unfold) {
  const BurnAttrs_unfold *attrs = BURN_ATTRS(unfold, call);
  const BurnTensorDesc *desc = &call->output_descs[0];
  const int64_t dim = attrs->dim.value.i64, size = attrs->size.value.i64, windows = desc->shape[dim];
  const int64_t column[] = {windows, 1}, row[] = {1, size};
  BurnPrimitive *starts = scaled(builder, arange(builder, windows, 0), (double)attrs->step.value.i64);
  BurnPrimitive *places = burn_build_reshape(builder, arange(builder, size, 0), row, 2);
  places = burn_build_add(builder, burn_build_reshape(builder, starts, column, 2), places);
  BurnPrimitive *picked = burn_build_dim2(builder, BURN_OP_select, call->inputs[0], flat(builder, places), dim);
  int64_t shape[BURN_MAX_RANK], axes[BURN_MAX_RANK];
  for (int64_t i = 0; i < (int64_t)desc->rank; i++) {
    shape[i] = i <= dim ? desc->shape[i] : i == dim + 1 ? size : desc->shape[i - 1];
    axes[i] = i <= dim ? i : i + 1 < (int64_t)desc->rank ? i + 1 : dim + 1;
  }
  out[0] = burn_build_permute(builder, burn_build_reshape(builder, picked, shape, desc->rank), axes, desc->rank);
}

/* -- margins ---------------------------------------------------------------------------------- */

/* `count` elements along `dim` from `start`, in steps of 1 or -1. */
static BurnPrimitive *stretch(BurnBuilder *b, BurnPrimitive *x, int64_t dim, int64_t start, int64_t count,
                              int64_t step) {
  int64_t starts[BURN_MAX_RANK] = {0}, counts[BURN_MAX_RANK], steps[BURN_MAX_RANK];
  if (!x) return NULL;
  for (uint32_t i = 0; i < x->rank; i++) {
    counts[i] = x->shape[i];
    steps[i] = 1;
  }
  starts[dim] = start;
  counts[dim] = count;
  steps[dim] = step;
  const BurnAttr attrs[] = {burn_attr_i64s(starts, x->rank), burn_attr_i64s(counts, x->rank),
                            burn_attr_i64s(steps, x->rank)};
  return burn_build(b, BURN_OP_slice, 1, &x, 3, attrs);
}

/* Element `at` of an axis, `count` times. */
static BurnPrimitive *repeated(BurnBuilder *b, BurnPrimitive *x, int64_t dim, int64_t at, int64_t count) {
  int64_t shape[BURN_MAX_RANK];
  x = stretch(b, x, dim, at, 1, 1);
  if (!x) return NULL;
  for (uint32_t i = 0; i < x->rank; i++) shape[i] = x->shape[i];
  shape[dim] = count;
  return burn_build_expand(b, x, shape, x->rank);
}

/* x with margins made of its own elements along one axis. */
static BurnPrimitive *pad_axis(BurnBuilder *b, BurnPrimitive *x, int64_t dim, int64_t before, int64_t after,
                               int64_t mode) {
  if (!x || (before == 0 && after == 0)) return x;
  const bool reflects = mode == BURN_PAD_REFLECT;
  const int64_t count = x->shape[dim];
  BurnPrimitive *parts[3];
  uint32_t used = 0;
  if (before > 0) parts[used++] = reflects ? stretch(b, x, dim, before, before, -1) : repeated(b, x, dim, 0, before);
  parts[used++] = x;
  if (after > 0)
    parts[used++] = reflects ? stretch(b, x, dim, count - 2, after, -1) : repeated(b, x, dim, count - 1, after);
  const BurnAttr attr = burn_attr_i64(dim);
  return burn_build(b, BURN_OP_cat, used, parts, 1, &attr);
}

DECOMPOSE(pad) {
  const BurnAttrs_pad *attrs = BURN_ATTRS(pad, call);
  const BurnTensorDesc *desc = &call->output_descs[0];
  BurnPrimitive *x = call->inputs[0];
  const int64_t *before = attrs->before.value.i64s, *after = attrs->after.value.i64s, mode = attrs->mode.value.i64;
  if (mode == BURN_PAD_CONSTANT) {
    const BurnAttr full[] = {burn_attr_i64s(desc->shape, desc->rank), burn_attr_dtype(desc->dtype), attrs->value};
    BurnPrimitive *const inputs[] = {burn_build(builder, BURN_OP_full, 0, NULL, 3, full), x};
    const BurnAttr starts = burn_attr_i64s(before, x->rank);
    out[0] = burn_build(builder, BURN_OP_slice_assign, 2, inputs, 1, &starts);
    return;
  }
  for (uint32_t i = 0; i < desc->rank; i++) x = pad_axis(builder, x, i, before[i], after[i], mode);
  out[0] = x;
}

/* -- order ------------------------------------------------------------------------------------ */

DECOMPOSE(sort_with_indices) {
  const int64_t dim = BURN_ATTRS(sort_with_indices, call)->dim.value.i64;
  out[1] = burn_build(builder, BURN_OP_argsort, 1, call->inputs, 3, call->attrs);
  out[0] = burn_build_dim2(builder, BURN_OP_gather, call->inputs[0], out[1], dim);
}

DECOMPOSE(sort_range) {
  const BurnAttrs_sort_range *attrs = BURN_ATTRS(sort_range, call);
  const int64_t dim = attrs->dim.value.i64, begin = attrs->begin.value.i64;
  const BurnAttr order[] = {attrs->dim, attrs->descending, attrs->index_dtype};
  BurnPrimitive *places = burn_build(builder, BURN_OP_argsort, 1, call->inputs, 3, order);
  out[1] = range(builder, places, dim, begin, attrs->end.value.i64 - begin);
  out[0] = burn_build_dim2(builder, BURN_OP_gather, call->inputs[0], out[1], dim);
}
