/* nn_layers_test.c - every layer and loss against values computed by PyTorch. */
#include "nn_testing.h"

#include "nn_golden.h"

/* Replaces a parameter by pattern k of the same shape. */
static void set_pattern(BurnParam *param, int k) {
  const BurnShape shape = burn_shape(param->value);
  burn_param_set(param, nn_pattern(burn_tensor_device(param->value), shape, k));
}

static BurnTensor *input_1d(BurnDevice *device) { return nn_pattern(device, BURN_SHAPE(2, 4, 9), 1); }
static BurnTensor *input_2d(BurnDevice *device) { return nn_pattern(device, BURN_SHAPE(2, 4, 7, 6), 1); }

static void test_linear(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnLinearConfig config = BurnLinearConfig_defaults(4, 5);
  BurnLinear m = burn_linear_init(&config, device);
  BurnTensor *y;
  set_pattern(&m.weight, 2);
  set_pattern(&m.bias, 3);
  y = burn_linear_forward(&m, nn_pattern(device, BURN_SHAPE(2, 3, 4), 1));
  nn_assert_shape(y, BURN_SHAPE(2, 3, 5));
  NN_ASSERT_GOLDEN(linear, y);
  BurnLinear_release(&m);
}

static void test_conv1d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnConv1dConfig config = BurnConv1dConfig_defaults(4, 6, 3);
  BurnConv1d m;
  config.groups = 2;
  config.padding = (BurnPadding1d)BURN_PADDING_1D(2, 1);
  m = burn_conv1d_init(&config, device);
  set_pattern(&m.weight, 2);
  set_pattern(&m.bias, 3);
  NN_ASSERT_GOLDEN(conv1d_uneven, burn_conv1d_forward(&m, input_1d(device)));
  m.padding = (BurnPadding1d)BURN_PADDING_1D(1, 1);
  m.stride = 2;
  m.dilation = 2;
  NN_ASSERT_GOLDEN(conv1d, burn_conv1d_forward(&m, input_1d(device)));
  BurnConv1d_release(&m);
}

/* A Conv2d 4 -> 6 in 2 groups with patterned parameters. */
static BurnConv2d conv2d(BurnDevice *device, BurnSize2 kernel_size, BurnSize2 stride, BurnSize2 dilation,
                         BurnPadding2d padding) {
  BurnConv2dConfig config = BurnConv2dConfig_defaults(BURN_SIZE2(4, 6), kernel_size);
  BurnConv2d m;
  config.groups = 2;
  config.stride = stride;
  config.dilation = dilation;
  config.padding = padding;
  m = burn_conv2d_init(&config, device);
  set_pattern(&m.weight, 2);
  set_pattern(&m.bias, 3);
  return m;
}

static void test_conv2d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnConv2d m =
      conv2d(device, BURN_SIZE2(3, 2), BURN_SIZE2(2, 1), BURN_SIZE2(1, 2), (BurnPadding2d)BURN_PADDING_2D(1, 2, 1, 2));
  NN_ASSERT_GOLDEN(conv2d, burn_conv2d_forward(&m, input_2d(device)));
  BurnConv2d_release(&m);
}

static void test_conv2d_uneven(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnConv2d m =
      conv2d(device, BURN_SIZE2(3, 2), BURN_SIZE2(1, 1), BURN_SIZE2(1, 1), (BurnPadding2d)BURN_PADDING_2D(1, 2, 3, 0));
  NN_ASSERT_GOLDEN(conv2d_uneven, burn_conv2d_forward(&m, input_2d(device)));
  BurnConv2d_release(&m);
}

static void test_conv2d_same(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnConv2d m = conv2d(device, BURN_SIZE2(2, 4), BURN_SIZE2(1, 1), BURN_SIZE2(1, 1), (BurnPadding2d)BURN_PADDING_SAME);
  BurnTensor *y = burn_conv2d_forward(&m, input_2d(device));
  nn_assert_shape(y, BURN_SHAPE(2, 6, 7, 6));
  NN_ASSERT_GOLDEN(conv2d_same_even, y);
  BurnConv2d_release(&m);
  m = conv2d(device, BURN_SIZE2(3, 2), BURN_SIZE2(3, 2), BURN_SIZE2(2, 1), (BurnPadding2d)BURN_PADDING_SAME);
  y = burn_conv2d_forward(&m, input_2d(device));
  nn_assert_shape(y, BURN_SHAPE(2, 6, 3, 3));
  NN_ASSERT_GOLDEN(conv2d_same_stride, y);
  BurnConv2d_release(&m);
}

