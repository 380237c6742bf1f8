/* muon.c - Muon: SGD with momentum whose step is made nearly orthogonal, for matrices. The velocity is made by the op
 * sgd_step, of which the parameter it updates is the way itself: from 0, with a step size of -1. */
#include <burn/ops_optimizer.h>

#include <math.h>

#include "optimizer_internal.h"

const BurnType *BurnMuonRate_type(void) {
  static const BurnVariant variants[] = {
      [BURN_MUON_RATE_ORIGINAL] = {"Original", 0, NULL}, [BURN_MUON_RATE_MATCH_RMS_ADAMW] = {"MatchRmsAdamW", 0, NULL}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnMuonRate",
                                .bytes = sizeof(BurnMuonRate),
                                .count = 2,
                                .variants = variants};
  return &type;
}

/* Newton-Schulz: takes x [rows, columns] with rows <= columns and a norm of at most 1, and brings its singular values
 * near 1. */
static BurnTensor *orthogonal(const BurnMuonConfig *config, BurnTensor *x) {
  for (size_t i = 0; i < config->ns_steps; i++) {
    BurnTensor *gram = burn_matmul(burn_clone(x), burn_transpose(burn_clone(x)));
    BurnTensor *square = burn_matmul(burn_clone(gram), burn_clone(gram));
    gram = burn_add(burn_mul_scalar(gram, config->ns_b), burn_mul_scalar(square, config->ns_c));
    BurnTensor *turned = burn_matmul(gram, burn_clone(x));
    x = burn_add(burn_mul_scalar(x, config->ns_a), turned);
  }
  return x;
}

static BurnTensor *normalized(const BurnMuonConfig *config, BurnTensor *x) {
  BurnTensor *norm = burn_sqrt(burn_sum(burn_square(burn_clone(x))));
  return burn_div(x, burn_unsqueeze(burn_clamp_min(norm, config->epsilon), 2));
}

static double fitted(const BurnMuonConfig *config, double rate, const BurnShape *shape) {
  const double rows = (double)shape->dims[0], columns = (double)shape->dims[1];
  if (config->adjust_lr.kind == BURN_MUON_RATE_MATCH_RMS_ADAMW) return rate * 0.2 * sqrt(fmax(rows, columns));
  return rate * sqrt(fmax(1.0, rows / columns));
}

static BurnTensor *muon_step(const void *context, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                             double learning_rate) {
  const BurnMuonConfig *config = context;
  const BurnShape shape = burn_shape(param);
  const bool tall = shape.dims[0] > shape.dims[1];
  BurnTensor *out[2];
  burn_sgd_step(burn_zeros_like(burn_clone(gradient)), gradient, state->tensors[0], -1, config->momentum,
                config->dampening, config->nesterov, 0, out);
  state->tensors[0] = out[1];
  BurnTensor *way = normalized(config, tall ? burn_transpose(out[0]) : out[0]);
  way = orthogonal(config, way);
  if (tall) way = burn_transpose(way);
  if (config->weight_decay.present) param = burn_mul_scalar(param, 1 - learning_rate * config->weight_decay.value);
  return burn_sub(param, burn_mul_scalar(way, fitted(config, learning_rate, &shape)));
}

static BurnStatus check_param(const BurnTensor *param) {
  const BurnShape shape = burn_shape(param);
  if (shape.rank == 2) return BURN_OK;
  return burn_status_make(
      BURN_STATUS_INVALID_SHAPE,
      "matrices expected, this is %s; put it in a group with another optimizer (burn_optimizer_with_group)",
      burn_shape_text(shape).text);
}

static const BurnStateTensor velocity = {"momentum", "velocity", BURN_STATE_ALWAYS};
static const BurnOptimizerRule muon_rule = {"muon", muon_step, &velocity, 1, NULL};

BurnOptimizer *burn_muon_create(const BurnMuonConfig *config) {
  const BurnMuonConfig defaults = BurnMuonConfig_defaults(), *with = config ? config : &defaults;
  const double unbounded = (double)INFINITY;
  const BurnNumberRange ranges[] = {{"weight_decay", burn__or_zero(with->weight_decay), 0, unbounded},
                                    {"momentum", with->momentum, 0, unbounded},
                                    {"dampening", with->dampening, 0, 1},
                                    {"ns_a", with->ns_a, -unbounded, unbounded},
                                    {"ns_b", with->ns_b, -unbounded, unbounded},
                                    {"ns_c", with->ns_c, -unbounded, unbounded},
                                    {"epsilon", with->epsilon, 0, unbounded}};
  BurnOptimizer *optimizer = burn__optimizer_create(&muon_rule, BurnMuonConfig_type(), with, with->clipping, ranges, 7);
  if (optimizer) optimizer->groups[0].check = check_param;
  return optimizer;
}
