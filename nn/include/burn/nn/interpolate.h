/* interpolate.h - resampling to a size or by a factor, of which a config has one. The size by a factor is rounded down,
 * with the factor in f32, as in Burn. The device of init is not used: it is a parameter because the init of every layer
 * has one. */
#ifndef BURN_NN_INTERPOLATE_H
#define BURN_NN_INTERPOLATE_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/padding.h>
#include <burn/ops_layers.h>

BURN_EXTERN_C_BEGIN

/* BurnInterpolateMode in rows of configs and modules; JSON "Nearest", "NearestExact", "Linear", "Cubic", "Lanczos". */
BURN_API const BurnType *BurnInterpolateMode_type(void);

#define BURN_INTERPOLATE1D_CONFIG(REQ, OPT)                                                       \
  OPT(BurnSize, output_size, 0, "length of the output; 0: by the factor")                         \
  OPT(BurnOptionF64, scale_factor, BURN_ABSENT, "output length / input length")                   \
  OPT(BurnInterpolateMode, mode, BURN_INTERPOLATE_NEAREST, "how values between pixels are found") \
  OPT(BurnBool, align_corners, true, "the corner pixels of both lie on each other; nearest modes ignore it")
BURN_CONFIG_OPTIONAL(BurnInterpolate1dConfig, BURN_INTERPOLATE1D_CONFIG);
#define BURN_INTERPOLATE1D_FIELDS(X)                                  \
  X(BurnSize, output_size, "length of the output; 0: by the factor")  \
  X(BurnOptionF64, scale_factor, "output length / input length")      \
  X(BurnInterpolateMode, mode, "how values between pixels are found") \
  X(BurnBool, align_corners, "the corner pixels of both lie on each other; nearest modes ignore it")
BURN_MODULE(BurnInterpolate1d, BURN_INTERPOLATE1D_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnInterpolate1d burn_interpolate1d_init(const BurnInterpolate1dConfig *config, BurnDevice *device);
/* [batch, channels, length] -> [batch, channels, output length] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_interpolate1d_forward(const BurnInterpolate1d *m, BurnTensor *x);

#define BURN_INTERPOLATE2D_CONFIG(REQ, OPT)                                                                \
  OPT(BurnSize2, output_size, BURN_PAIR_OF_ZEROS, "height and width of the output; zeros: by the factors") \
  OPT(BurnOptionF64, scale_height, BURN_ABSENT, "output height / input height")                            \
  OPT(BurnOptionF64, scale_width, BURN_ABSENT, "output width / input width")                               \
  OPT(BurnInterpolateMode, mode, BURN_INTERPOLATE_NEAREST, "how values between pixels are found")          \
  OPT(BurnBool, align_corners, true, "the corner pixels of both lie on each other; nearest modes ignore it")
BURN_CONFIG_OPTIONAL(BurnInterpolate2dConfig, BURN_INTERPOLATE2D_CONFIG);
#define BURN_INTERPOLATE2D_FIELDS(X)                                                 \
  X(BurnSize2, output_size, "height and width of the output; zeros: by the factors") \
  X(BurnOptionF64, scale_height, "output height / input height")                     \
  X(BurnOptionF64, scale_width, "output width / input width")                        \
  X(BurnInterpolateMode, mode, "how values between pixels are found")                \
  X(BurnBool, align_corners, "the corner pixels of both lie on each other; nearest modes ignore it")
BURN_MODULE(BurnInterpolate2d, BURN_INTERPOLATE2D_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnInterpolate2d burn_interpolate2d_init(const BurnInterpolate2dConfig *config, BurnDevice *device);
/* [batch, channels, height, width] -> [batch, channels, output height, output width] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_interpolate2d_forward(const BurnInterpolate2d *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
