/* logger.h - who else hears of every value of a metric: a run with an artifact folder writes them to files there, and
 * calls one logger of the user's with each. */
#ifndef BURN_TRAIN_LOGGER_H
#define BURN_TRAIN_LOGGER_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* One value of a metric: of a batch, or of a whole epoch. */
typedef struct BurnLogEntry {
  BurnSplit split;
  size_t epoch, batch; /* from 1 */
  const char *metric, *unit;
  double value;  /* scaled: in percent, where that is the unit */
  double weight; /* of the batch: its items */
  bool final;    /* the value of the whole epoch; the batch is its last one */
} BurnLogEntry;

/* Entries come in the order of batches, a few batches late: when their numbers are read. */
typedef struct BurnLogger {
  /* A failure is told at once, ends the logs of this epoch, and ends the run after the checkpoint of the epoch. NULL
   * for no logger. */
  BurnStatus (*log)(void *context, const BurnLogEntry *entry);
  void *context;
} BurnLogger;

BURN_EXTERN_C_END

#endif
