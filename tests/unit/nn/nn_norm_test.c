/* nn_norm_test.c - group, instance, root mean square and local response norms: values, gradients, halves, refusals. */
#include "nn_gradients.h"

#include "norm_golden.h"

static void test_group_norm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnGroupNormConfig config = BurnGroupNormConfig_defaults(3, 6);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 6, 3, 2), 1);
  assert_true(config.epsilon == 1e-5 && config.affine);
  config.epsilon = 0.01;
  BurnGroupNorm m = burn_group_norm_init(&config, device);
  nn_set_pattern(&m.gamma, 2);
  nn_set_pattern(&m.beta, 3);
  NN_ASSERT_CASE(group_norm, burn_group_norm_forward(&m, burn_clone(x)), x, m.gamma.value, m.beta.value);
  BurnGroupNorm_release(&m);
  config = BurnGroupNormConfig_defaults(2, 6);
  config.affine = false;
  m = burn_group_norm_init(&config, device);
  assert_true(!m.gamma.value && !m.beta.value);
  NN_ASSERT_CASE(group_norm_plain, burn_group_norm_forward(&m, burn_clone(x)), x);
  burn_drop(x);
}

static void test_instance_norm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 6, 3, 2), 1), *line = nn_leaf(device, BURN_SHAPE(2, 6, 5), 4);
  BurnInstanceNorm m = burn_instance_norm_new(6, device);
  NN_ASSERT_CASE(instance_norm_plain, burn_instance_norm_forward(&m, burn_clone(line)), line);
  nn_set_pattern(&m.gamma, 2);
  nn_set_pattern(&m.beta, 3);
  NN_ASSERT_CASE(instance_norm, burn_instance_norm_forward(&m, burn_clone(x)), x, m.gamma.value, m.beta.value);
  BurnInstanceNorm_release(&m);
  burn_drop(line);
  burn_drop(x);
}

static void test_rms_norm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnRmsNormConfig config = BurnRmsNormConfig_defaults(5);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 3, 5), 1);
  assert_true(config.epsilon == 1e-5);
  config.epsilon = 0.01;
  BurnRmsNorm m = burn_rms_norm_init(&config, device);
  nn_set_pattern(&m.gamma, 2);
  NN_ASSERT_CASE(rms_norm, burn_rms_norm_forward(&m, burn_clone(x)), x, m.gamma.value);
  BurnRmsNorm_release(&m);
  burn_drop(x);
}

static void test_local_response_norm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnLocalResponseNorm odd = {3, 0.3, 0.6, 2}, even = {4, 0.3, 0.75, 1}, wide = {7, 0.5, 0.75, 1};
  const BurnLocalResponseNorm defaults = burn_local_response_norm_new(5, device);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 5, 3), 1), *plane = nn_leaf(device, BURN_SHAPE(2, 5, 2, 2), 2);
  assert_true(defaults.size == 5 && defaults.alpha == 1e-4 && defaults.beta == 0.75 && defaults.k == 1);
  NN_ASSERT_CASE(local_response_norm, burn_local_response_norm_forward(&odd, burn_clone(x)), x);
  NN_ASSERT_CASE(local_response_norm_even, burn_local_response_norm_forward(&even, burn_clone(x)), x);
  NN_ASSERT_CASE(local_response_norm_plane, burn_local_response_norm_forward(&wide, burn_clone(plane)), plane);
  burn_drop(x);
  burn_drop(plane);
}

