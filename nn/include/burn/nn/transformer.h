/* transformer.h - encoder and decoder of a transformer, and the feed-forward layer in them.
 *
 *   BurnTransformerEncoder encoder = burn_transformer_encoder_new(256, 1024, 4, 6, device);
 *   BurnTransformerEncoderInput input = {.tensor = x, .mask_pad = mask};
 *   x = burn_transformer_encoder_forward(&encoder, input);                 [batch, steps, d_model]
 *
 * Every part works beside a path that goes straight through: x + dropout(part(x)). After it comes a norm, or with
 * norm_first before it; which of the norms that is follows Burn (nn/README.md has the order). After the last layer
 * there is no further norm. */
#ifndef BURN_NN_TRANSFORMER_H
#define BURN_NN_TRANSFORMER_H

#include <burn/nn/activation_kinds.h>
#include <burn/nn/attention.h>
#include <burn/nn/norm.h>

BURN_EXTERN_C_BEGIN

/* -- position-wise feed-forward --------------------------------------------------------------- */

#define BURN_POSITION_WISE_FEED_FORWARD_CONFIG(REQ, OPT)                                            \
  REQ(BurnSize, d_model, "size of a token")                                                         \
  REQ(BurnSize, d_ff, "size between the two layers")                                                \
  OPT(BurnF64, dropout, 0.1, "share dropped between them")                                          \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of all weights and biases") \
  OPT(BurnActivationConfig, activation, BURN_ACTIVATION_GELU, "between the two layers")
BURN_CONFIG(BurnPositionWiseFeedForwardConfig, BURN_POSITION_WISE_FEED_FORWARD_CONFIG);

#define BURN_POSITION_WISE_FEED_FORWARD_FIELDS(X) \
  X(BurnLinear, linear_inner, "d_model -> d_ff")  \
  X(BurnLinear, linear_outer, "d_ff -> d_model")  \
  X(BurnDropout, dropout, "between them")         \
  X(BurnActivation, activation, "after linear_inner")
