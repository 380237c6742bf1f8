/* nn_linear_test.c - the layouts of a linear layer: the same function, other bytes in records. */
#include "nn_testing.h"

#include <burn/lora.h>
#include <burn/quantizer.h>

static BurnLinear linear_make(uint32_t layout, BurnDevice *device) {
  BurnLinearConfig config = BurnLinearConfig_defaults(3, 2);
  config.layout = layout;
  BurnLinear linear = burn_linear_init(&config, device);
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(BurnLinear, &linear))));
  return linear;
}

static void assert_loads(BurnModule module, const BurnValue *record) {
  assert_string_equal("ok", burn_status_message(burn_value_into_module(record, module)));
}

/* {weight [2, 3]: 1 .. 6, bias: 10, 20}: what a Col layer stores. */
static BurnValue *column_record(BurnDevice *device) {
  static const float weight[] = {1, 2, 3, 4, 5, 6}, bias[] = {10, 20};
  BurnValue *record = burn_value_map();
  const struct {
    const char *name, *id;
    BurnTensor *value;
  } params[] = {{"weight", "0000000000002", burn_tensor_f32(device, weight, BURN_SHAPE(2, 3))},
                {"bias", "0000000000004", burn_tensor_f32(device, bias, BURN_SHAPE(2))}};
  for (size_t i = 0; i < 2; i++) {
    BurnValue *param = burn_value_map();
    assert_true(burn_value_set(param, "id", burn_value_text(params[i].id)));
    assert_true(burn_value_set(param, "param", burn_value_tensor(params[i].value)));
    assert_true(burn_value_set(record, params[i].name, param));
  }
  return record;
}

/* y = x W + b with W the transpose of what is stored. */
static void test_column_layout_computes(void **state) {
  const NnDevices *devices = *state;
  static const float inputs[] = {1, 0, 2, 0, 1, -1};
  static const double outputs[] = {1 + 6 + 10, 4 + 12 + 20, 2 - 3 + 10, 5 - 6 + 20};
  BurnLinear linear = linear_make(BURN_LINEAR_LAYOUT_COL, devices->training);
  BurnValue *record = column_record(devices->training);
  assert_loads(burn_module(BurnLinear, &linear), record);
  nn_assert_shape(linear.weight.value, BURN_SHAPE(3, 2));
  assert_true(burn_is_require_grad(linear.weight.value));
  BurnTensor *x = burn_tensor_f32(devices->training, inputs, BURN_SHAPE(2, 3));
  nn_assert_values("y", burn_linear_forward(&linear, x), outputs, 4, 1e-6);
  burn_value_destroy(record);
  BurnLinear_release(&linear);
}

/* In every format, the file of a Col layer has [d_output, d_input]; a Row layer of these sizes takes it as it is. */
static void test_column_layout_is_stored_transposed(void **state) {
  const NnDevices *devices = *state;
  static const double stored[] = {1, 2, 3, 4, 5, 6}, seen[] = {1, 4, 2, 5, 3, 6};
  BurnValue *record = column_record(devices->plain);
  for (uint32_t format = BURN_RECORD_MPK; format <= BURN_RECORD_BIN_GZ; format++) {
    const BurnRecordConfig config = {format, BURN_PRECISION_FULL};
    BurnLinear linear = linear_make(BURN_LINEAR_LAYOUT_COL, devices->plain),
               again = linear_make(BURN_LINEAR_LAYOUT_COL, devices->plain), row = burn_linear_new(2, 3, devices->plain);
    uint8_t *bytes = NULL;
    size_t count = 0;
    assert_loads(burn_module(BurnLinear, &linear), record);
    const BurnModule modules[] = {burn_module(BurnLinear, &linear), burn_module(BurnLinear, &again)};
    burn_drop(row.bias.value);
    row.bias = burn_param(burn_zeros(devices->plain, BURN_SHAPE(2), BURN_DTYPE_F32));
    assert_string_equal("ok", burn_status_message(burn_record_to_bytes(modules[0], &config, &bytes, &count)));
    assert_string_equal("ok", burn_status_message(burn_record_from_bytes(modules[1], bytes, count, &config)));
    nn_assert_values("again", burn_param_value(&again.weight), seen, 6, 0);
    const BurnModule other = burn_module(BurnLinear, &row);
    assert_string_equal("ok",
                        burn_status_message(burn_record_from_bytes_with(other, bytes, count, &config, NULL, NULL)));
    nn_assert_values("row", burn_param_value(&row.weight), stored, 6, 0);
    free(bytes);
    BurnLinear_release(&linear);
    BurnLinear_release(&again);
    BurnLinear_release(&row);
  }
  burn_value_destroy(record);
}

