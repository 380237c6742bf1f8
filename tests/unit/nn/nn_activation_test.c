/* nn_activation_test.c - activations as values of configs and as modules: values and gradients against PyTorch,
 * JSON. */
#include "nn_gradients.h"

#include "activation_golden.h"
#include "record_testing.h"

/* 2 x + 0.013: no value lies on a corner of an activation. */
static BurnTensor *between_corners(BurnTensor *x) { return burn_add_scalar(burn_mul_scalar(x, 2), 0.013); }

typedef struct ActivationCase {
  const char *name;
  BurnActivationConfig activation;
  const double *golden;
  const char *json;
} ActivationCase;

#define CASE(name, value, json) \
  { #name, value, golden_##name, json }
static const ActivationCase activation_cases[] = {
    CASE(identity, BURN_ACTIVATION_IDENTITY, "\"Identity\""),
    CASE(gelu, BURN_ACTIVATION_GELU, "\"Gelu\""),
    CASE(gelu_approximate, BURN_ACTIVATION_GELU_APPROXIMATE, "\"GeluApproximate\""),
    CASE(relu, BURN_ACTIVATION_RELU, "\"Relu\""),
    CASE(leaky_relu, BURN_ACTIVATION_LEAKY_RELU(0.2), "{\"LeakyRelu\": {\"negative_slope\": 0.2}}"),
    CASE(selu, BURN_ACTIVATION_SELU, "\"Selu\""),
    CASE(sigmoid, BURN_ACTIVATION_SIGMOID, "\"Sigmoid\""),
    CASE(tanh, BURN_ACTIVATION_TANH, "\"Tanh\""),
    CASE(hard_sigmoid, BURN_ACTIVATION_HARD_SIGMOID(0.2, 0.5), "{\"HardSigmoid\": {\"alpha\": 0.2, \"beta\": 0.5}}"),
    CASE(hard_swish, BURN_ACTIVATION_HARD_SWISH, "\"HardSwish\""),
    CASE(softplus, BURN_ACTIVATION_SOFTPLUS(2), "{\"Softplus\": {\"beta\": 2}}"),
    CASE(softsign, BURN_ACTIVATION_SOFTSIGN, "\"Softsign\""),
    CASE(elu, BURN_ACTIVATION_ELU(0.7), "{\"Elu\": {\"alpha\": 0.7}}"),
    CASE(celu, BURN_ACTIVATION_CELU(0.7), "{\"Celu\": {\"alpha\": 0.7}}"),
    CASE(thresholded_relu, BURN_ACTIVATION_THRESHOLDED_RELU(1), "{\"ThresholdedRelu\": {\"alpha\": 1}}"),
    CASE(hard_shrink, BURN_ACTIVATION_HARD_SHRINK(0.4), "{\"HardShrink\": {\"lambda\": 0.4}}"),
    CASE(soft_shrink, BURN_ACTIVATION_SOFT_SHRINK(0.4), "{\"SoftShrink\": {\"lambda\": 0.4}}"),
    CASE(shrink, BURN_ACTIVATION_SHRINK(0.6, 0.3), "{\"Shrink\": {\"lambda\": 0.6, \"bias\": 0.3}}"),
};
#undef CASE
enum { CASES = sizeof activation_cases / sizeof activation_cases[0], COUNT = 24 };

static void test_activation_values_and_gradients(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  for (size_t i = 0; i < CASES; i++) {
    const ActivationCase *c = &activation_cases[i];
    BurnTensor *x = nn_leaf(device, BURN_SHAPE(4, 6), 1);
    BurnActivation m = burn_activation_init(&c->activation, device);
    BurnTensor *y = burn_activation_forward(&m, between_corners(burn_clone(x)));
    nn_assert_case(c->name, y, &x, 1, c->golden, 2 * COUNT, 2e-5);
    BurnActivation_release(&m);
    burn_drop(x);
  }
}

#define CHOICE_CONFIG(REQ, OPT) OPT(BurnActivationConfig, activation, BURN_ACTIVATION_GELU, "any")
BURN_CONFIG_OPTIONAL(ChoiceConfig, CHOICE_CONFIG);

static void assert_same(const BurnActivationConfig *expected, const BurnActivationConfig *found) {
  assert_int_equal(expected->kind, found->kind);
  assert_true(expected->negative_slope == found->negative_slope && expected->alpha == found->alpha);
  assert_true(expected->beta == found->beta && expected->lambda == found->lambda && expected->bias == found->bias);
}

static void test_activation_json(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) {
    const ActivationCase *c = &activation_cases[i];
    ChoiceConfig written = ChoiceConfig_defaults(), read = ChoiceConfig_defaults();
    char json[128];
    snprintf(json, sizeof json, "{\"activation\": %s}", c->json);
    assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(ChoiceConfig, &read), json)));
    assert_same(&c->activation, &read.activation);
    written.activation = c->activation;
    char *text = burn_config_text(burn_config(ChoiceConfig, &written));
    read = ChoiceConfig_defaults();
    assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(ChoiceConfig, &read), text)));
    assert_same(&c->activation, &read.activation);
    free(text);
  }
}

