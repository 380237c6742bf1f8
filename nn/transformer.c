/* transformer.c - what encoder and decoder share: the parts of their layers and the caches. */
#include "transformer_internal.h"

#include <stdlib.h>

/* -- position-wise feed-forward --------------------------------------------------------------- */

BurnPositionWiseFeedForward burn_position_wise_feed_forward_init(const BurnPositionWiseFeedForwardConfig *config,
                                                                 BurnDevice *device) {
  const char *layer = "position_wise_feed_forward";
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnPositionWiseFeedForwardConfig_type(), layer, &status);
  const BurnNnSize sizes[] = {{"d_model", config->d_model}, {"d_ff", config->d_ff}};
  if (status == BURN_OK) status = burn_nn_check_sizes(layer, sizes, 2);
  if (status == BURN_OK) status = burn_nn_check_share(layer, "dropout", config->dropout);
  BurnLinearConfig inner = BurnLinearConfig_defaults(config->d_model, config->d_ff);
  BurnLinearConfig outer = BurnLinearConfig_defaults(config->d_ff, config->d_model);
  inner.initializer = outer.initializer = config->initializer;
  BurnPositionWiseFeedForward m = {.dropout = {config->dropout},
                                   .activation = burn_activation_init(&config->activation, device)};
  m.linear_inner = burn_nn_linear(status, &inner, device);
  m.linear_outer = burn_nn_linear(status, &outer, device);
  return m;
}

BurnTensor *burn_position_wise_feed_forward_forward(const BurnPositionWiseFeedForward *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  x = burn_activation_forward(&m->activation, burn_linear_forward(&m->linear_inner, x));
  return burn_linear_forward(&m->linear_outer, burn_dropout_forward(&m->dropout, x));
}

/* -- making layers ---------------------------------------------------------------------------- */

BurnStatus burn_nn_check_transformer(const char *layer, const BurnNnTransformer *config) {
  const BurnNnSize sizes[] = {{"n_layers", config->n_layers}, {"d_ff", config->d_ff}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, 2);
  return status == BURN_OK ? burn_nn_check_share(layer, "dropout", config->dropout) : status;
}

BurnMultiHeadAttention burn_nn_transformer_attention(BurnStatus status, const BurnNnTransformer *config,
                                                     BurnDevice *device) {
  if (status != BURN_OK) return (BurnMultiHeadAttention){.query = burn_nn_linear(status, NULL, device)};
  BurnMultiHeadAttentionConfig attention = BurnMultiHeadAttentionConfig_defaults(config->d_model, config->n_heads);
  attention.dropout = config->dropout;
  attention.quiet_softmax = config->quiet_softmax;
  attention.initializer = config->initializer;
  return burn_multi_head_attention_init(&attention, device);
}

BurnPositionWiseFeedForward burn_nn_transformer_feed_forward(const BurnNnTransformer *config, BurnDevice *device) {
  BurnPositionWiseFeedForwardConfig pwff = BurnPositionWiseFeedForwardConfig_defaults(config->d_model, config->d_ff);
  pwff.dropout = config->dropout;
  pwff.initializer = config->initializer;
  pwff.activation = config->activation;
  return burn_position_wise_feed_forward_init(&pwff, device);
}

BurnLayerNorm burn_nn_transformer_norm(const BurnNnTransformer *config, BurnDevice *device) {
  BurnLayerNormConfig norm = BurnLayerNormConfig_defaults(config->d_model);
  norm.epsilon = config->layer_norm_eps;
  return burn_layer_norm_init(&norm, device);
}

/* -- the parts of a pass ---------------------------------------------------------------------- */

BurnTensor *burn_nn_branch(bool norm_first, const BurnLayerNorm *norm, const BurnTensor *x) {
  BurnTensor *branch = burn_clone(x);
  return norm_first ? burn_layer_norm_forward(norm, branch) : branch;
}

BurnTensor *burn_nn_merge(bool norm_first, const BurnLayerNorm *norm, const BurnDropout *dropout, BurnTensor *x,
                          BurnTensor *part) {
  x = burn_add(x, burn_dropout_forward(dropout, part));
  return norm_first ? x : burn_layer_norm_forward(norm, x);
}

BurnTensor *burn_nn_attention_part(const BurnMultiHeadAttention *m, BurnTensor *x, BurnTensor *key,
                                   BurnTensor *mask_pad, BurnTensor *mask_attn, bool is_causal, BurnMhaCache *cache) {
  if (!key) key = burn_clone(x);
  BurnTensor *value = burn_clone(key);
  const BurnMhaInput input = {
      .query = x, .key = key, .value = value, .mask_pad = mask_pad, .mask_attn = mask_attn, .is_causal = is_causal};
  return cache ? burn_nn_attend_step(m, input, cache).context : burn_multi_head_attention_forward(m, input).context;
}

/* -- caches ----------------------------------------------------------------------------------- */

BurnTransformerCache *burn_nn_transformer_cache(size_t count) {
  BurnTransformerCache *cache = calloc(1, sizeof *cache + count * sizeof cache->attention[0]);
  if (cache) cache->count = count;
  return cache;
}

void burn_transformer_cache_destroy(BurnTransformerCache *cache) {
  if (!cache) return;
  for (size_t i = 0; i < cache->count; i++) burn_mha_cache_release(&cache->attention[i]);
  burn_drop(cache->output);
  free(cache);
}

BurnStatus burn_nn_check_cache(const char *layer, const BurnTransformerCache *cache, size_t count,
                               const BurnTensor *x) {
  if (!cache) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: there is no cache", layer);
  if (cache->count != count) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the cache was made for another model", layer);
  }
  const int64_t before = cache->output ? burn_dim(cache->output, 1) : 0, steps = burn_dim(x, 1);
  if (steps > before || burn_rank(x) < 2) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %lld steps, the cache has %lld already", layer,
                          (long long)steps, (long long)before);
}

BurnTensor *burn_nn_new_steps(const BurnTransformerCache *cache, BurnTensor *x) {
  const int64_t before = cache->output ? burn_dim(cache->output, 1) : 0;
  return x && before > 0 ? burn_narrow(x, 1, before, burn_dim(x, 1) - before) : x;
}