/* Squares of 300 overflow f16, and so do sums of 300 elements of 300: only f32 statistics give these values. */
static void test_halves(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnShape shape = BURN_SHAPE(1, 1, 300);
  float values[300];
  double found[300];
  for (size_t i = 0; i < 300; i++) values[i] = i % 2 ? 300.0f : 200.0f;
  BurnGroupNormConfig config = BurnGroupNormConfig_defaults(1, 1);
  config.affine = false;
  const BurnGroupNorm group = burn_group_norm_init(&config, device);
  BurnTensor *x = burn_cast(burn_tensor_f32(device, values, shape), BURN_DTYPE_F16);
  BurnTensor *y = burn_group_norm_forward(&group, burn_clone(x));
  assert_int_equal(BURN_DTYPE_F16, burn_dtype(y));
  assert_string_equal("ok", burn_status_message(burn_read_f64(y, found, 300)));
  for (size_t i = 0; i < 300; i++) assert_true(fabs(found[i] - (i % 2 ? 1 : -1)) < 1e-3);
  BurnRmsNorm rms = burn_rms_norm_new(300, device);
  burn_param_set(&rms.gamma, burn_cast(burn_param_value(&rms.gamma), BURN_DTYPE_F16));
  y = burn_rms_norm_forward(&rms, burn_clone(x));
  assert_int_equal(BURN_DTYPE_F16, burn_dtype(y));
  assert_string_equal("ok", burn_status_message(burn_read_f64(y, found, 300)));
  for (size_t i = 0; i < 300; i++) assert_true(fabs(found[i] - (double)values[i] / sqrt(65000)) < 2e-3);
  const BurnLocalResponseNorm local = {1, 1, 0.5, 0};
  y = burn_local_response_norm_forward(&local, x);
  assert_string_equal("ok", burn_status_message(burn_read_f64(y, found, 300)));
  for (size_t i = 0; i < 300; i++) assert_true(fabs(found[i] - 1) < 1e-3);
  BurnRmsNorm_release(&rms);
}

static void test_refused(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnGroupNorm groups = burn_group_norm_new(4, 6, device), right = burn_group_norm_new(2, 6, device);
  BurnInstanceNorm none = burn_instance_norm_init(NULL, device);
  BurnRmsNormConfig config = BurnRmsNormConfig_defaults(3);
  config.epsilon = 0;
  BurnRmsNorm rms = burn_rms_norm_init(&config, device), rms3 = burn_rms_norm_new(3, device);
  const BurnLocalResponseNorm empty = {0, 1, 1, 1}, local = burn_local_response_norm_init(NULL, device);
  assert_string_equal("gamma: group_norm: num_groups 4 does not divide num_channels 6",
                      burn_status_message(burn_module_status(burn_module(BurnGroupNorm, &groups))));
  nn_assert_failed(burn_group_norm_forward(&right, nn_pattern(device, BURN_SHAPE(2, 6), 1)),
                   "group_norm: rank 3 or more expected, found 2");
  nn_assert_failed(burn_group_norm_forward(&right, nn_pattern(device, BURN_SHAPE(2, 5, 2), 1)),
                   "group_norm: axis 1 has 5 channels, num_channels is 6");
  nn_assert_failed(burn_instance_norm_forward(&none, nn_pattern(device, BURN_SHAPE(2, 6, 2), 1)),
                   "instance_norm: config is NULL: BurnInstanceNormConfig_defaults(num_channels) makes one");
  nn_assert_failed(burn_rms_norm_forward(&rms, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "rms_norm: epsilon 0 is not above 0");
  nn_assert_failed(burn_rms_norm_forward(&rms3, nn_pattern(device, BURN_SHAPE(2, 4), 1)),
                   "rms_norm: the last axis has 4 features, d_model is 3");
  nn_assert_failed(burn_local_response_norm_forward(&empty, nn_pattern(device, BURN_SHAPE(2, 4, 1), 1)),
                   "local_response_norm: size is 0");
  nn_assert_failed(burn_local_response_norm_forward(&local, nn_pattern(device, BURN_SHAPE(2, 4, 1), 1)),
                   "local_response_norm: config is NULL: BurnLocalResponseNormConfig_defaults(size) makes one");
  BurnGroupNorm_release(&groups);
  BurnGroupNorm_release(&right);
  BurnInstanceNorm_release(&none);
  BurnRmsNorm_release(&rms);
  BurnRmsNorm_release(&rms3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_group_norm),          cmocka_unit_test(test_instance_norm), cmocka_unit_test(test_rms_norm),
      cmocka_unit_test(test_local_response_norm), cmocka_unit_test(test_halves),        cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
