/* unfold.h - windows as columns and back. Values that make no sense fail in every forward pass; the device of init is
 * not used: it is a parameter because the init of every layer has one. */
#ifndef BURN_NN_UNFOLD_H
#define BURN_NN_UNFOLD_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/padding.h>

BURN_EXTERN_C_BEGIN

#define BURN_UNFOLD4D_CONFIG(REQ, OPT)                                      \
  REQ(BurnSize2, kernel_size, "positions in a window")                      \
  OPT(BurnSize2, stride, BURN_PAIR_OF_ONES, "step of the window")           \
  OPT(BurnSize2, dilation, BURN_PAIR_OF_ONES, "distance between positions") \
  OPT(BurnSize2, padding, BURN_PAIR_OF_ZEROS, "zeros on both sides")
BURN_CONFIG(BurnUnfold4dConfig, BURN_UNFOLD4D_CONFIG);
#define BURN_UNFOLD4D_FIELDS(X)                        \
  X(BurnSize2, kernel_size, "positions in a window")   \
  X(BurnSize2, stride, "step of the window")           \
  X(BurnSize2, dilation, "distance between positions") \
  X(BurnSize2, padding, "zeros on both sides")
BURN_MODULE(BurnUnfold4d, BURN_UNFOLD4D_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnUnfold4d burn_unfold4d_init(const BurnUnfold4dConfig *config, BurnDevice *device);
BURN_LAYER(BurnUnfold4d, burn_unfold4d, BURN_UNFOLD4D_CONFIG);
/* [batch, channels, height, width] -> [batch, channels * kernel positions, windows]; see burn_unfold4d */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_unfold4d_forward(const BurnUnfold4d *m, BurnTensor *x);

#define BURN_FOLD4D_CONFIG(REQ, OPT)                                        \
  REQ(BurnSize2, output_size, "height and width of the output")             \
  REQ(BurnSize2, kernel_size, "positions in a window")                      \
  OPT(BurnSize2, stride, BURN_PAIR_OF_ONES, "step of the window")           \
  OPT(BurnSize2, dilation, BURN_PAIR_OF_ONES, "distance between positions") \
  OPT(BurnSize2, padding, BURN_PAIR_OF_ZEROS, "zeros on both sides")
BURN_CONFIG(BurnFold4dConfig, BURN_FOLD4D_CONFIG);
#define BURN_FOLD4D_FIELDS(X)                                 \
  X(BurnSize2, output_size, "height and width of the output") \
  X(BurnSize2, kernel_size, "positions in a window")          \
  X(BurnSize2, stride, "step of the window")                  \
  X(BurnSize2, dilation, "distance between positions")        \
  X(BurnSize2, padding, "zeros on both sides")
BURN_MODULE(BurnFold4d, BURN_FOLD4D_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnFold4d burn_fold4d_init(const BurnFold4dConfig *config, BurnDevice *device);
BURN_LAYER(BurnFold4d, burn_fold4d, BURN_FOLD4D_CONFIG);
/* [batch, channels * kernel positions, windows] -> [batch, channels, output_size]: overlapping windows add up; see
 * burn_fold4d */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_fold4d_forward(const BurnFold4d *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
