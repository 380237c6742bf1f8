/* infer_linalg.c - rules of products and of linear algebra over the last two axes. */
#include "infer_internal.h"

/* -- products --------------------------------------------------------------------------------- */

BURN_RULE(matmul) {
  const BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[1];
  BurnShapeText l, r;
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  const uint32_t rank = lhs->rank;
  if (rank < 2 || rhs->rank != rank) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s x %s: equal ranks of 2 or more are needed", info->name,
                     burn__shape_of(&l, lhs), burn__shape_of(&r, rhs));
  }
  const int64_t inner_lhs = lhs->shape[rank - 1], inner_rhs = rhs->shape[rank - 2];
  if (inner_lhs != inner_rhs) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s x %s: inner dimensions %lld and %lld differ", info->name,
                     burn__shape_of(&l, lhs), burn__shape_of(&r, rhs), (long long)inner_lhs, (long long)inner_rhs);
  }
  out->dtype = lhs->dtype;
  out->rank = rank;
  for (uint32_t i = 0; i + 2 < rank; i++) {
    const int64_t a = lhs->shape[i], b = rhs->shape[i];
    if (a != b && a != 1 && b != 1) {
      return BURN_FAIL(INVALID_SHAPE, "%s: %s x %s: batch axis %u is %lld and %lld", info->name,
                       burn__shape_of(&l, lhs), burn__shape_of(&r, rhs), i, (long long)a, (long long)b);
    }
    out->shape[i] = a == 1 ? b : a;
  }
  out->shape[rank - 2] = lhs->shape[rank - 2];
  out->shape[rank - 1] = rhs->shape[rank - 1];
  return burn__infer_count(info, out);
}

BURN_RULE(linear) {
  const BurnPrimitive *x = call->inputs[0], *weight = call->inputs[1];
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, 2));
  if (x->shape[x->rank - 1] != weight->shape[0]) {
    BurnShapeText l, r;
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s: the weight takes %lld inputs, x has %lld", info->name,
                     burn__shape_text(&l, x->rank, x->shape), burn__shape_text(&r, 2, weight->shape),
                     (long long)weight->shape[0], (long long)x->shape[x->rank - 1]);
  }
  BURN_TRY(burn__infer_bias(info, call, 2, weight->shape[1]));
  burn__infer_like(out, x);
  out->shape[x->rank - 1] = weight->shape[1];
  return burn__infer_count(info, out);
}

BURN_RULE(linear_backward) {
  const BurnPrimitive *grad = call->inputs[0], *x = call->inputs[1], *weight = call->inputs[2];
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  const uint32_t last = x->rank - 1;
  const int64_t width = grad->shape[grad->rank - 1];
  bool fits = grad->rank == x->rank;
  for (uint32_t i = 0; fits && i < last; i++) fits = grad->shape[i] == x->shape[i];
  if (weight) {
    BURN_TRY(burn__infer_same_dtype(info, call, 0, 2));
    BURN_TRY(burn__infer_rank(info, call, 2, 2));
    fits = fits && weight->shape[0] == x->shape[last] && weight->shape[1] == width;
  }
  BurnShapeText a, b, c;
  if (!fits) {
    return BURN_FAIL(INVALID_SHAPE, "%s: grad %s, x %s and weight %s do not belong together", info->name,
                     burn__shape_of(&a, grad), burn__shape_of(&b, x), weight ? burn__shape_of(&c, weight) : "(none)");
  }
  out[0].shape[0] = out[0].rank = 1;
  for (uint32_t i = 0; i < 3; i++) out[i].dtype = x->dtype;
  if (weight) burn__infer_like(&out[0], x);
  out[1].rank = 2;
  out[1].shape[0] = x->shape[last];
  out[1].shape[1] = out[2].shape[0] = width;
  out[2].rank = 1;
  return burn__infer_count(info, &out[1]);
}

/* -- matrices --------------------------------------------------------------------------------- */

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
