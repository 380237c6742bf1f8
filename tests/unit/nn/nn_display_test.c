/* nn_display_test.c - modules as Burn shows them. The texts of layers are those that Burn's own tests expect (0.21). */
#include "nn_testing.h"

#include <burn/quantizer.h>

/* Ends the module. */
static void assert_display(BurnModule module, const BurnDisplaySettings *settings, const char *expected) {
  char *text = burn_module_display(module, settings);
  assert_non_null(text);
  assert_string_equal(expected, text);
  free(text);
  burn_module_release(module);
}

#define ASSERT_LAYER(Type, config, init, expected)               \
  do {                                                           \
    Type layer = init(&(config), device);                        \
    assert_display(burn_module(Type, &layer), NULL, (expected)); \
  } while (0)

static void test_layers(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnLinearConfig linear = BurnLinearConfig_defaults(3, 5);
  ASSERT_LAYER(BurnLinear, linear, burn_linear_init, "Linear {d_input: 3, d_output: 5, bias: true, params: 20}");
  BurnConv1dConfig conv1d = BurnConv1dConfig_defaults(5, 5, 5);
  ASSERT_LAYER(BurnConv1d, conv1d, burn_conv1d_init,
               "Conv1d {ch_in: 5, ch_out: 5, stride: 1, kernel_size: 5, dilation: 1, groups: 1, padding: Valid, "
               "params: 130}");
  BurnConv2dConfig conv2d = BurnConv2dConfig_defaults((BurnSize2){{5, 1}}, (BurnSize2){{5, 5}});
  ASSERT_LAYER(BurnConv2d, conv2d, burn_conv2d_init,
               "Conv2d {ch_in: 5, ch_out: 1, stride: [1, 1], kernel_size: [5, 5], dilation: [1, 1], groups: 1, "
               "padding: Valid, params: 126}");
  BurnConvTranspose2dConfig transposed = BurnConvTranspose2dConfig_defaults((BurnSize2){{5, 2}}, (BurnSize2){{5, 5}});
  ASSERT_LAYER(BurnConvTranspose2d, transposed, burn_conv_transpose2d_init,
               "ConvTranspose2d {channels: [5, 2], stride: [1, 1], kernel_size: [5, 5], dilation: [1, 1], groups: 1, "
               "padding: [0, 0], padding_out: [0, 0], params: 252}");
  BurnEmbeddingConfig embedding = BurnEmbeddingConfig_defaults(100, 10);
  ASSERT_LAYER(BurnEmbedding, embedding, burn_embedding_init,
               "Embedding {n_embedding: 100, d_model: 10, params: 1000}");
}

static void test_norms(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnBatchNormConfig batch = BurnBatchNormConfig_defaults(3);
  ASSERT_LAYER(BurnBatchNorm, batch, burn_batch_norm_init,
               "BatchNorm {num_features: 3, momentum: 0.1, epsilon: 0.00001, params: 12}");
  BurnGroupNormConfig group = BurnGroupNormConfig_defaults(3, 6);
  ASSERT_LAYER(BurnGroupNorm, group, burn_group_norm_init,
               "GroupNorm {num_groups: 3, num_channels: 6, epsilon: 0.00001, affine: true, params: 12}");
  BurnLayerNormConfig layer_norm = BurnLayerNormConfig_defaults(6);
  layer_norm.bias = false;
  ASSERT_LAYER(BurnLayerNorm, layer_norm, burn_layer_norm_init,
               "LayerNorm {d_model: 6, epsilon: 0.00001, bias: false, params: 6}");
  BurnRmsNormConfig rms = BurnRmsNormConfig_defaults(6);
  ASSERT_LAYER(BurnRmsNorm, rms, burn_rms_norm_init, "RmsNorm {d_model: 6, epsilon: 0.00001, params: 6}");
}

static void test_sequences(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMultiHeadAttentionConfig mha = BurnMultiHeadAttentionConfig_defaults(4, 2);
  ASSERT_LAYER(BurnMultiHeadAttention, mha, burn_multi_head_attention_init,
               "MultiHeadAttention {d_model: 4, n_heads: 2, d_k: 2, dropout: 0.1, min_float: -10000, "
               "quiet_softmax: false, params: 80}");
  BurnLstmConfig lstm = BurnLstmConfig_defaults(2, 3, true);
  ASSERT_LAYER(BurnLstm, lstm, burn_lstm_init, "Lstm {d_input: 2, d_hidden: 3, bias: true, params: 84}");
  BurnBiGruConfig gru = BurnBiGruConfig_defaults(2, 8, true);
  ASSERT_LAYER(BurnBiGru, gru, burn_bi_gru_init, "BiGru {d_input: 2, d_hidden: 8, bias: true, params: 576}");
  BurnTransformerEncoderConfig encoder = BurnTransformerEncoderConfig_defaults(2, 4, 2, 3);
  ASSERT_LAYER(BurnTransformerEncoder, encoder, burn_transformer_encoder_init,
               "TransformerEncoder {d_model: 2, d_ff: 4, n_heads: 2, n_layers: 3, dropout: 0.1, norm_first: false, "
               "quiet_softmax: false, params: 162}");
}

#define HEAD_CASES(X, Head)             \
  X(Head, BurnIdentity, Off, "nothing") \
  X(Head, BurnLinear, Dense, "3 -> 5")
BURN_MODULE_VARIANT(Head, HEAD_CASES);

