/* conv.h - convolutions over [batch, channels, length], [batch, channels, height, width] and [batch, channels, depth,
 * height, width]. Pairs are {height, width}, triples {depth, height, width}; `channels` is {in, out}. Output sizes are
 * in ops.h. Both channel counts must be multiples of `groups`. */
#ifndef BURN_NN_CONV_H
#define BURN_NN_CONV_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/initializer.h>
#include <burn/nn/padding.h>

BURN_EXTERN_C_BEGIN

/* -- rows that convolutions of every rank share; D is 1D, 2D or 3D, Size and Padding are its types - */

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

#define BURN_INTERNAL_CONV_CONSTANTS(X, Size)                          \
  X(BurnOptionParam, bias, "[channels out], absent when bias = false") \
  X(Size, stride, "step of the kernel; transposed: in the output")     \
  X(Size, kernel_size, "positions under the kernel")                   \
  X(Size, dilation, "distance between positions")                      \
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

#define BURN_CONV3D_CONFIG(REQ, OPT)                        \
  REQ(BurnSize2, channels, "{in, out}")                     \
  REQ(BurnSize3, kernel_size, "positions under the kernel") \
  BURN_INTERNAL_CONV_OPTIONS(OPT, 3D, BurnSize3, BurnPadding3d)
BURN_CONFIG(BurnConv3dConfig, BURN_CONV3D_CONFIG);

#define BURN_CONV3D_FIELDS(X)                                                           \
  X(BurnParam, weight, "[out, in / groups, kernel depth, kernel height, kernel width]") \
  BURN_INTERNAL_CONV_CONSTANTS(X, BurnSize3)                                            \
  X(BurnPadding3d, padding, "Same, Valid or Explicit")
