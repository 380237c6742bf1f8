/* decompose_sort.c - sorted elements, gathered by the indices of argsort. */
#include "decompose_internal.h"

DECOMPOSE(sort_with_indices) {
  const int64_t dim = BURN_ATTRS(sort_with_indices, call)->dim.value.i64;
  out[1] = burn_build(builder, BURN_OP_argsort, 1, call->inputs, 3, call->attrs);
  out[0] = burn_build_dim2(builder, BURN_OP_gather, call->inputs[0], out[1], dim);
}

DECOMPOSE(sort_range) {
  const BurnAttrs_sort_range *attrs = BURN_ATTRS(sort_range, call);
  const int64_t dim = attrs->dim.value.i64, begin = attrs->begin.value.i64;
  const BurnAttr order[] = {attrs->dim, attrs->descending, attrs->index_dtype};
  BurnPrimitive *places = burn_build(builder, BURN_OP_argsort, 1, call->inputs, 3, order);
  out[1] = range(builder, places, dim, begin, attrs->end.value.i64 - begin);
  out[0] = burn_build_dim2(builder, BURN_OP_gather, call->inputs[0], out[1], dim);
}
