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
