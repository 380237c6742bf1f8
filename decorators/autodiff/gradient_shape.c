/* gradient_shape.c - rules of the ops that give the same elements another shape, order or place. */
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

/* x with values written at start + i * step. */
static BurnPrimitive *write_slice(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *values, BurnAttr starts,
                                  BurnAttr steps) {
  BurnPrimitive *inputs[2] = {x, values};
  const BurnAttr attrs[2] = {starts, steps};
  return burn_build(b, BURN_OP_slice_assign, 2, inputs, 2, attrs);
}

static BurnPrimitive *read_slice(BurnBuilder *b, BurnPrimitive *x, BurnAttr starts, const BurnTensorDesc *counts,
                                 BurnAttr steps) {
  const BurnAttr attrs[3] = {starts, burn_attr_i64s(counts->shape, counts->rank), steps};
  return burn_build(b, BURN_OP_slice, 1, &x, 3, attrs);
}

/* Zeros, and g where the slice was. */
void burn__gradient_slice(GradientContext *c) {
  const BurnAttrs_slice *attrs = GRADIENT_ATTRS(slice, c);
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, write_slice(&c->builder, zeros, c->grad, attrs->starts, attrs->steps));
}

/* inputs x, values: g with zeros where values were written, and that part of g. */
void burn__gradient_slice_assign(GradientContext *c) {
  const BurnAttrs_slice_assign *attrs = GRADIENT_ATTRS(slice_assign, c);
  BurnBuilder *b = &c->builder;
  if (burn__gradient_needs(c, 0)) {
    BurnPrimitive *zeros = burn__gradient_zeros(c, 1);
    burn__gradient_set(c, 0, write_slice(b, c->grad, zeros, attrs->starts, attrs->steps));
  }
  if (burn__gradient_needs(c, 1))
    burn__gradient_set(c, 1, read_slice(b, c->grad, attrs->starts, &c->input_descs[1], attrs->steps));
}

/* Each input gets its stretch of g. */
void burn__gradient_cat(GradientContext *c) {
  const uint32_t dim = (uint32_t)GRADIENT_ATTRS(cat, c)->dim.value.i64;
  int64_t starts[BURN_MAX_RANK] = {0}, steps[BURN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  const uint32_t rank = c->output_descs[0].rank;
  for (uint32_t input = 0; input < c->input_count; input++) {
    const BurnTensorDesc *x = &c->input_descs[input];
    if (burn__gradient_needs(c, input)) {
      BurnPrimitive *part =
          read_slice(&c->builder, c->grad, burn_attr_i64s(starts, rank), x, burn_attr_i64s(steps, rank));
      burn__gradient_set(c, input, part);
    }
    starts[dim] += x->shape[dim];
  }
}
