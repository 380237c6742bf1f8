/* metric.c - loss and accuracy of one pass: averages over items, and the logs that Burn keeps per epoch,
 *
 *   {artifact_dir}/train/epoch-{n}/Loss.log        value,count     one line per batch
 *                                  Accuracy.log    value,final     last, when the epoch is complete
 *
 * with the accuracy in percent and a point in every locale. What is read back from the device is one number per metric
 * and batch. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <burn/text.h>

#include "learner_internal.h"

/* The first failure is told at once; then nothing more is logged in this pass. */
static void log_failed(BurnMetrics *metrics, const char *name, const char *what, int error) {
  char reason[128];
  if (metrics->log_status != BURN_OK) return;
  metrics->log_status = burn_status_make(BURN_STATUS_IO, "%s %s/%s: %s", what, metrics->folder, name,
                                         burn__train_errno_text(error, reason, sizeof reason));
  burn__train_warn("%s", burn_status_message(metrics->log_status));
}

static void log_open(BurnMetrics *metrics, BurnMetric *metric) {
  char path[BURN_PATH_BYTES + 32];
  if (metrics->log_status != BURN_OK) return;
  snprintf(path, sizeof path, "%s/%s.log", metrics->folder, metric->name);
  errno = 0;
  metric->log = burn__log_open(path, metric->state.log_bytes);
  if (!metric->log) {
    log_failed(metrics, metric->name, "cannot open", errno);
  } else if (fseek(metric->log, 0, SEEK_END) == 0 && (uint64_t)ftell(metric->log) < metric->state.log_bytes) {
    burn__train_warn("%s is shorter than it was at the checkpoint: lines are missing", path);
    metric->state.log_bytes = (uint64_t)ftell(metric->log);
  }
}

/* One line: a number and how many items it is of, or "final". Each reaches the file at once, so that a log can be
 * followed and a full disk shows when it is full. */
static void log_line(BurnMetrics *metrics, BurnMetric *metric, double value, const char *of) {
  char number[BURN_NUMBER_BYTES];
  if (!metric->log) return;
  const int length = fprintf(metric->log, "%s,%s\n", burn_number_text(value * metric->scale, 9, number), of);
  if (length > 0 && fflush(metric->log) == 0) {
    metric->state.log_bytes += (uint64_t)length;
    return;
  }
  log_failed(metrics, metric->name, "cannot write", errno);
  (void)fclose(metric->log);
  metric->log = NULL;
}

static void metric_begin(BurnMetrics *metrics, BurnMetric *metric, const char *name, double scale,
                         const BurnMetricState *state) {
  *metric = (BurnMetric){.name = name, .scale = scale};
  if (!state) return;
  metric->state = *state;
  if (metrics->folder[0] && state->items > 0) log_open(metrics, metric);
}

void burn__metrics_begin(BurnMetrics *metrics, const char *artifact_dir, const char *split, size_t epoch,
                         const BurnPartial *partial) {
  metrics->folder[0] = '\0';
  metrics->log_status = BURN_OK;
  if (artifact_dir) {
    snprintf(metrics->folder, sizeof metrics->folder, "%.*s/%s/epoch-%zu", BURN_ARTIFACT_BYTES, artifact_dir, split,
             epoch);
    metrics->log_status = burn_folder_make(metrics->folder);
    if (metrics->log_status != BURN_OK) burn__train_warn("%s", burn_status_message(metrics->log_status));
  }
  metric_begin(metrics, &metrics->loss, "Loss", 1, partial ? &partial->loss : NULL);
  metric_begin(metrics, &metrics->accuracy, "Accuracy", 100, partial ? &partial->accuracy : NULL);
}

double burn__metric_mean(const BurnMetric *metric) {
  return metric->state.items > 0 ? metric->state.sum / metric->state.items : (double)NAN;
}

static void metric_add(BurnMetrics *metrics, BurnMetric *metric, double value, size_t items) {
  char of[24];
  metric->last = value;
  metric->state.sum += value * (double)items;
  metric->state.items += (double)items;
  if (!metrics->folder[0]) return;
  if (!metric->log) log_open(metrics, metric);
  snprintf(of, sizeof of, "%zu", items);
  log_line(metrics, metric, value, of);
}