#define MODEL_FIELDS(X)                  \
  X(BurnModuleList, layers, "a linear")  \
  X(Head, head, "dense")                 \
  X(BurnModuleOption, absent, "nothing") \
  X(BurnParam, scale, "[2]")             \
  X(BurnF64, rate, "a constant")         \
  X(BurnF64, small, "another")           \
  X(BurnOptionSize, limit, "perhaps")    \
  X(BurnSize2, size, "two")
BURN_MODULE(Model, MODEL_FIELDS);

static Model model_make(BurnDevice *device) {
  BurnParam scale = burn_param(burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32));
  scale.id = 1;
  Model model = {.layers = burn_module_list(BurnLinear_type(), 1),
                 .head = Head_Dense(burn_linear_new(3, 5, device)),
                 .scale = scale,
                 .rate = 1,
                 .small = 1e-5,
                 .limit = {true, 4},
                 .size = {{2, 3}}};
  *(BurnLinear *)burn_module_list_at(&model.layers, 0) = burn_linear_new(2, 3, device);
  return model;
}

/* What burn_module_text says of the row. */
static void assert_limit(const Model *model, const char *line) {
  char *text = burn_module_text(burn_module(Model, (Model *)(uintptr_t)model));
  assert_non_null(text);
  if (!strstr(text, line)) fail_msg("no '%s' in %s", line, text);
  free(text);
}

/* A derived module: fields in order, one per line, values by Debug. */
static void test_module(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  Model model = model_make(device);
  model.limit.present = false;
  assert_limit(&model, "  limit: none\n");
  model.limit.present = true;
  assert_limit(&model, "  limit: 4\n");
  assert_display(burn_module(Model, &model), NULL,
                 "Model {\n"
                 "  layers: Vec<0..1> {\n"
                 "    0: Linear {d_input: 2, d_output: 3, bias: true, params: 9}\n"
                 "    params: 9\n"
                 "  }\n"
                 "  head: Dense {\n"
                 "    _0: Linear {d_input: 3, d_output: 5, bias: true, params: 20}\n"
                 "    params: 20\n"
                 "  }\n"
                 "  absent: None\n"
                 "  scale: ParamTensor {rank: 1, shape: [2], kind: float}\n"
                 "  rate: 1.0\n"
                 "  small: 1e-5\n"
                 "  limit: Some(4)\n"
                 "  size: [2, 3]\n"
                 "  params: 31\n"
                 "}");
}

static void test_settings(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnDisplaySettings wide = {.indentation_size = 4, .show_num_parameters = BURN_DISPLAY_OFF};
  const BurnDisplaySettings ids = {.show_param_id = BURN_DISPLAY_ON, .new_line_after_attribute = BURN_DISPLAY_OFF};
  const BurnDisplaySettings all = {.show_all_attributes = BURN_DISPLAY_ON};
  Head head = Head_Dense(burn_linear_new(3, 5, device));
  assert_display(burn_module(Head, &head), &wide, "Dense {\n    _0: Linear {d_input: 3, d_output: 5, bias: true}\n}");
  Model model = model_make(device);
  assert_display(
      burn_module(Model, &model), &ids,
      "Model {layers: Vec<0..1> {0: Linear {d_input: 2, d_output: 3, bias: true, params: 9}, params: 9}, "
      "head: Dense {_0: Linear {d_input: 3, d_output: 5, bias: true, params: 20}, params: 20}, absent: None, "
      "scale: ParamTensor {rank: 1, shape: [2], kind: float, id: 0400000000000}, rate: 1.0, small: 1e-5, "
      "limit: Some(4), size: [2, 3], params: 31}");
  BurnLinear linear = burn_linear_new(3, 5, device);
  assert_display(burn_module(BurnLinear, &linear), &all,
                 "Linear {\n  weight: ParamTensor {rank: 2, shape: [3, 5], kind: float}\n"
                 "  bias: ParamTensor {rank: 1, shape: [5], kind: float}\n  params: 20\n}");
  linear = burn_linear_new(3, 5, device); /* quantized values are floats that take less place */
  assert_true(burn_module_quantize_weights(burn_module(BurnLinear, &linear), NULL) == BURN_OK);
  assert_display(burn_module(BurnLinear, &linear), &all,
                 "Linear {\n  weight: ParamTensor {rank: 2, shape: [3, 5], kind: float}\n"
                 "  bias: ParamTensor {rank: 1, shape: [5], kind: float}\n  params: 20\n}");
}

static const char *custom(const BurnType *type) {
  return strcmp(type->name, "Model") == 0 ? "rate width=head.as wrong=rate#0 scale=scale#0 there=scale?" : NULL;
}

/* A hook for a type of one's own; what it names and is not there is a question mark. */
static void test_custom_display(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnDisplaySettings settings = {.custom = custom};
  const BurnDisplaySettings all = {.custom = custom, .show_all_attributes = BURN_DISPLAY_ON, .indentation_size = 1};
  Model model = model_make(device);
  assert_display(burn_module(Model, &model), &settings,
                 "Model {rate: 1, width: ?, wrong: ?, scale: 2, there: true, params: 31}");
  model = model_make(device);
  char *text = burn_module_display(burn_module(Model, &model), &all);
  assert_non_null(strstr(text, "\n scale: ParamTensor {"));
  free(text);
  Model_release(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layers), cmocka_unit_test(test_norms),    cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_module), cmocka_unit_test(test_settings), cmocka_unit_test(test_custom_display),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
