/* early_stopping.c - the end of a run whose metric no longer gets better. */
#include <math.h>

#include "learner_internal.h"

static double value_of(const BurnNoImprovement *config, const BurnEpochResult *epoch) {
  const double value = burn_epoch_metric(epoch, config->metric, config->split);
  return config->highest ? -value : value;
}

/* From 1. */
static size_t best_epoch(const BurnNoImprovement *config, const BurnEpochResult *history, size_t count) {
  double lowest = (double)INFINITY;
  size_t best = 1;
  for (size_t i = 0; i < count; i++) {
    const double value = value_of(config, &history[i]);
    if (!(value < lowest)) continue; /* nor is NaN */
    lowest = value;
    best = i + 1;
  }
  return best;
}

static bool stops(const void *context, const BurnEpochResult *history, size_t count) {
  const BurnNoImprovement *config = context;
  const size_t patience = config->epochs ? config->epochs : 1;
  if (isnan(value_of(config, &history[count - 1]))) {
    burn__train_warn("early stopping: epoch %zu has no value of the metric '%s'", count, config->metric);
    return false;
  }
  if (count <= config->warmup_epochs) return false;
  return count - best_epoch(config, history, count) >= patience;
}

BurnStatus burn__early_stopping_check(const BurnEarlyStopping *strategy, const BurnMetricSet *set, bool validates) {
  const BurnNoImprovement *config = strategy->context;
  if (strategy->stops != stops) return BURN_OK;
  if (!config)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "learner: early_stopping: burn_stop_without_improvement of NULL");
  const BurnWatched watched = {"early_stopping", config->metric, config->split};
  return burn__watched_check(&watched, set, validates);
}

BurnEarlyStopping burn_stop_without_improvement(const BurnNoImprovement *config) {
  return (BurnEarlyStopping){stops, config};
}
