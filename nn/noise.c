/* noise.c - noise that is added where the input can be trained on. */
#include <burn/nn/noise.h>

#include "nn_internal.h"

BurnGaussianNoise burn_gaussian_noise_init(const BurnGaussianNoiseConfig *config, BurnDevice *device) {
  (void)device;
  return (BurnGaussianNoise){config ? config->std : BURN_NN_NO_NUMBER};
}

BurnTensor *burn_gaussian_noise_forward(const BurnGaussianNoise *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnNnOperand operand = {"x", x};
  if (m->std == BURN_NN_NO_NUMBER) return burn_nn_no_config(x, BurnGaussianNoiseConfig_type(), "gaussian_noise");
  const BurnStatus status = burn_nn_check_not_negative("gaussian_noise", "std", m->std);
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  if (m->std == 0 || !burn_nn_is_training(x)) return x;
  BurnTensor *noise = burn_random_normal(burn_tensor_device(x), burn_shape(x), burn_dtype(x), 0, m->std);
  return burn_add(x, noise);
}
