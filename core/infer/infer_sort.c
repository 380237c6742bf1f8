/* infer_sort.c - rules of sorting along one axis. */
#include "infer_internal.h"

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
