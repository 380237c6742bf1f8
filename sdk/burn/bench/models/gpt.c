/* gpt.c - a small GPT: learned positions, blocks with the norm first, causal attention, GELU, four times d between, a
 * head of its own without bias. args: batch, d, layers, heads, T, vocabulary. */
#include "layers.h"
#include "networks.h"

#define GPT_FIELDS(X)                            \
  X(BurnEmbedding, tokens, "vocabulary -> d")    \
  X(BurnParam, positions, "[1, T, d]")           \
  X(BurnModuleList, blocks, "")                  \
  X(BurnLayerNorm, norm, "after the last block") \
  X(BurnLinear, head, "d -> vocabulary")
BURN_MODULE(Gpt, GPT_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t d = (size_t)args[1], vocabulary = (size_t)args[5];
  BurnEmbeddingConfig tokens = BurnEmbeddingConfig_defaults(vocabulary, d);
  tokens.initializer = (BurnInitializer)BURN_NORMAL(0, 0.02);
  const BurnLayerNormConfig norm = BurnLayerNormConfig_defaults(d);
  BurnLinearConfig head = BurnLinearConfig_defaults(d, vocabulary);
  head.bias = false;
  Gpt *m = model;
  m->tokens = burn_embedding_init(&tokens, device);
  m->positions = burn_param(burn_random_normal(device, BURN_SHAPE(1, args[4], args[1]), BURN_DTYPE_F32, 0, 0.02));
  m->blocks = blocks_init((size_t)args[2], d, (size_t)args[3], device);
  m->norm = burn_layer_norm_init(&norm, device);
  m->head = burn_linear_init(&head, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return token_inputs(args[0], args[4], args[5], device);
}
static int64_t target_count(const int64_t *args) { return args[0] * args[4]; }
static int64_t classes(const int64_t *args) { return args[5]; }

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Gpt *m = model;
  x = burn_add(burn_embedding_forward(&m->tokens, x), burn_param_value(&m->positions));
  x = blocks_forward(&m->blocks, x, true);
  x = burn_linear_forward(&m->head, burn_layer_norm_forward(&m->norm, x));
  return burn_flatten(x, 0, 1); /* [n * T, vocabulary] */
}

const Network gpt_network = {"gpt", Gpt_type, init, inputs, target_count, classes, forward};
