/* decompose_elementwise.c - element-wise ops made of primitives. */
#include "decompose_internal.h"

DECOMPOSE(clamp) {
  const BurnAttrs_clamp *attrs = BURN_ATTRS(clamp, call);
  BurnPrimitive *x = burn_build(builder, BURN_OP_clamp_min, 1, call->inputs, 1, &attrs->min);
  out[0] = burn_build(builder, BURN_OP_clamp_max, 1, &x, 1, &attrs->max);
}

DECOMPOSE(is_finite) {
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *infinite = one(builder, BURN_OP_is_inf, x);
  BurnPrimitive *other = burn_build_op2(builder, BURN_OP_bool_or, one(builder, BURN_OP_is_nan, x), infinite);
  out[0] = one(builder, BURN_OP_bool_not, other);
}
