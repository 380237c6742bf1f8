/* sgd.c - stochastic gradient descent with momentum, as Burn computes it: the first velocity is the gradient itself,
 * and dampening (0.1 unless told otherwise) acts from the second step on. The step is the op sgd_step; without momentum
 * its velocity is the gradient, which nobody keeps. */
#include <burn/ops_optimizer.h>
#include <burn/train/optimizer.h>

static BurnTensor *sgd_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                            double learning_rate) {
  const BurnSgdConfig *config = context;
  const bool keeps = config->momentum.present;
  BurnTensor *out[2];
  burn_sgd_step(param, gradient, keeps ? state->tensors[0] : NULL, learning_rate, keeps ? config->momentum.value : 0,
                config->dampening, keeps && config->nesterov,
                config->weight_decay.present ? config->weight_decay.value : 0, out);
  if (keeps) {
    state->tensors[0] = out[1];
  } else {
    burn_drop(out[1]);
  }
  return out[0];
}

static const BurnStateTensor velocity = {"momentum", "velocity", BURN_STATE_GROUP_OPTIONAL};
static const BurnOptimizerRule sgd_rule = {"sgd", sgd_step, &velocity, 1, NULL};

BurnOptimizer *burn_sgd_create(const BurnSgdConfig *config) {
  const BurnSgdConfig defaults = BurnSgdConfig_defaults();
  return burn_optimizer_create(&sgd_rule, config ? config : &defaults, sizeof defaults);
}
