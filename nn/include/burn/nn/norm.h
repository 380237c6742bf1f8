/* norm.h - batch and layer normalisation: (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the variance
 * divided by the number of elements (biased).
 *
 * BatchNorm uses the statistics of the batch, and moves the running ones, exactly when its input is on an autodiff
 * device; elsewhere it uses the running ones. The running variance is the biased one, as in Burn (PyTorch's is not). */
#ifndef BURN_NN_NORM_H
#define BURN_NN_NORM_H

#include <burn/config.h>
#include <burn/module.h>

BURN_EXTERN_C_BEGIN

#define BURN_BATCH_NORM_CONFIG(REQ, OPT)                  \
  REQ(BurnSize, num_features, "channels: size of axis 1") \
  OPT(BurnF64, epsilon, 1e-5, "added to the variance")    \
  OPT(BurnF64, momentum, 0.1, "share of a new batch in the running statistics")
BURN_CONFIG(BurnBatchNormConfig, BURN_BATCH_NORM_CONFIG);

#define BURN_BATCH_NORM_FIELDS(X)                                        \
  X(BurnParam, gamma, "[num_features], starts as ones")                  \
  X(BurnParam, beta, "[num_features], starts as zeros")                  \
  X(BurnBuffer, running_mean, "[num_features], starts as zeros")         \
  X(BurnBuffer, running_var, "[num_features], starts as ones")           \
  X(BurnF64, momentum, "share of a new batch in the running statistics") \
  X(BurnF64, epsilon, "added to the variance")
BURN_MODULE(BurnBatchNorm, BURN_BATCH_NORM_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnBatchNorm burn_batch_norm_init(const BurnBatchNormConfig *config, BurnDevice *device);
BURN_LAYER(BurnBatchNorm, burn_batch_norm, BURN_BATCH_NORM_CONFIG);
/* [batch, num_features, ..] -> the same shape; rank 2 or more. Threads that share a module may run it at once; of
 * updates that overlap the last one counts. A failed pass leaves the running statistics alone. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_batch_norm_forward(const BurnBatchNorm *m, BurnTensor *x);

#define BURN_LAYER_NORM_CONFIG(REQ, OPT)               \
  REQ(BurnSize, d_model, "size of the last axis")      \
  OPT(BurnF64, epsilon, 1e-5, "added to the variance") \
  OPT(BurnBool, bias, true, "add a learned beta")
BURN_CONFIG(BurnLayerNormConfig, BURN_LAYER_NORM_CONFIG);

#define BURN_LAYER_NORM_FIELDS(X)                                            \
  X(BurnParam, gamma, "[d_model], starts as ones")                           \
  X(BurnParam, beta, "[d_model], starts as zeros; absent when bias = false") \
  X(BurnF64, epsilon, "added to the variance")
BURN_MODULE(BurnLayerNorm, BURN_LAYER_NORM_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnLayerNorm burn_layer_norm_init(const BurnLayerNormConfig *config, BurnDevice *device);
BURN_LAYER(BurnLayerNorm, burn_layer_norm, BURN_LAYER_NORM_CONFIG);
/* [.., d_model] -> the same shape */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_layer_norm_forward(const BurnLayerNorm *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
