/* loss_sequence.h - losses of sequences whose alignment with their labels is not known. As in Burn, forward is that
 * without reduction. The device of init is not used: it is a parameter because the init of every layer has one. */
#ifndef BURN_NN_LOSS_SEQUENCE_H
#define BURN_NN_LOSS_SEQUENCE_H

#include <burn/config.h>
#include <burn/nn/loss.h>
#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

/* Connectionist temporal classification */
#define BURN_CTC_LOSS_CONFIG(REQ, OPT)                      \
  OPT(BurnSize, blank, 0, "class that stands for no label") \
  OPT(BurnBool, zero_infinity, false, "0 for targets that cannot be reached")
BURN_CONFIG_OPTIONAL(BurnCTCLossConfig, BURN_CTC_LOSS_CONFIG);
#define BURN_CTC_LOSS_FIELDS(X)                        \
  X(BurnSize, blank, "class that stands for no label") \
  X(BurnBool, zero_infinity, "0 for targets that cannot be reached")
BURN_MODULE(BurnCTCLoss, BURN_CTC_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnCTCLoss burn_ctc_loss_init(const BurnCTCLossConfig *config, BurnDevice *device);
/* log_probs [frames, batch, classes] (burn_log_softmax of something), int targets [batch, labels], int lengths [batch]
 * of both -> [batch]; see burn_ctc_loss. A target that cannot be reached gives infinity, or 0 with zero_infinity, and
 * no gradient. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4, 5) BurnTensor *burn_ctc_loss_forward(const BurnCTCLoss *m,
                                                                             BurnTensor *log_probs, BurnTensor *targets,
                                                                             BurnTensor *input_lengths,
                                                                             BurnTensor *target_lengths);
/* The same -> [1]. Mean divides every loss by the length of its target first; an empty target makes it infinite. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4, 5) BurnTensor *burn_ctc_loss_forward_with_reduction(
    const BurnCTCLoss *m, BurnTensor *log_probs, BurnTensor *targets, BurnTensor *input_lengths,
    BurnTensor *target_lengths, BurnReduction reduction);

/* The loss of recurrent transducers: -log of the probability of all paths from frame 0 and label 0 to the last of
 * both, where a path takes a blank to the next frame or the next label within a frame */
#define BURN_RNNT_LOSS_CONFIG(REQ, OPT)                     \
  OPT(BurnSize, blank, 0, "class that stands for no label") \
  OPT(BurnBool, logits, true, "the input holds logits; false: logarithms of probabilities")
BURN_CONFIG_OPTIONAL(BurnRNNTLossConfig, BURN_RNNT_LOSS_CONFIG);
#define BURN_RNNT_LOSS_FIELDS(X)                       \
  X(BurnSize, blank, "class that stands for no label") \
  X(BurnBool, logits, "the input holds logits; false: logarithms of probabilities")
BURN_MODULE(BurnRNNTLoss, BURN_RNNT_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnRNNTLoss burn_rnnt_loss_init(const BurnRNNTLossConfig *config, BurnDevice *device);
/* logits [batch, frames, labels + 1, classes], int targets [batch, labels], int lengths [batch] of both -> [batch].
 * Lengths are 1 .. frames and 0 .. labels. Half precision is computed in f32. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4, 5) BurnTensor *burn_rnnt_loss_forward(const BurnRNNTLoss *m, BurnTensor *logits,
                                                                              BurnTensor *targets,
                                                                              BurnTensor *logit_lengths,
                                                                              BurnTensor *target_lengths);
/* The same -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4, 5) BurnTensor *burn_rnnt_loss_forward_with_reduction(
    const BurnRNNTLoss *m, BurnTensor *logits, BurnTensor *targets, BurnTensor *logit_lengths,
    BurnTensor *target_lengths, BurnReduction reduction);

BURN_EXTERN_C_END

#endif
