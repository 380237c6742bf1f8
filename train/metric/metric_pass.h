/* metric_pass.h - the metrics of one pass over a loader: measured step by step, read from the device several steps at a
 * time while it goes on, added up, and told to the logs. */
#ifndef BURN_TRAIN_METRIC_PASS_H
#define BURN_TRAIN_METRIC_PASS_H

#include <burn/train/logger.h>
#include <burn/transfer.h>

#include "file_log.h"

enum { BURN_READ_INTERVAL = 16, BURN_MAX_READ_INTERVAL = 4096 };

/* The splits of an epoch, which come first, and the names of all in logs and checkpoints. */
enum { BURN_EPOCH_SPLITS = 2 };
extern const char *const burn__split_names[BURN_SPLITS];

/* The metrics of a run: the loss, then those of the config. */
typedef struct BurnMetricSet {
  BurnMetric items[BURN_MAX_METRICS];
  size_t count;
} BurnMetricSet;

/* `list` empty: the accuracy. Refuses what makes no sense. */
BURN_USE_RESULT BurnStatus burn__metric_set(BurnMetricSet *set, const BurnMetricList *list);
const char *burn__metric_name(const BurnMetric *metric);
/* From its values to logs and screen. */
double burn__metric_scale(const BurnMetric *metric);

/* What a strategy of a run looks at. */
typedef struct BurnWatched {
  const char *who; /* "early_stopping" */
  const char *metric;
  BurnSplit split;
} BurnWatched;
/* Refuses what has no value in any epoch: a metric that the run does not have, a split that it does not see. */
BURN_USE_RESULT BurnStatus burn__watched_check(const BurnWatched *watched, const BurnMetricSet *set, bool validates);

/* How far a metric has come in an epoch. */
typedef struct BurnMetricState {
  double *numbers; /* [count] sums, from malloc; NULL at first */
  size_t count;
  double weight;
  bool appended; /* the numbers are those of all steps, one after the other */
} BurnMetricState;

void burn__metric_states_release(BurnMetricState states[BURN_MAX_METRICS]);

/* A step whose numbers have not been added up. */
typedef struct BurnPendingStep {
  size_t batch; /* from 1 */
  BurnMeasured measured[BURN_MAX_METRICS];
  size_t counts[BURN_MAX_METRICS];          /* elements of the tensor; 0: none */
  BurnPendingRead *reads[BURN_MAX_METRICS]; /* of a window on its way: of the tensors, which are gone then */
} BurnPendingStep;

/* Steps whose numbers are read together. */
typedef struct BurnMetricWindow {
  BurnPendingStep *steps; /* [interval], from malloc */
  size_t count;
} BurnMetricWindow;

typedef struct BurnMetricPass {
  const BurnMetricSet *set;
  BurnMetricState *states; /* [set->count] */
  BurnSplit split;
  size_t epoch;
  size_t batches;    /* of the loader */
  BurnFileLog *file; /* NULL: no files */
  BurnLogger logger;
  BurnStatus log_status;    /* the first failure of a log, which has been told; nothing more is logged then */
  BurnMetricWindow filling; /* steps whose numbers are on the device */
  BurnMetricWindow started; /* the window before: its numbers are on their way to the host */
  size_t interval;
  size_t last_batch;  /* measured */
  double measured_at; /* in seconds of burn__seconds: the last step, or the begin */
  size_t bad_batch;   /* the first whose loss was not finite, since the last time that somebody set this to 0 */
  double bad_loss;
} BurnMetricPass;

/* Everything but states and logs, which the caller fills in before; they stay the caller's. `interval` 0: 16. */
BURN_USE_RESULT BurnStatus burn__metrics_begin(BurnMetricPass *pass, size_t interval);
/* Measures a step. With `interval` of them their reads are started, and those of the window before are finished: so a
 * device that works on its own has a window's time before anybody waits. A read that is ready at once, as they all are
 * where the backend works at once, is finished at once; with an interval of 1 every read is. */
BURN_USE_RESULT BurnStatus burn__metrics_add(BurnMetricPass *pass, size_t batch, const BurnMetricInput *input);
/* Reads all that is pending, with one wait for the device. */
BURN_USE_RESULT BurnStatus burn__metrics_read(BurnMetricPass *pass);
/* The values so far, into values[split] of the result, whose metrics are those of the set. Metrics of appended numbers
 * have one at the end only, as it takes time to make one of them. */
void burn__metrics_result(const BurnMetricPass *pass, BurnEpochResult *result, bool end);
/* Drops what is pending; tells the logs the final values if the pass is complete. */
void burn__metrics_end(BurnMetricPass *pass, bool complete);

/* Names the metrics of a result, without values. */
void burn__result_begin(BurnEpochResult *result, const BurnMetricSet *set, size_t epoch);
/* Warns of each metric that has a value neither in training nor in validation: a misspelt name of a tensor. */
void burn__warn_of_no_values(const BurnEpochResult *result);

#endif