/* The cases with parameters: their configs are those of the layers. */
static void test_activation_json_of_learned(void **state) {
  (void)state;
  ChoiceConfig config = ChoiceConfig_defaults(), read = ChoiceConfig_defaults();
  const BurnConfig into = burn_config(ChoiceConfig, &read);
  config.activation = (BurnActivationConfig)BURN_ACTIVATION_PRELU(6, 0.1);
  char *text = burn_config_text(burn_config(ChoiceConfig, &config));
  assert_non_null(strstr(text, "\"PRelu\": {\n      \"num_parameters\": 6,\n      \"alpha\": 0.1\n"));
  assert_string_equal("ok", burn_status_message(burn_config_parse(into, text)));
  assert_int_equal(BURN_ACTIVATION_KIND_PRELU, read.activation.kind);
  assert_true(read.activation.prelu.num_parameters == 6 && read.activation.prelu.alpha == 0.1);
  free(text);
  config.activation = (BurnActivationConfig)BURN_ACTIVATION_SWIGLU(3, 5);
  config.activation.swiglu.bias = true;
  text = burn_config_text(burn_config(ChoiceConfig, &config));
  assert_non_null(strstr(text, "\"SwiGlu\": {\n      \"d_input\": 3,\n      \"d_output\": 5,\n      \"bias\": true"));
  assert_string_equal("ok", burn_status_message(burn_config_parse(into, text)));
  assert_int_equal(BURN_ACTIVATION_KIND_SWIGLU, read.activation.kind);
  assert_true(read.activation.swiglu.d_input == 3 && read.activation.swiglu.d_output == 5 &&
              read.activation.swiglu.bias &&
              read.activation.swiglu.initializer.kind == BURN_INITIALIZER_KAIMING_UNIFORM);
  free(text);
  assert_string_equal("activation.SwiGlu.d_output: required key is missing",
                      burn_status_message(burn_config_parse(into, "{\"activation\": {\"SwiGlu\": {\"d_input\": 3}}}")));
}

static void test_activation_default_and_wrong_kind(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const ChoiceConfig config = ChoiceConfig_defaults();
  const BurnActivationConfig wrong = {.kind = 20};
  assert_int_equal(BURN_ACTIVATION_KIND_GELU, config.activation.kind);
  BurnActivation m = burn_activation_init(&wrong, device);
  assert_string_equal("PRelu.alpha: activation: kind 20 is none of the 20 cases",
                      burn_status_message(burn_module_status(burn_module(BurnActivation, &m))));
  BurnActivation_release(&m);
  m = burn_activation_init(NULL, device);
  assert_string_equal("PRelu.alpha: activation: config is NULL: BURN_ACTIVATION_GELU and its like make one",
                      burn_status_message(burn_module_status(burn_module(BurnActivation, &m))));
  BurnActivation_release(&m);
  m.kind = 19;
  nn_assert_failed(burn_activation_forward(&m, nn_pattern(device, BURN_SHAPE(2), 1)),
                   "activation: kind 19 is none of the 19 cases");
}

