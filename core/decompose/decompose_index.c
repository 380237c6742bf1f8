/* decompose_index.c - ops that find their elements by indices, made of select, gather and scatter. */
#include "decompose_internal.h"

DECOMPOSE(embedding) {
  BurnPrimitive *rows = burn_build_dim2(builder, BURN_OP_select, call->inputs[0], flat(builder, call->inputs[1]), 0);
  out[0] = burn_build_reshape(builder, rows, call->output_descs[0].shape, 3);
}

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
