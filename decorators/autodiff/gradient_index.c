/* gradient_index.c - rules of the ops that read or write elements at integer indices. Reading and adding are each
 * other's gradients: where an index repeats, what flows back adds up.
 *
 * In the formulas g is the gradient of the output, x, v and y the indexed input, the values and the output; v arrives
 * at y one after the other, and "read" is y (or what has its shape) at the place where each v went. */
#include "gradient.h"

/* inputs x, indices */
void burn__gradient_select(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(select, c)->dim.value.i64;
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, burn_build_dim3(&c->builder, BURN_OP_select_assign, zeros, c->inputs[1], c->grad, dim));
}

/* inputs x, indices */
void burn__gradient_gather(GradientContext *c) {
  const int64_t dim = GRADIENT_ATTRS(gather, c)->dim.value.i64;
  BurnPrimitive *zeros = burn__gradient_zeros(c, 0);
  burn__gradient_set(c, 0, burn_build_dim3(&c->builder, BURN_OP_scatter, zeros, c->inputs[1], c->grad, dim));
}

/* -- select_assign and scatter: inputs x, indices, values ------------------------------------- */

uint32_t burn__gradient_update_needs(int64_t update, uint32_t input) {
  const uint32_t indices = GRADIENT_INPUT(1);
  if (input == 1) return 0;
  switch (update) {
    case BURN_UPDATE_ADD:
      return input == 0 ? 0 : indices;
    case BURN_UPDATE_ASSIGN:
      return indices;
    case BURN_UPDATE_MUL:
      return indices | GRADIENT_INPUT(2) | (input == 0 ? 0 : GRADIENT_INPUT(0));
    default:
      return (input == 0 ? GRADIENT_INPUT(0) : indices | GRADIENT_INPUT(2)) | GRADIENT_OUTPUT(0);
  }
}

/* An op that writes, and the one that reads at the same places. */
typedef struct Places {
  uint32_t write, read;
  int64_t dim;
} Places;

static BurnPrimitive *read_at(GradientContext *c, const Places *at, BurnPrimitive *x) {
  return burn_build_dim2(&c->builder, at->read, x, c->inputs[1], at->dim);
}

static BurnPrimitive *write_at(GradientContext *c, const Places *at, BurnPrimitive *x, BurnPrimitive *values,
                               int64_t update) {
  BurnPrimitive *inputs[3] = {x, c->inputs[1], values};
  const BurnAttr attrs[2] = {burn_attr_i64(at->dim), burn_attr_i64(update)};
  return burn_build(&c->builder, at->write, 3, inputs, 2, attrs);
}

/* For every value its number in the order of the indices: shaped like the values, i64. */
static BurnPrimitive *order(GradientContext *c, const Places *at) {
  const BurnTensorDesc *values = &c->input_descs[2];
  const int64_t count = values->shape[at->dim];
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < values->rank; i++) shape[i] = 1;
  shape[at->dim] = count;
  const BurnAttr attrs[2] = {burn_attr_i64s(&count, 1), burn_attr_dtype(BURN_DTYPE_I64)};
  BurnPrimitive *numbers = burn_build(&c->builder, BURN_OP_arange, 0, NULL, 2, attrs);
  numbers = burn_build_reshape(&c->builder, numbers, shape, values->rank);
  return burn_build_expand(&c->builder, numbers, values->shape, values->rank);
}

/* An i64 tensor shaped like x. */
static BurnPrimitive *numbers_like_x(GradientContext *c, int64_t value) {
  const BurnTensorDesc *x = &c->input_descs[0];
  return burn_build_full(&c->builder, x->shape, x->rank, BURN_DTYPE_I64, (double)value);
}

/* x: g where nothing was assigned. v: g for the last one that was assigned to an element. */
static void gradient_assign(GradientContext *c, const Places *at) {
  BurnBuilder *b = &c->builder;
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, write_at(c, at, c->grad, burn__gradient_zeros(c, 2), BURN_UPDATE_ASSIGN));
  if (!burn__gradient_needs(c, 2)) return;
  BurnPrimitive *number = order(c, at);
  BurnPrimitive *last = write_at(c, at, numbers_like_x(c, 0), number, BURN_UPDATE_ASSIGN);
  BurnPrimitive *stays = burn_build_op2(b, BURN_OP_equal, read_at(c, at, last), number);
  burn__gradient_set(c, 2, burn__gradient_where_true(c, read_at(c, at, c->grad), stays));
}

static void gradient_add(GradientContext *c, const Places *at) {
  burn__gradient_set(c, 0, c->grad);
  if (burn__gradient_needs(c, 2)) burn__gradient_set(c, 2, read_at(c, at, c->grad));
}

/* x where it is not 0, else 1. */
static BurnPrimitive *without_zeros(GradientContext *c, BurnPrimitive *x, BurnPrimitive *is_zero) {
  BurnPrimitive *inputs[2] = {x, is_zero};
  const BurnAttr value = burn_attr_f64(1.0);
  return burn_build(&c->builder, BURN_OP_mask_fill, 2, inputs, 1, &value);
}

/* x: g times the product of the values. v: g times the product of all the others, x among them. The latter is found
 * from the product of what is not 0 and the number of zeros, so that zeros divide nothing. */
