/* metric_rows.h - output [.., classes] and targets [..] of a step as rows; and targets that are pads. */
#ifndef BURN_TRAIN_METRIC_ROWS_H
#define BURN_TRAIN_METRIC_ROWS_H

#include <burn/train/metric.h>

/* Both of a step, the caller's: output [n, classes], integer targets [n]. */
typedef struct BurnMetricRows {
  BurnTensor *output, *targets; /* NULL: the step lacks them, or they are refused */
  int64_t count, classes;
} BurnMetricRows;

/* Takes both. */
BURN_USE_RESULT BurnStatus burn__rows_of(const char *metric, BurnTensor *output, BurnTensor *targets,
                                         BurnMetricRows *rows);
/* Of the step, which keeps its own; without output or integer targets it has none. */
BURN_USE_RESULT BurnStatus burn__rows_of_step(const char *metric, const BurnMetricInput *input, BurnMetricRows *rows);

/* bool, where the targets (borrowed) are not pads; pads are the targets `pad_token`, if that is not below 0. */
BurnTensor *burn__not_pads(BurnTensor *targets, int64_t pad_token);

#endif
