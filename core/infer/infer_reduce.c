/* infer_reduce.c - rules of reductions: of a whole tensor, and along one axis. */
#include "infer_internal.h"

/* What has no result without elements: extremes, and means of integers, which have no NaN. */
static bool needs_elements(uint32_t op, const BurnPrimitive *x) {
  if (op == BURN_OP_mean || op == BURN_OP_mean_dim) return burn_dtype_kind(x->dtype) == BURN_KIND_INT;
  return op == BURN_OP_max || op == BURN_OP_min;
}

BURN_RULE(reduce_all) {
  const BurnPrimitive *x = call->inputs[0];
  if (needs_elements(call->op, x) && burn_primitive_count(x) == 0) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "%s: the tensor of shape %s has no elements", info->name,
                     burn__shape_text(&text, x->rank, x->shape));
  }
  out->dtype = x->dtype;
  out->rank = 1;
  out->shape[0] = 1;
  return BURN_OK;
}

BURN_RULE(reduce_all_bool) {
  BURN_TRY(burn__infer_reduce_all(info, call, out));
  out->dtype = BURN_DTYPE_BOOL;
  return BURN_OK;
}

static BurnStatus empty_axis(const BurnOpInfo *info, const BurnPrimitive *x, int64_t dim) {
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: axis %lld of %s is empty", info->name, (long long)dim,
                   burn__shape_text(&text, x->rank, x->shape));
}

BURN_RULE(reduce_dim) {
  const BurnPrimitive *x = call->inputs[0];
  const int64_t dim = call->attrs[0].value.i64;
  BURN_TRY(burn__infer_check_dim(info, x, dim));
  if (needs_elements(call->op, x) && x->shape[dim] == 0) return empty_axis(info, x, dim);
  *out = burn_primitive_desc(x);
  out->shape[dim] = 1;
  return BURN_OK;
}

/* An empty axis has no largest element: an error even where the result would be empty too, so that a program does not
 * depend on its other axes. */
BURN_RULE(reduce_dim_nonempty) {
  BURN_TRY(burn__infer_reduce_dim(info, call, out));
  const BurnPrimitive *x = call->inputs[0];
  const int64_t dim = call->attrs[0].value.i64;
  return x->shape[dim] > 0 ? BURN_OK : empty_axis(info, x, dim);
}

BURN_RULE(reduce_dim_bool) {
  BURN_TRY(burn__infer_reduce_dim(info, call, out));
  out->dtype = BURN_DTYPE_BOOL;
  return BURN_OK;
}

BURN_RULE(arg_dim) {
  BURN_TRY(burn__infer_reduce_dim_nonempty(info, call, out));
  out->dtype = (BurnDType)call->attrs[1].value.i64;
  if (out->dtype == BURN_DTYPE_I32 || out->dtype == BURN_DTYPE_I64) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: indices are i32 or i64, not %s", info->name, burn_dtype_name(out->dtype));
}
