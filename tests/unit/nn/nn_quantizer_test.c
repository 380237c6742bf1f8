/* nn_quantizer_test.c - modules with quantized weights and inputs, against the same arithmetic on integers in the
 * test. */
#include "nn_testing.h"
#include "status_testing.h"

#define NET_FIELDS(X)                \
  X(BurnConv2d, conv, "1 -> 2, 2x2") \
  X(BurnBatchNorm, norm, "of 2")     \
  X(BurnLinear, fc, "8 -> 3")
BURN_MODULE(Net, NET_FIELDS);

static Net net_init(BurnDevice *device) {
  Net net = {burn_conv2d_new((BurnSize2){{1, 2}}, (BurnSize2){{2, 2}}, device), burn_batch_norm_new(2, device),
             burn_linear_new(8, 3, device)};
  burn_param_set(&net.fc.weight, nn_pattern(device, BURN_SHAPE(8, 3), 1));
  burn_param_set(&net.fc.bias, nn_pattern(device, BURN_SHAPE(3), 2));
  burn_param_set(&net.conv.weight, nn_pattern(device, BURN_SHAPE(2, 1, 2, 2), 3));
  return net;
}

static BurnTensor *net_forward(const Net *net, BurnTensor *x) {
  x = burn_batch_norm_forward(&net->norm, burn_conv2d_forward(&net->conv, x));
  return burn_linear_forward(&net->fc, burn_flatten(x, 1, 3));
}

static BurnTensor *images(BurnDevice *device, int k) { return nn_pattern(device, BURN_SHAPE(2, 1, 3, 3), k); }

static const char *const weight_parts[] = {"weight", NULL};
static const BurnParamGroup weights = {.any_parts = weight_parts};
static const BurnQuantizer quantizer = {
    BURN_QUANT_MIN_MAX, {BURN_QUANT_Q8S, BURN_DTYPE_F32, 0, {0, 0, 0, 0, 0}, false}, &weights};

static void check_refused(const char *message, BurnStatus status) {
  assert_string_equal(message, burn_status_message(status));
}

static void read_values(BurnTensor *x, float *values, size_t count) {
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* -- the arithmetic ----------------------------------------------------------------------------- */

static float reach(const float *values, size_t count) {
  float most = 0;
  for (size_t i = 0; i < count; i++) most = fabsf(values[i]) > most ? fabsf(values[i]) : most;
  return most;
}

/* -127 .. 127 times the scale 2 * reach / 254. */
static int step_of(float x, float scale) {
  const float step = rintf(x / scale);
  return step > 127 ? 127 : step < -127 ? -127 : (int)step;
}

/* x [rows, 8] times weight [8, 3], both as integers, plus the bias. */
static void multiply(const float *x, size_t rows, float x_scale, const float *weight, const float *bias, double *out) {
  const float scale = 2 * reach(weight, 24) / 254;
  for (size_t i = 0; i < rows; i++) {
    for (int j = 0; j < 3; j++) {
      int sum = 0;
      for (int k = 0; k < 8; k++) sum += step_of(x[i * 8 + (size_t)k], x_scale) * step_of(weight[k * 3 + j], scale);
      out[i * 3 + (size_t)j] = (double)sum * (double)x_scale * (double)scale + (double)bias[j];
    }
  }
}

/* -- weights ------------------------------------------------------------------------------------ */

static void test_weights(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  float before[24], after[24];
  int8_t values[24];
  Net net = net_init(device);
  const BurnModule module = burn_module(Net, &net);
  const int64_t params = burn_module_num_params(module);
  const uint64_t id = net.fc.weight.id;
  read_values(burn_param_value(&net.fc.weight), before, 24);
  check_status(burn_module_quantize_weights(module, &quantizer));
  assert_int_equal(id, net.fc.weight.id);
  assert_int_equal(params, burn_module_num_params(module));
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(net.fc.weight.value));
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(net.conv.weight.value));
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(net.fc.bias.value)); /* not of the group */
  check_status(burn_read(burn_clone(net.fc.weight.value), values, sizeof values));
  read_values(burn_param_value(&net.fc.weight), after, 24);
  const float scale = 2 * reach(before, 24) / 254;
  for (int i = 0; i < 24; i++) assert_int_equal(step_of(before[i], scale), values[i]);
  for (int i = 0; i < 24; i++) assert_true(fabsf(after[i] - (float)values[i] * scale) < 1e-6f);
  check_status(burn_module_quantize_weights(module, NULL)); /* all others, too; what is quantized stays Q8S */
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(net.norm.gamma.value));
  const BurnQuantTensor q = burn_param_quant(&net.fc.weight);
  assert_int_equal(BURN_QUANT_Q8S, q.scheme.value);
  burn_quant_drop(q);
  Net_release(&net);
}

