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

/* The newest `*count` epochs that are finite. */
BURN_API BurnCheckpointStrategy burn_keep_last(const size_t *count);

/* The config of burn_keep_best; it must outlive the run. */
typedef struct BurnKeepBest {
  const char *metric; /* "Loss" */
  BurnSplit split;
  bool highest; /* is best; else lowest */
  size_t count; /* so many of the best epochs; of equal ones the first */
} BurnKeepBest;
/* The best epochs by a metric; one without a value is none of them. */
BURN_API BurnCheckpointStrategy burn_keep_best(const BurnKeepBest *config);

BURN_EXTERN_C_END

#endif
