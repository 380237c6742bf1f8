/* keep_best.c - the best epochs by a metric. */
#include <math.h>

#include "learner_internal.h"

static bool keeps(const void *context, const BurnEpochResult *history, size_t count, size_t epoch) {
  const BurnKeepBest *config = context;
  const double mine = burn_epoch_metric(&history[epoch - 1], config->metric, config->split);
  size_t better = 0;
  for (size_t i = 0; i < count; i++) {
    const double other = burn_epoch_metric(&history[i], config->metric, config->split);
    const bool first = i + 1 < epoch; /* of equal ones */
    if (config->highest ? other > mine || (first && other >= mine) : other < mine || (first && other <= mine)) better++;
  }
  return !isnan(mine) && better < config->count;
}

BurnStatus burn__keep_best_check(const BurnCheckpointStrategy *strategy, const BurnMetricSet *set, bool validates) {
  const BurnKeepBest *config = strategy->context;
  if (strategy->keeps != keeps) return BURN_OK;
  if (!config) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: checkpoints: burn_keep_best of NULL");
  const BurnWatched watched = {"checkpoints: burn_keep_best", config->metric, config->split};
  return burn__watched_check(&watched, set, validates);
}

BurnCheckpointStrategy burn_keep_best(const BurnKeepBest *config) { return (BurnCheckpointStrategy){keeps, config}; }
