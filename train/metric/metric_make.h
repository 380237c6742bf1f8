/* metric_make.h - a metric of ours and its config. */
#ifndef BURN_TRAIN_METRIC_MAKE_H
#define BURN_TRAIN_METRIC_MAKE_H

#include <burn/reflect.h>
#include <burn/train/metric.h>

/* `type` is that of the config, which has no required rows: NULL is its defaults. */
static inline BurnMetric burn__metric(const BurnMetricInterface *table, const void *config, const BurnType *type) {
  return (BurnMetric){table, config ? config : type->defaults, NULL};
}

#endif
