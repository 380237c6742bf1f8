/* infer_view.c - rules of ops that see the elements of a tensor in another shape or order. */
#include "infer_internal.h"

#include <string.h>

BURN_RULE(reshape) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttr *shape = &call->attrs[0];
  out->dtype = x->dtype;
  out->rank = shape->count;
  if (shape->count > 0) memcpy(out->shape, shape->value.i64s, shape->count * sizeof(int64_t));
  BurnShapeText from, to;
  if (out->rank < 1)
    return BURN_FAIL(INVALID_SHAPE, "%s: %s to rank 0; tensors have rank 1 or more", info->name,
                     burn__shape_of(&from, x));
  BURN_TRY(burn__infer_count(info, out));
  if (burn_desc_count(out) == burn_primitive_count(x)) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld elements, %s has %lld", info->name, burn__shape_of(&from, x),
                   (long long)burn_primitive_count(x), burn__shape_text(&to, out->rank, out->shape),
                   (long long)burn_desc_count(out));
}

BURN_RULE(permute) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttr *axes = &call->attrs[0];
  out->dtype = x->dtype;
  out->rank = x->rank;
  uint32_t seen = 0;
  bool valid = axes->count == x->rank;
  for (uint32_t i = 0; valid && i < x->rank; i++) {
    const int64_t axis = axes->value.i64s[i];
    valid = axis >= 0 && axis < (int64_t)x->rank && !(seen & (1u << axis));
    if (!valid) break;
    seen |= 1u << axis;
    out->shape[i] = x->shape[axis];
  }
  if (valid) return BURN_OK;
  BurnShapeText shape, given;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: axes %s do not name every axis of %s once", info->name,
                   burn__shape_text(&given, axes->count, axes->value.i64s),
                   burn__shape_text(&shape, x->rank, x->shape));
}

BURN_RULE(expand) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttr *shape = &call->attrs[0];
  out->dtype = x->dtype;
  out->rank = shape->count;
  if (shape->count > 0) memcpy(out->shape, shape->value.i64s, shape->count * sizeof(int64_t));
  bool valid = out->rank >= x->rank;
  for (uint32_t i = 0; valid && i < x->rank; i++) {
    const int64_t from = x->shape[i], to = out->shape[out->rank - x->rank + i];
    valid = from == to || from == 1;
  }
  BURN_TRY(burn__infer_count(info, out));
  if (valid) return BURN_OK;
  BurnShapeText from, to;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s cannot be stretched to %s; only axes of size 1 stretch", info->name,
                   burn__shape_text(&from, x->rank, x->shape), burn__shape_text(&to, out->rank, out->shape));
}

BURN_RULE(slice) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttrs_slice *attrs = BURN_ATTRS(slice, call);
  if (attrs->starts.count != x->rank || attrs->counts.count != x->rank || attrs->steps.count < x->rank) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: one start, count and step per axis are needed (%u)", info->name, x->rank);
  }
  *out = burn_primitive_desc(x);
  for (uint32_t i = 0; i < x->rank; i++) {
    out->shape[i] = attrs->counts.value.i64s[i];
    BURN_TRY(burn__infer_range(info, x, i, attrs->starts.value.i64s[i], out->shape[i], attrs->steps.value.i64s[i]));
  }
  return BURN_OK;
}
