/* layers.c - see layers.h. */
#include "layers.h"

BurnConv2d conv_without_bias(size_t in, size_t out, size_t kernel, size_t stride, BurnDevice *device) {
  BurnConv2dConfig config = BurnConv2dConfig_defaults((BurnSize2){{in, out}}, (BurnSize2){{kernel, kernel}});
  const size_t p = kernel / 2;
  config.stride = (BurnSize2){{stride, stride}};
  config.padding = (BurnPadding2d)BURN_PADDING_2D(p, p, p, p);
  config.bias = false;
  return burn_conv2d_init(&config, device);
}

BurnBatchNorm batch_norm(size_t channels, BurnDevice *device) {
  const BurnBatchNormConfig config = BurnBatchNormConfig_defaults(channels);
  return burn_batch_norm_init(&config, device);
}

/* -- transformer ------------------------------------------------------------------------------ */

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

BurnModuleList blocks_init(size_t count, size_t d, size_t heads, BurnDevice *device) {
  BurnModuleList blocks = burn_module_list(Block_type(), count);
  for (size_t i = 0; i < blocks.count; i++) *(Block *)burn_module_list_at(&blocks, i) = block_init(d, heads, device);
  return blocks;
}

/* Part `index` of qkv [n, T, 3 d] as [n, heads, T, d / heads]. */
static BurnTensor *heads_of(const BurnTensor *qkv, int index, int64_t heads) {
  const int64_t n = burn_dim(qkv, 0), t = burn_dim(qkv, 1), d = burn_dim(qkv, 2) / 3;
  BurnTensor *part = burn_narrow(burn_clone(qkv), 2, index * d, d);
  return burn_swap_dims(burn_reshape(part, BURN_SHAPE(n, t, heads, d / heads)), 1, 2);
}

static BurnTensor *attend(const Block *m, BurnTensor *x, bool is_causal) {
  const int64_t heads = (int64_t)m->heads;
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.is_causal = is_causal;
  BurnTensor *qkv = burn_linear_forward(&m->qkv, x);
  x = burn_attention(heads_of(qkv, 0, heads), heads_of(qkv, 1, heads), heads_of(qkv, 2, heads), NULL, NULL, options);
  const int64_t n = burn_dim(qkv, 0), t = burn_dim(qkv, 1), d = burn_dim(qkv, 2) / 3;
  burn_drop(qkv);
  return burn_linear_forward(&m->proj, burn_reshape(burn_swap_dims(x, 1, 2), BURN_SHAPE(n, t, d)));
}

static BurnTensor *block_forward(const Block *m, BurnTensor *x, bool is_causal) {
  BurnTensor *skip = burn_clone(x);
  x = burn_add(attend(m, burn_layer_norm_forward(&m->norm1, x), is_causal), skip);
  skip = burn_clone(x);
  x = burn_gelu(burn_linear_forward(&m->up, burn_layer_norm_forward(&m->norm2, x)));
  return burn_add(burn_linear_forward(&m->down, x), skip);
}

BurnTensor *blocks_forward(const BurnModuleList *blocks, BurnTensor *x, bool is_causal) {
  for (size_t i = 0; i < blocks->count; i++) x = block_forward(burn_module_list_at(blocks, i), x, is_causal);
  return x;
}

/* -- recurrence ------------------------------------------------------------------------------- */

Recurrent recurrent_init(size_t inputs, size_t hidden, BurnDevice *device) {
  const BurnLinearConfig input = BurnLinearConfig_defaults(inputs, 4 * hidden);
  const BurnLinearConfig state = BurnLinearConfig_defaults(hidden, 4 * hidden);
  return (Recurrent){burn_linear_init(&input, device), burn_linear_init(&state, device)};
}

BurnTensor *recurrent_forward(const Recurrent *m, BurnTensor *x) {
  /* Both biases are learned; they are added before the sequence sees them. */
  BurnTensor *bias = burn_add(burn_param_value(&m->input.bias), burn_param_value(&m->state.bias));
  BurnTensor *weight = burn_param_value(&m->state.weight);
  const int64_t n = burn_dim(x, 0), hidden = burn_dim(weight, 0);
  BurnTensor *zeros = burn_zeros(burn_tensor_device(x), BURN_SHAPE(n, hidden), BURN_DTYPE_F32);
  BurnTensor *gates = burn_linear(x, burn_param_value(&m->input.weight), bias);
  return burn_lstm(gates, zeros, burn_clone(zeros), weight, NULL);
}
