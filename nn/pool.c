/* pool.c - pooling layers. One-dimensional ones are the two-dimensional ops over planes of height 1. */
#include <burn/nn/pool.h>

#include "nn_internal.h"

#include <math.h>

/* A stride of 0 is the size of the kernel. */
static size_t stride_or_kernel(size_t stride, size_t kernel_size) { return stride ? stride : kernel_size; }

static BurnSize2 strides_or_kernel(BurnSize2 stride, BurnSize2 kernel_size) {
  return BURN_SIZE2(stride_or_kernel(stride.at[0], kernel_size.at[0]),
                    stride_or_kernel(stride.at[1], kernel_size.at[1]));
}

/* x [batch, channels, length] as [batch, channels, 1, length]; failed for other ranks. Takes x. */
static BurnTensor *as_planes(const char *layer, BurnTensor *x) {
  const uint32_t rank = burn_rank(x);
  if (rank == 0 || rank == 3) return burn_unsqueeze_dim(x, 2);
  burn_drop(x);
  return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: rank 3 expected, found %u", layer, rank));
}

/* The options of the op for planes of height 1. */
static BurnPool2dOptions options_1d(size_t kernel_size, size_t stride, size_t dilation) {
  BurnPool2dOptions options = BURN_POOL2D_OPTIONS(1, (int64_t)kernel_size);
  options.stride[1] = (int64_t)stride;
  options.dilation[1] = (int64_t)dilation;
  return options;
}

static BurnPool2dOptions options_2d(BurnSize2 kernel_size, BurnSize2 stride, BurnSize2 dilation) {
  BurnPool2dOptions options = BURN_POOL2D_OPTIONS((int64_t)kernel_size.at[0], (int64_t)kernel_size.at[1]);
  for (int i = 0; i < 2; i++) {
    options.stride[i] = (int64_t)stride.at[i];
    options.dilation[i] = (int64_t)dilation.at[i];
  }
  return options;
}

BurnMaxPool1d burn_max_pool1d_init(const BurnMaxPool1dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnMaxPool1d){.kernel_size = BURN_NN_NO_CONFIG};
  return (BurnMaxPool1d){.stride = stride_or_kernel(config->stride, config->kernel_size),
                         .kernel_size = config->kernel_size,
                         .padding = config->padding,
                         .dilation = config->dilation,
                         .ceil_mode = config->ceil_mode};
}

BurnTensor *burn_max_pool1d_forward(const BurnMaxPool1d *m, BurnTensor *x) {
  if (m->kernel_size == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnMaxPool1dConfig_type(), "max_pool1d");
  const BurnNnWindow window = {{m->kernel_size, 1}, {m->stride, 1}, {m->dilation, 1}};
  const BurnNnSides sides = burn_nn_sides_1d(&m->padding, x, &window);
  BurnPool2dOptions options = options_1d(m->kernel_size, m->stride, m->dilation);
  int64_t padding[2];
  x = burn_nn_pad(x, &sides, -HUGE_VAL, padding);
  options.padding[1] = padding[0];
  options.ceil_mode = m->ceil_mode;
  return burn_squeeze_dim(burn_max_pool2d(as_planes("max_pool1d", x), options), 2);
}

BurnMaxPool2d burn_max_pool2d_init(const BurnMaxPool2dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnMaxPool2d){.kernel_size = BURN_SIZE2(BURN_NN_NO_CONFIG, 0)};
  return (BurnMaxPool2d){.stride = strides_or_kernel(config->strides, config->kernel_size),
                         .kernel_size = config->kernel_size,
                         .padding = config->padding,
                         .dilation = config->dilation,
                         .ceil_mode = config->ceil_mode};
}

BurnTensor *burn_max_pool2d_forward(const BurnMaxPool2d *m, BurnTensor *x) {
  if (m->kernel_size.at[0] == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnMaxPool2dConfig_type(), "max_pool2d");
  const BurnNnWindow window = {{m->kernel_size.at[0], m->kernel_size.at[1]},
                               {m->stride.at[0], m->stride.at[1]},
                               {m->dilation.at[0], m->dilation.at[1]}};
  const BurnNnSides sides = burn_nn_sides_2d(&m->padding, x, &window);
  BurnPool2dOptions options = options_2d(m->kernel_size, m->stride, m->dilation);
  x = burn_nn_pad(x, &sides, -HUGE_VAL, options.padding);
  options.ceil_mode = m->ceil_mode;
  return burn_max_pool2d(x, options);
}

