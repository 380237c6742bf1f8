/* early_stopping.h - when a run ends before its last epoch: a strategy looks at the epochs done so far, after each. */
#ifndef BURN_TRAIN_EARLY_STOPPING_H
#define BURN_TRAIN_EARLY_STOPPING_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* When a run ends. */
typedef struct BurnEarlyStopping {
  /* After each epoch: whether it was the last one. history[i] is epoch i + 1, of `count`. It is a function of the
   * history: a run that resumes asks again. */
  bool (*stops)(const void *context, const BurnEpochResult *history, size_t count);
  const void *context;
} BurnEarlyStopping;

/* The config of burn_stop_without_improvement; it must outlive the run. */
typedef struct BurnNoImprovement {
  const char *metric; /* "Loss" */
  BurnSplit split;
  bool highest;         /* is best; else lowest */
  size_t epochs;        /* end after so many without a best one; 0 counts as 1 */
  size_t warmup_epochs; /* the first so many never end the run */
} BurnNoImprovement;
/* Ends a run when its newest epoch is `epochs` or more after the best one by a metric; of equal ones the first is best,
 * and the first epoch is where none has a value. An epoch without a value ends nothing, with a warning; a run that
 * has no such metric, or no data of that split, is refused. As Burn's MetricEarlyStoppingStrategy. */
BURN_API BurnEarlyStopping burn_stop_without_improvement(const BurnNoImprovement *config);

BURN_EXTERN_C_END

#endif
