/* vit.c - a vision transformer: patches, a class token, learned positions, blocks with the norm first, the class token
 * classified. args: batch, d, layers, heads, image size, patch size, classes. */
#include "layers.h"
#include "networks.h"

#define VIT_FIELDS(X)                            \
  X(BurnConv2d, patches, "3 -> d, a patch each") \
  X(BurnParam, token, "[1, 1, d]")               \
  X(BurnParam, positions, "[1, 1 + patches, d]") \
  X(BurnModuleList, blocks, "")                  \
  X(BurnLayerNorm, norm, "after the last block") \
  X(BurnLinear, head, "d -> classes")
BURN_MODULE(Vit, VIT_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t d = (size_t)args[1], patch = (size_t)args[5];
  const int64_t side = args[4] / args[5];
  BurnConv2dConfig patches = BurnConv2dConfig_defaults((BurnSize2){{3, d}}, (BurnSize2){{patch, patch}});
  patches.stride = (BurnSize2){{patch, patch}};
  const BurnLayerNormConfig norm = BurnLayerNormConfig_defaults(d);
  const BurnLinearConfig head = BurnLinearConfig_defaults(d, (size_t)args[6]);
  Vit *m = model;
  m->patches = burn_conv2d_init(&patches, device);
  m->token = burn_param(burn_random_normal(device, BURN_SHAPE(1, 1, args[1]), BURN_DTYPE_F32, 0, 0.02));
  m->positions =
      burn_param(burn_random_normal(device, BURN_SHAPE(1, 1 + side * side, args[1]), BURN_DTYPE_F32, 0, 0.02));
  m->blocks = blocks_init((size_t)args[2], d, (size_t)args[3], device);
  m->norm = burn_layer_norm_init(&norm, device);
  m->head = burn_linear_init(&head, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) { return image_inputs(args, 3, args[4], device); }
static int64_t classes(const int64_t *args) { return args[6]; }

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Vit *m = model;
  x = burn_swap_dims(burn_flatten(burn_conv2d_forward(&m->patches, x), 2, 3), 1, 2); /* [n, patches, d] */
  BurnTensor *token = burn_expand(burn_param_value(&m->token), BURN_SHAPE(burn_dim(x, 0), 1, burn_dim(x, 2)));
  BurnTensor *const parts[] = {token, x};
  x = burn_add(burn_cat(parts, 2, 1), burn_param_value(&m->positions));
  x = burn_layer_norm_forward(&m->norm, blocks_forward(&m->blocks, x, false));
  return burn_linear_forward(&m->head, burn_select_dim(x, 1, 0));
}

const Network vit_network = {"vit", Vit_type, init, inputs, batch_targets, classes, forward};
