/* noise.h - adds random numbers of N(0, std^2), exactly when the input is on an autodiff device: there is no training
 * flag. */
#ifndef BURN_NN_NOISE_H
#define BURN_NN_NOISE_H

#include <burn/config.h>
#include <burn/module.h>

BURN_EXTERN_C_BEGIN

#define BURN_GAUSSIAN_NOISE_CONFIG(REQ, OPT) REQ(BurnF64, std, "standard deviation, 0 or more")
BURN_CONFIG(BurnGaussianNoiseConfig, BURN_GAUSSIAN_NOISE_CONFIG);
#define BURN_GAUSSIAN_NOISE_FIELDS(X) X(BurnF64, std, "standard deviation, 0 or more")
BURN_MODULE(BurnGaussianNoise, BURN_GAUSSIAN_NOISE_FIELDS);

/* The device is not used: it is a parameter because the init of every layer has one. A std that is refused fails in
 * every forward pass. */
BURN_API BurnGaussianNoise burn_gaussian_noise_init(const BurnGaussianNoiseConfig *config, BurnDevice *device);
BURN_LAYER(BurnGaussianNoise, burn_gaussian_noise, BURN_GAUSSIAN_NOISE_CONFIG);
/* Any shape -> the same shape */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_gaussian_noise_forward(const BurnGaussianNoise *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
