/* conv.h - convolutions over [batch, channels, length] and [batch, channels, height, width]. Pairs are {height, width};
 * `channels` is {in, out}. Output sizes are in ops.h. Both channel counts must be multiples of `groups`. */
#ifndef BURN_NN_CONV_H
#define BURN_NN_CONV_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/initializer.h>
#include <burn/nn/padding.h>

BURN_EXTERN_C_BEGIN

/* -- rows that convolutions of every rank share; D is 1D or 2D, Size and Padding are its types - */

#define BURN_INTERNAL_CONV_STEPS(OPT, D, Size)                                               \
  OPT(Size, stride, BURN_INTERNAL_ONES_##D, "step of the kernel; transposed: in the output") \
  OPT(Size, dilation, BURN_INTERNAL_ONES_##D, "distance between positions under the kernel") \
  OPT(BurnSize, groups, 1, "independent groups of channels")

#define BURN_INTERNAL_CONV_VALUES(OPT)            \
  OPT(BurnBool, bias, true, "add a learned bias") \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weight and bias")

#define BURN_INTERNAL_CONV_OPTIONS(OPT, D, Size, Padding)              \
  BURN_INTERNAL_CONV_STEPS(OPT, D, Size)                               \
  OPT(Padding, padding, BURN_PADDING_VALID, "Same, Valid or Explicit") \
  BURN_INTERNAL_CONV_VALUES(OPT)

#define BURN_INTERNAL_CONV_TRANSPOSE_OPTIONS(OPT, D, Size)                           \
  BURN_INTERNAL_CONV_STEPS(OPT, D, Size)                                             \
  OPT(Size, padding, BURN_INTERNAL_ZEROS_##D, "cut off on both sides of the output") \
  OPT(Size, padding_out, BURN_INTERNAL_ZEROS_##D, "added to the end of the output")  \
  BURN_INTERNAL_CONV_VALUES(OPT)

#define BURN_INTERNAL_CONV_CONSTANTS(X, Size)                      \
  X(BurnParam, bias, "[channels out], absent when bias = false")   \
  X(Size, stride, "step of the kernel; transposed: in the output") \
  X(Size, kernel_size, "positions under the kernel")               \
  X(Size, dilation, "distance between positions")                  \
  X(BurnSize, groups, "independent groups of channels")

/* -- convolutions ----------------------------------------------------------------------------- */

#define BURN_CONV1D_CONFIG(REQ, OPT)                       \
  REQ(BurnSize, channels_in, "channels of the input")      \
  REQ(BurnSize, channels_out, "channels of the output")    \
  REQ(BurnSize, kernel_size, "positions under the kernel") \
  BURN_INTERNAL_CONV_OPTIONS(OPT, 1D, BurnSize, BurnPadding1d)
BURN_CONFIG(BurnConv1dConfig, BURN_CONV1D_CONFIG);

#define BURN_CONV1D_FIELDS(X)                                               \
  X(BurnParam, weight, "[channels_out, channels_in / groups, kernel_size]") \
  BURN_INTERNAL_CONV_CONSTANTS(X, BurnSize)                                 \
  X(BurnPadding1d, padding, "Same, Valid or Explicit")
BURN_MODULE(BurnConv1d, BURN_CONV1D_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnConv1d burn_conv1d_init(const BurnConv1dConfig *config, BurnDevice *device);
BURN_LAYER(BurnConv1d, burn_conv1d, BURN_CONV1D_CONFIG);
/* [batch, channels_in, length] -> [batch, channels_out, length out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv1d_forward(const BurnConv1d *m, BurnTensor *x);

#define BURN_CONV2D_CONFIG(REQ, OPT)                        \
  REQ(BurnSize2, channels, "{in, out}")                     \
  REQ(BurnSize2, kernel_size, "positions under the kernel") \
  BURN_INTERNAL_CONV_OPTIONS(OPT, 2D, BurnSize2, BurnPadding2d)
BURN_CONFIG(BurnConv2dConfig, BURN_CONV2D_CONFIG);

#define BURN_CONV2D_FIELDS(X)                                             \
  X(BurnParam, weight, "[out, in / groups, kernel height, kernel width]") \
  BURN_INTERNAL_CONV_CONSTANTS(X, BurnSize2)                              \
  X(BurnPadding2d, padding, "Same, Valid or Explicit")
BURN_MODULE(BurnConv2d, BURN_CONV2D_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnConv2d burn_conv2d_init(const BurnConv2dConfig *config, BurnDevice *device);
BURN_LAYER(BurnConv2d, burn_conv2d, BURN_CONV2D_CONFIG);
/* [batch, in, height, width] -> [batch, out, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv2d_forward(const BurnConv2d *m, BurnTensor *x);

#define BURN_CONV_TRANSPOSE2D_CONFIG(REQ, OPT)              \
  REQ(BurnSize2, channels, "{in, out}")                     \
  REQ(BurnSize2, kernel_size, "positions under the kernel") \
  BURN_INTERNAL_CONV_TRANSPOSE_OPTIONS(OPT, 2D, BurnSize2)
BURN_CONFIG(BurnConvTranspose2dConfig, BURN_CONV_TRANSPOSE2D_CONFIG);

#define BURN_CONV_TRANSPOSE2D_FIELDS(X)                                   \
  X(BurnParam, weight, "[in, out / groups, kernel height, kernel width]") \
  BURN_INTERNAL_CONV_CONSTANTS(X, BurnSize2)                              \
  X(BurnSize2, padding, "cut off on both sides of the output")            \
  X(BurnSize2, padding_out, "added to the end of the output")             \
  X(BurnSize2, channels, "{in, out}")
BURN_MODULE(BurnConvTranspose2d, BURN_CONV_TRANSPOSE2D_FIELDS);

/* fan_in is out / groups * kernel positions and there is no fan_out, as in Burn: Xavier initializers fail here. */
BURN_API BurnConvTranspose2d burn_conv_transpose2d_init(const BurnConvTranspose2dConfig *config, BurnDevice *device);
BURN_LAYER(BurnConvTranspose2d, burn_conv_transpose2d, BURN_CONV_TRANSPOSE2D_CONFIG);
/* [batch, in, height, width] -> [batch, out, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv_transpose2d_forward(const BurnConvTranspose2d *m,
                                                                            BurnTensor *x);

BURN_EXTERN_C_END

#endif
