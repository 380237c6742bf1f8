/* gradient_loss.c - rules of losses. */
#include "gradient.h"

/* inputs logits, targets */
void burn__gradient_cross_entropy(GradientContext *c) {
  burn__gradient_set(c, 0,
                     burn_build_op3(&c->builder, BURN_OP_cross_entropy_backward, c->grad, c->inputs[0], c->inputs[1]));
}

/* inputs x, target: their gradients differ in the sign alone */
void burn__gradient_mse(GradientContext *c) {
  BurnPrimitive *const inputs[3] = {c->grad, c->inputs[0], c->inputs[1]};
  BurnPrimitive *x;
  burn__gradient_described(c, BURN_OP_mse_backward, 3, inputs, 1, c->input_descs, &x);
  burn__gradient_set(c, 0, x);
  if (burn__gradient_needs(c, 1)) burn__gradient_set(c, 1, burn_build_op1(&c->builder, BURN_OP_neg, x));
}
