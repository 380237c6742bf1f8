/* decompose_optimizer.c - steps of optimizers. */
#include "decompose_internal.h"

DECOMPOSE(adam_step) {
  const BurnAttrs_adam_step *attrs = BURN_ATTRS(adam_step, call);
  const double beta_1 = attrs->beta_1.value.f64, beta_2 = attrs->beta_2.value.f64;
  BurnPrimitive *param = call->inputs[0], *grad = call->inputs[1];
  if (attrs->penalty.value.f64 != 0)
    grad = burn_build_add(builder, grad, scaled(builder, param, attrs->penalty.value.f64));
  BurnPrimitive *squared = burn_build_mul(builder, grad, grad);
  out[1] = burn_build_add(builder, scaled(builder, call->inputs[2], beta_1), scaled(builder, grad, 1 - beta_1));
  out[2] = burn_build_add(builder, scaled(builder, call->inputs[3], beta_2), scaled(builder, squared, 1 - beta_2));
  BurnPrimitive *divisor = plus(builder, one(builder, BURN_OP_sqrt, out[2]), attrs->epsilon.value.f64);
  BurnPrimitive *change = scaled(builder, burn_build_div(builder, out[1], divisor), attrs->step_size.value.f64);
  out[0] = burn_build_sub(builder, scaled(builder, param, attrs->decay.value.f64), change);
}

DECOMPOSE(sgd_step) {
  const BurnAttrs_sgd_step *attrs = BURN_ATTRS(sgd_step, call);
  const double momentum = attrs->momentum.value.f64, penalty = attrs->penalty.value.f64;
  BurnPrimitive *param = call->inputs[0], *grad = call->inputs[1], *velocity = call->inputs[2];
  if (penalty != 0) grad = burn_build_add(builder, grad, scaled(builder, param, penalty));
  out[1] = grad;
  if (velocity) {
    out[1] = burn_build_add(builder, scaled(builder, grad, 1 - attrs->dampening.value.f64),
                            scaled(builder, velocity, momentum));
  }
  BurnPrimitive *way =
      attrs->nesterov.value.i64 ? burn_build_add(builder, scaled(builder, out[1], momentum), grad) : out[1];
  out[0] = burn_build_sub(builder, param, scaled(builder, way, attrs->step_size.value.f64));
}
