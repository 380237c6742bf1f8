/* ops_loss.c - public losses. */
#include "ops_internal.h"

BurnTensor *burn_mse(BurnTensor *x, BurnTensor *target) {
  return burn__apply(BURN_OP_mse, (BurnTensor *const[]){x, target}, 2, NULL, 0);
}

BurnTensor *burn_cross_entropy(BurnTensor *logits, BurnTensor *targets) {
  BurnTensor *const inputs[] = {logits, targets};
  return burn__apply(BURN_OP_cross_entropy, inputs, 2, NULL, 0);
}

BurnTensor *burn_ctc_loss(BurnTensor *log_probs, BurnTensor *targets, BurnTensor *input_lengths,
                          BurnTensor *target_lengths, int64_t blank) {
  const BurnAttr attr = burn_attr_i64(blank);
  return burn__apply(BURN_OP_ctc_loss, (BurnTensor *const[]){log_probs, targets, input_lengths, target_lengths}, 4,
                     &attr, 1);
}
