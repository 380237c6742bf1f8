/* step.c - a rate that stays for a number of iterations and is then multiplied by a factor. Odd numbers are warned of
 * instead of refused, as in Burn, because they have their use in experiments. */
#include <burn/op_call.h>

#include <math.h>
#include <stdio.h>

#include "schedule_internal.h"

static void warn(const char *field, double value, const char *expected) {
  char text[128];
  (void)snprintf(text, sizeof text, "%s is %g, %s expected", field, value, expected);
  burn_host()->log(BURN_LOG_WARN, "step", text);
}

static BurnStatus check(const void *context) {
  const BurnStepRateConfig *config = context;
  if (isnan(config->initial_lr) || isnan(config->gamma)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "step: initial_lr is %g, gamma %g, numbers expected",
                            config->initial_lr, config->gamma);
  }
  if (config->initial_lr <= 0) warn("initial_lr", config->initial_lr, "above 0");
  if (config->gamma <= 0 || config->gamma >= 1) warn("gamma", config->gamma, "above 0 and below 1");
  return burn__check_count("step", "step_size", config->step_size);
}

static double rate(const void *context, uint64_t iteration) {
  const BurnStepRateConfig *config = context;
  if (config->step_size == 0) return (double)NAN;
  return config->initial_lr * pow(config->gamma, (double)(iteration / config->step_size));
}

static const BurnScheduleInterface step = {"step", check, rate, NULL};

BurnSchedule burn_schedule_step(BurnStepRateConfig *config) {
  return burn__schedule(&step, burn_config(BurnStepRateConfig, config));
}
