/* wgan_steps.c - the critic's and the generator's step of WGAN-GP (sdk/examples/wgan), each with a loss of its own; the
 * critic's has the gradient of a gradient. args: batch. */
#include "networks.h"

#include "../../../examples/wgan/wgan_model.h"

#define WGAN_FIELDS(X)             \
  X(Generator, generator, "draws") \
  X(Critic, critic, "tells them apart")
BURN_MODULE(Wgan, WGAN_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  (void)args;
  *(Wgan *)model = (Wgan){generator_init(device), critic_init(device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_uniform(device, BURN_SHAPE(args[0], PIXELS), BURN_DTYPE_F32, 0, 1);
}

const Network wgan_network = {"wgan", Wgan_type, init, inputs, batch_targets, ten_classes, NULL};

static BurnStatus finish(Subject *s, BurnModule trained, BurnTensor *loss) {
  BurnTensor *told = burn_detach(burn_clone(loss));
  return network_tell(s, told, burn_train_step(s->optimizer, trained, loss, 1e-4));
}

BurnStatus wgan_critic_step(Subject *s) {
  Wgan *m = (Wgan *)(void *)&s->model;
  BurnTensor *distance = NULL;
  BurnTensor *loss = critic_loss(&m->critic, &m->generator, burn_clone(s->t[0]), &distance);
  burn_drop(distance);
  return finish(s, burn_module(Critic, &m->critic), loss);
}

BurnStatus wgan_generator_step(Subject *s) {
  Wgan *m = (Wgan *)(void *)&s->model;
  const BurnModule critic = burn_module(Critic, &m->critic);
  burn_module_freeze(critic);
  BurnTensor *loss = generator_loss(&m->generator, &m->critic, (size_t)s->args[0], s->device);
  const BurnStatus status = finish(s, burn_module(Generator, &m->generator), loss);
  burn_module_unfreeze(critic);
  return status;
}
