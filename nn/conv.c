/* conv.c - convolution layers: checks, parameters, and padding that the ops do not know. What does not depend on the
 * rank is written once, over a Geometry of 1 to 3 axes; a layer of one more rank is its init and its forward.
 *
 * Weight and bias share one initializer and the fans of the weight: fan_in = in / groups * kernel positions, fan_out =
 * out / groups * kernel positions. Transposed convolution swaps the channels and has no fan_out. */
#include <burn/nn/conv.h>

#include "nn_internal.h"

#include <burn/quantizer.h>

/* What a config says, whatever its rank. */
typedef struct Geometry {
  const char *layer;
  bool transposed;
  size_t in, out;
  BurnNnSize groups; /* with the name of the config's row */
  BurnNnWindow window;
} Geometry;

/* Names of sizes in messages, by the number of axes. */
static const char *const kernel_names[BURN_NN_MAX_AXES][BURN_NN_MAX_AXES] = {
    {"kernel_size"}, {"kernel height", "kernel width"}, {"kernel depth", "kernel height", "kernel width"}};
static const char *const stride_names[] = {"stride[0]", "stride[1]", "stride[2]"};
static const char *const dilation_names[] = {"dilation[0]", "dilation[1]", "dilation[2]"};

static BurnStatus check(const Geometry *g) {
  const BurnNnWindow *window = &g->window;
  const uint32_t axes = window->axes;
  BurnNnSize sizes[3 + 3 * BURN_NN_MAX_AXES] = {{"channels_in", g->in}, {"channels_out", g->out}};
  size_t count = 2;
  for (uint32_t i = 0; i < axes; i++) {
    sizes[count++] = (BurnNnSize){kernel_names[axes - 1][i], window->kernel_size[i]};
  }
  for (uint32_t i = 0; i < axes; i++) {
    sizes[count++] = (BurnNnSize){axes == 1 ? "stride" : stride_names[i], window->stride[i]};
  }
  for (uint32_t i = 0; i < axes; i++) {
    sizes[count++] = (BurnNnSize){axes == 1 ? "dilation" : dilation_names[i], window->dilation[i]};
  }
  sizes[count++] = g->groups;
  const BurnStatus status = burn_nn_check_sizes(g->layer, sizes, count);
  return status != BURN_OK ? status : burn_nn_check_groups(g->layer, g->groups, g->in, g->out);
}

/* Weight and bias; `status` is a failure before, or BURN_OK. */
static void parameters(BurnStatus status, const Geometry *g, const BurnInitializer *initializer, bool has_bias,
                       BurnDevice *device, BurnParam *weight, BurnParam *bias) {
  const size_t groups = g->groups.value ? g->groups.value : 1;
  const int64_t in = (int64_t)g->in, out = (int64_t)g->out;
  const int64_t group_in = (int64_t)(g->in / groups), group_out = (int64_t)(g->out / groups);
  BurnShape shape = {g->window.axes + 2, {g->transposed ? in : out, g->transposed ? group_out : group_in}};
  int64_t fan_in = 0, fan_out = 0;
  burn_nn_to_options(g->window.axes, g->window.kernel_size, shape.dims + 2);
  if (status == BURN_OK) status = check(g);
  if (status == BURN_OK) {
    const int64_t positions = burn_nn_positions(&g->window);
    fan_in = burn_nn_product(g->transposed ? group_out : group_in, positions);
    fan_out = g->transposed ? 0 : burn_nn_product(group_out, positions);
  }
  *weight = burn_nn_param(status, g->layer, initializer, shape, fan_in, fan_out, device);
  if (has_bias) *bias = burn_nn_param(status, g->layer, initializer, BURN_SHAPE(out), fan_in, fan_out, device);
}

/* -- convolutions ----------------------------------------------------------------------------- */

