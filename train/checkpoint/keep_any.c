/* keep_any.c - several strategies as one: each may hold an epoch. */
#include "learner_internal.h"

static bool keeps(const void *context, const BurnEpochResult *history, size_t count, size_t epoch) {
  const BurnKeepAny *config = context;
  for (size_t i = 0; i < config->count; i++) {
    const BurnCheckpointStrategy *strategy = &config->strategies[i];
    if (strategy->keeps(strategy->context, history, count, epoch)) return true;
  }
  return false;
}

BurnStatus burn__strategy_check(const BurnCheckpointStrategy *strategy, const BurnMetricSet *set, bool validates) {
  if (strategy->keeps != keeps) return burn__keep_best_check(strategy, set, validates);
  const BurnKeepAny *config = strategy->context;
  if (!config) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: checkpoints: burn_keep_any of NULL");
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < config->count && status == BURN_OK; i++) {
    status = burn__strategy_check(&config->strategies[i], set, validates);
  }
  return status;
}

BurnCheckpointStrategy burn_keep_any(const BurnKeepAny *config) { return (BurnCheckpointStrategy){keeps, config}; }
