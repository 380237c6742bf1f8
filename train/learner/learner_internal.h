/* learner_internal.h - the parts around the loop of learner.c: metrics and their logs (metric_pass.h, file_log.h), the
 * checkpoints (checkpoint.c), and what these need of the system (learner_posix.c,
 * learner_windows.c). */
#ifndef BURN_TRAIN_LEARNER_INTERNAL_H
#define BURN_TRAIN_LEARNER_INTERNAL_H

#include <burn/train/learner.h>

#include <stdio.h>
#include <time.h>

#include "metric_pass.h"

/* A pass over a part of an epoch's batches, from its begin. */
typedef struct BurnPartial {
  size_t batches; /* done; 0: none */
  size_t items;   /* in these */
  double seconds;
  BurnMetricState metrics[BURN_MAX_METRICS];
  uint64_t log_bytes[BURN_MAX_METRICS];
} BurnPartial;

/* -- run_settings.c --------------------------------------------------------------------------- */

/* What a run is made from, as texts by name: "config.optimizer.beta_1" is "0.9". Zero-initialised: none. */
typedef struct BurnSettings {
  struct BurnSetting {
    char *name, *text;
  } * items;
  size_t count, capacity;
  bool failed; /* out of memory */
} BurnSettings;

/* Fills an empty list; validation data may be NULL. */
BURN_USE_RESULT BurnStatus burn__settings_fill(BurnSettings *settings, const BurnLearnerConfig *config,
                                               const BurnOptimizer *optimizer, const BurnLoader *train,
                                               const BurnLoader *valid);
/* As a map of a record. */
BURN_USE_RESULT BurnValue *burn__settings_value(const BurnSettings *settings);
/* Compares with the map of a checkpoint (NULL: it has none): a failure, or with accept_changes a warning, with what
 * differs. */
BURN_USE_RESULT BurnStatus burn__settings_check(const BurnSettings *settings, const BurnValue *stored,
                                                const BurnLearnerConfig *config);
void burn__settings_release(BurnSettings *settings);

/* A warning in the log of the framework. */
void burn__train_warn(const char *format, ...) BURN_PRINTF(1, 2);

/* -- loader.c --------------------------------------------------------------------------------- */

const BurnLoaderConfig *burn__loader_config(const BurnLoader *loader);
/* INVALID_ARGUMENT where an epoch has no batches; `who` begins the message. */
BURN_USE_RESULT BurnStatus burn__loader_has_batches(const BurnLoader *loader, const char *who);
/* A checksum of the first and the last item; false where they cannot be read. */
bool burn__loader_checksum(const BurnLoader *loader, uint32_t *checksum);

/* -- checkpoint.c ----------------------------------------------------------------------------- */

/* The epochs done so far, in order. */
typedef struct BurnHistory {
  BurnEpochResult *results; /* [count], from malloc */
  size_t count, capacity;
} BurnHistory;

/* Frees what a partial epoch has, which then is one of no batches. */
void burn__partial_reset(BurnPartial *partial);
BURN_USE_RESULT BurnStatus burn__history_add(BurnHistory *history, const BurnEpochResult *result);

/* What a checkpoint covers. */
typedef struct BurnRun {
  BurnMetricSet metrics;
  BurnDevice *device;
  BurnModule module;
  BurnOptimizer *optimizer;
  BurnGradScaler *scaler; /* NULL: none */
  BurnHistory history;    /* its length is the number of epochs done */
  BurnPartial partial;    /* of the epoch after these */
  BurnSettings settings;
} BurnRun;

/* Writes the checkpoint of the last epoch in the history, or of the partial one after it, then removes those that the
 * strategy does not keep. */
BURN_USE_RESULT BurnStatus burn__checkpoint_save(const BurnRun *run, const char *artifact_dir,
                                                 const BurnCheckpointStrategy *strategy);
/* Removes what a run that was killed may not have come to remove: the older checkpoints that burn__checkpoint_save
 * would; and the later ones, if they do not stay. */
BURN_USE_RESULT BurnStatus burn__checkpoint_prune(const BurnRun *run, const char *artifact_dir, bool later_stay,
                                                  const BurnCheckpointStrategy *strategy);
/* Restores the newest whole checkpoint into a run without history; leaves it as it is if there has never been one. Or
 * that of config->resume_epoch, which has to be there. */
BURN_USE_RESULT BurnStatus burn__checkpoint_restore(BurnRun *run, const BurnLearnerConfig *config);
/* Removes all checkpoints of an earlier run. */
BURN_USE_RESULT BurnStatus burn__checkpoint_clear(const char *artifact_dir);

/* -- early_stopping.c, keep_any.c, keep_best.c: strategies that look at a metric ---------------- */

/* Refuse one that could never do anything (burn__watched_check); one of the user's own is not known. */
BURN_USE_RESULT BurnStatus burn__early_stopping_check(const BurnEarlyStopping *strategy, const BurnMetricSet *set,
                                                      bool validates);
BURN_USE_RESULT BurnStatus burn__strategy_check(const BurnCheckpointStrategy *strategy, const BurnMetricSet *set,
                                                bool validates);
BURN_USE_RESULT BurnStatus burn__keep_best_check(const BurnCheckpointStrategy *strategy, const BurnMetricSet *set,
                                                 bool validates);

/* -- learner_posix.c, learner_windows.c ------------------------------------------------------- */

/* Monotonic. */
double burn__seconds(void);
/* Since 1970, UTC. */
double burn__train_wall_seconds(void);
/* Year, month, .. of a time since 1970, UTC. false: the system has none. */
bool burn__utc_parts(time_t seconds, struct tm *parts);
/* What all processors have done since the system began: in use, and in all, in one unit. false: it is not known. */
bool burn__cpu_times(double *busy, double *all);
/* The bytes of the machine's memory in use. false: it is not known. */
bool burn__memory_used(double *bytes);
/* NVIDIA's NVML, for the life of the process; NULL where there is none. */
void *burn__nvml_library(void);
/* A function of a library to *out, which is a pointer to it; false where it lacks that. */
bool burn__library_symbol(void *library, const char *name, void *out);
bool burn__stderr_is_terminal(void);
/* How many columns the terminal of stderr has; 0: it is not known. */
size_t burn__stderr_columns(void);
/* Calls visit for each name in a folder in no particular order, until one fails. No folder is no names. */
BURN_USE_RESULT BurnStatus burn__folder_list(const char *path, BurnStatus (*visit)(void *context, const char *name),
                                             void *context);
/* The text of an errno value, into a buffer of the caller; returns the buffer. */
const char *burn__train_errno_text(int number, char *buffer, size_t bytes);
bool burn__file_exists(const char *path);
/* Removes a folder in which nothing is left; one with something in it stays. */
void burn__folder_remove(const char *path);
/* Opens a log for writing at its end, cut to `keep` bytes, or as long as it is if that is less. NULL with errno set. */
FILE *burn__log_open(const char *path, uint64_t keep);
/* Has `handler` called for SIGINT and SIGTERM, where they are not ignored; NULL: what was there before. */
BURN_USE_RESULT BurnStatus burn__signals_catch(void (*handler)(int));
/* Gives a signal back to the system: it does what it does to a process that catches nothing. Safe in a handler. */
void burn__signal_default(int number);
/* A file that is not there counts as removed. */
BURN_USE_RESULT BurnStatus burn__file_remove(const char *path);

#endif
