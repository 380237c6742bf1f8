/* adam.c - Adam and AdamW. Both are the op adam_step, which updates a parameter and its two moments in one pass; what
 * differs is where the weight decay goes: into the gradient (Adam) or onto the parameter (AdamW). The corrections of
 * the moments for their start at zero are folded into step size and epsilon, so the op needs no step number. */
#include <math.h>

#include "optimizer_internal.h"

enum { MOMENT_1, MOMENT_2, MAX_MOMENT_2, TENSORS };

typedef struct AdamNumbers {
  double beta_1, beta_2, epsilon;
  double decay;   /* factor on the parameter */
  double penalty; /* share of the parameter added to the gradient */
  bool amsgrad;
} AdamNumbers;

/* The op that updates the moments and gives param * decay - step_size * m / (sqrt(v) + epsilon). Takes param and
 * gradient. */
static BurnStepOp op_of(const AdamNumbers *numbers, BurnTensor **tensors, BurnTensor *param, BurnTensor *gradient,
                        double step_size, double epsilon) {
  return (BurnStepOp){
      .op = BURN_OP_adam_step,
      .input_count = 4,
      .kept = 2,
      .inputs = {param, gradient, tensors[MOMENT_1], tensors[MOMENT_2]},
      .attrs = {burn_attr_f64(numbers->beta_1), burn_attr_f64(numbers->beta_2), burn_attr_f64(step_size),
                burn_attr_f64(epsilon), burn_attr_f64(numbers->decay), burn_attr_f64(numbers->penalty)}};
}

/* The same with the largest second moment so far for v. The op makes the moments and the decay, with a step of 0 over a
 * divisor that is never 0. */
static BurnTensor *amsgrad_step(const AdamNumbers *numbers, BurnTensor **tensors, BurnTensor *param,
                                BurnTensor *gradient, double step_size, double epsilon) {
  BurnStepOp step = op_of(numbers, tensors, param, gradient, 0, 1);
  param = burn__step_op(&step, tensors);
  BurnTensor *moment_2 = burn_clone(tensors[MOMENT_2]), *largest = tensors[MAX_MOMENT_2];
  tensors[MAX_MOMENT_2] = largest ? burn_max_pair(largest, moment_2) : moment_2;
  BurnTensor *divisor = burn_add_scalar(burn_sqrt(burn_clone(tensors[MAX_MOMENT_2])), epsilon);
  BurnTensor *update = burn_div(burn_clone(tensors[MOMENT_1]), divisor);
  return burn_sub(param, burn_mul_scalar(update, step_size));
}

/* m / (1 - beta_1^t) over sqrt(v / (1 - beta_2^t)) + epsilon, with numerator and denominator multiplied by
 * sqrt(1 - beta_2^t). */
typedef struct Corrected {
  double step_size, epsilon;
} Corrected;

/* Counts the step; moments begin as zeros. */
static Corrected begin_step(const AdamNumbers *numbers, BurnOptimizerState *state, const BurnTensor *param,
                            double learning_rate) {
  const double time = (double)++state->time;
  const double correction_1 = 1.0 - pow(numbers->beta_1, time);
  const double correction_2 = sqrt(1.0 - pow(numbers->beta_2, time));
  for (int i = MOMENT_1; i <= MOMENT_2; i++) {
    if (!state->tensors[i]) state->tensors[i] = burn_zeros_like(burn_clone(param));
  }
  return (Corrected){learning_rate * correction_2 / correction_1, numbers->epsilon * correction_2};
}

/* Takes param and gradient. */
static BurnTensor *moments_step(const AdamNumbers *numbers, BurnOptimizerState *state, BurnTensor *param,
                                BurnTensor *gradient, double learning_rate) {
  const Corrected by = begin_step(numbers, state, param, learning_rate);
  if (numbers->amsgrad) return amsgrad_step(numbers, state->tensors, param, gradient, by.step_size, by.epsilon);
  BurnStepOp step = op_of(numbers, state->tensors, param, gradient, by.step_size, by.epsilon);
  return burn__step_op(&step, state->tensors);
}

static AdamNumbers adam_numbers(const BurnAdamConfig *config) {
  return (AdamNumbers){config->beta_1, config->beta_2, config->epsilon, 1.0, burn__or_zero(config->weight_decay),
                       config->amsgrad};
}

static bool adam_as_op(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                       double learning_rate, BurnStepOp *out) {
  const AdamNumbers numbers = adam_numbers(context);
  if (numbers.amsgrad) return false;
  const Corrected by = begin_step(&numbers, state, param, learning_rate);
  *out = op_of(&numbers, state->tensors, param, gradient, by.step_size, by.epsilon);
  return true;
}