static void test_conv_transpose2d(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnConvTranspose2dConfig config = BurnConvTranspose2dConfig_defaults(BURN_SIZE2(4, 6), BURN_SIZE2(3, 2));
  BurnConvTranspose2d m;
  config.groups = 2;
  config.stride = BURN_SIZE2(2, 3);
  config.padding = BURN_SIZE2(1, 0);
  config.padding_out = BURN_SIZE2(1, 2);
  config.dilation = BURN_SIZE2(1, 2);
  m = burn_conv_transpose2d_init(&config, device);
  nn_assert_shape(m.weight.value, BURN_SHAPE(4, 3, 3, 2));
  set_pattern(&m.weight, 2);
  set_pattern(&m.bias, 3);
  NN_ASSERT_GOLDEN(conv_transpose2d, burn_conv_transpose2d_forward(&m, nn_pattern(device, BURN_SHAPE(1, 4, 3, 4), 1)));
  BurnConvTranspose2d_release(&m);
}

static void test_max_pool(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMaxPool1dConfig config_1d = BurnMaxPool1dConfig_defaults(3);
  BurnMaxPool2dConfig config = BurnMaxPool2dConfig_defaults(BURN_SIZE2(3, 2));
  BurnMaxPool1d pool_1d;
  BurnMaxPool2d m;
  config_1d.padding = (BurnPadding1d)BURN_PADDING_1D(1, 1);
  pool_1d = burn_max_pool1d_init(&config_1d, device);
  assert_int_equal(3, pool_1d.stride);
  NN_ASSERT_GOLDEN(max_pool1d, burn_max_pool1d_forward(&pool_1d, input_1d(device)));
  config.strides = BURN_SIZE2(2, 1);
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 0, 1, 0);
  config.dilation = BURN_SIZE2(1, 2);
  m = burn_max_pool2d_init(&config, device);
  NN_ASSERT_GOLDEN(max_pool2d, burn_max_pool2d_forward(&m, input_2d(device)));
  /* Only negative values: a padded 0 would win. */
  config = BurnMaxPool2dConfig_defaults(BURN_SIZE2(2, 4));
  config.strides = BURN_SIZE2(1, 1);
  config.padding = (BurnPadding2d)BURN_PADDING_SAME;
  m = burn_max_pool2d_init(&config, device);
  NN_ASSERT_GOLDEN(max_pool2d_same_even, burn_max_pool2d_forward(&m, burn_sub_scalar(input_2d(device), 4)));
  config = BurnMaxPool2dConfig_defaults(BURN_SIZE2(2, 4));
  config.ceil_mode = true;
  m = burn_max_pool2d_init(&config, device);
  assert_true(m.stride.at[0] == 2 && m.stride.at[1] == 4);
  NN_ASSERT_GOLDEN(max_pool2d_ceil, burn_max_pool2d_forward(&m, input_2d(device)));
}

static void test_avg_pool(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnAvgPool1dConfig config_1d = BurnAvgPool1dConfig_defaults(2);
  BurnAvgPool2dConfig config = BurnAvgPool2dConfig_defaults(BURN_SIZE2(3, 2));
  BurnAvgPool1d pool_1d;
  BurnAvgPool2d m;
  config_1d.stride = 3;
  config_1d.padding = (BurnPadding1d)BURN_PADDING_1D(1, 1);
  config_1d.count_include_pad = false;
  pool_1d = burn_avg_pool1d_init(&config_1d, device);
  NN_ASSERT_GOLDEN(avg_pool1d, burn_avg_pool1d_forward(&pool_1d, input_1d(device)));
  m = burn_avg_pool2d_init(&config, device);
  NN_ASSERT_GOLDEN(avg_pool2d, burn_avg_pool2d_forward(&m, input_2d(device)));
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 2, 3, 0);
  m = burn_avg_pool2d_init(&config, device);
  NN_ASSERT_GOLDEN(avg_pool2d_uneven, burn_avg_pool2d_forward(&m, input_2d(device)));
  config.strides = BURN_SIZE2(2, 2);
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 1, 1, 1);
  config.count_include_pad = false;
  m = burn_avg_pool2d_init(&config, device);
  NN_ASSERT_GOLDEN(avg_pool2d_exclude, burn_avg_pool2d_forward(&m, input_2d(device)));
}

