/* attention.h - multi-head attention, cross attention with fewer heads of keys than of queries, and their caches for
 * decoding step by step. Masks are bool and true where a key is hidden; attention_mask.h makes them.
 *
 *   BurnTensor *y = burn_multi_head_attention_self(&m, x, true);           a causal block: x [batch, steps, d_model]
 *
 *   BurnMhaInput input = {.query = q, .key = k, .value = v, .mask_pad = mask};
 *   y = burn_multi_head_attention_forward(&m, input).context;
 *
 * Where the same numbers come of it, the op burn_attention does the work, which never has all scores in memory: if no
 * weights are asked for, softmax is the plain one, dropout is not active, and min_float is -10000 or less, so that what
 * it hides has a share of 0. (Hidden keys then have no share whatever the scores are. A query from which every key is
 * hidden takes of all of them the same, in both ways.) */
#ifndef BURN_NN_ATTENTION_H
#define BURN_NN_ATTENTION_H

#include <burn/nn/activation.h>
#include <burn/nn/dropout.h>
#include <burn/nn/linear.h>

BURN_EXTERN_C_BEGIN

/* -- multi-head attention --------------------------------------------------------------------- */

#define BURN_MULTI_HEAD_ATTENTION_CONFIG(REQ, OPT)                                                  \
  REQ(BurnSize, d_model, "size of a token")                                                         \
  REQ(BurnSize, n_heads, "heads; they divide d_model")                                              \
  OPT(BurnF64, dropout, 0.1, "share of scores dropped, before masks and softmax")                   \
  OPT(BurnF64, min_float, -1.0e4, "score of a hidden key")                                          \
  OPT(BurnBool, quiet_softmax, false, "softmax that may take nothing of any key")                   \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of all weights and biases") \
  OPT(BurnBool, key_bias, true, "a bias in key")                                                    \
  OPT(BurnBool, value_bias, true, "a bias in value")                                                \
  OPT(BurnBool, query_bias, true, "a bias in query")                                                \
  OPT(BurnBool, output_bias, true, "a bias in output")
BURN_CONFIG(BurnMultiHeadAttentionConfig, BURN_MULTI_HEAD_ATTENTION_CONFIG);

#define BURN_MULTI_HEAD_ATTENTION_FIELDS(X)                              \
  X(BurnLinear, query, "d_model -> d_model")                             \
  X(BurnLinear, key, "d_model -> d_model")                               \
  X(BurnLinear, value, "d_model -> d_model")                             \
  X(BurnLinear, output, "d_model -> d_model, of the heads side by side") \
  X(BurnDropout, dropout, "on the scores")                               \
  X(BurnGelu, activation, "not used; stands in Burn's record")           \
  X(BurnSize, d_model, "size of a token")                                \
  X(BurnSize, n_heads, "heads")                                          \
  X(BurnSize, d_k, "size of a head: d_model / n_heads")                  \
  X(BurnF64, min_float, "score of a hidden key")                         \
  X(BurnBool, quiet_softmax, "softmax that may take nothing of any key")
