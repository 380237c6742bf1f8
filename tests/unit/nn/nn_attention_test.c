/* nn_attention_test.c - multi-head and cross attention: values, gradients, masks, caches, refusals. */
#include "nn_testing.h"

#include "sequence_golden.h"
#include "sequence_testing.h"

/* The masks of the generator: the first query of the second item sees no key. */
static BurnTensor *mask_pad(BurnDevice *device) {
  const bool values[] = {0, 0, 0, 1, 0, 1, 0, 0};
  return burn_tensor_bool(device, values, BURN_SHAPE(2, 4));
}
static BurnTensor *mask_attn(BurnDevice *device) {
  const bool values[] = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0};
  return burn_tensor_bool(device, values, BURN_SHAPE(2, 3, 4));
}

static BurnMultiHeadAttention mha_new(BurnDevice *device, double min_float, bool quiet_softmax) {
  BurnMultiHeadAttentionConfig config = BurnMultiHeadAttentionConfig_defaults(8, 2);
  config.dropout = 0;
  config.min_float = min_float;
  config.quiet_softmax = quiet_softmax;
  BurnMultiHeadAttention m = burn_multi_head_attention_init(&config, device);
  seq_set_params(burn_module(BurnMultiHeadAttention, &m), 0.2);
  return m;
}

/* Query, key and value of the generator. */
typedef struct Inputs {
  BurnTensor *query, *key, *value;
} Inputs;

static Inputs inputs_new(BurnDevice *device) {
  return (Inputs){seq_leaf(device, BURN_SHAPE(2, 3, 8), 31, 1), seq_leaf(device, BURN_SHAPE(2, 4, 8), 32, 1),
                  seq_leaf(device, BURN_SHAPE(2, 4, 8), 33, 1)};
}
static void inputs_drop(const Inputs *in) {
  burn_drop(in->query);
  burn_drop(in->key);
  burn_drop(in->value);
}
static BurnMhaInput mha_input(const Inputs *in) {
  return (BurnMhaInput){.query = burn_clone(in->query), .key = burn_clone(in->key), .value = burn_clone(in->value)};
}

#define MHA_ASSERT_CASE(name, y, m, in) \
  SEQ_ASSERT_CASE(name, y, BurnMultiHeadAttention, &(m), (in).query, (in).key, (in).value)

/* With weights and without them (the op does it all) the numbers are the same. */
static void test_mha(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  const Inputs in = inputs_new(device);
  BurnMhaOutput y = burn_multi_head_attention_forward(&m, mha_input(&in));
  assert_null(y.weights);
  MHA_ASSERT_CASE(mha, y.context, m, in);
  BurnMhaInput input = mha_input(&in);
  input.with_weights = true;
  y = burn_multi_head_attention_forward(&m, input);
  nn_assert_shape(y.weights, BURN_SHAPE(2, 2, 3, 4));
  NN_ASSERT_GOLDEN(mha_weights, y.weights);
  MHA_ASSERT_CASE(mha, y.context, m, in);
  inputs_drop(&in);
  BurnMultiHeadAttention_release(&m);
}

static BurnMhaInput masked_input(const Inputs *in, bool with_weights) {
  BurnMhaInput input = mha_input(in);
  input.mask_pad = mask_pad(burn_tensor_device(in->query));
  input.mask_attn = mask_attn(burn_tensor_device(in->query));
  input.with_weights = with_weights;
  return input;
}

