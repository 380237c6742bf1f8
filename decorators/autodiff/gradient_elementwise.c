/* gradient_elementwise.c - rules of the ops that work element by element.
 *
 * In the formulas g is the gradient of the output, x and y the input and output; binary ops have lhs and rhs. Inputs
 * that were stretched get their gradient summed back by burn__gradient_set_reduced. */
#include "gradient.h"

static const double TWO_OVER_SQRT_PI = 1.12837916709551257390;

/* -- one input -------------------------------------------------------------------------------- */

void burn__gradient_unchanged(GradientContext *c) { burn__gradient_set(c, 0, c->grad); }

void burn__gradient_neg(GradientContext *c) {
  burn__gradient_set(c, 0, burn_build_op1(&c->builder, BURN_OP_neg, c->grad));
}

/* Steps: the slope is 0 between them, and taken for 0 where they jump. A gradient all the same, so that what is reached
 * through steps alone gets zeros instead of nothing. */
void burn__gradient_zero(GradientContext *c) { burn__gradient_set(c, 0, burn__gradient_zeros(c, 0)); }

/* g * sign(x): 0 at 0. */
void burn__gradient_abs(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, burn_build_op1(b, BURN_OP_sign, c->inputs[0])));
}

void burn__gradient_exp(GradientContext *c) {
  burn__gradient_set(c, 0, burn_build_mul(&c->builder, c->grad, c->outputs[0]));
}

void burn__gradient_log(GradientContext *c) {
  burn__gradient_set(c, 0, burn_build_div(&c->builder, c->grad, c->inputs[0]));
}

/* g / (1 + x) */
void burn__gradient_log1p(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *below = burn_build_scalar(b, BURN_OP_add_scalar, c->inputs[0], 1.0);
  burn__gradient_set(c, 0, burn_build_div(b, c->grad, below));
}

/* g / (2 y) */
void burn__gradient_sqrt(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *below = burn_build_scalar(b, BURN_OP_mul_scalar, c->outputs[0], 2.0);
  burn__gradient_set(c, 0, burn_build_div(b, c->grad, below));
}

/* -g * y * y */
void burn__gradient_recip(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *square = burn_build_mul(b, c->outputs[0], c->outputs[0]);
  burn__gradient_set(c, 0, burn_build_op1(b, BURN_OP_neg, burn_build_mul(b, c->grad, square)));
}

void burn__gradient_sin(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, burn_build_op1(b, BURN_OP_cos, c->inputs[0])));
}

void burn__gradient_cos(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *product = burn_build_mul(b, c->grad, burn_build_op1(b, BURN_OP_sin, c->inputs[0]));
  burn__gradient_set(c, 0, burn_build_op1(b, BURN_OP_neg, product));
}

/* g - g * y * y */
void burn__gradient_tanh(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *square = burn_build_mul(b, c->outputs[0], c->outputs[0]);
  burn__gradient_set(c, 0, burn_build_sub(b, c->grad, burn_build_mul(b, c->grad, square)));
}

/* g * 2 / sqrt(pi) * e^(-x * x) */
void burn__gradient_erf(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *square = burn_build_mul(b, c->inputs[0], c->inputs[0]);
  BurnPrimitive *bell = burn_build_op1(b, BURN_OP_exp, burn_build_op1(b, BURN_OP_neg, square));
  BurnPrimitive *slope = burn_build_scalar(b, BURN_OP_mul_scalar, bell, TWO_OVER_SQRT_PI);
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, slope));
}

/* g * (1 + y * y) */
void burn__gradient_tan(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *square = burn_build_mul(b, c->outputs[0], c->outputs[0]);
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, burn_build_scalar(b, BURN_OP_add_scalar, square, 1.0)));
}

void burn__gradient_sinh(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, burn_build_op1(b, BURN_OP_cosh, c->inputs[0])));
}

void burn__gradient_cosh(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, burn_build_op1(b, BURN_OP_sinh, c->inputs[0])));
}

