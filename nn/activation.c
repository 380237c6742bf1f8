/* activation.c - activations as modules. */
#include <burn/nn/activation.h>

#include "nn_internal.h"

#define STATELESS(Name, op)                                \
  Name op##_init(void) { return (Name){0}; }               \
  BurnTensor *op##_forward(const Name *m, BurnTensor *x) { \
    (void)m;                                               \
    return op(x);                                          \
  }
STATELESS(BurnRelu, burn_relu)
STATELESS(BurnGelu, burn_gelu)
STATELESS(BurnSigmoid, burn_sigmoid)
STATELESS(BurnTanh, burn_tanh)
STATELESS(BurnSilu, burn_silu)

BurnLeakyRelu burn_leaky_relu_init(const BurnLeakyReluConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnLeakyReluConfig_type(), "leaky_relu", NULL);
  return (BurnLeakyRelu){config->negative_slope};
}

BurnTensor *burn_leaky_relu_forward(const BurnLeakyRelu *m, BurnTensor *x) {
  return burn_leaky_relu(x, m->negative_slope);
}

BurnSoftplus burn_softplus_init(const BurnSoftplusConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnSoftplusConfig_type(), "softplus", NULL);
  return (BurnSoftplus){config->beta};
}

BurnTensor *burn_softplus_forward(const BurnSoftplus *m, BurnTensor *x) { return burn_softplus(x, m->beta); }
