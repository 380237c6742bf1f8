/* resnet20.c - see resnet20.h. */
#include "resnet20.h"

#include <burn/store.h>

enum { STAGE_BLOCKS = 3 };

/* -- blocks ---------------------------------------------------------------- */

/* 3 x 3 without a bias: a batch norm with its own comes after it. */
static BurnConv2d conv_init(size_t in, size_t out, size_t stride,
                            BurnDevice *device) {
  BurnConv2dConfig config =
      BurnConv2dConfig_defaults(BURN_SIZE2(in, out), BURN_SIZE2(3, 3));
  config.stride = BURN_SIZE2(stride, stride);
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 1, 1, 1);
  config.bias = false;
  return burn_conv2d_init(&config, device);
}

static Block block_init(size_t in, size_t out, BurnDevice *device) {
  const size_t stride = in == out ? 1 : 2;
  return (Block){.conv1 = conv_init(in, out, stride, device),
                 .bn1 = burn_batch_norm_new(out, device),
                 .conv2 = conv_init(out, out, 1, device),
                 .bn2 = burn_batch_norm_new(out, device),
                 .stride = stride};
}

/* What goes around a block that halves the side and doubles the channels: each
 * second pixel, and zeros for the channels that are not there. */
static BurnTensor *shortcut(BurnTensor *x) {
  const int64_t margin = burn_dim(x, 1) / 2; /* before and after */
  x = burn_slice_dim(x, 2, BURN_RANGE_STEP(0, BURN_END, 2));
  x = burn_slice_dim(x, 3, BURN_RANGE_STEP(0, BURN_END, 2));
  const int64_t margins[] = {margin, margin, 0, 0, 0, 0};
  return burn_pad(x, margins, 3, BURN_PAD_CONSTANT, 0);
}

/* takes x [n, in, side, side] -> [n, out, side / stride, side / stride] */
static BurnTensor *block_forward(const Block *m, BurnTensor *x) {
  BurnTensor *around = burn_clone(x);
  if (m->stride > 1) around = shortcut(around);
  x = burn_conv2d_forward(&m->conv1, x);
  x = burn_relu(burn_batch_norm_forward(&m->bn1, x));
  x = burn_conv2d_forward(&m->conv2, x);
  x = burn_batch_norm_forward(&m->bn2, x);
  return burn_relu(burn_add(x, around));
}

/* -- the network ----------------------------------------------------------- */

static BurnModuleList stage_init(size_t in, size_t out, BurnDevice *device) {
  BurnModuleList list = burn_module_list(Block_type(), STAGE_BLOCKS);
  for (size_t i = 0; i < list.count; i++) {
    Block *block = burn_module_list_at(&list, i);
    *block = block_init(i == 0 ? in : out, out, device);
  }
  return list;
}

static BurnTensor *stage_forward(const BurnModuleList *stage, BurnTensor *x) {
  for (size_t i = 0; i < stage->count; i++) {
    x = block_forward(burn_module_list_at(stage, i), x);
  }
  return x;
}

ResNet20 resnet20_init(BurnDevice *device) {
  return (ResNet20){.conv1 = conv_init(3, 16, 1, device),
                    .bn1 = burn_batch_norm_new(16, device),
                    .stage1 = stage_init(16, 16, device),
                    .stage2 = stage_init(16, 32, device),
                    .stage3 = stage_init(32, 64, device),
                    .head = burn_linear_new(64, PICTURE_CLASSES, device)};
}

BurnTensor *resnet20_forward(const ResNet20 *m, BurnTensor *x) {
  x = burn_conv2d_forward(&m->conv1, x);
  x = burn_relu(burn_batch_norm_forward(&m->bn1, x));
  x = stage_forward(&m->stage1, x);
  x = stage_forward(&m->stage2, x);
  x = stage_forward(&m->stage3, x);
  x = burn_mean_dim(burn_flatten(x, 2, 3), 2); /* over all pixels */
  return burn_linear_forward(&m->head, burn_squeeze_dim(x, 2));
}

/* -- weights --------------------------------------------------------------- */

/* The checkpoint has the model below "state_dict", there below "module", as
 * DataParallel puts it; two names are others there. That a Linear is turned and
 * what a norm calls its scale is known of all files of PyTorch. */
BurnStatus resnet20_load(ResNet20 *m, const char *path) {
  static const BurnStoreRename renames[] = {{"^module\\.", ""},
                                            {"^layer(\\d)\\.", "stage$1."},
                                            {"^linear\\.", "head."}};
  const BurnStoreApply options = {
      .names = {.top_level = "state_dict",
                .renames = renames,
                .rename_count = sizeof renames / sizeof *renames},
      .adapter = BURN_STORE_PYTORCH};
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open(path, &status);
  if (!store) return status;
  status = burn_store_apply(store, burn_module(ResNet20, m), &options, NULL);
  burn_store_close(store);
  return burn_status_annotate(status, "%s", path);
}
