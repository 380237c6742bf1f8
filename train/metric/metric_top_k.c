/* metric_top_k.c - Burn's TopKAccuracy. Two numbers leave the device: hits, and targets that count. Burn weighs a batch
 * by its rows, pads too; here the value of an epoch is hits per target that counts. */
#include "metric_rows.h"

#include <math.h>

static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnTopKAccuracyConfig *config = context;
  BurnMetricRows rows;
  BurnStatus status = burn__rows_of_step("top_k_accuracy", input, &rows);
  if (status == BURN_OK && !rows.output) return (BurnMeasured){0};
  if (status == BURN_OK && (config->k < 1 || config->k > (uint64_t)rows.classes)) {
    burn_drop(rows.output);
    burn_drop(rows.targets);
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "top_k_accuracy: k %zu: 1 to %lld classes expected",
                              config->k, (long long)rows.classes);
  }
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  BurnTensor *counts = burn_int(burn__not_pads(rows.targets, config->pad_token));
  BurnTensor *best = burn_argtopk(rows.output, (int64_t)config->k, 1);
  BurnTensor *targets = burn_reshape(burn_cast(rows.targets, burn_dtype(best)), BURN_SHAPE(rows.count, 1));
  BurnTensor *hits = burn_reshape(burn_sum_dim(burn_int(burn_equal(best, targets)), 1), BURN_SHAPE(rows.count));
  hits = burn_sum(burn_mul(hits, burn_clone(counts)));
  BurnTensor *const numbers[] = {hits, burn_sum(counts)};
  return (BurnMeasured){.numbers = burn_cat(numbers, 2, 0), .weight = (double)rows.count};
}

static double value(const void *config, const double *numbers, size_t count, double weight) {
  (void)config, (void)weight;
  return count == 2 ? numbers[0] / numbers[1] : (double)NAN;
}

static const BurnMetricInterface top_k_metric = {
    .name = "TopKAccuracy", .unit = "%", .scale = 100, .measure = measure, .value = value};

BurnMetric burn_metric_top_k_accuracy(const BurnTopKAccuracyConfig *config) {
  return (BurnMetric){config ? &top_k_metric : NULL, config, NULL}; /* a run refuses it: k has no default */
}
