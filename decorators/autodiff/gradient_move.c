/* gradient_move.c - rules of the ops that put elements to other places. */
#include "gradient.h"

static BurnPrimitive *read_slice(BurnBuilder *b, BurnPrimitive *x, BurnAttr starts, const BurnTensorDesc *counts,
                                 BurnAttr steps) {
  const BurnAttr attrs[3] = {starts, burn_attr_i64s(counts->shape, counts->rank), steps};
  return burn_build(b, BURN_OP_slice, 1, &x, 3, attrs);
}

/* inputs x, values: g with zeros where values were written, and that part of g. */
void burn__gradient_slice_assign(GradientContext *c) {
  const BurnAttrs_slice_assign *attrs = GRADIENT_ATTRS(slice_assign, c);
  BurnBuilder *b = &c->builder;
  if (burn__gradient_needs(c, 0)) {
    BurnPrimitive *zeros = burn__gradient_zeros(c, 1);
    burn__gradient_set(c, 0, burn__gradient_write_slice(b, c->grad, zeros, attrs->starts, attrs->steps));
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
