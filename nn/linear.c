/* linear.c - the affine map. Weight and bias share one initializer and the fans of the weight, as in Burn. */
#include <burn/nn/linear.h>

#include "nn_internal.h"

BurnLinear burn_linear_init(const BurnLinearConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnLinearConfig_type(), "linear", &status);
  const BurnNnSize sizes[] = {{"d_input", config->d_input}, {"d_output", config->d_output}};
  if (status == BURN_OK) status = burn_nn_check_sizes("linear", sizes, 2);
  const int64_t d_input = (int64_t)config->d_input, d_output = (int64_t)config->d_output;
  BurnLinear m = {.bias = {.value = NULL}};
  m.weight =
      burn_nn_param(status, "linear", &config->initializer, BURN_SHAPE(d_input, d_output), d_input, d_output, device);
  if (config->bias) {
    m.bias = burn_nn_param(status, "linear", &config->initializer, BURN_SHAPE(d_output), d_input, d_output, device);
  }
  return m;
}

BurnTensor *burn_linear_forward(const BurnLinear *m, BurnTensor *x) {
  const bool sound = burn_nn_sound(x);
  return burn_nn_placed(sound, &m->weight, "linear",
                        burn_linear(x, burn_param_value(&m->weight), burn_param_value(&m->bias)));
}
