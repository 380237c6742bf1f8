/* infer_elementwise.c - shape rules of creation, elementwise ops, comparison, reductions. */
#include "infer_internal.h"

BURN_RULE(create) {
  const BurnAttrs_full *attrs = BURN_ATTRS(full, call); /* all creation ops begin with shape and dtype */
  const BurnAttr *shape = &attrs->shape;
  if (shape->count < 1)
    return BURN_FAIL(INVALID_SHAPE, "%s: rank 0; tensors have rank 1 to %u", info->name, BURN_MAX_RANK);
  out->rank = shape->count;
  out->dtype = (BurnDType)attrs->dtype.value.i64;
  for (uint32_t i = 0; i < shape->count; i++) out->shape[i] = shape->value.i64s[i];
  if (burn_dtype_bytes(out->dtype) == 0) {
    return BURN_FAIL(INVALID_DTYPE, "%s: there is no dtype number %u", info->name, out->dtype);
  }
  if (call->op == BURN_OP_arange && out->rank != 1)
    return BURN_FAIL(INVALID_SHAPE, "arange: rank %u, 1 expected", out->rank);
  if (call->op == BURN_OP_eye && (out->rank != 2 || out->shape[0] != out->shape[1])) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "eye: shape %s is not square", burn__shape_text(&text, out->rank, out->shape));
  }
  return burn__infer_count(info, out);
}

/* Further inputs, where there are any, have the same shape and dtype (relu_backward, softmax_backward). */
BURN_RULE(same) {
  for (uint32_t i = 1; i < call->input_count; i++) BURN_TRY(burn__infer_same_shape(info, call, 0, i));
  burn__infer_like(out, call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(same_dim) {
  BURN_TRY(burn__infer_check_dim(info, call->inputs[0], call->attrs[0].value.i64));
  return burn__infer_same(info, call, out);
}

BURN_RULE(cast) {
  *out = burn_primitive_desc(call->inputs[0]);
  out->dtype = (BurnDType)BURN_ATTRS(cast, call)->dtype.value.i64;
  if (burn_dtype_bytes(out->dtype)) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: there is no dtype number %u", info->name, out->dtype);
}

BURN_RULE(binary) {
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  out->dtype = call->inputs[0]->dtype;
  return burn__infer_broadcast(info, call->inputs[0], call->inputs[1], out);
}

BURN_RULE(compare) {
  BURN_TRY(burn__infer_binary(info, call, out));
  out->dtype = BURN_DTYPE_BOOL;
  return BURN_OK;
}

/* A question about every element. */
BURN_RULE(test) {
  (void)info;
  *out = burn_primitive_desc(call->inputs[0]);
  out->dtype = BURN_DTYPE_BOOL;
  return BURN_OK;
}
BURN_RULE(compare_scalar) { return burn__infer_test(info, call, out); }

BURN_RULE(powi) {
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_INT, "int"));
  out->dtype = call->inputs[0]->dtype;
  return burn__infer_broadcast(info, call->inputs[0], call->inputs[1], out);
}

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

BURN_RULE(mask_where) {
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_BOOL, "bool"));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 2));
  BurnTensorDesc pair = {0};
  BURN_TRY(burn__infer_broadcast(info, call->inputs[0], call->inputs[1], &pair));
  BurnPrimitive joined = *call->inputs[0];
  joined.rank = pair.rank;
  joined.shape = pair.shape;
  out->dtype = call->inputs[0]->dtype;
  return burn__infer_broadcast(info, &joined, call->inputs[2], out);
}

BURN_RULE(mask_fill) {
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_BOOL, "bool"));
  BURN_TRY(burn__infer_broadcast(info, call->inputs[0], call->inputs[1], out));
  out->dtype = call->inputs[0]->dtype;
  return BURN_OK;
}

BURN_RULE(triangle) {
  const BurnPrimitive *x = call->inputs[0];
  *out = burn_primitive_desc(x);
  if (x->rank >= 2) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: shape %s; rank 2 or more expected", info->name,
                   burn__shape_text(&text, x->rank, x->shape));
}

BURN_RULE(adam_step) {
  for (uint32_t i = 1; i < 4; i++) BURN_TRY(burn__infer_same_shape(info, call, 0, i));
  for (uint32_t i = 0; i < 3; i++) burn__infer_like(&out[i], call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(sgd_step) {
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  if (call->inputs[2]) BURN_TRY(burn__infer_same_shape(info, call, 0, 2));
  for (uint32_t i = 0; i < 2; i++) burn__infer_like(&out[i], call->inputs[0]);
  return BURN_OK;
}
