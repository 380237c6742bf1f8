/* nn_activation_test.c - activations as values of configs and as modules: values and gradients against PyTorch, JSON. */
#include "nn_gradients.h"

#include "activation_golden.h"

/* 2 x + 0.013: no value lies on a corner of an activation. */
static BurnTensor *between_corners(BurnTensor *x) { return burn_add_scalar(burn_mul_scalar(x, 2), 0.013); }

typedef struct ActivationCase {
  const char *name;
  BurnActivation activation;
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
    BurnTensor *y = burn_activation_forward(&c->activation, between_corners(burn_clone(x)));
    nn_assert_case(c->name, y, &x, 1, c->golden, 2 * COUNT, 2e-5);
    burn_drop(x);
  }
}

#define CHOICE_CONFIG(REQ, OPT) OPT(BurnActivation, activation, BURN_ACTIVATION_GELU, "any")
BURN_CONFIG_OPTIONAL(ChoiceConfig, CHOICE_CONFIG);

static void assert_same(const BurnActivation *expected, const BurnActivation *found) {
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

static void test_activation_default_and_wrong_kind(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const ChoiceConfig config = ChoiceConfig_defaults();
  const BurnActivation wrong = {.kind = 18};
  assert_int_equal(BURN_ACTIVATION_KIND_GELU, config.activation.kind);
  nn_assert_failed(burn_activation_forward(&wrong, nn_pattern(device, BURN_SHAPE(2), 1)),
                   "activation: kind 18 is not one of 0..17");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_activation_values_and_gradients),
      cmocka_unit_test(test_activation_json),
      cmocka_unit_test(test_activation_default_and_wrong_kind),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