BurnAvgPool1d burn_avg_pool1d_init(const BurnAvgPool1dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnAvgPool1d){.kernel_size = BURN_NN_NO_CONFIG};
  return (BurnAvgPool1d){.stride = stride_or_kernel(config->stride, config->kernel_size),
                         .kernel_size = config->kernel_size,
                         .padding = config->padding,
                         .count_include_pad = config->count_include_pad,
                         .ceil_mode = config->ceil_mode};
}

BurnTensor *burn_avg_pool1d_forward(const BurnAvgPool1d *m, BurnTensor *x) {
  if (m->kernel_size == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnAvgPool1dConfig_type(), "avg_pool1d");
  const BurnNnWindow window = {{m->kernel_size, 1}, {m->stride, 1}, {1, 1}};
  const BurnNnSides sides = burn_nn_sides_1d(&m->padding, x, &window);
  BurnPool2dOptions options = options_1d(m->kernel_size, m->stride, 1);
  int64_t padding[2];
  x = burn_nn_pad(x, &sides, 0, padding);
  options.padding[1] = padding[0];
  options.ceil_mode = m->ceil_mode;
  options.count_include_pad = m->count_include_pad;
  return burn_squeeze_dim(burn_avg_pool2d(as_planes("avg_pool1d", x), options), 2);
}

BurnAvgPool2d burn_avg_pool2d_init(const BurnAvgPool2dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnAvgPool2d){.kernel_size = BURN_SIZE2(BURN_NN_NO_CONFIG, 0)};
  return (BurnAvgPool2d){.stride = strides_or_kernel(config->strides, config->kernel_size),
                         .kernel_size = config->kernel_size,
                         .padding = config->padding,
                         .count_include_pad = config->count_include_pad,
                         .ceil_mode = config->ceil_mode};
}

BurnTensor *burn_avg_pool2d_forward(const BurnAvgPool2d *m, BurnTensor *x) {
  if (m->kernel_size.at[0] == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnAvgPool2dConfig_type(), "avg_pool2d");
  const BurnNnWindow window = {
      {m->kernel_size.at[0], m->kernel_size.at[1]}, {m->stride.at[0], m->stride.at[1]}, {1, 1}};
  const BurnNnSides sides = burn_nn_sides_2d(&m->padding, x, &window);
  BurnPool2dOptions options = options_2d(m->kernel_size, m->stride, BURN_SIZE2(1, 1));
  x = burn_nn_pad(x, &sides, 0, options.padding);
  options.ceil_mode = m->ceil_mode;
  options.count_include_pad = m->count_include_pad;
  return burn_avg_pool2d(x, options);
}

BurnAdaptiveAvgPool1d burn_adaptive_avg_pool1d_init(const BurnAdaptiveAvgPool1dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnAdaptiveAvgPool1d){.output_size = BURN_NN_NO_CONFIG};
  return (BurnAdaptiveAvgPool1d){config->output_size};
}

BurnTensor *burn_adaptive_avg_pool1d_forward(const BurnAdaptiveAvgPool1d *m, BurnTensor *x) {
  if (m->output_size == BURN_NN_NO_CONFIG)
    return burn_nn_no_config(x, BurnAdaptiveAvgPool1dConfig_type(), "adaptive_avg_pool1d");
  const int64_t output_size[2] = {1, (int64_t)m->output_size};
  return burn_squeeze_dim(burn_adaptive_avg_pool2d(as_planes("adaptive_avg_pool1d", x), output_size), 2);
}

BurnAdaptiveAvgPool2d burn_adaptive_avg_pool2d_init(const BurnAdaptiveAvgPool2dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnAdaptiveAvgPool2d){.output_size = BURN_SIZE2(BURN_NN_NO_CONFIG, 0)};
  return (BurnAdaptiveAvgPool2d){config->output_size};
}

BurnTensor *burn_adaptive_avg_pool2d_forward(const BurnAdaptiveAvgPool2d *m, BurnTensor *x) {
  if (m->output_size.at[0] == BURN_NN_NO_CONFIG)
    return burn_nn_no_config(x, BurnAdaptiveAvgPool2dConfig_type(), "adaptive_avg_pool2d");
  const int64_t output_size[2] = {(int64_t)m->output_size.at[0], (int64_t)m->output_size.at[1]};
  return burn_adaptive_avg_pool2d(x, output_size);
}
