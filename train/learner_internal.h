/* learner_internal.h - the parts around the loop of learner.c: averages of an epoch (metric.c), the progress line (progress.c),
 * checkpoints (checkpoint.c), and what these need of the system (learner_posix.c, learner_windows.c). */
#ifndef BURN_TRAIN_LEARNER_INTERNAL_H
#define BURN_TRAIN_LEARNER_INTERNAL_H

#include <burn/train/learner.h>

#include <stdio.h>

enum { BURN_PATH_BYTES = 4096 };

/* -- metric.c ---------------------------------------------------------------------------------------------------------- */

/* An average over items and its log. */
typedef struct BurnMetric {
  const char *name; /* of the log: "Loss" */
  double scale;     /* of values in the log: 100 for percent */
  double sum;       /* of value * items */
  double items;
  FILE *log; /* NULL until the first value, and without logs */
} BurnMetric;

/* The metrics of one pass over a loader. */
typedef struct BurnMetrics {
  BurnMetric loss, accuracy;
  char folder[BURN_PATH_BYTES]; /* of the logs, which exists; "" for none */
} BurnMetrics;

/* Metrics without a value yet, with logs under "{artifact_dir}/{split}/epoch-{epoch}" (made if missing) unless artifact_dir is
 * NULL. */
BURN_USE_RESULT BurnStatus burn__metrics_begin(BurnMetrics *metrics, const char *artifact_dir, const char *split, size_t epoch);
/* Removes the logs of an earlier run from this epoch on. */
BURN_USE_RESULT BurnStatus burn__metrics_clear(const char *artifact_dir, size_t first_epoch);
/* Reads the output of a step (its tensors are taken). */
BURN_USE_RESULT BurnStatus burn__metrics_add(BurnMetrics *metrics, BurnStepOutput output, size_t items);
/* The average so far; NaN without values. */
double burn__metric_mean(const BurnMetric *metric);
/* Writes the final lines and closes the logs; tells whether all lines could be written. */
BURN_USE_RESULT BurnStatus burn__metrics_end(BurnMetrics *metrics);

/* -- progress.c -------------------------------------------------------------------------------------------------------- */

typedef struct BurnProgress {
  bool quiet, terminal;
  size_t epoch, epochs, batches, items; /* items: seen in this epoch */
  size_t batches_before;                /* of this run, in the epochs before this one */
  double run_start, epoch_start, drawn; /* seconds of burn__seconds */
  size_t tenth;                         /* of the epoch, when last drawn */
} BurnProgress;

void burn__progress_begin(BurnProgress *progress, bool quiet, size_t epochs, size_t batches);
void burn__progress_epoch(BurnProgress *progress, size_t epoch);
/* After batch `batch` (from 1) of `items` items. */
void burn__progress_batch(BurnProgress *progress, size_t batch, size_t items, const BurnMetrics *metrics);
void burn__progress_result(BurnProgress *progress, const BurnEpochResult *result);
/* Leaves the line of a run that stops midway. */
void burn__progress_stop(const BurnProgress *progress);

/* -- checkpoint.c ------------------------------------------------------------------------------------------------------ */

/* The epochs done so far, in order. */
typedef struct BurnHistory {
  BurnEpochResult *results; /* [count], from malloc */
  size_t count, capacity;
} BurnHistory;

BURN_USE_RESULT BurnStatus burn__history_add(BurnHistory *history, const BurnEpochResult *result);

/* What a checkpoint covers. */
typedef struct BurnRun {
  BurnDevice *device;
  BurnModule module;
  BurnOptimizer *optimizer;
  BurnHistory history; /* its length is the number of epochs done */
} BurnRun;

/* Writes the checkpoint of the last epoch in the history, then removes those that are not among the newest `keep`. */
BURN_USE_RESULT BurnStatus burn__checkpoint_save(const BurnRun *run, const char *artifact_dir, size_t keep);
/* Restores the newest complete checkpoint into a run without history; leaves it as it is if there is none. */
BURN_USE_RESULT BurnStatus burn__checkpoint_restore(BurnRun *run, const char *artifact_dir);
/* Removes all checkpoints of an earlier run. */
BURN_USE_RESULT BurnStatus burn__checkpoint_clear(const char *artifact_dir);

/* -- learner_posix.c, learner_windows.c ------------------------------------------------------------------------------------ */

/* Monotonic. */
double burn__seconds(void);
bool burn__stderr_is_terminal(void);
/* Calls visit for each name in a folder in no particular order, until one fails. No folder is no names. */
BURN_USE_RESULT BurnStatus burn__folder_list(const char *path, BurnStatus (*visit)(void *context, const char *name),
                                             void *context);
/* The text of an errno value, into a buffer of the caller; returns the buffer. */
const char *burn__train_errno_text(int number, char *buffer, size_t bytes);
bool burn__file_exists(const char *path);
/* A file that is not there counts as removed. */
BURN_USE_RESULT BurnStatus burn__file_remove(const char *path);

#endif