/* In floats, with the weight that the integers stand for. */
static void test_weights_alone_are_floats_in_layers(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  float x[16], rounded[24], bias[3];
  double expected[6];
  Net net = net_init(device);
  check_status(burn_module_quantize_weights(burn_module(Net, &net), &quantizer));
  read_values(burn_param_value(&net.fc.weight), rounded, 24);
  read_values(burn_param_value(&net.fc.bias), bias, 3);
  read_values(nn_pattern(device, BURN_SHAPE(2, 8), 7), x, 16);
  for (int i = 0; i < 6; i++) {
    expected[i] = (double)bias[i % 3];
    for (int k = 0; k < 8; k++) expected[i] += (double)x[i / 3 * 8 + k] * (double)rounded[k * 3 + i % 3];
  }
  nn_assert_values("linear", burn_linear_forward(&net.fc, nn_pattern(device, BURN_SHAPE(2, 8), 7)), expected, 6, 1e-5);
  Net_release(&net);
}

static void test_blocks(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  static const char *const fc[] = {"fc.weight", NULL};
  const BurnParamGroup group = {.paths = fc};
  BurnQuantizer columns = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, &group}; /* a scale per output */
  float before[24], after[24];
  Net net = net_init(device);
  columns.scheme.value = BURN_QUANT_Q4S;
  columns.scheme.block_rank = 2;
  columns.scheme.block[0] = 8;
  columns.scheme.block[1] = 1;
  read_values(burn_param_value(&net.fc.weight), before, 24);
  check_status(burn_module_quantize_weights(burn_module(Net, &net), &columns));
  read_values(burn_param_value(&net.fc.weight), after, 24);
  for (int j = 0; j < 3; j++) {
    float most = 0;
    for (int i = 0; i < 8; i++) most = fabsf(before[i * 3 + j]) > most ? fabsf(before[i * 3 + j]) : most;
    for (int i = 0; i < 8; i++) {
      const float scale = 2 * most / 14, expected = rintf(before[i * 3 + j] / scale) * scale;
      assert_true(fabsf(after[i * 3 + j] - expected) < 1e-5f);
    }
  }
  Net_release(&net);
}

static void test_what_does_not_fit_is_refused(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  static const char *const misspelt[] = {"fc.wieght", NULL};
  static const char *const no_part[] = {"wieght", NULL};
  const BurnParamGroup unknown = {.paths = misspelt}, empty = {.any_parts = no_part};
  BurnQuantizer wrong = quantizer;
  Net net = net_init(device);
  const BurnModule module = burn_module(Net, &net);
  wrong.scheme.block_rank = 1;
  wrong.scheme.block[0] = 2; /* divides the convolution's 2x2, and not the linear layer's 3 */
  check_refused("fc.weight: quantize_weights: quant_range: blocks of 2 do not divide axis 1 of [8,3]",
                burn_module_quantize_weights(module, &wrong));
  assert_true(burn_is_require_grad(net.conv.weight.value)); /* nothing was changed */
  wrong = quantizer;
  wrong.group = &unknown;
  check_refused("quantize_weights: a group has the parameter fc.wieght, which Net has not",
                burn_module_quantize_weights(module, &wrong));
  wrong.group = &empty;
  check_refused("quantize_weights: Net has no float parameter in the group",
                burn_module_quantize_weights(module, &wrong));
  check_refused("quantize_inputs: Net has no quantized weight in the group: quantize weights first",
                burn_module_quantize_inputs(module, NULL));
  Net_release(&net);
}

