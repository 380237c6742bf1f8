/* rmsprop.c - RMSprop as Burn computes it: with a variance instead of the mean square if it is centered, and a momentum
 * that sums the updates. Its record has three groups; `avg`, by whose root the gradient was divided last, is in it
 * because Burn's has it, and is made anew in every step. */
#include <math.h>

#include "optimizer_internal.h"

enum { SQUARE_AVG, GRAD_AVG, AVG, BUF, TENSORS };

/* share * average + (1 - share) * x; all taken, no average counts as 0. */
static BurnTensor *blend(BurnTensor *average, BurnTensor *x, double share) {
  x = burn_mul_scalar(x, 1 - share);
  return average ? burn_add(burn_mul_scalar(average, share), x) : x;
}

/* The tensor of which the root divides; a clone of it. */
static BurnTensor *average(const BurnRmsPropConfig *config, BurnTensor **tensors, BurnTensor *gradient) {
  burn_drop(tensors[AVG]); /* which without centering has the memory of the average of squares */
  tensors[SQUARE_AVG] = blend(tensors[SQUARE_AVG], burn_square(burn_clone(gradient)), config->alpha);
  if (config->centered) {
    tensors[GRAD_AVG] = blend(tensors[GRAD_AVG], gradient, config->alpha);
    BurnTensor *square = burn_square(burn_clone(tensors[GRAD_AVG]));
    tensors[AVG] = burn_sub(burn_clone(tensors[SQUARE_AVG]), square);
  } else {
    burn_drop(gradient);
    burn_drop(tensors[GRAD_AVG]); /* of a record of a centered one */
    tensors[GRAD_AVG] = NULL;
    tensors[AVG] = burn_clone(tensors[SQUARE_AVG]);
  }
  return burn_clone(tensors[AVG]);
}

static BurnTensor *rmsprop_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                                double learning_rate) {
  const BurnRmsPropConfig *config = context;
  BurnTensor **tensors = state->tensors;
  if (config->weight_decay.present) {
    gradient = burn_add(gradient, burn_mul_scalar(burn_clone(param), config->weight_decay.value));
  }
  BurnTensor *divisor = burn_sqrt(average(config, tensors, burn_clone(gradient)));
  BurnTensor *update = burn_div(gradient, burn_add_scalar(divisor, config->epsilon));
  if (config->momentum > 0) {
    update = tensors[BUF] ? burn_add(burn_mul_scalar(tensors[BUF], config->momentum), update) : update;
    tensors[BUF] = burn_clone(update);
  } else {
    burn_drop(tensors[BUF]);
    tensors[BUF] = NULL;
  }
  return burn_sub(param, burn_mul_scalar(update, learning_rate));
}

static const BurnStateTensor rows[TENSORS] = {{"square_avg", "square_avg", BURN_STATE_ALWAYS},
                                              {"centered", "grad_avg", BURN_STATE_FIELD_OPTIONAL},
                                              {"centered", "avg", BURN_STATE_ALWAYS},
                                              {"momentum", "buf", BURN_STATE_GROUP_OPTIONAL}};
static const BurnOptimizerRule rmsprop_rule = {"rmsprop", rmsprop_step, rows, TENSORS, NULL};

BurnOptimizer *burn_rmsprop_create(const BurnRmsPropConfig *config) {
  const BurnRmsPropConfig defaults = BurnRmsPropConfig_defaults(), *with = config ? config : &defaults;
  const BurnNumberRange ranges[] = {{"alpha", with->alpha, 0, 1},
                                    {"momentum", with->momentum, 0, (double)INFINITY},
                                    {"epsilon", with->epsilon, 0, (double)INFINITY},
                                    {"weight_decay", burn__or_zero(with->weight_decay), 0, (double)INFINITY}};
  return burn__optimizer_create(&rmsprop_rule, BurnRmsPropConfig_type(), with, with->clipping, ranges, 4);
}
