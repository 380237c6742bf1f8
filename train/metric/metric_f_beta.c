/* metric_f_beta.c - Burn's FBetaScore. */
#include "metric_confusion.h"
#include "metric_make.h"

static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnFBetaConfig *config = context;
  if (config->beta >= 0) return burn__confusion_measure("f_beta", config->top_k, config->threshold, input);
  const BurnStatus status =
      burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "f_beta: beta %g, 0 or more expected", config->beta);
  return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
}

/* NaN if there is nothing to divide by; such classes are not in the mean of the others. */
static double score(const void *context, double hits, double predicted, double there) {
  const double beta = ((const BurnFBetaConfig *)context)->beta;
  const double square = beta * beta, scaled = (1 + square) * hits;
  return scaled / (scaled + square * (there - hits) + (predicted - hits));
}

static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnFBetaConfig *config = context;
  (void)weight;
  return burn__confusion_value(config->micro, numbers, count, score, config);
}

static const BurnMetricInterface f_beta_metric = {
    .name = "FBetaScore", .unit = "%", .scale = 100, .measure = measure, .value = value};

BurnMetric burn_metric_f_beta(const BurnFBetaConfig *config) {
  return burn__metric(&f_beta_metric, config, BurnFBetaConfig_type());
}
