/* nn_normalization_test.c - Normalization: each case is its layer, configs as JSON, records, copies. */
#include "nn_gradients.h"

#include "norm_golden.h"
#include "record_testing.h"

enum { FEATURES = 4, CASES = 6 };

static BurnNormalizationConfig config_of(uint32_t kind) {
  switch (kind) {
    case BurnNormalization_KIND_Batch:
      return burn_normalization_batch(BurnBatchNormConfig_defaults(1));
    case BurnNormalization_KIND_Group:
      return burn_normalization_group(BurnGroupNormConfig_defaults(2, 1));
    case BurnNormalization_KIND_Instance:
      return burn_normalization_instance(BurnInstanceNormConfig_defaults(1));
    case BurnNormalization_KIND_Layer:
      return burn_normalization_layer(BurnLayerNormConfig_defaults(1));
    case BurnNormalization_KIND_Rms:
      return burn_normalization_rms(BurnRmsNormConfig_defaults(1));
    default:
      return burn_normalization_identity();
  }
}

/* Values of PyTorch that the layers themselves are tested with. */
static void test_cases_are_their_layers(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnGroupNormConfig group = BurnGroupNormConfig_defaults(3, 6);
  BurnRmsNormConfig rms = BurnRmsNormConfig_defaults(5);
  group.epsilon = rms.epsilon = 0.01;
  BurnNormalizationConfig config = burn_normalization_group(group);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 6, 3, 2), 1), *tokens = nn_leaf(device, BURN_SHAPE(2, 3, 5), 1);
  BurnNormalization m = burn_normalization_init(&config, device);
  BurnGroupNorm *inner = &m.as.Group;
  nn_set_pattern(&inner->gamma, 2);
  nn_set_pattern(&inner->beta, 3);
  NN_ASSERT_CASE(group_norm, burn_normalization_forward(&m, burn_clone(x)), x, inner->gamma.value, inner->beta.value);
  BurnNormalization_release(&m);
  config = burn_normalization_rms(rms);
  m = burn_normalization_init(&config, device);
  nn_set_pattern(&m.as.Rms.gamma, 2);
  NN_ASSERT_CASE(rms_norm, burn_normalization_forward(&m, burn_clone(tokens)), tokens, m.as.Rms.gamma.value);
  BurnNormalization_release(&m);
  burn_drop(tokens);
  burn_drop(x);
}

/* x [2, 4, 4], so that channels and the last axis have one size: normalised over the axes that the case says. */
static void test_every_case_normalises(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  for (uint32_t kind = 0; kind < CASES; kind++) {
    const BurnNormalizationConfig config = burn_normalization_with_num_features(config_of(kind), FEATURES);
    BurnNormalization m = burn_normalization_init(&config, device), copy = BurnNormalization_clone(&m);
    BurnTensor *x = nn_pattern(device, BURN_SHAPE(2, FEATURES, FEATURES), 1);
    assert_int_equal(kind, m.kind);
    assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(BurnNormalization, &m))));
    assert_int_equal(kind == BurnNormalization_KIND_Identity ? 0
                     : kind == BurnNormalization_KIND_Rms    ? FEATURES
                     : kind == BurnNormalization_KIND_Batch  ? 4 * FEATURES
                                                             : 2 * FEATURES,
                     burn_module_num_params(burn_module(BurnNormalization, &m)));
    BurnNormalization_release(&m);
    BurnTensor *y = burn_normalization_forward(&copy, burn_clone(x));
    double square = 0, before = 0;
    nn_assert_shape(y, BURN_SHAPE(2, FEATURES, FEATURES));
    assert_string_equal("ok", burn_status_message(burn_read_scalar(burn_mean(burn_mul(burn_clone(y), y)), &square)));
    assert_string_equal("ok", burn_status_message(burn_read_scalar(burn_mean(burn_mul(burn_clone(x), x)), &before)));
    if (kind == BurnNormalization_KIND_Identity) {
      assert_true(square == before);
    } else {
      assert_true(fabs(square - 1) < 0.01); /* of normalised values, whatever the groups */
      assert_true(fabs(before - 1) > 0.05);
    }
    BurnNormalization_release(&copy);
  }
}

