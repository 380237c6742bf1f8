/* activation_learned.c - activations with parameters. */
#include <burn/nn/activation_learned.h>

#include "nn_internal.h"

BurnPRelu burn_prelu_init(const BurnPReluConfig *config, BurnDevice *device) {
  config = burn_nn_config(config, BurnPReluConfig_type(), "prelu", NULL);
  const BurnInitializer constant = BURN_CONSTANT(config->alpha);
  const BurnNnSize sizes[] = {{"num_parameters", config->num_parameters}};
  const BurnStatus status = burn_nn_check_sizes("prelu", sizes, 1);
  const BurnShape shape = BURN_SHAPE((int64_t)config->num_parameters);
  return (BurnPRelu){burn_nn_param(status, "prelu", &constant, shape, 0, 0, device), config->alpha};
}

BurnTensor *burn_prelu_forward(const BurnPRelu *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  return burn_nn_placed(sound, &m->alpha, "prelu", burn_prelu(x, burn_param_value(&m->alpha)));
}

BurnSwiGlu burn_swiglu_init(const BurnSwiGluConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnSwiGluConfig_type(), "swiglu", &status);
  if (status != BURN_OK) return (BurnSwiGlu){.linear_inner = {.weight = burn_param(burn_tensor_failed(status))}};
  BurnLinearConfig linear = BurnLinearConfig_defaults(config->d_input, config->d_output);
  linear.bias = config->bias;
  linear.initializer = config->initializer;
  linear.layout = config->layout;
  return (BurnSwiGlu){burn_linear_init(&linear, device), burn_linear_init(&linear, device)};
}

BurnTensor *burn_swiglu_forward(const BurnSwiGlu *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  BurnTensor *gate = burn_silu(burn_linear_forward(&m->linear_inner, burn_clone(x)));
  return burn_mul(gate, burn_linear_forward(&m->linear_outer, x));
}
