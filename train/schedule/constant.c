/* constant.c - one rate for all iterations: as a part of other schedules. */
#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnConstantRateConfig *config = context;
  if (config->lr >= 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "constant: lr is %g, at least 0 expected", config->lr);
}

static double rate(const void *context, uint64_t iteration) {
  (void)iteration;
  return ((const BurnConstantRateConfig *)context)->lr;
}

static const BurnScheduleInterface constant = {"constant", check, rate, NULL};

BurnSchedule burn_schedule_constant(BurnConstantRateConfig *config) {
  return burn__schedule(&constant, burn_config(BurnConstantRateConfig, config));
}
