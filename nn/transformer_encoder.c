/* transformer_encoder.c - layers of attention of a sequence with itself. */
#include "transformer_internal.h"

static const char *const layer_name = "transformer_encoder";

static BurnTransformerEncoderLayer make_layer(BurnStatus status, const BurnTransformerEncoderConfig *config,
                                              BurnDevice *device) {
  BurnTransformerEncoderLayer m = {.dropout = {config->dropout}, .norm_first = config->norm_first};
  m.mha = burn_nn_transformer_attention(status, config, device);
  if (status != BURN_OK) return m;
  m.pwff = burn_nn_transformer_feed_forward(config, device);
  m.norm_1 = burn_nn_transformer_norm(config, device);
  m.norm_2 = burn_nn_transformer_norm(config, device);
  return m;
}

BurnTransformerEncoderLayer burn_transformer_encoder_layer_init(const BurnTransformerEncoderConfig *config,
                                                                BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnTransformerEncoderConfig_type(), layer_name, &status);
  return make_layer(status, config, device);
}

BurnTransformerEncoder burn_transformer_encoder_init(const BurnTransformerEncoderConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnTransformerEncoderConfig_type(), layer_name, &status);
  if (status == BURN_OK) status = burn_nn_check_transformer(layer_name, config);
  BurnTransformerEncoder m = {
      .layers = burn_module_list(BurnTransformerEncoderLayer_type(), status == BURN_OK ? config->n_layers : 1),
      .d_model = config->d_model,
      .d_ff = config->d_ff,
      .n_heads = config->n_heads,
      .n_layers = config->n_layers,
      .dropout = config->dropout,
      .norm_first = config->norm_first,
      .quiet_softmax = config->quiet_softmax};
  for (size_t i = 0; i < m.layers.count; i++) {
    BurnTransformerEncoderLayer *layer = burn_module_list_at(&m.layers, i);
    *layer = make_layer(status, config, device);
  }
  return m;
}

/* x through a layer, its new steps if there is a cache. Takes x; the masks stay. */
static BurnTensor *forward_layer(const BurnTransformerEncoderLayer *m, BurnTensor *x,
                                 const BurnTransformerEncoderInput *masks, BurnMhaCache *cache) {
  BurnTensor *part = burn_nn_branch(m->norm_first, &m->norm_2, x);
  part = burn_nn_attention_part(&m->mha, part, NULL, burn_clone(masks->mask_pad), burn_clone(masks->mask_attn),
                                masks->is_causal, cache);
  x = burn_nn_merge(m->norm_first, &m->norm_1, &m->dropout, x, part);
  part = burn_position_wise_feed_forward_forward(&m->pwff, burn_nn_branch(m->norm_first, &m->norm_1, x));
  return burn_nn_merge(m->norm_first, &m->norm_2, &m->dropout, x, part);
}

static void drop_masks(const BurnTransformerEncoderInput *input) {
  burn_drop(input->mask_pad);
  burn_drop(input->mask_attn);
}

static BurnTensor *refused(BurnTransformerEncoderInput input, BurnStatus status) {
  burn_drop(input.tensor);
  drop_masks(&input);
  return burn_tensor_failed(status);
}

BurnTensor *burn_transformer_encoder_layer_forward(const BurnTransformerEncoderLayer *m,
                                                   BurnTransformerEncoderInput input) {
  if (!m) return refused(input, burn_nn_no_module_status(__func__));
  BurnTensor *x = forward_layer(m, input.tensor, &input, NULL);
  drop_masks(&input);
  return x;
}

/* Takes the input. */
static BurnTensor *forward_layers(const BurnTransformerEncoder *m, BurnTransformerEncoderInput input,
                                  BurnTransformerCache *cache) {
  const BurnModule layers = burn_module(BurnTransformerEncoder, (BurnTransformerEncoder *)(uintptr_t)m);
  BurnTensor *x = input.tensor;
  if (m->layers.missing) return refused(input, burn_module_status(layers));
  for (size_t i = 0; i < m->layers.count; i++) {
    x = forward_layer(burn_module_list_at(&m->layers, i), x, &input, cache ? &cache->attention[i] : NULL);
  }
  drop_masks(&input);
  return x;
}

BurnTensor *burn_transformer_encoder_forward(const BurnTransformerEncoder *m, BurnTransformerEncoderInput input) {
  if (!m) return refused(input, burn_nn_no_module_status(__func__));
  return forward_layers(m, input, NULL);
}

BurnTransformerCache *burn_transformer_encoder_new_autoregressive_cache(const BurnTransformerEncoder *m) {
  if (!m) return NULL;
  return burn_nn_transformer_cache(m->layers.count);
}

BurnTensor *burn_transformer_encoder_forward_autoregressive_inference(const BurnTransformerEncoder *m,
                                                                      BurnTransformerEncoderInput input,
                                                                      BurnTransformerCache *cache) {
  if (!m) return refused(input, burn_nn_no_module_status(__func__));
  const BurnStatus status = burn_nn_check_cache(layer_name, cache, m->layers.count, input.tensor);
  if (status != BURN_OK) return refused(input, status);
  input.tensor = burn_nn_new_steps(cache, input.tensor);
  input.mask_attn = burn_nn_new_steps(cache, input.mask_attn);
  return burn_nn_append(&cache->output, forward_layers(m, input, cache), 1);
}
