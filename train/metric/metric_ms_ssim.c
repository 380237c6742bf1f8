/* metric_ms_ssim.c - Burn's MS-SSIM: SSIM at several scales (Wang, Simoncelli, Bovik: Multi-scale structural similarity
 * for image quality assessment, 2003, equation 7, with alpha, beta and gamma of a scale equal). */
#include "metric_make.h"
#include "metric_ssim.h"

enum { MAX_SCALES = 5 };

/* Their table: found by comparing with what people say. */
static const double weights[MAX_SCALES] = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333};

static BurnTensor *halved(BurnTensor *x) { return burn_avg_pool2d(x, BURN_POOL2D_OPTIONS(2, 2)); }

/* The mean of a map [m, 1, h, w] over its windows, to the power of a weight: [m]. What is below 0, where no power is,
 * counts as 0. */
static BurnTensor *weighted(BurnTensor *map, double weight) {
  const int64_t count = burn_dim(map, 0);
  BurnTensor *mean = burn_mean_dim(burn_flatten(map, 1, 3), 1);
  return burn_powf_scalar(burn_clamp_min(burn_reshape(mean, BURN_SHAPE(count)), 0), weight);
}

/* [m]: the product over the scales, of which the last one has the luminance, too. Takes x and y [m, 1, h, w]. */
static BurnTensor *score_of(const BurnSsimConfig *window, size_t scales, BurnTensor *x, BurnTensor *y) {
  BurnTensor *score = NULL, *luminance, *contrast;
  for (size_t scale = 0; scale < scales; scale++) {
    const bool last = scale + 1 == scales;
    burn__ssim_maps(window, burn_clone(x), burn_clone(y), &luminance, &contrast);
    if (last) {
      contrast = burn_mul(contrast, luminance);
    } else {
      burn_drop(luminance);
      x = halved(x);
      y = halved(y);
    }
    BurnTensor *part = weighted(contrast, weights[scale]);
    score = score ? burn_mul(score, part) : part;
  }
  burn_drop(x);
  burn_drop(y);
  return score;
}

static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnMsSsimConfig *config = context;
  const BurnSsimConfig window = {.pixel_range = config->pixel_range,
                                 .k1 = config->k1,
                                 .k2 = config->k2,
                                 .kernel_size = config->kernel_size,
                                 .sigma = config->sigma};
  BurnMeasured measured;
  BurnTensor *x, *y;
  if (config->scales < 1 || config->scales > MAX_SCALES) {
    const BurnStatus status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "ms_ssim: %zu scales: 1 to %d expected",
                                               (size_t)config->scales, (int)MAX_SCALES);
    return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  }
  const int64_t shrunk = (int64_t)1 << (config->scales - 1);
  if (!burn__ssim_pictures("ms_ssim", &window, shrunk, input, &measured, &x, &y)) return measured;
  measured.numbers = burn_mul_scalar(burn_mean(score_of(&window, config->scales, x, y)), measured.weight);
  return measured;
}

static const BurnMetricInterface ms_ssim_metric = {.name = "MS-SSIM", .unit = "", .scale = 1, .measure = measure};

BurnMetric burn_metric_ms_ssim(const BurnMsSsimConfig *config) {
  return burn__metric(&ms_ssim_metric, config, BurnMsSsimConfig_type());
}
