/* lenet.c - LeNet-5 on [28, 28] padded to [32, 32], with ReLU and max pooling. args: batch. */
#include "networks.h"

#define LENET_FIELDS(X)                    \
  X(BurnConv2d, conv1, "1 -> 6 channels")  \
  X(BurnConv2d, conv2, "6 -> 16 channels") \
  X(BurnLinear, fc1, "400 -> 120")         \
  X(BurnLinear, fc2, "120 -> 84")          \
  X(BurnLinear, fc3, "84 -> 10")
BURN_MODULE(Lenet, LENET_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  (void)args;
  BurnConv2dConfig conv1 = BurnConv2dConfig_defaults((BurnSize2){{1, 6}}, (BurnSize2){{5, 5}});
  const BurnConv2dConfig conv2 = BurnConv2dConfig_defaults((BurnSize2){{6, 16}}, (BurnSize2){{5, 5}});
  conv1.padding = (BurnPadding2d)BURN_PADDING_2D(2, 2, 2, 2);
  const BurnLinearConfig fc1 = BurnLinearConfig_defaults(400, 120), fc2 = BurnLinearConfig_defaults(120, 84);
  const BurnLinearConfig fc3 = BurnLinearConfig_defaults(84, 10);
  *(Lenet *)model =
      (Lenet){burn_conv2d_init(&conv1, device), burn_conv2d_init(&conv2, device), burn_linear_init(&fc1, device),
              burn_linear_init(&fc2, device), burn_linear_init(&fc3, device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) { return image_inputs(args, 1, 28, device); }

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Lenet *m = model;
  x = burn_relu(burn_conv2d_forward(&m->conv1, x)); /* [batch, 6, 28, 28] */
  x = burn_max_pool2d(x, BURN_POOL2D_OPTIONS(2, 2));
  x = burn_relu(burn_conv2d_forward(&m->conv2, x)); /* [batch, 16, 10, 10] */
  x = burn_max_pool2d(x, BURN_POOL2D_OPTIONS(2, 2));
  x = burn_relu(burn_linear_forward(&m->fc1, burn_flatten(x, 1, 3)));
  x = burn_relu(burn_linear_forward(&m->fc2, x));
  return burn_linear_forward(&m->fc3, x);
}

const Network lenet_network = {"lenet", Lenet_type, init, inputs, batch_targets, ten_classes, forward};
