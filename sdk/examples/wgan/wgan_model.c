/* wgan_model.c - see wgan_model.h. */
#include "wgan_model.h"

static const double penalty_weight = 10;

/* -- models ---------------------------------------------------------------- */

Generator generator_init(BurnDevice *device) {
  return (Generator){.fc1 = burn_linear_new(LATENT, 256, device),
                     .fc2 = burn_linear_new(256, 512, device),
                     .out = burn_linear_new(512, PIXELS, device)};
}

BurnTensor *generate(const Generator *m, size_t count, BurnDevice *device) {
  const BurnShape shape = BURN_SHAPE((int64_t)count, LATENT);
  BurnTensor *x = burn_random_normal(device, shape, BURN_DTYPE_DEFAULT, 0, 1);
  x = burn_relu(burn_linear_forward(&m->fc1, x));
  x = burn_relu(burn_linear_forward(&m->fc2, x));
  return burn_sigmoid(burn_linear_forward(&m->out, x));
}

Critic critic_init(BurnDevice *device) {
  return (Critic){.fc1 = burn_linear_new(PIXELS, 512, device),
                  .fc2 = burn_linear_new(512, 256, device),
                  .out = burn_linear_new(256, 1, device)};
}

/* takes images [batch, PIXELS] -> scores [batch, 1]: no probabilities, and no
 * batch norm, for the penalty is one of each image by itself */
static BurnTensor *criticise(const Critic *m, BurnTensor *x) {
  x = burn_leaky_relu(burn_linear_forward(&m->fc1, x), 0.2);
  x = burn_leaky_relu(burn_linear_forward(&m->fc2, x), 0.2);
  return burn_linear_forward(&m->out, x);
}

/* -- losses ---------------------------------------------------------------- */

/* Takes both; the mean of (|slope| - 1)^2 at points between them, a gradient
 * that is itself differentiated when the critic learns. */
static BurnTensor *gradient_penalty(const Critic *m, BurnTensor *real,
                                    BurnTensor *fake) {
  BurnDevice *device = burn_tensor_device(real);
  BurnTensor *share = burn_random_uniform(
      device, BURN_SHAPE(burn_dim(real, 0), 1), BURN_DTYPE_DEFAULT, 0, 1);
  BurnTensor *x = burn_sub(real, burn_clone(fake));
  x = burn_require_grad(burn_add(fake, burn_mul(x, share)));
  BurnGradients *gradients = NULL;
  BurnTensor *scores = burn_sum(criticise(m, burn_clone(x)));
  const BurnStatus status = burn_backward_create_graph(scores, &gradients);
  BurnTensor *slope = status == BURN_OK
                          ? burn_l2_norm(burn_grad(x, gradients), 1)
                          : burn_tensor_failed(status);
  burn_gradients_drop(gradients);
  burn_drop(x);
  return burn_mean(burn_square(burn_sub_scalar(slope, 1)));
}

BurnTensor *critic_loss(const Critic *m, const Generator *generator,
                        BurnTensor *real, BurnTensor **distance) {
  const size_t count = (size_t)burn_dim(real, 0);
  BurnDevice *device = burn_tensor_device(real);
  BurnTensor *fake = burn_detach(generate(generator, count, device));
  BurnTensor *gap = burn_sub(burn_mean(criticise(m, burn_clone(real))),
                             burn_mean(criticise(m, burn_clone(fake))));
  *distance = burn_detach(burn_clone(gap));
  BurnTensor *penalty = gradient_penalty(m, real, fake);
  return burn_sub(burn_mul_scalar(penalty, penalty_weight), gap);
}

BurnTensor *generator_loss(const Generator *m, const Critic *critic,
                           size_t count, BurnDevice *device) {
  return burn_neg(burn_mean(criticise(critic, generate(m, count, device))));
}
