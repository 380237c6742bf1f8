/* activation.c - activations without parameters, as modules. */
#include <burn/nn/activation.h>

#include "nn_internal.h"

#include <limits.h>

#define STATELESS(Name, op, call)                          \
  Name op##_init(void) { return (Name){0}; }               \
  BurnTensor *op##_forward(const Name *m, BurnTensor *x) { \
    (void)m;                                               \
    return call;                                           \
  }
STATELESS(BurnRelu, burn_relu, burn_relu(x))
STATELESS(BurnSigmoid, burn_sigmoid, burn_sigmoid(x))
STATELESS(BurnTanh, burn_tanh, burn_tanh(x))
STATELESS(BurnSilu, burn_silu, burn_silu(x))
STATELESS(BurnMish, burn_mish, burn_mish(x))
STATELESS(BurnHardSwish, burn_hard_swish, burn_hard_swish(x))
STATELESS(BurnLogSigmoid, burn_log_sigmoid, burn_log_sigmoid(x))
STATELESS(BurnSoftsign, burn_softsign, burn_softsign(x))
STATELESS(BurnTanhshrink, burn_tanhshrink, burn_tanhshrink(x))
STATELESS(BurnSelu, burn_selu, burn_selu(x))
STATELESS(BurnRelu6, burn_relu6, burn_hardtanh(x, 0, 6))

/* The fields of the module follow, in their order. */
#define CONFIGURED(Name, op, call, ...)                              \
  Name op##_init(const Name##Config *config, BurnDevice *device) {   \
    (void)device;                                                    \
    config = burn_nn_config(config, Name##Config_type(), #op, NULL); \
    return (Name){__VA_ARGS__};                                      \
  }                                                                  \
  BurnTensor *op##_forward(const Name *m, BurnTensor *x) {           \
    if (!m) return BURN_NN_NO_MODULE(x);                             \
    return call;                                                     \
  }
CONFIGURED(BurnLeakyRelu, burn_leaky_relu, burn_leaky_relu(x, m->negative_slope), config->negative_slope)
CONFIGURED(BurnSoftplus, burn_softplus, burn_softplus(x, m->beta), config->beta)
CONFIGURED(BurnElu, burn_elu, burn_elu(x, m->alpha), config->alpha)
CONFIGURED(BurnCelu, burn_celu, burn_celu(x, m->alpha), config->alpha)
CONFIGURED(BurnHardSigmoid, burn_hard_sigmoid, burn_hard_sigmoid(x, m->alpha, m->beta), config->alpha, config->beta)
CONFIGURED(BurnHardtanh, burn_hardtanh, burn_hardtanh(x, m->min_val, m->max_val), config->min_val, config->max_val)
CONFIGURED(BurnHardShrink, burn_hard_shrink, burn_hard_shrink(x, m->lambda), config->lambda)
CONFIGURED(BurnSoftShrink, burn_soft_shrink, burn_soft_shrink(x, m->lambda), config->lambda)
CONFIGURED(BurnShrink, burn_shrink, burn_shrink(x, m->lambda, m->bias), config->lambda, config->bias)
CONFIGURED(BurnThresholdedRelu, burn_thresholded_relu, burn_thresholded_relu(x, m->alpha), config->alpha)

BurnGelu burn_gelu_init(void) { return (BurnGelu){false}; }

BurnGelu burn_gelu_init_approximate(void) { return (BurnGelu){true}; }

BurnTensor *burn_gelu_forward(const BurnGelu *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  return m->approximate ? burn_gelu_approximate(x) : burn_gelu(x);
}

BurnThreshold burn_threshold_init(const BurnThresholdConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnThreshold){BURN_NN_NO_NUMBER, 0};
  return (BurnThreshold){config->threshold, config->value};
}

BurnTensor *burn_threshold_forward(const BurnThreshold *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->threshold == BURN_NN_NO_NUMBER) return burn_nn_no_config(x, BurnThresholdConfig_type(), "threshold");
  return burn_threshold(x, m->threshold, m->value);
}

BurnRRelu burn_rrelu_init(const BurnRReluConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnRReluConfig_type(), "rrelu", NULL);
  return (BurnRRelu){config->lower, config->upper};
}

BurnTensor *burn_rrelu_forward(const BurnRRelu *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  if (!(m->lower <= m->upper)) {
    burn_drop(x);
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "rrelu: lower %g is above upper %g", m->lower, m->upper));
  }
  if (!burn_nn_is_training(x) || m->lower == m->upper) return burn_leaky_relu(x, (m->lower + m->upper) / 2);
  BurnTensor *slopes = burn_random_uniform(burn_tensor_device(x), burn_shape(x), burn_dtype(x), m->lower, m->upper);
  BurnTensor *negative = burn_lower_scalar(burn_clone(x), 0), *sloped = burn_mul(burn_clone(x), slopes);
  return burn_mask_where(x, negative, sloped);
}

BurnGLU burn_glu_init(int64_t dim) { return (BurnGLU){dim}; }

BurnTensor *burn_glu_forward(const BurnGLU *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const int dim = m->dim < INT_MIN || m->dim > INT_MAX ? INT_MAX : (int)m->dim;
  return burn_glu(x, dim);
}
