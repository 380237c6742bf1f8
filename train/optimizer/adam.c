/* adam.c - Adam and AdamW. Both are the op adam_step, which updates a parameter and its two moments in one pass; what
 * differs is where the weight decay goes: into the gradient (Adam) or onto the parameter (AdamW). The corrections of
 * the moments for their start at zero are folded into step size and epsilon, so the op needs no step number. */
#include <burn/ops_optimizer.h>

#include <math.h>

#include "optimizer_internal.h"

typedef struct AdamNumbers {
  double beta_1, beta_2, epsilon;
  double decay;   /* factor on the parameter */
  double penalty; /* share of the parameter added to the gradient */
} AdamNumbers;

/* Takes param and gradient. m / (1 - beta_1^t) over sqrt(v / (1 - beta_2^t)) + epsilon, with numerator and denominator
 * multiplied by sqrt(1 - beta_2^t). */
static BurnTensor *moments_step(const AdamNumbers *numbers, BurnOptimizerState *state, BurnTensor *param,
                                BurnTensor *gradient, double learning_rate) {
  const double time = (double)++state->time;
  const double correction_1 = 1.0 - pow(numbers->beta_1, time);
  const double correction_2 = sqrt(1.0 - pow(numbers->beta_2, time));
  BurnTensor *out[3];
  for (int i = 0; i < 2; i++) {
    if (!state->tensors[i]) state->tensors[i] = burn_zeros_like(burn_clone(param));
  }
  burn_adam_step(param, gradient, state->tensors[0], state->tensors[1], numbers->beta_1, numbers->beta_2,
                 learning_rate * correction_2 / correction_1, numbers->epsilon * correction_2, numbers->decay,
                 numbers->penalty, out);
  state->tensors[0] = out[1];
  state->tensors[1] = out[2];
  return out[0];
}

static BurnTensor *adam_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                             double learning_rate) {
  const BurnAdamConfig *config = context;
  const AdamNumbers numbers = {config->beta_1, config->beta_2, config->epsilon, 1.0,
                               burn__or_zero(config->weight_decay)};
  return moments_step(&numbers, state, param, gradient, learning_rate);
}

static BurnTensor *adamw_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                              double learning_rate) {
  const BurnAdamWConfig *config = context;
  const AdamNumbers numbers = {config->beta_1, config->beta_2, config->epsilon,
                               1.0 - learning_rate * config->weight_decay, 0.0};
  return moments_step(&numbers, state, param, gradient, learning_rate);
}

static const BurnStateTensor moments[] = {{"momentum", "moment_1", BURN_STATE_ALWAYS},
                                          {"momentum", "moment_2", BURN_STATE_ALWAYS}};
static const BurnOptimizerRule adam_rule = {"adam", adam_step, moments, 2, "momentum"};
static const BurnOptimizerRule adamw_rule = {"adamw", adamw_step, moments, 2, "momentum"};

static BurnOptimizer *create(const BurnOptimizerRule *rule, const void *config, size_t bytes,
                             BurnGradientClipping clipping, AdamNumbers numbers, double weight_decay) {
  const BurnNumberRange ranges[] = {{"beta_1", numbers.beta_1, 0, 1},
                                    {"beta_2", numbers.beta_2, 0, 1},
                                    {"epsilon", numbers.epsilon, 0, (double)INFINITY},
                                    {"weight_decay", weight_decay, 0, (double)INFINITY}};
  return burn__optimizer_create(rule, config, bytes, clipping, ranges, 4);
}

BurnOptimizer *burn_adam_create(const BurnAdamConfig *config) {
  const BurnAdamConfig defaults = BurnAdamConfig_defaults(), *with = config ? config : &defaults;
  const AdamNumbers numbers = {.beta_1 = with->beta_1, .beta_2 = with->beta_2, .epsilon = with->epsilon};
  return create(&adam_rule, with, sizeof *with, with->clipping, numbers, burn__or_zero(with->weight_decay));
}

BurnOptimizer *burn_adamw_create(const BurnAdamWConfig *config) {
  const BurnAdamWConfig defaults = BurnAdamWConfig_defaults(), *with = config ? config : &defaults;
  const AdamNumbers numbers = {.beta_1 = with->beta_1, .beta_2 = with->beta_2, .epsilon = with->epsilon};
  return create(&adamw_rule, with, sizeof *with, with->clipping, numbers, with->weight_decay);
}