/* x * x + constant */
static BurnPrimitive *square_plus(GradientContext *c, double constant) {
  BurnBuilder *b = &c->builder;
  return burn_build_scalar(b, BURN_OP_add_scalar, burn_build_mul(b, c->inputs[0], c->inputs[0]), constant);
}
/* 1 - x * x; +0 at 1, so that quotients there are +infinity. */
static BurnPrimitive *one_minus_square(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *square = burn_build_mul(b, c->inputs[0], c->inputs[0]);
  return burn_build_scalar(b, BURN_OP_add_scalar, burn_build_op1(b, BURN_OP_neg, square), 1.0);
}

/* g / below */
static void gradient_over(GradientContext *c, BurnPrimitive *below) {
  burn__gradient_set(c, 0, burn_build_div(&c->builder, c->grad, below));
}
static void gradient_over_root(GradientContext *c, BurnPrimitive *below) {
  gradient_over(c, burn_build_op1(&c->builder, BURN_OP_sqrt, below));
}

/* g / sqrt(1 - x * x): infinite at -1 and 1, NaN beyond. */
void burn__gradient_asin(GradientContext *c) { gradient_over_root(c, one_minus_square(c)); }

/* -g / sqrt(1 - x * x) */
void burn__gradient_acos(GradientContext *c) {
  BurnPrimitive *root = burn_build_op1(&c->builder, BURN_OP_sqrt, one_minus_square(c));
  gradient_over(c, burn_build_op1(&c->builder, BURN_OP_neg, root));
}

/* g / (x * x + 1) */
void burn__gradient_atan(GradientContext *c) { gradient_over(c, square_plus(c, 1.0)); }

/* g / sqrt(x * x + 1) */
void burn__gradient_asinh(GradientContext *c) { gradient_over_root(c, square_plus(c, 1.0)); }

/* g / sqrt(x * x - 1) */
void burn__gradient_acosh(GradientContext *c) { gradient_over_root(c, square_plus(c, -1.0)); }

/* g / (1 - x * x) */
void burn__gradient_atanh(GradientContext *c) { gradient_over(c, one_minus_square(c)); }

/* Only float to float gets here: results of other kinds are not tracked. */
void burn__gradient_cast(GradientContext *c) {
  burn__gradient_set(c, 0, burn_build_cast(&c->builder, c->grad, c->input_descs[0].dtype));
}

/* -- two inputs, broadcast -------------------------------------------------------------------- */

void burn__gradient_add(GradientContext *c) {
  burn__gradient_set_reduced(c, 0, c->grad);
  burn__gradient_set_reduced(c, 1, c->grad);
}

void burn__gradient_sub(GradientContext *c) {
  burn__gradient_set_reduced(c, 0, c->grad);
  if (!burn__gradient_needs(c, 1)) return;
  BurnPrimitive *sum = burn__gradient_reduce(c, c->grad, &c->input_descs[1]);
  burn__gradient_set(c, 1, burn_build_op1(&c->builder, BURN_OP_neg, sum));
}

void burn__gradient_mul(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const int both = burn__gradient_needs(c, 0) && burn__gradient_needs(c, 1);
  if (both && c->inputs[0] == c->inputs[1]) { /* a square: one product for both */
    BurnPrimitive *product = burn_build_mul(b, c->grad, c->inputs[0]);
    for (uint32_t i = 0; i < 2; i++) burn__gradient_set(c, i, product);
    return;
  }
  if (burn__gradient_needs(c, 0)) burn__gradient_set_reduced(c, 0, burn_build_mul(b, c->grad, c->inputs[1]));
  if (burn__gradient_needs(c, 1)) burn__gradient_set_reduced(c, 1, burn_build_mul(b, c->grad, c->inputs[0]));
}

