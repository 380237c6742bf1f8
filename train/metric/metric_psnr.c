/* metric_psnr.c - Burn's PSNR: the peak signal-to-noise ratio of pictures, in decibels. */
#include <math.h>

#include "metric_images.h"
#include "metric_make.h"

/* 10 log10(peak^2 / mean squared error) of each picture: the device has natural logarithms. */
static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnPsnrConfig *config = context;
  BurnMeasured measured;
  BurnTensor *output, *targets;
  if (!burn__metric_images("psnr", input, 2, &measured, &output, &targets)) return measured;
  BurnTensor *error = burn_square(burn_sub(output, targets));
  error = burn_mean_dim(burn_flatten(error, 1, (int)burn_rank(error) - 1), 1);
  error = burn_log(burn_clamp_min(error, config->eps));
  const double decibels = 10 / log(10), peak = 2 * log(config->max_pixel_value);
  measured.numbers = burn_mul_scalar(burn_sum(burn_add_scalar(burn_neg(error), peak)), decibels);
  return measured;
}

static const BurnMetricInterface psnr_metric = {.name = "PSNR", .unit = "dB", .scale = 1, .measure = measure};

BurnMetric burn_metric_psnr(const BurnPsnrConfig *config) {
  return burn__metric(&psnr_metric, config, BurnPsnrConfig_type());
}