static void gradient_mul(GradientContext *c, const Places *at) {
  BurnBuilder *b = &c->builder;
  const BurnTensorDesc *desc = &c->input_descs[0];
  if (burn__gradient_needs(c, 0)) {
    BurnPrimitive *ones = burn_build_full(b, desc->shape, desc->rank, desc->dtype, 1.0);
    burn__gradient_set(c, 0, burn_build_mul(b, c->grad, write_at(c, at, ones, c->inputs[2], BURN_UPDATE_MUL)));
  }
  if (!burn__gradient_needs(c, 2)) return;
  BurnPrimitive *x_zero = burn_build_scalar(b, BURN_OP_equal_scalar, c->inputs[0], 0.0);
  BurnPrimitive *v_zero = burn_build_scalar(b, BURN_OP_equal_scalar, c->inputs[2], 0.0);
  BurnPrimitive *is_zero = burn_build_cast(b, v_zero, BURN_DTYPE_I64);
  BurnPrimitive *zeros = write_at(c, at, burn_build_cast(b, x_zero, BURN_DTYPE_I64), is_zero, BURN_UPDATE_ADD);
  BurnPrimitive *factors = without_zeros(c, c->inputs[2], v_zero);
  BurnPrimitive *product = write_at(c, at, without_zeros(c, c->inputs[0], x_zero), factors, BURN_UPDATE_MUL);
  BurnPrimitive *others = burn_build_div(b, read_at(c, at, product), factors);
  BurnPrimitive *other_zeros = burn_build_sub(b, read_at(c, at, zeros), is_zero);
  BurnPrimitive *vanish = burn_build_scalar(b, BURN_OP_not_equal_scalar, other_zeros, 0.0);
  burn__gradient_set(c, 2, burn__gradient_where_false(c, burn_build_mul(b, read_at(c, at, c->grad), others), vanish));
}

/* True where x is the extreme y, or NaN, which wins. */
static BurnPrimitive *is_extreme(GradientContext *c, BurnPrimitive *x, BurnPrimitive *y) {
  BurnPrimitive *is_nan = burn_build_op2(&c->builder, BURN_OP_not_equal, x, x);
  return burn_build_op2(&c->builder, BURN_OP_bool_or, burn_build_op2(&c->builder, BURN_OP_equal, x, y), is_nan);
}

/* g goes to x if that has the extreme value, and to the first of the values that has it: at a tie to both, as in Burn.
 */
static void gradient_extreme(GradientContext *c, const Places *at) {
  BurnBuilder *b = &c->builder;
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, burn__gradient_where_true(c, c->grad, is_extreme(c, c->inputs[0], c->outputs[0])));
  if (!burn__gradient_needs(c, 2)) return;
  const int64_t count = c->input_descs[2].shape[at->dim];
  BurnPrimitive *has_it = is_extreme(c, c->inputs[2], read_at(c, at, c->outputs[0]));
  BurnPrimitive *inputs[2] = {order(c, at), burn_build_op1(b, BURN_OP_bool_not, has_it)};
  const BurnAttr none = burn_attr_f64((double)count);
  BurnPrimitive *number = burn_build(b, BURN_OP_mask_fill, 2, inputs, 1, &none);
  BurnPrimitive *first = write_at(c, at, numbers_like_x(c, count), number, BURN_UPDATE_MIN);
  BurnPrimitive *is_first = burn_build_op2(b, BURN_OP_equal, read_at(c, at, first), number);
  BurnPrimitive *wins = burn_build_op2(b, BURN_OP_bool_and, is_first, has_it);
  burn__gradient_set(c, 2, burn__gradient_where_true(c, read_at(c, at, c->grad), wins));
}

static void gradient_update(GradientContext *c, const Places *at, int64_t update) {
  switch (update) {
    case BURN_UPDATE_ASSIGN:
      gradient_assign(c, at);
      return;
    case BURN_UPDATE_ADD:
      gradient_add(c, at);
      return;
    case BURN_UPDATE_MUL:
      gradient_mul(c, at);
      return;
    default:
      gradient_extreme(c, at);
      return;
  }
}

void burn__gradient_select_assign(GradientContext *c) {
  const BurnAttrs_select_assign *attrs = GRADIENT_ATTRS(select_assign, c);
  const Places at = {BURN_OP_select_assign, BURN_OP_select, attrs->dim.value.i64};
  gradient_update(c, &at, attrs->update.value.i64);
}

void burn__gradient_scatter(GradientContext *c) {
  const BurnAttrs_scatter *attrs = GRADIENT_ATTRS(scatter, c);
  const Places at = {BURN_OP_scatter, BURN_OP_gather, attrs->dim.value.i64};
  gradient_update(c, &at, attrs->update.value.i64);
}

/* -- masks ------------------------------------------------------------------------------------ */

/* inputs x, mask, value: value was taken where the mask is true. */
void burn__gradient_mask_where(GradientContext *c) {
  BurnPrimitive *mask = c->inputs[1];
  if (burn__gradient_needs(c, 0)) burn__gradient_set_reduced(c, 0, burn__gradient_where_false(c, c->grad, mask));
  if (burn__gradient_needs(c, 2)) burn__gradient_set_reduced(c, 2, burn__gradient_where_true(c, c->grad, mask));
}

void burn__gradient_mask_fill(GradientContext *c) {
  burn__gradient_set_reduced(c, 0, burn__gradient_where_false(c, c->grad, c->inputs[1]));
}
