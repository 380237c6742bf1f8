/* infer_shape.c - shape rules of views and of ops that move elements. */
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

/* Elements start, start + step, .. (count of them) lie within an axis of `size`. */
static bool range_fits(int64_t start, int64_t count, int64_t step, int64_t size) {
  if (count < 0 || step == 0) return false;
  if (count == 0) return true;
  if (start < 0 || start >= size) return false;
  const int64_t room = step > 0 ? (size - 1 - start) / step : -(start / step);
  return count - 1 <= room;
}

static BurnStatus check_range(const BurnOpInfo *info, const BurnPrimitive *x, uint32_t axis, int64_t start,
                              int64_t count, int64_t step) {
  if (range_fits(start, count, step, x->shape[axis])) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(OUT_OF_RANGE, "%s: %lld elements from %lld with step %lld do not fit into axis %u of %s", info->name,
                   (long long)count, (long long)start, (long long)step, axis,
                   burn__shape_text(&text, x->rank, x->shape));
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
    BURN_TRY(check_range(info, x, i, attrs->starts.value.i64s[i], out->shape[i], attrs->steps.value.i64s[i]));
  }
  return BURN_OK;
}

BURN_RULE(slice_assign) {
  const BurnPrimitive *x = call->inputs[0], *values = call->inputs[1];
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, call);
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, x->rank));
  if (attrs->starts.count != x->rank || attrs->steps.count < x->rank) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: one start and step per axis are needed (%u)", info->name, x->rank);
  }
  for (uint32_t i = 0; i < x->rank; i++) {
    BURN_TRY(check_range(info, x, i, attrs->starts.value.i64s[i], values->shape[i], attrs->steps.value.i64s[i]));
  }
  *out = burn_primitive_desc(x);
  return BURN_OK;
}

BURN_RULE(cat) {
  const BurnPrimitive *first = call->inputs[0];
  const int64_t dim = call->attrs[0].value.i64;
  BURN_TRY(burn__infer_check_dim(info, first, dim));
  *out = burn_primitive_desc(first);
  for (uint32_t i = 1; i < call->input_count; i++) {
    const BurnPrimitive *x = call->inputs[i];
    if (x->dtype != first->dtype) {
      return BURN_FAIL(INVALID_DTYPE, "%s: tensor 0 is %s and tensor %u is %s", info->name,
                       burn_dtype_name(first->dtype), i, burn_dtype_name(x->dtype));
    }
    bool valid = x->rank == first->rank;
    for (uint32_t axis = 0; valid && axis < x->rank; axis++)
      valid = axis == (uint32_t)dim || x->shape[axis] == first->shape[axis];
    if (!valid) {
      BurnShapeText l, r;
      return BURN_FAIL(INVALID_SHAPE, "%s: tensor 0 is %s and tensor %u is %s; axes other than %lld must be equal",
                       info->name, burn__shape_text(&l, first->rank, first->shape), i,
                       burn__shape_text(&r, x->rank, x->shape), (long long)dim);
    }
    out->shape[dim] += x->shape[dim];
  }
  return burn__infer_count(info, out);
}

BURN_RULE(repeat_dim) {
  const BurnAttrs_repeat_dim *attrs = BURN_ATTRS(repeat_dim, call);
  const int64_t dim = attrs->dim.value.i64, times = attrs->times.value.i64;
  BURN_TRY(burn__infer_check_dim(info, call->inputs[0], dim));
  *out = burn_primitive_desc(call->inputs[0]);
  if (times < 0 || (times > 0 && out->shape[dim] > INT64_MAX / times)) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %lld times is not possible", info->name, (long long)times);
  }
  out->shape[dim] *= times;
  return burn__infer_count(info, out);
}
