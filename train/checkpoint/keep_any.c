/* keep_any.c - several strategies as one: each may hold an epoch. */
#include <burn/train/checkpoint.h>

static bool keeps(const void *context, const BurnEpochResult *history, size_t count, size_t epoch) {
  const BurnKeepAny *config = context;
  for (size_t i = 0; i < config->count; i++) {
    const BurnCheckpointStrategy *strategy = &config->strategies[i];
    if (strategy->keeps(strategy->context, history, count, epoch)) return true;
  }
  return false;
}

BurnCheckpointStrategy burn_keep_any(const BurnKeepAny *config) { return (BurnCheckpointStrategy){keeps, config}; }
