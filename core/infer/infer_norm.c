/* infer_norm.c - rules of normalization. */
#include "infer_internal.h"

/* Inputs `first` and later, where they are given, have an entry for each of the last axis of the input before them. */
static BurnStatus last_axis_entries(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first) {
  const BurnPrimitive *x = call->inputs[first - 1];
  const int64_t width = x->shape[x->rank - 1];
  for (uint32_t i = first; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    BURN_TRY(burn__infer_same_dtype(info, call, first - 1, i));
    BURN_TRY(burn__infer_rank(info, call, i, 1));
    if (call->inputs[i]->shape[0] == width) continue;
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld entries, the last axis of %s has %lld", info->name,
                     info->input_names[i], (long long)call->inputs[i]->shape[0],
                     burn__shape_text(&text, x->rank, x->shape), (long long)width);
  }
  return BURN_OK;
}

BURN_RULE(layer_norm) {
  BURN_TRY(last_axis_entries(info, call, 1));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(layer_norm_backward) {
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  BURN_TRY(last_axis_entries(info, call, 2));
  out[0] = burn_primitive_desc(call->inputs[1]);
  out[1] = out[2] = burn_primitive_desc(call->inputs[2]);
  return BURN_OK;
}

/* Input `first` is [n, c, ..], and all after it are [c]. */
static BurnStatus by_channel(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first) {
  const BurnPrimitive *x = call->inputs[first];
  BurnShapeText text;
  if (x->rank < 2) {
    return BURN_FAIL(INVALID_SHAPE, "%s: shape %s; rank 2 or more expected", info->name,
                     burn__shape_text(&text, x->rank, x->shape));
  }
  for (uint32_t i = first + 1; i < call->input_count; i++) {
    BURN_TRY(burn__infer_same_dtype(info, call, first, i));
    BURN_TRY(burn__infer_rank(info, call, i, 1));
    if (call->inputs[i]->shape[0] == x->shape[1]) continue;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld entries, x %s has %lld channels", info->name, info->input_names[i],
                     (long long)call->inputs[i]->shape[0], burn__shape_text(&text, x->rank, x->shape),
                     (long long)x->shape[1]);
  }
  return BURN_OK;
}

BURN_RULE(batch_norm) {
  BURN_TRY(by_channel(info, call, 0));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(batch_norm_train) {
  BURN_TRY(by_channel(info, call, 0));
  out[0] = burn_primitive_desc(call->inputs[0]);
  out[1] = out[2] = burn_primitive_desc(call->inputs[1]);
  return BURN_OK;
}

BURN_RULE(batch_norm_train_backward) {
  BURN_TRY(by_channel(info, call, 1));
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  out[0] = burn_primitive_desc(call->inputs[1]);
  out[1] = out[2] = burn_primitive_desc(call->inputs[2]);
  return BURN_OK;
}
