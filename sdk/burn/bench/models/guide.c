/* guide.c - the CNN of the guide, which is that of sdk/examples/mnist. args: batch. */
#include "networks.h"

#include "../../../examples/mnist/model.h"

static void init(void *model, const int64_t *args, BurnDevice *device) {
  (void)args;
  const ModelConfig config = ModelConfig_defaults(10, 512);
  *(Model *)model = model_init(&config, device);
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) { return image_inputs(args, 1, 28, device); }
static BurnTensor *forward(const void *model, BurnTensor *x) { return model_forward(model, x); }

const Network guide_network = {"guide", Model_type, init, inputs, batch_targets, ten_classes, forward};
