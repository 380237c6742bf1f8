/* infer_linalg.c - shape rules of decompositions and determinants: over the last two axes, which are a matrix. */
#include "infer_internal.h"

static BurnStatus check_matrix(const BurnOpInfo *info, const BurnPrimitive *x, uint32_t least) {
  if (x->rank >= least) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: shape %s; rank %u or more expected", info->name,
                   burn__shape_text(&text, x->rank, x->shape), least);
}

/* The shape of x with other rows and columns. */
static BurnTensorDesc matrix(const BurnPrimitive *x, int64_t rows, int64_t columns) {
  BurnTensorDesc desc = burn_primitive_desc(x);
  desc.shape[x->rank - 2] = rows;
  desc.shape[x->rank - 1] = columns;
  return desc;
}

BURN_RULE(det) {
  const BurnPrimitive *x = call->inputs[0];
  BURN_TRY(check_matrix(info, x, 3));
  if (x->shape[x->rank - 1] != x->shape[x->rank - 2]) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "%s: the matrices of shape %s are not square", info->name,
                     burn__shape_text(&text, x->rank, x->shape));
  }
  out->dtype = x->dtype;
  out->rank = x->rank - 2;
  for (uint32_t i = 0; i < out->rank; i++) out->shape[i] = x->shape[i];
  return BURN_OK;
}

BURN_RULE(lu) {
  const BurnPrimitive *x = call->inputs[0];
  BURN_TRY(check_matrix(info, x, 2));
  const int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1], least = rows < columns ? rows : columns;
  out[0] = matrix(x, rows, rows);
  out[1] = matrix(x, rows, least);
  out[2] = matrix(x, least, columns);
  return burn__infer_count(info, &out[0]);
}

BURN_RULE(qr) {
  const BurnPrimitive *x = call->inputs[0];
  BURN_TRY(check_matrix(info, x, 2));
  const int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
  const int64_t inner = BURN_ATTRS(qr, call)->reduced.value.i64 && columns < rows ? columns : rows;
  out[0] = matrix(x, rows, inner);
  out[1] = matrix(x, inner, columns);
  return burn__infer_count(info, &out[0]);
}
