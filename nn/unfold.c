/* unfold.c - windows as columns and back. */
#include <burn/nn/unfold.h>

#include "nn_internal.h"

BurnUnfold4d burn_unfold4d_init(const BurnUnfold4dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnUnfold4d){.kernel_size = BURN_SIZE2(BURN_NN_NO_CONFIG, 0)};
  return (BurnUnfold4d){config->kernel_size, config->stride, config->dilation, config->padding};
}

BurnFold4d burn_fold4d_init(const BurnFold4dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnFold4d){.kernel_size = BURN_SIZE2(BURN_NN_NO_CONFIG, 0)};
  return (BurnFold4d){config->output_size, config->kernel_size, config->stride, config->dilation, config->padding};
}

static BurnUnfold4dOptions options_of(const BurnSize2 *stride, const BurnSize2 *dilation, const BurnSize2 *padding) {
  BurnUnfold4dOptions options = BURN_UNFOLD4D_OPTIONS;
  burn_nn_to_options(2, stride->at, options.stride);
  burn_nn_to_options(2, dilation->at, options.dilation);
  burn_nn_to_options(2, padding->at, options.padding);
  return options;
}

BurnTensor *burn_unfold4d_forward(const BurnUnfold4d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  int64_t kernel_size[2];
  if (m->kernel_size.at[0] == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnUnfold4dConfig_type(), "unfold4d");
  burn_nn_to_options(2, m->kernel_size.at, kernel_size);
  return burn_unfold4d(x, kernel_size, options_of(&m->stride, &m->dilation, &m->padding));
}

BurnTensor *burn_fold4d_forward(const BurnFold4d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  int64_t output_size[2], kernel_size[2];
  if (m->kernel_size.at[0] == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnFold4dConfig_type(), "fold4d");
  burn_nn_to_options(2, m->output_size.at, output_size);
  burn_nn_to_options(2, m->kernel_size.at, kernel_size);
  return burn_fold4d(x, output_size, kernel_size, options_of(&m->stride, &m->dilation, &m->padding));
}