/* Values and scales of a quantized weight are stored transposed, too: one scale, and one per two inputs of an output. */
static void test_quantized_column_is_stored_transposed(void **state) {
  BurnDevice *device = ((const NnDevices *)*state)->plain;
  static const uint32_t formats[] = {BURN_RECORD_MPK, BURN_RECORD_BPK, BURN_RECORD_JSON_GZ};
  for (size_t i = 0; i < 6; i++) {
    const BurnRecordConfig config = {formats[i / 2], BURN_PRECISION_FULL};
    BurnQuantizer quantizer = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, NULL};
    BurnLinearConfig linear = BurnLinearConfig_defaults(4, 2);
    BurnLinear layers[] = {{.bias = {.value = NULL}}, {.bias = {.value = NULL}}, burn_linear_new(2, 4, device)};
    uint8_t *bytes = NULL;
    size_t count = 0;
    double values[8], again[8], turned[8];
    linear.layout = BURN_LINEAR_LAYOUT_COL;
    linear.bias = false;
    layers[0] = burn_linear_init(&linear, device);
    layers[1] = burn_linear_init(&linear, device);
    burn_drop(layers[2].bias.value);
    layers[2].bias = (BurnParam){.value = NULL};
    const BurnModule modules[] = {burn_module(BurnLinear, &layers[0]), burn_module(BurnLinear, &layers[1]),
                                  burn_module(BurnLinear, &layers[2])};
    quantizer.scheme.block_rank = i % 2 ? 2 : 0;
    quantizer.scheme.block[0] = 2;
    quantizer.scheme.block[1] = 1;
    assert_string_equal("ok", burn_status_message(burn_module_quantize_weights(modules[0], &quantizer)));
    assert_string_equal("ok", burn_status_message(burn_record_to_bytes(modules[0], &config, &bytes, &count)));
    for (size_t k = 1; k < 3; k++)
      assert_string_equal("ok", burn_status_message(burn_record_from_bytes(modules[k], bytes, count, &config)));
    assert_true(burn_read_f64(burn_param_value(&layers[0].weight), values, 8) == BURN_OK);
    assert_true(burn_read_f64(burn_param_value(&layers[1].weight), again, 8) == BURN_OK);
    assert_true(burn_read_f64(burn_param_value(&layers[2].weight), turned, 8) == BURN_OK);
    assert_int_equal(BURN_DTYPE_I8, burn_dtype(layers[1].weight.value));
    for (size_t k = 0; k < 8; k++) assert_true(values[k] == again[k] && values[k] == turned[k % 2 * 4 + k / 2]);
    free(bytes);
    for (size_t k = 0; k < 3; k++) BurnLinear_release(&layers[k]);
  }
}

/* The factors of an adapter are those of the weight as the layer sees it. */
static void test_adapter_of_a_column(void **state) {
  BurnDevice *device = ((const NnDevices *)*state)->plain;
  const BurnLoraConfig config = BurnLoraConfig_defaults(1, 1);
  BurnLinear linear = linear_make(BURN_LINEAR_LAYOUT_COL, device), again = linear_make(BURN_LINEAR_LAYOUT_COL, device);
  const BurnModule modules[] = {burn_module(BurnLinear, &linear), burn_module(BurnLinear, &again)};
  BurnValue *record = column_record(device);
  static const double sums[] = {2, 5, 3, 6, 4, 7};
  const BurnParam *a = NULL, *b = NULL;
  assert_loads(modules[0], record);
  for (size_t i = 0; i < 2; i++)
    assert_string_equal("ok", burn_status_message(burn_module_apply_lora(modules[i], &config, NULL)));
  assert_true(burn_param_lora(&linear.weight, &a, &b, NULL));
  nn_assert_shape(a->value, BURN_SHAPE(3, 1));
  nn_assert_shape(b->value, BURN_SHAPE(1, 2));
  burn_param_set((BurnParam *)(uintptr_t)a, burn_ones(device, BURN_SHAPE(3, 1), BURN_DTYPE_F32));
  burn_param_set((BurnParam *)(uintptr_t)b, burn_ones(device, BURN_SHAPE(1, 2), BURN_DTYPE_F32));
  burn_value_destroy(record);
  record = burn_value_module(modules[0]);
  assert_loads(modules[1], record);
  nn_assert_values("again", burn_param_value(&again.weight), sums, 6, 0);
  burn_value_destroy(record);
  BurnLinear_release(&linear);
  BurnLinear_release(&again);
}

