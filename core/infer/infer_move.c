/* infer_move.c - rules of ops that put elements to other places. */
#include "infer_internal.h"

/* -- parts and joins -------------------------------------------------------------------------- */

BURN_RULE(slice_assign) {
  const BurnPrimitive *x = call->inputs[0], *values = call->inputs[1];
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, call);
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, x->rank));
  if (attrs->starts.count != x->rank || attrs->steps.count < x->rank) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: one start and step per axis are needed (%u)", info->name, x->rank);
  }
  for (uint32_t i = 0; i < x->rank; i++) {
    BURN_TRY(burn__infer_range(info, x, i, attrs->starts.value.i64s[i], values->shape[i], attrs->steps.value.i64s[i]));
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

BURN_RULE(triangle) {
  const BurnPrimitive *x = call->inputs[0];
  *out = burn_primitive_desc(x);
  if (x->rank >= 2) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: shape %s; rank 2 or more expected", info->name,
                   burn__shape_text(&text, x->rank, x->shape));
}

/* -- windows and padding ---------------------------------------------------------------------- */

BURN_RULE(unfold) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttrs_unfold *attrs = BURN_ATTRS(unfold, call);
  const int64_t dim = attrs->dim.value.i64, size = attrs->size.value.i64, step = attrs->step.value.i64;
  BURN_TRY(burn__infer_check_dim(info, x, dim));
  if (size < 1 || step < 1) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: windows of %lld every %lld elements; both must be 1 or more", info->name,
                     (long long)size, (long long)step);
  }
  if (x->rank == BURN_MAX_RANK) {
    return BURN_FAIL(INVALID_SHAPE, "%s: the tensor has rank %u, the axis of windows would be one too many", info->name,
                     x->rank);
  }
  *out = burn_primitive_desc(x);
  out->shape[dim] = x->shape[dim] < size ? 0 : (x->shape[dim] - size) / step + 1;
  out->shape[out->rank++] = size;
  return burn__infer_count(info, out);
}

/* What one side of an axis asks for is possible. */
static BurnStatus check_pad(const BurnOpInfo *info, const BurnPrimitive *x, uint32_t axis, int64_t padding,
                            int64_t mode) {
  static const char *const names[BURN_PAD_LIMIT] = {"constant", "reflect", "edge"};
  if (padding < 0 || padding > INT64_MAX / 4) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: padding %lld on axis %u; 0 or more expected (cut with burn_slice)",
                     info->name, (long long)padding, axis);
  }
  const int64_t least = mode == BURN_PAD_REFLECT ? padding + 1 : 1;
  if (mode == BURN_PAD_CONSTANT || padding == 0 || x->shape[axis] >= least) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %s padding %lld needs an axis of %lld elements or more, axis %u has %lld",
                   info->name, names[mode], (long long)padding, (long long)least, axis, (long long)x->shape[axis]);
}

BURN_RULE(pad) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttrs_pad *attrs = BURN_ATTRS(pad, call);
  const int64_t mode = attrs->mode.value.i64;
  if (attrs->before.count < x->rank || attrs->after.count < x->rank) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: one entry of before and after per axis is needed (%u)", info->name,
                     x->rank);
  }
  if (mode < 0 || mode >= BURN_PAD_LIMIT) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: there is no mode %lld; it is one of BURN_PAD_*", info->name,
                     (long long)mode);
  }
  *out = burn_primitive_desc(x);
  for (uint32_t i = 0; i < x->rank; i++) {
    const int64_t before = attrs->before.value.i64s[i], after = attrs->after.value.i64s[i];
    BURN_TRY(check_pad(info, x, i, before, mode));
    BURN_TRY(check_pad(info, x, i, after, mode));
    out->shape[i] += before + after;
  }
  return burn__infer_count(info, out);
}
