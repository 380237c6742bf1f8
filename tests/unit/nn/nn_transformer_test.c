/* nn_transformer_test.c - feed-forward, encoder and decoder: values, gradients, decoding step by step, refusals. */
#include "nn_testing.h"

#include "sequence_golden.h"
#include "sequence_testing.h"

enum { WIDTH = 6, INNER = 5, HEADS = 2, STEPS = 4 };

static BurnTensor *mask_pad(BurnDevice *device) {
  const bool values[] = {0, 0, 0, 1, 0, 1, 0, 0};
  return burn_tensor_bool(device, values, BURN_SHAPE(2, 4));
}

static void test_feed_forward(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnPositionWiseFeedForward m = burn_position_wise_feed_forward_new(WIDTH, INNER, device);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, 3, WIDTH), 31, 1);
  assert_true(m.dropout.prob == 0.1);
  m.dropout.prob = 0;
  seq_set_params(burn_module(BurnPositionWiseFeedForward, &m), 0.2);
  BurnTensor *y = burn_position_wise_feed_forward_forward(&m, burn_clone(x));
  SEQ_ASSERT_CASE(pwff, y, BurnPositionWiseFeedForward, &m, x);
  BurnPositionWiseFeedForward_release(&m);
  burn_drop(x);
}

static BurnTransformerEncoder encoder_new(BurnDevice *device, bool norm_first) {
  BurnTransformerEncoderConfig config = BurnTransformerEncoderConfig_defaults(WIDTH, INNER, HEADS, 2);
  assert_true(config.dropout == 0.1 && !config.norm_first && config.layer_norm_eps == 1e-5);
  config.dropout = 0;
  config.norm_first = norm_first;
  BurnTransformerEncoder m = burn_transformer_encoder_init(&config, device);
  seq_set_params(burn_module(BurnTransformerEncoder, &m), 0.5);
  return m;
}

static BurnTransformerDecoder decoder_new(BurnDevice *device, bool norm_first) {
  BurnTransformerDecoderConfig config = BurnTransformerDecoderConfig_defaults(WIDTH, INNER, HEADS, 2);
  config.dropout = 0;
  config.norm_first = norm_first;
  BurnTransformerDecoder m = burn_transformer_decoder_init(&config, device);
  seq_set_params(burn_module(BurnTransformerDecoder, &m), 0.5);
  return m;
}

static BurnTensor *encode(const BurnTransformerEncoder *m, const BurnTensor *x) {
  const BurnTransformerEncoderInput input = {.tensor = burn_clone(x), .is_causal = true};
  return burn_transformer_encoder_forward(m, input);
}

/* With Burn's mask instead of the flag. */
static BurnTensor *decode(const BurnTransformerDecoder *m, const BurnTensor *x, const BurnTensor *memory) {
  BurnDevice *device = burn_tensor_device(x);
  const BurnTransformerDecoderInput input = {
      .target = burn_clone(x),
      .memory = burn_clone(memory),
      .target_mask_attn = burn_generate_autoregressive_mask(device, 2, burn_dim(x, 1)),
      .memory_mask_pad = mask_pad(device)};
  return burn_transformer_decoder_forward(m, input);
}

static void test_encoder(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnTransformerEncoder m = encoder_new(device, false), first = encoder_new(device, true);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, STEPS, WIDTH), 31, 1);
  SEQ_ASSERT_CASE(encoder, encode(&m, x), BurnTransformerEncoder, &m, x);
  SEQ_ASSERT_CASE(encoder_norm_first, encode(&first, x), BurnTransformerEncoder, &first, x);
  BurnTransformerEncoder_release(&m);
  BurnTransformerEncoder_release(&first);
  BurnTransformerEncoderConfig config = BurnTransformerEncoderConfig_defaults(WIDTH, INNER, HEADS, 1);
  config.dropout = 0;
  config.quiet_softmax = true;
  config.activation = (BurnActivationConfig)BURN_ACTIVATION_RELU;
  m = burn_transformer_encoder_init(&config, device);
  seq_set_params(burn_module(BurnTransformerEncoder, &m), 0.5);
  const BurnTransformerEncoderInput input = {.tensor = burn_clone(x), .mask_pad = mask_pad(device)};
  SEQ_ASSERT_CASE(encoder_options, burn_transformer_encoder_forward(&m, input), BurnTransformerEncoder, &m, x);
  BurnTransformerEncoder_release(&m);
  burn_drop(x);
}

static void test_decoder(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnTransformerDecoder m = decoder_new(device, false), first = decoder_new(device, true);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, STEPS, WIDTH), 31, 1);
  BurnTensor *memory = seq_leaf(device, BURN_SHAPE(2, STEPS, WIDTH), 32, 1);
  SEQ_ASSERT_CASE(decoder, decode(&m, x, memory), BurnTransformerDecoder, &m, x, memory);
  SEQ_ASSERT_CASE(decoder_norm_first, decode(&first, x, memory), BurnTransformerDecoder, &first, x, memory);
  BurnTransformerDecoder_release(&m);
  BurnTransformerDecoder_release(&first);
  burn_drop(x);
  burn_drop(memory);
}

