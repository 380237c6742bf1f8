/* dqn.c - deep Q-learning. Beside the network there are two copies below autodiff: `acting`, which is the network as it
 * is, and `target`, which follows it slowly. */
#include <burn/train/average.h>
#include <burn/train/rl.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_private.h"
#include "null_check.h"
#include "rl_random.h"

struct BurnDqn {
  BurnDqnConfig config;
  BurnModule module, acting, target;
  BurnQNetwork network;
  BurnOptimizer *optimizer;
  BurnDevice *device, *inner;
  BurnShape state_shape; /* of a batch, whose size is filled in */
  uint64_t random;
  size_t explored; /* actions so far that might have been random */
};

/* -- copies ----------------------------------------------------------------------------------- */

static void copies_release(BurnDqn *dqn) {
  if (dqn->acting.data) burn_module_release(dqn->acting);
  if (dqn->target.data) burn_module_release(dqn->target);
  free(dqn->acting.data);
  free(dqn->target.data);
}

static BurnStatus copies_make(BurnDqn *dqn) {
  const BurnType *type = dqn->module.type;
  dqn->acting = (BurnModule){type, calloc(1, type->bytes)};
  dqn->target = (BurnModule){type, calloc(1, type->bytes)};
  if (!dqn->acting.data || !dqn->target.data) {
    free(dqn->acting.data);
    free(dqn->target.data);
    dqn->acting.data = dqn->target.data = NULL;
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dqn: out of memory for the copies of the module");
  }
  burn_module_valid(dqn->module, dqn->acting.data);
  burn_module_valid(dqn->module, dqn->target.data);
  return burn_module_status(dqn->target);
}

/* acting = module; target = (1 - tau) target + tau module. */
static BurnStatus copies_update(BurnDqn *dqn) {
  burn_module_release(dqn->acting);
  burn_module_valid(dqn->module, dqn->acting.data);
  return burn_module_average(dqn->target, dqn->acting, 1 - dqn->config.tau);
}

/* -- acting ----------------------------------------------------------------------------------- */

static double epsilon_of(const BurnDqn *dqn) {
  const BurnDqnConfig *config = &dqn->config;
  const double left = exp(-(double)dqn->explored / config->epsilon_decay);
  return config->epsilon_end + (config->epsilon_start - config->epsilon_end) * left;
}

static double exploration(void *context) { return epsilon_of(context); }

static BurnStatus best_actions(BurnDqn *dqn, const float *states, size_t count, size_t *actions) {
  BurnShape shape = dqn->state_shape;
  int64_t *best = malloc((count + 1) * sizeof *best);
  if (!best) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dqn: out of memory for %zu actions", count);
  shape.dims[0] = (int64_t)count;
  BurnTensor *values = dqn->network(dqn->acting.data, burn_tensor_f32(dqn->inner, states, shape));
  const BurnStatus status = burn_read_i64(burn_argmax(values, 1), best, count);
  for (size_t i = 0; i < count && status == BURN_OK; i++) actions[i] = (size_t)best[i];
  free(best);
  return burn_status_annotate(status, "dqn: actions");
}

static BurnStatus act(void *context, const float *states, size_t count, bool explore, size_t *actions) {
  BurnDqn *dqn = context;
  const BurnStatus status = best_actions(dqn, states, count, actions);
  for (size_t i = 0; i < count && explore && status == BURN_OK; i++) {
    const bool random = burn__rl_unit(&dqn->random) < epsilon_of(dqn);
    if (random) actions[i] = burn__rl_below(&dqn->random, dqn->config.action_count);
    dqn->explored++;
  }
  return status;
}

/* -- learning --------------------------------------------------------------------------------- */

/* The columns of x [n, actions] at indices [n] (taken) -> [n]. */
static BurnTensor *chosen(BurnTensor *x, BurnTensor *indices) {
  const int64_t rows = burn_dim(indices, 0);
  return burn_flatten(burn_gather(x, 1, burn_reshape(indices, BURN_SHAPE(rows, 1))), 0, 1);
}

/* rewards + gamma (1 - terminated) Q'(next state, its best action), below autodiff; takes what it uses. */
static BurnTensor *targets_of(const BurnDqn *dqn, BurnTransitions *t) {
  BurnTensor *next = burn_inner(t->next_states), *future = NULL;
  t->next_states = NULL;
  if (dqn->config.double_dqn) {
    BurnTensor *best = burn_argmax(dqn->network(dqn->acting.data, burn_clone(next)), 1);
    future = chosen(dqn->network(dqn->target.data, next), burn_flatten(best, 0, 1));
  } else {
    future = burn_flatten(burn_max_dim(dqn->network(dqn->target.data, next), 1), 0, 1);
  }
  BurnTensor *going_on = burn_add_scalar(burn_mul_scalar(burn_inner(t->terminated), -1), 1);
  future = burn_mul_scalar(burn_mul(future, going_on), dqn->config.gamma);
  BurnTensor *targets = burn_add(burn_inner(t->rewards), future);
  t->terminated = t->rewards = NULL;
  return targets;
}

