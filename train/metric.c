/* metric.c - loss and accuracy of one pass: averages over items, and the logs that Burn keeps per epoch,
 *
 *   {artifact_dir}/train/epoch-{n}/Loss.log        value,count     one line per batch
 *                                  Accuracy.log    value,final     last, when the epoch is complete
 *
 * with the accuracy in percent. What is read back from the device is one number per metric and batch. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"

BurnStatus burn__metrics_begin(BurnMetrics *metrics, const char *artifact_dir, const char *split, size_t epoch) {
  int length;
  memset(metrics, 0, sizeof *metrics);
  metrics->loss.name = "Loss";
  metrics->loss.scale = 1;
  metrics->accuracy.name = "Accuracy";
  metrics->accuracy.scale = 100;
  if (!artifact_dir) return BURN_OK;
  length = snprintf(metrics->folder, sizeof metrics->folder, "%s/%s/epoch-%zu", artifact_dir, split, epoch);
  if (length < 0 || (size_t)length >= sizeof metrics->folder) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "artifact_dir of %zu bytes is too long", strlen(artifact_dir));
  }
  return burn_folder_make(metrics->folder);
}

double burn__metric_mean(const BurnMetric *metric) { return metric->items > 0 ? metric->sum / metric->items : (double)NAN; }

static BurnStatus metric_open(BurnMetric *metric, const char *folder) {
  char path[BURN_PATH_BYTES + 32];
  snprintf(path, sizeof path, "%s/%s.log", folder, metric->name);
  metric->log = fopen(path, "w");
  if (metric->log) return BURN_OK;
  return burn_status_make(BURN_STATUS_IO, "cannot write %s: %s", path, strerror(errno));
}

static BurnStatus metric_add(BurnMetric *metric, const char *folder, double value, size_t items) {
  metric->sum += value * (double)items;
  metric->items += (double)items;
  if (!folder[0]) return BURN_OK;
  if (!metric->log) {
    const BurnStatus status = metric_open(metric, folder);
    if (status != BURN_OK) return status;
  }
  fprintf(metric->log, "%.9g,%zu\n", value * metric->scale, items);
  return BURN_OK;
}

/* Takes both. The share of rows of output [n, classes] whose largest entry is at their target [n]. */
static BurnStatus accuracy_of(BurnTensor *output, BurnTensor *targets, double *accuracy) {
  const int64_t rows = burn_dim(targets, 0);
  BurnStatus status = burn_tensor_status(output);
  BurnTensor *hits;
  if (status == BURN_OK) status = burn_tensor_status(targets);
  if (status == BURN_OK && (burn_rank(output) != 2 || burn_rank(targets) != 1 || burn_dim(output, 0) != rows || rows == 0)) {
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
  if (status == BURN_OK) status = metric_add(&metrics->loss, metrics->folder, loss, items);
  if (status != BURN_OK || !output.output || !output.targets) {
    burn_drop(output.output);
    burn_drop(output.targets);
    return status;
  }
  status = accuracy_of(output.output, output.targets, &accuracy);
  return status == BURN_OK ? metric_add(&metrics->accuracy, metrics->folder, accuracy, items) : status;
}

static BurnStatus metric_end(BurnMetric *metric, const char *folder) {
  bool written;
  if (!metric->log) return BURN_OK;
  written = fprintf(metric->log, "%.9g,final\n", burn__metric_mean(metric) * metric->scale) > 0 && !ferror(metric->log);
  written = fclose(metric->log) == 0 && written;
  metric->log = NULL;
  return written ? BURN_OK : burn_status_make(BURN_STATUS_IO, "cannot write %s/%s.log", folder, metric->name);
}

BurnStatus burn__metrics_end(BurnMetrics *metrics) {
  const BurnStatus loss = metric_end(&metrics->loss, metrics->folder);
  const BurnStatus accuracy = metric_end(&metrics->accuracy, metrics->folder);
  return loss != BURN_OK ? loss : accuracy;
}

typedef struct ClearContext {
  const char *folder;
  size_t first_epoch;
} ClearContext;

static BurnStatus clear_one(void *context, const char *name) {
  static const char *const logs[] = {"/Loss.log", "/Accuracy.log", ""}; /* at last the folder, if nothing else is in it */
  const ClearContext *clear = context;
  char path[BURN_PATH_BYTES + 320];
  size_t i;
  if (strncmp(name, "epoch-", 6) != 0 || strtoull(name + 6, NULL, 10) < clear->first_epoch) return BURN_OK;
  for (i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    snprintf(path, sizeof path, "%s/%s%s", clear->folder, name, logs[i]);
    if (remove(path) != 0 && errno != ENOENT && logs[i][0]) {
      return burn_status_make(BURN_STATUS_IO, "cannot remove %s: %s", path, strerror(errno));
    }
  }
  return BURN_OK;
}

BurnStatus burn__metrics_clear(const char *artifact_dir, size_t first_epoch) {
  static const char *const splits[] = {"train", "valid"};
  BurnStatus status = BURN_OK;
  char folder[BURN_PATH_BYTES];
  size_t i;
  for (i = 0; i < 2 && status == BURN_OK; i++) {
    ClearContext clear = {folder, first_epoch};
    snprintf(folder, sizeof folder, "%s/%s", artifact_dir, splits[i]);
    status = burn__folder_list(folder, clear_one, &clear);
  }
  return status;
}
