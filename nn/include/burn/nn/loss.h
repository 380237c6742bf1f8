/* loss.h - losses over classes, mean squared error, and how all losses become one number. Forms without reduction give
 * one value per item (CrossEntropyLoss) or element (MseLoss). The other losses: loss_regression.h, loss_margin.h,
 * loss_sequence.h.
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

/* How a loss becomes one number, in the order of Burn's enum. BatchMean is the sum divided by the size of axis 0,
 * which only KLDivLoss has: every other loss fails with it. Auto is what the loss usually takes: BatchMean for
 * KLDivLoss, Mean for the others. */
enum { BURN_REDUCTION_MEAN = 0, BURN_REDUCTION_SUM, BURN_REDUCTION_BATCH_MEAN, BURN_REDUCTION_AUTO };
/* One of them, which can stand in rows of configs and modules; JSON "Mean". */
typedef uint32_t BurnReduction;
BURN_API const BurnType *BurnReduction_type(void);

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

#define BURN_BINARY_CROSS_ENTROPY_LOSS_CONFIG(REQ, OPT)                                           \
  OPT(BurnOptionF64, smoothing, BURN_ABSENT, "a in 0..1: targets become y (1 - a) + a / classes") \
  OPT(BurnBool, logits, false, "the input holds logits; false: probabilities")
BURN_CONFIG_OPTIONAL(BurnBinaryCrossEntropyLossConfig, BURN_BINARY_CROSS_ENTROPY_LOSS_CONFIG);

#define BURN_BINARY_CROSS_ENTROPY_LOSS_FIELDS(X)                           \
  X(BurnBuffer, weights, "[classes] weight of each class; usually absent") \
  X(BurnOptionF64, smoothing, "label smoothing")                           \
  X(BurnBool, logits, "the input holds logits; false: probabilities")
BURN_MODULE(BurnBinaryCrossEntropyLoss, BURN_BINARY_CROSS_ENTROPY_LOSS_FIELDS);

/* A smoothing outside 0..1 fails in every forward pass. */
BURN_API BurnBinaryCrossEntropyLoss burn_binary_cross_entropy_loss_init(const BurnBinaryCrossEntropyLossConfig *config,
                                                                        BurnDevice *device);
/* Sets the class weights (taken): float [classes], all above 0, else every forward pass fails. */
BURN_API BURN_TAKES(2) void burn_binary_cross_entropy_loss_set_weights(BurnBinaryCrossEntropyLoss *m,
                                                                       BurnTensor *weights);
/* Predictions and int targets (0 or 1) of one shape -> [1], the mean over all elements: [batch] of one class, or
 * [.., classes] where each class is a question of its own. Other targets go into the formula as they are, as in Burn:
 * a check would wait for the device. The number of classes in smoothing is the size of the last axis, 2 for rank 1.
 * Weights are of the last axis; for rank 1 they are two, of target 0 and 1. Logarithms of probabilities are kept above
 * -100. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_binary_cross_entropy_loss_forward(
    const BurnBinaryCrossEntropyLoss *m, BurnTensor *predictions, BurnTensor *targets);

#define BURN_KL_DIV_LOSS_CONFIG(REQ, OPT) OPT(BurnBool, log_target, false, "the targets are logarithms, too")
BURN_CONFIG_OPTIONAL(BurnKLDivLossConfig, BURN_KL_DIV_LOSS_CONFIG);
#define BURN_KL_DIV_LOSS_FIELDS(X) X(BurnBool, log_target, "the targets are logarithms, too")
BURN_MODULE(BurnKLDivLoss, BURN_KL_DIV_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnKLDivLoss burn_kl_div_loss_init(const BurnKLDivLossConfig *config, BurnDevice *device);
/* Kullback-Leibler divergence target * (log target - prediction) of logarithms of probabilities and probabilities of
 * one shape -> [1]. The logarithm is that of the target kept within the smallest normal number and 1. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_kl_div_loss_forward(const BurnKLDivLoss *m,
                                                                          BurnTensor *predictions, BurnTensor *targets,
                                                                          BurnReduction reduction);
/* The same -> the shape of the predictions. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_kl_div_loss_forward_no_reduction(const BurnKLDivLoss *m,
                                                                                       BurnTensor *predictions,
                                                                                       BurnTensor *targets);

/* (prediction - target)^2 */
BURN_MODULE_STATELESS(BurnMseLoss);
BURN_API BurnMseLoss burn_mse_loss_init(void);
/* Predictions and targets of one shape -> [1]. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_mse_loss_forward(const BurnMseLoss *m, BurnTensor *predictions,
                                                                       BurnTensor *targets, BurnReduction reduction);
/* The same -> the shape of the predictions. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_mse_loss_forward_no_reduction(const BurnMseLoss *m,
                                                                                    BurnTensor *predictions,
                                                                                    BurnTensor *targets);

BURN_EXTERN_C_END

#endif
