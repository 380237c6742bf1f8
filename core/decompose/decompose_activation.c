/* decompose_activation.c - activations written with other ops; see decompose_internal.h for the rules. Where a branch
 * that is not taken could overflow, its input is masked first: 0 * infinity in its gradient would be NaN. */
#include "decompose_internal.h"

static BurnPrimitive *compared(BurnBuilder *b, uint32_t op, BurnPrimitive *x, double value) {
  return burn_build_scalar(b, op, x, value);
}
/* chosen where mask is true, else x. */
static BurnPrimitive *where(BurnBuilder *b, BurnPrimitive *mask, BurnPrimitive *chosen, BurnPrimitive *x) {
  return burn_build_op3(b, BURN_OP_mask_where, x, mask, chosen);
}

/* -- rectifiers ------------------------------------------------------------------------------- */

DECOMPOSE(relu) { out[0] = burn_build_scalar(builder, BURN_OP_clamp_min, call->inputs[0], 0); }

DECOMPOSE(relu_backward) {
  BurnPrimitive *off =
      one(builder, BURN_OP_bool_not, burn_build_scalar(builder, BURN_OP_greater_scalar, call->inputs[1], 0));
  out[0] = masked(builder, call->inputs[0], off, 0);
}

DECOMPOSE(leaky_relu) {
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *negative = burn_build_scalar(builder, BURN_OP_lower_scalar, x, 0);
  BurnPrimitive *sloped = scaled(builder, x, BURN_ATTRS(leaky_relu, call)->slope.value.f64);
  out[0] = burn_build_op3(builder, BURN_OP_mask_where, x, negative, sloped);
}

/* alpha stands along axis 1 of x, or is one number for all. */
DECOMPOSE(prelu) {
  BurnPrimitive *x = call->inputs[0], *alpha = call->inputs[1];
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) shape[i] = i == 1 ? alpha->shape[0] : 1;
  BurnPrimitive *sloped = burn_build_mul(builder, x, burn_build_reshape(builder, alpha, shape, x->rank));
  out[0] = where(builder, compared(builder, BURN_OP_lower_scalar, x, 0), sloped, x);
}

DECOMPOSE(threshold) {
  const BurnAttrs_threshold *attrs = BURN_ATTRS(threshold, call);
  BurnPrimitive *low = compared(builder, BURN_OP_lower_equal_scalar, call->inputs[0], attrs->theta.value.f64);
  out[0] = masked(builder, call->inputs[0], low, attrs->value.value.f64);
}

DECOMPOSE(thresholded_relu) {
  const double alpha = BURN_ATTRS(thresholded_relu, call)->alpha.value.f64;
  out[0] = masked(builder, call->inputs[0], compared(builder, BURN_OP_lower_equal_scalar, call->inputs[0], alpha), 0);
}

/* -- shrinking and clamping ------------------------------------------------------------------- */

/* x, with 0 where |given| <= lambda. */
static BurnPrimitive *beyond(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *given, double lambda) {
  return masked(b, x, compared(b, BURN_OP_lower_equal_scalar, one(b, BURN_OP_abs, given), lambda), 0);
}
static BurnPrimitive *shrunk(BurnBuilder *b, BurnPrimitive *x, double lambda, double bias) {
  return beyond(b, burn_build_sub(b, x, scaled(b, one(b, BURN_OP_sign, x), bias)), x, lambda);
}

DECOMPOSE(hard_shrink) {
  out[0] = beyond(builder, call->inputs[0], call->inputs[0], BURN_ATTRS(hard_shrink, call)->lambda.value.f64);
}

DECOMPOSE(soft_shrink) {
  const double lambda = BURN_ATTRS(soft_shrink, call)->lambda.value.f64;
  out[0] = shrunk(builder, call->inputs[0], lambda, lambda);
}

DECOMPOSE(shrink) {
  const BurnAttrs_shrink *attrs = BURN_ATTRS(shrink, call);
  out[0] = shrunk(builder, call->inputs[0], attrs->lambda.value.f64, attrs->bias.value.f64);
}