static void test_mha_masked(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  const Inputs in = inputs_new(device);
  MHA_ASSERT_CASE(mha_masked, burn_multi_head_attention_forward(&m, masked_input(&in, false)).context, m, in);
  BurnMhaOutput y = burn_multi_head_attention_forward(&m, masked_input(&in, true));
  NN_ASSERT_GOLDEN(mha_masked_weights, y.weights);
  MHA_ASSERT_CASE(mha_masked, y.context, m, in);
  BurnMhaInput input = mha_input(&in);
  input.mask_pad = mask_pad(device);
  input.bias = burn_alibi_bias(&(BurnAlibi){2}, 3, 4, BURN_DTYPE_DEFAULT, device);
  MHA_ASSERT_CASE(mha_alibi, burn_multi_head_attention_forward(&m, input).context, m, in);
  BurnMultiHeadAttention_release(&m);
  m = mha_new(device, -1, false);
  MHA_ASSERT_CASE(mha_soft_mask, burn_multi_head_attention_forward(&m, masked_input(&in, false)).context, m, in);
  BurnMultiHeadAttention_release(&m);
  m = mha_new(device, -1e4, true);
  input = mha_input(&in);
  input.mask_pad = mask_pad(device);
  MHA_ASSERT_CASE(mha_quiet, burn_multi_head_attention_forward(&m, input).context, m, in);
  BurnMultiHeadAttention_release(&m);
  inputs_drop(&in);
}

/* Causal by the flag, by the flag with weights, and by Burn's mask. */
static void test_mha_causal(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, 5, 8), 31, 1);
  SEQ_ASSERT_CASE(mha_causal, burn_multi_head_attention_self(&m, burn_clone(x), true), BurnMultiHeadAttention, &m, x);
  BurnMhaInput input = {burn_clone(x), burn_clone(x), burn_clone(x), .is_causal = true, .with_weights = true};
  BurnMhaOutput y = burn_multi_head_attention_forward(&m, input);
  burn_drop(y.weights);
  SEQ_ASSERT_CASE(mha_causal, y.context, BurnMultiHeadAttention, &m, x);
  input = (BurnMhaInput){burn_clone(x), burn_clone(x), burn_clone(x),
                         .mask_attn = burn_generate_autoregressive_mask(device, 1, 5)};
  SEQ_ASSERT_CASE(mha_causal, burn_multi_head_attention_forward(&m, input).context, BurnMultiHeadAttention, &m, x);
  BurnMultiHeadAttention_release(&m);
  BurnMultiHeadAttentionConfig config = BurnMultiHeadAttentionConfig_defaults(8, 4);
  config.dropout = 0;
  config.query_bias = config.key_bias = config.value_bias = config.output_bias = false;
  m = burn_multi_head_attention_init(&config, device);
  assert_true(!m.query.bias.value && !m.key.bias.value && !m.value.bias.value && !m.output.bias.value);
  seq_set_params(burn_module(BurnMultiHeadAttention, &m), 0.2);
  SEQ_ASSERT_CASE(mha_no_bias, burn_multi_head_attention_self(&m, burn_clone(x), false), BurnMultiHeadAttention, &m, x);
  BurnMultiHeadAttention_release(&m);
  burn_drop(x);
}

/* Both at once: the first query of the first item sees itself alone, which is padding. */
static void test_mha_causal_padding(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const bool hidden[] = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0};
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, 5, 8), 31, 1);
  for (int with_weights = 0; with_weights <= 1; with_weights++) {
    BurnMhaInput input = {.query = burn_clone(x),
                          .key = burn_clone(x),
                          .value = burn_clone(x),
                          .mask_pad = burn_tensor_bool(device, hidden, BURN_SHAPE(2, 5)),
                          .is_causal = true,
                          .with_weights = with_weights};
    const BurnMhaOutput y = burn_multi_head_attention_forward(&m, input);
    burn_drop(y.weights);
    SEQ_ASSERT_CASE(mha_causal_pad, y.context, BurnMultiHeadAttention, &m, x);
  }
  burn_drop(x);
  BurnMultiHeadAttention_release(&m);
}

