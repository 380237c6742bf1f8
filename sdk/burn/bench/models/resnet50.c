/* resnet50.c - ResNet-50 for large images: a 7x7 stem with pooling, then four stages of blocks of 1x1, 3x3 (with the
 * stride) and 1x1 convolutions. args: batch, width (64), image size, classes, blocks per stage (3, 4, 6, 3). */
#include "layers.h"
#include "networks.h"

#define BOTTLENECK_FIELDS(X)                                                         \
  X(BurnConv2d, conv1, "1x1")                                                        \
  X(BurnBatchNorm, norm1, "")                                                        \
  X(BurnConv2d, conv2, "3x3, with the stride")                                       \
  X(BurnBatchNorm, norm2, "")                                                        \
  X(BurnConv2d, conv3, "1x1, to four times as many channels")                        \
  X(BurnBatchNorm, norm3, "")                                                        \
  X(BurnModuleList, shortcut, "1x1 convolution where the shape changes, else empty") \
  X(BurnModuleList, norm, "after the shortcut")
BURN_MODULE(Bottleneck, BOTTLENECK_FIELDS);

#define RESNET50_FIELDS(X)          \
  X(BurnConv2d, stem, "3 -> width") \
  X(BurnBatchNorm, norm, "")        \
  X(BurnModuleList, blocks, "")     \
  X(BurnLinear, head, "32 width -> classes")
BURN_MODULE(Resnet50, RESNET50_FIELDS);

enum { STAGES = 4 };

static Bottleneck block_init(size_t in, size_t width, size_t stride, BurnDevice *device) {
  const size_t out = 4 * width, changes = in != out || stride != 1;
  Bottleneck block = {
      conv_without_bias(in, width, 1, 1, device),         batch_norm(width, device),
      conv_without_bias(width, width, 3, stride, device), batch_norm(width, device),
      conv_without_bias(width, out, 1, 1, device),        batch_norm(out, device),
      burn_module_list(BurnConv2d_type(), changes),       burn_module_list(BurnBatchNorm_type(), changes)};
  if (block.shortcut.count)
    *(BurnConv2d *)burn_module_list_at(&block.shortcut, 0) = conv_without_bias(in, out, 1, stride, device);
  if (block.norm.count) *(BurnBatchNorm *)burn_module_list_at(&block.norm, 0) = batch_norm(out, device);
  return block;
}

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t width = (size_t)args[1];
  const int64_t *stage_blocks = &args[4];
  const BurnLinearConfig head = BurnLinearConfig_defaults(32 * width, (size_t)args[3]);
  Resnet50 *m = model;
  m->stem = conv_without_bias(3, width, 7, 2, device);
  m->norm = batch_norm(width, device);
  m->blocks = burn_module_list(Bottleneck_type(), (size_t)(args[4] + args[5] + args[6] + args[7]));
  for (size_t stage = 0, i = 0, in = width; stage < STAGES; stage++) {
    for (int64_t k = 0; k < stage_blocks[stage] && i < m->blocks.count; k++, i++) {
      const size_t stride = stage > 0 && k == 0 ? 2 : 1;
      *(Bottleneck *)burn_module_list_at(&m->blocks, i) = block_init(in, width << stage, stride, device);
      in = 4 * (width << stage);
    }
  }
  m->head = burn_linear_init(&head, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) { return image_inputs(args, 3, args[2], device); }
static int64_t classes(const int64_t *args) { return args[3]; }

static BurnTensor *block_forward(const Bottleneck *m, BurnTensor *x) {
  BurnTensor *skip = burn_clone(x);
  if (m->shortcut.count) {
    skip = burn_conv2d_forward(burn_module_list_at(&m->shortcut, 0), skip);
    skip = burn_batch_norm_forward(burn_module_list_at(&m->norm, 0), skip);
  }
  x = burn_relu(burn_batch_norm_forward(&m->norm1, burn_conv2d_forward(&m->conv1, x)));
  x = burn_relu(burn_batch_norm_forward(&m->norm2, burn_conv2d_forward(&m->conv2, x)));
  x = burn_batch_norm_forward(&m->norm3, burn_conv2d_forward(&m->conv3, x));
  return burn_relu(burn_add(x, skip));
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Resnet50 *m = model;
  BurnPool2dOptions pool = BURN_POOL2D_OPTIONS(3, 3);
  pool.stride[0] = pool.stride[1] = 2;
  pool.padding[0] = pool.padding[1] = 1;
  x = burn_relu(burn_batch_norm_forward(&m->norm, burn_conv2d_forward(&m->stem, x)));
  x = burn_max_pool2d(x, pool);
  for (size_t i = 0; i < m->blocks.count; i++) x = block_forward(burn_module_list_at(&m->blocks, i), x);
  x = burn_flatten(burn_adaptive_avg_pool2d(x, (const int64_t[]){1, 1}), 1, 3);
  return burn_linear_forward(&m->head, x);
}

const Network resnet50_network = {"resnet50", Resnet50_type, init, inputs, batch_targets, classes, forward};
