/* nn_gram_matrix_test.c - GramMatrixLoss on a VGG19 with numbers that golden/make_gram_matrix_golden.py makes too. */
#include "nn_gradients.h"

#include "gram_matrix_golden.h"

enum { LAYERS = 13 };

static void set_numbers(BurnParam *param, uint32_t k, double scale) {
  const size_t count = (size_t)burn_element_count(param->value);
  float *values = malloc(count * sizeof *values);
  assert_non_null(values);
  for (size_t i = 0; i < count; i++) {
    uint32_t x = (uint32_t)i * 2654435761u + k * 40503u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    values[i] = (float)(((double)x / 4294967296.0 - 0.5) * scale);
  }
  burn_param_set(param, burn_tensor_f32(burn_tensor_device(param->value), values, burn_shape(param->value)));
  free(values);
}

static BurnGramMatrixLoss make_loss(bool use_avg_pool, BurnDevice *device) {
  BurnGramMatrixLossConfig config = BurnGramMatrixLossConfig_defaults(5000, 1e4, 0, 2e4, 3e4);
  config.use_avg_pool = use_avg_pool;
  BurnGramMatrixLoss m = burn_gram_matrix_loss_init(&config, device);
  BurnVgg19 *v = &m.feat_extractor;
  BurnConv2d *layers[LAYERS] = {&v->conv1_1, &v->conv1_2, &v->conv2_1, &v->conv2_2, &v->conv3_1,
                                &v->conv3_2, &v->conv3_3, &v->conv3_4, &v->conv4_1, &v->conv4_2,
                                &v->conv4_3, &v->conv4_4, &v->conv5_1};
  for (uint32_t i = 0; i < LAYERS; i++) {
    const double fan_in = 9 * (double)burn_dim(layers[i]->weight.value, 1);
    set_numbers(&layers[i]->weight, 2 * i, sqrt(24 / fan_in));
    set_numbers(&layers[i]->bias, 2 * i + 1, 0.2);
  }
  return m;
}

static BurnTensor *image_of(BurnTensor *x) { return burn_add_scalar(burn_mul_scalar(x, 0.25), 0.5); }

static BurnTensor *image(BurnDevice *device, int k) {
  return image_of(nn_pattern(device, BURN_SHAPE(1, 3, 16, 16), k));
}

/* Two images, the first of them x (stays). */
static BurnTensor *images(const BurnTensor *x, int second) {
  BurnTensor *both[] = {image_of(burn_clone(x)), image(burn_tensor_device(x), second)};
  return burn_cat(both, 2, 0);
}

/* f32 sums over 4608 products in each of the last layers. */
static const double TOLERANCE = 1e-4;

static void test_values_and_gradients(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnGramMatrixLoss m = make_loss(false, device);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(1, 3, 16, 16), 1), *t = nn_pattern(device, BURN_SHAPE(1, 3, 16, 16), 3);
  BurnTensor *loss = burn_gram_matrix_loss_forward_no_reduction(&m, images(x, 2), images(t, 4));
  nn_assert_case("gram_matrix", loss, &x, 1, golden_gram_matrix,
                 sizeof golden_gram_matrix / sizeof golden_gram_matrix[0], TOLERANCE);
  assert_false(burn_is_require_grad(m.feat_extractor.conv1_1.weight.value));
  burn_drop(x);
  burn_drop(t);
  BurnGramMatrixLoss_release(&m);
}

static void test_average_pools_and_mean(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnGramMatrixLoss m = make_loss(true, device);
  BurnTensor *x = nn_pattern(device, BURN_SHAPE(1, 3, 16, 16), 1), *t = nn_pattern(device, BURN_SHAPE(1, 3, 16, 16), 3);
  BurnTensor *loss = burn_gram_matrix_loss_forward(&m, images(x, 2), images(t, 4), BURN_REDUCTION_AUTO);
  const double mean = (golden_gram_matrix_avg[0] + golden_gram_matrix_avg[1]) / 2;
  nn_assert_values("avg", loss, &mean, 1, TOLERANCE);
  assert_int_equal(12944960, burn_module_num_params(burn_module(BurnGramMatrixLoss, &m)));
  burn_drop(x);
  burn_drop(t);
  BurnGramMatrixLoss_release(&m);
}

static void test_refused(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnGramMatrixLoss m = burn_gram_matrix_loss_new(1, 1, -1, 1, 1, device);
  nn_assert_failed(burn_gram_matrix_loss_forward(&m, image(device, 1), image(device, 2), BURN_REDUCTION_MEAN),
                   "conv2d: gram_matrix_loss: layer weight -1 is not a number of 0 or more");
  nn_assert_failed(
      burn_gram_matrix_loss_forward(&m, image(device, 1), nn_pattern(device, BURN_SHAPE(3), 1), BURN_REDUCTION_MEAN),
      "gram_matrix_loss: predictions [1,3,16,16] and targets [3] differ in shape");
  BurnTensor *small = nn_pattern(device, BURN_SHAPE(1, 3, 8, 8), 1);
  nn_assert_failed(burn_gram_matrix_loss_forward(&m, burn_clone(small), small, BURN_REDUCTION_MEAN),
                   "gram_matrix_loss: images [batch, 3, height, width] of 16 x 16 or more expected, found [1,3,8,8]");
  BurnGramMatrixLoss_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_and_gradients),
      cmocka_unit_test(test_average_pools_and_mean),
      cmocka_unit_test(test_refused),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, nn_setup, nn_teardown));
}
