/* decompose_reduce.c - reductions made of those along one axis. */
#include "decompose_internal.h"

#define WHOLE(name) \
  DECOMPOSE(name) { out[0] = burn_build_dim(builder, BURN_OP_##name##_dim, flat(builder, call->inputs[0]), 0); }
WHOLE(sum)
WHOLE(mean)
WHOLE(prod)
WHOLE(max)
WHOLE(min)
WHOLE(any)
WHOLE(all)

DECOMPOSE(mean_dim) {
  const int64_t dim = BURN_ATTRS(mean_dim, call)->dim.value.i64;
  BurnPrimitive *x = call->inputs[0];
  const BurnDType dtype = x->dtype;
  const bool narrow = burn_dtype_kind(dtype) == BURN_KIND_INT && dtype != BURN_DTYPE_I64;
  if (narrow) x = burn_build_cast(builder, x, BURN_DTYPE_I64); /* the sum of a few u8 does not fit into one */
  const double count = (double)call->inputs[0]->shape[dim];
  out[0] = burn_build_scalar(builder, BURN_OP_div_scalar, burn_build_dim(builder, BURN_OP_sum_dim, x, dim), count);
  if (narrow) out[0] = burn_build_cast(builder, out[0], dtype);
}

/* All are true if none is false. */
DECOMPOSE(all_dim) {
  BurnPrimitive *zero = burn_build_scalar(builder, BURN_OP_equal_scalar, call->inputs[0], 0);
  BurnPrimitive *some = burn_build_dim(builder, BURN_OP_any_dim, zero, BURN_ATTRS(all_dim, call)->dim.value.i64);
  out[0] = one(builder, BURN_OP_bool_not, some);
}
