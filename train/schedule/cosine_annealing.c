/* cosine_annealing.c - half a cosine from the first rate to the lowest; after that the cosine goes on, as in Burn since
 * 0.21 and in PyTorch (Burn began anew before). */
#include <math.h>

#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnCosineAnnealingConfig *config = context;
  const BurnStatus status = burn__check_share("cosine_annealing", "initial_lr", config->initial_lr);
  if (status != BURN_OK) return status;
  if (!(config->min_lr >= 0 && config->min_lr <= config->initial_lr)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cosine_annealing: min_lr is %g, 0 to initial_lr %g expected",
                            config->min_lr, config->initial_lr);
  }
  return burn__check_count("cosine_annealing", "num_iters", config->num_iters);
}

static double rate(const void *context, uint64_t iteration) {
  const BurnCosineAnnealingConfig *config = context;
  const double angle = (double)iteration / (double)config->num_iters * 3.14159265358979323846;
  return config->min_lr + 0.5 * (config->initial_lr - config->min_lr) * (1 + cos(angle));
}

static const BurnScheduleInterface cosine_annealing = {"cosine_annealing", check, rate, NULL};

BurnSchedule burn_schedule_cosine_annealing(BurnCosineAnnealingConfig *config) {
  return burn__schedule(&cosine_annealing, burn_config(BurnCosineAnnealingConfig, config));
}
