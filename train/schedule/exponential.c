/* exponential.c - a rate that is multiplied by the same factor in every iteration. */
#include <math.h>

#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnExponentialRateConfig *config = context;
  const BurnStatus status = burn__check_share("exponential", "initial_lr", config->initial_lr);
  return status == BURN_OK ? burn__check_share("exponential", "gamma", config->gamma) : status;
}

static double rate(const void *context, uint64_t iteration) {
  const BurnExponentialRateConfig *config = context;
  return config->initial_lr * pow(config->gamma, (double)iteration);
}

static const BurnScheduleInterface exponential = {"exponential", check, rate, NULL};

BurnSchedule burn_schedule_exponential(BurnExponentialRateConfig *config) {
  return burn__schedule(&exponential, burn_config(BurnExponentialRateConfig, config));
}
