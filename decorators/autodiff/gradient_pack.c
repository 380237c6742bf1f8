/* gradient_pack.c - gradients of ops that come from kernel packs: the pack's own backward rule, run on the decorator
 * below.
 *
 * One row stands for all of them; what it saves and runs is looked up in the op's definition. Ops of packs without a
 * rule are differentiated through their decomposition like others. */
#include "autodiff_internal.h"

#include <burn/plugin/kernels.h>

static void run_rule(GradientContext *c);

const GradientRow burn__gradient_pack_row = {run_rule, {0, 0, 0}, false};

static const BurnOpDefinition *definition_of(const BurnHost *host, uint32_t op) {
  return op >= BURN_OP_FIRST_OF_PACKS ? host->op_definition(op) : NULL;
}

const GradientRow *burn__autodiff_row(const AutodiffDecorator *decorator, uint32_t op) {
  if (op < BURN_OP_FIRST_OF_PACKS) return burn__gradient_row(op);
  const BurnOpDefinition *definition = definition_of(decorator->host, op);
  return definition && definition->backward ? &burn__gradient_pack_row : NULL;
}

uint32_t burn__gradient_pack_needs(const AutodiffDecorator *decorator, uint32_t op) {
  const BurnOpDefinition *definition = definition_of(decorator->host, op);
  return definition ? (definition->saved_inputs & 0xffffu) | (definition->saved_outputs << 16) : 0;
}

static void run_rule(GradientContext *c) {
  BurnPrimitive *grads[BURN_MAX_FIXED_INPUTS] = {NULL};
  BurnBackwardCall call = {.struct_size = sizeof call,
                           .input_count = c->input_count,
                           .output_count = c->node->output_count,
                           .attr_count = c->node->attr_count,
                           .inputs = c->inputs,
                           .outputs = c->outputs,
                           .output_grads = c->grads,
                           .input_descs = c->input_descs,
                           .output_descs = c->output_descs,
                           .attrs = c->attrs,
                           .input_grads = grads};
  for (uint32_t i = 0; i < c->input_count; i++) {
    if (burn__gradient_needs(c, i)) call.needed |= UINT64_C(1) << i;
  }
  const BurnHost *host = c->builder.host;
  const BurnOpDefinition *definition = definition_of(host, c->op);
  call.needed &= ~(uint64_t)definition->constant_inputs;
  const BurnStatus status = definition->backward(host, c->builder.backend, &call);
  if (status != BURN_OK) {
    burn_builder_fail(&c->builder, status);
    return;
  }
  for (uint32_t i = 0; i < c->input_count; i++) burn__gradient_set(c, i, burn_build_own(&c->builder, grads[i]));
}
