/* transformer_internal.h - what encoder and decoder share. Private to nn/. */
#ifndef BURN_NN_TRANSFORMER_INTERNAL_H
#define BURN_NN_TRANSFORMER_INTERNAL_H

#include <burn/nn/transformer.h>

#include "attention_internal.h"

/* The rows that both configs have in common. */
typedef BurnTransformerEncoderConfig BurnNnTransformer;

/* BURN_OK or what the config has wrong beyond its layers. */
BurnStatus burn_nn_check_transformer(const char *layer, const BurnNnTransformer *config);

/* The parts of a layer by the config; the attention has failed parameters if the status is a failure. */
BurnMultiHeadAttention burn_nn_transformer_attention(BurnStatus status, const BurnNnTransformer *config,
                                                     BurnDevice *device);
BurnPositionWiseFeedForward burn_nn_transformer_feed_forward(const BurnNnTransformer *config, BurnDevice *device);
BurnLayerNorm burn_nn_transformer_norm(const BurnNnTransformer *config, BurnDevice *device);

/* What a part works on: x (borrowed), through the norm if it is the first. */
BurnTensor *burn_nn_branch(bool norm_first, const BurnLayerNorm *norm, const BurnTensor *x);
/* x + dropout(part), through the norm if it is not the first. Takes x and part. */
BurnTensor *burn_nn_merge(bool norm_first, const BurnLayerNorm *norm, const BurnDropout *dropout, BurnTensor *x,
                          BurnTensor *part);
/* Attention to `key` (NULL: to x itself), of new steps if there is a cache. Takes x, key and masks. */
BurnTensor *burn_nn_attention_part(const BurnMultiHeadAttention *m, BurnTensor *x, BurnTensor *key,
                                   BurnTensor *mask_pad, BurnTensor *mask_attn, bool is_causal, BurnMhaCache *cache);

/* [count] caches of attention, and the output so far. */
struct BurnTransformerCache {
  BurnTensor *output;
  size_t count;
  BurnMhaCache attention[];
};
BurnTransformerCache *burn_nn_transformer_cache(size_t count);
/* BURN_OK if the cache has `count` entries and x (borrowed) more steps than the cache. */
BurnStatus burn_nn_check_cache(const char *layer, const BurnTransformerCache *cache, size_t count, const BurnTensor *x);
/* The steps of x (taken, may be NULL) along axis 1 that the cache has not. */
BurnTensor *burn_nn_new_steps(const BurnTransformerCache *cache, BurnTensor *x);

#endif