static void test_adaptive_avg_pool(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnAdaptiveAvgPool1dConfig config_1d = BurnAdaptiveAvgPool1dConfig_defaults(4);
  const BurnAdaptiveAvgPool2dConfig config = BurnAdaptiveAvgPool2dConfig_defaults(BURN_SIZE2(3, 4));
  const BurnAdaptiveAvgPool1d pool_1d = burn_adaptive_avg_pool1d_init(&config_1d, device);
  const BurnAdaptiveAvgPool2d m = burn_adaptive_avg_pool2d_init(&config, device);
  NN_ASSERT_GOLDEN(adaptive_avg_pool1d, burn_adaptive_avg_pool1d_forward(&pool_1d, input_1d(device)));
  NN_ASSERT_GOLDEN(adaptive_avg_pool2d, burn_adaptive_avg_pool2d_forward(&m, input_2d(device)));
}

static void test_layer_norm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnLayerNormConfig config = BurnLayerNormConfig_defaults(5);
  BurnLayerNorm m = burn_layer_norm_init(&config, device);
  set_pattern(&m.gamma, 2);
  set_pattern(&m.beta, 3);
  NN_ASSERT_GOLDEN(layer_norm, burn_layer_norm_forward(&m, nn_pattern(device, BURN_SHAPE(2, 3, 5), 1)));
  BurnLayerNorm_release(&m);
  config.bias = false;
  m = burn_layer_norm_init(&config, device);
  assert_null(m.beta.value);
  set_pattern(&m.gamma, 2);
  NN_ASSERT_GOLDEN(layer_norm_no_bias, burn_layer_norm_forward(&m, nn_pattern(device, BURN_SHAPE(2, 3, 5), 1)));
  BurnLayerNorm_release(&m);
}

/* Two training steps, the running statistics they leave, and inference with them on the inner device. */
static void test_batch_norm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnBatchNormConfig config = BurnBatchNormConfig_defaults(4);
  BurnBatchNorm m = burn_batch_norm_init(&config, device), valid;
  BurnTensor *y;
  set_pattern(&m.gamma, 4);
  set_pattern(&m.beta, 5);
  y = burn_batch_norm_forward(&m, nn_pattern(device, BURN_SHAPE(3, 4, 2, 2), 6));
  nn_assert_shape(y, BURN_SHAPE(3, 4, 2, 2));
  NN_ASSERT_GOLDEN(batch_norm_train_0, y);
  NN_ASSERT_GOLDEN(batch_norm_train_1, burn_batch_norm_forward(&m, nn_pattern(device, BURN_SHAPE(3, 4, 2, 2), 7)));
  NN_ASSERT_GOLDEN(running_mean, burn_buffer_value(&m.running_mean));
  NN_ASSERT_GOLDEN(running_var, burn_buffer_value(&m.running_var));
  valid = BurnBatchNorm_valid(&m);
  NN_ASSERT_GOLDEN(batch_norm_valid,
                   burn_batch_norm_forward(&valid, nn_pattern(burn_device_inner(device), BURN_SHAPE(3, 4, 2, 2), 8)));
  NN_ASSERT_GOLDEN(running_mean, burn_buffer_value(&valid.running_mean));
  BurnBatchNorm_release(&valid);
  NN_ASSERT_GOLDEN(batch_norm_rank2, burn_batch_norm_forward(&m, nn_pattern(device, BURN_SHAPE(5, 4), 9)));
  BurnBatchNorm_release(&m);
}

