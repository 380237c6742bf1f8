/* experiment_log.h - what happened in a run, in words and with times: {artifact_dir}/experiment.log, and evaluation.log
 * of evaluators, as Burn writes them,
 *
 *   2026-01-31 16:20:05 UTC  INFO  the run begins: 4 epochs of 938 batches on autodiff<ndarray>
 *   2026-01-31 16:20:41 UTC  INFO  epoch 1/4: train Loss 0.2716, Accuracy 91.51 %; valid Loss 0.071; 34.2 s
 *
 *   2026-01-31 16:21:02 UTC  INFO  Held out: test Loss 0.0694, Accuracy 97.8 %; 1.1 s
 *
 * The numbers of single batches are in the logs of metrics (file_log.h). */
#ifndef BURN_TRAIN_EXPERIMENT_LOG_H
#define BURN_TRAIN_EXPERIMENT_LOG_H

#include <burn/train/metric.h>

#include <stdio.h>

#include "file_log.h"

/* Zero-initialised: there is none, and what is added goes nowhere. */
typedef struct BurnExperimentLog {
  char path[BURN_PATH_BYTES];
  FILE *file;
  BurnStatus status; /* the first line that could not be written */
} BurnExperimentLog;

/* Opens the log of that file name; what resumes goes on after the lines that are there. */
BURN_USE_RESULT BurnStatus burn__experiment_log_open(BurnExperimentLog *log, const char *artifact_dir, const char *name,
                                                     bool resume);
/* A line of level "INFO", "WARN" or "ERROR". It reaches the file at once. */
void burn__experiment_log_add(BurnExperimentLog *log, const char *level, const char *format, ...) BURN_PRINTF(3, 4);
/* An epoch of so many, with the values of its metrics. */
void burn__experiment_log_epoch(BurnExperimentLog *log, const BurnEpochResult *result, size_t epochs);
/* What an evaluation of that name has measured, and in how many seconds. */
void burn__experiment_log_evaluation(BurnExperimentLog *log, const char *name, const BurnEpochResult *result,
                                     double seconds);
/* The first failure of all. */
BURN_USE_RESULT BurnStatus burn__experiment_log_close(BurnExperimentLog *log);

#endif