static BurnPrimitive *between(BurnBuilder *b, BurnPrimitive *x, double min, double max) {
  const BurnAttr attrs[] = {burn_attr_f64(min), burn_attr_f64(max)};
  return burn_build(b, BURN_OP_clamp, 1, &x, 2, attrs);
}

DECOMPOSE(hardtanh) {
  const BurnAttrs_hardtanh *attrs = BURN_ATTRS(hardtanh, call);
  out[0] = between(builder, call->inputs[0], attrs->min.value.f64, attrs->max.value.f64);
}

static BurnPrimitive *hard_sigmoid(BurnBuilder *b, BurnPrimitive *x, double alpha, double beta) {
  return between(b, plus(b, scaled(b, x, alpha), beta), 0, 1);
}

DECOMPOSE(hard_sigmoid) {
  const BurnAttrs_hard_sigmoid *attrs = BURN_ATTRS(hard_sigmoid, call);
  out[0] = hard_sigmoid(builder, call->inputs[0], attrs->alpha.value.f64, attrs->beta.value.f64);
}

DECOMPOSE(hard_swish) {
  out[0] = burn_build_mul(builder, call->inputs[0], hard_sigmoid(builder, call->inputs[0], 1.0 / 6, 0.5));
}

/* -- exponential units ------------------------------------------------------------------------ */

/* e^z - 1. For z <= 0 it is 2 t / (1 - t) with t = tanh(z / 2), where no digits cancel near 0. */
static BurnPrimitive *exponential_less_1(BurnBuilder *b, BurnPrimitive *z, bool negative) {
  if (!negative) return plus(b, one(b, BURN_OP_exp, z), -1);
  BurnPrimitive *t = one(b, BURN_OP_tanh, scaled(b, z, 0.5));
  return burn_build_div(b, scaled(b, t, 2), plus(b, one(b, BURN_OP_neg, t), 1));
}

/* slope * x where `upper` compares x with 0 as true, else factor * (e^(x / divisor) - 1). A NaN takes the second and
 * stays. */
static BurnPrimitive *exponential_unit(BurnBuilder *b, BurnPrimitive *x, double factor, double divisor, double slope,
                                       uint32_t upper) {
  BurnPrimitive *positive = compared(b, upper, x, 0);
  BurnPrimitive *low = masked(b, x, positive, 0);
  if (divisor != 1) low = burn_build_scalar(b, BURN_OP_div_scalar, low, divisor);
  BurnPrimitive *grown = scaled(b, exponential_less_1(b, low, divisor > 0), factor);
  return where(b, positive, slope == 1 ? x : scaled(b, x, slope), grown);
}

DECOMPOSE(elu) {
  const double alpha = BURN_ATTRS(elu, call)->alpha.value.f64;
  out[0] = exponential_unit(builder, call->inputs[0], alpha, 1, 1, BURN_OP_greater_scalar);
}

DECOMPOSE(celu) {
  const double alpha = BURN_ATTRS(celu, call)->alpha.value.f64;
  out[0] = exponential_unit(builder, call->inputs[0], alpha, alpha, 1, BURN_OP_greater_scalar);
}

/* The constants of Klambauer et al., "Self-Normalizing Neural Networks" (2017). The slope at 0 is gamma, as in Burn. */
DECOMPOSE(selu) {
  const double alpha = 1.6732632423543772848, gamma = 1.0507009873554804934;
  out[0] = exponential_unit(builder, call->inputs[0], alpha * gamma, 1, gamma, BURN_OP_greater_equal_scalar);
}

/* -- smooth ones ------------------------------------------------------------------------------ */

DECOMPOSE(sigmoid) {
  BurnPrimitive *grown = one(builder, BURN_OP_exp, one(builder, BURN_OP_neg, call->inputs[0]));
  out[0] = one(builder, BURN_OP_recip, plus(builder, grown, 1));
}

