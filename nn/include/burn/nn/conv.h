/* conv.h - convolutions over [batch, channels, length] and [batch, channels, height, width]. Pairs are {height, width};
 * `channels` is {in, out}. Output sizes are in ops.h. Both channel counts must be multiples of `groups`. */
#ifndef BURN_NN_CONV_H
#define BURN_NN_CONV_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/initializer.h>
#include <burn/nn/padding.h>

BURN_EXTERN_C_BEGIN

#define BURN_CONV1D_CONFIG(REQ, OPT)                                         \
  REQ(BurnSize, channels_in, "channels of the input")                        \
  REQ(BurnSize, channels_out, "channels of the output")                      \
  REQ(BurnSize, kernel_size, "positions under the kernel")                   \
  OPT(BurnSize, stride, 1, "step of the kernel")                             \
  OPT(BurnSize, dilation, 1, "distance between positions under the kernel")  \
  OPT(BurnSize, groups, 1, "independent groups of channels")                 \
  OPT(BurnPadding1d, padding, BURN_PADDING_VALID, "Same, Valid or Explicit") \
  OPT(BurnBool, bias, true, "add a learned bias")                            \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weight and bias")
BURN_CONFIG(BurnConv1dConfig, BURN_CONV1D_CONFIG);

#define BURN_CONV1D_FIELDS(X)                                               \
  X(BurnParam, weight, "[channels_out, channels_in / groups, kernel_size]") \
  X(BurnParam, bias, "[channels_out], absent when bias = false")            \
  X(BurnSize, stride, "step of the kernel")                                 \
  X(BurnSize, kernel_size, "positions under the kernel")                    \
  X(BurnSize, dilation, "distance between positions")                       \
  X(BurnSize, groups, "independent groups of channels")                     \
  X(BurnPadding1d, padding, "Same, Valid or Explicit")
BURN_MODULE(BurnConv1d, BURN_CONV1D_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnConv1d burn_conv1d_init(const BurnConv1dConfig *config, BurnDevice *device);
/* [batch, channels_in, length] -> [batch, channels_out, length out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv1d_forward(const BurnConv1d *m, BurnTensor *x);

#define BURN_CONV2D_CONFIG(REQ, OPT)                                                         \
  REQ(BurnSize2, channels, "{in, out}")                                                      \
  REQ(BurnSize2, kernel_size, "positions under the kernel")                                  \
  OPT(BurnSize2, stride, BURN_PAIR_OF_ONES, "steps of the kernel")                           \
  OPT(BurnSize2, dilation, BURN_PAIR_OF_ONES, "distance between positions under the kernel") \
  OPT(BurnSize, groups, 1, "independent groups of channels")                                 \
  OPT(BurnPadding2d, padding, BURN_PADDING_VALID, "Same, Valid or Explicit")                 \
  OPT(BurnBool, bias, true, "add a learned bias")                                            \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weight and bias")
BURN_CONFIG(BurnConv2dConfig, BURN_CONV2D_CONFIG);

#define BURN_CONV2D_FIELDS(X)                                             \
  X(BurnParam, weight, "[out, in / groups, kernel height, kernel width]") \
  X(BurnParam, bias, "[out], absent when bias = false")                   \
  X(BurnSize2, stride, "steps of the kernel")                             \
  X(BurnSize2, kernel_size, "positions under the kernel")                 \
  X(BurnSize2, dilation, "distance between positions")                    \
  X(BurnSize, groups, "independent groups of channels")                   \
  X(BurnPadding2d, padding, "Same, Valid or Explicit")
BURN_MODULE(BurnConv2d, BURN_CONV2D_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnConv2d burn_conv2d_init(const BurnConv2dConfig *config, BurnDevice *device);
/* [batch, in, height, width] -> [batch, out, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv2d_forward(const BurnConv2d *m, BurnTensor *x);

#define BURN_CONV_TRANSPOSE2D_CONFIG(REQ, OPT)                                               \
  REQ(BurnSize2, channels, "{in, out}")                                                      \
  REQ(BurnSize2, kernel_size, "positions under the kernel")                                  \
  OPT(BurnSize2, stride, BURN_PAIR_OF_ONES, "steps in the output")                           \
  OPT(BurnSize2, dilation, BURN_PAIR_OF_ONES, "distance between positions under the kernel") \
  OPT(BurnSize, groups, 1, "independent groups of channels")                                 \
  OPT(BurnSize2, padding, BURN_PAIR_OF_ZEROS, "cut off on both sides of the output")         \
  OPT(BurnSize2, padding_out, BURN_PAIR_OF_ZEROS, "added to the end of the output")          \
  OPT(BurnBool, bias, true, "add a learned bias")                                            \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weight and bias")
BURN_CONFIG(BurnConvTranspose2dConfig, BURN_CONV_TRANSPOSE2D_CONFIG);

#define BURN_CONV_TRANSPOSE2D_FIELDS(X)                                   \
  X(BurnParam, weight, "[in, out / groups, kernel height, kernel width]") \
  X(BurnParam, bias, "[out], absent when bias = false")                   \
  X(BurnSize2, stride, "steps in the output")                             \
  X(BurnSize2, kernel_size, "positions under the kernel")                 \
  X(BurnSize2, dilation, "distance between positions")                    \
  X(BurnSize, groups, "independent groups of channels")                   \
  X(BurnSize2, padding, "cut off on both sides of the output")            \
  X(BurnSize2, padding_out, "added to the end of the output")             \
  X(BurnSize2, channels, "{in, out}")
BURN_MODULE(BurnConvTranspose2d, BURN_CONV_TRANSPOSE2D_FIELDS);

/* fan_in is out / groups * kernel positions and there is no fan_out, as in Burn: Xavier initializers fail here. */
BURN_API BurnConvTranspose2d burn_conv_transpose2d_init(const BurnConvTranspose2dConfig *config, BurnDevice *device);
/* [batch, in, height, width] -> [batch, out, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv_transpose2d_forward(const BurnConvTranspose2d *m,
                                                                            BurnTensor *x);

BURN_EXTERN_C_END

#endif
