/* warm_up.c - a line up to the first rate of a schedule, in front of it. */
#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnWarmUpRate *warm_up = context;
  const BurnStatus status = burn__check_low_rate("warm_up", "initial_lr", warm_up->config.initial_lr);
  return status == BURN_OK ? burn__check_count("warm_up", "num_iters", warm_up->config.num_iters) : status;
}

static double rate(const void *context, uint64_t iteration) {
  const BurnWarmUpRate *warm_up = context;
  const uint64_t length = warm_up->config.num_iters;
  if (iteration >= length) return burn_schedule_rate(&warm_up->schedule, iteration - length);
  const double initial = warm_up->config.initial_lr, reached = burn_schedule_rate(&warm_up->schedule, 0);
  return initial + (reached - initial) * ((double)iteration / (double)length);
}

static bool part(const void *context, size_t index, BurnSchedulePart *out) {
  const BurnWarmUpRate *warm_up = context;
  *out = (BurnSchedulePart){&warm_up->schedule, warm_up->config.num_iters};
  return index == 0;
}

static const BurnScheduleInterface warm_up_schedule = {"warm_up", check, rate, part};

BurnSchedule burn_schedule_warm_up(BurnWarmUpRate *warm_up) {
  return burn__schedule(&warm_up_schedule, (BurnConfig){BurnWarmUpConfig_type(), warm_up});
}
