/* cross_attention.c - attention to another sequence, with heads of keys that serve several heads of queries. */
#include <burn/nn/attention.h>

#include "attention_internal.h"

#include <math.h>

static const char *const layer = "cross_attention";

static BurnStatus check_config(const BurnCrossAttentionConfig *config) {
  const BurnNnSize sizes[] = {{"d_model", config->d_model},
                              {"d_context", config->d_context},
                              {"n_heads", config->n_heads},
                              {"n_heads_kv", config->n_heads_kv},
                              {"d_head", config->d_head}};
  BurnStatus status = burn_nn_check_sizes(layer, sizes, 5);
  if (status != BURN_OK) return status;
  if (config->n_heads % config->n_heads_kv) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: n_heads_kv %zu does not divide n_heads %zu", layer,
                            config->n_heads_kv, config->n_heads);
  }
  const BurnNnSize width[] = {
      {"n_heads d_head", (size_t)burn_nn_product((int64_t)config->n_heads, (int64_t)config->d_head)}};
  status = burn_nn_check_sizes(layer, width, 1);
  return status == BURN_OK ? burn_nn_check_share(layer, "dropout", config->dropout) : status;
}

BurnCrossAttention burn_cross_attention_init(const BurnCrossAttentionConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnCrossAttentionConfig_type(), layer, &status);
  if (status == BURN_OK) status = check_config(config);
  const size_t width = config->n_heads * config->d_head, width_kv = config->n_heads_kv * config->d_head;
  BurnLinearConfig query = BurnLinearConfig_defaults(config->d_model, width);
  query.initializer.gain = 1 / sqrt((double)config->d_head);
  BurnLinearConfig key = BurnLinearConfig_defaults(config->d_context, width_kv);
  BurnLinearConfig output = BurnLinearConfig_defaults(width, config->d_model);
  key.initializer = output.initializer = query.initializer;
  BurnCrossAttention m = {.dropout = {config->dropout},
                          .n_heads = config->n_heads,
                          .n_heads_kv = config->n_heads_kv,
                          .d_head = config->d_head,
                          .scale = query.initializer.gain,
                          .min_float = config->min_float,
                          .quiet_softmax = config->quiet_softmax};
  m.query = burn_nn_linear(status, &query, device);
  m.key = burn_nn_linear(status, &key, device);
  m.value = burn_nn_linear(status, &key, device);
  m.output = burn_nn_linear(status, &output, device);
  return m;
}

/* x [batch, n_heads_kv, keys, d_head], every head as often as it serves. Takes x. */
static BurnTensor *repeated(const BurnCrossAttention *m, BurnTensor *x) {
  const int64_t times = (int64_t)(m->n_heads / (m->n_heads_kv ? m->n_heads_kv : 1));
  const BurnShape shape = burn_shape(x);
  if (times == 1 || shape.rank != 4) return x;
  const int64_t *dims = shape.dims;
  x = burn_expand(burn_unsqueeze_dim(x, 2), BURN_SHAPE(dims[0], dims[1], times, dims[2], dims[3]));
  return burn_reshape(x, BURN_SHAPE(dims[0], dims[1] * times, dims[2], dims[3]));
}

/* Of projected keys and values; takes all. */
static BurnTensor *attend(const BurnCrossAttention *m, BurnTensor *query, BurnTensor *key, BurnTensor *value,
                          BurnTensor *mask) {
  const BurnNnAttention how = {.scale = m->scale,
                               .min_float = m->min_float,
                               .quiet_softmax = m->quiet_softmax,
                               .drop_weights = true,
                               .dropout = &m->dropout};
  const BurnNnHeads heads = {.query = burn_nn_split_heads(burn_linear_forward(&m->query, query), m->n_heads),
                             .key = repeated(m, key),
                             .value = repeated(m, value),
                             .mask = mask ? burn_unsqueeze_dim(burn_unsqueeze_dim(mask, 1), 1) : NULL};
  return burn_linear_forward(&m->output, burn_nn_join_heads(burn_nn_attend(&how, heads, NULL)));
}

/* BURN_OK if the shapes, of those that have not failed, are [batch, steps, width], and the mask [batch, keys]. */
static BurnStatus check_input(const BurnCrossAttention *m, const BurnTensor *query, const BurnTensor *context,
                              const BurnTensor *mask) {
  const BurnShape q = burn_shape(query), c = burn_shape(context), hidden = burn_shape(mask);
  if ((q.rank == 0 || q.rank == 3) && (c.rank == 0 || c.rank == 3) && (hidden.rank == 0 || hidden.rank == 2))
    return BURN_OK;
  const BurnStatus status =
      burn_status_make(BURN_STATUS_INVALID_SHAPE,
                       "%s: query %s, context %s and mask %s, expected [batch, queries, d_model], [batch, keys, "
                       "d_context], [batch, keys]",
                       layer, burn_shape_text(q).text, burn_shape_text(c).text, burn_shape_text(hidden).text);
  return burn_nn_at(status, &m->query.weight, 2);
}

static BurnTensor *keys_of(const BurnCrossAttention *m, BurnTensor *context) {
  return burn_nn_split_heads(burn_linear_forward(&m->key, context), m->n_heads_kv);
}
static BurnTensor *values_of(const BurnCrossAttention *m, BurnTensor *context) {
  return burn_nn_split_heads(burn_linear_forward(&m->value, context), m->n_heads_kv);
}

static BurnTensor *refused(BurnTensor *query, BurnTensor *context, BurnTensor *mask, BurnStatus status) {
  burn_drop(query);
  burn_drop(context);
  burn_drop(mask);
  return burn_tensor_failed(status);
}

BurnTensor *burn_cross_attention_forward(const BurnCrossAttention *m, BurnTensor *query, BurnTensor *context,
                                         BurnTensor *mask) {
  if (!m) return BURN_NN_NO_MODULE(query, context, mask);
  const BurnStatus status = check_input(m, query, context, mask);
  if (status != BURN_OK) return refused(query, context, mask, status);
  BurnTensor *key = keys_of(m, burn_clone(context)), *value = values_of(m, context);
  return attend(m, query, key, value, mask);
}

void burn_cross_attention_cache_release(BurnCrossAttentionCache *cache) {
  if (!cache) return;
  burn_drop(cache->key);
  burn_drop(cache->value);
  *cache = (BurnCrossAttentionCache){NULL, NULL};
}

static BurnStatus no_cache(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "%s: the cache is NULL; a BurnCrossAttentionCache of zeros is one", layer);
}

BurnTensor *burn_cross_attention_forward_cache(const BurnCrossAttention *m, BurnTensor *query, BurnTensor *context,
                                               BurnTensor *mask, BurnCrossAttentionCache *cache) {
  if (!m) return BURN_NN_NO_MODULE(query, context, mask);
  if (!cache) return refused(query, context, mask, no_cache());
  const BurnStatus status = check_input(m, query, cache->key ? NULL : context, mask);
  if (status != BURN_OK) return refused(query, context, mask, status);
  if (cache->key) {
    burn_drop(context);
    return attend(m, query, burn_clone(cache->key), burn_clone(cache->value), mask);
  }
  BurnTensor *key = burn_nn_append(&cache->key, keys_of(m, burn_clone(context)), 2);
  BurnTensor *value = burn_nn_append(&cache->value, values_of(m, context), 2);
  return attend(m, query, key, value, mask);
}