static void test_embedding(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnEmbeddingConfig config = BurnEmbeddingConfig_defaults(4, 3);
  BurnEmbedding m = burn_embedding_init(&config, device);
  set_pattern(&m.weight, 1);
  NN_ASSERT_GOLDEN(
      embedding, burn_embedding_forward(&m, burn_tensor_i64(device, (int64_t[]){0, 3, 1, 3, 2, 0}, BURN_SHAPE(2, 3))));
  BurnEmbedding_release(&m);
}

static void test_activations(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnShape shape = BURN_SHAPE(23);
  const BurnRelu relu = burn_relu_init();
  const BurnGelu gelu = burn_gelu_init();
  const BurnSigmoid sigmoid = burn_sigmoid_init();
  const BurnTanh tanh_module = burn_tanh_init();
  const BurnSilu silu = burn_silu_init();
  const BurnLeakyReluConfig leaky_config = BurnLeakyReluConfig_defaults();
  const BurnLeakyRelu leaky = burn_leaky_relu_init(&leaky_config, device);
  BurnSoftplusConfig softplus_config = BurnSoftplusConfig_defaults();
  BurnSoftplus softplus = burn_softplus_init(&softplus_config, device);
  NN_ASSERT_GOLDEN(relu, burn_relu_forward(&relu, nn_pattern(device, shape, 1)));
  NN_ASSERT_GOLDEN(gelu, burn_gelu_forward(&gelu, nn_pattern(device, shape, 1)));
  NN_ASSERT_GOLDEN(sigmoid, burn_sigmoid_forward(&sigmoid, nn_pattern(device, shape, 1)));
  NN_ASSERT_GOLDEN(tanh, burn_tanh_forward(&tanh_module, nn_pattern(device, shape, 1)));
  NN_ASSERT_GOLDEN(silu, burn_silu_forward(&silu, nn_pattern(device, shape, 1)));
  NN_ASSERT_GOLDEN(leaky_relu, burn_leaky_relu_forward(&leaky, nn_pattern(device, shape, 1)));
  NN_ASSERT_GOLDEN(softplus, burn_softplus_forward(&softplus, nn_pattern(device, shape, 1)));
  softplus_config.beta = 2;
  softplus = burn_softplus_init(&softplus_config, device);
  NN_ASSERT_GOLDEN(softplus_2, burn_softplus_forward(&softplus, nn_pattern(device, shape, 1)));
}

static BurnTensor *logits(BurnDevice *device) { return nn_pattern(device, BURN_SHAPE(4, 5), 1); }
static BurnTensor *targets(BurnDevice *device) {
  return burn_tensor_i64(device, (int64_t[]){2, 0, 4, 1}, BURN_SHAPE(4));
}
static BurnTensor *weights(BurnDevice *device) {
  return burn_tensor_f32(device, (float[]){1, 2, 3, 4, 5}, BURN_SHAPE(5));
}

