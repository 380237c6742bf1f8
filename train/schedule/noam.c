/* noam.c - the rates of "Attention Is All You Need": a line up, then down with the root of the iteration. */
#include <math.h>

#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnNoamConfig *config = context;
  if (!(config->factor > 0)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "noam: factor is %g, above 0 expected", config->factor);
  }
  const BurnStatus status = burn__check_count("noam", "warmup_steps", config->warmup_steps);
  return status == BURN_OK ? burn__check_count("noam", "model_size", config->model_size) : status;
}

static double rate(const void *context, uint64_t iteration) {
  const BurnNoamConfig *config = context;
  const double step = (double)iteration + 1;
  const double rising = step * pow((double)config->warmup_steps, -1.5), falling = pow(step, -0.5);
  return config->factor * pow((double)config->model_size, -0.5) * fmin(falling, rising);
}

static const BurnScheduleInterface noam = {"noam", check, rate, NULL};

BurnSchedule burn_schedule_noam(BurnNoamConfig *config) {
  return burn__schedule(&noam, burn_config(BurnNoamConfig, config));
}
