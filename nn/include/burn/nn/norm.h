/* norm.h - normalisation: (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the variance divided by the
 * number of elements (biased), over batches, features, groups of channels; by the root mean square; across channels.
 * Of f16 and bf16 the sums are computed in f32.
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

/* Replicas that train as one: copies of a module (burn_module_fork), each in a thread of its own, on one device or on
 * several. Made once and handed to all of them. */
typedef struct BurnSyncGroup {
  int64_t id;   /* tells groups apart */
  size_t count; /* of replicas */
  /* Seconds that one waits for the others before all fail: 600, as in PyTorch. 0 or more; infinite: for good. */
  double timeout;
} BurnSyncGroup;
/* A group of `count` replicas, with an id of its own. */
BURN_API BurnSyncGroup burn_sync_group(size_t count);

/* burn_batch_norm_forward over the joint batch of all replicas of a group, as SyncBatchNorm of PyTorch: mean and
 * variance are those of all inputs together, and so is what goes back through them. Replica `rank` (0 .. count - 1)
 * gives its part of the batch, of any size, and gets its part of the result. All call it, in the same order, and all
 * walk back from their losses; each waits for the others, twice per call and twice on the way back. Parameters get the
 * gradients of the replica's own loss: BurnMultiGradientsParams adds those up. Running statistics move alike in all
 * replicas. It needs the kernel pack `collective`, which is installed with Burn. Without autodiff the running
 * statistics do, and nobody waits. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_batch_norm_forward_sync(const BurnBatchNorm *m, BurnTensor *x,
                                                                           const BurnSyncGroup *group, size_t rank);

#define BURN_LAYER_NORM_CONFIG(REQ, OPT)               \
  REQ(BurnSize, d_model, "size of the last axis")      \
  OPT(BurnF64, epsilon, 1e-5, "added to the variance") \
  OPT(BurnBool, bias, true, "add a learned beta")
BURN_CONFIG(BurnLayerNormConfig, BURN_LAYER_NORM_CONFIG);

#define BURN_LAYER_NORM_FIELDS(X)                                                  \
  X(BurnParam, gamma, "[d_model], starts as ones")                                 \
  X(BurnOptionParam, beta, "[d_model], starts as zeros; absent when bias = false") \
  X(BurnF64, epsilon, "added to the variance")
BURN_MODULE(BurnLayerNorm, BURN_LAYER_NORM_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnLayerNorm burn_layer_norm_init(const BurnLayerNormConfig *config, BurnDevice *device);
BURN_LAYER(BurnLayerNorm, burn_layer_norm, BURN_LAYER_NORM_CONFIG);
/* [.., d_model] -> the same shape */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_layer_norm_forward(const BurnLayerNorm *m, BurnTensor *x);

#define BURN_GROUP_NORM_CONFIG(REQ, OPT)                                           \
  REQ(BurnSize, num_groups, "groups of channels, each with statistics of its own") \
  REQ(BurnSize, num_channels, "channels: size of axis 1")                          \
  OPT(BurnF64, epsilon, 1e-5, "added to the variance")                             \
  OPT(BurnBool, affine, true, "learn gamma and beta")
BURN_CONFIG(BurnGroupNormConfig, BURN_GROUP_NORM_CONFIG);

#define BURN_GROUP_NORM_FIELDS(X)                                                         \
  X(BurnOptionParam, gamma, "[num_channels], starts as ones; absent when affine = false") \
  X(BurnOptionParam, beta, "[num_channels], starts as zeros; absent when affine = false") \
  X(BurnSize, num_groups, "groups of channels, each with statistics of its own")          \
  X(BurnSize, num_channels, "channels: size of axis 1")                                   \
  X(BurnF64, epsilon, "added to the variance")                                            \
  X(BurnBool, affine, "gamma and beta are learned")
