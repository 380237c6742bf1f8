/* metric_images.h - what metrics of pictures share. */
#ifndef BURN_TRAIN_METRIC_IMAGES_H
#define BURN_TRAIN_METRIC_IMAGES_H

#include <burn/train/metric.h>

/* "output" and "targets" of a step as floats [items, ..] of one shape and of `rank` or more axes; both are given. The
 * weight is the number of items, and 0, with nothing given, where the step lacks one; where they do not fit, `numbers`
 * is the failure. */
BurnMeasured burn__metric_images(const char *metric, const BurnMetricInput *input, uint32_t rank, BurnTensor **output,
                                 BurnTensor **targets);

#endif
