/* wgan_model.h - the generator and the critic of a Wasserstein GAN with a
 * gradient penalty (WGAN-GP, Gulrajani et al. 2017), and their losses. */
#ifndef WGAN_MODEL_H
#define WGAN_MODEL_H

#include <burn/burn.h>
#include <burn/nn.h>

/* Numbers of noise that an image is made of, and its pixels. */
enum { LATENT = 64, SIDE = 28, PIXELS = SIDE * SIDE };

#define GENERATOR_FIELDS(X)          \
  X(BurnLinear, fc1, "noise -> 256") \
  X(BurnLinear, fc2, "256 -> 512")   \
  X(BurnLinear, out, "512 -> pixels 0..1")
BURN_MODULE(Generator, GENERATOR_FIELDS);

#define CRITIC_FIELDS(X)              \
  X(BurnLinear, fc1, "pixels -> 512") \
  X(BurnLinear, fc2, "512 -> 256")    \
  X(BurnLinear, out, "256 -> score")
BURN_MODULE(Critic, CRITIC_FIELDS);

Generator generator_init(BurnDevice *device);
Critic critic_init(BurnDevice *device);

/* -> `count` images [count, PIXELS] from noise */
BurnTensor *generate(const Generator *m, size_t count, BurnDevice *device);

/* Takes real images [batch, PIXELS]. *distance: the critic's estimate of the
 * Wasserstein distance between real and generated ones, without history. */
BurnTensor *critic_loss(const Critic *m, const Generator *generator,
                        BurnTensor *real, BurnTensor **distance);

/* What the critic says against `count` generated images. */
BurnTensor *generator_loss(const Generator *m, const Critic *critic,
                           size_t count, BurnDevice *device);

#endif
