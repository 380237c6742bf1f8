/* attention.c - multi-head attention, whole and step by step. */
#include <burn/nn/attention.h>

#include "attention_internal.h"

#include <math.h>

static const char *const layer = "multi_head_attention";

static BurnStatus check_config(const BurnMultiHeadAttentionConfig *config) {
  const BurnNnSize sizes[] = {{"d_model", config->d_model}, {"n_heads", config->n_heads}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, 2);
  if (status != BURN_OK) return status;
  if (config->d_model % config->n_heads) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: n_heads %zu does not divide d_model %zu", layer,
                            config->n_heads, config->d_model);
  }
  return burn_nn_check_share(layer, "dropout", config->dropout);
}

BurnMultiHeadAttention burn_multi_head_attention_init(const BurnMultiHeadAttentionConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnMultiHeadAttentionConfig_type(), layer, &status);
  if (status == BURN_OK) status = check_config(config);
  BurnLinearConfig linear = BurnLinearConfig_defaults(config->d_model, config->d_model);
  linear.initializer = config->initializer;
  BurnMultiHeadAttention m = {.dropout = {config->dropout},
                              .d_model = config->d_model,
                              .n_heads = config->n_heads,
                              .d_k = config->d_model / (config->n_heads ? config->n_heads : 1),
                              .min_float = config->min_float,
                              .quiet_softmax = config->quiet_softmax};
  linear.bias = config->query_bias;
  m.query = burn_nn_linear(status, &linear, device);
  linear.bias = config->key_bias;
  m.key = burn_nn_linear(status, &linear, device);
  linear.bias = config->value_bias;
  m.value = burn_nn_linear(status, &linear, device);
  linear.bias = config->output_bias;
  m.output = burn_nn_linear(status, &linear, device);
  return m;
}

/* -- inputs ----------------------------------------------------------------------------------- */

static void drop_input(const BurnMhaInput *input) {
  BurnTensor *const all[] = {input->query, input->key, input->value, input->mask_pad, input->mask_attn, input->bias};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) burn_drop(all[i]);
}

static BurnMhaOutput failed(const BurnMhaInput *input, BurnStatus status) {
  drop_input(input);
  return (BurnMhaOutput){burn_tensor_failed(status), input->with_weights ? burn_tensor_failed(status) : NULL};
}

static BurnMhaOutput refused(const BurnMultiHeadAttention *m, const BurnMhaInput *input, BurnStatus status) {
  return failed(input, burn_nn_at(status, &m->query.weight, 2));
}

/* BURN_OK if x is [batch, steps, d_model], absent or failed. */
static BurnStatus check_tokens(const BurnMultiHeadAttention *m, const char *name, const BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  if (shape.rank == 0 || (shape.rank == 3 && shape.dims[2] == (int64_t)m->d_model)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s %s, expected [batch, steps, %zu]", layer, name,
                          burn_shape_text(shape).text, m->d_model);
}

/* BURN_OK if the mask is `wanted`, of which the first size may be 1, absent or failed. */
static BurnStatus check_mask(const char *name, const BurnTensor *mask, BurnShape wanted) {
  const BurnShape shape = burn_shape(mask);
  if (shape.rank == 0) return BURN_OK;
  bool fits = shape.rank == wanted.rank && (shape.dims[0] == 1 || shape.dims[0] == wanted.dims[0]);
  for (uint32_t i = 1; fits && i < wanted.rank; i++) fits = shape.dims[i] == wanted.dims[i];
  if (fits) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s %s, expected %s", layer, name, burn_shape_text(shape).text,
                          burn_shape_text(wanted).text);
}

/* BURN_OK if the layer could be made and all shapes belong together, with masks for `keys` keys. */
static BurnStatus check_input(const BurnMultiHeadAttention *m, const BurnMhaInput *input, int64_t keys) {
  const int64_t batch = burn_dim(input->query, 0), queries = burn_dim(input->query, 1);
  const BurnTensor *weight = m->query.weight.value;
  BurnStatus status = weight ? burn_tensor_status(weight) : BURN_OK;
  if (status == BURN_OK) status = check_tokens(m, "query", input->query);
  if (status == BURN_OK) status = check_tokens(m, "key", input->key);
  if (status == BURN_OK) status = check_tokens(m, "value", input->value);
  if (status != BURN_OK || queries < 0 || keys < 0) return status;
  status = check_mask("mask_pad", input->mask_pad, BURN_SHAPE(batch, keys));
  return status == BURN_OK ? check_mask("mask_attn", input->mask_attn, BURN_SHAPE(batch, queries, keys)) : status;
}

/* Both masks as one, [batch, 1, queries or 1, keys], or NULL. Takes them. */
static BurnTensor *joined_masks(BurnTensor *pad, BurnTensor *attn) {
  if (pad) pad = burn_unsqueeze_dim(burn_unsqueeze_dim(pad, 1), 1);
  if (attn) attn = burn_unsqueeze_dim(attn, 1);
  return pad && attn ? burn_bool_or(pad, attn) : pad ? pad : attn;
}

/* -- the pass --------------------------------------------------------------------------------- */

