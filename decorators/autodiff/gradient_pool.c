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

/* Whether a pool of input x had windows that begin in its last rows or columns and end beyond: ceil_mode. */
static bool has_partial_windows(const BurnAttrs_avg_pool2d_backward *pool, const int64_t *x, const int64_t *y) {
  bool partial = false;
  for (uint32_t i = 0; i < 2; i++) {
    const int64_t room = x[i] + 2 * pool->padding.value.i64s[i] - pool->kernel_size.value.i64s[i];
    partial = partial || y[i] > room / pool->stride.value.i64s[i] + 1;
  }
  return partial;
}

/* Linear: its gradient is the pool itself. */
void burn__gradient_avg_pool2d_backward(GradientContext *c) {
  static const int64_t ones[2] = {1, 1};
  const BurnAttrs_avg_pool2d_backward *pool = GRADIENT_ATTRS(avg_pool2d_backward, c);
  const bool ceil_mode = has_partial_windows(pool, &c->output_descs[0].shape[2], &c->input_descs[0].shape[2]);
  const BurnAttr attrs[6] = {pool->kernel_size,         pool->stride,           pool->padding, burn_attr_i64s(ones, 2),
                             burn_attr_bool(ceil_mode), pool->count_include_pad};
  burn__gradient_set(c, 0, burn_build(&c->builder, BURN_OP_avg_pool2d, 1, &c->grad, 6, attrs));
}

/* Likewise. */
void burn__gradient_adaptive_avg_pool2d_backward(GradientContext *c) {
  const BurnAttr size = burn_attr_i64s(&c->input_descs[0].shape[2], 2);
  burn__gradient_set(c, 0, burn_build(&c->builder, BURN_OP_adaptive_avg_pool2d, 1, &c->grad, 1, &size));
}
