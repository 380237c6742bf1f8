/* decompose_pool.c - pools made of other pools. */
#include "decompose_internal.h"

DECOMPOSE(max_pool2d) {
  BurnPrimitive *results[2];
  burn_build_call(builder, BURN_OP_max_pool2d_with_indices, 1, call->inputs, call->attr_count, call->attrs, 2, results);
  out[0] = results[0];
}

DECOMPOSE(max_pool2d_backward) {
  BurnPrimitive *grad = call->inputs[0];
  const int64_t *shape = call->output_descs[0].shape;
  const int64_t planes[] = {shape[0], shape[1], shape[2] * shape[3]};
  const int64_t windows[] = {grad->shape[0], grad->shape[1], grad->shape[2] * grad->shape[3]};
  BurnPrimitive *zeros = burn_build_full(builder, planes, 3, grad->dtype, 0);
  BurnPrimitive *indices = burn_build_reshape(builder, call->inputs[1], windows, 3);
  BurnPrimitive *values = burn_build_reshape(builder, grad, windows, 3);
  out[0] = burn_build_reshape(builder, burn_build_dim3(builder, BURN_OP_scatter, zeros, indices, values, 2), shape, 4);
}

/* A mean of means over equal windows is the mean of all, so the planes are pooled first and then the depth. */
DECOMPOSE(adaptive_avg_pool3d) {
  BurnPrimitive *x = call->inputs[0];
  const int64_t *o = call->output_descs[0].shape, *s = x->shape;
  const int64_t planes[] = {s[0], s[1] * s[2], s[3], s[4]}, columns[] = {s[0], s[1], s[2], o[3] * o[4]};
  const int64_t size[] = {o[2], o[3] * o[4]};
  x = burn_build_i64s(builder, BURN_OP_adaptive_avg_pool2d, burn_build_reshape(builder, x, planes, 4), o + 3, 2);
  x = burn_build_i64s(builder, BURN_OP_adaptive_avg_pool2d, burn_build_reshape(builder, x, columns, 4), size, 2);
  out[0] = burn_build_reshape(builder, x, o, 5);
}
