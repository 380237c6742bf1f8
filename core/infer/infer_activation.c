/* infer_activation.c - rules of activations that are not simply "same"; same_dim serves scans, too. */
#include "infer_internal.h"

BURN_RULE(prelu) {
  const BurnPrimitive *x = call->inputs[0], *alpha = call->inputs[1];
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, 1));
  *out = burn_primitive_desc(x);
  if (alpha->shape[0] == 1 || (x->rank > 1 && alpha->shape[0] == x->shape[1])) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: alpha has %lld values, x of shape %s needs 1%s", info->name,
                   (long long)alpha->shape[0], burn__shape_text(&text, x->rank, x->shape),
                   x->rank > 1 ? " or one per channel (axis 1)" : "");
}

BURN_RULE(celu) {
  if (BURN_ATTRS(celu, call)->alpha.value.f64 == 0) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: alpha is 0, and x is divided by it", info->name);
  }
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(glu) {
  const BurnPrimitive *x = call->inputs[0];
  const int64_t dim = BURN_ATTRS(glu, call)->dim.value.i64;
  BURN_TRY(burn__infer_check_dim(info, x, dim));
  *out = burn_primitive_desc(x);
  out->shape[dim] /= 2;
  if (x->shape[dim] % 2 == 0) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: axis %lld of %s is halved and must be even", info->name, (long long)dim,
                   burn__shape_text(&text, x->rank, x->shape));
}

BURN_RULE(same_dim) {
  BURN_TRY(burn__infer_check_dim(info, call->inputs[0], call->attrs[0].value.i64));
  return burn__infer_same(info, call, out);
}
