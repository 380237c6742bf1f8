/* cosine_annealing.c - half a cosine from the first rate to the lowest; after that the cosine goes on, as in Burn since
 * 0.21 and in PyTorch (Burn began anew before). */
#include <burn/train/schedule.h>

#include <math.h>

static BurnStatus check(const void *context) {
  const BurnCosineAnnealingConfig *config = context;
  if (!(config->initial_lr > 0 && config->initial_lr <= 1)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cosine_annealing: initial_lr is %g, above 0 to 1 expected",
                            config->initial_lr);
  }
  if (!(config->min_lr >= 0 && config->min_lr <= config->initial_lr)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cosine_annealing: min_lr is %g, 0 to initial_lr %g expected",
                            config->min_lr, config->initial_lr);
  }
  if (config->num_iters > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cosine_annealing: num_iters is 0, at least 1 expected");
}

static double rate(const void *context, uint64_t iteration) {
  const BurnCosineAnnealingConfig *config = context;
  const double angle = (double)iteration / (double)config->num_iters * 3.14159265358979323846;
  return config->min_lr + 0.5 * (config->initial_lr - config->min_lr) * (1 + cos(angle));
}

static const BurnScheduleInterface cosine_annealing = {"cosine_annealing", check, rate};

BurnSchedule burn_schedule_cosine_annealing(BurnCosineAnnealingConfig *config) {
  return (BurnSchedule){&cosine_annealing, burn_config(BurnCosineAnnealingConfig, config)};
}
