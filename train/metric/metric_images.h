/* metric_images.h - what metrics of pictures share. */
#ifndef BURN_TRAIN_METRIC_IMAGES_H
#define BURN_TRAIN_METRIC_IMAGES_H

#include <burn/train/metric.h>

/* "output" and "targets" of a step as floats [items, ..] of one shape and of `rank` or more axes. True with both given
 * and the number of items as the weight of `measured`. False with neither given: then `measured` is the answer, with
 * weight 0 where the step lacks one and with a failure in `numbers` where they do not fit. */
bool burn__metric_images(const char *metric, const BurnMetricInput *input, uint32_t rank, BurnMeasured *measured,
                         BurnTensor **output, BurnTensor **targets);

#endif
