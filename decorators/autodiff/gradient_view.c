/* gradient_view.c - rules of the ops that see the same elements in another shape or order. */
#include "gradient.h"

void burn__gradient_reshape(GradientContext *c) {
  const BurnTensorDesc *x = &c->input_descs[0];
  burn__gradient_set(c, 0, burn_build_reshape(&c->builder, c->grad, x->shape, x->rank));
}

/* Axis i of y is axis axes[i] of x, so axis axes[i] of the gradient is axis i of g. */
void burn__gradient_permute(GradientContext *c) {
  const int64_t *axes = GRADIENT_ATTRS(permute, c)->axes.value.i64s;
  const uint32_t rank = c->input_descs[0].rank;
  int64_t inverse[BURN_MAX_RANK];
  for (uint32_t axis = 0; axis < rank; axis++) inverse[axes[axis]] = (int64_t)axis;
  burn__gradient_set(c, 0, burn_build_permute(&c->builder, c->grad, inverse, rank));
}

/* Sums over the axes that were added in front, drops them, then sums over those that were stretched. */
void burn__gradient_expand(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const BurnTensorDesc *x = &c->input_descs[0];
  const uint32_t added = c->output_descs[0].rank - x->rank;
  BurnPrimitive *sum = c->grad;
  if (added > 0) {
    for (uint32_t axis = 0; axis < added; axis++) sum = burn_build_dim(b, BURN_OP_sum_dim, sum, (int64_t)axis);
    sum = burn_build_reshape(b, sum, c->output_descs[0].shape + added, x->rank);
  }
  burn__gradient_set_reduced(c, 0, sum);
}

/* Zeros, and g where the slice was. */
void burn__gradient_slice(GradientContext *c) {
  const BurnAttrs_slice *attrs = GRADIENT_ATTRS(slice, c);
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, burn__gradient_write_slice(&c->builder, zeros, c->grad, attrs->starts, attrs->steps));
}
