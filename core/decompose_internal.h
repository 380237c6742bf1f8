/* decompose_internal.h - what the decompose_*.c files share: the frame of a decomposition and its small steps. */
#ifndef BURN_DECOMPOSE_INTERNAL_H
#define BURN_DECOMPOSE_INTERNAL_H

#include "core_internal.h"

#define DECOMPOSE(name)                                                                                      \
  void burn__decompose_##name(BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive **out);            \
  void burn__decompose_##name(BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive **out)

/* -- small steps --------------------------------------------------------------------------------------------------------- */

static inline BurnPrimitive *one(BurnBuilder *b, uint32_t op, BurnPrimitive *x) { return burn_build_op1(b, op, x); }
static inline BurnPrimitive *scaled(BurnBuilder *b, BurnPrimitive *x, double factor) {
  return burn_build_scalar(b, BURN_OP_mul_scalar, x, factor);
}
static inline BurnPrimitive *plus(BurnBuilder *b, BurnPrimitive *x, double value) {
  return burn_build_scalar(b, BURN_OP_add_scalar, x, value);
}
static inline BurnPrimitive *masked(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *mask, double value) {
  const BurnAttr attr = burn_attr_f64(value);
  BurnPrimitive *const inputs[] = {x, mask};
  return burn_build(b, BURN_OP_mask_fill, 2, inputs, 1, &attr);
}
static inline BurnPrimitive *flat(BurnBuilder *b, BurnPrimitive *x) {
  const int64_t count = burn_primitive_count(x);
  return burn_build_reshape(b, x, &count, 1);
}
static inline BurnPrimitive *arange(BurnBuilder *b, int64_t count, int64_t start) {
  const BurnAttr attrs[] = {burn_attr_i64s(&count, 1), burn_attr_dtype(BURN_DTYPE_I64), burn_attr_i64(start), burn_attr_i64(1)};
  return burn_build(b, BURN_OP_arange, 0, NULL, 4, attrs);
}
static inline int64_t last_axis(const BurnPrimitive *x) { return (int64_t)x->rank - 1; }

#endif
