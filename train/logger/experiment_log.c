/* experiment_log.c - see experiment_log.h. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include <burn/text.h>

#include "experiment_log.h"
#include "learner_internal.h"
#include "logger_files.h"

static void failed(BurnExperimentLog *log, const char *what, int error) {
  if (log->status == BURN_OK) log->status = burn__file_failed(what, log->path, error);
}

BurnStatus burn__experiment_log_open(BurnExperimentLog *log, const char *artifact_dir, const char *name, bool resume) {
  (void)snprintf(log->path, sizeof log->path, "%.*s/%s", BURN_ARTIFACT_BYTES, artifact_dir, name);
  errno = 0;
  log->file = burn__log_open(log->path, resume ? UINT64_MAX : 0);
  return log->file ? BURN_OK : burn__file_failed("cannot open", log->path, errno);
}

static void add_line(BurnExperimentLog *log, const char *level, const char *text) {
  char now[BURN_UTC_BYTES];
  if (!log->file) return;
  burn__utc_text(burn__train_wall_seconds(), now);
  errno = 0;
  const bool written = fprintf(log->file, "%s  %-5s %s\n", now, level, text) > 0 && fflush(log->file) == 0;
  if (!written) failed(log, "cannot write", errno);
}

void burn__experiment_log_add(BurnExperimentLog *log, const char *level, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (char *at = text; *at; at++) {
    if (*at == '\n') *at = ' '; /* one line each */
  }
  add_line(log, level, text);
}

/* "train Loss 0.2716, Accuracy 91.51 %; "; nothing of a split that there was not. */
static void add_split(BurnTextBuilder *line, const BurnEpochResult *result, BurnSplit split) {
  const char *before = burn__split_names[split];
  for (size_t i = 0; i < result->metric_count; i++) {
    const BurnMetricResult *metric = &result->metrics[i];
    char number[BURN_NUMBER_BYTES];
    if (isnan(metric->values[split]) && (i > 0 || split != BURN_SPLIT_TRAIN)) continue;
    burn_number_text(metric->scale * metric->values[split], 6, number);
    burn__text_addf(line, "%s %s %s%s%s", before, metric->name, number, metric->unit[0] ? " " : "", metric->unit);
    before = ",";
  }
  if (before[0] == ',') burn__text_add(line, "; ");
}

/* Takes the line, which ends with the time that what it tells has taken. */
static void add_values(BurnExperimentLog *log, BurnTextBuilder *line, double seconds) {
  char number[BURN_NUMBER_BYTES];
  burn__text_addf(line, "%s s", burn_number_text(seconds, 4, number));
  char *text = burn__text_finish(line);
  if (text) add_line(log, "INFO", text);
  if (!text) failed(log, "cannot write", ENOMEM);
  free(text);
}

void burn__experiment_log_epoch(BurnExperimentLog *log, const BurnEpochResult *result, size_t epochs) {
  BurnTextBuilder line = BURN_TEXT_BUILDER;
  if (!log->file) return;
  burn__text_addf(&line, "epoch %zu/%zu: ", result->epoch, epochs);
  add_split(&line, result, BURN_SPLIT_TRAIN);
  add_split(&line, result, BURN_SPLIT_VALID);
  add_values(log, &line, result->seconds);
}

void burn__experiment_log_evaluation(BurnExperimentLog *log, const char *name, const BurnEpochResult *result,
                                     double seconds) {
  BurnTextBuilder line = BURN_TEXT_BUILDER;
  if (!log->file) return;
  burn__text_addf(&line, "%s: ", name);
  add_split(&line, result, BURN_SPLIT_TEST);
  add_values(log, &line, seconds);
}

BurnStatus burn__experiment_log_close(BurnExperimentLog *log) {
  errno = 0;
  if (log->file && fclose(log->file) != 0) failed(log, "cannot close", errno);
  log->file = NULL;
  return log->status;
}