/* Takes both. The share of rows of output [n, classes] whose largest entry is at their target [n]. */
static BurnStatus accuracy_of(BurnTensor *output, BurnTensor *targets, double *accuracy) {
  const int64_t rows = burn_dim(targets, 0);
  BurnStatus status = burn_tensor_status(output);
  BurnTensor *hits;
  if (status == BURN_OK) status = burn_tensor_status(targets);
  if (status == BURN_OK &&
      (burn_rank(output) != 2 || burn_rank(targets) != 1 || burn_dim(output, 0) != rows || rows == 0)) {
    status = burn_status_make(
        BURN_STATUS_INVALID_SHAPE,
        "accuracy: output of rank %u with %lld rows and targets of rank %u with %lld: [n, classes] and [n] "
        "expected",
        (unsigned)burn_rank(output), (long long)burn_dim(output, 0), (unsigned)burn_rank(targets), (long long)rows);
  }
  if (status != BURN_OK) {
    burn_drop(output);
    burn_drop(targets);
    return status;
  }
  targets = burn_inner(targets);
  hits = burn_argmax(burn_inner(output), 1);
  hits = burn_cast(burn_reshape(hits, BURN_SHAPE(rows)), burn_dtype(targets));
  hits = burn_sum(burn_int(burn_equal(hits, targets)));
  status = burn_read_scalar(hits, accuracy);
  *accuracy /= (double)rows;
  return status;
}

BurnStatus burn__metrics_add(BurnMetrics *metrics, BurnStepOutput output, size_t items) {
  double loss = 0, accuracy = 0;
  BurnStatus status = burn_read_scalar(burn_inner(output.loss), &loss);
  if (status == BURN_OK) metric_add(metrics, &metrics->loss, loss, items);
  if (status != BURN_OK || !output.output || !output.targets) {
    burn_drop(output.output);
    burn_drop(output.targets);
    return status;
  }
  status = accuracy_of(output.output, output.targets, &accuracy);
  if (status == BURN_OK) metric_add(metrics, &metrics->accuracy, accuracy, items);
  return status;
}

static void metric_end(BurnMetrics *metrics, BurnMetric *metric, bool complete) {
  if (complete) log_line(metrics, metric, burn__metric_mean(metric), "final");
  if (metric->log && fclose(metric->log) != 0) log_failed(metrics, metric->name, "cannot close", errno);
  metric->log = NULL;
}

void burn__metrics_end(BurnMetrics *metrics, bool complete) {
  metric_end(metrics, &metrics->loss, complete);
  metric_end(metrics, &metrics->accuracy, complete);
}

typedef struct ClearContext {
  const char *folder;
  size_t first_epoch;
} ClearContext;

/* The number of a name that is exactly "epoch-{number}"; 0 of any other. */
static size_t epoch_of_name(const char *name) {
  char expected[48];
  if (strncmp(name, "epoch-", 6) != 0) return 0;
  const unsigned long long epoch = strtoull(name + 6, NULL, 10);
  snprintf(expected, sizeof expected, "epoch-%llu", epoch);
  return strcmp(name, expected) == 0 && epoch < SIZE_MAX ? (size_t)epoch : 0;
}

static BurnStatus clear_one(void *context, const char *name) {
  static const char *const logs[] = {"/Loss.log", "/Accuracy.log"};
  const ClearContext *clear = context;
  char path[BURN_PATH_BYTES + 320];
  const size_t epoch = epoch_of_name(name);
  BurnStatus status = BURN_OK;
  if (epoch == 0 || epoch < clear->first_epoch) return BURN_OK;
  for (size_t i = 0; i < sizeof logs / sizeof logs[0] && status == BURN_OK; i++) {
    snprintf(path, sizeof path, "%s/%s%s", clear->folder, name, logs[i]);
    status = burn__file_remove(path);
  }
  snprintf(path, sizeof path, "%s/%s", clear->folder, name);
  if (status == BURN_OK) burn__folder_remove(path);
  return status;
}

BurnStatus burn__metrics_clear(const char *artifact_dir, size_t first_train_epoch, size_t first_valid_epoch) {
  const struct {
    const char *name;
    size_t first_epoch;
  } splits[] = {{"train", first_train_epoch}, {"valid", first_valid_epoch}};
  BurnStatus status = BURN_OK;
  char folder[BURN_PATH_BYTES];
  for (size_t i = 0; i < 2 && status == BURN_OK; i++) {
    ClearContext clear = {folder, splits[i].first_epoch};
    snprintf(folder, sizeof folder, "%.*s/%s", BURN_ARTIFACT_BYTES, artifact_dir, splits[i].name);
    status = burn__folder_list(folder, clear_one, &clear);
  }
  return status;
}
