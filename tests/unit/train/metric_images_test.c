/* metric_images_test.c - PSNR, SSIM, MS-SSIM and Dice against their definitions, computed window by window in f64, and where they are
 * known: equal pictures, pictures of one grey, errors of one size. */
#include "metric_evaluate.h"

enum { ITEMS = 3, CHANNELS = 2, HEIGHT = 14, WIDTH = 13, PIXELS = CHANNELS * HEIGHT * WIDTH };

static BurnStepOutput picture_step(void *context, const void *module, BurnBatch *batch) {
  (void)context, (void)module;
  BurnTensor *output = burn_batch_take(batch, "output");
  BurnTensor *loss = burn_mean(burn_clone(output));
  return burn_regression_output(loss, output, burn_batch_take(batch, "targets"));
}

static BurnStatus try_metric(BurnDevice *device, const float *output, const float *targets, BurnShape shape,
                             size_t batch_size, BurnMetric metric, double *value) {
  const BurnColumn columns[] = {{"output", BURN_DTYPE_F32, shape}, {"targets", BURN_DTYPE_F32, shape}};
  const BurnMetricList metrics = {&metric, 1};
  const BurnTask task = {picture_step, NULL};
  BurnStatus status = BURN_OK;
  BurnEpochResult result;
  BurnDataset *data = burn_dataset_memory(columns, 2, (const void *const[]){output, targets}, ITEMS, &status);
  BurnLoader *loader = burn_loader_create(data, &(BurnLoaderConfig){.batch_size = batch_size}, &status);
  check_status(status);
  status = burn_learner_evaluate(&task, device, (BurnModule){NULL, NULL}, loader, &metrics, &result);
  *value = burn_epoch_metric(&result, metric.table->name, BURN_SPLIT_VALID);
  burn_loader_destroy(loader);
  return status;
}

/* However the pictures come in batches. */
static void assert_value(BurnDevice *device, const float *output, const float *targets, BurnMetric metric,
                         double expected, double bound) {
  for (size_t batch_size = 1; batch_size <= ITEMS; batch_size++) {
    double value = -1;
    check_status(try_metric(device, output, targets, BURN_SHAPE(CHANNELS, HEIGHT, WIDTH), batch_size, metric, &value));
    if (!(fabs(value - expected) <= bound)) fail_msg("batches of %zu: %.9g, not %.9g", batch_size, value, expected);
  }
}

/* Pictures with structure, and others that are like them, each to another degree. */
static void fill(float *output, float *targets) {
  for (size_t i = 0; i < (size_t)ITEMS * PIXELS; i++) {
    const size_t x = i % WIDTH, y = i / WIDTH % HEIGHT;
    targets[i] = 0.5f + 0.4f * sinf(0.7f * (float)x) * cosf(0.4f * (float)y);
    output[i] = targets[i] + 0.1f * (float)(1 + i / PIXELS) * ((float)(i * 37 % 101) / 100 - 0.5f);
  }
}

static void fill_with(float *pictures, float value) {
  for (size_t i = 0; i < (size_t)ITEMS * PIXELS; i++) pictures[i] = value;
}

static double psnr_of(const float *output, const float *targets, double peak) {
  double sum = 0;
  for (size_t item = 0; item < ITEMS; item++) {
    double error = 0;
    for (size_t i = item * PIXELS; i < (item + 1) * PIXELS; i++)
      error += pow((double)output[i] - (double)targets[i], 2) / (double)PIXELS;
    sum += 10 * log10(peak * peak / error);
  }
  return sum / (double)ITEMS;
}

static void psnr_is_as_defined(void **state) {
  static float output[ITEMS * PIXELS], targets[ITEMS * PIXELS];
  BurnPsnrConfig config = BurnPsnrConfig_defaults();
  fill(output, targets);
  assert_value(*state, output, targets, burn_metric_psnr(&config), psnr_of(output, targets, 1), 1e-3);
  config.max_pixel_value = 255;
  assert_value(*state, output, targets, burn_metric_psnr(&config), psnr_of(output, targets, 255), 1e-3);
}

/* An error of a tenth of the largest value is 20 dB; no error at all counts as 1e-10, which is 100 dB. */
static void psnr_where_it_is_known(void **state) {
  static float output[ITEMS * PIXELS], targets[ITEMS * PIXELS];
  const BurnPsnrConfig config = BurnPsnrConfig_defaults();
  fill_with(targets, 0.5f);
  fill_with(output, 0.6f);
  assert_value(*state, output, targets, burn_metric_psnr(&config), 20, 1e-4);
  assert_value(*state, targets, targets, burn_metric_psnr(&config), 100, 1e-4);
}

