/* autodiff_submit.c - the forward pass: run the call on the decorator below and remember what its gradient will need.
 *
 * Three kinds of ops: those with a rule, those without a gradient, and those whose gradient is that of their
 * decomposition. For the last kind supports() declines as soon as an input is tracked; the host then decomposes on top
 * of this decorator, and the parts arrive here one by one. Untracked calls always go down whole. */
#include "autodiff_internal.h"

#include <stdio.h>

enum { INPUTS_ON_STACK = 16 };

static int is_tracked(const BurnPrimitive *x) { return x && (x->flags & BURN_PRIMITIVE_TRACKED) != 0; }

static int any_tracked(const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->input_count; i++)
    if (is_tracked(call->inputs[i])) return 1;
  return 0;
}

static int any_float(BurnPrimitive *const *outputs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (burn_dtype_kind(outputs[i]->dtype) == BURN_KIND_FLOAT) return 1;
  return 0;
}

/* 1 if no gradient flows through the op. An op the host does not know either is taken as one that has a gradient. */
static int is_constant(const AutodiffDecorator *decorator, uint32_t op) {
  const BurnOpInfo *info = decorator->host->op_info(op);
  return info && info->gradient == BURN_GRADIENT_CONSTANT;
}

uint32_t BURN_API_CALL burn__autodiff_op_support(void *self, uint32_t op) {
  const AutodiffDecorator *decorator = self;
  if (burn__autodiff_row(decorator, op) || is_constant(decorator, op)) return BURN_SUPPORT_YES;
  return BURN_SUPPORT_ASK;
}

int32_t BURN_API_CALL burn__autodiff_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  const AutodiffDecorator *decorator = self;
  if (!any_tracked(call) || burn__autodiff_row(decorator, call->op) || is_constant(decorator, call->op)) return 1;
  if (why && why_bytes > 0)
    (void)snprintf(why, (size_t)why_bytes, "%s of a tracked tensor: only its decomposition has a gradient",
                   burn__autodiff_op_name(decorator, call->op));
  return 0;
}

/* Bits of the call's donated inputs that may be passed on: this wrapper is the last one, and no node keeps the
 * input. The decorator below looks at its own counts. */
static uint64_t donations(const BurnOpCall *call, const AutodiffRecord *record) {
  uint64_t donate = 0;
  for (uint32_t i = 0; i < call->input_count && i < 64u; i++) {
    if (!(call->donate & (UINT64_C(1) << i)) || !call->inputs[i]) continue;
    if (autodiff_keeps_input(record, i, call->inputs[i])) continue;
    AutodiffTensor *x = autodiff_tensor(call->inputs[i]);
    if (atomic_load_explicit(&x->references, memory_order_acquire) == 1u) donate |= UINT64_C(1) << i;
  }
  return donate;
}

/* Wraps the results of a call; floats hang on `node` unless that is NULL. Takes over the references in `inner`. */
static BurnStatus wrap_outputs(AutodiffDecorator *decorator, const BurnOpCall *call, BurnPrimitive **inner,
                               AutodiffNode *node) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status != BURN_OK) {
      decorator->next->release(decorator->next->self, inner[i]);
      continue;
    }
    const int tracked = node && burn_dtype_kind(inner[i]->dtype) == BURN_KIND_FLOAT;
    if (tracked) burn__autodiff_node_retain(node);
    status = burn__autodiff_wrap(decorator, inner[i], tracked ? node : NULL, i, &call->outputs[i]);
  }
  if (status == BURN_OK) return BURN_OK;
  for (uint32_t i = 0; i < call->output_count; i++) {
    burn__autodiff_release(decorator, call->outputs[i]);
    call->outputs[i] = NULL;
  }
  return status;
}

/* The node of a call that has run, and what running it again takes, if it is to be; *node stays NULL if no gradient
 * can flow through it. */
static BurnStatus record_node(AutodiffDecorator *decorator, const BurnOpCall *call, BurnPrimitive *const *inputs,
                              BurnPrimitive *const *outputs, const GradientRow *row, const AutodiffRecord *record,
                              AutodiffNode **node, AutodiffKept **kept) {
  if (!row || !any_float(outputs, call->output_count)) return BURN_OK;
  if (record->recomputes) *kept = burn__autodiff_kept_create(decorator, call, inputs, record);
  if (*kept || !record->recomputes)
    *node = burn__autodiff_node_create(decorator, call, inputs, outputs, row, record, *kept);
  if (*node) return BURN_OK;
  burn__autodiff_kept_release(decorator, *kept);
  return AUTODIFF_FAIL(decorator, OUT_OF_MEMORY, "%s: no memory for a graph node",
                       burn__autodiff_op_name(decorator, call->op));
}

/* Wraps what the decorator below made of a call and, if `row` is not NULL, records a node. Takes over the references in
 * `outputs`. */
