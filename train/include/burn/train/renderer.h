/* renderer.h - who shows a run while it goes on. Without one in the config the learner draws a line on stderr. */
#ifndef BURN_TRAIN_RENDERER_H
#define BURN_TRAIN_RENDERER_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* Where a run is. */
typedef struct BurnProgress {
  size_t epoch, epochs;              /* from 1; of the run */
  size_t batch, batches;             /* done in this epoch; of an epoch */
  size_t items;                      /* of this epoch, done by this run */
  size_t done;                       /* batches done by this run, which may have resumed */
  double epoch_seconds, run_seconds; /* since the begin of the epoch and of the run */
  const BurnEpochResult *result;     /* of the epoch so far; in `epoch`, of the whole one */
} BurnProgress;

/* All but `batch` may be NULL. */
typedef struct BurnRenderer {
  void (*begin)(void *context, const BurnProgress *progress);
  /* After each batch of training: whether `batch` is to be called. Only then are the numbers of the last steps read,
   * for which the device has to finish them. NULL: after each. */
  bool (*wants)(void *context, const BurnProgress *progress);
  void (*batch)(void *context, const BurnProgress *progress);
  /* After an epoch, when its checkpoint is written. */
  void (*epoch)(void *context, const BurnProgress *progress);
  /* At the end; a run that is not complete was interrupted or failed. */
  void (*end)(void *context, bool complete);
  void *context;
} BurnRenderer;

BURN_EXTERN_C_END

#endif