/* A layer with a learned activation: its parameters have the paths and the record of Burn's enum. */
static void test_activation_with_parameters(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(4, 6), 1), *wide = nn_leaf(device, BURN_SHAPE(2, 3, 4), 1);
  BurnActivationConfig config = BURN_ACTIVATION_PRELU(6, 0.25), gated = BURN_ACTIVATION_SWIGLU(4, 5);
  BurnActivation m = burn_activation_init(&config, device), gate = burn_activation_init(&gated, device);
  nn_set_pattern(&m.as.PRelu.alpha, 2);
  NN_ASSERT_CASE(prelu_channels, burn_activation_forward(&m, between_corners(burn_clone(x))), x,
                 m.as.PRelu.alpha.value);
  nn_set_pattern(&gate.as.SwiGlu.linear_inner.weight, 2);
  nn_set_pattern(&gate.as.SwiGlu.linear_outer.weight, 3);
  NN_ASSERT_CASE(swiglu, burn_activation_forward(&gate, burn_clone(wide)), wide,
                 gate.as.SwiGlu.linear_inner.weight.value, gate.as.SwiGlu.linear_outer.weight.value);
  BurnPositionWiseFeedForwardConfig pwff = BurnPositionWiseFeedForwardConfig_defaults(4, 8);
  pwff.activation = config;
  BurnPositionWiseFeedForward layer = burn_position_wise_feed_forward_init(&pwff, device);
  assert_int_equal(4 * 8 + 8 + 8 * 4 + 4 + 6, burn_module_num_params(burn_module(BurnPositionWiseFeedForward, &layer)));
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(BurnPositionWiseFeedForward, &layer))));
  assert_string_equal("activation.PRelu.alpha", layer.activation.as.PRelu.alpha.path);
  BurnActivation plain = burn_activation_init(&(BurnActivationConfig)BURN_ACTIVATION_TANH, device);
  BurnValue *nil = burn_value_nil();
  assert_string_equal("ok", burn_status_message(burn_value_into_module(nil, burn_module(BurnActivation, &plain))));
  assert_string_equal("one case of BurnActivation expected, file has nil with 0 entries",
                      burn_status_message(burn_value_into_module(nil, burn_module(BurnActivation, &m))));
  burn_value_destroy(nil);
  assert_record(burn_module(BurnActivation, &plain), "Tanh:-");
  assert_record(burn_module(BurnActivation, &m), "PRelu:map");
  BurnPositionWiseFeedForward_release(&layer);
  BurnActivation_release(&gate);
  burn_drop(wide);
  burn_drop(x);
}

/* -- modules ---------------------------------------------------------------------------------- */

/* Compares module m of a function prefix with golden_<golden>. */
#define CHECK(golden, prefix, m) NN_ASSERT_CASE(golden, prefix##_forward(&(m), between_corners(burn_clone(x))), x)
#define CHECK_STATELESS(golden, Name, prefix) \
  do {                                        \
    const Name m = prefix##_init();           \
    CHECK(golden, prefix, m);                 \
  } while (0)

static void test_modules_without_rows(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(4, 6), 1);
  CHECK_STATELESS(relu, BurnRelu, burn_relu);
  CHECK_STATELESS(gelu, BurnGelu, burn_gelu);
  CHECK_STATELESS(sigmoid, BurnSigmoid, burn_sigmoid);
  CHECK_STATELESS(tanh, BurnTanh, burn_tanh);
  CHECK_STATELESS(silu, BurnSilu, burn_silu);
  CHECK_STATELESS(mish, BurnMish, burn_mish);
  CHECK_STATELESS(hard_swish, BurnHardSwish, burn_hard_swish);
  CHECK_STATELESS(log_sigmoid, BurnLogSigmoid, burn_log_sigmoid);
  CHECK_STATELESS(softsign, BurnSoftsign, burn_softsign);
  CHECK_STATELESS(tanhshrink, BurnTanhshrink, burn_tanhshrink);
  CHECK_STATELESS(selu, BurnSelu, burn_selu);
  CHECK_STATELESS(relu6, BurnRelu6, burn_relu6);
  const BurnGelu approximate = burn_gelu_init_approximate();
  CHECK(gelu_approximate, burn_gelu, approximate);
  burn_drop(x);
}

