/* file_log.h - the logs that Burn keeps per epoch,
 *
 *   {artifact_dir}/train/epoch-{n}/Loss.log        value,weight    one line per batch
 *                                  Accuracy.log    value,final     last, when the epoch is complete
 *
 * with percents as such and a point in every locale. Of an epoch in progress a checkpoint keeps the lengths. */
#ifndef BURN_TRAIN_FILE_LOG_H
#define BURN_TRAIN_FILE_LOG_H

#include <burn/train/logger.h>

#include <stdio.h>

enum {
  BURN_PATH_BYTES = 4096,
  BURN_ARTIFACT_BYTES = BURN_PATH_BYTES - 512
}; /* the rest is for the names below the folder */

typedef struct BurnFileLog {
  char folder[BURN_PATH_BYTES]; /* which exists */
  FILE *files[BURN_MAX_METRICS];
  uint64_t *bytes; /* [metrics] lengths so far, of the caller */
} BurnFileLog;

/* Opens the logs in a folder below the artifact folder, made if missing: "train/epoch-3". Those with bytes[i] > 0 go on
 * at that length, the others begin with their first entry. names[i] is that of metric i. */
BURN_USE_RESULT BurnStatus burn__file_log_open(BurnFileLog *log, const char *artifact_dir, const char *folder,
                                               const char *const *names, size_t count, uint64_t *bytes);
/* Removes all logs in such a folder; none is not a failure. */
BURN_USE_RESULT BurnStatus burn__file_log_remove(const char *artifact_dir, const char *folder);
/* One line of metric `index`. It reaches the file at once, so that a log can be followed and a full disk shows when it
 * is full. */
BURN_USE_RESULT BurnStatus burn__file_log(BurnFileLog *log, size_t index, const BurnLogEntry *entry);
BURN_USE_RESULT BurnStatus burn__file_log_close(BurnFileLog *log);
/* The number of a name that is exactly "epoch-{number}"; 0 of any other. */
size_t burn__epoch_of_name(const char *name);
/* Removes the logs of an earlier run from these epochs on. */
BURN_USE_RESULT BurnStatus burn__file_log_clear(const char *artifact_dir, size_t first_train_epoch,
                                                size_t first_valid_epoch);

#endif