/* All layers by themselves are the whole. */
static void test_layers(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnTransformerEncoder encoder = encoder_new(device, true);
  BurnTransformerDecoder decoder = decoder_new(device, true);
  BurnTensor *x = nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), 31), *y = burn_clone(x);
  BurnTensor *memory = nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), 32);
  for (size_t i = 0; i < 2; i++) {
    const BurnTransformerEncoderInput input = {.tensor = y, .is_causal = true};
    y = burn_transformer_encoder_layer_forward(burn_module_list_at(&encoder.layers, i), input);
  }
  nn_assert_values("encoder", y, golden_encoder_norm_first, 48, 5e-5);
  y = x;
  for (size_t i = 0; i < 2; i++) {
    const BurnTransformerDecoderInput input = {
        .target = y, .memory = burn_clone(memory), .is_causal = true, .memory_mask_pad = mask_pad(device)};
    y = burn_transformer_decoder_layer_forward(burn_module_list_at(&decoder.layers, i), input);
  }
  nn_assert_values("decoder", y, golden_decoder_norm_first, 48, 5e-5);
  burn_drop(memory);
  BurnTransformerEncoder_release(&encoder);
  BurnTransformerDecoder_release(&decoder);
}

/* The first steps of the values of a case [2, STEPS, WIDTH]. */
static void assert_first_steps(const char *name, BurnTensor *x, int64_t steps, const double *golden) {
  double expected[2 * STEPS * WIDTH];
  nn_assert_shape(x, BURN_SHAPE(2, steps, WIDTH));
  for (int64_t i = 0; i < 2 * steps * WIDTH; i++)
    expected[i] = golden[i % (steps * WIDTH) + i / (steps * WIDTH) * STEPS * WIDTH];
  nn_assert_values(name, x, expected, (size_t)(2 * steps * WIDTH), 5e-5);
}

/* The golden values of the whole pass come step by step, two at once in between. */
static void encoder_step_by_step(BurnDevice *device, bool norm_first, const double *golden) {
  BurnTransformerEncoder m = encoder_new(device, norm_first);
  BurnTransformerCache *cache = burn_transformer_encoder_new_autoregressive_cache(&m);
  for (int64_t steps = 1; steps <= STEPS; steps += steps == 2 ? 2 : 1) {
    BurnTensor *x = burn_narrow(nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), 31), 1, 0, steps);
    const BurnTransformerEncoderInput input = {.tensor = x, .is_causal = true};
    x = burn_transformer_encoder_forward_autoregressive_inference(&m, input, cache);
    assert_first_steps("encoder", x, steps, golden);
  }
  BurnTransformerEncoderInput again = {.tensor = nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), 31)};
  nn_assert_failed(burn_transformer_encoder_forward_autoregressive_inference(&m, again, cache),
                   "transformer_encoder: 4 steps, the cache has 4 already");
  burn_transformer_cache_destroy(cache);
  again.tensor = nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), 31);
  nn_assert_failed(burn_transformer_encoder_forward_autoregressive_inference(&m, again, NULL),
                   "transformer_encoder: there is no cache");
  BurnTransformerEncoder_release(&m);
}

static void decoder_step_by_step(BurnDevice *device, bool norm_first, const double *golden) {
  BurnTransformerDecoder m = decoder_new(device, norm_first);
  BurnTransformerCache *cache = burn_transformer_decoder_new_autoregressive_cache(&m);
  for (int64_t steps = 1; steps <= STEPS; steps++) {
    const BurnTransformerDecoderInput input = {
        .target = burn_narrow(nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), 31), 1, 0, steps),
        .target_mask_attn = burn_generate_autoregressive_mask(device, 2, steps),
        .memory = nn_pattern(device, BURN_SHAPE(2, STEPS, WIDTH), steps == 1 ? 32 : 50),
        .memory_mask_pad = mask_pad(device)};
    BurnTensor *x = burn_transformer_decoder_forward_autoregressive_inference(&m, input, cache);
    assert_first_steps("decoder", x, steps, golden);
  }
  burn_transformer_cache_destroy(cache);
  BurnTransformerDecoder_release(&m);
}

static void test_step_by_step(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  encoder_step_by_step(device, false, golden_encoder);
  encoder_step_by_step(device, true, golden_encoder_norm_first);
  decoder_step_by_step(device, false, golden_decoder);
  decoder_step_by_step(device, true, golden_decoder_norm_first);
}