/* -- inputs ------------------------------------------------------------------------------------- */

static void assert_integers(const Net *net, const float *weight, BurnTensor *x, float x_scale) {
  float values[16], bias[3];
  double expected[6];
  read_values(burn_clone(x), values, 16);
  read_values(burn_param_value(&net->fc.bias), bias, 3);
  multiply(values, 2, x_scale > 0 ? x_scale : 2 * reach(values, 16) / 254, weight, bias, expected);
  nn_assert_values("linear", burn_linear_forward(&net->fc, burn_clone(x)), expected, 6, 1e-5);
  BurnTensor *deep = burn_linear_forward(&net->fc, burn_reshape(x, BURN_SHAPE(1, 2, 1, 8)));
  nn_assert_shape(deep, BURN_SHAPE(1, 2, 1, 3));
  nn_assert_values("linear of rank 4", deep, expected, 6, 1e-5);
}

static void test_inputs_by_batch(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  float weight[24];
  Net net = net_init(device);
  read_values(burn_param_value(&net.fc.weight), weight, 24);
  check_status(burn_module_quantize_weights(burn_module(Net, &net), &quantizer));
  check_status(burn_module_quantize_inputs(burn_module(Net, &net), NULL));
  assert_integers(&net, weight, nn_pattern(device, BURN_SHAPE(2, 8), 7), 0);
  assert_integers(&net, weight, burn_mul_scalar(nn_pattern(device, BURN_SHAPE(2, 8), 8), 100), 0);
  BurnTensor *line = burn_linear_forward(&net.fc, nn_pattern(device, BURN_SHAPE(8), 7));
  nn_assert_shape(line, BURN_SHAPE(3));
  burn_drop(line);
  nn_assert_failed(burn_linear_forward(&net.fc, nn_pattern(device, BURN_SHAPE(2, 5), 7)),
                   "fc: linear: quantized_matmul: [2,5] x [8,3]: inner dimensions 5 and 8 differ");
  Net_release(&net);
}

/* The scale of x is that of the widest batch that calibration saw; what lies beyond is cut. */
static void test_calibrated_linear(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnCalibration *calibration = NULL;
  float weight[24];
  Net net = net_init(device);
  const BurnModule module = burn_module(Net, &net);
  read_values(burn_param_value(&net.fc.weight), weight, 24);
  check_status(burn_calibration_begin(module, &quantizer, &calibration));
  burn_drop(burn_linear_forward(&net.fc, burn_full(device, BURN_SHAPE(2, 8), BURN_DTYPE_DEFAULT, 0.5)));
  burn_drop(burn_linear_forward(&net.fc, burn_full(device, BURN_SHAPE(2, 8), BURN_DTYPE_DEFAULT, -1.5)));
  burn_drop(burn_linear_forward(&net.fc, burn_full(device, BURN_SHAPE(2, 8), BURN_DTYPE_DEFAULT, 1)));
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(net.fc.weight.value)); /* not yet */
  check_status(burn_calibration_end(calibration));
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(net.fc.weight.value));
  assert_true(burn_param_quantizes_input(&net.fc.weight));
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(net.conv.weight.value));
  assert_false(burn_param_quantizes_input(&net.conv.weight)); /* never run: its weight alone */
  assert_integers(&net, weight, nn_pattern(device, BURN_SHAPE(2, 8), 7), 2 * 1.5f / 254);
  Net_release(&net);
}

/* Rounded input times rounded weight, window by window. */
static void test_calibrated_convolution(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnCalibration *calibration = NULL;
  float x[18], weight[8], bias[2];
  double expected[16];
  Net net = net_init(device);
  read_values(images(device, 5), x, 18);
  read_values(burn_param_value(&net.conv.weight), weight, 8);
  read_values(burn_param_value(&net.conv.bias), bias, 2);
  check_status(burn_calibration_begin(burn_module(Net, &net), &quantizer, &calibration));
  burn_drop(net_forward(&net, images(device, 5)));
  check_status(burn_calibration_end(calibration));
  const float scale = 2 * reach(x, 18) / 254, weight_scale = 2 * reach(weight, 8) / 254;
  for (int i = 0; i < 16; i++) { /* [2 images, 2 channels, 2, 2] */
    const int image = i / 8, channel = i / 4 % 2, row = i / 2 % 2, column = i % 2;
    int sum = 0;
    for (int k = 0; k < 4; k++) {
      const float seen = x[image * 9 + (row + k / 2) * 3 + column + k % 2];
      sum += step_of(seen, scale) * step_of(weight[channel * 4 + k], weight_scale);
    }
    expected[i] = (double)sum * (double)scale * (double)weight_scale + (double)bias[channel];
  }
  nn_assert_values("conv2d", burn_conv2d_forward(&net.conv, images(device, 5)), expected, 16, 1e-5);
  Net_release(&net);
}

