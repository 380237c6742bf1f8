/* attention_internal.h - attention between heads, which the layers share, and multi-head attention of new steps for
 * transformers. Private to nn/. */
#ifndef BURN_NN_ATTENTION_INTERNAL_H
#define BURN_NN_ATTENTION_INTERNAL_H

#include <burn/nn/attention.h>

#include "nn_internal.h"

/* How weights are made of scores. */
typedef struct BurnNnAttention {
  double scale, min_float;
  bool quiet_softmax, drop_weights; /* dropout after softmax, not before the masks */
  const BurnDropout *dropout;
} BurnNnAttention;

/* Queries [batch, heads, queries, d], keys and values [batch, heads, keys, d]; mask and bias stretch to [batch, heads,
 * queries, keys], or are NULL. */
typedef struct BurnNnHeads {
  BurnTensor *query, *key, *value, *mask, *bias;
  bool is_causal;
} BurnNnHeads;

/* x [batch, steps, heads * d] -> [batch, heads, steps, d], and back. Take x. */
BurnTensor *burn_nn_split_heads(BurnTensor *x, size_t heads);
BurnTensor *burn_nn_join_heads(BurnTensor *x);

/* Takes all heads; the weighted values [batch, heads, queries, d], and the weights in *weights unless that is NULL. */
BurnTensor *burn_nn_attend(const BurnNnAttention *how, BurnNnHeads heads, BurnTensor **weights);

/* x, and in front of it what *kept holds along dim: all of it is kept, and given. Takes x. */
BurnTensor *burn_nn_append(BurnTensor **kept, BurnTensor *x, int dim);

/* Attention of the queries of `input`, which all are new, with the keys and values of the cache, to which those of
 * `input` are added unless it is a filled one across. Masks are [.., new queries, all keys]. */
BurnMhaOutput burn_nn_attend_step(const BurnMultiHeadAttention *m, BurnMhaInput input, BurnMhaCache *cache);

#endif