static BurnStatus finish(AutodiffDecorator *decorator, const BurnOpCall *call, BurnPrimitive *const *inputs,
                         BurnPrimitive **outputs, const GradientRow *row, const AutodiffRecord *record) {
  AutodiffNode *node = NULL;
  AutodiffKept *kept = NULL;
  BurnStatus status = record_node(decorator, call, inputs, outputs, row, record, &node, &kept);
  if (status != BURN_OK) {
    for (uint32_t i = 0; i < call->output_count; i++) decorator->next->release(decorator->next->self, outputs[i]);
    return status;
  }
  if (call->output_count == 1) {
    status = burn__autodiff_wrap(decorator, outputs[0], node, 0, &call->outputs[0]);
  } else {
    status = wrap_outputs(decorator, call, outputs, node);
    burn__autodiff_node_release(decorator, node);
  }
  for (uint32_t i = 0; kept && status == BURN_OK && i < call->output_count; i++)
    if (is_tracked(call->outputs[i])) autodiff_tensor(call->outputs[i])->kept = burn__autodiff_kept_retain(kept);
  burn__autodiff_kept_release(decorator, kept);
  return status;
}

/* Runs the call below with the unwrapped `inputs`. */
static BurnStatus run(AutodiffDecorator *decorator, const BurnOpCall *call, BurnPrimitive *const *inputs,
                      const GradientRow *row) {
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS] = {NULL};
  const AutodiffRecord record = row ? burn__autodiff_record(decorator, call, row) : (AutodiffRecord){0};
  BurnOpCall below = *call;
  below.struct_size = (uint32_t)sizeof below;
  below.inputs = inputs;
  below.outputs = outputs;
  below.donate = call->donate ? donations(call, &record) : 0;
  BurnStatus status = decorator->host->invoke(decorator->next, &below);
  if (status == BURN_OK) status = burn_common_check_results(decorator->host, decorator->next, &below);
  return status == BURN_OK ? finish(decorator, call, inputs, outputs, row, &record) : status;
}

/* True if the level below has kernels that give and take what the gradients of attention need. */
static bool keeps_logsumexp(const AutodiffDecorator *decorator, const BurnOpCall *call) {
  const BurnBackend *next = decorator->next;
  return call->op == BURN_OP_attention &&
         next->op_support(next->self, BURN_OP_attention_with_logsumexp) == BURN_SUPPORT_YES &&
         next->op_support(next->self, BURN_OP_attention_with_logsumexp_backward) == BURN_SUPPORT_YES;
}

/* Runs attention as attention_with_logsumexp, whose second result is the node's alone. */
static BurnStatus run_attention(AutodiffDecorator *decorator, const BurnOpCall *call, BurnPrimitive *const *inputs) {
  BurnPrimitive *outputs[2] = {NULL, NULL};
  BurnOpCall both = burn_call_copy(call);
  both.op = BURN_OP_attention_with_logsumexp;
  both.output_count = 2;
  both.outputs = outputs;
  both.output_descs = NULL; /* the host works them out again */
  const BurnStatus status = run(decorator, &both, inputs, &burn__gradient_attention_row);
  if (status != BURN_OK) return status;
  call->outputs[0] = outputs[0];
  burn__autodiff_release(decorator, outputs[1]);
  return BURN_OK;
}

/* The primitives below the inputs of a call; NULL for absent ones. */
static BurnStatus unwrap_inputs(const AutodiffDecorator *decorator, const BurnOpCall *call, BurnPrimitive **inputs) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    BurnPrimitive *x = call->inputs[i];
    if (x && x->owner != decorator->owner)
      return burn__autodiff_check_owner(decorator, x, burn__autodiff_op_name(decorator, call->op));
    inputs[i] = x ? autodiff_tensor(x)->inner : NULL;
  }
  return BURN_OK;
}

/* Finds the rule to be recorded: none if nothing is tracked or no gradient flows. */
static BurnStatus choose_rule(const AutodiffDecorator *decorator, const BurnOpCall *call, const GradientRow **row) {
  if (!any_tracked(call)) return BURN_OK;
  *row = burn__autodiff_row(decorator, call->op);
  if (*row || is_constant(decorator, call->op)) return BURN_OK;
  return AUTODIFF_FAIL(decorator, UNIMPLEMENTED,
                       "%s: there is no gradient rule; a tracked input needs the op's decomposition",
                       burn__autodiff_op_name(decorator, call->op));
}

BurnStatus BURN_API_CALL burn__autodiff_submit(void *self, const BurnOpCall *call) {
  AutodiffDecorator *decorator = self;
  if (call->output_count > BURN_MAX_OUTPUTS)
    return AUTODIFF_FAIL(decorator, INVALID_ARGUMENT, "%s: %u outputs, at most %u are possible",
                         burn__autodiff_op_name(decorator, call->op), call->output_count, BURN_MAX_OUTPUTS);
  BurnPrimitive *on_stack[INPUTS_ON_STACK], **inputs = on_stack;
  const uint64_t bytes = call->input_count * sizeof *inputs;
  if (call->input_count > INPUTS_ON_STACK) inputs = (BurnPrimitive **)decorator->host->allocate(bytes);
  if (!inputs)
    return AUTODIFF_FAIL(decorator, OUT_OF_MEMORY, "%s: no memory for %u inputs",
                         burn__autodiff_op_name(decorator, call->op), call->input_count);
  const GradientRow *row = NULL;
  BurnStatus status = unwrap_inputs(decorator, call, inputs);
  if (status == BURN_OK) status = choose_rule(decorator, call, &row);
  if (status == BURN_OK)
    status = row && keeps_logsumexp(decorator, call) ? run_attention(decorator, call, inputs)
                                                     : run(decorator, call, inputs, row);
  if (inputs != on_stack) decorator->host->free(inputs, bytes);
  return status;
}
