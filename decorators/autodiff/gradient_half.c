/* gradient_half.c - rules on f16 and bf16: formulas run in f32, and each gradient is rounded once, where it is handed
 * out.
 *
 * A rule such as g * (y - y * y) would else round after every step, and lose most of the digits it has where y is
 * near 1. Rules that only move or sum gradients, those of matrix products and convolutions, and those that are one op
 * which the backend has a kernel for, work in the half type: backends round such results once by themselves. */
#include "gradient.h"

#include "autodiff_internal.h"

enum { MAX_TENSORS = BURN_MAX_FIXED_INPUTS };

/* Half-precision tensors of a node in f32, the others as they are. */
typedef struct Widened {
  BurnPrimitive *grads[BURN_MAX_OUTPUTS], *outputs[BURN_MAX_OUTPUTS], *inputs[MAX_TENSORS];
  BurnTensorDesc output_descs[BURN_MAX_OUTPUTS], input_descs[MAX_TENSORS];
} Widened;

static int is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }

static BurnPrimitive *widen(BurnBuilder *b, BurnPrimitive *x) {
  return x && is_half(x->dtype) ? burn_build_cast(b, x, BURN_DTYPE_F32) : x;
}

static BurnTensorDesc widen_desc(BurnTensorDesc desc) {
  if (is_half(desc.dtype)) desc.dtype = BURN_DTYPE_F32;
  return desc;
}

/* Ops whose rule is one op. */
static const struct {
  uint32_t op, gradient;
} single_ops[] = {{BURN_OP_gelu, BURN_OP_gelu_backward},
                  {BURN_OP_softmax, BURN_OP_softmax_backward},
                  {BURN_OP_quiet_softmax, BURN_OP_softmax_backward},
                  {BURN_OP_log_softmax, BURN_OP_log_softmax_backward},
                  {BURN_OP_cross_entropy, BURN_OP_cross_entropy_backward},
                  {BURN_OP_mse, BURN_OP_mse_backward},
                  {BURN_OP_layer_norm, BURN_OP_layer_norm_backward},
                  {BURN_OP_batch_norm_train, BURN_OP_batch_norm_train_backward}};

/* 1 if the rule is one op that the backend computes as a whole: its decomposition would round after every step. */
static int is_one_kernel(const GradientContext *c) {
  const BurnBackend *backend = c->builder.backend;
  for (size_t i = 0; i < sizeof single_ops / sizeof single_ops[0]; i++)
    if (single_ops[i].op == c->node->op)
      return backend->op_support(backend->self, single_ops[i].gradient) == BURN_SUPPORT_YES;
  return 0;
}

/* 1 if the rule computes with what was saved, element by element or along axes, and there are halves among its tensors.
 */
static int wants_f32(const GradientContext *c, const GradientRow *row) {
  const AutodiffNode *node = c->node;
  int halves = 0;
  for (uint32_t i = 0; i < c->input_count; i++) halves |= is_half(c->input_descs[i].dtype);
  for (uint32_t i = 0; i < node->output_count; i++) halves |= is_half(c->output_descs[i].dtype);
  if (!halves) return 0;
  const BurnOpInfo *info = c->builder.host->op_info(node->op);
  uint32_t needs = 0;
  if (!info || !(info->traits & (BURN_TRAIT_ELEMENTWISE | BURN_TRAIT_REDUCE))) return 0;
  if (c->input_count > MAX_TENSORS || node->output_count > BURN_MAX_OUTPUTS) return 0;
  for (uint32_t i = 0; i < GRADIENT_NEED_COLUMNS; i++) needs |= row->needs[i];
  return needs != 0 && !is_one_kernel(c);
}

void burn__gradient_run(GradientContext *c, const GradientRow *row) {
  Widened wide;
  if (!wants_f32(c, row)) {
    row->rule(c);
    return;
  }
  for (uint32_t i = 0; i < c->input_count; i++) {
    wide.inputs[i] = widen(&c->builder, c->inputs[i]);
    wide.input_descs[i] = widen_desc(c->input_descs[i]);
  }
  for (uint32_t i = 0; i < c->node->output_count; i++) {
    wide.grads[i] = widen(&c->builder, c->grads[i]);
    wide.outputs[i] = widen(&c->builder, c->outputs[i]);
    wide.output_descs[i] = widen_desc(c->output_descs[i]);
  }
  c->grad = wide.grads[0];
  c->grads = wide.grads;
  c->inputs = wide.inputs;
  c->outputs = wide.outputs;
  c->input_descs = wide.input_descs;
  c->output_descs = wide.output_descs;
  row->rule(c);
}
