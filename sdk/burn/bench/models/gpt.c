/* gpt.c - a small GPT: learned positions, blocks with the norm first, causal attention, GELU, four times d between, a
 * head of its own without bias. args: batch, d, layers, heads, T, vocabulary. */
#include "networks.h"

#define BLOCK_FIELDS(X)                       \
  X(BurnLayerNorm, norm1, "before attention") \
  X(BurnLinear, qkv, "d -> 3 d")              \
  X(BurnLinear, proj, "d -> d")               \
  X(BurnLayerNorm, norm2, "before the MLP")   \
  X(BurnLinear, up, "d -> 4 d")               \
  X(BurnLinear, down, "4 d -> d")             \
  X(BurnSize, heads, "of attention")
BURN_MODULE(Block, BLOCK_FIELDS);

#define GPT_FIELDS(X)                            \
  X(BurnEmbedding, tokens, "vocabulary -> d")    \
  X(BurnParam, positions, "[1, T, d]")           \
  X(BurnModuleList, blocks, "")                  \
  X(BurnLayerNorm, norm, "after the last block") \
  X(BurnLinear, head, "d -> vocabulary")
BURN_MODULE(Gpt, GPT_FIELDS);

static Block block_init(size_t d, size_t heads, BurnDevice *device) {
  const BurnLayerNormConfig norm = BurnLayerNormConfig_defaults(d);
  const BurnLinearConfig qkv = BurnLinearConfig_defaults(d, 3 * d), proj = BurnLinearConfig_defaults(d, d);
  const BurnLinearConfig up = BurnLinearConfig_defaults(d, 4 * d), down = BurnLinearConfig_defaults(4 * d, d);
  return (Block){burn_layer_norm_init(&norm, device),
                 burn_linear_init(&qkv, device),
                 burn_linear_init(&proj, device),
                 burn_layer_norm_init(&norm, device),
                 burn_linear_init(&up, device),
                 burn_linear_init(&down, device),
                 heads};
}

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
  m->blocks = burn_module_list(Block_type(), (size_t)args[2]);
  for (size_t i = 0; i < m->blocks.count; i++) {
    *(Block *)burn_module_list_at(&m->blocks, i) = block_init(d, (size_t)args[3], device);
  }
  m->norm = burn_layer_norm_init(&norm, device);
  m->head = burn_linear_init(&head, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_uniform(device, BURN_SHAPE(args[0], args[4]), BURN_DTYPE_I64, 0, (double)args[5]);
}
static int64_t target_count(const int64_t *args) { return args[0] * args[4]; }
static int64_t classes(const int64_t *args) { return args[5]; }

/* Part `index` of qkv [n, T, 3 d] as [n, heads, T, d / heads]. */
static BurnTensor *heads_of(const BurnTensor *qkv, int index, int64_t heads) {
  const int64_t n = burn_dim(qkv, 0), t = burn_dim(qkv, 1), d = burn_dim(qkv, 2) / 3;
  BurnTensor *part = burn_narrow(burn_clone(qkv), 2, index * d, d);
  return burn_swap_dims(burn_reshape(part, BURN_SHAPE(n, t, heads, d / heads)), 1, 2);
}

static BurnTensor *attend(const Block *m, BurnTensor *x) {
  const int64_t heads = (int64_t)m->heads;
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.is_causal = true;
  BurnTensor *qkv = burn_linear_forward(&m->qkv, x);
  x = burn_attention(heads_of(qkv, 0, heads), heads_of(qkv, 1, heads), heads_of(qkv, 2, heads), NULL, NULL, options);
  const int64_t n = burn_dim(qkv, 0), t = burn_dim(qkv, 1), d = burn_dim(qkv, 2) / 3;
  burn_drop(qkv);
  return burn_linear_forward(&m->proj, burn_reshape(burn_swap_dims(x, 1, 2), BURN_SHAPE(n, t, d)));
}

static BurnTensor *block_forward(const Block *m, BurnTensor *x) {
  BurnTensor *skip = burn_clone(x);
  x = burn_add(attend(m, burn_layer_norm_forward(&m->norm1, x)), skip);
  skip = burn_clone(x);
  x = burn_gelu(burn_linear_forward(&m->up, burn_layer_norm_forward(&m->norm2, x)));
  return burn_add(burn_linear_forward(&m->down, x), skip);
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Gpt *m = model;
  x = burn_add(burn_embedding_forward(&m->tokens, x), burn_param_value(&m->positions));
  for (size_t i = 0; i < m->blocks.count; i++) x = block_forward(burn_module_list_at(&m->blocks, i), x);
  x = burn_linear_forward(&m->head, burn_layer_norm_forward(&m->norm, x));
  return burn_flatten(x, 0, 1); /* [n * T, vocabulary] */
}

const Network gpt_network = {"gpt", Gpt_type, init, inputs, target_count, classes, forward};
