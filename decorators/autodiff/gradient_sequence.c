/* gradient_sequence.c - rules of attention and lstm: each has an op of its own for all its gradients at once. */
#include "gradient.h"

/* inputs query, key, value, mask, bias; the attributes of both ops are the same */
void burn__gradient_attention(GradientContext *c) {
  BurnPrimitive *inputs[6] = {c->grad}, *grads[4];
  for (uint32_t i = 0; i < 5; i++) inputs[1 + i] = c->inputs[i];
  burn_build_call(&c->builder, BURN_OP_attention_backward, 6, inputs, 3, c->attrs, 4, grads);
  for (uint32_t i = 0; i < 3; i++) burn__gradient_set(c, i, grads[i]);
  burn__gradient_set(c, 4, grads[3]);
}

/* The same with both results of attention_with_logsumexp, which the forward pass has run in place of attention. */
static void attention_with_logsumexp(GradientContext *c) {
  const BurnBackend *backend = c->builder.backend;
  if (backend->op_support(backend->self, BURN_OP_attention_with_logsumexp_backward) != BURN_SUPPORT_YES) {
    burn__gradient_attention(c); /* of a gradient that is differentiated in turn: from its inputs alone */
    return;
  }
  BurnPrimitive *inputs[8] = {c->grad}, *grads[4];
  for (uint32_t i = 0; i < 3; i++) inputs[1 + i] = c->inputs[i];
  for (uint32_t i = 0; i < 2; i++) {
    inputs[4 + i] = c->outputs[i];
    inputs[6 + i] = c->inputs[3 + i];
  }
  burn_build_call(&c->builder, BURN_OP_attention_with_logsumexp_backward, 8, inputs, 3, c->attrs, 4, grads);
  for (uint32_t i = 0; i < 3; i++) burn__gradient_set(c, i, grads[i]);
  burn__gradient_set(c, 4, grads[3]);
}

#define HEADS 0x1fu /* all inputs */
#define NEEDS (HEADS | GRADIENT_OUTPUT(0) | GRADIENT_OUTPUT(1))
const GradientRow burn__gradient_attention_row = {attention_with_logsumexp, {NEEDS, NEEDS, NEEDS}, false};

/* inputs gates, hidden, cell, weight; outputs outputs, cells, activations, any of which may have got a gradient */
void burn__gradient_lstm(GradientContext *c) {
  const BurnTensorDesc *y = &c->output_descs[0];
  BurnPrimitive *grad = c->grad ? c->grad : burn_build_full(&c->builder, y->shape, y->rank, y->dtype, 0.0);
  BurnPrimitive *const inputs[8] = {grad,         c->outputs[1], c->outputs[2], c->inputs[1],
                                    c->inputs[2], c->inputs[3],  c->grads[1],   c->grads[2]};
  BurnPrimitive *grads[4];
  burn_build_call(&c->builder, BURN_OP_lstm_backward, 8, inputs, 0, NULL, 4, grads);
  for (uint32_t i = 0; i < 4; i++) burn__gradient_set(c, i, grads[i]);
}
