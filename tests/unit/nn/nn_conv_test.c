/* nn_conv_test.c - convolutions over volumes, transposed and deformable ones, pooling over volumes: values and
 * gradients against PyTorch, JSON, refusals. */
#include "nn_gradients.h"

#include "conv_golden.h"

static void test_conv3d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnConv3dConfig config = BurnConv3dConfig_defaults(BURN_SIZE2(4, 6), BURN_SIZE3(2, 3, 2));
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 4, 3, 4, 3), 1);
  config.groups = 2;
  config.stride = BURN_SIZE3(1, 2, 1);
  config.dilation = BURN_SIZE3(2, 1, 1);
  config.padding = (BurnPadding3d)BURN_PADDING_3D(1, 1, 0);
  BurnConv3d m = burn_conv3d_init(&config, device);
  nn_set_pattern(&m.weight, 2);
  nn_set_pattern(&m.bias, 3);
  NN_ASSERT_CASE(conv3d, burn_conv3d_forward(&m, burn_clone(x)), x, m.weight.value, m.bias.value);
  m.stride = m.dilation = BURN_SIZE3(1, 1, 1);
  m.padding = (BurnPadding3d)BURN_PADDING_SAME;
  BurnTensor *y = burn_conv3d_forward(&m, burn_clone(x));
  nn_assert_shape(y, BURN_SHAPE(2, 6, 3, 4, 3));
  NN_ASSERT_CASE(conv3d_same, y, x, m.weight.value, m.bias.value);
  BurnConv3d_release(&m);
  burn_drop(x);
}

static void test_conv_transpose1d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnConvTranspose1dConfig config = BurnConvTranspose1dConfig_defaults(BURN_SIZE2(4, 6), 3);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(1, 4, 5), 1);
  config.groups = 2;
  config.stride = 2;
  config.padding = 1;
  config.padding_out = 1;
  config.dilation = 2;
  BurnConvTranspose1d m = burn_conv_transpose1d_init(&config, device);
  nn_set_pattern(&m.weight, 2);
  nn_set_pattern(&m.bias, 3);
  NN_ASSERT_CASE(conv_transpose1d, burn_conv_transpose1d_forward(&m, burn_clone(x)), x, m.weight.value, m.bias.value);
  BurnConvTranspose1d_release(&m);
  burn_drop(x);
}

static void test_conv_transpose3d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnConvTranspose3dConfig config = BurnConvTranspose3dConfig_defaults(BURN_SIZE2(4, 6), BURN_SIZE3(2, 2, 3));
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(1, 4, 2, 3, 2), 1);
  config.groups = 2;
  config.stride = BURN_SIZE3(1, 2, 2);
  config.padding = BURN_SIZE3(1, 0, 1);
  config.padding_out = BURN_SIZE3(0, 1, 0);
  config.dilation = BURN_SIZE3(2, 1, 1);
  BurnConvTranspose3d m = burn_conv_transpose3d_init(&config, device);
  nn_assert_shape(m.weight.value, BURN_SHAPE(4, 3, 2, 2, 3));
  nn_set_pattern(&m.weight, 2);
  nn_set_pattern(&m.bias, 3);
  NN_ASSERT_CASE(conv_transpose3d, burn_conv_transpose3d_forward(&m, burn_clone(x)), x, m.weight.value, m.bias.value);
  BurnConvTranspose3d_release(&m);
  burn_drop(x);
}

/* No tap lies on a pixel, where the gradient jumps. */
static BurnTensor *between_pixels(const BurnTensor *offset) {
  return burn_add_scalar(burn_mul_scalar(burn_clone(offset), 0.37), 0.013);
}

static void test_deform_conv2d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnDeformConv2dConfig config = BurnDeformConv2dConfig_defaults(BURN_SIZE2(4, 2), BURN_SIZE2(2, 3));
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(1, 4, 5, 4), 1), *offset = nn_leaf(device, BURN_SHAPE(1, 24, 3, 4), 4);
  BurnTensor *mask = nn_leaf(device, BURN_SHAPE(1, 12, 3, 4), 5);
  config.stride = BURN_SIZE2(2, 1);
  config.weight_groups = config.offset_groups = 2;
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 1, 1, 1);
  BurnDeformConv2d m = burn_deform_conv2d_init(&config, device);
  nn_set_pattern(&m.weight, 2);
  nn_set_pattern(&m.bias, 3);
  NN_ASSERT_CASE(deform_conv2d, burn_deform_conv2d_forward(&m, burn_clone(x), between_pixels(offset), burn_clone(mask)),
                 x, offset, m.weight.value, mask, m.bias.value);
  BurnDeformConv2d_release(&m);
  burn_drop(mask);
  burn_drop(offset);
  config = BurnDeformConv2dConfig_defaults(BURN_SIZE2(4, 2), BURN_SIZE2(2, 2));
  config.padding = (BurnPadding2d)BURN_PADDING_SAME;
  offset = nn_leaf(device, BURN_SHAPE(1, 8, 5, 4), 4);
  m = burn_deform_conv2d_init(&config, device);
  nn_set_pattern(&m.weight, 2);
  nn_set_pattern(&m.bias, 3);
  NN_ASSERT_CASE(deform_conv2d_same, burn_deform_conv2d_forward(&m, burn_clone(x), between_pixels(offset), NULL), x,
                 offset, m.weight.value, m.bias.value);
  BurnDeformConv2d_release(&m);
  burn_drop(offset);
  burn_drop(x);
}

