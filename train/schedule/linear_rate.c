/* linear_rate.c - a line from the first rate to the last one, which then stays. */
#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnLinearRateConfig *config = context;
  BurnStatus status = burn__check_share("linear", "initial_lr", config->initial_lr);
  if (status == BURN_OK) status = burn__check_low_rate("linear", "final_lr", config->final_lr);
  return status == BURN_OK ? burn__check_count("linear", "num_iters", config->num_iters) : status;
}

static double rate(const void *context, uint64_t iteration) {
  const BurnLinearRateConfig *config = context;
  const double left = iteration < config->num_iters ? (double)(config->num_iters - iteration) : 0;
  return config->final_lr - (config->final_lr - config->initial_lr) / (double)config->num_iters * left;
}

static const BurnScheduleInterface linear = {"linear", check, rate, NULL};

BurnSchedule burn_schedule_linear(BurnLinearRateConfig *config) {
  return burn__schedule(&linear, burn_config(BurnLinearRateConfig, config));
}
