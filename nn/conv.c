/* conv.c - convolution layers: checks, parameters, and padding that the ops do not know.
 *
 * Weight and bias share one initializer and the fans of the weight: fan_in = in / groups * kernel positions, fan_out =
 * out / groups * kernel positions. Transposed convolution swaps the channels and has no fan_out. */
#include <burn/nn/conv.h>

#include "nn_internal.h"

/* The sizes that both two-dimensional configs share, checked. */
static BurnStatus check_2d(const char *layer, BurnSize2 channels, BurnSize2 kernel_size, BurnSize2 stride,
                           BurnSize2 dilation, size_t groups) {
  const BurnNnSize sizes[] = {
      {"channels_in", channels.at[0]},     {"channels_out", channels.at[1]}, {"kernel height", kernel_size.at[0]},
      {"kernel width", kernel_size.at[1]}, {"stride[0]", stride.at[0]},      {"stride[1]", stride.at[1]},
      {"dilation[0]", dilation.at[0]},     {"dilation[1]", dilation.at[1]},  {"groups", groups}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, sizeof sizes / sizeof sizes[0]);
  return status != BURN_OK ? status : burn_nn_check_groups(layer, channels.at[0], channels.at[1], groups);
}

BurnConv1d burn_conv1d_init(const BurnConv1dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConv1dConfig_type(), "conv1d", &status);
  const BurnNnSize sizes[] = {{"channels_in", config->channels_in}, {"channels_out", config->channels_out},
                              {"kernel_size", config->kernel_size}, {"stride", config->stride},
                              {"dilation", config->dilation},       {"groups", config->groups}};
  if (status == BURN_OK) status = burn_nn_check_sizes("conv1d", sizes, sizeof sizes / sizeof sizes[0]);
  const size_t groups = config->groups ? config->groups : 1;
  const int64_t in = (int64_t)(config->channels_in / groups), out = (int64_t)config->channels_out;
  const int64_t kernel = (int64_t)config->kernel_size;
  BurnConv1d m = {.stride = config->stride,
                  .kernel_size = config->kernel_size,
                  .dilation = config->dilation,
                  .groups = config->groups,
                  .padding = config->padding};
  int64_t fan_in, fan_out;
  if (status == BURN_OK) status = burn_nn_check_groups("conv1d", config->channels_in, config->channels_out, groups);
  fan_in = status == BURN_OK ? burn_nn_product(in, kernel) : 0;
  fan_out = status == BURN_OK ? burn_nn_product(out / (int64_t)groups, kernel) : 0;
  m.weight =
      burn_nn_param(status, "conv1d", &config->initializer, BURN_SHAPE(out, in, kernel), fan_in, fan_out, device);
  if (config->bias) {
    m.bias = burn_nn_param(status, "conv1d", &config->initializer, BURN_SHAPE(out), fan_in, fan_out, device);
  }
  return m;
}

BurnTensor *burn_conv1d_forward(const BurnConv1d *m, BurnTensor *x) {
  const bool sound = burn_nn_sound(x);
  const BurnNnWindow window = {{m->kernel_size, 1}, {m->stride, 1}, {m->dilation, 1}};
  const BurnNnSides sides = burn_nn_sides_1d(&m->padding, x, &window);
  int64_t padding[2];
  BurnConv1dOptions options = BURN_CONV1D_OPTIONS;
  x = burn_nn_pad(x, &sides, 0, padding);
  options.stride = (int64_t)m->stride;
  options.padding = padding[0];
  options.dilation = (int64_t)m->dilation;
  options.groups = (int64_t)m->groups;
  x = burn_conv1d(x, burn_param_value(&m->weight), burn_param_value(&m->bias), options);
  return burn_nn_placed(sound, &m->weight, "conv1d", x);
}