/* The mean of d^2 / 2 where |d| < 1, else |d| - 1/2 (Huber): c (|d| - c / 2) with c = min(|d|, 1). [1] */
static BurnTensor *huber(BurnTensor *difference) {
  BurnTensor *d = burn_abs(difference), *c = burn_clamp_max(burn_clone(d), 1);
  d = burn_sub(d, burn_mul_scalar(burn_clone(c), 0.5));
  return burn_mean(burn_mul(c, d));
}

static BurnStatus learn(void *context, BurnTransitions *transitions, BurnTensor **loss) {
  BurnDqn *dqn = context;
  BurnTensor *targets = burn_from_inner(targets_of(dqn, transitions), dqn->device);
  BurnTensor *values = dqn->network(dqn->module.data, transitions->states);
  transitions->states = NULL;
  values = chosen(values, transitions->actions);
  transitions->actions = NULL;
  BurnTensor *error = huber(burn_sub(values, targets));
  *loss = burn_inner(burn_detach(burn_clone(error)));
  const BurnStatus status = burn_train_step(dqn->optimizer, dqn->module, error, dqn->config.learning_rate);
  return status == BURN_OK ? copies_update(dqn) : burn_status_annotate(status, "dqn");
}

/* -- making one ------------------------------------------------------------------------------- */

static BurnStatus check(const BurnDqnConfig *config, BurnQNetwork network, BurnDevice *device) {
  const char *problem = NULL;
  BurnStatus status = burn_device_status(device);
  if (status != BURN_OK) return status;
  if (!network) problem = "no network";
  if (config->action_count < 1) problem = "action_count is 0";
  if (!(config->gamma >= 0 && config->gamma <= 1)) problem = "gamma is not within 0..1";
  if (!(config->tau >= 0 && config->tau <= 1)) problem = "tau is not within 0..1";
  if (!(config->epsilon_decay > 0)) problem = "epsilon_decay is not above 0";
  if (!(config->epsilon_start >= 0 && config->epsilon_start <= 1)) problem = "epsilon_start is not within 0..1";
  if (!(config->epsilon_end >= 0 && config->epsilon_end <= 1)) problem = "epsilon_end is not within 0..1";
  if (!isfinite(config->learning_rate)) problem = "learning_rate is not finite";
  if (problem) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dqn: %s", problem);
  if (burn_device_is_autodiff(device)) return BURN_OK;
  return burn_status_make(BURN_STATUS_NO_AUTODIFF, "dqn: device %s computes no gradients, training needs autodiff<...>",
                          burn_device_name(device));
}

BurnDqn *burn_dqn_create(const BurnDqnConfig *config, BurnShape state_shape, BurnModule module, BurnQNetwork network,
                         BurnOptimizer *optimizer, BurnDevice *device, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result != BURN_OK) return NULL;
  result = BURN_REQUIRED(config, "a BurnDqnConfig");
  if (result == BURN_OK) result = check(config, network, device);
  if (result == BURN_OK) result = burn_optimizer_status(optimizer);
  if (result == BURN_OK) result = burn_module_status(module);
  if (result == BURN_OK && state_shape.rank >= BURN_MAX_RANK) {
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dqn: states of rank %u", (unsigned)state_shape.rank);
  }
  BurnDqn *dqn = result == BURN_OK ? calloc(1, sizeof *dqn) : NULL;
  if (dqn) {
    *dqn = (BurnDqn){.config = *config,
                     .module = module,
                     .network = network,
                     .optimizer = optimizer,
                     .device = device,
                     .inner = burn_device_inner(device),
                     .state_shape = {state_shape.rank + 1, {0}},
                     .random = config->seed};
    for (uint32_t i = 0; i < state_shape.rank; i++) dqn->state_shape.dims[i + 1] = state_shape.dims[i];
    result = copies_make(dqn);
  } else if (result == BURN_OK) {
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dqn: out of memory");
  }
  if (result == BURN_OK) return dqn;
  burn__store_status(status, result);
  burn_dqn_destroy(dqn);
  return NULL;
}

void burn_dqn_destroy(BurnDqn *dqn) {
  if (!dqn) return;
  copies_release(dqn);
  free(dqn);
}

BurnAgent burn_dqn_agent(BurnDqn *dqn) {
  return (BurnAgent){.act = act, .learn = learn, .exploration = exploration, .context = dqn};
}
