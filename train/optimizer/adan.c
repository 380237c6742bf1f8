/* adan.c - Adan: averages of the gradient, of its change since the last step and of the square of both. Its record
 * keeps the last gradient negated, as Burn's does, which is also what a step adds. */
#include <math.h>

#include "optimizer_internal.h"

enum { EXP_AVG, EXP_AVG_SQ, EXP_AVG_DIFF, NEG_PRE_GRAD, TENSORS };

/* *average = share * *average + (1 - share) * x (taken), from 0. */
static void blend(BurnTensor **average, BurnTensor *x, double share) {
  x = burn_mul_scalar(x, 1 - share);
  *average = *average ? burn_add(burn_mul_scalar(*average, share), x) : x;
}

/* Moves the averages on by a gradient (taken). */
static void averages_step(const BurnAdanConfig *config, BurnTensor **tensors, BurnTensor *gradient) {
  BurnTensor *change = tensors[NEG_PRE_GRAD] ? burn_add(tensors[NEG_PRE_GRAD], burn_clone(gradient))
                                             : burn_zeros_like(burn_clone(gradient));
  BurnTensor *ahead = burn_add(burn_mul_scalar(burn_clone(change), config->beta_2), burn_clone(gradient));
  blend(&tensors[EXP_AVG_SQ], burn_square(ahead), config->beta_3);
  blend(&tensors[EXP_AVG_DIFF], change, config->beta_2);
  blend(&tensors[EXP_AVG], burn_clone(gradient), config->beta_1);
  tensors[NEG_PRE_GRAD] = burn_neg(gradient);
}

/* The averages, corrected for their start at 0, as the way to go. */
static BurnTensor *way(const BurnAdanConfig *config, const BurnOptimizerState *state) {
  BurnTensor **tensors = state->tensors;
  const double time = (double)state->time;
  const double first = 1 - pow(config->beta_1, time), second = 1 - pow(config->beta_2, time);
  BurnTensor *divisor =
      burn_mul_scalar(burn_sqrt(burn_clone(tensors[EXP_AVG_SQ])), 1 / sqrt(1 - pow(config->beta_3, time)));
  BurnTensor *sum = burn_add(burn_mul_scalar(burn_clone(tensors[EXP_AVG]), 1 / first),
                             burn_mul_scalar(burn_clone(tensors[EXP_AVG_DIFF]), config->beta_2 / second));
  return burn_div(sum, burn_add_scalar(divisor, config->epsilon));
}

static BurnTensor *adan_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                             double learning_rate) {
  const BurnAdanConfig *config = context;
  const double decay = learning_rate * config->weight_decay;
  state->time++;
  averages_step(config, state->tensors, gradient);
  if (config->no_prox && decay != 0) param = burn_mul_scalar(param, 1 - decay);
  param = burn_sub(param, burn_mul_scalar(way(config, state), learning_rate));
  return !config->no_prox && decay != 0 ? burn_div_scalar(param, 1 + decay) : param;
}

static const BurnStateTensor rows[TENSORS] = {{"momentum", "exp_avg", BURN_STATE_ALWAYS},
                                              {"momentum", "exp_avg_sq", BURN_STATE_ALWAYS},
                                              {"momentum", "exp_avg_diff", BURN_STATE_ALWAYS},
                                              {"momentum", "neg_pre_grad", BURN_STATE_ALWAYS}};
static const BurnOptimizerRule adan_rule = {"adan", adan_step, rows, TENSORS, "momentum"};

BurnOptimizer *burn_adan_create(const BurnAdanConfig *config) {
  const BurnAdanConfig defaults = BurnAdanConfig_defaults(), *with = config ? config : &defaults;
  const BurnNumberRange ranges[] = {{"beta_1", with->beta_1, 0, BURN__BELOW_1},
                                    {"beta_2", with->beta_2, 0, BURN__BELOW_1},
                                    {"beta_3", with->beta_3, 0, BURN__BELOW_1},
                                    {"epsilon", with->epsilon, 0, (double)INFINITY},
                                    {"weight_decay", with->weight_decay, 0, (double)INFINITY}};
  return burn__optimizer_create(&adan_rule, BurnAdanConfig_type(), with, with->clipping, ranges, 5);
}
