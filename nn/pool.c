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

/* What the forward pass of a pooling layer has to know, whatever its rank. */
typedef struct Pooling {
  const char *layer;
  BurnTensor *(*op)(BurnTensor *x, BurnPool2dOptions options);
  double fill; /* around uneven paddings */
  BurnNnWindow window;
  BurnNnPadding padding;
  bool ceil_mode, count_include_pad;
} Pooling;

static BurnTensor *pooled(const Pooling *with, BurnTensor *x) {
  const BurnNnWindow *window = &with->window;
  const uint32_t axes = window->axes, first = 2 - axes; /* of the axes of a plane */
  const BurnNnSides sides = burn_nn_sides(&with->padding, x, window);
  BurnPool2dOptions options = BURN_POOL2D_OPTIONS(1, 1);
  burn_nn_to_options(axes, window->kernel_size, options.kernel_size + first);
  burn_nn_to_options(axes, window->stride, options.stride + first);
  burn_nn_to_options(axes, window->dilation, options.dilation + first);
  options.ceil_mode = with->ceil_mode;
  options.count_include_pad = with->count_include_pad;
  x = burn_nn_pad(x, &sides, with->fill, options.padding + first);
  return axes == 2 ? with->op(x, options) : burn_squeeze_dim(with->op(as_planes(with->layer, x), options), 2);
}

/* -- maxima ----------------------------------------------------------------------------------- */

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
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->kernel_size == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnMaxPool1dConfig_type(), "max_pool1d");
  const Pooling with = {.layer = "max_pool1d",
                        .op = burn_max_pool2d,
                        .fill = -HUGE_VAL,
                        .window = burn_nn_window(1, &m->kernel_size, &m->stride, &m->dilation),
                        .padding = burn_nn_padding_1d(&m->padding),
                        .ceil_mode = m->ceil_mode};
  return pooled(&with, x);
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
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->kernel_size.at[0] == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnMaxPool2dConfig_type(), "max_pool2d");
  const Pooling with = {.layer = "max_pool2d",
                        .op = burn_max_pool2d,
                        .fill = -HUGE_VAL,
                        .window = burn_nn_window(2, m->kernel_size.at, m->stride.at, m->dilation.at),
                        .padding = burn_nn_padding_2d(&m->padding),
                        .ceil_mode = m->ceil_mode};
  return pooled(&with, x);
}

/* -- means ------------------------------------------------------------------------------------ */

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
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->kernel_size == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnAvgPool1dConfig_type(), "avg_pool1d");
  const Pooling with = {.layer = "avg_pool1d",
                        .op = burn_avg_pool2d,
                        .window = burn_nn_window(1, &m->kernel_size, &m->stride, NULL),
                        .padding = burn_nn_padding_1d(&m->padding),
                        .ceil_mode = m->ceil_mode,
                        .count_include_pad = m->count_include_pad};
  return pooled(&with, x);
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
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->kernel_size.at[0] == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnAvgPool2dConfig_type(), "avg_pool2d");
  const Pooling with = {.layer = "avg_pool2d",
                        .op = burn_avg_pool2d,
                        .window = burn_nn_window(2, m->kernel_size.at, m->stride.at, NULL),
                        .padding = burn_nn_padding_2d(&m->padding),
                        .ceil_mode = m->ceil_mode,
                        .count_include_pad = m->count_include_pad};
  return pooled(&with, x);
}

BurnAdaptiveAvgPool1d burn_adaptive_avg_pool1d_init(const BurnAdaptiveAvgPool1dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnAdaptiveAvgPool1d){.output_size = BURN_NN_NO_CONFIG};
  return (BurnAdaptiveAvgPool1d){config->output_size};
}

BurnTensor *burn_adaptive_avg_pool1d_forward(const BurnAdaptiveAvgPool1d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
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
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->output_size.at[0] == BURN_NN_NO_CONFIG)
    return burn_nn_no_config(x, BurnAdaptiveAvgPool2dConfig_type(), "adaptive_avg_pool2d");
  const int64_t output_size[2] = {(int64_t)m->output_size.at[0], (int64_t)m->output_size.at[1]};
  return burn_adaptive_avg_pool2d(x, output_size);
}

BurnAdaptiveAvgPool3d burn_adaptive_avg_pool3d_init(const BurnAdaptiveAvgPool3dConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnAdaptiveAvgPool3d){.output_size = BURN_SIZE3(BURN_NN_NO_CONFIG, 0, 0)};
  return (BurnAdaptiveAvgPool3d){config->output_size};
}

BurnTensor *burn_adaptive_avg_pool3d_forward(const BurnAdaptiveAvgPool3d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->output_size.at[0] == BURN_NN_NO_CONFIG)
    return burn_nn_no_config(x, BurnAdaptiveAvgPool3dConfig_type(), "adaptive_avg_pool3d");
  int64_t output_size[3];
  burn_nn_to_options(3, m->output_size.at, output_size);
  return burn_adaptive_avg_pool3d(x, output_size);
}
