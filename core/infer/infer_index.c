/* infer_index.c - rules of ops that find their elements by indices or a mask. */
#include "infer_internal.h"

BURN_RULE(select) {
  const int64_t dim = call->attrs[0].value.i64;
  BURN_TRY(burn__infer_check_dim(info, call->inputs[0], dim));
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_INT, "an int tensor"));
  BURN_TRY(burn__infer_rank(info, call, 1, 1));
  *out = burn_primitive_desc(call->inputs[0]);
  out->shape[dim] = call->inputs[1]->shape[0];
  return burn__infer_count(info, out);
}

/* `values` has the shape `expected` and the dtype of x. */
static BurnStatus check_values(const BurnOpInfo *info, const BurnOpCall *call, const BurnTensorDesc *expected) {
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 2));
  const BurnPrimitive *values = call->inputs[2];
  bool valid = values->rank == expected->rank;
  for (uint32_t i = 0; valid && i < expected->rank; i++) valid = values->shape[i] == expected->shape[i];
  if (valid) return BURN_OK;
  BurnShapeText l, r;
  return BURN_FAIL(INVALID_SHAPE, "%s: values have shape %s, %s expected", info->name,
                   burn__shape_text(&l, values->rank, values->shape),
                   burn__shape_text(&r, expected->rank, expected->shape));
}

/* The update mode exists, and is defined for the dtype. */
static BurnStatus check_update(const BurnOpInfo *info, const BurnOpCall *call, int64_t update) {
  static const char *const names[BURN_UPDATE_LIMIT] = {"assign", "add", "mul", "min", "max"};
  if (update < 0 || update >= BURN_UPDATE_LIMIT) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: there is no update mode %lld; it is one of BURN_UPDATE_*", info->name,
                     (long long)update);
  }
  if (update <= BURN_UPDATE_MUL || burn_dtype_kind(call->inputs[0]->dtype) != BURN_KIND_BOOL) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: update %s is not defined for bool; it takes assign, add (or) and mul (and)",
                   info->name, names[update]);
}

BURN_RULE(select_assign) {
  BurnTensorDesc part = {0};
  BURN_TRY(check_update(info, call, BURN_ATTRS(select_assign, call)->update.value.i64));
  BURN_TRY(burn__infer_select(info, call, &part));
  BURN_TRY(check_values(info, call, &part));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(gather) {
  const BurnPrimitive *x = call->inputs[0], *indices = call->inputs[1];
  const int64_t dim = call->attrs[0].value.i64;
  BURN_TRY(burn__infer_check_dim(info, x, dim));
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_INT, "an int tensor"));
  bool valid = indices->rank == x->rank;
  for (uint32_t i = 0; valid && i < x->rank; i++) valid = i == (uint32_t)dim || indices->shape[i] == x->shape[i];
  if (!valid) {
    BurnShapeText l, r;
    return BURN_FAIL(INVALID_SHAPE, "%s: x is %s and indices are %s; axes other than %lld must be equal", info->name,
                     burn__shape_text(&l, x->rank, x->shape), burn__shape_text(&r, indices->rank, indices->shape),
                     (long long)dim);
  }
  *out = burn_primitive_desc(indices);
  out->dtype = x->dtype;
  return BURN_OK;
}

BURN_RULE(scatter) {
  BurnTensorDesc part = {0};
  BURN_TRY(check_update(info, call, BURN_ATTRS(scatter, call)->update.value.i64));
  BURN_TRY(burn__infer_gather(info, call, &part));
  BURN_TRY(check_values(info, call, &part));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(embedding) {
  BURN_TRY(burn__infer_rank(info, call, 0, 2));
  BURN_TRY(burn__infer_rank(info, call, 1, 2));
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_INT, "an int tensor"));
  out->dtype = call->inputs[0]->dtype;
  out->rank = 3;
  out->shape[0] = call->inputs[1]->shape[0];
  out->shape[1] = call->inputs[1]->shape[1];
  out->shape[2] = call->inputs[0]->shape[1];
  return burn__infer_count(info, out);
}

/* -- addressed by tuples ---------------------------------------------------------------------- */

BURN_RULE(gather_nd) {
  const BurnPrimitive *x = call->inputs[0], *indices = call->inputs[1];
  BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_INT, "an int tensor"));
  const int64_t tuple = indices->shape[indices->rank - 1];
  BurnShapeText l, r;
  if (tuple < 1 || tuple > (int64_t)x->rank) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x is %s and indices are %s; their last axis has 1 .. %u coordinates",
                     info->name, burn__shape_of(&l, x), burn__shape_of(&r, indices), x->rank);
  }
  const uint32_t leading = indices->rank - 1, further = x->rank - (uint32_t)tuple;
  if (leading + further < 1 || leading + further > BURN_MAX_RANK) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and indices %s give a tensor of rank %u; 1 .. %u is possible", info->name,
                     burn__shape_of(&l, x), burn__shape_of(&r, indices), leading + further, BURN_MAX_RANK);
  }
  out->dtype = x->dtype;
  out->rank = leading + further;
  for (uint32_t i = 0; i < leading; i++) out->shape[i] = indices->shape[i];
  for (uint32_t i = 0; i < further; i++) out->shape[leading + i] = x->shape[tuple + i];
  return burn__infer_count(info, out);
}

BURN_RULE(scatter_nd) {
  BurnTensorDesc part = {0};
  BURN_TRY(check_update(info, call, BURN_ATTRS(scatter_nd, call)->update.value.i64));
  BURN_TRY(burn__infer_gather_nd(info, call, &part));
  BURN_TRY(check_values(info, call, &part));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

/* -- masks ------------------------------------------------------------------------------------ */

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
