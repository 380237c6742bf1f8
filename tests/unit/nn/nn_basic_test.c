/* nn_basic_test.c - layers without parameters: identity, noise, pixels, distances, windows as columns, resampling. */
#include "nn_gradients.h"

#include "basic_golden.h"

static void test_identity(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnIdentity m = burn_identity_init();
  BurnTensor *x = nn_pattern(device, BURN_SHAPE(2, 3), 1), *y = burn_identity_forward(&m, burn_clone(x));
  double same = 0;
  nn_assert_shape(y, BURN_SHAPE(2, 3));
  assert_string_equal("ok", burn_status_message(burn_read_scalar(burn_all(burn_equal(x, y)), &same)));
  assert_true(same == 1);
}

/* Nothing on the plain device; N(0, 0.5^2) on the training device, other numbers each time. */
static void test_gaussian_noise(void **state) {
  NnDevices *devices = *state;
  enum { COUNT = 20000 };
  static double values[COUNT], again[COUNT];
  const BurnGaussianNoise m = burn_gaussian_noise_new(0.5, devices->training), none = {0}, wrong = {-1};
  const BurnGaussianNoise null = burn_gaussian_noise_init(NULL, devices->plain);
  double mean = 0, square = 0;
  BurnTensor *x = burn_ones(devices->plain, BURN_SHAPE(COUNT), BURN_DTYPE_DEFAULT);
  assert_string_equal("ok", burn_status_message(burn_read_f64(burn_gaussian_noise_forward(&m, x), values, COUNT)));
  for (size_t i = 0; i < COUNT; i++) assert_true(values[i] == 1);
  x = burn_ones(devices->training, BURN_SHAPE(COUNT), BURN_DTYPE_DEFAULT);
  BurnTensor *noisy = burn_gaussian_noise_forward(&m, burn_clone(x));
  assert_string_equal("ok", burn_status_message(burn_read_f64(noisy, values, COUNT)));
  noisy = burn_gaussian_noise_forward(&m, burn_clone(x));
  assert_string_equal("ok", burn_status_message(burn_read_f64(noisy, again, COUNT)));
  assert_true(values[0] != again[0]);
  for (size_t i = 0; i < COUNT; i++) mean += (values[i] - 1) / (double)COUNT;
  for (size_t i = 0; i < COUNT; i++) square += (values[i] - 1) * (values[i] - 1) / (double)COUNT;
  assert_true(fabs(mean) < 0.02 && fabs(sqrt(square) - 0.5) < 0.015);
  assert_string_equal("ok", burn_status_message(burn_read_f64(burn_gaussian_noise_forward(&none, x), values, COUNT)));
  for (size_t i = 0; i < COUNT; i++) assert_true(values[i] == 1);
  nn_assert_failed(burn_gaussian_noise_forward(&wrong, nn_pattern(devices->plain, BURN_SHAPE(2), 1)),
                   "gaussian_noise: std -1 is not a number of 0 or more");
  nn_assert_failed(burn_gaussian_noise_forward(&null, nn_pattern(devices->plain, BURN_SHAPE(2), 1)),
                   "gaussian_noise: config is NULL: BurnGaussianNoiseConfig_defaults(std) makes one");
}

