/* infer_create.c - the rule of creation ops: shape and dtype are attributes. */
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
