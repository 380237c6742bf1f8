/* transformer_decoder.c - layers of attention of a target with itself and with a memory. */
#include "transformer_internal.h"

static const char *const layer_name = "transformer_decoder";

/* The encoder's config has the same rows. */
static BurnNnTransformer shared_rows(const BurnTransformerDecoderConfig *config) {
  return (BurnNnTransformer){.d_model = config->d_model,
                             .d_ff = config->d_ff,
                             .n_heads = config->n_heads,
                             .n_layers = config->n_layers,
                             .dropout = config->dropout,
                             .norm_first = config->norm_first,
                             .quiet_softmax = config->quiet_softmax,
                             .initializer = config->initializer,
                             .activation = config->activation,
                             .layer_norm_eps = config->layer_norm_eps};
}

static BurnTransformerDecoderLayer make_layer(BurnStatus status, const BurnNnTransformer *config, BurnDevice *device) {
  BurnTransformerDecoderLayer m = {.dropout = {config->dropout}, .norm_first = config->norm_first};
  m.cross_attn = burn_nn_transformer_attention(status, config, device);
  m.self_attn = burn_nn_transformer_attention(status, config, device);
  if (status != BURN_OK) return m;
  m.pwff = burn_nn_transformer_feed_forward(config, device);
  m.norm_1 = burn_nn_transformer_norm(config, device);
  m.norm_2 = burn_nn_transformer_norm(config, device);
  m.norm_3 = burn_nn_transformer_norm(config, device);
  return m;
}

BurnTransformerDecoderLayer burn_transformer_decoder_layer_init(const BurnTransformerDecoderConfig *config,
                                                                BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnTransformerDecoderConfig_type(), layer_name, &status);
  const BurnNnTransformer rows = shared_rows(config);
  return make_layer(status, &rows, device);
}

BurnTransformerDecoder burn_transformer_decoder_init(const BurnTransformerDecoderConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnTransformerDecoderConfig_type(), layer_name, &status);
  const BurnNnTransformer rows = shared_rows(config);
  if (status == BURN_OK) status = burn_nn_check_transformer(layer_name, &rows);
  BurnTransformerDecoder m = {
      .layers = burn_module_list(BurnTransformerDecoderLayer_type(), status == BURN_OK ? config->n_layers : 1),
      .d_model = config->d_model,
      .d_ff = config->d_ff,
      .n_heads = config->n_heads,
      .n_layers = config->n_layers,
      .dropout = config->dropout,
      .norm_first = config->norm_first,
      .quiet_softmax = config->quiet_softmax};
  for (size_t i = 0; i < m.layers.count; i++) {
    BurnTransformerDecoderLayer *layer = burn_module_list_at(&m.layers, i);
    *layer = make_layer(status, &rows, device);
  }
  return m;
}

/* x through a layer; caches are two, of self_attn and of cross_attn, or NULL. Takes x; memory and masks stay. */
static BurnTensor *forward_layer(const BurnTransformerDecoderLayer *m, BurnTensor *x,
                                 const BurnTransformerDecoderInput *input, BurnMhaCache *caches) {
  BurnTensor *part = burn_nn_branch(m->norm_first, &m->norm_3, x);
  part = burn_nn_attention_part(&m->self_attn, part, NULL, burn_clone(input->target_mask_pad),
                                burn_clone(input->target_mask_attn), input->is_causal, caches);
  x = burn_nn_merge(m->norm_first, &m->norm_1, &m->dropout, x, part);
  part = burn_nn_branch(m->norm_first, &m->norm_1, x);
  part = burn_nn_attention_part(&m->cross_attn, part, burn_clone(input->memory), burn_clone(input->memory_mask_pad),
                                burn_clone(input->memory_mask_attn), false, caches ? caches + 1 : NULL);
  x = burn_nn_merge(m->norm_first, &m->norm_2, &m->dropout, x, part);
  part = burn_position_wise_feed_forward_forward(&m->pwff, burn_nn_branch(m->norm_first, &m->norm_2, x));
  return burn_nn_merge(m->norm_first, &m->norm_3, &m->dropout, x, part);
}

/* All but the target. */
static void drop_others(const BurnTransformerDecoderInput *input) {
  burn_drop(input->target_mask_pad);
  burn_drop(input->target_mask_attn);
  burn_drop(input->memory);
  burn_drop(input->memory_mask_pad);
  burn_drop(input->memory_mask_attn);
}

static BurnTensor *refused(BurnTransformerDecoderInput input, BurnStatus status) {
  burn_drop(input.target);
  drop_others(&input);
  return burn_tensor_failed(status);
}

BurnTensor *burn_transformer_decoder_layer_forward(const BurnTransformerDecoderLayer *m,
                                                   BurnTransformerDecoderInput input) {
  if (!m) return refused(input, burn_nn_no_module_status(__func__));
  BurnTensor *x = forward_layer(m, input.target, &input, NULL);
  drop_others(&input);
  return x;
}

/* Takes the input. */
static BurnTensor *forward_layers(const BurnTransformerDecoder *m, BurnTransformerDecoderInput input,
                                  BurnTransformerCache *cache) {
  const BurnModule layers = burn_module(BurnTransformerDecoder, (BurnTransformerDecoder *)(uintptr_t)m);
  BurnTensor *x = input.target;
  if (m->layers.missing) return refused(input, burn_module_status(layers));
  for (size_t i = 0; i < m->layers.count; i++) {
    x = forward_layer(burn_module_list_at(&m->layers, i), x, &input, cache ? &cache->attention[2 * i] : NULL);
  }
  drop_others(&input);
  return x;
}

/* A memory that is missing would make every layer look at itself. */
static BurnStatus check_memory(const BurnTransformerDecoderInput *input) {
  if (input->memory) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: there is no memory", layer_name);
}

BurnTensor *burn_transformer_decoder_forward(const BurnTransformerDecoder *m, BurnTransformerDecoderInput input) {
  if (!m) return refused(input, burn_nn_no_module_status(__func__));
  const BurnStatus status = check_memory(&input);
  return status == BURN_OK ? forward_layers(m, input, NULL) : refused(input, status);
}

BurnTransformerCache *burn_transformer_decoder_new_autoregressive_cache(const BurnTransformerDecoder *m) {
  if (!m) return NULL;
  BurnTransformerCache *cache = burn_nn_transformer_cache(2 * m->layers.count);
  for (size_t i = 0; cache && i < m->layers.count; i++) {
    cache->attention[2 * i + 1] = burn_mha_cache_autoregressive_cross_attention();
  }
  return cache;
}

BurnTensor *burn_transformer_decoder_forward_autoregressive_inference(const BurnTransformerDecoder *m,
                                                                      BurnTransformerDecoderInput input,
                                                                      BurnTransformerCache *cache) {
  if (!m) return refused(input, burn_nn_no_module_status(__func__));
  BurnStatus status = burn_nn_check_cache(layer_name, cache, 2 * m->layers.count, input.target);
  if (status == BURN_OK) status = check_memory(&input);
  if (status != BURN_OK) return refused(input, status);
  input.target = burn_nn_new_steps(cache, input.target);
  input.target_mask_attn = burn_nn_new_steps(cache, input.target_mask_attn);
  input.memory_mask_attn = burn_nn_new_steps(cache, input.memory_mask_attn);
  return burn_nn_append(&cache->output, forward_layers(m, input, cache), 1);
}