BURN_MODULE(BurnMultiHeadAttention, BURN_MULTI_HEAD_ATTENTION_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnMultiHeadAttention burn_multi_head_attention_init(const BurnMultiHeadAttentionConfig *config,
                                                               BurnDevice *device);
BURN_LAYER(BurnMultiHeadAttention, burn_multi_head_attention, BURN_MULTI_HEAD_ATTENTION_CONFIG);

/* What a forward pass takes: all tensors. The last five may be absent; bias, is_causal and with_weights are not Burn's
 * (there the mask of burn_generate_autoregressive_mask is passed, and weights come always). */
typedef struct BurnMhaInput {
  BurnTensor *query;     /* [batch, queries, d_model] */
  BurnTensor *key;       /* [batch, keys, d_model] */
  BurnTensor *value;     /* [batch, keys, d_model] */
  BurnTensor *mask_pad;  /* bool [batch, keys], or [1, keys]: true where the key is padding */
  BurnTensor *mask_attn; /* bool [batch, queries, keys], or [1, queries, keys]: true where the query must not look */
  BurnTensor *bias;      /* added to the scores before all masks; stretches to [batch, heads, queries, keys] */
  bool is_causal;        /* query i sees keys up to i + keys - queries: the last one sees all */
  bool with_weights;     /* the output holds the weights */
} BurnMhaInput;

/* What it gives; the caller's. */
typedef struct BurnMhaOutput {
  BurnTensor *context; /* [batch, queries, d_model] */
  BurnTensor *weights; /* [batch, heads, queries, keys] if asked for, else NULL */
} BurnMhaOutput;

/* scores = query key^T / sqrt(d_k) of the heads of the three projections, through dropout, min_float where hidden,
 * softmax over the keys: the weights. The weighted values, heads side by side, go through `output`. */
BURN_API BurnMhaOutput burn_multi_head_attention_forward(const BurnMultiHeadAttention *m, BurnMhaInput input);
/* Of x [batch, steps, d_model] with itself: the context, of x's shape. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_multi_head_attention_self(const BurnMultiHeadAttention *m,
                                                                             BurnTensor *x, bool is_causal);

/* -- step by step ----------------------------------------------------------------------------- */

/* What attention keeps between steps; all tensors are the cache's, absent at first. */
typedef struct BurnMhaCache {
  BurnTensor *key, *value; /* [batch, heads, keys, d_k], projected */
  BurnTensor *output;      /* [batch, queries, d_model], all contexts so far */
  bool is_cross;           /* keys and values are those of the first call for good */
} BurnMhaCache;

/* Empty caches: for a sequence that looks at itself, and for one that looks at another one that stays. End them with
 * burn_mha_cache_release, which empties them for another sequence. */
BURN_API BurnMhaCache burn_mha_cache_autoregressive(void);
BURN_API BurnMhaCache burn_mha_cache_autoregressive_cross_attention(void);
BURN_API void burn_mha_cache_release(BurnMhaCache *cache);

/* As forward, for a sequence that grows from call to call: the input is the sequence so far, of which only the queries
 * (and keys, and values) beyond the last call are computed, and the context is that of all of it. Equal to forward if
 * no query sees a later key. (Burn takes one more query per call, here they may be several, and none is an error.)
 * Masks are those of the whole sequence; the weights are those of the new queries. After a failure the cache holds it
 * until it is released. */
BURN_API BurnMhaOutput burn_multi_head_attention_forward_cache(const BurnMultiHeadAttention *m, BurnMhaInput input,
                                                               BurnMhaCache *cache);

/* -- cross attention -------------------------------------------------------------------------- */

#define BURN_CROSS_ATTENTION_CONFIG(REQ, OPT)                                \
  REQ(BurnSize, d_model, "size of a query token")                            \
  REQ(BurnSize, d_context, "size of a context token")                        \
  REQ(BurnSize, n_heads, "heads of queries")                                 \
  REQ(BurnSize, n_heads_kv, "heads of keys and values; they divide n_heads") \
  REQ(BurnSize, d_head, "size of a head")                                    \
  OPT(BurnF64, dropout, 0.1, "share of weights dropped, after softmax")      \
  OPT(BurnF64, min_float, -1.0e4, "score of a hidden key")                   \
  OPT(BurnBool, quiet_softmax, false, "softmax that may take nothing of any key")
BURN_CONFIG(BurnCrossAttentionConfig, BURN_CROSS_ATTENTION_CONFIG);

#define BURN_CROSS_ATTENTION_FIELDS(X)                   \
  X(BurnLinear, query, "d_model -> n_heads d_head")      \
  X(BurnLinear, key, "d_context -> n_heads_kv d_head")   \
  X(BurnLinear, value, "d_context -> n_heads_kv d_head") \
  X(BurnLinear, output, "n_heads d_head -> d_model")     \
  X(BurnDropout, dropout, "on the weights")              \
  X(BurnSize, n_heads, "heads of queries")               \
  X(BurnSize, n_heads_kv, "heads of keys and values")    \
  X(BurnSize, d_head, "size of a head")                  \
  X(BurnF64, scale, "of the scores: 1 / sqrt(d_head)")   \
  X(BurnF64, min_float, "score of a hidden key")         \
  X(BurnBool, quiet_softmax, "softmax that may take nothing of any key")
BURN_MODULE(BurnCrossAttention, BURN_CROSS_ATTENTION_FIELDS);

/* Makes the layer, with its first values on `device`: KaimingUniform with gain 1 / sqrt(d_head). A config that is
 * refused gives a layer whose forward fails with the reason. */
BURN_API BurnCrossAttention burn_cross_attention_init(const BurnCrossAttentionConfig *config, BurnDevice *device);
BURN_LAYER(BurnCrossAttention, burn_cross_attention, BURN_CROSS_ATTENTION_CONFIG);
/* query [batch, queries, d_model], context [batch, keys, d_context], mask bool [batch, keys] or NULL -> [batch,
 * queries, d_model]. Every head of keys serves n_heads / n_heads_kv heads of queries that stand side by side. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_cross_attention_forward(const BurnCrossAttention *m,
                                                                                 BurnTensor *query, BurnTensor *context,
                                                                                 BurnTensor *mask);

/* Projected keys and values; the cache's, absent at first. End it with burn_cross_attention_cache_release. */
typedef struct BurnCrossAttentionCache {
  BurnTensor *key, *value; /* [batch, n_heads_kv, keys, d_head] */
} BurnCrossAttentionCache;
BURN_API void burn_cross_attention_cache_release(BurnCrossAttentionCache *cache);
/* The same with keys and values from the cache, which the first call fills; later ones do not look at the context (NULL
 * will do). A cache begins as zeros: BurnCrossAttentionCache cache = {0}. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_cross_attention_forward_cache(const BurnCrossAttention *m,
                                                                                       BurnTensor *query,
                                                                                       BurnTensor *context,
                                                                                       BurnTensor *mask,
                                                                                       BurnCrossAttentionCache *cache);

BURN_EXTERN_C_END

#endif