static void test_pixels(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnPixelShuffle up = burn_pixel_shuffle_new(2, device), none = burn_pixel_shuffle_init(NULL, device);
  const BurnPixelUnshuffle down = burn_pixel_unshuffle_new(3, device), zero = burn_pixel_unshuffle_new(0, device);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 8, 2, 3), 1), *y = nn_leaf(device, BURN_SHAPE(2, 2, 6, 3), 1);
  NN_ASSERT_CASE(pixel_shuffle, burn_pixel_shuffle_forward(&up, burn_clone(x)), x);
  NN_ASSERT_CASE(pixel_unshuffle, burn_pixel_unshuffle_forward(&down, burn_clone(y)), y);
  nn_assert_failed(burn_pixel_shuffle_forward(&up, burn_clone(y)),
                   "pixel_shuffle: 2 channels are not a multiple of 2 * 2");
  nn_assert_failed(burn_pixel_unshuffle_forward(&down, burn_clone(x)),
                   "pixel_unshuffle: height 2 and width 3 are not multiples of 3");
  nn_assert_failed(burn_pixel_unshuffle_forward(&zero, burn_clone(x)), "pixel_unshuffle: downscale_factor is 0");
  nn_assert_failed(burn_pixel_shuffle_forward(&none, burn_clone(x)),
                   "pixel_shuffle: config is NULL: BurnPixelShuffleConfig_defaults(upscale_factor) makes one");
  nn_assert_failed(burn_pixel_shuffle_forward(&up, nn_pattern(device, BURN_SHAPE(4, 2), 1)),
                   "pixel_shuffle: rank 4 expected, found 2");
  burn_drop(x);
  burn_drop(y);
}

static void test_distances(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnPairwiseDistance m = burn_pairwise_distance_init(NULL, device);
  BurnCosineSimilarity cosine = burn_cosine_similarity_init(NULL, device);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(3, 5), 1), *y = nn_leaf(device, BURN_SHAPE(3, 5), 2);
  assert_true(m.p == 2 && m.eps == 1e-6 && cosine.dim == 1 && cosine.eps == 1e-8);
  m.eps = 0.01;
  NN_ASSERT_CASE(pairwise_distance, burn_pairwise_distance_forward(&m, burn_clone(x), burn_clone(y)), x, y);
  m.p = 3;
  NN_ASSERT_CASE(pairwise_distance_3, burn_pairwise_distance_forward(&m, burn_clone(x), burn_clone(y)), x, y);
  NN_ASSERT_CASE(cosine_similarity, burn_cosine_similarity_forward(&cosine, burn_clone(x), burn_clone(y)), x, y);
  cosine.dim = -1;
  NN_ASSERT_CASE(cosine_similarity, burn_cosine_similarity_forward(&cosine, burn_clone(x), burn_clone(y)), x, y);
  cosine.dim = 0;
  NN_ASSERT_CASE(cosine_similarity_0, burn_cosine_similarity_forward(&cosine, burn_clone(x), burn_clone(y)), x, y);
  cosine.dim = 2;
  nn_assert_failed(burn_cosine_similarity_forward(&cosine, burn_clone(x), burn_clone(y)),
                   "cosine_similarity: dim 2 is outside -2..1");
  nn_assert_failed(burn_pairwise_distance_forward(&m, burn_clone(x), nn_pattern(device, BURN_SHAPE(1, 5), 1)),
                   "pairwise_distance: x1 [3,5] and x2 [1,5] differ in shape");
  burn_drop(x);
  burn_drop(y);
}

static void test_unfold_and_fold(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnUnfold4dConfig config = BurnUnfold4dConfig_defaults(BURN_SIZE2(2, 3));
  BurnFold4dConfig back = BurnFold4dConfig_defaults(BURN_SIZE2(5, 4), BURN_SIZE2(2, 3));
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 3, 5, 4), 1);
  config.stride = back.stride = BURN_SIZE2(1, 2);
  config.dilation = back.dilation = BURN_SIZE2(2, 1);
  config.padding = back.padding = BURN_SIZE2(1, 1);
  const BurnUnfold4d m = burn_unfold4d_init(&config, device), none = burn_unfold4d_init(NULL, device);
  const BurnFold4d fold = burn_fold4d_init(&back, device);
  BurnTensor *y = burn_unfold4d_forward(&m, burn_clone(x));
  BurnTensor *columns = nn_leaf(device, burn_shape(y), 2);
  NN_ASSERT_CASE(unfold4d, y, x);
  NN_ASSERT_CASE(fold4d, burn_fold4d_forward(&fold, burn_clone(columns)), columns);
  nn_assert_failed(burn_unfold4d_forward(&none, burn_clone(x)),
                   "unfold4d: config is NULL: BurnUnfold4dConfig_defaults(kernel_size) makes one");
  burn_drop(columns);
  burn_drop(x);
}