BURN_MODULE(BurnGroupNorm, BURN_GROUP_NORM_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused, as when num_groups does not divide
 * num_channels, gives a layer whose forward fails with the reason. */
BURN_API BurnGroupNorm burn_group_norm_init(const BurnGroupNormConfig *config, BurnDevice *device);
BURN_LAYER(BurnGroupNorm, burn_group_norm, BURN_GROUP_NORM_CONFIG);
/* [batch, num_channels, ..] -> the same shape; rank 3 or more. Statistics are those of an item's group. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_group_norm_forward(const BurnGroupNorm *m, BurnTensor *x);

#define BURN_INSTANCE_NORM_CONFIG(REQ, OPT)               \
  REQ(BurnSize, num_channels, "channels: size of axis 1") \
  OPT(BurnF64, epsilon, 1e-5, "added to the variance")    \
  OPT(BurnBool, affine, true, "learn gamma and beta")
BURN_CONFIG(BurnInstanceNormConfig, BURN_INSTANCE_NORM_CONFIG);

#define BURN_INSTANCE_NORM_FIELDS(X)                                                      \
  X(BurnOptionParam, gamma, "[num_channels], starts as ones; absent when affine = false") \
  X(BurnOptionParam, beta, "[num_channels], starts as zeros; absent when affine = false") \
  X(BurnSize, num_channels, "channels: size of axis 1")                                   \
  X(BurnF64, epsilon, "added to the variance")                                            \
  X(BurnBool, affine, "gamma and beta are learned")
BURN_MODULE(BurnInstanceNorm, BURN_INSTANCE_NORM_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnInstanceNorm burn_instance_norm_init(const BurnInstanceNormConfig *config, BurnDevice *device);
BURN_LAYER(BurnInstanceNorm, burn_instance_norm, BURN_INSTANCE_NORM_CONFIG);
/* [batch, num_channels, ..] -> the same shape; rank 3 or more: GroupNorm with a group per channel. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_instance_norm_forward(const BurnInstanceNorm *m, BurnTensor *x);

#define BURN_RMS_NORM_CONFIG(REQ, OPT)            \
  REQ(BurnSize, d_model, "size of the last axis") \
  OPT(BurnF64, epsilon, 1e-5, "added to the mean square, above 0")
BURN_CONFIG(BurnRmsNormConfig, BURN_RMS_NORM_CONFIG);

#define BURN_RMS_NORM_FIELDS(X)                    \
  X(BurnParam, gamma, "[d_model], starts as ones") \
  X(BurnF64, epsilon, "added to the mean square")
BURN_MODULE(BurnRmsNorm, BURN_RMS_NORM_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnRmsNorm burn_rms_norm_init(const BurnRmsNormConfig *config, BurnDevice *device);
BURN_LAYER(BurnRmsNorm, burn_rms_norm, BURN_RMS_NORM_CONFIG);
/* [.., d_model] -> the same shape: x / sqrt(mean(x^2) + epsilon) * gamma */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_rms_norm_forward(const BurnRmsNorm *m, BurnTensor *x);

#define BURN_LOCAL_RESPONSE_NORM_CONFIG(REQ, OPT)        \
  REQ(BurnSize, size, "channels in a mean")              \
  OPT(BurnF64, alpha, 1e-4, "factor of the mean square") \
  OPT(BurnF64, beta, 0.75, "exponent")                   \
  OPT(BurnF64, k, 1.0, "summand")
BURN_CONFIG(BurnLocalResponseNormConfig, BURN_LOCAL_RESPONSE_NORM_CONFIG);

#define BURN_LOCAL_RESPONSE_NORM_FIELDS(X)       \
  X(BurnSize, size, "channels in a mean")        \
  X(BurnF64, alpha, "factor of the mean square") \
  X(BurnF64, beta, "exponent")                   \
  X(BurnF64, k, "summand")
BURN_MODULE(BurnLocalResponseNorm, BURN_LOCAL_RESPONSE_NORM_FIELDS);

/* Makes the layer; it has no parameters. A size of 0 fails in every forward pass. The device is not used: it is a
 * parameter because the init of every layer has one. */
BURN_API BurnLocalResponseNorm burn_local_response_norm_init(const BurnLocalResponseNormConfig *config,
                                                             BurnDevice *device);
BURN_LAYER(BurnLocalResponseNorm, burn_local_response_norm, BURN_LOCAL_RESPONSE_NORM_CONFIG);
/* [batch, channels, ..] -> the same shape; rank 3 or more: x / (k + alpha * mean)^beta, where the mean is that of x^2
 * over `size` channels around each, zeros beyond the ends. Of an even size one more channel is after than before, as
 * in Burn and ONNX (PyTorch's is before). */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_local_response_norm_forward(const BurnLocalResponseNorm *m,
                                                                               BurnTensor *x);

BURN_EXTERN_C_END

#endif
