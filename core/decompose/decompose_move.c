/* decompose_move.c - ops that put elements to other places. */
#include "decompose_internal.h"

/* -- parts and repeats ------------------------------------------------------------------------ */

/* Rows minus columns of the last two axes against the diagonal: true where the element is cut away. */
static BurnPrimitive *triangle(BurnBuilder *b, const BurnOpCall *call, uint32_t cut) {
  BurnPrimitive *x = call->inputs[0];
  const int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
  int64_t column_shape[BURN_MAX_RANK], row_shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) column_shape[i] = row_shape[i] = 1;
  column_shape[x->rank - 2] = rows;
  row_shape[x->rank - 1] = columns;
  const int64_t diagonal = burn__near_diagonal(BURN_ATTRS(triu, call)->diagonal.value.i64, rows, columns);
  BurnPrimitive *row = burn_build_reshape(b, arange(b, rows, diagonal), column_shape, x->rank);
  BurnPrimitive *column = burn_build_reshape(b, arange(b, columns, 0), row_shape, x->rank);
  return masked(b, x, burn_build_op2(b, cut, column, row), 0);
}

DECOMPOSE(triu) { out[0] = triangle(builder, call, BURN_OP_lower); }
DECOMPOSE(tril) { out[0] = triangle(builder, call, BURN_OP_greater); }

/* [.., n, ..] -> [.., 1, n, ..] -> [.., times, n, ..] -> [.., times * n, ..]; rank 8 has no room for the extra axis, so
 * all axes before and after dim are folded first. */
DECOMPOSE(repeat_dim) {
  const BurnAttrs_repeat_dim *attrs = BURN_ATTRS(repeat_dim, call);
  BurnPrimitive *x = call->inputs[0];
  const int64_t dim = attrs->dim.value.i64, times = attrs->times.value.i64;
  int64_t before = 1, rest = 1;
  for (int64_t i = 0; i < dim; i++) before *= x->shape[i];
  for (int64_t i = dim; i < (int64_t)x->rank; i++) rest *= x->shape[i];
  const int64_t folded[] = {before, 1, rest}, repeated[] = {before, times, rest};
  BurnPrimitive *wide = burn_build_expand(builder, burn_build_reshape(builder, x, folded, 3), repeated, 3);
  out[0] = burn_build_reshape(builder, wide, call->output_descs[0].shape, call->output_descs[0].rank);
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
