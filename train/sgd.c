/* sgd.c - stochastic gradient descent with momentum, as Burn computes it: the first velocity is the gradient itself, and
 * dampening (0.1 unless told otherwise) acts from the second step on. */
#include "optimizer_internal.h"

/* The direction to go: the velocity, or ahead of it with nesterov. Takes the gradient. */
static BurnTensor *velocity_step(const BurnSgdConfig *config, BurnOptimizerState *state, BurnTensor *gradient) {
  const double momentum = config->momentum.value;
  BurnTensor *ahead = config->nesterov ? burn_clone(gradient) : NULL;
  BurnTensor *velocity = gradient;
  if (state->tensors[0]) {
    velocity = burn_mul_scalar(gradient, 1.0 - config->dampening);
    velocity = burn_add(velocity, burn_mul_scalar(state->tensors[0], momentum));
  }
  state->tensors[0] = velocity;
  if (!ahead) return burn_clone(velocity);
  return burn_add(burn_mul_scalar(burn_clone(velocity), momentum), ahead);
}

static BurnTensor *sgd_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                            double learning_rate) {
  const BurnSgdConfig *config = context;
  if (config->weight_decay.present) {
    gradient = burn_add(gradient, burn_mul_scalar(burn_clone(param), config->weight_decay.value));
  }
  if (config->momentum.present) gradient = velocity_step(config, state, gradient);
  return burn_sub(param, burn_mul_scalar(gradient, learning_rate));
}

static const BurnOptimizerRule sgd_rule = {
    .name = "sgd", .step = sgd_step, .group = "momentum", .tensor_names = {"velocity"}, .may_lack_state = true};

BurnOptimizer *burn_sgd_create(const BurnSgdConfig *config) {
  const BurnSgdConfig defaults = BurnSgdConfig_defaults();
  return burn__optimizer_create(&sgd_rule, config ? config : &defaults, sizeof defaults);
}