DECOMPOSE(gelu) {
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *share = plus(builder, one(builder, BURN_OP_erf, scaled(builder, x, 0.70710678118654752440)), 1);
  out[0] = scaled(builder, burn_build_mul(builder, x, share), 0.5);
}

DECOMPOSE(gelu_backward) {
  BurnPrimitive *x = call->inputs[1];
  BurnPrimitive *share = plus(builder, one(builder, BURN_OP_erf, scaled(builder, x, 0.70710678118654752440)), 1);
  BurnPrimitive *bell = one(builder, BURN_OP_exp, scaled(builder, burn_build_mul(builder, x, x), -0.5));
  BurnPrimitive *moved = scaled(builder, burn_build_mul(builder, x, bell), 0.79788456080286535588); /* sqrt(2 / pi) */
  BurnPrimitive *slope = scaled(builder, burn_build_add(builder, share, moved), 0.5);
  out[0] = burn_build_mul(builder, call->inputs[0], slope);
}

DECOMPOSE(silu) { out[0] = burn_build_mul(builder, call->inputs[0], one(builder, BURN_OP_sigmoid, call->inputs[0])); }

DECOMPOSE(softplus) {
  const double beta = BURN_ATTRS(softplus, call)->beta.value.f64;
  BurnPrimitive *grown = one(builder, BURN_OP_exp, scaled(builder, call->inputs[0], beta));
  out[0] = burn_build_scalar(builder, BURN_OP_div_scalar, one(builder, BURN_OP_log1p, grown), beta);
}

/* x (c + 0.044715 c x^2) instead of c (x + 0.044715 x^3): x^3 leaves the range of halves early. (1 + tanh(u)) / 2 is
 * sigmoid(2 u): two steps less, and nothing cancels where u is far below 0. */
DECOMPOSE(gelu_approximate) {
  const double c = 1.59576912160573071176; /* 2 sqrt(2 / pi) */
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *slope = plus(builder, scaled(builder, burn_build_mul(builder, x, x), 0.044715 * c), c);
  BurnPrimitive *share = one(builder, BURN_OP_sigmoid, burn_build_mul(builder, x, slope));
  out[0] = burn_build_mul(builder, x, share);
}

/* min(x, 0) - log1p(e^-|x|). |x| is -x where x >= 0 also for its gradient, which is 1/2 at 0 that way. */
DECOMPOSE(log_sigmoid) {
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *negative = compared(builder, BURN_OP_lower_scalar, x, 0);
  BurnPrimitive *low = where(builder, negative, x, one(builder, BURN_OP_neg, x));
  BurnPrimitive *least = masked(builder, x, one(builder, BURN_OP_bool_not, negative), 0);
  out[0] = burn_build_sub(builder, least, one(builder, BURN_OP_log1p, one(builder, BURN_OP_exp, low)));
}

/* log(1 + e^x) is -log_sigmoid(-x), which does not overflow. */
DECOMPOSE(mish) {
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *soft = one(builder, BURN_OP_neg, one(builder, BURN_OP_log_sigmoid, one(builder, BURN_OP_neg, x)));
  out[0] = burn_build_mul(builder, x, one(builder, BURN_OP_tanh, soft));
}

DECOMPOSE(softsign) {
  BurnPrimitive *x = call->inputs[0];
  out[0] = burn_build_div(builder, x, plus(builder, one(builder, BURN_OP_abs, x), 1));
}

DECOMPOSE(tanhshrink) {
  out[0] = burn_build_sub(builder, call->inputs[0], one(builder, BURN_OP_tanh, call->inputs[0]));
}

/* -- along an axis ---------------------------------------------------------------------------- */

DECOMPOSE(glu) {
  const int64_t dim = BURN_ATTRS(glu, call)->dim.value.i64, half = call->inputs[0]->shape[dim] / 2;
  BurnPrimitive *gate = one(builder, BURN_OP_sigmoid, range(builder, call->inputs[0], dim, half, half));
  out[0] = burn_build_mul(builder, range(builder, call->inputs[0], dim, 0, half), gate);
}