BurnConv2d burn_conv2d_init(const BurnConv2dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConv2dConfig_type(), "conv2d", &status);
  if (status == BURN_OK) {
    status =
        check_2d("conv2d", config->channels, config->kernel_size, config->stride, config->dilation, config->groups);
  }
  const size_t groups = config->groups ? config->groups : 1;
  const int64_t in = (int64_t)(config->channels.at[0] / groups), out = (int64_t)config->channels.at[1];
  const int64_t height = (int64_t)config->kernel_size.at[0], width = (int64_t)config->kernel_size.at[1];
  BurnConv2d m = {.stride = config->stride,
                  .kernel_size = config->kernel_size,
                  .dilation = config->dilation,
                  .groups = config->groups,
                  .padding = config->padding};
  int64_t fan_in = 0, fan_out = 0;
  if (status == BURN_OK) {
    fan_in = burn_nn_product(in, height * width);
    fan_out = burn_nn_product(out / (int64_t)groups, height * width);
  }
  m.weight = burn_nn_param(status, "conv2d", &config->initializer, BURN_SHAPE(out, in, height, width), fan_in, fan_out,
                           device);
  if (config->bias) {
    m.bias = burn_nn_param(status, "conv2d", &config->initializer, BURN_SHAPE(out), fan_in, fan_out, device);
  }
  return m;
}

BurnTensor *burn_conv2d_forward(const BurnConv2d *m, BurnTensor *x) {
  const bool sound = burn_nn_sound(x);
  const BurnNnWindow window = {{m->kernel_size.at[0], m->kernel_size.at[1]},
                               {m->stride.at[0], m->stride.at[1]},
                               {m->dilation.at[0], m->dilation.at[1]}};
  const BurnNnSides sides = burn_nn_sides_2d(&m->padding, x, &window);
  BurnConv2dOptions options = {{(int64_t)m->stride.at[0], (int64_t)m->stride.at[1]},
                               {0, 0},
                               {(int64_t)m->dilation.at[0], (int64_t)m->dilation.at[1]},
                               (int64_t)m->groups,
                               {0, 0},
                               false,
                               {0, 0}};
  x = burn_nn_pad(x, &sides, 0, options.padding);
  x = burn_conv2d(x, burn_param_value(&m->weight), burn_param_value(&m->bias), options);
  return burn_nn_placed(sound, &m->weight, "conv2d", x);
}

BurnConvTranspose2d burn_conv_transpose2d_init(const BurnConvTranspose2dConfig *config, BurnDevice *device) {
  const char *layer = "conv_transpose2d";
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConvTranspose2dConfig_type(), layer, &status);
  if (status == BURN_OK) {
    status = check_2d(layer, config->channels, config->kernel_size, config->stride, config->dilation, config->groups);
  }
  const size_t groups = config->groups ? config->groups : 1;
  const int64_t in = (int64_t)config->channels.at[0], out = (int64_t)config->channels.at[1];
  const int64_t group_out = (int64_t)(config->channels.at[1] / groups);
  const int64_t height = (int64_t)config->kernel_size.at[0], width = (int64_t)config->kernel_size.at[1];
  BurnConvTranspose2d m = {.stride = config->stride,
                           .kernel_size = config->kernel_size,
                           .dilation = config->dilation,
                           .groups = config->groups,
                           .padding = config->padding,
                           .padding_out = config->padding_out,
                           .channels = config->channels};
  const int64_t fan_in = status == BURN_OK ? burn_nn_product(group_out, height * width) : 0;
  m.weight =
      burn_nn_param(status, layer, &config->initializer, BURN_SHAPE(in, group_out, height, width), fan_in, 0, device);
  if (config->bias) m.bias = burn_nn_param(status, layer, &config->initializer, BURN_SHAPE(out), fan_in, 0, device);
  return m;
}

BurnTensor *burn_conv_transpose2d_forward(const BurnConvTranspose2d *m, BurnTensor *x) {
  const BurnConv2dOptions options = {{(int64_t)m->stride.at[0], (int64_t)m->stride.at[1]},
                                     {(int64_t)m->padding.at[0], (int64_t)m->padding.at[1]},
                                     {(int64_t)m->dilation.at[0], (int64_t)m->dilation.at[1]},
                                     (int64_t)m->groups,
                                     {(int64_t)m->padding_out.at[0], (int64_t)m->padding_out.at[1]},
                                     false,
                                     {0, 0}};
  const bool sound = burn_nn_sound(x);
  x = burn_conv_transpose2d(x, burn_param_value(&m->weight), burn_param_value(&m->bias), options);
  return burn_nn_placed(sound, &m->weight, "conv_transpose2d", x);
}