/* What a mask hides may be anything. */
static void test_masks_hide(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  double found[2][48];
  for (int i = 0; i < 2; i++) {
    const bool values[] = {0, 0, 1, 1};
    BurnTensor *seen = nn_pattern(device, BURN_SHAPE(2, 2, 8), 1), *hidden = nn_pattern(device, BURN_SHAPE(2, 2, 8), 7);
    BurnTensor *keys = burn_cat((BurnTensor *const[]){seen, burn_add_scalar(hidden, i * 3)}, 2, 1);
    BurnMhaInput input = {nn_pattern(device, BURN_SHAPE(2, 3, 8), 2), burn_clone(keys), keys,
                          .mask_pad = burn_tensor_bool(device, values, BURN_SHAPE(1, 4))};
    const BurnStatus status = burn_read_f64(burn_multi_head_attention_forward(&m, input).context, found[i], 48);
    assert_string_equal("ok", burn_status_message(status));
  }
  assert_memory_equal(found[0], found[1], sizeof found[0]);
  BurnMultiHeadAttention_release(&m);
}

/* Dropout is on the scores, before masks: what is hidden stays hidden, and shares still sum to 1. */
static void test_mha_dropout(void **state) {
  NnDevices *devices = *state;
  BurnMultiHeadAttentionConfig config = BurnMultiHeadAttentionConfig_defaults(8, 2);
  BurnMultiHeadAttention m = burn_multi_head_attention_init(&config, devices->training);
  double found[48];
  assert_true(m.dropout.prob == 0.1);
  m.dropout.prob = 0.5;
  seq_set_params(burn_module(BurnMultiHeadAttention, &m), 0.4);
  const Inputs in = inputs_new(devices->training);
  BurnMhaOutput y = burn_multi_head_attention_forward(&m, masked_input(&in, true));
  burn_drop(y.context);
  assert_string_equal("ok", burn_status_message(burn_read_f64(burn_clone(y.weights), found, 48)));
  assert_true(found[3] == 0 && found[1] == 0 && found[0] > 0);
  const double *golden = golden_mha_masked_weights;
  double distance = 0;
  for (size_t i = 0; i < 48; i++) distance += fabs(found[i] - golden[i]);
  assert_true(distance > 0.1);
  const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  nn_assert_values("sums", burn_sum_dim(y.weights, 3), ones, 12, 1e-6);
  inputs_drop(&in);
  BurnMultiHeadAttention_release(&m);
}

/* One step, then two, then one: each call gives all contexts so far, equal to the whole pass. */
static void test_mha_cache(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  BurnMhaCache cache = burn_mha_cache_autoregressive();
  double whole[80], found[80];
  BurnTensor *x = nn_pattern(device, BURN_SHAPE(2, 5, 8), 31);
  BurnTensor *y = burn_multi_head_attention_self(&m, burn_clone(x), true);
  for (int64_t steps = 1; steps <= 5; steps += steps == 1 ? 2 : 1) {
    BurnTensor *so_far = burn_narrow(burn_clone(x), 1, 0, steps);
    BurnMhaInput input = {.query = burn_clone(so_far), .key = burn_clone(so_far), .value = so_far};
    /* Both ways to say it, by turns. */
    input.is_causal = steps % 2;
    if (!input.is_causal) input.mask_attn = burn_generate_autoregressive_mask(device, 2, steps);
    BurnTensor *context = burn_multi_head_attention_forward_cache(&m, input, &cache).context;
    nn_assert_shape(context, BURN_SHAPE(2, steps, 8));
    assert_string_equal("ok", burn_status_message(burn_read_f64(context, found, (size_t)steps * 16)));
    BurnTensor *part = burn_narrow(burn_clone(y), 1, 0, steps);
    assert_string_equal("ok", burn_status_message(burn_read_f64(part, whole, (size_t)steps * 16)));
    for (int64_t i = 0; i < steps * 16; i++) assert_true(fabs(found[i] - whole[i]) < 1e-5);
  }
  BurnMhaInput again = {.query = burn_clone(x), .key = burn_clone(x), .value = burn_clone(x)};
  nn_assert_failed(burn_multi_head_attention_forward_cache(&m, again, &cache).context,
                   "multi_head_attention: 5 queries, the cache has 5 already");
  burn_mha_cache_release(&cache);
  assert_null(cache.key);
  burn_drop(x);
  burn_drop(y);
  BurnMultiHeadAttention_release(&m);
}

