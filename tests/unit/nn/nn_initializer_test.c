/* nn_initializer_test.c - first values: bounds and moments by formula, seeds, missing fans, JSON. */
#include "nn_testing.h"

enum { SIDE = 256, COUNT = SIDE * SIDE };

typedef struct Moments {
  double min, max, mean, std;
} Moments;

/* Moments of a [SIDE, SIDE] tensor made by the initializer. */
static Moments moments_of(BurnDevice *device, BurnInitializer initializer, int64_t fan_in, int64_t fan_out) {
  static double values[COUNT];
  Moments moments = {HUGE_VAL, -HUGE_VAL, 0, 0};
  BurnTensor *x = burn_initializer_tensor(&initializer, BURN_SHAPE(SIDE, SIDE), fan_in, fan_out, device);
  assert_string_equal("ok", burn_status_message(burn_read_f64(x, values, COUNT)));
  for (size_t i = 0; i < COUNT; i++) {
    moments.min = fmin(moments.min, values[i]);
    moments.max = fmax(moments.max, values[i]);
    moments.mean += values[i] / (double)COUNT;
  }
  for (size_t i = 0; i < COUNT; i++)
    moments.std += (values[i] - moments.mean) * (values[i] - moments.mean) / (double)COUNT;
  moments.std = sqrt(moments.std);
  return moments;
}

/* Uniform in +-bound: nothing outside, nearly all of it used, standard deviation bound / sqrt(3). */
static void assert_uniform(Moments moments, double bound) {
  assert_true(moments.min >= -bound * 1.000001 && moments.max <= bound * 1.000001);
  assert_true(moments.min < -0.998 * bound && moments.max > 0.998 * bound);
  assert_true(fabs(moments.mean) < 0.01 * bound);
  assert_true(fabs(moments.std - bound / sqrt(3)) < 0.01 * bound);
}

static void assert_normal(Moments moments, double mean, double std) {
  assert_true(fabs(moments.mean - mean) < 0.015 * std);
  assert_true(fabs(moments.std - std) < 0.015 * std);
  assert_true(moments.max - mean > 3.5 * std && mean - moments.min > 3.5 * std);
}

static void test_moments(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnInitializer fan_out = BURN_KAIMING_UNIFORM;
  Moments m;
  fan_out.fan_out_only = true;
  fan_out.gain = 2;
  burn_device_seed(device, 7);
  m = moments_of(device, (BurnInitializer)BURN_CONSTANT(2.5), 0, 0);
  assert_true(m.min == 2.5 && m.max == 2.5);
  m = moments_of(device, (BurnInitializer)BURN_ONES, 0, 0);
  assert_true(m.min == 1 && m.max == 1);
  m = moments_of(device, (BurnInitializer)BURN_ZEROS, 0, 0);
  assert_true(m.min == 0 && m.max == 0);
  m = moments_of(device, (BurnInitializer)BURN_UNIFORM(-1, 3), 0, 0);
  assert_true(m.min >= -1 && m.min < -0.99 && m.max < 3.000001 && m.max > 2.99 && fabs(m.mean - 1) < 0.02);
  assert_normal(moments_of(device, (BurnInitializer)BURN_NORMAL(2, 0.5), 0, 0), 2, 0.5);
  assert_uniform(moments_of(device, (BurnInitializer)BURN_KAIMING_UNIFORM, 49, 0), 1.0 / 7);
  assert_uniform(moments_of(device, fan_out, 3, 12), 2 * sqrt(3.0 / 12));
  assert_normal(moments_of(device, (BurnInitializer)BURN_KAIMING_NORMAL, 64, 0), 0, 1 / sqrt(3) / 8);
  assert_uniform(moments_of(device, (BurnInitializer)BURN_XAVIER_UNIFORM, 30, 20), sqrt(6.0 / 50));
  assert_normal(moments_of(device, (BurnInitializer)BURN_XAVIER_NORMAL, 30, 20), 0, sqrt(2.0 / 50));
}