static BurnPrimitive *shifted(BurnBuilder *b, BurnPrimitive *x, int64_t dim) {
  return burn_build_sub(b, x, burn_build_dim(b, BURN_OP_max_dim, x, dim));
}

DECOMPOSE(softmax) {
  const int64_t dim = BURN_ATTRS(softmax, call)->dim.value.i64;
  if (call->inputs[0]->shape[dim] == 0) {
    out[0] = call->inputs[0]; /* nothing to do, and no maximum to shift by */
    return;
  }
  BurnPrimitive *grown = one(builder, BURN_OP_exp, shifted(builder, call->inputs[0], dim));
  out[0] = burn_build_div(builder, grown, burn_build_dim(builder, BURN_OP_sum_dim, grown, dim));
}

DECOMPOSE(log_softmax) {
  const int64_t dim = BURN_ATTRS(log_softmax, call)->dim.value.i64;
  if (call->inputs[0]->shape[dim] == 0) {
    out[0] = call->inputs[0];
    return;
  }
  BurnPrimitive *low = shifted(builder, call->inputs[0], dim);
  BurnPrimitive *total = burn_build_dim(builder, BURN_OP_sum_dim, one(builder, BURN_OP_exp, low), dim);
  out[0] = burn_build_sub(builder, low, one(builder, BURN_OP_log, total));
}

DECOMPOSE(softmax_backward) {
  const int64_t dim = BURN_ATTRS(softmax_backward, call)->dim.value.i64;
  BurnPrimitive *grad = call->inputs[0], *output = call->inputs[1];
  BurnPrimitive *sum = burn_build_dim(builder, BURN_OP_sum_dim, burn_build_mul(builder, grad, output), dim);
  out[0] = burn_build_mul(builder, output, burn_build_sub(builder, grad, sum));
}

DECOMPOSE(log_softmax_backward) {
  BurnPrimitive *grad = call->inputs[0];
  BurnPrimitive *sum =
      burn_build_dim(builder, BURN_OP_sum_dim, grad, BURN_ATTRS(log_softmax_backward, call)->dim.value.i64);
  BurnPrimitive *share = burn_build_mul(builder, one(builder, BURN_OP_exp, call->inputs[1]), sum);
  out[0] = burn_build_sub(builder, grad, share);
}

DECOMPOSE(quiet_softmax) {
  const int64_t dim = BURN_ATTRS(quiet_softmax, call)->dim.value.i64;
  if (call->inputs[0]->shape[dim] == 0) {
    out[0] = call->inputs[0];
    return;
  }
  BurnPrimitive *most = burn_build_dim(builder, BURN_OP_max_dim, call->inputs[0], dim);
  BurnPrimitive *grown = one(builder, BURN_OP_exp, burn_build_sub(builder, call->inputs[0], most));
  BurnPrimitive *rest = one(builder, BURN_OP_exp, one(builder, BURN_OP_neg, most)); /* the 1, shifted as well */
  out[0] = burn_build_div(builder, grown,
                          burn_build_add(builder, burn_build_dim(builder, BURN_OP_sum_dim, grown, dim), rest));
}

DECOMPOSE(softmin) {
  const int64_t dim = BURN_ATTRS(softmin, call)->dim.value.i64;
  out[0] = burn_build_dim(builder, BURN_OP_softmax, one(builder, BURN_OP_neg, call->inputs[0]), dim);
}

DECOMPOSE(dropout) {
  const BurnAttrs_dropout *attrs = BURN_ATTRS(dropout, call);
  const BurnPrimitive *x = call->inputs[0];
  const double keep = 1 - attrs->prob.value.f64;
  const BurnAttr random[] = {burn_attr_i64s(x->shape, x->rank), burn_attr_dtype(x->dtype), attrs->seed, attrs->offset,
                             burn_attr_f64(keep)};
  BurnPrimitive *kept = burn_build(builder, BURN_OP_random_bernoulli, 0, NULL, 5, random);
  out[0] = scaled(builder, burn_build_mul(builder, call->inputs[0], kept), 1 / keep);
}
