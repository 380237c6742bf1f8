/* logger.h - who else hears of every value of a metric: a run with an artifact folder writes them to files there, and
 * calls one logger of the user's with each. Loggers that ship with the framework write JSON lines, event files for
 * TensorBoard and metrics for Prometheus; burn_loggers makes one of several.
 *
 *   BurnJsonLines *lines = burn_json_lines_create("artifacts/mine/metrics.jsonl", options.resume, &status);
 *   BurnTensorboard *board = burn_tensorboard_create("artifacts/mine/tensorboard", &status);
 *   const BurnLoggerList loggers = BURN_LOGGERS(burn_json_lines_logger(lines), burn_tensorboard_logger(board));
 *   status = burn_learner_fit(&(BurnLearnerConfig){.logger = burn_loggers(&loggers), ...}, ...); */
#ifndef BURN_TRAIN_LOGGER_H
#define BURN_TRAIN_LOGGER_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* One value of a metric: of a batch, or of a whole epoch. */
typedef struct BurnLogEntry {
  BurnSplit split;
  size_t epoch, batch; /* from 1 */
  const char *metric, *unit;
  double value;   /* scaled: in percent, where that is the unit */
  double weight;  /* of the batch: its items */
  bool final;     /* the value of the whole epoch; the batch is its last one */
  size_t batches; /* of an epoch of this split */
} BurnLogEntry;

/* Entries come in the order of batches, a few batches late: when their numbers are read. */
typedef struct BurnLogger {
  /* A failure is reported at once, ends the logs of this epoch, and ends the run after the checkpoint of the epoch.
   * NULL for no logger. */
  BurnStatus (*log)(void *context, const BurnLogEntry *entry);
  void *context;
} BurnLogger;

/* -- several loggers -------------------------------------------------------------------------- */

/* Loggers by pointer and count; borrowed. */
typedef struct BurnLoggerList {
  const BurnLogger *items;
  size_t count;
} BurnLoggerList;

/* BURN_LOGGERS(burn_json_lines_logger(lines), mine): a list that lives as long as the block around it. */
#ifndef __cplusplus
#define BURN_LOGGERS(...) \
  ((BurnLoggerList){(const BurnLogger[]){__VA_ARGS__}, sizeof((const BurnLogger[]){__VA_ARGS__}) / sizeof(BurnLogger)})
#endif

/* One logger that hands each entry to all of the list, in order; the first failure is told, the others hear of the
 * entry all the same. The list must outlive the run. */
BURN_API BurnLogger burn_loggers(const BurnLoggerList *list);

/* -- JSON lines ------------------------------------------------------------------------------- */

/* A file with an object per value:
 *
 *   {"time":1767225600.25,"split":"train","epoch":1,"batch":3,"batches":313,"metric":"Loss","unit":"","value":0.5,
 *    "weight":64,"final":false}
 *
 * in one line each. The time is in seconds since 1970, UTC; numbers read back as the same doubles; NaN is null, and
 * infinities are "inf" and "-inf", as JSON has neither. Each line reaches the file at once. */
typedef struct BurnJsonLines BurnJsonLines;

/* Opens the file, in a folder that is made where it is missing. An existing one is emptied; with `resume` it is kept up
 * to the place that the run takes up: at the first entry, lines from that epoch and batch on are cut off, and so is a
 * last line that is not whole. NULL on failure, with the reason in *status. A line that is no such object fails the
 * first entry, with its number. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnJsonLines *burn_json_lines_create(const char *path, bool resume,
                                                                              BurnStatus *status);
/* The logger of a run. */
BURN_API BurnLogger burn_json_lines_logger(BurnJsonLines *lines);
/* Closes the file; NULL is fine. */
BURN_API void burn_json_lines_destroy(BurnJsonLines *lines);

/* -- TensorBoard ------------------------------------------------------------------------------ */

/* Event files of two runs of TensorBoard, {folder}/train and {folder}/valid, that its pages draw as two curves of one
 * plot, and of {folder}/test for an evaluation. Values of batches are the scalars "{metric}/batch" at step
 * (epoch - 1) * batches + batch; values of epochs are "{metric}/epoch" at step epoch. A run writes files of its own;
 * where it takes up another one, TensorBoard leaves out what that one has from there on. Scalars are f32, as everywhere
 * in TensorBoard. */
typedef struct BurnTensorboard BurnTensorboard;

/* Makes the folders where they are missing. NULL on failure, with the reason in *status. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnTensorboard *burn_tensorboard_create(const char *folder,
                                                                                 BurnStatus *status);
/* The logger of a run. */
BURN_API BurnLogger burn_tensorboard_logger(BurnTensorboard *board);
/* A text, in Markdown, on the page of texts; of the training. */
BURN_API BURN_USE_RESULT BurnStatus burn_tensorboard_text(BurnTensorboard *board, const char *tag, size_t step,
                                                          const char *text);
/* A config as a text, "config", and as hyperparameters on the page HPARAMS: fields by their paths, "optimizer.beta_1",
 * beside which that page lists the metrics of the run. It compares runs whose folders lie in one. */
BURN_API BURN_USE_RESULT BurnStatus burn_tensorboard_config(BurnTensorboard *board, BurnConfig config);
/* A histogram of all elements of a tensor (taken), of any dtype but bool, in 30 bins of one width between its smallest
 * and largest. What is not finite is left out. Reads the tensor, so it waits for the device. */
BURN_API BURN_USE_RESULT BURN_TAKES(4) BurnStatus
    burn_tensorboard_histogram(BurnTensorboard *board, const char *tag, size_t step, BurnTensor *values);
/* Histograms of all float parameters and buffers of a module, by their paths. */
BURN_API BURN_USE_RESULT BurnStatus burn_tensorboard_parameters(BurnTensorboard *board, size_t step, BurnModule module);
/* Closes the files; NULL is fine. */
BURN_API void burn_tensorboard_destroy(BurnTensorboard *board);

/* -- Prometheus ------------------------------------------------------------------------------- */

/* A file in Prometheus' text exposition format, for the textfile collector of node_exporter (its name must end with
 * .prom): the newest value of each metric,
 *
 *   burn_metric{metric="Loss",unit="",split="train"} 0.5             of a batch
 *   burn_metric_epoch{metric="Loss",unit="",split="train"} 0.6       of the last whole epoch
 *
 * and burn_epoch, burn_batch, burn_batches, burn_updated_timestamp_seconds by split. It is replaced as a whole, so
 * that nobody reads half of it. */
typedef struct BurnPrometheus BurnPrometheus;

/* The file is written at most once per `interval` seconds (0: 5), and after each epoch. The first one is written here,
 * without values. NULL on failure, with the reason in *status. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnPrometheus *burn_prometheus_create(const char *path, double interval,
                                                                               BurnStatus *status);
/* The logger of a run. */
BURN_API BurnLogger burn_prometheus_logger(BurnPrometheus *prometheus);
/* Writes what has not been written, and leaves the file; NULL is fine. */
BURN_API void burn_prometheus_destroy(BurnPrometheus *prometheus);

BURN_EXTERN_C_END

#endif
