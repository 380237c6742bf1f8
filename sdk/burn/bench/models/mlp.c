/* mlp.c - 784 inputs, `depth` hidden layers of `width` with ReLU, 10 classes. args: batch, width, depth. */
#include "networks.h"

#define MLP_FIELDS(X)                    \
  X(BurnModuleList, hidden, "with ReLU") \
  X(BurnLinear, last, "width -> 10")
BURN_MODULE(Mlp, MLP_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t width = (size_t)args[1], depth = (size_t)args[2];
  Mlp *m = model;
  m->hidden = burn_module_list(BurnLinear_type(), depth);
  for (size_t i = 0; i < m->hidden.count; i++) {
    const BurnLinearConfig config = BurnLinearConfig_defaults(i == 0 ? 784 : width, width);
    *(BurnLinear *)burn_module_list_at(&m->hidden, i) = burn_linear_init(&config, device);
  }
  const BurnLinearConfig last = BurnLinearConfig_defaults(depth > 0 ? width : 784, 10);
  m->last = burn_linear_init(&last, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(args[0], 784), BURN_DTYPE_F32, 0, 1);
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Mlp *m = model;
  for (size_t i = 0; i < m->hidden.count; i++)
    x = burn_relu(burn_linear_forward(burn_module_list_at(&m->hidden, i), x));
  return burn_linear_forward(&m->last, x);
}

const Network mlp_network = {"mlp", Mlp_type, init, inputs, batch_targets, ten_classes, forward};
