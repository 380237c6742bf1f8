/* metric_confusion.h - hits, predicted and there, per class: what precision, recall and F-beta are made of. */
#ifndef BURN_TRAIN_METRIC_CONFUSION_H
#define BURN_TRAIN_METRIC_CONFUSION_H

#include <burn/train/metric.h>

/* int [rows, classes] of targets [n], or of [n, classes] with 0 and 1. */
BurnTensor *burn__targets_by_class(const BurnTensor *targets, int64_t rows, int64_t classes);

/* Whether output is [n, classes] and targets are [n] or [n, classes]; `metric` is for the message. */
BURN_USE_RESULT BurnStatus burn__classes_check(const char *metric, const BurnTensor *output, const BurnTensor *targets);

/* Three counts per class, all hits first, then how often each was predicted, then how often it was there. */
BurnMeasured burn__confusion_measure(const char *metric, size_t top_k, double threshold, const BurnMetricInput *input);

/* A score of hits, predicted and there; NaN: it does not count. */
typedef double (*BurnConfusionScore)(const void *config, double hits, double predicted, double there);

/* The score of the counts of all classes (micro), or the mean of those of the classes; NaN if none counts. */
double burn__confusion_value(bool micro, const double *numbers, size_t count, BurnConfusionScore score,
                             const void *config);

#endif
