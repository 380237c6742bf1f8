/* metric_auroc.c - Burn's AUROC. Burn compares all pairs of rows on the device; the ranks of sorted scores give the
 * same number (Mann and Whitney) without a table of rows times rows. */
#include "metric_make.h"
#include "metric_scores.h"

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  return burn__scores_measure("auroc", input);
}

/* NaN if all are of one kind. */
static double area(const BurnScored *items, size_t count) {
  double negatives = 0, positives = 0, won = 0;
  for (size_t begin = 0, end; begin < count; begin = end) {
    double equal_negatives = 0, equal_positives = 0;
    for (end = begin; end < count && items[begin].score == items[end].score; end++) {
      if (items[end].positive)
        equal_positives++;
      else
        equal_negatives++;
    }
    won += equal_positives * (negatives + 0.5 * equal_negatives);
    positives += equal_positives;
    negatives += equal_negatives;
  }
  return won / (positives * negatives);
}

static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnAurocConfig *config = context;
  return burn__scores_value(config->micro, numbers, count, weight, area);
}

static const BurnMetricInterface auroc_metric = {
    .name = "AUROC", .unit = "%", .scale = 100, .measure = measure, .value = value};

BurnMetric burn_metric_auroc(const BurnAurocConfig *config) {
  return burn__metric(&auroc_metric, config, BurnAurocConfig_type());
}
