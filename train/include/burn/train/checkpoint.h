/* checkpoint.h - which checkpoints of a run stay. The newest always does, because it is the way back; a strategy says
 * which of the older ones do. */
#ifndef BURN_TRAIN_CHECKPOINT_H
#define BURN_TRAIN_CHECKPOINT_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* Which checkpoints of a run stay. */
typedef struct BurnCheckpointStrategy {
  /* After each epoch, for each older one that has a checkpoint: whether that stays. history[i] is epoch i + 1, of
   * `count`. It is a function of the history: a run that resumes asks again. */
  bool (*keeps)(const void *context, const BurnEpochResult *history, size_t count, size_t epoch);
  const void *context;
} BurnCheckpointStrategy;

/* The newest `*count` epochs that are finite; `count` NULL: two. */
BURN_API BurnCheckpointStrategy burn_keep_last(const size_t *count);

/* The config of burn_keep_best; it must outlive the run. */
typedef struct BurnKeepBest {
  const char *metric; /* "Loss" */
  BurnSplit split;
  bool highest; /* is best; else lowest */
  size_t count; /* so many of the best epochs; of equal ones the first */
} BurnKeepBest;
/* The best epochs by a metric; one without a value is none of them. A run that has no such metric, or no data of that
 * split, is refused. */
BURN_API BurnCheckpointStrategy burn_keep_best(const BurnKeepBest *config);

/* Every `*interval`-th epoch: `interval`, 2 * `interval` and so on; 0 counts as 1, and so does an `interval` that
 * is NULL. */
BURN_API BurnCheckpointStrategy burn_keep_every(const size_t *interval);

/* The config of burn_keep_any; the strategies, [count], must outlive the run. */
typedef struct BurnKeepAny {
  const BurnCheckpointStrategy *strategies;
  size_t count;
} BurnKeepAny;
/* What one of them keeps, stays; what all of them let go, goes: Burn's ComposedCheckpointingStrategy. Its default there
 * is the newest two and the best by the loss of validation:
 *
 *   const size_t two = 2;
 *   const BurnKeepBest best = {.metric = "Loss", .split = BURN_SPLIT_VALID, .count = 1};
 *   const BurnCheckpointStrategy both[] = {burn_keep_last(&two), burn_keep_best(&best)};
 *   const BurnKeepAny any = {both, 2};
 *   config.checkpoints = burn_keep_any(&any); */
BURN_API BurnCheckpointStrategy burn_keep_any(const BurnKeepAny *config);

BURN_EXTERN_C_END

#endif
