/* ops_optimizer.h - whole optimizer steps as one op, for train/ and for optimizers of your own. */
#ifndef BURN_OPS_OPTIMIZER_H
#define BURN_OPS_OPTIMIZER_H

#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* Takes four tensors of one shape and float dtype and writes three, possibly failed ones, which are the caller's:
 *
 *   g = gradient + penalty * param
 *   m = beta_1 * moment_1 + (1 - beta_1) * g;  v = beta_2 * moment_2 + (1 - beta_2) * g^2
 *   out = {param * decay - step_size * m / (sqrt(v) + epsilon), m, v} */
BURN_API BURN_TAKES(1, 2, 3, 4) void burn_adam_step(BurnTensor *param, BurnTensor *gradient, BurnTensor *moment_1,
                                                    BurnTensor *moment_2, double beta_1, double beta_2,
                                                    double step_size, double epsilon, double decay, double penalty,
                                                    BurnTensor *out[3]);

/* Takes two or three tensors of one shape and float dtype and writes two, possibly failed ones, which are the caller's:
 *   g = gradient + penalty * param;  v = (1 - dampening) * g + momentum * velocity, or g where velocity is NULL
 *   out = {param - step_size * (nesterov ? momentum * v + g : v), v} */
BURN_API BURN_TAKES(1, 2, 3) void burn_sgd_step(BurnTensor *param, BurnTensor *gradient, BurnTensor *velocity,
                                                double step_size, double momentum, double dampening, bool nesterov,
                                                double penalty, BurnTensor *out[2]);

BURN_EXTERN_C_END

#endif
