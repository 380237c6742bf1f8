/* layers.h - layers that several models of this folder have. */
#ifndef BURN_BENCH_LAYERS_H
#define BURN_BENCH_LAYERS_H

#include <burn/nn.h>

/* A square kernel that keeps the size where the stride is 1, without a bias, as before a norm; and such a norm. */
BurnConv2d conv_without_bias(size_t in, size_t out, size_t kernel, size_t stride, BurnDevice *device);
BurnBatchNorm batch_norm(size_t channels, BurnDevice *device);

/* A block of a transformer with the norm first: attention, then two linear layers with four times d between them. */
#define BLOCK_FIELDS(X)                       \
  X(BurnLayerNorm, norm1, "before attention") \
  X(BurnLinear, qkv, "d -> 3 d")              \
  X(BurnLinear, proj, "d -> d")               \
  X(BurnLayerNorm, norm2, "before the MLP")   \
  X(BurnLinear, up, "d -> 4 d")               \
  X(BurnLinear, down, "4 d -> d")             \
  X(BurnSize, heads, "of attention")
BURN_MODULE(Block, BLOCK_FIELDS);

/* So many of them; and x [n, T, d] through all. */
BurnModuleList blocks_init(size_t count, size_t d, size_t heads, BurnDevice *device);
BurnTensor *blocks_forward(const BurnModuleList *blocks, BurnTensor *x, bool is_causal);

/* An LSTM layer with two biases, as in PyTorch. */
#define RECURRENT_FIELDS(X)                                 \
  X(BurnLinear, input, "inputs -> 4 hidden, for all steps") \
  X(BurnLinear, state, "hidden -> 4 hidden, from step to step")
BURN_MODULE(Recurrent, RECURRENT_FIELDS);

Recurrent recurrent_init(size_t inputs, size_t hidden, BurnDevice *device);
/* x [n, T, inputs] -> [n, T, hidden] */
BurnTensor *recurrent_forward(const Recurrent *m, BurnTensor *x);

#endif
