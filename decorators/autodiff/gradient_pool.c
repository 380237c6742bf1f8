/* gradient_pool.c - rules of pools. */
#include "gradient.h"

static BurnAttr input_shape(const GradientContext *c) {
  return burn_attr_i64s(c->input_descs[0].shape, c->input_descs[0].rank);
}

/* The indices, second output of the forward pass, say where each maximum came from. */
void burn__gradient_max_pool2d_with_indices(GradientContext *c) {
  BurnPrimitive *inputs[2] = {c->grad, c->outputs[1]};
  const BurnAttr attr = input_shape(c);
  burn__gradient_set(c, 0, burn_build(&c->builder, BURN_OP_max_pool2d_backward, 2, inputs, 1, &attr));
}

void burn__gradient_avg_pool2d(GradientContext *c) {
  const BurnAttrs_avg_pool2d *pool = GRADIENT_ATTRS(avg_pool2d, c);
  const BurnAttr attrs[5] = {input_shape(c), pool->kernel_size, pool->stride, pool->padding, pool->count_include_pad};
  burn__gradient_set(c, 0, burn_build(&c->builder, BURN_OP_avg_pool2d_backward, 1, &c->grad, 5, attrs));
}

void burn__gradient_adaptive_avg_pool2d(GradientContext *c) {
  const BurnAttr attr = input_shape(c);
  burn__gradient_set(c, 0, burn_build(&c->builder, BURN_OP_adaptive_avg_pool2d_backward, 1, &c->grad, 1, &attr));
}