static void test_calibration_is_refused(void **state) {
  NnDevices *devices = *state;
  const BurnLoraConfig lora = BurnLoraConfig_defaults(2, 2);
  BurnCalibration *calibration = NULL, *second = NULL;
  Net net = net_init(devices->plain);
  const BurnModule module = burn_module(Net, &net);
  check_status(burn_calibration_begin(module, &quantizer, &calibration));
  check_refused("conv.weight: calibration: another one is in progress",
                burn_calibration_begin(module, &quantizer, &second));
  assert_null(second);
  check_refused("calibration: no forward pass met a Linear or convolution of the group in Net",
                burn_calibration_end(calibration));
  check_status(burn_calibration_begin(module, &quantizer, &calibration));
  burn_drop(
      burn_linear_forward(&net.fc, burn_full(devices->plain, BURN_SHAPE(2, 8), BURN_DTYPE_DEFAULT, (double)INFINITY)));
  check_refused("fc.weight: calibration: its inputs are not finite", burn_calibration_end(calibration));
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(net.fc.weight.value));
  assert_null(net.fc.weight.extra);
  burn_calibration_cancel(NULL);
  check_status(burn_calibration_begin(module, &quantizer, &calibration));
  Net copy = Net_clone(&net); /* notes nothing */
  burn_drop(burn_linear_forward(&copy.fc, nn_pattern(devices->plain, BURN_SHAPE(2, 8), 7)));
  Net_release(&copy);
  burn_calibration_cancel(calibration);
  check_status(burn_module_quantize_weights(module, &quantizer));
  check_status(burn_module_quantize_inputs(module, NULL));
  check_refused("fc.weight: lora: its inputs are quantized, which no gradient passes: quantize weights alone",
                burn_module_apply_lora(module, &lora, NULL));
  Net_release(&net);
  net = net_init(devices->plain);
  check_status(burn_module_apply_qlora(module, &lora, NULL, &quantizer));
  check_refused("fc.weight: calibration: it has an adapter: burn_module_merge_lora first",
                burn_calibration_begin(module, &quantizer, &calibration));
  check_refused("fc.weight: quantize_inputs: it has an adapter: burn_module_merge_lora first",
                burn_module_quantize_inputs(module, NULL));
  Net_release(&net);
}

/* No gradient passes a quantized input, and none is lost silently. */
static void test_tracked_inputs_are_refused(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  Net net = net_init(device);
  check_status(burn_module_quantize_weights(burn_module(Net, &net), &quantizer));
  BurnTensor *x = burn_require_grad(nn_pattern(device, BURN_SHAPE(2, 8), 7));
  BurnGradients *gradients = NULL;
  check_status(
      burn_backward(burn_sum(burn_linear_forward(&net.fc, burn_clone(x))), &gradients)); /* weights alone: it does */
  BurnTensor *gradient = burn_grad(x, gradients);
  assert_non_null(gradient);
  burn_drop(gradient);
  burn_gradients_drop(gradients);
  check_status(burn_module_quantize_inputs(burn_module(Net, &net), NULL));
  nn_assert_failed(burn_linear_forward(&net.fc, x),
                   "fc: linear: the input is quantized, which no gradient passes: use burn_module_valid, or an input "
                   "without history");
  Net_release(&net);
}

/* -- services ----------------------------------------------------------------------------------- */

