/* metric_ssim.c - Burn's SSIM: the structural similarity of pictures (Wang, Bovik, Sheikh, Simoncelli: Image quality
 * assessment, 2004, equation 13), in windows of Gaussian weights. */
#include "metric_ssim.h"
#include "metric_make.h"

#include "metric_images.h"

#include <math.h>

enum { MAX_SIDE = 101 };

/* Weights of a window [1, 1, side, side], whose sum is 1. */
static BurnTensor *window_of(const BurnSsimConfig *config, BurnDevice *device) {
  float line[MAX_SIDE], window[MAX_SIDE * MAX_SIDE];
  const size_t side = config->kernel_size;
  double sum = 0, weights[MAX_SIDE];
  for (size_t i = 0; i < side; i++) {
    const double x = ((double)i - (double)(side - 1) / 2) / config->sigma;
    sum += weights[i] = exp(-x * x / 2);
  }
  for (size_t i = 0; i < side; i++) line[i] = (float)(weights[i] / sum);
  for (size_t i = 0; i < side * side; i++) window[i] = line[i / side] * line[i % side];
  return burn_float(burn_tensor_f32(device, window, BURN_SHAPE(1, 1, (int64_t)side, (int64_t)side)));
}

/* Of both, which stay the caller's. */
static BurnTensor *product(BurnTensor *x, BurnTensor *y) { return burn_mul(burn_clone(x), burn_clone(y)); }

/* Five means in each window, of x, y, xx, yy and xy [m, 1, h, w], by one convolution; to means[0 .. 4]. */
static void local_means(const BurnSsimConfig *config, BurnTensor *x, BurnTensor *y, BurnTensor *means[5]) {
  const int64_t count = burn_dim(x, 0);
  BurnTensor *const parts[] = {x, y, product(x, x), product(y, y), product(x, y)};
  BurnTensor *all = burn_cat(parts, 5, 0);
  BurnTensor *window = window_of(config, burn_tensor_device(all));
  all = burn_conv2d(all, window, NULL, BURN_CONV2D_OPTIONS);
  for (int64_t i = 0; i < 5; i++) means[i] = burn_narrow(burn_clone(all), 0, i * count, count);
  burn_drop(all);
}

/* (2 xy + c) / (x^2 + y^2 + c) of what is given: xy and x^2 + y^2. */
static BurnTensor *likeness(BurnTensor *both, BurnTensor *squares, double c) {
  return burn_div(burn_add_scalar(burn_mul_scalar(both, 2), c), burn_add_scalar(squares, c));
}

void burn__ssim_maps(const BurnSsimConfig *config, BurnTensor *x, BurnTensor *y, BurnTensor **luminance,
                     BurnTensor **contrast) {
  BurnTensor *means[5];
  const double c1 = config->k1 * config->pixel_range, c2 = config->k2 * config->pixel_range;
  local_means(config, x, y, means);
  BurnTensor *squares = burn_add(product(means[0], means[0]), product(means[1], means[1]));
  BurnTensor *both = product(means[0], means[1]);
  burn_drop(means[0]);
  burn_drop(means[1]);
  BurnTensor *variances = burn_sub(burn_add(means[2], means[3]), burn_clone(squares));
  BurnTensor *covariance = burn_sub(means[4], burn_clone(both));
  *luminance = likeness(both, squares, c1 * c1);
  *contrast = likeness(covariance, variances, c2 * c2);
}

static BurnMeasured refused(const char *metric, const BurnSsimConfig *config, BurnShape shape, int64_t shrunk) {
  const BurnStatus status = burn_status_make(
      BURN_STATUS_INVALID_ARGUMENT,
      "%s: windows of %zu on pictures %s: an odd side of at most %d, in [n, channels, height, width] no smaller%s",
      metric, config->kernel_size, burn_shape_text(shape).text, (int)MAX_SIDE,
      shrunk > 1 ? " after they are halved for each scale but the first" : "");
  return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
}

bool burn__ssim_pictures(const char *metric, const BurnSsimConfig *config, int64_t shrunk, const BurnMetricInput *input,
                         BurnMeasured *measured, BurnTensor **x, BurnTensor **y) {
  if (!burn__metric_images(metric, input, 4, measured, x, y)) return false;
  const BurnShape shape = burn_shape(*x);
  const int64_t side = (int64_t)config->kernel_size;
  if (shape.rank != 4 || side % 2 == 0 || side > MAX_SIDE || shape.dims[2] / shrunk < side ||
      shape.dims[3] / shrunk < side) {
    burn_drop(*x);
    burn_drop(*y);
    *measured = refused(metric, config, shape, shrunk);
    return false;
  }
  const BurnShape single = BURN_SHAPE(shape.dims[0] * shape.dims[1], 1, shape.dims[2], shape.dims[3]);
  *x = burn_reshape(*x, single);
  *y = burn_reshape(*y, single);
  return true;
}

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  BurnMeasured measured;
  BurnTensor *x, *y, *luminance, *contrast;
  if (!burn__ssim_pictures("ssim", config, 1, input, &measured, &x, &y)) return measured;
  burn__ssim_maps(config, x, y, &luminance, &contrast);
  measured.numbers = burn_mul_scalar(burn_mean(burn_mul(luminance, contrast)), measured.weight);
  return measured;
}

static const BurnMetricInterface ssim_metric = {.name = "SSIM", .unit = "", .scale = 1, .measure = measure};

BurnMetric burn_metric_ssim(const BurnSsimConfig *config) {
  return burn__metric(&ssim_metric, config, BurnSsimConfig_type());
}
