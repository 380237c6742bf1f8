/* metric_accuracy.c - the share of rows whose largest entry is at their target. What leaves the device is the number of
 * hits; where targets may be pads, of targets that count, too. */
#include "metric_make.h"
#include "metric_rows.h"

#include <math.h>

static BurnStatus check(const BurnTensor *output, const BurnTensor *targets) {
  const int64_t rows = burn_dim(targets, 0), found = burn_dim(output, 0);
  const uint32_t rank = burn_rank(output), targets_rank = burn_rank(targets);
  if (rank == 2 && targets_rank == 1 && found == rows && rows > 0) return BURN_OK;
  return burn_status_make(
      BURN_STATUS_INVALID_SHAPE,
      "accuracy: output of rank %u with %lld rows and targets of rank %u with %lld: [n, classes] and "
      "[n] expected",
      (unsigned)rank, (long long)found, (unsigned)targets_rank, (long long)rows);
}

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  BurnTensor *output = burn_step_get(input->output, "output"), *targets = burn_step_get(input->output, "targets");
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) != BURN_KIND_INT) return (BurnMeasured){0};
  const BurnStatus status = check(output, targets);
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  const int64_t rows = burn_dim(targets, 0);
  BurnTensor *best = burn_reshape(burn_argmax(burn_clone(output), 1), BURN_SHAPE(rows));
  best = burn_equal(burn_cast(best, burn_dtype(targets)), burn_clone(targets));
  return (BurnMeasured){.numbers = burn_sum(burn_int(best)), .weight = (double)rows};
}

static const BurnMetricInterface accuracy_metric = {.name = "Accuracy", .unit = "%", .scale = 100, .measure = measure};

BurnMetric burn_metric_accuracy(void) { return (BurnMetric){.table = &accuracy_metric}; }

/* -- of tokens -------------------------------------------------------------------------------- */

static BurnMeasured measure_tokens(const void *context, const BurnMetricInput *input) {
  const BurnTokenConfig *config = context;
  BurnMetricRows rows;
  const BurnStatus status = burn__rows_of_step("accuracy", input, &rows);
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  if (!rows.output) return (BurnMeasured){0};
  BurnTensor *counts = burn_int(burn__not_pads(rows.targets, config->pad_token));
  BurnTensor *best = burn_reshape(burn_argmax(rows.output, 1), BURN_SHAPE(rows.count));
  BurnTensor *hits = burn_int(burn_equal(burn_cast(best, burn_dtype(rows.targets)), rows.targets));
  hits = burn_sum(burn_mul(hits, burn_clone(counts)));
  BurnTensor *const numbers[] = {hits, burn_sum(counts)};
  return (BurnMeasured){.numbers = burn_cat(numbers, 2, 0), .weight = (double)rows.count};
}

static double tokens_value(const void *config, const double *numbers, size_t count, double weight) {
  (void)config, (void)weight;
  return count == 2 ? numbers[0] / numbers[1] : (double)NAN;
}

static const BurnMetricInterface token_accuracy_metric = {
    .name = "Accuracy", .unit = "%", .scale = 100, .measure = measure_tokens, .value = tokens_value};

BurnMetric burn_metric_token_accuracy(const BurnTokenConfig *config) {
  return burn__metric(&token_accuracy_metric, config, BurnTokenConfig_type());
}
