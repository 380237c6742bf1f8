/* metric_scores.h - what metrics share that need the scores of all rows of an epoch at once, each class against the
 * rest: they are appended, each row as its scores and then 0 or 1 for each class. */
#ifndef BURN_TRAIN_METRIC_SCORES_H
#define BURN_TRAIN_METRIC_SCORES_H

#include <burn/train/metric.h>

/* A row, or a row's class: its score, and whether it is of the class. */
typedef struct BurnScored {
  double score;
  bool positive;
} BurnScored;

/* Of items by score, the lowest first; NaN: they do not count. */
typedef double BurnScore(const BurnScored *items, size_t count);

/* "output" [n, classes] and "targets" of a step, to be appended. */
BurnMeasured burn__scores_measure(const char *metric, const BurnMetricInput *input);

/* The score of all classes as one (micro), or the mean of those of the classes that count; 0.5 if none does, NaN if
 * there is one among the numbers. */
double burn__scores_value(bool micro, const double *numbers, size_t count, double weight, BurnScore *score);

#endif