BurnConv1d burn_conv1d_init(const BurnConv1dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConv1dConfig_type(), "conv1d", &status);
  const Geometry g = {"conv1d",
                      false,
                      config->channels_in,
                      config->channels_out,
                      {"groups", config->groups},
                      burn_nn_window(1, &config->kernel_size, &config->stride, &config->dilation)};
  BurnConv1d m = {.stride = config->stride,
                  .kernel_size = config->kernel_size,
                  .dilation = config->dilation,
                  .groups = config->groups,
                  .padding = config->padding};
  parameters(status, &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

BurnTensor *burn_conv1d_forward(const BurnConv1d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  const BurnNnWindow window = burn_nn_window(1, &m->kernel_size, &m->stride, &m->dilation);
  const BurnNnPadding padding = burn_nn_padding_1d(&m->padding);
  const BurnNnSides sides = burn_nn_sides(&padding, x, &window);
  BurnConv1dOptions options = BURN_CONV1D_OPTIONS;
  x = burn_nn_pad(x, &sides, 0, &options.padding);
  options.stride = (int64_t)m->stride;
  options.dilation = (int64_t)m->dilation;
  options.groups = (int64_t)m->groups;
  x = burn_conv1d(burn_nn_input(&m->weight, x), burn_param_value(&m->weight), burn_param_value(&m->bias), options);
  return burn_nn_placed(sound, &m->weight, "conv1d", x);
}

BurnConv2d burn_conv2d_init(const BurnConv2dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConv2dConfig_type(), "conv2d", &status);
  const Geometry g = {"conv2d",
                      false,
                      config->channels.at[0],
                      config->channels.at[1],
                      {"groups", config->groups},
                      burn_nn_window(2, config->kernel_size.at, config->stride.at, config->dilation.at)};
  BurnConv2d m = {.stride = config->stride,
                  .kernel_size = config->kernel_size,
                  .dilation = config->dilation,
                  .groups = config->groups,
                  .padding = config->padding};
  parameters(status, &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

static BurnConv2dOptions options_2d(const size_t *stride, const size_t *dilation, size_t groups) {
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  burn_nn_to_options(2, stride, options.stride);
  burn_nn_to_options(2, dilation, options.dilation);
  options.groups = (int64_t)groups;
  return options;
}

/* x with a quantized weight, both convolved as integers. */
static BurnTensor *quantized_2d(const BurnConv2d *m, BurnTensor *x, BurnConv2dOptions options) {
  const BurnDType dtype = burn_dtype(x);
  burn_param_observe(&m->weight, x);
  return burn_quant_conv2d(burn_param_quant_input(&m->weight, x), burn_param_quant(&m->weight),
                           burn_param_value(&m->bias), options, dtype);
}

BurnTensor *burn_conv2d_forward(const BurnConv2d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  const BurnNnWindow window = burn_nn_window(2, m->kernel_size.at, m->stride.at, m->dilation.at);
  const BurnNnPadding padding = burn_nn_padding_2d(&m->padding);
  const BurnNnSides sides = burn_nn_sides(&padding, x, &window);
  BurnConv2dOptions options = options_2d(m->stride.at, m->dilation.at, m->groups);
  x = burn_nn_pad(x, &sides, 0, options.padding);
  if (burn_nn_sound(x) && burn_param_quantizes_input(&m->weight)) {
    x = quantized_2d(m, x, options);
  } else {
    x = burn_conv2d(burn_nn_input(&m->weight, x), burn_param_value(&m->weight), burn_param_value(&m->bias), options);
  }
  return burn_nn_placed(sound, &m->weight, "conv2d", x);
}

BurnConv3d burn_conv3d_init(const BurnConv3dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConv3dConfig_type(), "conv3d", &status);
  const Geometry g = {"conv3d",
                      false,
                      config->channels.at[0],
                      config->channels.at[1],
                      {"groups", config->groups},
                      burn_nn_window(3, config->kernel_size.at, config->stride.at, config->dilation.at)};
  BurnConv3d m = {.stride = config->stride,
                  .kernel_size = config->kernel_size,
                  .dilation = config->dilation,
                  .groups = config->groups,
                  .padding = config->padding};
  parameters(status, &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

static BurnConv3dOptions options_3d(const size_t *stride, const size_t *dilation, size_t groups) {
  BurnConv3dOptions options = BURN_CONV3D_OPTIONS;
  burn_nn_to_options(3, stride, options.stride);
  burn_nn_to_options(3, dilation, options.dilation);
  options.groups = (int64_t)groups;
  return options;
}

BurnTensor *burn_conv3d_forward(const BurnConv3d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  const BurnNnWindow window = burn_nn_window(3, m->kernel_size.at, m->stride.at, m->dilation.at);
  const BurnNnPadding padding = burn_nn_padding_3d(&m->padding);
  const BurnNnSides sides = burn_nn_sides(&padding, x, &window);
  BurnConv3dOptions options = options_3d(m->stride.at, m->dilation.at, m->groups);
  x = burn_nn_pad(x, &sides, 0, options.padding);
  x = burn_conv3d(burn_nn_input(&m->weight, x), burn_param_value(&m->weight), burn_param_value(&m->bias), options);
  return burn_nn_placed(sound, &m->weight, "conv3d", x);
}

/* -- with offsets ----------------------------------------------------------------------------- */

static BurnStatus check_offset_groups(BurnStatus status, const BurnDeformConv2dConfig *config) {
  const BurnNnSize sizes[] = {{"offset_groups", config->offset_groups}};
  if (status == BURN_OK) status = burn_nn_check_sizes("deform_conv2d", sizes, 1);
  if (status != BURN_OK || config->channels.at[0] % config->offset_groups == 0) return status;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "deform_conv2d: offset_groups %zu does not divide channels_in %zu", config->offset_groups,
                          config->channels.at[0]);
}

BurnDeformConv2d burn_deform_conv2d_init(const BurnDeformConv2dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnDeformConv2dConfig_type(), "deform_conv2d", &status);
  const Geometry g = {"deform_conv2d",
                      false,
                      config->channels.at[0],
                      config->channels.at[1],
                      {"weight_groups", config->weight_groups},
                      burn_nn_window(2, config->kernel_size.at, config->stride.at, config->dilation.at)};
  BurnDeformConv2d m = {.stride = config->stride,
                        .kernel_size = config->kernel_size,
                        .dilation = config->dilation,
                        .weight_groups = config->weight_groups,
                        .offset_groups = config->offset_groups,
                        .padding = config->padding};
  parameters(check_offset_groups(status, config), &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

BurnTensor *burn_deform_conv2d_forward(const BurnDeformConv2d *m, BurnTensor *x, BurnTensor *offset, BurnTensor *mask) {
  if (!m) return BURN_NN_NO_MODULE(x, offset, mask);
  const bool sound = burn_nn_sound(x) && burn_nn_sound(offset) && burn_nn_sound(mask);
  const BurnNnWindow window = burn_nn_window(2, m->kernel_size.at, m->stride.at, m->dilation.at);
  const BurnNnPadding padding = burn_nn_padding_2d(&m->padding);
  const BurnNnSides sides = burn_nn_sides(&padding, x, &window);
  BurnDeformConv2dOptions options = BURN_DEFORM_CONV2D_OPTIONS;
  burn_nn_to_options(2, m->stride.at, options.stride);
  burn_nn_to_options(2, m->dilation.at, options.dilation);
  options.weight_groups = (int64_t)m->weight_groups;
  options.offset_groups = (int64_t)m->offset_groups;
  x = burn_nn_pad(x, &sides, 0, options.padding);
  x = burn_deform_conv2d(x, offset, burn_param_value(&m->weight), mask, burn_param_value(&m->bias), options);
  return burn_nn_placed(sound, &m->weight, "deform_conv2d", x);
}

/* -- transposed ------------------------------------------------------------------------------- */

BurnConvTranspose1d burn_conv_transpose1d_init(const BurnConvTranspose1dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConvTranspose1dConfig_type(), "conv_transpose1d", &status);
  const Geometry g = {
      "conv_transpose1d",         true,
      config->channels.at[0],     config->channels.at[1],
      {"groups", config->groups}, burn_nn_window(1, &config->kernel_size, &config->stride, &config->dilation)};
  BurnConvTranspose1d m = {.stride = config->stride,
                           .kernel_size = config->kernel_size,
                           .dilation = config->dilation,
                           .groups = config->groups,
                           .padding = config->padding,
                           .padding_out = config->padding_out,
                           .channels = config->channels};
  parameters(status, &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

BurnTensor *burn_conv_transpose1d_forward(const BurnConvTranspose1d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  BurnConv1dOptions options = BURN_CONV1D_OPTIONS;
  burn_nn_to_options(1, &m->stride, &options.stride);
  burn_nn_to_options(1, &m->dilation, &options.dilation);
  burn_nn_to_options(1, &m->groups, &options.groups);
  burn_nn_to_options(1, &m->padding, &options.padding);
  burn_nn_to_options(1, &m->padding_out, &options.padding_out);
  x = burn_conv_transpose1d(burn_nn_input(&m->weight, x), burn_param_value(&m->weight), burn_param_value(&m->bias),
                            options);
  return burn_nn_placed(sound, &m->weight, "conv_transpose1d", x);
}

BurnConvTranspose2d burn_conv_transpose2d_init(const BurnConvTranspose2dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConvTranspose2dConfig_type(), "conv_transpose2d", &status);
  const Geometry g = {
      "conv_transpose2d",         true,
      config->channels.at[0],     config->channels.at[1],
      {"groups", config->groups}, burn_nn_window(2, config->kernel_size.at, config->stride.at, config->dilation.at)};
  BurnConvTranspose2d m = {.stride = config->stride,
                           .kernel_size = config->kernel_size,
                           .dilation = config->dilation,
                           .groups = config->groups,
                           .padding = config->padding,
                           .padding_out = config->padding_out,
                           .channels = config->channels};
  parameters(status, &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

BurnTensor *burn_conv_transpose2d_forward(const BurnConvTranspose2d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  BurnConv2dOptions options = options_2d(m->stride.at, m->dilation.at, m->groups);
  burn_nn_to_options(2, m->padding.at, options.padding);
  burn_nn_to_options(2, m->padding_out.at, options.padding_out);
  x = burn_conv_transpose2d(burn_nn_input(&m->weight, x), burn_param_value(&m->weight), burn_param_value(&m->bias),
                            options);
  return burn_nn_placed(sound, &m->weight, "conv_transpose2d", x);
}

BurnConvTranspose3d burn_conv_transpose3d_init(const BurnConvTranspose3dConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnConvTranspose3dConfig_type(), "conv_transpose3d", &status);
  const Geometry g = {
      "conv_transpose3d",         true,
      config->channels.at[0],     config->channels.at[1],
      {"groups", config->groups}, burn_nn_window(3, config->kernel_size.at, config->stride.at, config->dilation.at)};
  BurnConvTranspose3d m = {.stride = config->stride,
                           .kernel_size = config->kernel_size,
                           .dilation = config->dilation,
                           .groups = config->groups,
                           .padding = config->padding,
                           .padding_out = config->padding_out,
                           .channels = config->channels};
  parameters(status, &g, &config->initializer, config->bias, device, &m.weight, &m.bias);
  return m;
}

BurnTensor *burn_conv_transpose3d_forward(const BurnConvTranspose3d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  BurnConv3dOptions options = options_3d(m->stride.at, m->dilation.at, m->groups);
  burn_nn_to_options(3, m->padding.at, options.padding);
  burn_nn_to_options(3, m->padding_out.at, options.padding_out);
  x = burn_conv_transpose3d(burn_nn_input(&m->weight, x), burn_param_value(&m->weight), burn_param_value(&m->bias),
                            options);
  return burn_nn_placed(sound, &m->weight, "conv_transpose3d", x);
}