static void test_modules_with_numbers(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnLeakyRelu leaky = {0.2};
  const BurnSoftplus softplus = {2};
  const BurnElu elu = {0.7};
  const BurnCelu celu = {0.7};
  const BurnHardSigmoid hard_sigmoid = burn_hard_sigmoid_init(NULL, device);
  const BurnHardtanh hardtanh = {-0.7, 1.2};
  const BurnHardShrink hard_shrink = {0.4};
  const BurnSoftShrink soft_shrink = {0.4};
  const BurnShrink shrink = {0.6, 0.3};
  const BurnThresholdedRelu thresholded = burn_thresholded_relu_init(NULL, device);
  const BurnThreshold threshold = burn_threshold_new(0.3, -2, device);
  const BurnGLU glu = burn_glu_init(-1), glu_0 = burn_glu_init(0);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(4, 6), 1);
  CHECK(leaky_relu, burn_leaky_relu, leaky);
  CHECK(softplus, burn_softplus, softplus);
  CHECK(elu, burn_elu, elu);
  CHECK(celu, burn_celu, celu);
  CHECK(hard_sigmoid, burn_hard_sigmoid, hard_sigmoid);
  CHECK(hardtanh, burn_hardtanh, hardtanh);
  CHECK(hard_shrink, burn_hard_shrink, hard_shrink);
  CHECK(soft_shrink, burn_soft_shrink, soft_shrink);
  CHECK(shrink, burn_shrink, shrink);
  CHECK(thresholded_relu, burn_thresholded_relu, thresholded);
  CHECK(threshold, burn_threshold, threshold);
  CHECK(glu, burn_glu, glu);
  CHECK(glu_0, burn_glu, glu_0);
  burn_drop(x);
}

static void test_defaults(void **state) {
  (void)state;
  assert_true(burn_elu_init(NULL, NULL).alpha == 1 && burn_celu_init(NULL, NULL).alpha == 1);
  assert_true(burn_hard_sigmoid_init(NULL, NULL).alpha == 0.2 && burn_hard_sigmoid_init(NULL, NULL).beta == 0.5);
  assert_true(burn_hardtanh_init(NULL, NULL).min_val == -1 && burn_hardtanh_init(NULL, NULL).max_val == 1);
  assert_true(burn_hard_shrink_init(NULL, NULL).lambda == 0.5 && burn_soft_shrink_init(NULL, NULL).lambda == 0.5);
  assert_true(burn_shrink_init(NULL, NULL).lambda == 0.5 && burn_shrink_init(NULL, NULL).bias == 0.5);
  assert_true(burn_thresholded_relu_init(NULL, NULL).alpha == 1);
  assert_true(burn_rrelu_init(NULL, NULL).lower == 0.125 && burn_rrelu_init(NULL, NULL).upper == 1.0 / 3);
}

/* The mean slope where nothing trains; elsewhere a slope of its own for every element below 0, which is its
 * gradient. */
static void test_rrelu(void **state) {
  NnDevices *devices = *state;
  enum { ROOM = 4000 };
  static double values[ROOM], slopes[ROOM];
  const BurnRRelu m = burn_rrelu_init(NULL, devices->plain), fixed = {0.2, 0.2}, wrong = {1, 0.5};
  BurnGradients *gradients = NULL;
  double mean = 0, least = 1, most = 0;
  BurnTensor *x = nn_pattern(devices->plain, BURN_SHAPE(4, 6), 1);
  BurnTensor *y = burn_rrelu_forward(&m, between_corners(x));
  nn_assert_values("rrelu", y, golden_rrelu, COUNT, 2e-5);
  x = burn_require_grad(burn_full(devices->training, BURN_SHAPE(ROOM), BURN_DTYPE_DEFAULT, -1));
  y = burn_rrelu_forward(&m, burn_clone(x));
  assert_string_equal("ok", burn_status_message(burn_read_f64(burn_clone(y), values, ROOM)));
  assert_string_equal("ok", burn_status_message(burn_backward(y, &gradients)));
  assert_string_equal("ok", burn_status_message(burn_read_f64(burn_grad(x, gradients), slopes, ROOM)));
  for (size_t i = 0; i < ROOM; i++) {
    assert_true(fabs(values[i] + slopes[i]) < 1e-6);
    mean += slopes[i] / (double)ROOM;
    least = fmin(least, slopes[i]);
    most = fmax(most, slopes[i]);
  }
  assert_true(least >= 0.125 && least < 0.13 && most < 1.0 / 3 + 1e-6 && most > 0.328);
  assert_true(fabs(mean - (0.125 + 1.0 / 3) / 2) < 0.005);
  burn_gradients_drop(gradients);
  y = burn_rrelu_forward(&fixed, burn_clone(x));
  assert_string_equal("ok", burn_status_message(burn_read_f64(y, values, ROOM)));
  for (size_t i = 0; i < ROOM; i++) assert_true(fabs(values[i] + 0.2) < 1e-6);
  nn_assert_failed(burn_rrelu_forward(&wrong, x), "rrelu: lower 1 is above upper 0.5");
}

