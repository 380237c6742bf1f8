/* gpt2_model.c - see gpt2_model.h. */
#include "gpt2_model.h"

#include <math.h>

/* -- first values: normal, 0.02; what is added to the stream of all blocks by
 * so much less that its sum does not grow with their number; biases 0 ------ */

static BurnEmbedding embedding(size_t count, size_t width, BurnDevice *device) {
  BurnEmbeddingConfig config = BurnEmbeddingConfig_defaults(count, width);
  config.initializer = (BurnInitializer)BURN_NORMAL(0, 0.02);
  return burn_embedding_init(&config, device);
}

static BurnLinear linear(size_t in, size_t out, double std,
                         BurnDevice *device) {
  BurnLinearConfig config = BurnLinearConfig_defaults(in, out);
  config.initializer = (BurnInitializer)BURN_NORMAL(0, std);
  BurnLinear m = burn_linear_init(&config, device);
  const BurnShape biases = BURN_SHAPE((int64_t)out);
  burn_param_set(&m.bias, burn_zeros(device, biases, BURN_DTYPE_DEFAULT));
  return m;
}

static Gpt2Block block(const Gpt2Config *config, BurnDevice *device) {
  const size_t width = config->width;
  const double added = 0.02 / sqrt(2 * (double)config->layers);
  return (Gpt2Block){.norm_1 = burn_layer_norm_new(width, device),
                     .qkv = linear(width, 3 * width, 0.02, device),
                     .out = linear(width, width, added, device),
                     .norm_2 = burn_layer_norm_new(width, device),
                     .up = linear(width, 4 * width, 0.02, device),
                     .down = linear(4 * width, width, added, device),
                     .heads = config->heads,
                     .exact_gelu = config->exact_gelu};
}

Gpt2 gpt2_init(const Gpt2Config *config, BurnDevice *device) {
  const size_t width = config->width, layers = config->layers;
  Gpt2 m = {.tokens = embedding(config->vocabulary, width, device),
            .positions = embedding(config->length, width, device),
            .blocks = burn_module_list(Gpt2Block_type(), layers),
            .norm = burn_layer_norm_new(width, device)};
  for (size_t i = 0; i < m.blocks.count; i++) {
    *(Gpt2Block *)burn_module_list_at(&m.blocks, i) = block(config, device);
  }
  return m;
}

/* -- forward -------------------------------------------------------------- */

/* x [batch, length, width]. Query, key and value are views of one product. */
static BurnTensor *attend(const Gpt2Block *m, BurnTensor *x) {
  const int64_t batch = burn_dim(x, 0), length = burn_dim(x, 1);
  const int64_t width = burn_dim(x, 2), heads = (int64_t)m->heads;
  const BurnShape parts = BURN_SHAPE(batch, length, 3, heads, width / heads);
  BurnTensor *all = burn_reshape(burn_linear_forward(&m->qkv, x), parts),
             *of[3];
  for (int i = 0; i < 3; i++) { /* [batch, heads, length, width / heads] */
    of[i] = burn_swap_dims(burn_select_dim(burn_clone(all), 2, i), 1, 2);
  }
  burn_drop(all);
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.is_causal = true;
  x = burn_attention(of[0], of[1], of[2], NULL, NULL, options);
  x = burn_reshape(burn_swap_dims(x, 1, 2), BURN_SHAPE(batch, length, width));
  return burn_linear_forward(&m->out, x);
}

/* The parts of the tanh form are computed again in the backward pass, which is
 * cheaper than keeping them: five tensors of four times the width. */
static BurnTensor *gelu(const Gpt2Block *m, BurnTensor *x) {
  if (m->exact_gelu) return burn_gelu(x);
  BurnDevice *device = burn_tensor_device(x);
  BurnStatus status = burn_checkpoint_begin(device);
  x = burn_gelu_approximate(x);
  if (status == BURN_OK) status = burn_checkpoint_end(device);
  if (status == BURN_OK) return x;
  burn_drop(x);
  return burn_tensor_failed(status);
}

static BurnTensor *block_forward(const Gpt2Block *m, BurnTensor *x) {
  BurnTensor *y = burn_layer_norm_forward(&m->norm_1, burn_clone(x));
  x = burn_add(x, attend(m, y));
  y = burn_layer_norm_forward(&m->norm_2, burn_clone(x));
  y = gelu(m, burn_linear_forward(&m->up, y));
  return burn_add(x, burn_linear_forward(&m->down, y));
}

BurnTensor *gpt2_forward(const Gpt2 *m, BurnTensor *tokens) {
  const int64_t length = burn_dim(tokens, 1);
  BurnTensor *at = burn_arange(burn_tensor_device(tokens), 0, length, 1);
  at = burn_embedding_forward(&m->positions, burn_unsqueeze(at, 2));
  BurnTensor *x = burn_add(burn_embedding_forward(&m->tokens, tokens), at);
  for (size_t i = 0; i < m->blocks.count; i++) {
    x = block_forward(burn_module_list_at(&m->blocks, i), x);
  }
  x = burn_layer_norm_forward(&m->norm, burn_flatten(x, 0, 1));
  BurnTensor *tied = burn_transpose(burn_param_value(&m->tokens.weight));
  return burn_linear(x, tied, NULL);
}

/* -- optimizer ------------------------------------------------------------ */

BurnOptimizer *gpt2_optimizer(BurnStatus *status) {
  static const char *const vectors[] = {"norm", "bias", NULL};
  const BurnParamGroup group = {.any_parts = vectors};
  BurnAdamWConfig config = BurnAdamWConfig_defaults();
  config.beta_2 = 0.95;
  config.epsilon = 1e-8;
  config.weight_decay = 0.1;
  BurnOptimizer *optimizer = burn_adamw_create(&config);
  config.weight_decay = 0;
  *status =
      burn_optimizer_with_group(optimizer, &group, burn_adamw_create(&config));
  return optimizer;
}
