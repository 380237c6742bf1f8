/* metric_ssim.h - what SSIM and MS-SSIM share. */
#ifndef BURN_TRAIN_METRIC_SSIM_H
#define BURN_TRAIN_METRIC_SSIM_H

#include <burn/train/metric.h>

/* "output" and "targets" of a step as single channels [n channels, 1, height, width], which windows fit into also where
 * they are shrunk so many times; else as burn__metric_images. */
bool burn__ssim_pictures(const char *metric, const BurnSsimConfig *config, int64_t shrunk, const BurnMetricInput *input,
                         BurnMeasured *measured, BurnTensor **x, BurnTensor **y);

/* Takes such pictures and gives two maps of their windows: of the means (luminance), and of variances and covariance
 * (contrast and structure), whose product is SSIM. */
void burn__ssim_maps(const BurnSsimConfig *config, BurnTensor *x, BurnTensor *y, BurnTensor **luminance,
                     BurnTensor **contrast);

#endif