/* Weighted means of x, y, xx, yy, xy in the window at a place of pictures of a width. */
static void window_means(const float *x, const float *y, size_t width, size_t side, double sigma, double means[5]) {
  double sum = 0;
  memset(means, 0, 5 * sizeof *means);
  for (size_t i = 0; i < side * side; i++) {
    const double down = (double)(i / side) - (double)(side / 2), across = (double)(i % side) - (double)(side / 2);
    const double weight = exp(-(down * down + across * across) / (2 * sigma * sigma));
    const double a = (double)x[i / side * width + i % side], b = (double)y[i / side * width + i % side];
    const double products[] = {a, b, a * a, b * b, a * b};
    for (size_t k = 0; k < 5; k++) means[k] += weight * products[k];
    sum += weight;
  }
  for (size_t k = 0; k < 5; k++) means[k] /= sum;
}

/* Means over the windows of a picture: of contrast and structure, and of all of SSIM. */
static void ssim_means(const float *x, const float *y, size_t height, size_t width, size_t side, double sigma,
                       double range, double *contrast, double *ssim) {
  const double c1 = pow(0.01 * range, 2), c2 = pow(0.03 * range, 2);
  double windows = 0, m[5];
  *contrast = *ssim = 0;
  for (size_t at = 0; at < height * width; at++) {
    if (at / width + side > height || at % width + side > width) continue;
    window_means(x + at, y + at, width, side, sigma, m);
    const double squares = m[0] * m[0] + m[1] * m[1], both = m[0] * m[1];
    const double here = (2 * (m[4] - both) + c2) / (m[2] + m[3] - squares + c2);
    *contrast += here;
    *ssim += here * (2 * both + c1) / (squares + c1);
    windows++;
  }
  *contrast /= windows;
  *ssim /= windows;
}

static double ssim_of(const float *output, const float *targets, size_t side, double sigma, double range) {
  double sum = 0, contrast, ssim;
  for (size_t plane = 0; plane < (size_t)ITEMS * CHANNELS; plane++) {
    const size_t start = plane * HEIGHT * WIDTH;
    ssim_means(output + start, targets + start, HEIGHT, WIDTH, side, sigma, range, &contrast, &ssim);
    sum += ssim / (double)(ITEMS * CHANNELS);
  }
  return sum;
}

static void ssim_is_as_defined(void **state) {
  static float output[ITEMS * PIXELS], targets[ITEMS * PIXELS];
  BurnSsimConfig config = BurnSsimConfig_defaults();
  fill(output, targets);
  assert_value(*state, output, targets, burn_metric_ssim(&config), ssim_of(output, targets, 11, 1.5, 1), 1e-4);
  config.kernel_size = 5;
  config.sigma = 0.8;
  config.pixel_range = 2;
  assert_value(*state, output, targets, burn_metric_ssim(&config), ssim_of(output, targets, 5, 0.8, 2), 1e-4);
}

/* Equal pictures are 1. Of two greys only the term of the means is left: (2 ab + c1) / (a^2 + b^2 + c1). */
static void ssim_where_it_is_known(void **state) {
  static float output[ITEMS * PIXELS], targets[ITEMS * PIXELS];
  const BurnSsimConfig config = BurnSsimConfig_defaults();
  fill(output, targets);
  assert_value(*state, targets, targets, burn_metric_ssim(&config), 1, 1e-5);
  fill_with(output, 0.25f);
  fill_with(targets, 0.75f);
  assert_value(*state, output, targets, burn_metric_ssim(&config), (2 * 0.1875 + 1e-4) / (0.625 + 1e-4), 1e-3);
}

/* Means of four pixels; a last row or column without a partner is left out. */
static void halve(const float *from, float *to) {
  for (size_t i = 0; i < (size_t)(HEIGHT / 2) * (WIDTH / 2); i++) {
    const float *at = from + i / (WIDTH / 2) * 2 * WIDTH + i % (WIDTH / 2) * 2;
    to[i] = (at[0] + at[1] + at[WIDTH] + at[WIDTH + 1]) / 4;
  }
}

/* Two scales by the definition: contrast and structure of the first, all of the second, to the powers of the paper. */
static void ms_ssim_is_as_defined(void **state) {
  static float output[ITEMS * PIXELS], targets[ITEMS * PIXELS];
  float x[HEIGHT * WIDTH], y[HEIGHT * WIDTH];
  const BurnMsSsimConfig config = {1, 0.01, 0.03, 5, 0.8, 2}, single = {1, 0.01, 0.03, 5, 0.8, 1};
  double expected = 0, first = 0, contrast, ssim, other;
  fill(output, targets);
  for (size_t plane = 0; plane < (size_t)ITEMS * CHANNELS; plane++) {
    const size_t start = plane * HEIGHT * WIDTH;
    ssim_means(output + start, targets + start, HEIGHT, WIDTH, 5, 0.8, 1, &contrast, &other);
    first += pow(other, 0.0448) / (double)(ITEMS * CHANNELS);
    halve(output + start, x);
    halve(targets + start, y);
    ssim_means(x, y, HEIGHT / 2, WIDTH / 2, 5, 0.8, 1, &other, &ssim);
    expected += pow(contrast, 0.0448) * pow(ssim, 0.2856) / (double)(ITEMS * CHANNELS);
  }
  assert_value(*state, output, targets, burn_metric_ms_ssim(&config), expected, 1e-4);
  assert_value(*state, output, targets, burn_metric_ms_ssim(&single), first, 1e-4);
  assert_value(*state, targets, targets, burn_metric_ms_ssim(&config), 1, 1e-5);
}