static BurnTensor *adam_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                             double learning_rate) {
  const AdamNumbers numbers = adam_numbers(context);
  return moments_step(&numbers, state, param, gradient, learning_rate);
}

/* What a cautious decay takes away: share * param where it has the sign of the moment, else 0. Takes both. */
static BurnTensor *cautious_decay(BurnTensor *param, BurnTensor *moment, double share) {
  BurnTensor *positive = burn_greater_equal_scalar(burn_clone(param), 0);
  BurnTensor *differ = burn_not_equal(positive, burn_greater_equal_scalar(moment, 0));
  return burn_mask_fill(burn_mul_scalar(param, share), differ, 0);
}

/* `share` is what the decay takes of a parameter. */
static bool is_cautious(const BurnAdamWConfig *config, double share) {
  return config->cautious_weight_decay && share != 0;
}

static AdamNumbers adamw_numbers(const BurnAdamWConfig *config, double share) {
  return (AdamNumbers){
      config->beta_1, config->beta_2, config->epsilon, is_cautious(config, share) ? 1.0 : 1.0 - share, 0.0,
      config->amsgrad};
}

static bool adamw_as_op(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                        double learning_rate, BurnStepOp *out) {
  const BurnAdamWConfig *config = context;
  const double share = learning_rate * config->weight_decay;
  const AdamNumbers numbers = adamw_numbers(config, share);
  if (numbers.amsgrad || is_cautious(config, share)) return false;
  const Corrected by = begin_step(&numbers, state, param, learning_rate);
  *out = op_of(&numbers, state->tensors, param, gradient, by.step_size, by.epsilon);
  return true;
}

static BurnTensor *adamw_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                              double learning_rate) {
  const BurnAdamWConfig *config = context;
  const double share = learning_rate * config->weight_decay;
  const AdamNumbers numbers = adamw_numbers(config, share);
  if (!is_cautious(config, share)) return moments_step(&numbers, state, param, gradient, learning_rate);
  BurnTensor *before = burn_clone(param);
  param = moments_step(&numbers, state, param, gradient, learning_rate);
  return burn_sub(param, cautious_decay(before, burn_clone(state->tensors[MOMENT_1]), share));
}

static const BurnStateTensor moments[TENSORS] = {{"momentum", "moment_1", BURN_STATE_ALWAYS},
                                                 {"momentum", "moment_2", BURN_STATE_ALWAYS},
                                                 {"momentum", "max_moment_2", BURN_STATE_FIELD_ADDED}};
static const BurnOptimizerRule adam_rule = {"adam", adam_step, moments, TENSORS, "momentum"};
static const BurnOptimizerRule adamw_rule = {"adamw", adamw_step, moments, TENSORS, "momentum"};

static BurnOptimizer *create(const BurnOptimizerRule *rule, const BurnType *type, const void *config,
                             BurnGradientClipping clipping, AdamNumbers numbers, double weight_decay) {
  const BurnNumberRange ranges[] = {{"beta_1", numbers.beta_1, 0, BURN__BELOW_1},
                                    {"beta_2", numbers.beta_2, 0, BURN__BELOW_1},
                                    {"epsilon", numbers.epsilon, 0, (double)INFINITY},
                                    {"weight_decay", weight_decay, 0, (double)INFINITY}};
  return burn__optimizer_create(rule, type, config, clipping, ranges, 4);
}

BurnOptimizer *burn_adam_create(const BurnAdamConfig *config) {
  const BurnAdamConfig defaults = BurnAdamConfig_defaults(), *with = config ? config : &defaults;
  const AdamNumbers numbers = {.beta_1 = with->beta_1, .beta_2 = with->beta_2, .epsilon = with->epsilon};
  return burn__optimizer_as_op(
      create(&adam_rule, BurnAdamConfig_type(), with, with->clipping, numbers, burn__or_zero(with->weight_decay)),
      adam_as_op);
}

BurnOptimizer *burn_adamw_create(const BurnAdamWConfig *config) {
  const BurnAdamWConfig defaults = BurnAdamWConfig_defaults(), *with = config ? config : &defaults;
  const AdamNumbers numbers = {.beta_1 = with->beta_1, .beta_2 = with->beta_2, .epsilon = with->epsilon};
  return burn__optimizer_as_op(
      create(&adamw_rule, BurnAdamWConfig_type(), with, with->clipping, numbers, with->weight_decay), adamw_as_op);
}
