/* metric_auc_pr.c - Burn's AUC-PR: the average precision, the sum of (R_n - R_(n-1)) P_n over thresholds, from the
 * highest score down. Equal scores are one threshold, as in scikit-learn's average_precision_score. */
#include "metric_make.h"
#include "metric_scores.h"

#include <math.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  return burn__scores_measure("auc_pr", input);
}

/* NaN if there is no positive. */
static double average_precision(const BurnScored *items, size_t count) {
  double positives = 0, seen = 0, sum = 0;
  for (size_t end = count, begin; end > 0; end = begin) {
    double here = 0;
    for (begin = end; begin > 0 && items[begin - 1].score == items[end - 1].score; begin--) {
      here += items[begin - 1].positive;
    }
    seen += (double)(end - begin);
    positives += here;
    sum += here * positives / seen;
  }
  return positives > 0 ? sum / positives : (double)NAN;
}

static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnAucPrConfig *config = context;
  return burn__scores_value(config->micro, numbers, count, weight, average_precision);
}

static const BurnMetricInterface auc_pr_metric = {
    .name = "AUC-PR", .unit = "%", .scale = 100, .measure = measure, .value = value};

BurnMetric burn_metric_auc_pr(const BurnAucPrConfig *config) {
  return burn__metric(&auc_pr_metric, config, BurnAucPrConfig_type());
}