BURN_MODULE(BurnConv3d, BURN_CONV3D_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnConv3d burn_conv3d_init(const BurnConv3dConfig *config, BurnDevice *device);
BURN_LAYER(BurnConv3d, burn_conv3d, BURN_CONV3D_CONFIG);
/* [batch, in, depth, height, width] -> [batch, out, depth out, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv3d_forward(const BurnConv3d *m, BurnTensor *x);

#define BURN_DEFORM_CONV2D_CONFIG(REQ, OPT)                                                  \
  REQ(BurnSize2, channels, "{in, out}")                                                      \
  REQ(BurnSize2, kernel_size, "positions under the kernel")                                  \
  OPT(BurnSize2, stride, BURN_PAIR_OF_ONES, "step of the kernel")                            \
  OPT(BurnSize2, dilation, BURN_PAIR_OF_ONES, "distance between positions under the kernel") \
  OPT(BurnSize, weight_groups, 1, "independent groups of channels")                          \
  OPT(BurnSize, offset_groups, 1, "groups of input channels, each with offsets of its own")  \
  OPT(BurnPadding2d, padding, BURN_PADDING_VALID, "Same, Valid or Explicit")                 \
  BURN_INTERNAL_CONV_VALUES(OPT)
BURN_CONFIG(BurnDeformConv2dConfig, BURN_DEFORM_CONV2D_CONFIG);

#define BURN_DEFORM_CONV2D_FIELDS(X)                                                   \
  X(BurnParam, weight, "[out, in / weight_groups, kernel height, kernel width]")       \
  X(BurnOptionParam, bias, "[out], absent when bias = false")                          \
  X(BurnSize2, stride, "step of the kernel")                                           \
  X(BurnSize2, kernel_size, "positions under the kernel")                              \
  X(BurnSize2, dilation, "distance between positions")                                 \
  X(BurnSize, weight_groups, "independent groups of channels")                         \
  X(BurnSize, offset_groups, "groups of input channels, each with offsets of its own") \
  X(BurnPadding2d, padding, "Same, Valid or Explicit")
BURN_MODULE(BurnDeformConv2d, BURN_DEFORM_CONV2D_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnDeformConv2d burn_deform_conv2d_init(const BurnDeformConv2dConfig *config, BurnDevice *device);
BURN_LAYER(BurnDeformConv2d, burn_deform_conv2d, BURN_DEFORM_CONV2D_CONFIG);
/* x [batch, in, height, width], offset [batch, 2 * offset_groups * kernel positions, height out, width out], mask
 * [batch, offset_groups * kernel positions, height out, width out] or NULL -> [batch, out, height out, width out]; see
 * burn_deform_conv2d. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_deform_conv2d_forward(const BurnDeformConv2d *m, BurnTensor *x,
                                                                               BurnTensor *offset, BurnTensor *mask);

/* -- transposed ------------------------------------------------------------------------------- */

#define BURN_CONV_TRANSPOSE1D_CONFIG(REQ, OPT)             \
  REQ(BurnSize2, channels, "{in, out}")                    \
  REQ(BurnSize, kernel_size, "positions under the kernel") \
  BURN_INTERNAL_CONV_TRANSPOSE_OPTIONS(OPT, 1D, BurnSize)
BURN_CONFIG(BurnConvTranspose1dConfig, BURN_CONV_TRANSPOSE1D_CONFIG);

#define BURN_CONV_TRANSPOSE1D_FIELDS(X)                       \
  X(BurnParam, weight, "[in, out / groups, kernel_size]")     \
  BURN_INTERNAL_CONV_CONSTANTS(X, BurnSize)                   \
  X(BurnSize, padding, "cut off on both sides of the output") \
  X(BurnSize, padding_out, "added to the end of the output")  \
  X(BurnSize2, channels, "{in, out}")
BURN_MODULE(BurnConvTranspose1d, BURN_CONV_TRANSPOSE1D_FIELDS);

/* fan_in is out / groups * kernel positions and there is no fan_out, as in Burn: Xavier initializers fail here. */
BURN_API BurnConvTranspose1d burn_conv_transpose1d_init(const BurnConvTranspose1dConfig *config, BurnDevice *device);
BURN_LAYER(BurnConvTranspose1d, burn_conv_transpose1d, BURN_CONV_TRANSPOSE1D_CONFIG);
/* [batch, in, length] -> [batch, out, length out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv_transpose1d_forward(const BurnConvTranspose1d *m,
                                                                            BurnTensor *x);

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

#define BURN_CONV_TRANSPOSE3D_CONFIG(REQ, OPT)              \
  REQ(BurnSize2, channels, "{in, out}")                     \
  REQ(BurnSize3, kernel_size, "positions under the kernel") \
  BURN_INTERNAL_CONV_TRANSPOSE_OPTIONS(OPT, 3D, BurnSize3)
BURN_CONFIG(BurnConvTranspose3dConfig, BURN_CONV_TRANSPOSE3D_CONFIG);

#define BURN_CONV_TRANSPOSE3D_FIELDS(X)                                                 \
  X(BurnParam, weight, "[in, out / groups, kernel depth, kernel height, kernel width]") \
  BURN_INTERNAL_CONV_CONSTANTS(X, BurnSize3)                                            \
  X(BurnSize3, padding, "cut off on both sides of the output")                          \
  X(BurnSize3, padding_out, "added to the end of the output")                           \
  X(BurnSize2, channels, "{in, out}")
BURN_MODULE(BurnConvTranspose3d, BURN_CONV_TRANSPOSE3D_FIELDS);

/* fan_in is out / groups * kernel positions and there is no fan_out, as in Burn: Xavier initializers fail here. */
BURN_API BurnConvTranspose3d burn_conv_transpose3d_init(const BurnConvTranspose3dConfig *config, BurnDevice *device);
BURN_LAYER(BurnConvTranspose3d, burn_conv_transpose3d, BURN_CONV_TRANSPOSE3D_CONFIG);
/* [batch, in, depth, height, width] -> [batch, out, depth out, height out, width out] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_conv_transpose3d_forward(const BurnConvTranspose3d *m,
                                                                            BurnTensor *x);

BURN_EXTERN_C_END

#endif
