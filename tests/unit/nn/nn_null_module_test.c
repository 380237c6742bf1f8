/* nn_null_module_test.c - every function of a layer that gets NULL for its module: it says which layer and what makes
 * one, takes its tensors and leaves none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>

#include <stdio.h>

static BurnDevice *device;

/* Takes x. */
static void expect(const char *layer, BurnTensor *x) {
  char message[160];
  snprintf(message, sizeof message, "%s: the module is NULL; burn_%s_init makes one", layer, layer);
  assert_string_equal(burn_status_message(burn_tensor_status(x)), message);
  burn_drop(x);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
}

static BurnTensor *given(void) { return burn_ones(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32); }

/* A row: a layer, and what follows its name in the function's. */
#define EXPECT(layer, function, ...) expect(#layer, burn_##layer##function(NULL, __VA_ARGS__));
#define ONE(layer, function) EXPECT(layer, function, given())
#define TWO(layer, function) EXPECT(layer, function, given(), given())
#define THREE(layer, function) EXPECT(layer, function, given(), given(), given())
#define TWO_REDUCED(layer, function) EXPECT(layer, function, given(), given(), BURN_REDUCTION_MEAN)
#define THREE_REDUCED(layer, function) EXPECT(layer, function, given(), given(), given(), BURN_REDUCTION_MEAN)

static void layers(void **state) {
  (void)state;
  ONE(activation, _forward)
  ONE(adaptive_avg_pool1d, _forward)
  ONE(adaptive_avg_pool2d, _forward)
  ONE(adaptive_avg_pool3d, _forward)
  ONE(alibi, _forward)
  ONE(avg_pool1d, _forward)
  ONE(avg_pool2d, _forward)
  ONE(batch_norm, _forward)
  ONE(celu, _forward)
  ONE(conv1d, _forward)
  ONE(conv2d, _forward)
  ONE(conv3d, _forward)
  ONE(conv_transpose1d, _forward)
  ONE(conv_transpose2d, _forward)
  ONE(conv_transpose3d, _forward)
  ONE(dropout, _forward)
  ONE(elu, _forward)
  ONE(embedding, _forward)
  ONE(fold4d, _forward)
  ONE(gaussian_noise, _forward)
  ONE(gelu, _forward)
  ONE(glu, _forward)
  ONE(group_norm, _forward)
  ONE(hard_shrink, _forward)
  ONE(hard_sigmoid, _forward)
  ONE(hardtanh, _forward)
  ONE(instance_norm, _forward)
  ONE(interpolate1d, _forward)
  ONE(interpolate2d, _forward)
  ONE(layer_norm, _forward)
  ONE(leaky_relu, _forward)
  ONE(linear, _forward)
  ONE(local_response_norm, _forward)
  ONE(max_pool1d, _forward)
  ONE(max_pool2d, _forward)
  ONE(normalization, _forward)
  ONE(pixel_shuffle, _forward)
  ONE(pixel_unshuffle, _forward)
  ONE(position_wise_feed_forward, _forward)
  ONE(positional_encoding, _forward)
  ONE(prelu, _forward)
  ONE(rms_norm, _forward)
  ONE(rotary_encoding, _forward)
  ONE(rrelu, _forward)
  ONE(shrink, _forward)
  ONE(soft_shrink, _forward)
  ONE(softplus, _forward)
  ONE(swiglu, _forward)
  ONE(threshold, _forward)
  ONE(thresholded_relu, _forward)
  ONE(unfold4d, _forward)
  TWO(cosine_similarity, _forward)
  TWO(gate_controller, _forward)
  TWO(pairwise_distance, _forward)
  THREE(deform_conv2d, _forward)
}

static void losses(void **state) {
  (void)state;
  ONE(huber_loss, _forward_residuals)
  TWO(binary_cross_entropy_loss, _forward)
  TWO(cross_entropy_loss, _forward)
  TWO(cross_entropy_loss, _forward_no_reduction)
  TWO(gram_matrix_loss, _forward_no_reduction)
  TWO(hinge_embedding_loss, _forward_no_reduction)
  TWO(huber_loss, _forward_no_reduction)
  TWO(kl_div_loss, _forward_no_reduction)
  TWO(lp_loss, _forward_no_reduction)
  TWO(multi_margin_loss, _forward_no_reduction)
  TWO(poisson_nll_loss, _forward_no_reduction)
  TWO(smooth_l1_loss, _forward)
  TWO_REDUCED(gram_matrix_loss, _forward)
  TWO_REDUCED(hinge_embedding_loss, _forward)
  TWO_REDUCED(huber_loss, _forward)
  TWO_REDUCED(kl_div_loss, _forward)
  TWO_REDUCED(lp_loss, _forward)
  TWO_REDUCED(multi_margin_loss, _forward)
  TWO_REDUCED(poisson_nll_loss, _forward)
  TWO_REDUCED(smooth_l1_loss, _forward_with_reduction)
  EXPECT(lp_loss, _forward_reduce_dims, given(), given(), (const int[]){0}, 1)
  EXPECT(smooth_l1_loss, _forward_reduce_dims, given(), given(), (const int[]){0}, 1)
  THREE(cosine_embedding_loss, _forward)
  THREE(cosine_embedding_loss, _forward_no_reduction)
  THREE(gaussian_nll_loss, _forward_no_reduction)
  THREE(margin_ranking_loss, _forward_no_reduction)
  THREE(triplet_margin_loss, _forward_no_reduction)
  THREE_REDUCED(gaussian_nll_loss, _forward)
  THREE_REDUCED(margin_ranking_loss, _forward)
  THREE_REDUCED(triplet_margin_loss, _forward)
  EXPECT(ctc_loss, _forward, given(), given(), given(), given())
  EXPECT(rnnt_loss, _forward, given(), given(), given(), given())
  EXPECT(ctc_loss, _forward_with_reduction, given(), given(), given(), given(), BURN_REDUCTION_MEAN)
  EXPECT(rnnt_loss, _forward_with_reduction, given(), given(), given(), given(), BURN_REDUCTION_MEAN)
}

