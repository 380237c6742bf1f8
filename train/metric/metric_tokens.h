/* metric_tokens.h - what metrics of sequences of tokens share: predictions beside targets, and where they end. */
#ifndef BURN_TRAIN_METRIC_TOKENS_H
#define BURN_TRAIN_METRIC_TOKENS_H

#include <burn/train/metric.h>

/* "predictions" of a step, or where "output" [n, length, classes] is largest, and after each row that of "targets": int
 * [n, 2 length]. The weight is n; 0 where the step lacks one. What does not fit is a failure in `numbers`. */
BurnMeasured burn__tokens_measure(const char *metric, const BurnMetricInput *input);

/* Puts the tokens that count at the front, and returns their number: those that are not a pad, or those before the
 * first one. A pad below 0: all. */
size_t burn__tokens_without_pads(double *tokens, size_t count, double pad, bool ends_there);

#endif
