/* pixel_shuffle.h - channels to pixels and back. A factor of 0 fails in every forward pass; the device of init is not
 * used: it is a parameter because the init of every layer has one. */
#ifndef BURN_NN_PIXEL_SHUFFLE_H
#define BURN_NN_PIXEL_SHUFFLE_H

#include <burn/config.h>
#include <burn/module.h>

BURN_EXTERN_C_BEGIN

#define BURN_PIXEL_SHUFFLE_CONFIG(REQ, OPT) REQ(BurnSize, upscale_factor, "r: pixels per pixel along each axis")
BURN_CONFIG(BurnPixelShuffleConfig, BURN_PIXEL_SHUFFLE_CONFIG);
#define BURN_PIXEL_SHUFFLE_FIELDS(X) X(BurnSize, upscale_factor, "r: pixels per pixel along each axis")
BURN_MODULE(BurnPixelShuffle, BURN_PIXEL_SHUFFLE_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnPixelShuffle burn_pixel_shuffle_init(const BurnPixelShuffleConfig *config, BurnDevice *device);
BURN_LAYER(BurnPixelShuffle, burn_pixel_shuffle, BURN_PIXEL_SHUFFLE_CONFIG);
/* [batch, c r^2, height, width] -> [batch, c, height r, width r]: channel c r^2 + i r + j becomes pixel (i, j) of
 * every block */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_pixel_shuffle_forward(const BurnPixelShuffle *m, BurnTensor *x);

#define BURN_PIXEL_UNSHUFFLE_CONFIG(REQ, OPT) REQ(BurnSize, downscale_factor, "r: pixels per channel along each axis")
BURN_CONFIG(BurnPixelUnshuffleConfig, BURN_PIXEL_UNSHUFFLE_CONFIG);
#define BURN_PIXEL_UNSHUFFLE_FIELDS(X) X(BurnSize, downscale_factor, "r: pixels per channel along each axis")
BURN_MODULE(BurnPixelUnshuffle, BURN_PIXEL_UNSHUFFLE_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnPixelUnshuffle burn_pixel_unshuffle_init(const BurnPixelUnshuffleConfig *config, BurnDevice *device);
BURN_LAYER(BurnPixelUnshuffle, burn_pixel_unshuffle, BURN_PIXEL_UNSHUFFLE_CONFIG);
/* [batch, c, height r, width r] -> [batch, c r^2, height, width]: the inverse */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_pixel_unshuffle_forward(const BurnPixelUnshuffle *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