static void test_adaptive_avg_pool3d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnAdaptiveAvgPool3d m = burn_adaptive_avg_pool3d_new(BURN_SIZE3(2, 3, 2), device);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(1, 2, 5, 4, 3), 1);
  NN_ASSERT_CASE(adaptive_avg_pool3d, burn_adaptive_avg_pool3d_forward(&m, burn_clone(x)), x);
  burn_drop(x);
}

static void test_json(void **state) {
  const char *json =
      "{\"channels\": [3, 8], \"kernel_size\": [1, 3, 5], \"stride\": [1, 2, 3],"
      " \"padding\": {\"Explicit\": [0, 1, 2]}}";
  BurnConv3dConfig config = BurnConv3dConfig_defaults(BURN_SIZE2(0, 0), BURN_SIZE3(0, 0, 0));
  (void)state;
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnConv3dConfig, &config), json)));
  assert_true(config.kernel_size.at[2] == 5 && config.stride.at[1] == 2 && config.dilation.at[2] == 1 && config.bias);
  assert_int_equal(BURN_PADDING_KIND_EXPLICIT, config.padding.kind);
  assert_true(config.padding.depth == 0 && config.padding.height == 1 && config.padding.width == 2);
  char *text = burn_config_text(burn_config(BurnConv3dConfig, &config));
  assert_non_null(strstr(text, "\"kernel_size\": [1, 3, 5]"));
  free(text);
}

static void test_refused(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnDeformConv2dConfig config = BurnDeformConv2dConfig_defaults(BURN_SIZE2(4, 2), BURN_SIZE2(2, 3));
  BurnConv3dConfig volume = BurnConv3dConfig_defaults(BURN_SIZE2(4, 2), BURN_SIZE3(0, 1, 1));
  BurnConvTranspose1d none = burn_conv_transpose1d_init(NULL, device);
  const BurnAdaptiveAvgPool3d pool = burn_adaptive_avg_pool3d_init(NULL, device);
  config.offset_groups = 3;
  BurnDeformConv2d deform = burn_deform_conv2d_init(&config, device);
  BurnConv3d conv = burn_conv3d_init(&volume, device);
  assert_string_equal("weight: deform_conv2d: offset_groups 3 does not divide channels_in 4",
                      burn_status_message(burn_module_status(burn_module(BurnDeformConv2d, &deform))));
  config.offset_groups = 1;
  config.weight_groups = 3;
  BurnDeformConv2d weights = burn_deform_conv2d_init(&config, device);
  assert_string_equal("weight: deform_conv2d: weight_groups 3 does not divide channels_in 4",
                      burn_status_message(burn_module_status(burn_module(BurnDeformConv2d, &weights))));
  BurnDeformConv2d_release(&weights);
  assert_string_equal("weight: conv3d: kernel depth is 0",
                      burn_status_message(burn_module_status(burn_module(BurnConv3d, &conv))));
  nn_assert_failed(
      burn_conv_transpose1d_forward(&none, nn_pattern(device, BURN_SHAPE(1, 2, 3), 1)),
      "conv_transpose1d: config is NULL: BurnConvTranspose1dConfig_defaults(channels, kernel_size) makes one");
  nn_assert_failed(burn_adaptive_avg_pool3d_forward(&pool, nn_pattern(device, BURN_SHAPE(1, 2, 3, 3, 3), 1)),
                   "adaptive_avg_pool3d: config is NULL: BurnAdaptiveAvgPool3dConfig_defaults(output_size) makes one");
  BurnDeformConv2d_release(&deform);
  BurnConv3d_release(&conv);
  BurnConvTranspose1d_release(&none);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv3d),
      cmocka_unit_test(test_conv_transpose1d),
      cmocka_unit_test(test_conv_transpose3d),
      cmocka_unit_test(test_deform_conv2d),
      cmocka_unit_test(test_adaptive_avg_pool3d),
      cmocka_unit_test(test_json),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