static void ms_ssim_refuses_small_pictures(void **state) {
  static float output[ITEMS * PIXELS];
  BurnMsSsimConfig config = {1, 0.01, 0.03, 5, 0.8, 3};
  double value;
  const BurnShape shape = BURN_SHAPE(CHANNELS, HEIGHT, WIDTH);
  BurnStatus status = try_metric(*state, output, output, shape, ITEMS, burn_metric_ms_ssim(&config), &value);
  assert_non_null(strstr(burn_status_message(status), "ms_ssim: windows of 5 on pictures [3,2,14,13]: an odd side"));
  assert_non_null(strstr(burn_status_message(status), "no smaller after they are halved for each scale but the first"));
  config.scales = 6;
  status = try_metric(*state, output, output, shape, ITEMS, burn_metric_ms_ssim(&config), &value);
  assert_non_null(strstr(burn_status_message(status), "ms_ssim: 6 scales: 1 to 5 expected"));
}

/* Masks of two classes, of which the first is the background: the cases of Burn's DiceMetric, and sums over an epoch. */
static void dice_is_as_defined(void **state) {
  static float output[ITEMS * PIXELS], targets[ITEMS * PIXELS];
  BurnDiceConfig config = BurnDiceConfig_defaults();
  double all[2] = {0, 0}, front[2] = {0, 0}; /* of both; of each */
  for (size_t i = 0; i < (size_t)ITEMS * PIXELS; i++) {
    output[i] = i % 3 == 0;
    targets[i] = i * 5 % 7 < 3;
    double *const sums[] = {all, i / (HEIGHT * WIDTH) % CHANNELS > 0 ? front : NULL};
    for (size_t k = 0; k < 2 && sums[k]; k++) {
      sums[k][0] += (double)(output[i] * targets[i]);
      sums[k][1] += (double)(output[i] + targets[i]);
    }
  }
  assert_value(*state, output, targets, burn_metric_dice(&config), 2 * front[0] / front[1], 1e-7);
  config.include_background = true;
  assert_value(*state, output, targets, burn_metric_dice(&config), 2 * all[0] / all[1], 1e-7);
  assert_value(*state, targets, targets, burn_metric_dice(&config), 1, 1e-7);
  fill_with(output, 0);
  assert_value(*state, output, targets, burn_metric_dice(&config), 0, 1e-7);
  assert_value(*state, output, output, burn_metric_dice(&config), 1, 0);
  double value;
  const BurnStatus status =
      try_metric(*state, output, output, BURN_SHAPE(1, HEIGHT, WIDTH), ITEMS, burn_metric_dice(&config), &value);
  assert_non_null(strstr(burn_status_message(status), "dice: there is a background with two classes or more"));
}

static void what_does_not_fit_is_refused(void **state) {
  static float output[ITEMS * PIXELS];
  BurnSsimConfig config = BurnSsimConfig_defaults();
  double value;
  BurnStatus status =
      try_metric(*state, output, output, BURN_SHAPE(1, 10, 20), ITEMS, burn_metric_ssim(&config), &value);
  assert_non_null(strstr(burn_status_message(status), "ssim: windows of 11 on pictures [3,1,10,20]: an odd side"));
  config.kernel_size = 4;
  status = try_metric(*state, output, output, BURN_SHAPE(1, 10, 20), ITEMS, burn_metric_ssim(&config), &value);
  assert_non_null(strstr(burn_status_message(status), "ssim: windows of 4 on"));
  status = try_metric(*state, output, output, BURN_SHAPE(20), ITEMS, burn_metric_ssim(&config), &value);
  assert_non_null(strstr(burn_status_message(status), "ssim: output [3,20] and targets [3,20]: pictures of one shape"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(psnr_is_as_defined),    cmocka_unit_test(psnr_where_it_is_known),
      cmocka_unit_test(ssim_is_as_defined),    cmocka_unit_test(ssim_where_it_is_known),
      cmocka_unit_test(ms_ssim_is_as_defined), cmocka_unit_test(ms_ssim_refuses_small_pictures),
      cmocka_unit_test(dice_is_as_defined),    cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