static void test_config_json(void **state) {
  (void)state;
  BurnNormalizationConfig config = burn_normalization_with_num_features(config_of(BurnNormalization_KIND_Batch), 8);
  BurnNormalizationConfig read = burn_normalization_identity();
  char *text = burn_config_text(burn_config(BurnNormalizationConfig, &config));
  assert_string_equal(
      text, "{\n  \"Batch\": {\n    \"num_features\": 8,\n    \"epsilon\": 1e-05,\n    \"momentum\": 0.1\n  }\n}");
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnNormalizationConfig, &read), text)));
  assert_int_equal(BurnNormalization_KIND_Batch, read.kind);
  assert_true(read.as.Batch.num_features == 8 && read.as.Batch.epsilon == 1e-5 && read.as.Batch.momentum == 0.1);
  free(text);
  const BurnConfig into = burn_config(BurnNormalizationConfig, &read);
  assert_string_equal(
      "ok", burn_status_message(burn_config_parse(into, "{\"Group\": {\"num_groups\": 2, \"num_channels\": 6}}")));
  assert_true(read.kind == BurnNormalization_KIND_Group && read.as.Group.epsilon == 1e-5 && read.as.Group.affine);
  assert_string_equal("ok", burn_status_message(burn_config_parse(into, "\"Identity\"")));
  assert_int_equal(BurnNormalization_KIND_Identity, read.kind);
  assert_string_equal("Rms.d_model: required key is missing",
                      burn_status_message(burn_config_parse(into, "{\"Rms\": {}}")));
}

static void test_records(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnNormalizationConfig batch =
      burn_normalization_with_num_features(config_of(BurnNormalization_KIND_Batch), 8);
  const BurnNormalizationConfig layer =
      burn_normalization_with_num_features(config_of(BurnNormalization_KIND_Layer), 8);
  BurnNormalization m = burn_normalization_init(&batch, device), other = burn_normalization_init(&layer, device);
  BurnNormalization off = burn_normalization_init(&(BurnNormalizationConfig){0}, device);
  BurnValue *value = burn_value_module(burn_module(BurnNormalization, &m));
  assert_string_equal("the module is Layer, the file has Batch",
                      burn_status_message(burn_value_into_module(value, burn_module(BurnNormalization, &other))));
  burn_value_destroy(value);
  assert_record(burn_module(BurnBatchNorm, &m.as.Batch),
                "gamma:P beta:P running_mean:P running_var:P momentum:- epsilon:-");
  assert_record(burn_module(BurnNormalization, &other), "Layer:map");
  assert_record(burn_module(BurnNormalization, &off), "Identity:-");
}

static void test_refused(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnNormalizationConfig group =
      burn_normalization_with_num_features(config_of(BurnNormalization_KIND_Group), 3);
  BurnNormalization m = burn_normalization_init(&group, device);
  assert_string_equal("Group.gamma: group_norm: num_groups 2 does not divide num_channels 3",
                      burn_status_message(burn_module_status(burn_module(BurnNormalization, &m))));
  BurnNormalization_release(&m);
  m = burn_normalization_init(NULL, device);
  assert_string_equal("Rms.gamma: normalization: config is NULL: burn_normalization_batch(..) makes one",
                      burn_status_message(burn_module_status(burn_module(BurnNormalization, &m))));
  BurnNormalization_release(&m);
  m = burn_normalization_init(&(BurnNormalizationConfig){.kind = 6}, device);
  assert_string_equal("Rms.gamma: normalization: kind 6 is none of the 6 cases",
                      burn_status_message(burn_module_status(burn_module(BurnNormalization, &m))));
  BurnNormalization_release(&m);
  m.kind = 7;
  nn_assert_failed(burn_normalization_forward(&m, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "normalization: kind 7 is none of the 6 cases");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases_are_their_layers),
      cmocka_unit_test(test_every_case_normalises),
      cmocka_unit_test(test_config_json),
      cmocka_unit_test(test_records),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