/* On the plain and on the training device, whose loss also serves inputs of the device below. */
static void test_cross_entropy(void **state) {
  NnDevices *devices = *state;
  BurnDevice *inputs[] = {devices->plain, devices->training, burn_device_inner(devices->training)};
  BurnDevice *homes[] = {devices->plain, devices->training, devices->training};
  for (size_t i = 0; i < 3; i++) {
    BurnDevice *device = inputs[i];
    BurnCrossEntropyLossConfig config = BurnCrossEntropyLossConfig_defaults();
    BurnCrossEntropyLoss m = burn_cross_entropy_loss_init(&config, homes[i]);
    NN_ASSERT_GOLDEN(cross_entropy, burn_cross_entropy_loss_forward(&m, logits(device), targets(device)));
    NN_ASSERT_GOLDEN(cross_entropy_items,
                     burn_cross_entropy_loss_forward_no_reduction(&m, logits(device), targets(device)));
    burn_cross_entropy_loss_set_weights(&m, weights(homes[i]));
    NN_ASSERT_GOLDEN(cross_entropy_weights, burn_cross_entropy_loss_forward(&m, logits(device), targets(device)));
    m.smoothing = (BurnOptionF64){true, 0.1};
    NN_ASSERT_GOLDEN(cross_entropy_smooth_weights,
                     burn_cross_entropy_loss_forward(&m, logits(device), targets(device)));
    burn_cross_entropy_loss_set_pad_tokens(&m, burn_tensor_i64(homes[i], (int64_t[]){4, 1}, BURN_SHAPE(2)));
    NN_ASSERT_GOLDEN(cross_entropy_everything, burn_cross_entropy_loss_forward(&m, logits(device), targets(device)));
    BurnCrossEntropyLoss_release(&m);
    config.smoothing = (BurnOptionF64){true, 0.1};
    m = burn_cross_entropy_loss_init(&config, homes[i]);
    NN_ASSERT_GOLDEN(cross_entropy_smooth, burn_cross_entropy_loss_forward(&m, logits(device), targets(device)));
    config.smoothing.present = false;
    m = burn_cross_entropy_loss_init(&config, homes[i]);
    burn_cross_entropy_loss_set_pad_tokens(&m, burn_tensor_i64(homes[i], (int64_t[]){4, 1}, BURN_SHAPE(2)));
    NN_ASSERT_GOLDEN(cross_entropy_pads, burn_cross_entropy_loss_forward(&m, logits(device), targets(device)));
    BurnCrossEntropyLoss_release(&m);
    config.logits = false;
    m = burn_cross_entropy_loss_init(&config, homes[i]);
    NN_ASSERT_GOLDEN(cross_entropy_probabilities,
                     burn_cross_entropy_loss_forward(&m, burn_softmax(logits(device), 1), targets(device)));
  }
}

/* A probability of 0 for the right class is a large loss, not an infinite one. */
static void test_cross_entropy_of_zero(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnCrossEntropyLossConfig config = BurnCrossEntropyLossConfig_defaults();
  const double expected = 43.6682723752766; /* -log(sqrt(least normal float)) */
  BurnCrossEntropyLoss m;
  config.logits = false;
  m = burn_cross_entropy_loss_init(&config, device);
  nn_assert_values("zero probability",
                   burn_cross_entropy_loss_forward(&m, burn_tensor_f32(device, (float[]){1, 0}, BURN_SHAPE(1, 2)),
                                                   burn_tensor_i64(device, (int64_t[]){1}, BURN_SHAPE(1))),
                   &expected, 1, 1e-6);
}

static void test_mse(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnShape shape = BURN_SHAPE(3, 4);
  const BurnMseLoss m = burn_mse_loss_init();
  NN_ASSERT_GOLDEN(mse_mean, burn_mse_loss_forward(&m, nn_pattern(device, shape, 1), nn_pattern(device, shape, 2),
                                                   BURN_REDUCTION_MEAN));
  NN_ASSERT_GOLDEN(mse_mean, burn_mse_loss_forward(&m, nn_pattern(device, shape, 1), nn_pattern(device, shape, 2),
                                                   BURN_REDUCTION_AUTO));
  NN_ASSERT_GOLDEN(mse_sum, burn_mse_loss_forward(&m, nn_pattern(device, shape, 1), nn_pattern(device, shape, 2),
                                                  BURN_REDUCTION_SUM));
  NN_ASSERT_GOLDEN(mse_items,
                   burn_mse_loss_forward_no_reduction(&m, nn_pattern(device, shape, 1), nn_pattern(device, shape, 2)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_conv1d),
      cmocka_unit_test(test_conv2d),
      cmocka_unit_test(test_conv2d_uneven),
      cmocka_unit_test(test_conv2d_same),
      cmocka_unit_test(test_conv_transpose2d),
      cmocka_unit_test(test_max_pool),
      cmocka_unit_test(test_avg_pool),
      cmocka_unit_test(test_adaptive_avg_pool),
      cmocka_unit_test(test_layer_norm),
      cmocka_unit_test(test_batch_norm),
      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_activations),
      cmocka_unit_test(test_cross_entropy),
      cmocka_unit_test(test_cross_entropy_of_zero),
      cmocka_unit_test(test_mse),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