/* g / rhs, and -g * y / rhs */
void burn__gradient_div(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *quotient = burn_build_div(b, c->grad, c->inputs[1]);
  burn__gradient_set_reduced(c, 0, quotient);
  if (!burn__gradient_needs(c, 1)) return;
  BurnPrimitive *product = burn_build_mul(b, quotient, c->outputs[0]);
  burn__gradient_set_reduced(c, 1, burn_build_op1(b, BURN_OP_neg, product));
}

/* y = lhs - floor(lhs / rhs) * rhs: g, and -g * floor(lhs / rhs) */
void burn__gradient_remainder(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set_reduced(c, 0, c->grad);
  if (!burn__gradient_needs(c, 1)) return;
  BurnPrimitive *whole = burn_build_op1(b, BURN_OP_floor, burn_build_div(b, c->inputs[0], c->inputs[1]));
  burn__gradient_set_reduced(c, 1, burn_build_op1(b, BURN_OP_neg, burn_build_mul(b, c->grad, whole)));
}

/* g * rhs * lhs ^ (rhs - 1), and g * y * log(lhs). Where the exponent, or the base, is 0 the factor before the infinite
 * one is 0 and so is the gradient. */
void burn__gradient_powf(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *lhs = c->inputs[0], *rhs = c->inputs[1];
  if (burn__gradient_needs(c, 0)) {
    BurnPrimitive *power = burn_build_op2(b, BURN_OP_powf, lhs, burn_build_scalar(b, BURN_OP_add_scalar, rhs, -1.0));
    BurnPrimitive *product = burn_build_mul(b, c->grad, burn_build_mul(b, rhs, power));
    BurnPrimitive *flat = burn_build_scalar(b, BURN_OP_equal_scalar, rhs, 0.0);
    burn__gradient_set_reduced(c, 0, burn__gradient_where_false(c, product, flat));
  }
  if (burn__gradient_needs(c, 1)) {
    BurnPrimitive *slope = burn_build_mul(b, c->outputs[0], burn_build_op1(b, BURN_OP_log, lhs));
    BurnPrimitive *product = burn_build_mul(b, c->grad, slope);
    BurnPrimitive *flat = burn_build_scalar(b, BURN_OP_equal_scalar, lhs, 0.0);
    burn__gradient_set_reduced(c, 1, burn__gradient_where_false(c, product, flat));
  }
}

/* g * rhs / (lhs^2 + rhs^2), and -g * lhs / (lhs^2 + rhs^2); NaN at (0, 0), as in PyTorch. */
void burn__gradient_atan2(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *lhs = c->inputs[0], *rhs = c->inputs[1];
  BurnPrimitive *squares = burn_build_add(b, burn_build_mul(b, lhs, lhs), burn_build_mul(b, rhs, rhs));
  BurnPrimitive *share = burn_build_div(b, c->grad, squares);
  if (burn__gradient_needs(c, 0)) burn__gradient_set_reduced(c, 0, burn_build_mul(b, share, rhs));
  if (!burn__gradient_needs(c, 1)) return;
  burn__gradient_set_reduced(c, 1, burn_build_op1(b, BURN_OP_neg, burn_build_mul(b, share, lhs)));
}

/* g * lhs / y, and g * rhs / y; NaN at (0, 0), as in PyTorch. */
void burn__gradient_hypot(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  for (uint32_t i = 0; i < 2; i++) {
    if (!burn__gradient_needs(c, i)) continue;
    burn__gradient_set_reduced(c, i, burn_build_mul(b, c->grad, burn_build_div(b, c->inputs[i], c->outputs[0])));
  }
}

/* y = lhs - trunc(lhs / rhs) * rhs: g, and -g * trunc(lhs / rhs) */
void burn__gradient_fmod(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  burn__gradient_set_reduced(c, 0, c->grad);
  if (!burn__gradient_needs(c, 1)) return;
  BurnPrimitive *whole = burn_build_op1(b, BURN_OP_trunc, burn_build_div(b, c->inputs[0], c->inputs[1]));
  burn__gradient_set_reduced(c, 1, burn_build_op1(b, BURN_OP_neg, burn_build_mul(b, c->grad, whole)));
}

