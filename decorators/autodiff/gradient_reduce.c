/* gradient_reduce.c - rules of the ops that combine elements along one axis, which stays with size 1.
 *
 * In the formulas g is the gradient of the output, x and y the input and output. */
#include "gradient.h"

/* Every element counts once: g stretched back, as a view where the decorator below has views. */
void burn__gradient_sum_dim(GradientContext *c) {
  const BurnTensorDesc *x = &c->input_descs[0];
  burn__gradient_set(c, 0, burn_build_expand(&c->builder, c->grad, x->shape, x->rank));
}

/* Every element counts for its part of all. In f32 for halves: the number of elements can be infinite in f16. */
void burn__gradient_mean(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const BurnTensorDesc *x = &c->input_descs[0];
  const int is_half = x->dtype == BURN_DTYPE_F16 || x->dtype == BURN_DTYPE_BF16;
  int64_t ones[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) ones[i] = 1;
  BurnPrimitive *part = is_half ? burn_build_cast(b, c->grad, BURN_DTYPE_F32) : c->grad;
  part = burn_build_scalar(b, BURN_OP_div_scalar, part, (double)burn_desc_count(x));
  if (is_half) part = burn_build_cast(b, part, x->dtype);
  if (x->rank != 1) part = burn_build_reshape(b, part, ones, x->rank);
  burn__gradient_set(c, 0, burn_build_expand(b, part, x->shape, x->rank));
}

/* g * the product of all others: that of what is not 0, divided by x unless that is 0, if no other factor is 0. */
void burn__gradient_prod_dim(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const int64_t dim = GRADIENT_ATTRS(prod_dim, c)->dim.value.i64;
  BurnPrimitive *is_zero = burn_build_scalar(b, BURN_OP_equal_scalar, c->inputs[0], 0.0);
  BurnPrimitive *zeros = burn_build_cast(b, is_zero, BURN_DTYPE_I64);
  BurnPrimitive *other_zeros = burn_build_sub(b, burn_build_dim(b, BURN_OP_sum_dim, zeros, dim), zeros);
  BurnPrimitive *vanish = burn_build_scalar(b, BURN_OP_not_equal_scalar, other_zeros, 0.0);
  BurnPrimitive *const inputs[2] = {c->inputs[0], is_zero};
  const BurnAttr one = burn_attr_f64(1.0);
  BurnPrimitive *factors = burn_build(b, BURN_OP_mask_fill, 2, inputs, 1, &one);
  BurnPrimitive *product = burn_build_mul(b, c->grad, burn_build_dim(b, BURN_OP_prod_dim, factors, dim));
  burn__gradient_set(c, 0, burn__gradient_where_false(c, burn_build_div(b, product, factors), vanish));
}

/* All of g goes to the first element that has the extreme value. */
static void gradient_extreme(GradientContext *c, uint32_t find, int64_t dim) {
  BurnPrimitive *indices = burn_build_dim(&c->builder, find, c->inputs[0], dim);
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, burn_build_dim3(&c->builder, BURN_OP_scatter, zeros, indices, c->grad, dim));
}

void burn__gradient_max_dim(GradientContext *c) {
  gradient_extreme(c, BURN_OP_argmax, GRADIENT_ATTRS(max_dim, c)->dim.value.i64);
}
void burn__gradient_min_dim(GradientContext *c) {
  gradient_extreme(c, BURN_OP_argmin, GRADIENT_ATTRS(min_dim, c)->dim.value.i64);
}

/* y * (g - sum(g * y)), which is also that of quiet_softmax */
void burn__gradient_softmax(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(softmax, c)->dim.value.i64;
  burn__gradient_set(c, 0, burn_build_dim2(&c->builder, BURN_OP_softmax_backward, c->grad, c->outputs[0], dim));
}

void burn__gradient_log_softmax(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(log_softmax, c)->dim.value.i64;
  burn__gradient_set(c, 0, burn_build_dim2(&c->builder, BURN_OP_log_softmax_backward, c->grad, c->outputs[0], dim));
}

/* inputs logits, targets */
void burn__gradient_cross_entropy(GradientContext *c) {
  burn__gradient_set(c, 0,
                     burn_build_op3(&c->builder, BURN_OP_cross_entropy_backward, c->grad, c->inputs[0], c->inputs[1]));
}

/* inputs x, target: their gradients differ in the sign alone */
void burn__gradient_mse(GradientContext *c) {
  BurnPrimitive *x = burn_build_op3(&c->builder, BURN_OP_mse_backward, c->grad, c->inputs[0], c->inputs[1]);
  burn__gradient_set(c, 0, x);
  if (burn__gradient_needs(c, 1)) burn__gradient_set(c, 1, burn_build_op1(&c->builder, BURN_OP_neg, x));
}

/* -- norms ------------------------------------------------------------------------------------ */

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