static void test_missing_fans(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnShape shape = BURN_SHAPE(2, 2);
  const BurnInitializer kaiming = BURN_KAIMING_NORMAL, xavier = BURN_XAVIER_UNIFORM, unknown = {.kind = 77};
  nn_assert_failed(burn_initializer_tensor(&kaiming, shape, 0, 5, device),
                   "initializer: KaimingNormal needs fan_in, which this parameter does not have");
  nn_assert_failed(burn_initializer_tensor(&xavier, shape, 5, 0, device),
                   "initializer: XavierUniform needs fan_out, which this parameter does not have");
  nn_assert_failed(burn_initializer_tensor(&unknown, shape, 5, 5, device), "initializer: kind 77 is not one of 0..9");
}

/* Of [rows, columns] the fewer are orthogonal, of length `gain`. */
static void assert_orthogonal(BurnDevice *device, BurnShape shape, int64_t rows, int64_t columns, double gain) {
  BurnInitializer initializer = BURN_ORTHOGONAL;
  static double found[400];
  initializer.gain = gain;
  BurnTensor *x = burn_initializer_tensor(&initializer, shape, 0, 0, device);
  assert_int_equal(shape.rank, burn_rank(x));
  x = burn_reshape(x, BURN_SHAPE(rows, columns));
  if (rows > columns) x = burn_transpose(x);
  const int64_t side = rows < columns ? rows : columns;
  BurnTensor *transposed = burn_transpose(burn_clone(x));
  BurnTensor *products = burn_matmul(x, transposed);
  assert_string_equal("ok", burn_status_message(burn_read_f64(products, found, (size_t)(side * side))));
  for (int64_t i = 0; i < side * side; i++) {
    assert_true(fabs(found[i] - (i / side == i % side ? gain * gain : 0)) < 1e-5 * gain * gain);
  }
}

/* Gain 2 and ranks above 2 (axis 0 against all others); the signs are not constants; rank 1 has no matrix. */
static void test_orthogonal(void **state) {
  NnDevices *devices = *state;
  const BurnInitializer initializer = BURN_ORTHOGONAL;
  double found[200], positive = 0;
  burn_device_seed(devices->plain, 11);
  assert_orthogonal(devices->plain, BURN_SHAPE(10, 10), 10, 10, 1);
  assert_orthogonal(devices->plain, BURN_SHAPE(12, 5), 12, 5, 1);
  assert_orthogonal(devices->plain, BURN_SHAPE(6, 2, 3, 4), 6, 24, 2);
  assert_orthogonal(devices->training, BURN_SHAPE(5, 12), 5, 12, 0.5);
  for (size_t i = 0; i < 200; i++) {
    BurnTensor *x = burn_initializer_tensor(&initializer, BURN_SHAPE(2, 2), 0, 0, devices->plain);
    assert_string_equal("ok", burn_status_message(burn_read_scalar(
                                  burn_slice(x, (BurnRange[]){BURN_RANGE(0, 1), BURN_RANGE(0, 1)}, 2), &found[i])));
    positive += found[i] > 0;
  }
  assert_in_range((int)positive, 70, 130);
  nn_assert_failed(burn_initializer_tensor(&initializer, BURN_SHAPE(3), 0, 0, devices->plain),
                   "initializer: Orthogonal needs rank 2 or more, found 1");
  BurnLinearConfig config = BurnLinearConfig_defaults(3, 4);
  assert_string_equal("ok",
                      burn_status_message(burn_config_parse(burn_config(BurnLinearConfig, &config),
                                                            "{\"d_input\": 3, \"d_output\": 4, \"bias\": false,"
                                                            " \"initializer\": {\"Orthogonal\": {\"gain\": 3}}}")));
  assert_true(config.initializer.kind == BURN_INITIALIZER_ORTHOGONAL && config.initializer.gain == 3);
}

/* A gain of 0 is the one uniform range without width. */
static void test_gain_zero(void **state) {
  BurnInitializer none = BURN_KAIMING_UNIFORM;
  Moments m;
  none.gain = 0;
  m = moments_of(((NnDevices *)*state)->plain, none, 4, 4);
  assert_true(m.min == 0 && m.max == 0);
}

/* The weight of a fresh Linear, after seeding. */
static void linear_weight(BurnDevice *device, uint64_t seed, float weight[12]) {
  const BurnLinearConfig config = BurnLinearConfig_defaults(3, 4);
  BurnLinear linear;
  burn_device_seed(device, seed);
  linear = burn_linear_init(&config, device);
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_param_value(&linear.weight), weight, 12)));
  BurnLinear_release(&linear);
}

