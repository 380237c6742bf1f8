/* dropout.h - zeroes each element with probability prob and scales the others by 1 / (1 - prob), exactly when the input
 * is on an autodiff device: there is no training flag. prob 1 gives NaN, 0 times infinity, as in Burn; PyTorch's
 * gives 0. */
#ifndef BURN_NN_DROPOUT_H
#define BURN_NN_DROPOUT_H

#include <burn/config.h>
#include <burn/module.h>

BURN_EXTERN_C_BEGIN

#define BURN_DROPOUT_CONFIG(REQ, OPT) REQ(BurnF64, prob, "share of elements dropped, 0 to 1")
BURN_CONFIG(BurnDropoutConfig, BURN_DROPOUT_CONFIG);

#define BURN_DROPOUT_FIELDS(X) X(BurnF64, prob, "share of elements dropped")
BURN_MODULE(BurnDropout, BURN_DROPOUT_FIELDS);

/* The device is not used: it is a parameter because the init of every layer has one. A prob outside 0..1 fails in every
 * forward pass. */
BURN_API BurnDropout burn_dropout_init(const BurnDropoutConfig *config, BurnDevice *device);
BURN_LAYER(BurnDropout, burn_dropout, BURN_DROPOUT_CONFIG);
/* Any shape -> the same shape */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_dropout_forward(const BurnDropout *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
