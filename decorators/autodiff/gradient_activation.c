/* gradient_activation.c - rules of activations.
 *
 * In the formulas g is the gradient of the output, x and y the input and output. */
#include "gradient.h"

/* The mask follows from seed and offset, so the gradient is the same op again and nothing is kept. */
void burn__gradient_dropout(GradientContext *c) {
  const uint32_t count = (uint32_t)(sizeof(BurnAttrs_dropout) / sizeof(BurnAttr));
  burn__gradient_set(c, 0, burn_build(&c->builder, BURN_OP_dropout, 1, &c->grad, count, c->attrs));
}

void burn__gradient_relu(GradientContext *c) {
  burn__gradient_set_described(c, BURN_OP_relu_backward, c->grad, c->outputs[0]);
}

void burn__gradient_gelu(GradientContext *c) {
  burn__gradient_set_described(c, BURN_OP_gelu_backward, c->grad, c->inputs[0]);
}

/* g * (y - y * y) */
void burn__gradient_sigmoid(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *y = c->outputs[0];
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, burn_build_sub(b, y, burn_build_mul(b, y, y))));
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
