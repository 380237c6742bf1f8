/* sgd.c - stochastic gradient descent with momentum, as Burn computes it: the first velocity is the gradient itself,
 * and dampening (0.1 unless told otherwise) acts from the second step on. The step is the op sgd_step; without momentum
 * its velocity is the gradient, which nobody keeps. */
#include <burn/ops_optimizer.h>

#include <math.h>

#include "optimizer_internal.h"

static BurnTensor *sgd_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                            double learning_rate) {
  const BurnSgdConfig *config = context;
  const bool keeps = config->momentum.present;
  BurnTensor *out[2];
  burn_sgd_step(param, gradient, keeps ? state->tensors[0] : NULL, learning_rate, keeps ? config->momentum.value : 0,
                config->dampening, keeps && config->nesterov, burn__or_zero(config->weight_decay), out);
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
  const BurnSgdConfig defaults = BurnSgdConfig_defaults(), *with = config ? config : &defaults;
  const BurnNumberRange ranges[] = {{"weight_decay", burn__or_zero(with->weight_decay), 0, (double)INFINITY},
                                    {"momentum", burn__or_zero(with->momentum), 0, (double)INFINITY},
                                    {"dampening", with->dampening, 0, 1}};
  return burn__optimizer_create(&sgd_rule, with, sizeof *with, with->clipping, ranges, 3);
}
