/* pool.h - pooling over [batch, channels, length] and [batch, channels, height, width], adaptive also over [batch,
 * channels, depth, height, width]. A stride of 0, the default, is the kernel size. Max pooling pads with -infinity.
 * Average pooling with uneven padding counts the padded zeros whatever count_include_pad says, as in Burn. The device
 * of init is not used; it is a parameter because every layer's init has it. */
#ifndef BURN_NN_POOL_H
#define BURN_NN_POOL_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/padding.h>

BURN_EXTERN_C_BEGIN

/* -- rows that pools of every rank share; the name of the stride in a config is the rank's, as in Burn - */

#define BURN_INTERNAL_POOL_WINDOW(REQ, OPT, D, Size, Padding, stride_name)              \
  REQ(Size, kernel_size, "positions in a window")                                       \
  OPT(Size, stride_name, BURN_INTERNAL_ZEROS_##D, "step of the window; 0: kernel_size") \
  OPT(Padding, padding, BURN_PADDING_VALID, "Same, Valid or Explicit")

#define BURN_INTERNAL_MAX_POOL_CONFIG(REQ, OPT, D, Size, Padding, stride_name) \
  BURN_INTERNAL_POOL_WINDOW(REQ, OPT, D, Size, Padding, stride_name)           \
  OPT(Size, dilation, BURN_INTERNAL_ONES_##D, "distance between positions")    \
  OPT(BurnBool, ceil_mode, false, "round the output size up")

#define BURN_INTERNAL_AVG_POOL_CONFIG(REQ, OPT, D, Size, Padding, stride_name) \
  BURN_INTERNAL_POOL_WINDOW(REQ, OPT, D, Size, Padding, stride_name)           \
  OPT(BurnBool, count_include_pad, true, "padded zeros count in the mean")     \
  OPT(BurnBool, ceil_mode, false, "round the output size up")

#define BURN_INTERNAL_POOL_FIELDS(X, Size, Padding) \
  X(Size, stride, "step of the window")             \
  X(Size, kernel_size, "positions in a window")     \
  X(Padding, padding, "Same, Valid or Explicit")

#define BURN_INTERNAL_MAX_POOL_FIELDS(X, Size, Padding) \
  BURN_INTERNAL_POOL_FIELDS(X, Size, Padding)           \
  X(Size, dilation, "distance between positions")       \
  X(BurnBool, ceil_mode, "round the output size up")

#define BURN_INTERNAL_AVG_POOL_FIELDS(X, Size, Padding)            \
  BURN_INTERNAL_POOL_FIELDS(X, Size, Padding)                      \
  X(BurnBool, count_include_pad, "padded zeros count in the mean") \
  X(BurnBool, ceil_mode, "round the output size up")

/* -- maxima ----------------------------------------------------------------------------------- */

#define BURN_MAX_POOL1D_CONFIG(REQ, OPT) BURN_INTERNAL_MAX_POOL_CONFIG(REQ, OPT, 1D, BurnSize, BurnPadding1d, stride)
BURN_CONFIG(BurnMaxPool1dConfig, BURN_MAX_POOL1D_CONFIG);

#define BURN_MAX_POOL1D_FIELDS(X) BURN_INTERNAL_MAX_POOL_FIELDS(X, BurnSize, BurnPadding1d)
BURN_MODULE(BurnMaxPool1d, BURN_MAX_POOL1D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnMaxPool1d burn_max_pool1d_init(const BurnMaxPool1dConfig *config, BurnDevice *device);
BURN_LAYER(BurnMaxPool1d, burn_max_pool1d, BURN_MAX_POOL1D_CONFIG);
/* [batch, channels, length] -> [batch, channels, length out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_max_pool1d_forward(const BurnMaxPool1d *m, BurnTensor *x);

#define BURN_MAX_POOL2D_CONFIG(REQ, OPT) BURN_INTERNAL_MAX_POOL_CONFIG(REQ, OPT, 2D, BurnSize2, BurnPadding2d, strides)
BURN_CONFIG(BurnMaxPool2dConfig, BURN_MAX_POOL2D_CONFIG);

#define BURN_MAX_POOL2D_FIELDS(X) BURN_INTERNAL_MAX_POOL_FIELDS(X, BurnSize2, BurnPadding2d)
BURN_MODULE(BurnMaxPool2d, BURN_MAX_POOL2D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnMaxPool2d burn_max_pool2d_init(const BurnMaxPool2dConfig *config, BurnDevice *device);
BURN_LAYER(BurnMaxPool2d, burn_max_pool2d, BURN_MAX_POOL2D_CONFIG);
/* [batch, channels, height, width] -> [batch, channels, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_max_pool2d_forward(const BurnMaxPool2d *m, BurnTensor *x);

/* -- means ------------------------------------------------------------------------------------ */

#define BURN_AVG_POOL1D_CONFIG(REQ, OPT) BURN_INTERNAL_AVG_POOL_CONFIG(REQ, OPT, 1D, BurnSize, BurnPadding1d, stride)
BURN_CONFIG(BurnAvgPool1dConfig, BURN_AVG_POOL1D_CONFIG);

#define BURN_AVG_POOL1D_FIELDS(X) BURN_INTERNAL_AVG_POOL_FIELDS(X, BurnSize, BurnPadding1d)
BURN_MODULE(BurnAvgPool1d, BURN_AVG_POOL1D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnAvgPool1d burn_avg_pool1d_init(const BurnAvgPool1dConfig *config, BurnDevice *device);
BURN_LAYER(BurnAvgPool1d, burn_avg_pool1d, BURN_AVG_POOL1D_CONFIG);
/* [batch, channels, length] -> [batch, channels, length out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_avg_pool1d_forward(const BurnAvgPool1d *m, BurnTensor *x);

#define BURN_AVG_POOL2D_CONFIG(REQ, OPT) BURN_INTERNAL_AVG_POOL_CONFIG(REQ, OPT, 2D, BurnSize2, BurnPadding2d, strides)
BURN_CONFIG(BurnAvgPool2dConfig, BURN_AVG_POOL2D_CONFIG);

#define BURN_AVG_POOL2D_FIELDS(X) BURN_INTERNAL_AVG_POOL_FIELDS(X, BurnSize2, BurnPadding2d)
BURN_MODULE(BurnAvgPool2d, BURN_AVG_POOL2D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnAvgPool2d burn_avg_pool2d_init(const BurnAvgPool2dConfig *config, BurnDevice *device);
BURN_LAYER(BurnAvgPool2d, burn_avg_pool2d, BURN_AVG_POOL2D_CONFIG);
/* [batch, channels, height, width] -> [batch, channels, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_avg_pool2d_forward(const BurnAvgPool2d *m, BurnTensor *x);

#define BURN_ADAPTIVE_AVG_POOL1D_CONFIG(REQ, OPT) REQ(BurnSize, output_size, "length of the output")
BURN_CONFIG(BurnAdaptiveAvgPool1dConfig, BURN_ADAPTIVE_AVG_POOL1D_CONFIG);
#define BURN_ADAPTIVE_AVG_POOL1D_FIELDS(X) X(BurnSize, output_size, "length of the output")
BURN_MODULE(BurnAdaptiveAvgPool1d, BURN_ADAPTIVE_AVG_POOL1D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnAdaptiveAvgPool1d burn_adaptive_avg_pool1d_init(const BurnAdaptiveAvgPool1dConfig *config,
                                                             BurnDevice *device);
BURN_LAYER(BurnAdaptiveAvgPool1d, burn_adaptive_avg_pool1d, BURN_ADAPTIVE_AVG_POOL1D_CONFIG);
/* [batch, channels, length] -> [batch, channels, output_size] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_adaptive_avg_pool1d_forward(const BurnAdaptiveAvgPool1d *m,
                                                                               BurnTensor *x);

#define BURN_ADAPTIVE_AVG_POOL2D_CONFIG(REQ, OPT) REQ(BurnSize2, output_size, "height and width of the output")
BURN_CONFIG(BurnAdaptiveAvgPool2dConfig, BURN_ADAPTIVE_AVG_POOL2D_CONFIG);
#define BURN_ADAPTIVE_AVG_POOL2D_FIELDS(X) X(BurnSize2, output_size, "height and width of the output")
BURN_MODULE(BurnAdaptiveAvgPool2d, BURN_ADAPTIVE_AVG_POOL2D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnAdaptiveAvgPool2d burn_adaptive_avg_pool2d_init(const BurnAdaptiveAvgPool2dConfig *config,
                                                             BurnDevice *device);
BURN_LAYER(BurnAdaptiveAvgPool2d, burn_adaptive_avg_pool2d, BURN_ADAPTIVE_AVG_POOL2D_CONFIG);
/* [batch, channels, height, width] -> [batch, channels, output_size] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_adaptive_avg_pool2d_forward(const BurnAdaptiveAvgPool2d *m,
                                                                               BurnTensor *x);

#define BURN_ADAPTIVE_AVG_POOL3D_CONFIG(REQ, OPT) REQ(BurnSize3, output_size, "depth, height and width of the output")
BURN_CONFIG(BurnAdaptiveAvgPool3dConfig, BURN_ADAPTIVE_AVG_POOL3D_CONFIG);
#define BURN_ADAPTIVE_AVG_POOL3D_FIELDS(X) X(BurnSize3, output_size, "depth, height and width of the output")
BURN_MODULE(BurnAdaptiveAvgPool3d, BURN_ADAPTIVE_AVG_POOL3D_FIELDS);

/* Makes the layer; it has no parameters. A config that is refused gives a layer whose forward fails with the reason. */
BURN_API BurnAdaptiveAvgPool3d burn_adaptive_avg_pool3d_init(const BurnAdaptiveAvgPool3dConfig *config,
                                                             BurnDevice *device);
BURN_LAYER(BurnAdaptiveAvgPool3d, burn_adaptive_avg_pool3d, BURN_ADAPTIVE_AVG_POOL3D_CONFIG);
/* [batch, channels, depth, height, width] -> [batch, channels, output_size] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_adaptive_avg_pool3d_forward(const BurnAdaptiveAvgPool3d *m,
                                                                               BurnTensor *x);

BURN_EXTERN_C_END

#endif
