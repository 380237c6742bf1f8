/* ops_optimizer.c - public steps of optimizers. */
#include "ops_internal.h"

#include <burn/ops_optimizer.h>

void burn_adam_step(BurnTensor *param, BurnTensor *gradient, BurnTensor *moment_1, BurnTensor *moment_2, double beta_1,
                    double beta_2, double step_size, double epsilon, double decay, double penalty, BurnTensor *out[3]) {
  BurnTensor *const inputs[] = {param, gradient, moment_1, moment_2};
  const BurnAttr attrs[] = {burn_attr_f64(beta_1),  burn_attr_f64(beta_2), burn_attr_f64(step_size),
                            burn_attr_f64(epsilon), burn_attr_f64(decay),  burn_attr_f64(penalty)};
  burn__apply_outputs(BURN_OP_adam_step, inputs, 4, attrs, 6, out, 3);
}

void burn_sgd_step(BurnTensor *param, BurnTensor *gradient, BurnTensor *velocity, double step_size, double momentum,
                   double dampening, bool nesterov, double penalty, BurnTensor *out[2]) {
  BurnTensor *const inputs[] = {param, gradient, velocity};
  const BurnAttr attrs[] = {burn_attr_f64(step_size), burn_attr_f64(momentum), burn_attr_f64(dampening),
                            burn_attr_bool(nesterov), burn_attr_f64(penalty)};
  burn__apply_outputs(BURN_OP_sgd_step, inputs, 3, attrs, 5, out, 2);
}
