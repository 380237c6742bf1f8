/* gradient_matmul.c - the rule of the matrix product [.., m, k] x [.., k, n] -> [.., m, n].
 *
 * grad lhs = g x transpose(rhs) and grad rhs = transpose(lhs) x g, summed over leading axes that were stretched. A right
 * side without batch (a weight) is worth a shorter way: its gradient is one product of two tall matrices instead of one
 * small product per batch entry and a sum over them. */
#include "gradient.h"

/* 1 if all leading axes of the right side have size 1 and the left side has a batch to be flattened. */
static int rhs_has_no_batch(const GradientContext *c) {
  const BurnTensorDesc *rhs = &c->input_descs[1];
  if (rhs->rank < 3) return 0;
  for (uint32_t axis = 0; axis + 2 < rhs->rank; axis++)
    if (rhs->shape[axis] != 1) return 0;
  return 1;
}

/* [.., m, k] as [batch * m, k] */
static BurnPrimitive *flatten_rows(BurnBuilder *b, BurnPrimitive *x) {
  if (!x) return NULL;
  int64_t shape[2] = {1, x->shape[x->rank - 1]};
  for (uint32_t axis = 0; axis + 1 < x->rank; axis++) shape[0] *= x->shape[axis];
  return burn_build_reshape(b, x, shape, 2);
}

static BurnPrimitive *gradient_of_weight(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *tall = burn_build_transpose(b, flatten_rows(b, c->inputs[0]));
  BurnPrimitive *product = burn_build_op2(b, BURN_OP_matmul, tall, flatten_rows(b, c->grad));
  return burn_build_reshape(b, product, c->input_descs[1].shape, c->input_descs[1].rank);
}

void burn__gradient_matmul(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  if (burn__gradient_needs(c, 0)) {
    BurnPrimitive *rhs = burn_build_transpose(b, c->inputs[1]);
    burn__gradient_set_reduced(c, 0, burn_build_op2(b, BURN_OP_matmul, c->grad, rhs));
  }
  if (!burn__gradient_needs(c, 1)) return;
  if (rhs_has_no_batch(c)) {
    burn__gradient_set(c, 1, gradient_of_weight(c));
  } else {
    BurnPrimitive *lhs = burn_build_transpose(b, c->inputs[0]);
    burn__gradient_set_reduced(c, 1, burn_build_op2(b, BURN_OP_matmul, lhs, c->grad));
  }
}
