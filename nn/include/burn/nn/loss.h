/* loss.h - losses. Forms without reduction give one value per item (CrossEntropyLoss) or element (MseLoss).
 *
 *   BurnCrossEntropyLossConfig config = BurnCrossEntropyLossConfig_defaults();
 *   BurnCrossEntropyLoss loss = burn_cross_entropy_loss_init(&config, device);
 *   burn_cross_entropy_loss_set_pad_tokens(&loss, burn_tensor_i64(device, (int64_t[]){0}, BURN_SHAPE(1)));
 *
 * For the plain mean over logits without options there is the op burn_cross_entropy. */
#ifndef BURN_NN_LOSS_H
#define BURN_NN_LOSS_H

#include <burn/config.h>
#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

/* How a loss becomes one number. Auto is what the loss usually takes: the mean for all losses here. */
enum { BURN_REDUCTION_MEAN = 0, BURN_REDUCTION_SUM, BURN_REDUCTION_AUTO };

#define BURN_CROSS_ENTROPY_LOSS_CONFIG(REQ, OPT)                                                  \
  OPT(BurnOptionF64, smoothing, BURN_ABSENT, "a in 0..1: targets become y (1 - a) + a / classes") \
  OPT(BurnBool, logits, true, "the input holds logits; false: probabilities")
BURN_CONFIG_OPTIONAL(BurnCrossEntropyLossConfig, BURN_CROSS_ENTROPY_LOSS_CONFIG);

#define BURN_CROSS_ENTROPY_LOSS_FIELDS(X)                                        \
  X(BurnBuffer, pad_tokens, "[count] targets that contribute 0; usually absent") \
  X(BurnBuffer, weights, "[classes] weight of each class; usually absent")       \
  X(BurnOptionF64, smoothing, "label smoothing")                                 \
  X(BurnBool, logits, "the input holds logits; false: probabilities")
BURN_MODULE(BurnCrossEntropyLoss, BURN_CROSS_ENTROPY_LOSS_FIELDS);

/* A smoothing outside 0..1 fails in every forward pass. */
BURN_API BurnCrossEntropyLoss burn_cross_entropy_loss_init(const BurnCrossEntropyLossConfig *config,
                                                           BurnDevice *device);
/* Sets the class weights (taken): float [classes], all above 0, else every forward pass fails. */
BURN_API BURN_TAKES(2) void burn_cross_entropy_loss_set_weights(BurnCrossEntropyLoss *m, BurnTensor *weights);
/* Sets the targets that contribute 0 (taken): int [count]. */
BURN_API BURN_TAKES(2) void burn_cross_entropy_loss_set_pad_tokens(BurnCrossEntropyLoss *m, BurnTensor *pad_tokens);

/* logits [batch, classes], int targets [batch] -> [1]: the sum over the items divided by the batch size, padded items
 * included, or with class weights by the sum of the weights of the targets. Probabilities are kept away from 0 before
 * the logarithm. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_cross_entropy_loss_forward(const BurnCrossEntropyLoss *m,
                                                                                 BurnTensor *logits,
                                                                                 BurnTensor *targets);
/* The same -> [batch], each item times the weight of its class, 0 for padded ones. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_cross_entropy_loss_forward_no_reduction(
    const BurnCrossEntropyLoss *m, BurnTensor *logits, BurnTensor *targets);

/* (prediction - target)^2 */
BURN_MODULE_STATELESS(BurnMseLoss);
BURN_API BurnMseLoss burn_mse_loss_init(void);
/* Predictions and targets of one shape -> [1]. `reduction` is BURN_REDUCTION_*. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_mse_loss_forward(const BurnMseLoss *m, BurnTensor *predictions,
                                                                       BurnTensor *targets, uint32_t reduction);
/* The same -> the shape of the predictions. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_mse_loss_forward_no_reduction(const BurnMseLoss *m,
                                                                                    BurnTensor *predictions,
                                                                                    BurnTensor *targets);

BURN_EXTERN_C_END

#endif
