/* gradient_linalg.c - the rules of the matrix product [.., m, k] x [.., k, n] -> [.., m, n], and of linear.
 *
 * grad lhs = g x transpose(rhs) and grad rhs = transpose(lhs) x g, summed over leading axes that were stretched. A
 * right side without batch (a weight) is worth a shorter way: its gradient is one product of two tall matrices instead
 * of one small product per batch entry and a sum over them. */
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
  if (!x || x->rank == 2) return x;
  int64_t shape[2] = {1, x->shape[x->rank - 1]};
  for (uint32_t axis = 0; axis + 1 < x->rank; axis++) shape[0] *= x->shape[axis];
  return burn_build_reshape(b, x, shape, 2);
}

/* [batch * m, k] turned, times [batch * m, n] -> [k, n] */
static BurnPrimitive *product_of_rows(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *grad) {
  BurnPrimitive *tall = burn_build_transpose(b, flatten_rows(b, x));
  return burn_build_op2(b, BURN_OP_matmul, tall, flatten_rows(b, grad));
}

static BurnPrimitive *gradient_of_weight(GradientContext *c) {
  BurnPrimitive *product = product_of_rows(&c->builder, c->inputs[0], c->grad);
  return burn_build_reshape(&c->builder, product, c->input_descs[1].shape, c->input_descs[1].rank);
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

/* All three gradients as one op. Not in half precision, where it would be computed in f32 and products may be faster.
 */
static void gradients_of_linear(GradientContext *c) {
  const bool wants_x = burn__gradient_needs(c, 0);
  BurnPrimitive *const inputs[3] = {c->grad, c->inputs[0], wants_x ? c->inputs[1] : NULL};
  BurnTensorDesc without_x[3]; /* the op then gives a 0 */
  BurnPrimitive *gradients[3];
  if (!wants_x) {
    memcpy(without_x, c->input_descs, sizeof without_x);
    without_x[0].shape[0] = without_x[0].rank = 1;
  }
  burn__gradient_described(c, BURN_OP_linear_backward, 3, inputs, 3, wants_x ? c->input_descs : without_x, gradients);
  for (uint32_t i = 0; i < 3; i++) burn__gradient_set(c, i, gradients[i]);
}

/* inputs x, weight, bias */
void burn__gradient_linear(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  if (burn__gradient_needs(c, 1) && burn__gradient_needs(c, 2)) {
    gradients_of_linear(c);
    return;
  }
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, burn_build_op3(b, BURN_OP_linear, c->grad, burn_build_transpose(b, c->inputs[1]), NULL));
  if (burn__gradient_needs(c, 1)) burn__gradient_set(c, 1, product_of_rows(b, c->inputs[0], c->grad));
  if (!burn__gradient_needs(c, 2)) return;
  BurnPrimitive *sum = flatten_rows(b, c->grad);
  if (sum && sum->shape[0] != 1) sum = burn_build_dim(b, BURN_OP_sum_dim, sum, 0);
  burn__gradient_set(c, 2, burn_build_reshape(b, sum, c->input_descs[2].shape, 1));
}
