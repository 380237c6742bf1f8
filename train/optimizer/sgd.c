/* sgd.c - stochastic gradient descent with momentum, as Burn computes it: the first velocity is the gradient itself,
 * and dampening (0.1 unless told otherwise) acts from the second step on. The step is the op sgd_step; without momentum
 * its velocity is the gradient, which nobody keeps. */
#include <math.h>

#include "optimizer_internal.h"

static bool sgd_as_op(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                      double learning_rate, BurnStepOp *out) {
  const BurnSgdConfig *config = context;
  const bool keeps = config->momentum.present;
  *out = (BurnStepOp){.op = BURN_OP_sgd_step,
                      .input_count = 3,
                      .kept = keeps,
                      .inputs = {param, gradient, keeps ? state->tensors[0] : NULL},
                      .attrs = {burn_attr_f64(learning_rate), burn_attr_f64(keeps ? config->momentum.value : 0),
                                burn_attr_f64(config->dampening), burn_attr_bool(keeps && config->nesterov),
                                burn_attr_f64(burn__or_zero(config->weight_decay))}};
  return true;
}

static BurnTensor *sgd_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                            double learning_rate) {
  BurnStepOp step;
  sgd_as_op(context, state, param, gradient, learning_rate, &step);
  return burn__step_op(&step, state->tensors);
}

static const BurnStateTensor velocity = {"momentum", "velocity", BURN_STATE_GROUP_OPTIONAL};
static const BurnOptimizerRule sgd_rule = {"sgd", sgd_step, &velocity, 1, NULL};

BurnOptimizer *burn_sgd_create(const BurnSgdConfig *config) {
  const BurnSgdConfig defaults = BurnSgdConfig_defaults(), *with = config ? config : &defaults;
  const BurnNumberRange ranges[] = {{"weight_decay", burn__or_zero(with->weight_decay), 0, (double)INFINITY},
                                    {"momentum", burn__or_zero(with->momentum), 0, (double)INFINITY},
                                    {"dampening", with->dampening, 0, 1}};
  BurnOptimizer *optimizer = burn__optimizer_create(&sgd_rule, BurnSgdConfig_type(), with, with->clipping, ranges, 3);
  const double momentum = burn__or_zero(with->momentum);
  if (optimizer && optimizer->status == BURN_OK && with->nesterov && !(momentum > 0)) {
    optimizer->status =
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sgd: momentum is %g, above 0 expected with nesterov", momentum);
  }
  return burn__optimizer_as_op(optimizer, sgd_as_op);
}