static void test_same_seed_same_weights(void **state) {
  NnDevices *devices = *state;
  float first[12], second[12], other[12];
  linear_weight(devices->plain, 42, first);
  linear_weight(devices->training, 42, second);
  linear_weight(devices->plain, 43, other);
  assert_memory_equal(first, second, sizeof first);
  assert_memory_not_equal(first, other, sizeof first);
}

/* Weight and bias draw different numbers, both in +-1/sqrt(d_input). */
static void test_linear_bounds(void **state) {
  const BurnLinearConfig config = BurnLinearConfig_defaults(16, 64);
  float weight[16 * 64], bias[64], largest = 0;
  BurnLinear linear = burn_linear_init(&config, ((NnDevices *)*state)->plain);
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_param_value(&linear.weight), weight, 16 * 64)));
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_param_value(&linear.bias), bias, 64)));
  assert_memory_not_equal(weight, bias, sizeof bias);
  for (int i = 0; i < 64; i++) largest = fmaxf(largest, fabsf(bias[i]));
  assert_true(largest > 0.2f && largest <= 0.25f);
  BurnLinear_release(&linear);
}

static void test_json(void **state) {
  BurnConv2dConfig config = BurnConv2dConfig_defaults(BURN_SIZE2(1, 8), BURN_SIZE2(3, 3)), again = config;
  char *text;
  (void)state;
  assert_int_equal(BURN_PADDING_KIND_VALID, config.padding.kind);
  assert_int_equal(BURN_INITIALIZER_KAIMING_UNIFORM, config.initializer.kind);
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 2, 3, 4);
  config.initializer = (BurnInitializer)BURN_NORMAL(0.5, 0.25);
  text = burn_config_text(burn_config(BurnConv2dConfig, &config));
  assert_non_null(text);
  assert_non_null(strstr(text, "\"Explicit\""));
  assert_non_null(strstr(text, "\"Normal\""));
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnConv2dConfig, &again), text)));
  free(text);
  assert_int_equal(BURN_PADDING_KIND_EXPLICIT, again.padding.kind);
  assert_true(again.padding.top == 1 && again.padding.left == 2 && again.padding.bottom == 3 &&
              again.padding.right == 4);
  assert_int_equal(BURN_INITIALIZER_NORMAL, again.initializer.kind);
  assert_true(again.initializer.mean == 0.5 && again.initializer.std == 0.25);
}

/* As Burn writes a config, with unit cases as strings. */
static void test_json_of_burn(void **state) {
  const char *json =
      "{\"channels\": [3, 8], \"kernel_size\": [3, 5], \"stride\": [1, 2], \"dilation\": [1, 1], \"groups\": 1,"
      " \"padding\": \"Same\", \"bias\": false,"
      " \"initializer\": {\"KaimingUniform\": {\"gain\": 0.5, \"fan_out_only\": true}}}";
  BurnConv2dConfig config = BurnConv2dConfig_defaults(BURN_SIZE2(0, 0), BURN_SIZE2(0, 0));
  (void)state;
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnConv2dConfig, &config), json)));
  assert_true(config.channels.at[1] == 8 && config.kernel_size.at[1] == 5 && config.stride.at[1] == 2 && !config.bias);
  assert_int_equal(BURN_PADDING_KIND_SAME, config.padding.kind);
  assert_int_equal(BURN_INITIALIZER_KAIMING_UNIFORM, config.initializer.kind);
  assert_true(config.initializer.gain == 0.5 && config.initializer.fan_out_only);
}

/* 1.0 / 3.0.sqrt(), every digit: Burn compares configs by ==. */
static void test_gain_of_burn(void **state) {
  (void)state;
  BurnLinearConfig config = BurnLinearConfig_defaults(1, 1);
  char *text = burn_config_text(burn_config(BurnLinearConfig, &config));
  assert_non_null(text);
  assert_non_null(strstr(text, "\"gain\": 0.5773502691896258,"));
  assert_true(config.initializer.gain == 1 / sqrt(3));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moments),       cmocka_unit_test(test_missing_fans),
      cmocka_unit_test(test_gain_zero),     cmocka_unit_test(test_same_seed_same_weights),
      cmocka_unit_test(test_linear_bounds), cmocka_unit_test(test_json),
      cmocka_unit_test(test_json_of_burn),  cmocka_unit_test(test_gain_of_burn),
      cmocka_unit_test(test_orthogonal),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
