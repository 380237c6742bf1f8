/* infer_index.c - shape rules of ops that read and write through indices, of windows, padding and sorting. */
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
    return BURN_FAIL(INVALID_SHAPE, "%s: the tensor has rank %u, there is no room for the axis of windows", info->name,
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

/* -- sorting ---------------------------------------------------------------------------------- */

/* Indices of the elements of x. */
static BurnStatus indices_of(const BurnOpInfo *info, const BurnOpCall *call, int64_t dtype, BurnTensorDesc *out) {
  *out = burn_primitive_desc(call->inputs[0]);
  out->dtype = (BurnDType)dtype;
  if (dtype == BURN_DTYPE_I32 || dtype == BURN_DTYPE_I64) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: indices are i32 or i64, not %s", info->name, burn_dtype_name(out->dtype));
}

BURN_RULE(argsort) {
  BURN_TRY(burn__infer_check_dim(info, call->inputs[0], call->attrs[0].value.i64));
  return indices_of(info, call, call->attrs[2].value.i64, out);
}

BURN_RULE(sort_with_indices) {
  BURN_TRY(burn__infer_argsort(info, call, &out[1]));
  out[0] = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(sort_range) {
  const BurnAttrs_sort_range *attrs = BURN_ATTRS(sort_range, call);
  const int64_t dim = attrs->dim.value.i64, begin = attrs->begin.value.i64, end = attrs->end.value.i64;
  BURN_TRY(burn__infer_check_dim(info, call->inputs[0], dim));
  const int64_t size = call->inputs[0]->shape[dim];
  if (begin < 0 || begin > end || end > size) {
    return BURN_FAIL(OUT_OF_RANGE, "%s: elements %lld .. %lld of an axis of size %lld", info->name, (long long)begin,
                     (long long)(end > INT64_MIN ? end - 1 : end), (long long)size);
  }
  BURN_TRY(indices_of(info, call, attrs->index_dtype.value.i64, &out[1]));
  out[0] = burn_primitive_desc(call->inputs[0]);
  out[0].shape[dim] = out[1].shape[dim] = end - begin;
  return BURN_OK;
}