static Net calibrated(BurnDevice *device) {
  BurnCalibration *calibration = NULL;
  Net net = net_init(device);
  check_status(burn_calibration_begin(burn_module(Net, &net), &quantizer, &calibration));
  burn_drop(net_forward(&net, images(device, 5)));
  check_status(burn_calibration_end(calibration));
  return net;
}

static void assert_same_output(const Net *net, const Net *other) {
  float y[6], z[6];
  read_values(net_forward(net, images(burn_tensor_device(net->fc.weight.value), 6)), y, 6);
  read_values(net_forward(other, images(burn_tensor_device(other->fc.weight.value), 6)), z, 6);
  for (int i = 0; i < 6; i++) assert_true(fabsf(y[i] - z[i]) <= 1e-5f);
}

static void test_copies_and_devices(void **state) {
  NnDevices *devices = *state;
  Net net = calibrated(devices->plain), copy = Net_clone(&net), moved = Net_clone(&net), forked;
  assert_same_output(&net, &copy);
  Net_release(&net); /* copies share nothing */
  burn_module_fork(burn_module(Net, &copy), devices->training, &forked);
  burn_module_to_device(burn_module(Net, &moved), devices->training);
  assert_true(burn_tensor_device(moved.fc.weight.value) == devices->training);
  Net valid = Net_valid(&forked), valid_moved = Net_valid(&moved);
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(valid.fc.weight.value));
  assert_true(burn_param_quantizes_input(&valid.fc.weight));
  assert_same_output(&copy, &valid);
  assert_same_output(&copy, &valid_moved);
  burn_module_unfreeze(burn_module(Net, &forked)); /* integers ask for no gradients */
  assert_false(burn_is_require_grad(forked.fc.weight.value));
  Net_release(&copy);
  Net_release(&moved);
  Net_release(&forked);
  Net_release(&valid);
  Net_release(&valid_moved);
}

static BurnTensor *doubled(void *context, const char *path, BurnTensor *value) {
  (void)context;
  (void)path;
  return burn_mul_scalar(value, 2);
}

static void test_mappers_take_floats(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  float before[24], after[24];
  Net net = calibrated(device);
  read_values(burn_param_value(&net.fc.weight), before, 24);
  burn_module_map(burn_module(Net, &net), doubled, NULL);
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(net.fc.weight.value));
  assert_false(burn_param_quantizes_input(&net.fc.weight));
  read_values(burn_param_value(&net.fc.weight), after, 24);
  for (int i = 0; i < 24; i++) assert_true(after[i] == 2 * before[i]);
  Net_release(&net);
}

static void test_texts(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnLinear m = burn_linear_new(4, 2, device);
  check_status(burn_module_quantize_weights(burn_module(BurnLinear, &m), &quantizer));
  char *text = burn_module_text(burn_module(BurnLinear, &m));
  assert_string_equal("Linear {weight: [4,2] Q8S, bias: [2], params: 10}", text);
  free(text);
  check_status(burn_module_quantize_inputs(burn_module(BurnLinear, &m), NULL));
  text = burn_module_text(burn_module(BurnLinear, &m));
  assert_string_equal("Linear {weight: [4,2] Q8S x int8, bias: [2], params: 10}", text);
  free(text);
  text = burn_module_summary_text(burn_module(BurnLinear, &m));
  assert_string_equal(
      "Linear\n"
      "path    layer   shape  parameters  state\n"
      "weight  Linear  [4,2]           8  quantized\n"
      "bias    Linear  [2]             2  trainable\n"
      "10 parameters: 2 trainable, 8 frozen, 0 in buffers",
      text);
  free(text);
  burn_module_release(burn_module(BurnLinear, &m));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weights),
      cmocka_unit_test(test_weights_alone_are_floats_in_layers),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_what_does_not_fit_is_refused),
      cmocka_unit_test(test_inputs_by_batch),
      cmocka_unit_test(test_calibrated_linear),
      cmocka_unit_test(test_calibrated_convolution),
      cmocka_unit_test(test_calibration_is_refused),
      cmocka_unit_test(test_tracked_inputs_are_refused),
      cmocka_unit_test(test_copies_and_devices),
      cmocka_unit_test(test_mappers_take_floats),
      cmocka_unit_test(test_texts),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, nn_setup, nn_teardown));
}