static void test_interpolate1d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnInterpolate1dConfig config = BurnInterpolate1dConfig_defaults();
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 3, 5), 1);
  assert_true(config.mode == BURN_INTERPOLATE_NEAREST && config.align_corners);
  BurnInterpolate1d m = burn_interpolate1d_init(&config, device);
  nn_assert_failed(burn_interpolate1d_forward(&m, burn_clone(x)),
                   "interpolate1d: give an output size or a scale factor, one of them");
  m.scale_factor = (BurnOptionF64){true, 0.7};
  NN_ASSERT_CASE(line_factor, burn_interpolate1d_forward(&m, burn_clone(x)), x);
  m.output_size = 8;
  nn_assert_failed(burn_interpolate1d_forward(&m, burn_clone(x)),
                   "interpolate1d: give an output size or a scale factor, not both");
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnInterpolate1dConfig, &config),
                                                                  "{\"output_size\": 8, \"mode\": \"Linear\"}")));
  m = burn_interpolate1d_init(&config, device);
  NN_ASSERT_CASE(line_linear, burn_interpolate1d_forward(&m, burn_clone(x)), x);
  m.mode = BURN_INTERPOLATE_BICUBIC;
  NN_ASSERT_CASE(line_cubic, burn_interpolate1d_forward(&m, burn_clone(x)), x);
  m.mode = BURN_INTERPOLATE_NEAREST;
  NN_ASSERT_CASE(line_nearest, burn_interpolate1d_forward(&m, burn_clone(x)), x);
  burn_drop(x);
}

/* The factor is an f32: 0.7 of 10 is 6.9999999 and becomes 6, as in Burn. */
static void test_factor_is_rounded_down(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnInterpolate2d m = {.scale_height = {true, 0.7}, .scale_width = {true, 2.5}};
  BurnTensor *y = burn_interpolate2d_forward(&m, nn_pattern(device, BURN_SHAPE(1, 1, 10, 3), 1));
  nn_assert_shape(y, BURN_SHAPE(1, 1, 6, 7));
  burn_drop(y);
}

static void test_interpolate2d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnInterpolate2dConfig config = BurnInterpolate2dConfig_defaults();
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(1, 2, 4, 3), 2);
  config.output_size = BURN_SIZE2(3, 7);
  BurnInterpolate2d m = burn_interpolate2d_init(&config, device);
  NN_ASSERT_CASE(plane_nearest, burn_interpolate2d_forward(&m, burn_clone(x)), x);
  m.mode = BURN_INTERPOLATE_NEAREST_EXACT;
  NN_ASSERT_CASE(plane_nearest_exact, burn_interpolate2d_forward(&m, burn_clone(x)), x);
  m.mode = BURN_INTERPOLATE_BILINEAR;
  NN_ASSERT_CASE(plane_linear, burn_interpolate2d_forward(&m, burn_clone(x)), x);
  m.align_corners = false;
  NN_ASSERT_CASE(plane_linear_edges, burn_interpolate2d_forward(&m, burn_clone(x)), x);
  m.mode = BURN_INTERPOLATE_BICUBIC;
  m.output_size = BURN_SIZE2(6, 7);
  NN_ASSERT_CASE(plane_cubic, burn_interpolate2d_forward(&m, burn_clone(x)), x);
  burn_drop(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_identity),        cmocka_unit_test(test_gaussian_noise),
      cmocka_unit_test(test_pixels),          cmocka_unit_test(test_distances),
      cmocka_unit_test(test_unfold_and_fold), cmocka_unit_test(test_interpolate1d),
      cmocka_unit_test(test_interpolate2d),   cmocka_unit_test(test_factor_is_rounded_down),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
