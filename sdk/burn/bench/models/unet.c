/* unet.c - a small U-Net: at each level two 3x3 convolutions with batch norm and ReLU; pooling on the way down,
 * transposed convolutions on the way up, where what the way down had at that level is put beside; every pixel is
 * classified. args: batch, width, image size, levels, classes. */
#include "layers.h"
#include "networks.h"

#define PAIR_FIELDS(X)        \
  X(BurnConv2d, conv1, "3x3") \
  X(BurnBatchNorm, norm1, "") \
  X(BurnConv2d, conv2, "3x3") \
  X(BurnBatchNorm, norm2, "")
BURN_MODULE(Pair, PAIR_FIELDS);

#define UNET_FIELDS(X)                                                         \
  X(BurnModuleList, down, "3 -> width, then twice as many channels per level") \
  X(Pair, bottom, "")                                                          \
  X(BurnModuleList, up, "transposed convolutions, from the bottom")            \
  X(BurnModuleList, joined, "pairs after them")                                \
  X(BurnConv2d, head, "1x1, width -> classes")
BURN_MODULE(Unet, UNET_FIELDS);

enum { MAX_LEVELS = 8 };

static Pair pair_init(size_t in, size_t out, BurnDevice *device) {
  return (Pair){conv_without_bias(in, out, 3, 1, device), batch_norm(out, device),
                conv_without_bias(out, out, 3, 1, device), batch_norm(out, device)};
}

static BurnConvTranspose2d up_init(size_t in, size_t out, BurnDevice *device) {
  BurnConvTranspose2dConfig config = BurnConvTranspose2dConfig_defaults((BurnSize2){{in, out}}, (BurnSize2){{2, 2}});
  config.stride = (BurnSize2){{2, 2}};
  return burn_conv_transpose2d_init(&config, device);
}

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t width = (size_t)args[1], levels = (size_t)args[3] < MAX_LEVELS ? (size_t)args[3] : MAX_LEVELS;
  Unet *m = model;
  m->down = burn_module_list(Pair_type(), levels);
  m->up = burn_module_list(BurnConvTranspose2d_type(), levels);
  m->joined = burn_module_list(Pair_type(), levels);
  for (size_t i = 0; i < m->down.count && i < m->up.count && i < m->joined.count; i++) {
    const size_t channels = width << i, wider = 2 * channels, from_bottom = levels - 1 - i;
    *(Pair *)burn_module_list_at(&m->down, i) = pair_init(i == 0 ? 3 : channels / 2, channels, device);
    *(BurnConvTranspose2d *)burn_module_list_at(&m->up, from_bottom) = up_init(wider, channels, device);
    *(Pair *)burn_module_list_at(&m->joined, from_bottom) = pair_init(wider, channels, device);
  }
  m->bottom = pair_init(width << (levels - 1), width << levels, device);
  const BurnConv2dConfig head = BurnConv2dConfig_defaults((BurnSize2){{width, (size_t)args[4]}}, (BurnSize2){{1, 1}});
  m->head = burn_conv2d_init(&head, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) { return image_inputs(args, 3, args[2], device); }
static int64_t target_count(const int64_t *args) { return args[0] * args[2] * args[2]; }
static int64_t classes(const int64_t *args) { return args[4]; }

static BurnTensor *pair_forward(const Pair *m, BurnTensor *x) {
  x = burn_relu(burn_batch_norm_forward(&m->norm1, burn_conv2d_forward(&m->conv1, x)));
  return burn_relu(burn_batch_norm_forward(&m->norm2, burn_conv2d_forward(&m->conv2, x)));
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Unet *m = model;
  BurnTensor *kept[MAX_LEVELS];
  for (size_t i = 0; i < m->down.count; i++) {
    x = pair_forward(burn_module_list_at(&m->down, i), x);
    kept[i] = burn_clone(x);
    x = burn_max_pool2d(x, BURN_POOL2D_OPTIONS(2, 2));
  }
  x = pair_forward(&m->bottom, x);
  for (size_t i = 0; i < m->up.count; i++) {
    x = burn_conv_transpose2d_forward(burn_module_list_at(&m->up, i), x);
    BurnTensor *const parts[] = {kept[m->up.count - 1 - i], x};
    x = pair_forward(burn_module_list_at(&m->joined, i), burn_cat(parts, 2, 1));
  }
  x = burn_permute(burn_conv2d_forward(&m->head, x), (const int[]){0, 2, 3, 1});
  return burn_flatten(x, 0, 2); /* [n * pixels, classes] */
}

const Network unet_network = {"unet", Unet_type, init, inputs, target_count, classes, forward};