/* Keys and values of the first call stay; their mask is given each time. */
static void test_mha_cache_across(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMultiHeadAttention m = mha_new(device, -1e4, false);
  BurnMhaCache cache = burn_mha_cache_autoregressive_cross_attention();
  BurnTensor *memory = nn_pattern(device, BURN_SHAPE(2, 4, 8), 32), *x = nn_pattern(device, BURN_SHAPE(2, 3, 8), 31);
  BurnTensor *context = NULL;
  for (int64_t steps = 1; steps <= 3; steps++) {
    BurnMhaInput input = {burn_narrow(burn_clone(x), 1, 0, steps), burn_clone(memory), burn_clone(memory),
                          .mask_pad = mask_pad(device), .with_weights = true};
    if (steps > 1) input.key = burn_mul_scalar(input.key, 100); /* not looked at */
    burn_drop(context);
    BurnMhaOutput output = burn_multi_head_attention_forward_cache(&m, input, &cache);
    nn_assert_shape(output.weights, BURN_SHAPE(2, 2, 1, 4));
    burn_drop(output.weights);
    context = output.context;
  }
  double whole[48];
  BurnMhaInput input = {x, burn_clone(memory), memory, .mask_pad = mask_pad(device)};
  BurnTensor *y = burn_multi_head_attention_forward(&m, input).context;
  assert_string_equal("ok", burn_status_message(burn_read_f64(y, whole, 48)));
  nn_assert_values("across", context, whole, 48, 1e-5);
  burn_mha_cache_release(&cache);
  BurnMultiHeadAttention_release(&m);
}

static void assert_config_refused(const BurnMultiHeadAttentionConfig *config, BurnDevice *device, const char *message) {
  BurnMultiHeadAttention m = burn_multi_head_attention_init(config, device);
  assert_string_equal(message, burn_status_message(burn_module_status(burn_module(BurnMultiHeadAttention, &m))));
  BurnMultiHeadAttention_release(&m);
}

#define WRAP_FIELDS(X) X(BurnMultiHeadAttention, attn, "")
BURN_MODULE(Wrap, WRAP_FIELDS);

static void test_mha_refuses(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnMultiHeadAttentionConfig config = BurnMultiHeadAttentionConfig_defaults(8, 3);
  assert_config_refused(&config, device, "query.weight: multi_head_attention: n_heads 3 does not divide d_model 8");
  config.n_heads = 0;
  assert_config_refused(&config, device, "query.weight: multi_head_attention: n_heads is 0");
  config.n_heads = 2;
  config.dropout = 2;
  assert_config_refused(&config, device, "query.weight: multi_head_attention: dropout 2 is outside 0..1");
  assert_config_refused(NULL, device,
                        "query.weight: multi_head_attention: config is NULL: "
                        "BurnMultiHeadAttentionConfig_defaults(d_model, n_heads) makes one");
  Wrap wrap = {burn_multi_head_attention_new(8, 2, device)};
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(Wrap, &wrap))));
  nn_assert_failed(burn_multi_head_attention_self(&wrap.attn, nn_pattern(device, BURN_SHAPE(2, 8), 1), true),
                   "attn: multi_head_attention: query [2,8], expected [batch, steps, 8]");
  const Inputs in = inputs_new(((NnDevices *)*state)->training);
  BurnMhaInput input = mha_input(&in);
  input.mask_pad = mask_attn(device);
  input.with_weights = true;
  const BurnMhaOutput output = burn_multi_head_attention_forward(&wrap.attn, input);
  nn_assert_failed(output.context, "attn: multi_head_attention: mask_pad [2,3,4], expected [2,4]");
  nn_assert_failed(output.weights, "attn: multi_head_attention: mask_pad [2,3,4], expected [2,4]");
  inputs_drop(&in);
  Wrap_release(&wrap);
}

