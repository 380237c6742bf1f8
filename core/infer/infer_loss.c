/* infer_loss.c - rules of losses. */
#include "infer_internal.h"

/* Logits [n, classes] and integer targets [n] are inputs `first` and the one after it. */
static BurnStatus logits_and_targets(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first) {
  BURN_TRY(burn__infer_rank(info, call, first, 2));
  BURN_TRY(burn__infer_rank(info, call, first + 1, 1));
  BURN_TRY(burn__infer_kind(info, call, first + 1, BURN_KIND_INT, "an int tensor"));
  const BurnPrimitive *logits = call->inputs[first], *targets = call->inputs[first + 1];
  if (logits->shape[0] == targets->shape[0]) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: logits %s need %lld targets, %lld given", info->name,
                   burn__shape_text(&text, 2, logits->shape), (long long)logits->shape[0],
                   (long long)targets->shape[0]);
}

BURN_RULE(cross_entropy) {
  BURN_TRY(logits_and_targets(info, call, 0));
  out->dtype = call->inputs[0]->dtype;
  out->rank = 1;
  out->shape[0] = 1;
  return BURN_OK;
}

BURN_RULE(cross_entropy_backward) {
  const BurnPrimitive *grad = call->inputs[0];
  BURN_TRY(logits_and_targets(info, call, 1));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  *out = burn_primitive_desc(call->inputs[1]);
  if (grad->rank == 1 && grad->shape[0] == 1) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: grad has shape %s, [1] expected", info->name,
                   burn__shape_text(&text, grad->rank, grad->shape));
}

BURN_RULE(mse) {
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  *out = (BurnTensorDesc){call->inputs[0]->dtype, 1, {1}};
  return BURN_OK;
}

BURN_RULE(mse_backward) {
  const BurnPrimitive *grad = call->inputs[0];
  BURN_TRY(burn__infer_same_shape(info, call, 1, 2));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  burn__infer_like(out, call->inputs[1]);
  if (grad->rank == 1 && grad->shape[0] == 1) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: grad has shape %s, [1] expected", info->name, burn__shape_of(&text, grad));
}

BURN_RULE(ctc_loss) {
  static const uint32_t ranks[] = {3, 2, 1, 1};
  const BurnPrimitive *probs = call->inputs[0];
  for (uint32_t i = 0; i < 4; i++) {
    BURN_TRY(burn__infer_rank(info, call, i, ranks[i]));
    if (i == 0) continue;
    BURN_TRY(burn__infer_kind(info, call, i, BURN_KIND_INT, "an int tensor"));
    if (call->inputs[i]->shape[0] == probs->shape[1]) continue;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld samples, log_probs %lld", info->name, info->input_names[i],
                     (long long)call->inputs[i]->shape[0], (long long)probs->shape[1]);
  }
  const int64_t blank = BURN_ATTRS(ctc_loss, call)->blank.value.i64;
  if (blank < 0 || blank >= probs->shape[2]) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: blank %lld is not one of the %lld classes", info->name, (long long)blank,
                     (long long)probs->shape[2]);
  }
  if (call->inputs[1]->shape[1] > INT32_MAX) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %lld labels are too many", info->name, (long long)call->inputs[1]->shape[1]);
  }
  *out = (BurnTensorDesc){probs->dtype, 1, {probs->shape[1]}};
  return BURN_OK;
}
