/* metric_precision_recall.c - Burn's Precision and Recall. A class with nothing to divide by has 0, and counts. */
#include "metric_confusion.h"
#include "metric_make.h"

static BurnMeasured measure_precision(const void *context, const BurnMetricInput *input) {
  const BurnConfusionConfig *config = context;
  return burn__confusion_measure("precision", config->top_k, config->threshold, input);
}

static BurnMeasured measure_recall(const void *context, const BurnMetricInput *input) {
  const BurnConfusionConfig *config = context;
  return burn__confusion_measure("recall", config->top_k, config->threshold, input);
}

static double precision_score(const void *config, double hits, double predicted, double there) {
  (void)config, (void)there;
  return predicted > 0 ? hits / predicted : 0;
}

static double recall_score(const void *config, double hits, double predicted, double there) {
  (void)config, (void)predicted;
  return there > 0 ? hits / there : 0;
}

static double precision(const void *context, const double *numbers, size_t count, double weight) {
  const BurnConfusionConfig *config = context;
  (void)weight;
  return burn__confusion_value(config->micro, numbers, count, precision_score, config);
}

static double recall(const void *context, const double *numbers, size_t count, double weight) {
  const BurnConfusionConfig *config = context;
  (void)weight;
  return burn__confusion_value(config->micro, numbers, count, recall_score, config);
}

static const BurnMetricInterface precision_metric = {
    .name = "Precision", .unit = "%", .scale = 100, .measure = measure_precision, .value = precision};
static const BurnMetricInterface recall_metric = {
    .name = "Recall", .unit = "%", .scale = 100, .measure = measure_recall, .value = recall};

BurnMetric burn_metric_precision(const BurnConfusionConfig *config) {
  return burn__metric(&precision_metric, config, BurnConfusionConfig_type());
}

BurnMetric burn_metric_recall(const BurnConfusionConfig *config) {
  return burn__metric(&recall_metric, config, BurnConfusionConfig_type());
}
