/* attention_heads.c - attention between heads, in one op where that gives the same numbers. */
#include "attention_internal.h"

#include <math.h>

/* From this min_float down hidden keys have no share in a softmax. */
#define MAX_MASKING_FLOAT (-1.0e4)

BurnTensor *burn_nn_split_heads(BurnTensor *x, size_t heads) {
  const int64_t width = burn_dim(x, 2), count = (int64_t)heads;
  return burn_swap_dims(burn_reshape(x, BURN_SHAPE(0, 0, count, count ? width / count : 0)), 1, 2);
}

BurnTensor *burn_nn_join_heads(BurnTensor *x) {
  const int64_t width = burn_dim(x, 1) * burn_dim(x, 3);
  return burn_reshape(burn_swap_dims(x, 1, 2), BURN_SHAPE(0, 0, width));
}

BurnTensor *burn_nn_append(BurnTensor **kept, BurnTensor *x, int dim) {
  BurnTensor *before = *kept;
  x = burn_scope_keep(NULL, before ? burn_cat((BurnTensor *const[]){before, x}, 2, dim) : x);
  *kept = x;
  return burn_clone(x);
}

/* The mask with the keys that come too late hidden as well. Takes it; it may be NULL. */
static BurnTensor *causal(BurnTensor *mask, const BurnNnHeads *heads) {
  const int64_t queries = burn_dim(heads->query, 2), keys = burn_dim(heads->key, 2);
  BurnDevice *device = burn_tensor_device(heads->query);
  if (!device || queries < 0 || keys < 0) return mask; /* failed: the products say so */
  BurnTensor *late = burn_tril_mask(device, BURN_SHAPE(1, 1, queries, keys), keys - queries);
  return mask ? burn_bool_or(mask, late) : late;
}

/* How much every query takes of every key. Takes query, key, mask and bias. */
static BurnTensor *weights_of(const BurnNnAttention *how, BurnNnHeads heads) {
  BurnTensor *mask = heads.is_causal ? causal(heads.mask, &heads) : heads.mask;
  BurnTensor *scores = burn_mul_scalar(burn_matmul(heads.query, burn_transpose(heads.key)), how->scale);
  if (heads.bias) scores = burn_add(scores, heads.bias);
  if (!how->drop_weights) scores = burn_dropout_forward(how->dropout, scores);
  if (mask) scores = burn_mask_fill(scores, mask, how->min_float);
  scores = how->quiet_softmax ? burn_quiet_softmax(scores, 3) : burn_softmax(scores, 3);
  return how->drop_weights ? burn_dropout_forward(how->dropout, scores) : scores;
}

/* The op gives 0 to a query that sees no key. With equal scores, as min_float makes them, it has the mean of all. */
static BurnTensor *attend_at_once(const BurnNnAttention *how, BurnNnHeads heads) {
  const bool by_flag = heads.is_causal && !heads.mask && burn_dim(heads.query, 2) <= burn_dim(heads.key, 2);
  BurnTensor *mask = heads.is_causal && !by_flag ? causal(heads.mask, &heads) : heads.mask, *blind = NULL, *mean = NULL;
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.scale = how->scale;
  options.is_causal = by_flag;
  if (mask) blind = burn_all_dim(burn_clone(mask), 3);
  if (mask) mean = burn_mean_dim(burn_clone(heads.value), 2);
  BurnTensor *values = burn_attention(heads.query, heads.key, heads.value, mask, heads.bias, options);
  return mask ? burn_mask_where(values, blind, mean) : values;
}

BurnTensor *burn_nn_attend(const BurnNnAttention *how, BurnNnHeads heads, BurnTensor **weights) {
  const bool drops = how->dropout->prob != 0 && burn_nn_is_training(heads.query);
  if (!weights && !drops && !how->quiet_softmax && how->min_float <= MAX_MASKING_FLOAT) {
    return attend_at_once(how, heads);
  }
  BurnTensor *value = heads.value, *made = weights_of(how, heads);
  if (weights) *weights = burn_clone(made);
  return burn_matmul(made, value);
}