/* The shape in the file is compared, not that of the layer. */
static void test_row_record_is_refused(void **state) {
  const NnDevices *devices = *state;
  BurnLinear row = linear_make(BURN_LINEAR_LAYOUT_ROW, devices->plain),
             column = linear_make(BURN_LINEAR_LAYOUT_COL, devices->plain);
  BurnValue *record = burn_value_module(burn_module(BurnLinear, &row));
  const BurnStatus status = burn_value_into_module(record, burn_module(BurnLinear, &column));
  assert_string_equal("weight: shape [2,3] expected, file has [3,2]", burn_status_message(status));
  burn_value_destroy(record);
  BurnLinear_release(&row);
  BurnLinear_release(&column);
}

/* Copies store it the same way. */
static void test_copies_keep_the_layout(void **state) {
  const NnDevices *devices = *state;
  BurnLinear linear = linear_make(BURN_LINEAR_LAYOUT_COL, devices->training);
  BurnLinear copies[] = {BurnLinear_clone(&linear), BurnLinear_valid(&linear)};
  for (size_t i = 0; i < 2; i++) {
    BurnValue *record = burn_value_module(burn_module(BurnLinear, &copies[i]));
    BurnTensor *weight =
        burn_value_as_tensor(burn_value_get(burn_value_get(record, "weight"), "param"), devices->plain);
    nn_assert_shape(weight, BURN_SHAPE(2, 3));
    burn_drop(weight);
    burn_value_destroy(record);
    BurnLinear_release(&copies[i]);
  }
  BurnLinear_release(&linear);
}

/* As in Burn: fan_in is that of the stored matrix, d_output. */
static void test_bounds_of_a_column(void **state) {
  const NnDevices *devices = *state;
  static double values[4 * 400];
  double largest = 0;
  BurnLinearConfig config = BurnLinearConfig_defaults(400, 4);
  config.layout = BURN_LINEAR_LAYOUT_COL;
  BurnLinear linear = burn_linear_init(&config, devices->plain);
  assert_true(burn_read_f64(burn_param_value(&linear.weight), values, 4 * 400) == BURN_OK);
  for (size_t i = 0; i < 4 * 400; i++) largest = fabs(values[i]) > largest ? fabs(values[i]) : largest;
  assert_true(largest <= 0.5 && largest > 0.45); /* 1 / sqrt(4); of a Row layer it would be 1 / sqrt(400) */
  BurnLinear_release(&linear);
}

/* Both weights of a SwiGlu have the layout of its config. */
static void test_layout_of_swiglu(void **state) {
  const NnDevices *devices = *state;
  BurnSwiGluConfig config = BurnSwiGluConfig_defaults(3, 2);
  config.layout = BURN_LINEAR_LAYOUT_COL;
  BurnSwiGlu swiglu = burn_swiglu_init(&config, devices->plain);
  assert_true(swiglu.linear_inner.weight.transposed && swiglu.linear_outer.weight.transposed);
  nn_assert_shape(swiglu.linear_outer.weight.value, BURN_SHAPE(3, 2));
  BurnSwiGlu_release(&swiglu);
}

static void test_json(void **state) {
  (void)state;
  BurnLinearConfig config = BurnLinearConfig_defaults(3, 2);
  char *text = burn_config_text(burn_config(BurnLinearConfig, &config));
  assert_non_null(strstr(text, "\"layout\": \"Row\""));
  free(text);
  const char *json = "{\"d_input\": 3, \"d_output\": 2, \"layout\": \"Col\"}";
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnLinearConfig, &config), json)));
  assert_int_equal(config.layout, BURN_LINEAR_LAYOUT_COL);
  config.layout = 7;
  const NnDevices *devices = *state;
  BurnLinear linear = burn_linear_init(&config, devices->plain);
  assert_string_equal("weight: linear: layout is 7; BURN_LINEAR_LAYOUT_ROW or _COL",
                      burn_status_message(burn_module_status(burn_module(BurnLinear, &linear))));
  BurnLinear_release(&linear);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_column_layout_computes),
      cmocka_unit_test(test_column_layout_is_stored_transposed),
      cmocka_unit_test(test_quantized_column_is_stored_transposed),
      cmocka_unit_test(test_adapter_of_a_column),
      cmocka_unit_test(test_row_record_is_refused),
      cmocka_unit_test(test_copies_keep_the_layout),
      cmocka_unit_test(test_bounds_of_a_column),
      cmocka_unit_test(test_layout_of_swiglu),
      cmocka_unit_test(test_json),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