/* g * rhs * lhs ^ (rhs - 1); 0 where the exponent is, whatever lhs is. */
void burn__gradient_powi(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  BurnPrimitive *lhs = c->inputs[0],
                *rhs = burn_build_cast(b, c->inputs[1], BURN_DTYPE_I64); /* 0 - 1 would wrap in u8 */
  BurnPrimitive *power = burn_build_op2(b, BURN_OP_powi, lhs, burn_build_scalar(b, BURN_OP_add_scalar, rhs, -1.0));
  BurnPrimitive *slope = burn_build_mul(b, burn_build_cast(b, rhs, lhs->dtype), power);
  BurnPrimitive *flat = burn_build_scalar(b, BURN_OP_equal_scalar, rhs, 0.0);
  burn__gradient_set_reduced(c, 0, burn__gradient_where_false(c, burn_build_mul(b, c->grad, slope), flat));
}

/* The gradient goes to the side that was taken: rhs where `taken` holds, else lhs, which also wins ties. */
static void gradient_pair(GradientContext *c, uint32_t taken) {
  BurnPrimitive *mask = burn_build_op2(&c->builder, taken, c->inputs[1], c->inputs[0]);
  if (burn__gradient_needs(c, 0)) burn__gradient_set_reduced(c, 0, burn__gradient_where_false(c, c->grad, mask));
  if (burn__gradient_needs(c, 1)) burn__gradient_set_reduced(c, 1, burn__gradient_where_true(c, c->grad, mask));
}

void burn__gradient_max_pair(GradientContext *c) { gradient_pair(c, BURN_OP_greater); }
void burn__gradient_min_pair(GradientContext *c) { gradient_pair(c, BURN_OP_lower); }

/* -- one input and a scalar ------------------------------------------------------------------- */

void burn__gradient_mul_scalar(GradientContext *c) {
  const double value = burn_attr_to_f64(&GRADIENT_ATTRS(mul_scalar, c)->value);
  burn__gradient_set(c, 0, burn_build_scalar(&c->builder, BURN_OP_mul_scalar, c->grad, value));
}

void burn__gradient_div_scalar(GradientContext *c) {
  const double value = burn_attr_to_f64(&GRADIENT_ATTRS(div_scalar, c)->value);
  burn__gradient_set(c, 0, burn_build_scalar(&c->builder, BURN_OP_div_scalar, c->grad, value));
}

/* g * value * x ^ (value - 1); zeros for a value of 0, whatever x is. */
void burn__gradient_powf_scalar(GradientContext *c) {
  BurnBuilder *b = &c->builder;
  const double value = GRADIENT_ATTRS(powf_scalar, c)->value.value.f64;
  if (value == 0.0) {
    burn__gradient_set(c, 0, burn__gradient_zeros(c, 0));
    return;
  }
  BurnPrimitive *power = burn_build_scalar(b, BURN_OP_powf_scalar, c->inputs[0], value - 1.0);
  BurnPrimitive *slope = burn_build_scalar(b, BURN_OP_mul_scalar, power, value);
  burn__gradient_set(c, 0, burn_build_mul(b, c->grad, slope));
}

/* 0 where the bound was taken; on the bound itself, and for NaN, the gradient passes. */
static void gradient_clamp(GradientContext *c, uint32_t outside, double bound) {
  BurnPrimitive *mask = burn_build_scalar(&c->builder, outside, c->inputs[0], bound);
  burn__gradient_set(c, 0, burn__gradient_where_false(c, c->grad, mask));
}

void burn__gradient_clamp_min(GradientContext *c) {
  gradient_clamp(c, BURN_OP_lower_scalar, burn_attr_to_f64(&GRADIENT_ATTRS(clamp_min, c)->value));
}
void burn__gradient_clamp_max(GradientContext *c) {
  gradient_clamp(c, BURN_OP_greater_scalar, burn_attr_to_f64(&GRADIENT_ATTRS(clamp_max, c)->value));
}