/* The last state is the same failure. */
#define RECURRENT(layer)                           \
  last = NULL;                                     \
  EXPECT(layer, _forward, given(), given(), &last) \
  expect(#layer, last);

static void sequences(void **state) {
  (void)state;
  BurnTensor *last = NULL;
  RECURRENT(rnn)
  RECURRENT(bi_rnn)
  RECURRENT(gru)
  RECURRENT(bi_gru)
  for (int both = 0; both < 2; both++) {
    const BurnLstmState first = {.cell = given(), .hidden = given()};
    BurnLstmState end = {NULL, NULL};
    const char *layer = both ? "bi_lstm" : "lstm";
    expect(layer,
           both ? burn_bi_lstm_forward(NULL, given(), &first, &end) : burn_lstm_forward(NULL, given(), &first, &end));
    expect(layer, end.cell);
    expect(layer, end.hidden);
  }
}

/* A message of its own. Takes x. */
static void expect_message(const char *message, BurnTensor *x) {
  assert_string_equal(burn_status_message(burn_tensor_status(x)), message);
  burn_drop(x);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
}

static void attention(void **state) {
  (void)state;
  BurnMhaCache cache = burn_mha_cache_autoregressive();
  BurnCrossAttentionCache cross_cache = {NULL, NULL};
  EXPECT(multi_head_attention, _self, given(), true)
  const BurnMhaInput plain = {.query = given(), .key = given(), .value = given(), .with_weights = true};
  BurnMhaOutput output = burn_multi_head_attention_forward(NULL, plain);
  expect("multi_head_attention", output.context);
  expect("multi_head_attention", output.weights);
  const BurnMhaInput step = {.query = given(), .key = given(), .value = given(), .mask_pad = given()};
  expect("multi_head_attention", burn_multi_head_attention_forward_cache(NULL, step, &cache).context);
  EXPECT(cross_attention, _forward, given(), given(), given())
  EXPECT(cross_attention, _forward_cache, given(), given(), given(), &cross_cache)
  burn_mha_cache_release(NULL);
  burn_cross_attention_cache_release(NULL);
}

static void without_a_cache(void **state) {
  (void)state;
  const BurnMultiHeadAttention m = {.d_model = 2};
  const BurnCrossAttention cross = {.n_heads = 1};
  const BurnMhaInput step = {.query = given(), .key = given(), .value = given()};
  expect_message("multi_head_attention: the cache is NULL; burn_mha_cache_autoregressive makes one",
                 burn_multi_head_attention_forward_cache(&m, step, NULL).context);
  expect_message("cross_attention: the cache is NULL; a BurnCrossAttentionCache of zeros is one",
                 burn_cross_attention_forward_cache(&cross, given(), given(), given(), NULL));
}

static void transformers(void **state) {
  (void)state;
#define SOURCE ((BurnTransformerEncoderInput){.tensor = given(), .mask_pad = given(), .mask_attn = given()})
#define TARGET ((BurnTransformerDecoderInput){.target = given(), .memory = given(), .target_mask_pad = given()})
  EXPECT(transformer_encoder, _forward, SOURCE)
  EXPECT(transformer_encoder_layer, _forward, SOURCE)
  EXPECT(transformer_encoder, _forward_autoregressive_inference, SOURCE, NULL)
  EXPECT(transformer_decoder, _forward, TARGET)
  EXPECT(transformer_decoder_layer, _forward, TARGET)
  EXPECT(transformer_decoder, _forward_autoregressive_inference, TARGET, NULL)
  assert_null(burn_transformer_encoder_new_autoregressive_cache(NULL));
  assert_null(burn_transformer_decoder_new_autoregressive_cache(NULL));
}

/* Those that give no tensor, or take none. */
static void others(void **state) {
  (void)state;
  const BurnSyncGroup group = burn_sync_group(1);
  EXPECT(batch_norm, _forward_sync, given(), &group, 0)
  EXPECT(rotary_encoding, _apply, given(), 3)
  EXPECT(rotary_encoding, _frequencies, device)
  EXPECT(alibi, _bias, 2, 2, BURN_DTYPE_F32, device)
  const BurnBatchNorm zeros = {.epsilon = 1};
  expect_message("batch_norm: the group is NULL; burn_sync_group makes one",
                 burn_batch_norm_forward_sync(&zeros, given(), NULL, 0));
  burn_binary_cross_entropy_loss_set_weights(NULL, given());
  burn_cross_entropy_loss_set_weights(NULL, given());
  burn_cross_entropy_loss_set_pad_tokens(NULL, given());
  burn_rotary_encoding_set_frequencies(NULL, given());
  burn_rotary_encoding_reset(NULL);
  expect("rotary_encoding", burn_tensor_failed(burn_rotary_encoding_shift(NULL, 3)));
  expect_message("initializer: it is NULL; BURN_XAVIER_UNIFORM and its like are some",
                 burn_initializer_tensor(NULL, BURN_SHAPE(2, 2), 2, 2, device));
}

static int open_device(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int close_device(void **state) {
  (void)state;
  burn_device_close(device);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers),    cmocka_unit_test(losses),          cmocka_unit_test(sequences),
      cmocka_unit_test(attention), cmocka_unit_test(without_a_cache), cmocka_unit_test(transformers),
      cmocka_unit_test(others),
  };
  return cmocka_run_group_tests_name("nn null module", tests, open_device, close_device);
}
