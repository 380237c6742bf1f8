/* gradient_index.c - rules of the ops that pick or add elements at integer indices. Reading and adding are each other's
 * gradients: where an index repeats, what flows back adds up. */
#include "gradient.h"

/* inputs x, indices */
void burn__gradient_select(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(select, c)->dim.value.i64;
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, burn_build_dim3(&c->builder, BURN_OP_select_add, zeros, c->inputs[1], c->grad, dim));
}

/* inputs x, indices, values */
void burn__gradient_select_add(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(select_add, c)->dim.value.i64;
  burn__gradient_set(c, 0, c->grad);
  if (burn__gradient_needs(c, 2))
    burn__gradient_set(c, 2, burn_build_dim2(&c->builder, BURN_OP_select, c->grad, c->inputs[1], dim));
}

/* inputs x, indices */
void burn__gradient_gather(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(gather, c)->dim.value.i64;
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, burn_build_dim3(&c->builder, BURN_OP_scatter_add, zeros, c->inputs[1], c->grad, dim));
}

/* inputs x, indices, values */
void burn__gradient_scatter_add(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(scatter_add, c)->dim.value.i64;
  burn__gradient_set(c, 0, c->grad);
  if (burn__gradient_needs(c, 2))
    burn__gradient_set(c, 2, burn_build_dim2(&c->builder, BURN_OP_gather, c->grad, c->inputs[1], dim));
}
