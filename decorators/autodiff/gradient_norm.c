/* gradient_norm.c - rules of normalization; g is the gradient of the output. */
#include "gradient.h"

/* g summed over all axes but one, which alone is left. */
static BurnPrimitive *summed_to_axis(GradientContext *c, BurnPrimitive *g, uint32_t axis) {
  const BurnTensorDesc *x = &c->input_descs[0];
  int64_t folded[3] = {1, x->shape[axis], 1};
  for (uint32_t i = 0; i < x->rank; i++) folded[i > axis ? 2 : 0] *= i == axis ? 1 : x->shape[i];
  BurnPrimitive *sum = burn_build_reshape(&c->builder, g, folded, 3);
  sum = burn_build_dim(&c->builder, BURN_OP_sum_dim, burn_build_dim(&c->builder, BURN_OP_sum_dim, sum, 2), 0);
  return burn_build_reshape(&c->builder, sum, &x->shape[axis], 1);
}

static void set_three(GradientContext *c, BurnPrimitive *const *gradients) {
  for (uint32_t i = 0; i < 3; i++) burn__gradient_set(c, i, gradients[i]);
}

/* inputs x, gamma, beta. Where beta alone is tracked nothing was kept. */
void burn__gradient_layer_norm(GradientContext *c) {
  if (!burn__gradient_needs(c, 0) && !burn__gradient_needs(c, 1)) {
    burn__gradient_set(c, 2, summed_to_axis(c, c->grad, c->input_descs[0].rank - 1));
    return;
  }
  BurnPrimitive *const inputs[3] = {c->grad, c->inputs[0], c->inputs[1]};
  BurnPrimitive *gradients[3];
  burn_build_call(&c->builder, BURN_OP_layer_norm_backward, 3, inputs, 1, c->attrs, 3, gradients);
  set_three(c, gradients);
}

static BurnPrimitive *plus(BurnBuilder *b, BurnPrimitive *sum, BurnPrimitive *x) {
  return sum ? burn_build_add(b, sum, x) : x;
}

/* The mean lets its gradient through to every element of a channel in equal parts, the variance in proportion to their
 * distance from the mean. `sum` is what has come through y, or NULL. */
static BurnPrimitive *through_statistics(GradientContext *c, BurnPrimitive *sum) {
  BurnBuilder *b = &c->builder;
  const BurnTensorDesc *x = &c->input_descs[0];
  int64_t wide[BURN_MAX_RANK], count = 1;
  for (uint32_t i = 0; i < x->rank; i++) {
    wide[i] = i == 1 ? x->shape[1] : 1;
    count *= i == 1 ? 1 : x->shape[i];
  }
  if (c->grads[1]) {
    BurnPrimitive *g = burn_build_scalar(b, BURN_OP_div_scalar, c->grads[1], (double)count);
    sum = plus(b, sum, burn_build_expand(b, burn_build_reshape(b, g, wide, x->rank), x->shape, x->rank));
  }
  if (c->grads[2]) {
    BurnPrimitive *g = burn_build_scalar(b, BURN_OP_mul_scalar, c->grads[2], 2.0 / (double)count);
    BurnPrimitive *distance = burn_build_sub(b, c->inputs[0], burn_build_reshape(b, c->outputs[1], wide, x->rank));
    sum = plus(b, sum, burn_build_mul(b, distance, burn_build_reshape(b, g, wide, x->rank)));
  }
  return sum;
}

/* inputs x, gamma, beta; outputs y, mean, var */
void burn__gradient_batch_norm_train(GradientContext *c) {
  BurnPrimitive *gradients[3] = {NULL, NULL, NULL};
  if (!burn__gradient_needs(c, 0) && !burn__gradient_needs(c, 1)) {
    if (c->grad) gradients[2] = summed_to_axis(c, c->grad, 1);
  } else {
    BurnPrimitive *const inputs[5] = {c->grad, c->inputs[0], c->inputs[1], c->outputs[1], c->outputs[2]};
    if (c->grad) burn_build_call(&c->builder, BURN_OP_batch_norm_train_backward, 5, inputs, 1, c->attrs, 3, gradients);
    if (burn__gradient_needs(c, 0)) gradients[0] = through_statistics(c, gradients[0]);
  }
  set_three(c, gradients);
}