/* Padding may hold anything: what is not padding comes out the same. */
static void test_padding_is_hidden(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnTransformerEncoder m = encoder_new(device, false);
  double found[2][3 * WIDTH];
  for (int i = 0; i < 2; i++) {
    BurnTensor *seen = nn_pattern(device, BURN_SHAPE(1, 3, WIDTH), 1);
    BurnTensor *padding = nn_pattern(device, BURN_SHAPE(1, 1, WIDTH), 5 + i);
    const BurnTransformerEncoderInput input = {
        .tensor = burn_cat((BurnTensor *const[]){seen, padding}, 2, 1),
        .mask_pad = burn_tensor_bool(device, (bool[]){0, 0, 0, 1}, BURN_SHAPE(1, 4))};
    BurnTensor *y = burn_narrow(burn_transformer_encoder_forward(&m, input), 1, 0, 3);
    assert_string_equal("ok", burn_status_message(burn_read_f64(y, found[i], 3 * WIDTH)));
  }
  assert_memory_equal(found[0], found[1], sizeof found[0]);
  BurnTransformerEncoder_release(&m);
}

/* The forward pass gives the reason too, and not what it makes of sizes that no layer has. */
static void assert_encoder_refused(const BurnTransformerEncoderConfig *config, BurnDevice *device,
                                   const char *message) {
  BurnTransformerEncoder m = burn_transformer_encoder_init(config, device);
  const BurnStatus status = burn_module_status(burn_module(BurnTransformerEncoder, &m));
  assert_string_equal(message, burn_status_message(status));
  BurnTensor *x = nn_pattern(device, BURN_SHAPE(2, 4, 8), 1);
  x = burn_transformer_encoder_forward(&m, (BurnTransformerEncoderInput){.tensor = x});
  const char *field = ".query.weight", *at = strstr(message, field);
  assert_non_null(at);
  char passed_on[200]; /* the same without the name of the parameter */
  (void)snprintf(passed_on, sizeof passed_on, "%.*s%s", (int)(at - message), message, at + strlen(field));
  nn_assert_failed(x, passed_on);
  BurnTransformerEncoder_release(&m);
}

/* The input does not go through as if there were no layers. */
static void test_layers_without_memory(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnTransformerEncoderConfig config = BurnTransformerEncoderConfig_defaults(8, 4, 2, 1);
  BurnTransformerEncoder m = burn_transformer_encoder_init(&config, device);
  burn_module_release(burn_module(BurnModuleList, &m.layers));
  m.layers = burn_module_list(BurnTransformerEncoderLayer_type(), SIZE_MAX / 4);
  BurnTransformerCache *cache = burn_transformer_encoder_new_autoregressive_cache(&m);
  char message[64];
  (void)snprintf(message, sizeof message, "layers: no memory for %zu modules", SIZE_MAX / 4);
  BurnTransformerEncoderInput input = {.tensor = nn_pattern(device, BURN_SHAPE(2, 4, 8), 1)};
  nn_assert_failed(burn_transformer_encoder_forward(&m, input), message);
  input.tensor = nn_pattern(device, BURN_SHAPE(2, 4, 8), 1);
  nn_assert_failed(burn_transformer_encoder_forward_autoregressive_inference(&m, input, cache), message);
  burn_transformer_cache_destroy(cache);
  BurnTransformerEncoder_release(&m);
}

static void test_refuses(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnTransformerEncoderConfig config = BurnTransformerEncoderConfig_defaults(8, 4, 2, 0);
  assert_encoder_refused(&config, device, "layers.0.mha.query.weight: transformer_encoder: n_layers is 0");
  config.n_layers = 2;
  config.n_heads = 3;
  assert_encoder_refused(&config, device,
                         "layers.0.mha.query.weight: multi_head_attention: n_heads 3 does not divide d_model 8");
  assert_encoder_refused(NULL, device,
                         "layers.0.mha.query.weight: transformer_encoder: config is NULL: "
                         "BurnTransformerEncoderConfig_defaults(d_model, d_ff, n_heads, n_layers) makes one");
  BurnTransformerDecoder m = decoder_new(device, false);
  BurnTransformerDecoderInput input = {.target = nn_pattern(device, BURN_SHAPE(2, 4, WIDTH), 1)};
  nn_assert_failed(burn_transformer_decoder_forward(&m, input), "transformer_decoder: there is no memory");
  input.target = nn_pattern(device, BURN_SHAPE(2, 4, WIDTH), 1);
  input.memory = nn_pattern(device, BURN_SHAPE(2, 3, WIDTH), 1);
  input.memory_mask_pad = mask_pad(device);
  nn_assert_failed(burn_transformer_decoder_forward(&m, input),
                   "layers.0.cross_attn: multi_head_attention: mask_pad [2,4], expected [2,3]");
  BurnTransformerDecoder_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_feed_forward),
      cmocka_unit_test(test_encoder),
      cmocka_unit_test(test_decoder),
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_step_by_step),
      cmocka_unit_test(test_padding_is_hidden),
      cmocka_unit_test(test_layers_without_memory),
      cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
