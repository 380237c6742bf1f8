/* decompose_create.c - creation ops made of primitives. */
#include "decompose_internal.h"

DECOMPOSE(eye) {
  const BurnTensorDesc *desc = call->output_descs;
  const int64_t size = desc->shape[0], column[] = {size, 1}, row[] = {1, size};
  BurnPrimitive *rows = burn_build_reshape(builder, arange(builder, size, 0), column, 2);
  BurnPrimitive *columns = burn_build_reshape(builder, arange(builder, size, 0), row, 2);
  out[0] = burn_build_cast(builder, burn_build_op2(builder, BURN_OP_equal, rows, columns), desc->dtype);
}