/* Of projected heads; key and value are those given instead of the input's. */
static BurnMhaOutput attend(const BurnMultiHeadAttention *m, const BurnMhaInput *input, BurnTensor *key,
                            BurnTensor *value) {
  const BurnNnAttention how = {.scale = 1 / sqrt((double)m->d_k),
                               .min_float = m->min_float,
                               .quiet_softmax = m->quiet_softmax,
                               .dropout = &m->dropout};
  BurnMhaOutput output = {NULL, NULL};
  const BurnNnHeads heads = {.query = burn_nn_split_heads(burn_linear_forward(&m->query, input->query), m->n_heads),
                             .key = key,
                             .value = value,
                             .mask = joined_masks(input->mask_pad, input->mask_attn),
                             .bias = input->bias,
                             .is_causal = input->is_causal};
  BurnTensor *values = burn_nn_attend(&how, heads, input->with_weights ? &output.weights : NULL);
  output.context = burn_linear_forward(&m->output, burn_nn_join_heads(values));
  return output;
}

static BurnTensor *keys_of(const BurnMultiHeadAttention *m, BurnTensor *x) {
  return burn_nn_split_heads(burn_linear_forward(&m->key, x), m->n_heads);
}
static BurnTensor *values_of(const BurnMultiHeadAttention *m, BurnTensor *x) {
  return burn_nn_split_heads(burn_linear_forward(&m->value, x), m->n_heads);
}

BurnMhaOutput burn_multi_head_attention_forward(const BurnMultiHeadAttention *m, BurnMhaInput input) {
  if (!m) return failed(&input, burn_nn_no_module_status(__func__));
  const BurnStatus status = check_input(m, &input, burn_dim(input.key, 1));
  if (status != BURN_OK) return refused(m, &input, status);
  BurnTensor *key = keys_of(m, input.key), *value = values_of(m, input.value);
  return attend(m, &input, key, value);
}

BurnTensor *burn_multi_head_attention_self(const BurnMultiHeadAttention *m, BurnTensor *x, bool is_causal) {
  BurnTensor *key = burn_clone(x), *value = burn_clone(x);
  const BurnMhaInput input = {.query = x, .key = key, .value = value, .is_causal = is_causal};
  return burn_multi_head_attention_forward(m, input).context;
}

/* -- step by step ----------------------------------------------------------------------------- */

BurnMhaCache burn_mha_cache_autoregressive(void) { return (BurnMhaCache){.is_cross = false}; }
BurnMhaCache burn_mha_cache_autoregressive_cross_attention(void) { return (BurnMhaCache){.is_cross = true}; }

void burn_mha_cache_release(BurnMhaCache *cache) {
  if (!cache) return;
  burn_drop(cache->key);
  burn_drop(cache->value);
  burn_drop(cache->output);
  *cache = (BurnMhaCache){.is_cross = cache->is_cross};
}

BurnMhaOutput burn_nn_attend_step(const BurnMultiHeadAttention *m, BurnMhaInput input, BurnMhaCache *cache) {
  const bool is_filled = cache->is_cross && cache->key;
  const int64_t before = cache->key ? burn_dim(cache->key, 2) : 0;
  const BurnStatus status = check_input(m, &input, is_filled ? before : before + burn_dim(input.key, 1));
  if (status != BURN_OK) return refused(m, &input, status);
  if (is_filled) {
    burn_drop(input.key);
    burn_drop(input.value);
    return attend(m, &input, burn_clone(cache->key), burn_clone(cache->value));
  }
  BurnTensor *key = burn_nn_append(&cache->key, keys_of(m, input.key), 2);
  BurnTensor *value = burn_nn_append(&cache->value, values_of(m, input.value), 2);
  return attend(m, &input, key, value);
}

static BurnStatus no_cache(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "%s: the cache is NULL; burn_mha_cache_autoregressive makes one", layer);
}

/* x from `start` on along dim, if there is an x that has `steps` there. Takes x. */
static BurnTensor *rest(BurnTensor *x, int dim, int64_t start, int64_t steps) {
  return x && start > 0 && burn_dim(x, dim) == steps ? burn_narrow(x, dim, start, steps - start) : x;
}

BurnMhaOutput burn_multi_head_attention_forward_cache(const BurnMultiHeadAttention *m, BurnMhaInput input,
                                                      BurnMhaCache *cache) {
  if (!m) return failed(&input, burn_nn_no_module_status(__func__));
  if (!cache) return refused(m, &input, no_cache());
  const int64_t steps = burn_dim(input.query, 1), before = cache->output ? burn_dim(cache->output, 1) : 0;
  if (burn_rank(input.query) == 3 && before >= steps) {
    return refused(m, &input,
                   burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %lld queries, the cache has %lld already", layer,
                                    (long long)steps, (long long)before));
  }
  input.query = rest(input.query, 1, before, steps);
  if (!cache->is_cross) input.key = rest(input.key, 1, before, steps);
  if (!cache->is_cross) input.value = rest(input.value, 1, before, steps);
  input.mask_attn = rest(input.mask_attn, 1, before, steps);
  input.bias = rest(input.bias, 2, before, steps);
  BurnMhaOutput output = burn_nn_attend_step(m, input, cache);
  output.context = burn_nn_append(&cache->output, output.context, 1);
  return output;
}