static void test_prelu(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnPReluConfig config = BurnPReluConfig_defaults();
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(4, 6), 1);
  const double quarter = 0.25;
  BurnPRelu m = burn_prelu_init(&config, device);
  nn_assert_values("alpha", burn_detach(burn_param_value(&m.alpha)), &quarter, 1, 0);
  nn_set_pattern(&m.alpha, 2);
  NN_ASSERT_CASE(prelu, burn_prelu_forward(&m, between_corners(burn_clone(x))), x, m.alpha.value);
  BurnPRelu_release(&m);
  config.num_parameters = 6;
  m = burn_prelu_init(&config, device);
  nn_set_pattern(&m.alpha, 2);
  NN_ASSERT_CASE(prelu_channels, burn_prelu_forward(&m, between_corners(burn_clone(x))), x, m.alpha.value);
  BurnPRelu_release(&m);
  config.num_parameters = 0;
  m = burn_prelu_init(&config, device);
  nn_assert_failed(burn_prelu_forward(&m, x), "prelu: num_parameters is 0");
  BurnPRelu_release(&m);
}

static void test_swiglu(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnSwiGluConfig config = BurnSwiGluConfig_defaults(4, 5);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 3, 4), 1), *b = nn_leaf(device, BURN_SHAPE(5), 4);
  BurnSwiGlu m = burn_swiglu_init(&config, device), none = burn_swiglu_init(NULL, device);
  assert_true(!m.linear_inner.bias.value && !m.linear_outer.bias.value);
  nn_set_pattern(&m.linear_inner.weight, 2);
  nn_set_pattern(&m.linear_outer.weight, 3);
  NN_ASSERT_CASE(swiglu, burn_swiglu_forward(&m, burn_clone(x)), x, m.linear_inner.weight.value,
                 m.linear_outer.weight.value);
  BurnSwiGlu_release(&m);
  config.bias = true;
  m = burn_swiglu_init(&config, device);
  nn_set_pattern(&m.linear_inner.weight, 2);
  nn_set_pattern(&m.linear_outer.weight, 3);
  burn_drop(m.linear_inner.bias.value);
  burn_drop(m.linear_outer.bias.value);
  m.linear_inner.bias.value = burn_clone(b);
  m.linear_outer.bias.value = burn_mul_scalar(burn_clone(b), 2);
  NN_ASSERT_CASE(swiglu_bias, burn_swiglu_forward(&m, burn_clone(x)), x, m.linear_inner.weight.value,
                 m.linear_outer.weight.value, b);
  nn_assert_failed(burn_swiglu_forward(&none, x),
                   "linear: swiglu: config is NULL: BurnSwiGluConfig_defaults(d_input, d_output) makes one");
  BurnSwiGlu_release(&none);
  BurnSwiGlu_release(&m);
  burn_drop(b);
}

static void test_threshold_without_config(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnThreshold m = burn_threshold_init(NULL, device);
  nn_assert_failed(burn_threshold_forward(&m, nn_pattern(device, BURN_SHAPE(2), 1)),
                   "threshold: config is NULL: BurnThresholdConfig_defaults(threshold, value) makes one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_activation_values_and_gradients),
      cmocka_unit_test(test_activation_json),
      cmocka_unit_test(test_activation_default_and_wrong_kind),
      cmocka_unit_test(test_modules_without_rows),
      cmocka_unit_test(test_modules_with_numbers),
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_rrelu),
      cmocka_unit_test(test_activation_json_of_learned),
      cmocka_unit_test(test_activation_with_parameters),
      cmocka_unit_test(test_prelu),
      cmocka_unit_test(test_swiglu),
      cmocka_unit_test(test_threshold_without_config),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
