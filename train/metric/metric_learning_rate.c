/* metric_learning_rate.c - a metric of the host: nothing is read from the device. */
#include <burn/train/metric.h>

#include <math.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  return (BurnMeasured){.number = input->learning_rate, .weight = isnan(input->learning_rate) ? 0 : 1};
}

static const BurnMetricInterface learning_rate_metric = {
    .name = "LearningRate", .unit = "", .scale = 1, .measure = measure};

BurnMetric burn_metric_learning_rate(void) { return (BurnMetric){.table = &learning_rate_metric}; }
