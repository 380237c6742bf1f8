/* adagrad.c - AdaGrad: rates that fall with the squares of all gradients so far. */
#include <math.h>

#include "optimizer_internal.h"

static BurnTensor *adagrad_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                                double learning_rate) {
  const BurnAdaGradConfig *config = context;
  const double rate = learning_rate / (1 + (double)state->time++ * config->lr_decay);
  if (config->weight_decay.present) {
    gradient = burn_add(gradient, burn_mul_scalar(burn_clone(param), config->weight_decay.value));
  }
  BurnTensor *square = burn_square(burn_clone(gradient)), **sum = &state->tensors[0];
  *sum = *sum ? burn_add(*sum, square) : square;
  BurnTensor *divisor = burn_add_scalar(burn_sqrt(burn_clone(*sum)), config->epsilon);
  return burn_sub(param, burn_mul_scalar(burn_div(gradient, divisor), rate));
}

static const BurnStateTensor sum = {"lr_decay", "sum", BURN_STATE_ALWAYS};
static const BurnOptimizerRule adagrad_rule = {"adagrad", adagrad_step, &sum, 1, "lr_decay"};

BurnOptimizer *burn_adagrad_create(const BurnAdaGradConfig *config) {
  const BurnAdaGradConfig defaults = BurnAdaGradConfig_defaults(), *with = config ? config : &defaults;
  const BurnNumberRange ranges[] = {{"lr_decay", with->lr_decay, 0, (double)INFINITY},
                                    {"epsilon", with->epsilon, 0, (double)INFINITY},
                                    {"weight_decay", burn__or_zero(with->weight_decay), 0, (double)INFINITY}};
  return burn__optimizer_create(&adagrad_rule, BurnAdaGradConfig_type(), with, with->clipping, ranges, 3);
}
