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

BurnTensor *burn_cross_entropy_with_logits(BurnTensor *logits, BurnTensor *probabilities) {
  BurnTensor *const both[] = {logits, probabilities};
  BurnStatus status = burn__tensor_check(logits, "cross_entropy_with_logits");
  if (status == BURN_OK) status = burn__tensor_check(probabilities, "cross_entropy_with_logits");
  if (status != BURN_OK) return fail_all(both, 2, "cross_entropy_with_logits", status);
  const BurnShape given = burn_shape(logits), wanted = burn_shape(probabilities);
  bool equal = given.rank == wanted.rank;
  for (uint32_t i = 0; equal && i < given.rank; i++) equal = given.dims[i] == wanted.dims[i];
  if (!equal) {
    BurnShapeText l, r;
    status = BURN_FAIL(INVALID_SHAPE, "cross_entropy_with_logits: shapes %s of logits and %s of probabilities differ",
                       burn__shape_text(&l, given.rank, given.dims), burn__shape_text(&r, wanted.rank, wanted.dims));
    return fail_all(both, 2, "cross_entropy_with_logits", status);
  }
  const BurnDType dtype = burn_dtype(logits);
  probabilities = unrounded_as(probabilities, dtype);
  BurnTensor *weighted = burn_mul(burn_log_softmax(unrounded(logits), -1), probabilities);
  return burn_cast(burn_neg(burn_mean(burn_sum_dim(weighted, -1))), dtype);
}