static BurnCrossAttention cross_new(BurnDevice *device, bool quiet_softmax) {
  BurnCrossAttentionConfig config = BurnCrossAttentionConfig_defaults(6, 5, 4, 2, 3);
  config.dropout = 0;
  config.quiet_softmax = quiet_softmax;
  BurnCrossAttention m = burn_cross_attention_init(&config, device);
  seq_set_params(burn_module(BurnCrossAttention, &m), 0.2);
  return m;
}

static void test_cross_attention(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnCrossAttention m = cross_new(device, false), quiet = cross_new(device, true);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, 3, 6), 31, 1), *context = seq_leaf(device, BURN_SHAPE(2, 4, 5), 32, 1);
  BurnTensor *y = burn_cross_attention_forward(&m, burn_clone(x), burn_clone(context), NULL);
  SEQ_ASSERT_CASE(cross_attention, y, BurnCrossAttention, &m, x, context);
  y = burn_cross_attention_forward(&m, burn_clone(x), burn_clone(context), mask_pad(device));
  SEQ_ASSERT_CASE(cross_attention_masked, y, BurnCrossAttention, &m, x, context);
  y = burn_cross_attention_forward(&quiet, burn_clone(x), burn_clone(context), mask_pad(device));
  SEQ_ASSERT_CASE(cross_attention_quiet, y, BurnCrossAttention, &quiet, x, context);
  BurnCrossAttentionCache cache = {NULL, NULL};
  y = burn_cross_attention_forward_cache(&m, burn_clone(x), burn_clone(context), mask_pad(device), &cache);
  nn_assert_shape(cache.key, BURN_SHAPE(2, 2, 4, 3));
  burn_drop(y);
  y = burn_cross_attention_forward_cache(&m, burn_clone(x), NULL, mask_pad(device), &cache);
  SEQ_ASSERT_CASE(cross_attention_masked, y, BurnCrossAttention, &m, x, context);
  burn_cross_attention_cache_release(&cache);
  burn_drop(x);
  burn_drop(context);
  BurnCrossAttention_release(&m);
  BurnCrossAttention_release(&quiet);
}

/* Dropout of the weights, whose gain is 1 / sqrt(d_head) at first. */
static void test_cross_attention_config(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnCrossAttention m = burn_cross_attention_new(64, 16, 2, 1, 9, device);
  double largest = 0;
  assert_true(m.dropout.prob == 0.1 && fabs(m.scale - 1.0 / 3) < 1e-15 && m.min_float == -1e4);
  BurnStatus status = burn_read_scalar(burn_max_abs(burn_param_value(&m.key.weight)), &largest);
  assert_string_equal("ok", burn_status_message(status));
  assert_true(largest <= sqrt(3.0) / 3 / 4 && largest > 0.9 * sqrt(3.0) / 3 / 4);
  nn_assert_failed(burn_cross_attention_forward(&m, nn_pattern(device, BURN_SHAPE(2, 4), 1),
                                                nn_pattern(device, BURN_SHAPE(1, 2, 16), 1), NULL),
                   "cross_attention: query [2,4], context [1,2,16] and mask [], expected [batch, queries, d_model], "
                   "[batch, keys, d_context], [batch, keys]");
  BurnCrossAttention_release(&m);
  m = burn_cross_attention_new(6, 5, 4, 3, 3, device);
  status = burn_module_status(burn_module(BurnCrossAttention, &m));
  assert_string_equal("query.weight: cross_attention: n_heads_kv 3 does not divide n_heads 4",
                      burn_status_message(status));
  BurnCrossAttention_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mha),
      cmocka_unit_test(test_mha_masked),
      cmocka_unit_test(test_mha_causal),
      cmocka_unit_test(test_mha_causal_padding),
      cmocka_unit_test(test_masks_hide),
      cmocka_unit_test(test_mha_dropout),
      cmocka_unit_test(test_mha_cache),
      cmocka_unit_test(test_mha_cache_across),
      cmocka_unit_test(test_mha_refuses),
      cmocka_unit_test(test_cross_attention),
      cmocka_unit_test(test_cross_attention_config),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