BURN_MODULE(BurnPositionWiseFeedForward, BURN_POSITION_WISE_FEED_FORWARD_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnPositionWiseFeedForward
burn_position_wise_feed_forward_init(const BurnPositionWiseFeedForwardConfig *config, BurnDevice *device);
BURN_LAYER(BurnPositionWiseFeedForward, burn_position_wise_feed_forward, BURN_POSITION_WISE_FEED_FORWARD_CONFIG);
/* [.., d_model] -> the same shape: outer(dropout(activation(inner(x)))) */
BURN_API BURN_GIVES BURN_TAKES(2)
    BurnTensor *burn_position_wise_feed_forward_forward(const BurnPositionWiseFeedForward *m, BurnTensor *x);

/* -- encoder ---------------------------------------------------------------------------------- */

/* The rows that both configs have. */
#define BURN_INTERNAL_TRANSFORMER_CONFIG(REQ, OPT)                                                  \
  REQ(BurnSize, d_model, "size of a token")                                                         \
  REQ(BurnSize, d_ff, "size inside the feed-forward layers")                                        \
  REQ(BurnSize, n_heads, "heads of attention; they divide d_model")                                 \
  REQ(BurnSize, n_layers, "layers, 1 or more")                                                      \
  OPT(BurnF64, dropout, 0.1, "share dropped: of scores, inside feed-forward, of what a part adds")  \
  OPT(BurnBool, norm_first, false, "norms before the parts, not after them")                        \
  OPT(BurnBool, quiet_softmax, false, "softmax that may take nothing of any key")                   \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of all weights and biases") \
  OPT(BurnActivationConfig, activation, BURN_ACTIVATION_GELU, "inside the feed-forward layers")     \
  OPT(BurnF64, layer_norm_eps, 1e-5, "added to the variance in norms")
/* The rows that both modules have; LAYER is the type of their layers. */
#define BURN_INTERNAL_TRANSFORMER_FIELDS(X, LAYER)                  \
  X(BurnModuleList, layers, "[n_layers] of " #LAYER)                \
  X(BurnSize, d_model, "size of a token")                           \
  X(BurnSize, d_ff, "size inside the feed-forward layers")          \
  X(BurnSize, n_heads, "heads of attention")                        \
  X(BurnSize, n_layers, "layers")                                   \
  X(BurnF64, dropout, "share dropped")                              \
  X(BurnBool, norm_first, "norms before the parts, not after them") \
  X(BurnBool, quiet_softmax, "softmax that may take nothing of any key")

#define BURN_TRANSFORMER_ENCODER_CONFIG(REQ, OPT) BURN_INTERNAL_TRANSFORMER_CONFIG(REQ, OPT)
BURN_CONFIG(BurnTransformerEncoderConfig, BURN_TRANSFORMER_ENCODER_CONFIG);

#define BURN_TRANSFORMER_ENCODER_LAYER_FIELDS(X)                     \
  X(BurnMultiHeadAttention, mha, "of the sequence with itself")      \
  X(BurnPositionWiseFeedForward, pwff, "after it")                   \
  X(BurnLayerNorm, norm_1, "after mha; with norm_first before pwff") \
  X(BurnLayerNorm, norm_2, "after pwff; with norm_first before mha") \
  X(BurnDropout, dropout, "on what mha and pwff add")                \
  X(BurnBool, norm_first, "norms before the parts, not after them")
BURN_MODULE(BurnTransformerEncoderLayer, BURN_TRANSFORMER_ENCODER_LAYER_FIELDS);

#define BURN_TRANSFORMER_ENCODER_FIELDS(X) BURN_INTERNAL_TRANSFORMER_FIELDS(X, BurnTransformerEncoderLayer)
BURN_MODULE(BurnTransformerEncoder, BURN_TRANSFORMER_ENCODER_FIELDS);

/* Makes the layers, with their first values on `device`. A config that is refused gives a first layer whose forward
 * fails with the reason. */
BURN_API BurnTransformerEncoder burn_transformer_encoder_init(const BurnTransformerEncoderConfig *config,
                                                              BurnDevice *device);
BURN_LAYER(BurnTransformerEncoder, burn_transformer_encoder, BURN_TRANSFORMER_ENCODER_CONFIG);

/* What a forward pass takes: all tensors. Masks are true where hidden and may be absent; is_causal is not Burn's. */
typedef struct BurnTransformerEncoderInput {
  BurnTensor *tensor;    /* [batch, steps, d_model] */
  BurnTensor *mask_pad;  /* bool [batch, steps] */
  BurnTensor *mask_attn; /* bool [batch, steps, steps] */
  bool is_causal;        /* no step sees a later one */
} BurnTransformerEncoderInput;

/* -> [batch, steps, d_model] */
BURN_API BURN_GIVES BurnTensor *burn_transformer_encoder_forward(const BurnTransformerEncoder *m,
                                                                 BurnTransformerEncoderInput input);

/* One layer by itself, of a config whose n_layers does not count. */
BURN_API BurnTransformerEncoderLayer burn_transformer_encoder_layer_init(const BurnTransformerEncoderConfig *config,
                                                                         BurnDevice *device);
BURN_API BURN_GIVES BurnTensor *burn_transformer_encoder_layer_forward(const BurnTransformerEncoderLayer *m,
                                                                       BurnTransformerEncoderInput input);

/* -- decoder ---------------------------------------------------------------------------------- */

#define BURN_TRANSFORMER_DECODER_CONFIG(REQ, OPT) BURN_INTERNAL_TRANSFORMER_CONFIG(REQ, OPT)
BURN_CONFIG(BurnTransformerDecoderConfig, BURN_TRANSFORMER_DECODER_CONFIG);

#define BURN_TRANSFORMER_DECODER_LAYER_FIELDS(X)                                 \
  X(BurnMultiHeadAttention, cross_attn, "of the target with the memory")         \
  X(BurnMultiHeadAttention, self_attn, "of the target with itself, first")       \
  X(BurnPositionWiseFeedForward, pwff, "last")                                   \
  X(BurnLayerNorm, norm_1, "after self_attn; with norm_first before cross_attn") \
  X(BurnLayerNorm, norm_2, "after cross_attn; with norm_first before pwff")      \
  X(BurnLayerNorm, norm_3, "after pwff; with norm_first before self_attn")       \
  X(BurnDropout, dropout, "on what the parts add")                               \
  X(BurnBool, norm_first, "norms before the parts, not after them")
BURN_MODULE(BurnTransformerDecoderLayer, BURN_TRANSFORMER_DECODER_LAYER_FIELDS);

#define BURN_TRANSFORMER_DECODER_FIELDS(X) BURN_INTERNAL_TRANSFORMER_FIELDS(X, BurnTransformerDecoderLayer)
BURN_MODULE(BurnTransformerDecoder, BURN_TRANSFORMER_DECODER_FIELDS);

/* Makes the layers, with their first values on `device`. A config that is refused gives a first layer whose forward
 * fails with the reason. */
BURN_API BurnTransformerDecoder burn_transformer_decoder_init(const BurnTransformerDecoderConfig *config,
                                                              BurnDevice *device);
BURN_LAYER(BurnTransformerDecoder, burn_transformer_decoder, BURN_TRANSFORMER_DECODER_CONFIG);

/* What a forward pass takes: all tensors. Masks are true where hidden and may be absent; is_causal is not Burn's. */
typedef struct BurnTransformerDecoderInput {
  BurnTensor *target;           /* [batch, targets, d_model] */
  BurnTensor *target_mask_pad;  /* bool [batch, targets] */
  BurnTensor *target_mask_attn; /* bool [batch, targets, targets] */
  BurnTensor *memory;           /* [batch, steps, d_model], usually of an encoder */
  BurnTensor *memory_mask_pad;  /* bool [batch, steps] */
  BurnTensor *memory_mask_attn; /* bool [batch, targets, steps] */
  bool is_causal;               /* no target sees a later one */
} BurnTransformerDecoderInput;

/* -> [batch, targets, d_model] */
BURN_API BURN_GIVES BurnTensor *burn_transformer_decoder_forward(const BurnTransformerDecoder *m,
                                                                 BurnTransformerDecoderInput input);

/* One layer by itself, of a config whose n_layers does not count. */
BURN_API BurnTransformerDecoderLayer burn_transformer_decoder_layer_init(const BurnTransformerDecoderConfig *config,
                                                                         BurnDevice *device);
BURN_API BURN_GIVES BurnTensor *burn_transformer_decoder_layer_forward(const BurnTransformerDecoderLayer *m,
                                                                       BurnTransformerDecoderInput input);

/* -- step by step ----------------------------------------------------------------------------- */

/* What an encoder or a decoder keeps between steps: projected keys and values of every layer, and its output. NULL
 * where m is NULL or when out of memory, which the forward pass says. */
typedef struct BurnTransformerCache BurnTransformerCache;
BURN_API BURN_USE_RESULT BurnTransformerCache *burn_transformer_encoder_new_autoregressive_cache(
    const BurnTransformerEncoder *m);
BURN_API BURN_USE_RESULT BurnTransformerCache *burn_transformer_decoder_new_autoregressive_cache(
    const BurnTransformerDecoder *m);
BURN_API void burn_transformer_cache_destroy(BurnTransformerCache *cache);

/* As forward, for a sequence (the decoder's target) that grows from call to call: the input is the sequence so far,
 * with masks for all of it; only the steps beyond the last call are computed, and the output is that of all. Equal to
 * forward if no step sees a later one. The memory is that of the first call, later ones do not look at it. After a
 * failure the cache is of no more use. */
BURN_API BURN_GIVES BurnTensor *burn_transformer_encoder_forward_autoregressive_inference(
    const BurnTransformerEncoder *m, BurnTransformerEncoderInput input, BurnTransformerCache *cache);
BURN_API BURN_GIVES BurnTensor *burn_transformer_decoder_forward_autoregressive_inference(
    const BurnTransformerDecoder *m, BurnTransformerDecoderInput input, BurnTransformerCache *cache);

BURN_EXTERN_C_END

#endif
