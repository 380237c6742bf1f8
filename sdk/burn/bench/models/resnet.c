/* resnet.c - ResNet-18 for images of [3, 32, 32]: a 3x3 stem without pooling, four stages of two blocks with 1, 2, 4
 * and 8 times `width` channels. args: batch, width. */
#include "layers.h"
#include "networks.h"

#define RES_BLOCK_FIELDS(X)                                                          \
  X(BurnConv2d, conv1, "3x3, with the stride")                                       \
  X(BurnBatchNorm, norm1, "")                                                        \
  X(BurnConv2d, conv2, "3x3")                                                        \
  X(BurnBatchNorm, norm2, "")                                                        \
  X(BurnModuleList, shortcut, "1x1 convolution where the shape changes, else empty") \
  X(BurnModuleList, norm, "after the shortcut")
BURN_MODULE(ResBlock, RES_BLOCK_FIELDS);

#define RESNET_FIELDS(X)                     \
  X(BurnConv2d, stem, "3 -> width")          \
  X(BurnBatchNorm, norm, "")                 \
  X(BurnModuleList, blocks, "two per stage") \
  X(BurnLinear, head, "8 width -> 10")
BURN_MODULE(Resnet, RESNET_FIELDS);

enum { BLOCKS = 8 };

static ResBlock block_init(size_t in, size_t out, size_t stride, BurnDevice *device) {
  const size_t changes = in != out || stride != 1;
  ResBlock block = {conv_without_bias(in, out, 3, stride, device), batch_norm(out, device),
                    conv_without_bias(out, out, 3, 1, device),     batch_norm(out, device),
                    burn_module_list(BurnConv2d_type(), changes),  burn_module_list(BurnBatchNorm_type(), changes)};
  if (block.shortcut.count)
    *(BurnConv2d *)burn_module_list_at(&block.shortcut, 0) = conv_without_bias(in, out, 1, stride, device);
  if (block.norm.count) *(BurnBatchNorm *)burn_module_list_at(&block.norm, 0) = batch_norm(out, device);
  return block;
}

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t width = (size_t)args[1];
  Resnet *m = model;
  m->stem = conv_without_bias(3, width, 3, 1, device);
  m->norm = batch_norm(width, device);
  m->blocks = burn_module_list(ResBlock_type(), BLOCKS);
  size_t in = width;
  for (size_t i = 0; i < m->blocks.count; i++) {
    const size_t out = width << (i / 2), stride = i > 0 && i % 2 == 0 ? 2 : 1;
    *(ResBlock *)burn_module_list_at(&m->blocks, i) = block_init(in, out, stride, device);
    in = out;
  }
  const BurnLinearConfig head = BurnLinearConfig_defaults(8 * width, 10);
  m->head = burn_linear_init(&head, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) { return image_inputs(args, 3, 32, device); }

static BurnTensor *block_forward(const ResBlock *m, BurnTensor *x) {
  BurnTensor *skip = burn_clone(x);
  if (m->shortcut.count) {
    skip = burn_conv2d_forward(burn_module_list_at(&m->shortcut, 0), skip);
    skip = burn_batch_norm_forward(burn_module_list_at(&m->norm, 0), skip);
  }
  x = burn_relu(burn_batch_norm_forward(&m->norm1, burn_conv2d_forward(&m->conv1, x)));
  x = burn_batch_norm_forward(&m->norm2, burn_conv2d_forward(&m->conv2, x));
  return burn_relu(burn_add(x, skip));
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Resnet *m = model;
  x = burn_relu(burn_batch_norm_forward(&m->norm, burn_conv2d_forward(&m->stem, x)));
  for (size_t i = 0; i < m->blocks.count; i++) x = block_forward(burn_module_list_at(&m->blocks, i), x);
  x = burn_flatten(burn_adaptive_avg_pool2d(x, (const int64_t[]){1, 1}), 1, 3);
  return burn_linear_forward(&m->head, x);
}

const Network resnet_network = {"resnet", Resnet_type, init, inputs, batch_targets, ten_classes, forward};
