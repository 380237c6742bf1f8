/* gradient_scan.c - rules of the running reductions. In the formulas g is the gradient of the output, x and y the input
 * and output; element i of y has seen elements 0 .. i of x, so element j of x gets something from every i >= j. */
#include "gradient.h"

/* Axis `dim` of x from `start`, `count` elements, with a step of 1 or -1. */
static BurnPrimitive *part(GradientContext *c, BurnPrimitive *x, int64_t dim, int64_t start, int64_t count,
                           int64_t step) {
  const BurnTensorDesc *desc = &c->input_descs[0];
  int64_t starts[BURN_MAX_RANK] = {0}, counts[BURN_MAX_RANK], steps[BURN_MAX_RANK];
  for (uint32_t i = 0; i < desc->rank; i++) {
    counts[i] = desc->shape[i];
    steps[i] = 1;
  }
  starts[dim] = start;
  counts[dim] = count;
  steps[dim] = step;
  const BurnAttr attrs[3] = {burn_attr_i64s(starts, desc->rank), burn_attr_i64s(counts, desc->rank),
                             burn_attr_i64s(steps, desc->rank)};
  return burn_build(&c->builder, BURN_OP_slice, 1, &x, 3, attrs);
}

/* Element j is the sum of elements j .. of x. */
static BurnPrimitive *sum_of_rest(GradientContext *c, BurnPrimitive *x, int64_t dim) {
  const int64_t count = c->input_descs[0].shape[dim];
  if (count == 0) return x;
  BurnPrimitive *sums = burn_build_dim(&c->builder, BURN_OP_cumsum, part(c, x, dim, count - 1, count, -1), dim);
  return part(c, sums, dim, count - 1, count, -1);
}

void burn__gradient_cumsum(GradientContext *c) {
  burn__gradient_set(c, 0, sum_of_rest(c, c->grad, GRADIENT_ATTRS(cumsum, c)->dim.value.i64));
}

/* Before the first 0 of x: sum of g * y over the rest, divided by x. At the first 0: the same sum with a 1 in its
 * place. After it: 0, since every product holds that 0. */
void burn__gradient_cumprod(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const int64_t dim = GRADIENT_ATTRS(cumprod, c)->dim.value.i64;
  BurnPrimitive *x = c->inputs[0];
  BurnPrimitive *is_zero = burn_build_scalar(b, BURN_OP_equal_scalar, x, 0.0);
  BurnPrimitive *zeros = burn_build_dim(b, BURN_OP_cumsum, burn_build_cast(b, is_zero, BURN_DTYPE_I64), dim);
  BurnPrimitive *first = burn_build_scalar(b, BURN_OP_equal_scalar, zeros, 1.0);
  first = burn_build_op2(b, BURN_OP_bool_and, first, is_zero);
  BurnPrimitive *inputs[2] = {x, first};
  const BurnAttr one = burn_attr_f64(1.0);
  BurnPrimitive *replaced = burn_build(b, BURN_OP_mask_fill, 2, inputs, 1, &one);
  BurnPrimitive *without = burn_build_dim(b, BURN_OP_cumprod, replaced, dim);
  BurnPrimitive *before = burn_build_div(b, sum_of_rest(c, burn_build_mul(b, c->grad, c->outputs[0]), dim), x);
  BurnPrimitive *seen = burn_build_scalar(b, BURN_OP_not_equal_scalar, zeros, 0.0);
  BurnPrimitive *at_first = sum_of_rest(c, burn_build_mul(b, c->grad, without), dim);
  before = burn__gradient_where_false(c, before, seen);
  burn__gradient_set(c, 0, burn_build_op3(b, BURN_OP_mask_where, before, first, at_first));
}

/* Where x equals y it has the extreme, until the next such place: the last of equal ones gets g. NaN, which equals
 * nothing, leaves what comes after it to the last place before. */
void burn__gradient_cumextreme(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const int64_t dim = GRADIENT_ATTRS(cummax, c)->dim.value.i64; /* cummin has the same attribute */
  const BurnTensorDesc *x = &c->input_descs[0];
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) shape[i] = 1;
  shape[dim] = x->shape[dim];
  const BurnAttr attrs[2] = {burn_attr_i64s(&x->shape[dim], 1), burn_attr_dtype(BURN_DTYPE_I64)};
  BurnPrimitive *places = burn_build_reshape(b, burn_build(b, BURN_OP_arange, 0, NULL, 2, attrs), shape, x->rank);
  places = burn_build_expand(b, places, x->shape, x->rank);
  places = burn__gradient_where_true(c, places, burn_build_op2(b, BURN_OP_equal, c->inputs[0], c->outputs[0]));
  places = burn_build_dim(b, BURN_OP_cummax, places, dim);
  burn__gradient_set(c, 0, burn_build_dim3(b, BURN_OP_scatter, burn__gradient_zeros(c, 0), places, c->grad, dim));
}
