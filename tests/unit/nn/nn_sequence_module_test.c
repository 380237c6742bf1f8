/* nn_sequence_module_test.c - layers over sequences as modules: record fields of Burn, configs as JSON, copies. */
#include "nn_testing.h"

#include "record_testing.h"

#define CONSTANTS " d_model:- d_ff:- n_heads:- n_layers:- dropout:- norm_first:- quiet_softmax:-"

static void test_attention_records(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMultiHeadAttention mha = burn_multi_head_attention_new(4, 2, device);
  BurnCrossAttention cross = burn_cross_attention_new(4, 3, 2, 1, 2, device);
  BurnPositionWiseFeedForward pwff = burn_position_wise_feed_forward_new(4, 3, device);
  BurnPositionalEncoding positional = burn_positional_encoding_new(4, device);
  BurnRotaryEncoding rotary = burn_rotary_encoding_new(4, 4, device);
  assert_record(burn_module(BurnMultiHeadAttention, &mha),
                "query:map key:map value:map output:map dropout:- activation:- d_model:- n_heads:- d_k:- min_float:- "
                "quiet_softmax:-");
  assert_record(burn_module(BurnCrossAttention, &cross),
                "query:map key:map value:map output:map dropout:- n_heads:- n_heads_kv:- d_head:- scale:- min_float:- "
                "quiet_softmax:-");
  assert_record(burn_module(BurnPositionWiseFeedForward, &pwff),
                "linear_inner:map linear_outer:map dropout:- activation:map");
  assert_record(burn_module(BurnPositionalEncoding, &positional),
                "sinusoids:- max_sequence_size:- max_timescale:- d_model:-");
  assert_record(burn_module(BurnRotaryEncoding, &rotary),
                "theta:- start_offset:- max_sequence_length:- d_model:- base:-");
}

static void test_transformer_records(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnTransformerEncoder encoder = burn_transformer_encoder_new(4, 3, 2, 2, device);
  BurnTransformerDecoder decoder = burn_transformer_decoder_new(4, 3, 2, 1, device);
  const BurnTransformerEncoderConfig encoder_config = BurnTransformerEncoderConfig_defaults(4, 3, 2, 1);
  const BurnTransformerDecoderConfig decoder_config = BurnTransformerDecoderConfig_defaults(4, 3, 2, 1);
  BurnTransformerEncoderLayer encoder_layer = burn_transformer_encoder_layer_init(&encoder_config, device);
  BurnTransformerDecoderLayer decoder_layer = burn_transformer_decoder_layer_init(&decoder_config, device);
  assert_record(burn_module(BurnTransformerEncoder, &encoder), "layers:2" CONSTANTS);
  assert_record(burn_module(BurnTransformerDecoder, &decoder), "layers:1" CONSTANTS);
  assert_record(burn_module(BurnTransformerEncoderLayer, &encoder_layer),
                "mha:map pwff:map norm_1:map norm_2:map dropout:- norm_first:-");
  assert_record(burn_module(BurnTransformerDecoderLayer, &decoder_layer),
                "cross_attn:map self_attn:map pwff:map norm_1:map norm_2:map norm_3:map dropout:- norm_first:-");
}

static void test_recurrent_records(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnGateController gate = burn_gate_controller_new(2, 3, true, device);
  BurnRnn rnn = burn_rnn_new(2, 3, true, device);
  BurnGru gru = burn_gru_new(2, 3, true, device);
  BurnLstm lstm = burn_lstm_new(2, 3, true, device);
  BurnBiLstm bi_lstm = burn_bi_lstm_new(2, 3, true, device);
  assert_record(burn_module(BurnGateController, &gate), "input_transform:map hidden_transform:map");
  assert_record(burn_module(BurnRnn, &rnn), "gate:map d_hidden:- batch_first:- reverse:- clip:- hidden_activation:map");
  assert_record(burn_module(BurnGru, &gru),
                "update_gate:map reset_gate:map new_gate:map d_hidden:- reset_after:- gate_activation:map "
                "hidden_activation:map clip:-");
  assert_record(burn_module(BurnLstm, &lstm),
                "input_gate:map forget_gate:map output_gate:map cell_gate:map d_hidden:- batch_first:- reverse:- "
                "clip:- input_forget:- gate_activation:map cell_activation:map hidden_activation:map");
  assert_record(burn_module(BurnBiLstm, &bi_lstm), "forward:map reverse:map d_hidden:- batch_first:-");
}

/* The defaults, as Burn writes them. */
static void test_configs(void **state) {
  (void)state;
  BurnTransformerEncoderConfig encoder = BurnTransformerEncoderConfig_defaults(8, 16, 2, 3);
  char *text = burn_config_text(burn_config(BurnTransformerEncoderConfig, &encoder));
  assert_non_null(strstr(text, "\"activation\": \"Gelu\""));
  assert_non_null(strstr(text, "\"KaimingUniform\""));
  free(text);
  const char *json =
      "{\"d_model\": 8, \"d_ff\": 16, \"n_heads\": 2, \"n_layers\": 3, \"norm_first\": true, "
      "\"activation\": {\"LeakyRelu\": {\"negative_slope\": 0.3}}}";
  const BurnStatus status = burn_config_parse(burn_config(BurnTransformerEncoderConfig, &encoder), json);
  assert_string_equal("ok", burn_status_message(status));
  assert_true(encoder.norm_first && encoder.dropout == 0.1 && encoder.activation.negative_slope == 0.3);
  const BurnLstmConfig lstm = BurnLstmConfig_defaults(2, 3, true);
  assert_int_equal(BURN_INITIALIZER_XAVIER_NORMAL, lstm.initializer.kind);
  assert_true(lstm.batch_first && !lstm.reverse && !lstm.clip.present && !lstm.input_forget);
}

/* A record fits a fresh encoder, and a copy for validation has the same values: on the device below, without dropout. */
static void test_round_trip(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnTransformerEncoder first = burn_transformer_encoder_new(8, 6, 2, 2, device);
  BurnTransformerEncoder second = burn_transformer_encoder_new(8, 6, 2, 2, device);
  BurnValue *record = burn_value_module(burn_module(BurnTransformerEncoder, &first));
  BurnStatus status = burn_value_into_module(record, burn_module(BurnTransformerEncoder, &second));
  assert_string_equal("ok", burn_status_message(status));
  burn_value_destroy(record);
  BurnTransformerEncoder valid = BurnTransformerEncoder_valid(&first), loaded = BurnTransformerEncoder_valid(&second);
  const BurnTransformerEncoder *const both[] = {&valid, &loaded};
  double found[2][64];
  for (int i = 0; i < 2; i++) {
    BurnTransformerEncoderInput input = {.tensor = nn_pattern(burn_device_inner(device), BURN_SHAPE(2, 4, 8), 1)};
    status = burn_read_f64(burn_transformer_encoder_forward(both[i], input), found[i], 64);
    assert_string_equal("ok", burn_status_message(status));
  }
  assert_memory_equal(found[0], found[1], sizeof found[0]);
  BurnTransformerEncoder_release(&valid);
  BurnTransformerEncoder_release(&loaded);
  BurnTransformerEncoder_release(&first);
  BurnTransformerEncoder_release(&second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attention_records), cmocka_unit_test(test_transformer_records),
      cmocka_unit_test(test_recurrent_records), cmocka_unit_test(test_configs),
      cmocka_unit_test(test_round_trip),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
