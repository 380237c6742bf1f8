/* gradient.c - the table of rules by op number, and the helpers that most rules share.
 *
 * The table is built from gradients.def. Two checks at compile time keep it in step with ops.def: every op that ops.def
 * marks RULE has a row, and every row belongs to such an op. */
#include "gradient.h"

#include "autodiff_internal.h"

/* One enumerator per row; naming that of an op without a row is an error. */
enum {
#define GRADIENT(op, bound, needs_0, needs_1, needs_2, rule) GRADIENT_ROW_##op = 1,
#include "gradients.def"
#undef GRADIENT

#define GRADIENT_CHECK_RULE(name) GRADIENT_CHECK_##name = GRADIENT_ROW_##name,
#define GRADIENT_CHECK_VIA(name) GRADIENT_CHECK_##name = 0,
#define GRADIENT_CHECK_CONSTANT(name) GRADIENT_CHECK_##name = 0,
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  GRADIENT_CHECK_##gradient(name)
#include <burn/plugin/ops.def>
#undef BURN_OP
};

#define GRADIENT(op, bound, needs_0, needs_1, needs_2, rule) \
  _Static_assert(GRADIENT_CHECK_##op == 1, "gradients.def has a row for " #op ", which ops.def does not mark RULE");
#include "gradients.def"
#undef GRADIENT

static const GradientRow gradient_rows[BURN_OP_LIMIT] = {
#define GRADIENT(op, bound, needs_0, needs_1, needs_2, rule) \
  [BURN_OP_##op] = {burn__gradient_##rule, {needs_0, needs_1, needs_2}, bound},
#include "gradients.def"
#undef GRADIENT
};

const GradientRow *burn__gradient_row(uint32_t op) {
  if (op >= BURN_OP_LIMIT || !gradient_rows[op].rule) return NULL;
  return &gradient_rows[op];
}

int burn__gradient_needs(const GradientContext *c, uint32_t input) {
  return input < c->input_count && c->node->edges[input].node != NULL;
}

/* The builder's reference to x, if it is among its last few results; else a new one. The rule may go on using x: the
 * node holds it. */
static BurnPrimitive *move_out(BurnBuilder *b, BurnPrimitive *x) {
  BurnPrimitive **owned = b->owned ? b->owned : b->first;
  if (b->status != BURN_OK) return NULL;
  for (uint32_t i = b->count; i > 0 && b->count - i < BURN_MAX_OUTPUTS; i--) {
    if (owned[i - 1] != x) continue;
    owned[i - 1] = owned[--b->count];
    return x;
  }
  return burn_build_give(b, x);
}

void burn__gradient_set(GradientContext *c, uint32_t input, BurnPrimitive *x) {
  if (!burn__gradient_needs(c, input)) return;
  const BurnDType dtype = c->node->input_descs[input].dtype;
  if (x && x->dtype != dtype && x->dtype == c->input_descs[input].dtype) x = burn_build_cast(&c->builder, x, dtype);
  c->node->input_gradients[input] = move_out(&c->builder, x);
}

void burn__gradient_set_reduced(GradientContext *c, uint32_t input, BurnPrimitive *x) {
  if (!burn__gradient_needs(c, input)) return;
  burn__gradient_set(c, input, burn__gradient_reduce(c, x, &c->input_descs[input]));
}

void burn__gradient_described(GradientContext *c, uint32_t op, uint32_t input_count, BurnPrimitive *const *inputs,
                              uint32_t output_count, const BurnTensorDesc *descs, BurnPrimitive **out) {
  BurnBuilder *b = &c->builder;
  const BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                           .op = op,
                           .input_count = input_count,
                           .output_count = output_count,
                           .inputs = inputs,
                           .outputs = out,
                           .output_descs = descs,
                           .flags = b->flags,
                           .origin = b->origin};
  for (uint32_t i = 0; i < output_count; i++) out[i] = NULL;
  if (b->status == BURN_OK) b->status = b->host->invoke(b->backend, &call);
  for (uint32_t i = 0; i < output_count && b->status == BURN_OK; i++) out[i] = burn_build_own(b, out[i]);
}

void burn__gradient_set_described(GradientContext *c, uint32_t op, BurnPrimitive *x, BurnPrimitive *y) {
  BurnPrimitive *const inputs[2] = {x, y};
  BurnPrimitive *gradient;
  burn__gradient_described(c, op, 2, inputs, 1, c->input_descs, &gradient);
  burn__gradient_set(c, 0, gradient);
}

BurnPrimitive *burn__gradient_reduce(GradientContext *c, BurnPrimitive *x, const BurnTensorDesc *desc) {
  for (uint32_t axis = 0; x && axis < desc->rank; axis++)
    if (desc->shape[axis] == 1 && x->shape[axis] != 1)
      x = burn_build_dim(&c->builder, BURN_OP_sum_dim, x, (int64_t)axis);
  return x;
}

BurnPrimitive *burn__gradient_zeros(GradientContext *c, uint32_t input) {
  const BurnTensorDesc *desc = &c->input_descs[input];
  return burn_build_full(&c->builder, desc->shape, desc->rank, desc->dtype, 0.0);
}

BurnPrimitive *burn__gradient_where_false(GradientContext *c, BurnPrimitive *x, BurnPrimitive *mask) {
  BurnPrimitive *inputs[2] = {x, mask};
  const BurnAttr zero = burn_attr_f64(0.0);
  return burn_build(&c->builder, BURN_OP_mask_fill, 2, inputs, 1, &zero);
}

BurnPrimitive *burn__gradient_where_true(GradientContext *c, BurnPrimitive *x, BurnPrimitive *mask) {
  return burn__gradient_where_false(c, x, burn_build_op1(&c->builder, BURN_OP_bool_not, mask));
}

BurnPrimitive *burn__gradient_write_slice(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *values, BurnAttr starts,
                                          BurnAttr steps) {
  BurnPrimitive *inputs[2] = {x, values};
  const BurnAttr attrs[2] = {starts, steps};
  return burn_build(b, BURN_OP_slice_assign, 2, inputs, 2, attrs);
}
