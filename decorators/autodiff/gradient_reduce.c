/* gradient_reduce.c - rules of the ops that combine elements along one axis, which stays with size 1.
 *
 * In the formulas g is the gradient of the output, x and y the input and output. */
#include "gradient.h"

/* Every element counts once: g stretched back, as a view where the layer below has views. */
void burn__gradient_sum_dim(GradientContext *c) {
  const BurnTensorDesc *x = &c->input_descs[0];
  burn__gradient_set(c, 0, burn_build_expand(&c->builder, c->grad, x->shape, x->rank));
}

/* g * y / x, which is NaN where a factor is 0, as in Burn. */
void burn__gradient_prod_dim(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set(c, 0, burn_build_div(b, burn_build_mul(b, c->grad, c->outputs[0]), c->inputs[0]));
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

/* y * (g - sum(g * y)); also that of quiet_softmax, as its maximum counts as a constant */
void burn__gradient_softmax(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const int64_t dim = GRADIENT_ATTRS(softmax, c)->dim.value.i64;
  BurnPrimitive *sum = burn_build_dim(b, BURN_OP_sum_dim, burn_build_mul(b, c->grad, c->outputs[0]), dim);
  burn__gradient_set(c, 0, burn_build_mul(b, c->outputs[0], burn_build_sub(b, c->grad, sum)));
}

/* g - e^y * sum(g) */
void burn__gradient_log_softmax(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *sum = burn_build_dim(b, BURN_OP_sum_dim, c->grad, GRADIENT_ATTRS(log_softmax, c)->dim.value.i64);
  BurnPrimitive *share = burn_build_mul(b, burn_build_op1(b, BURN_OP_exp, c->outputs[0]), sum);
  burn__gradient_set(c, 0, burn_build_sub(b, c->grad, share));
}
