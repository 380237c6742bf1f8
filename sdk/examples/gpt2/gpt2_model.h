/* gpt2_model.h - GPT-2: pre-norm blocks with one projection for query, key and
 * value, learned positions, an output tied to the embedding. */
#ifndef GPT2_MODEL_H
#define GPT2_MODEL_H

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#define GPT2_CONFIG(REQ, OPT)                                                \
  OPT(BurnSize, vocabulary, 50304, "tokens: 50257, padded to a multiple of") \
  OPT(BurnSize, length, 1024, "most tokens of a sequence")                   \
  OPT(BurnSize, width, 768, "of the vector of a token")                      \
  OPT(BurnSize, layers, 12, "blocks")                                        \
  OPT(BurnSize, heads, 12, "of attention; they divide the width")            \
  OPT(BurnBool, exact_gelu, false, "by erf, not by GPT-2's tanh form of it")
BURN_CONFIG_OPTIONAL(Gpt2Config, GPT2_CONFIG);

#define GPT2_BLOCK_FIELDS(X)                       \
  X(BurnLayerNorm, norm_1, "before the attention") \
  X(BurnLinear, qkv, "width -> 3 * width")         \
  X(BurnLinear, out, "width -> width")             \
  X(BurnLayerNorm, norm_2, "before the two below") \
  X(BurnLinear, up, "width -> 4 * width")          \
  X(BurnLinear, down, "4 * width -> width")        \
  X(BurnSize, heads, "of attention")               \
  X(BurnBool, exact_gelu, "by erf")
BURN_MODULE(Gpt2Block, GPT2_BLOCK_FIELDS);

#define GPT2_FIELDS(X)                                             \
  X(BurnEmbedding, tokens, "[vocabulary, width], the output, too") \
  X(BurnEmbedding, positions, "[length, width]")                   \
  X(BurnModuleList, blocks, "[layers] of Gpt2Block")               \
  X(BurnLayerNorm, norm, "after the last block")
BURN_MODULE(Gpt2, GPT2_FIELDS);

Gpt2 gpt2_init(const Gpt2Config *config, BurnDevice *device);

/* takes tokens [batch, length] -> logits [batch * length, vocabulary] */
BurnTensor *gpt2_forward(const Gpt2 *m, BurnTensor *tokens);

/* AdamW with GPT-2's numbers, of which only matrices decay. */
BurnOptimizer *gpt2_optimizer(BurnStatus *status);

#endif
