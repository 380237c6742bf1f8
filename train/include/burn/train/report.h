/* report.h - a run as one HTML file, made from its artifact folder: curves of all metrics, a summary, config, settings
 * and stack, a confusion matrix and samples where somebody has put them there. Nothing in it comes from elsewhere: no
 * script, no network; it is light or dark as its reader's system is.
 *
 *   const BurnReportConfig report = {.artifact_dir = "artifacts/mine"};
 *   status = burn_learner_fit(&(BurnLearnerConfig){.artifact_dir = report.artifact_dir,
 *                                                  .on_epoch = burn_report_on_epoch,
 *                                                  .context = (void *)&report, ...}, ...);
 *
 * `burn report DIR` makes the same of any artifact folder. */
#ifndef BURN_TRAIN_REPORT_H
#define BURN_TRAIN_REPORT_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* Of what, and where to. The texts are borrowed. */
typedef struct BurnReportConfig {
  const char *artifact_dir;
  const char *path;  /* NULL: report.html in the folder */
  const char *title; /* NULL: the name of the folder */
} BurnReportConfig;

/* Reads the folder and replaces the file as a whole. A run that goes on has the epochs and batches that it has logged.
 * What is in the folder is treated as hostile: a file that is not as the framework writes it fails, CORRUPT_DATA, with
 * file and line; a last line that is not whole is left out. NOT_FOUND where the folder has no logs. */
BURN_API BURN_USE_RESULT BurnStatus burn_report_write(const BurnReportConfig *config);

/* The same as JSON, for free(): {"title", "epochs", "stack", "metrics": [{"name", "train": {"batches": [[epoch,
 * value], ..], "epochs": [[epoch, value], ..], "min": [epoch, value], "max", "last"}, "valid": ..}], "history",
 * "settings", "config", "confusion_matrix", "samples"}; what the folder lacks is missing, NaN is null. NULL on failure,
 * with the reason in *status. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT char *burn_report_json(const BurnReportConfig *config, BurnStatus *status);

/* The lowest, highest and last value of each metric with the epochs that had them, as a table of 80 columns for a
 * terminal; for free(). Values are as the logs have them, an accuracy is a percentage. NULL on failure, with the reason
 * in *status. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT char *burn_report_summary(const BurnReportConfig *config, BurnStatus *status);

/* An on_epoch of a learner that writes the report after each epoch; `context` is a BurnReportConfig. */
BURN_API BURN_USE_RESULT BurnStatus burn_report_on_epoch(void *context, const BurnEpochResult *result);

/* -- what a report shows besides -------------------------------------------------------------- */

/* Writes counts of a confusion matrix, int [classes, classes] (taken; burn_confusion_matrix gives one), with the names
 * of the classes (NULL: their numbers; INVALID_ARGUMENT where a NULL comes before the last), as confusion_matrix.json
 * of the folder, which is made where it is missing. */
BURN_API BURN_USE_RESULT BURN_TAKES(2) BurnStatus
    burn_report_confusion_matrix(const char *artifact_dir, BurnTensor *counts, const char *const *labels);

/* An example of what a model does. */
typedef struct BurnSample {
  const char *title; /* "predicted 3, truth 5" */
  const char *text;  /* NULL: none */
  bool wrong;        /* marked so */
  /* A picture, [height, width, channels] bytes, channels 1 (grey) or 3 (red, green, blue); NULL: none. At most 4096
   * pixels a side. */
  const uint8_t *pixels;
  uint32_t width, height, channels;
} BurnSample;

/* Writes samples as samples.jsonl of the folder, which is made where it is missing, in place of what is there: a JSON
 * object per line, with the picture as PNG. */
BURN_API BURN_USE_RESULT BurnStatus burn_report_samples(const char *artifact_dir, const BurnSample *samples,
                                                        size_t count);

BURN_EXTERN_C_END

#endif
