/* metric_perplexity.c - Burn's Perplexity. Two numbers leave the device: the sum of negative log-likelihoods and the
 * number of targets that count; so the value of an epoch is that of all its targets, not a mean of exponentials. */
#include "metric_make.h"
#include "metric_rows.h"

#include <math.h>

static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnTokenConfig *config = context;
  BurnMetricRows rows;
  const BurnStatus status = burn__rows_of_step("perplexity", input, &rows);
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  if (!rows.output) return (BurnMeasured){0};
  /* Halves cannot hold the sum of a batch. */
  const BurnDType dtype = burn_dtype(rows.output) == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  BurnTensor *counts = burn_cast(burn__not_pads(rows.targets, config->pad_token), dtype);
  /* A pad need not be a class: it looks at class 0 instead, and what it finds is left out. */
  BurnTensor *places = burn_mul(rows.targets, burn_cast(burn_clone(counts), burn_dtype(rows.targets)));
  BurnTensor *logs = burn_log_softmax(burn_cast(rows.output, dtype), 1);
  logs = burn_reshape(burn_gather(logs, 1, burn_reshape(places, BURN_SHAPE(rows.count, 1))), BURN_SHAPE(rows.count));
  BurnTensor *pads = burn_equal_scalar(burn_clone(counts), 0);
  BurnTensor *const numbers[] = {burn_sum(burn_mask_fill(burn_neg(logs), pads, 0)), burn_sum(counts)};
  return (BurnMeasured){.numbers = burn_cat(numbers, 2, 0), .weight = (double)rows.count};
}

static double value(const void *config, const double *numbers, size_t count, double weight) {
  (void)config, (void)weight;
  return count == 2 ? exp(numbers[0] / numbers[1]) : (double)NAN;
}

static const BurnMetricInterface perplexity_metric = {
    .name = "Perplexity", .unit = "", .scale = 1, .measure = measure, .value = value};

BurnMetric burn_metric_perplexity(const BurnTokenConfig *config) {
  return burn__metric(&perplexity_metric, config, BurnTokenConfig_type());
}
