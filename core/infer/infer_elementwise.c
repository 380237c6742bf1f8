/* infer_elementwise.c - rules of element-wise ops. */
#include "infer_internal.h"

/* Further inputs, where there are any, have the same shape and dtype (relu_backward, softmax_backward). */
BURN_RULE(same) {
  for (uint32_t i = 1; i < call->input_count; i++) BURN_TRY(burn__infer_same_shape(info, call, 0, i));
  burn__infer_like(out, call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(cast) {
  *out = burn_primitive_desc(call->inputs[0]);
  out->dtype = (BurnDType)BURN_ATTRS(cast, call)->dtype.value.i64;
  if (burn_dtype_bytes(out->dtype)) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: there is no dtype number %u", info->name, out->dtype);
}

BURN_RULE(binary) {
  if (burn__infer_are_alike(call->inputs[0], call->inputs[1])) {
    burn__infer_like(out, call->inputs[0]);
    return BURN_OK;
  }
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
