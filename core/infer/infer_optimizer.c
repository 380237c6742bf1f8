/* infer_optimizer.c - rules of optimizer steps. */
#include "infer_internal.h"

BURN_RULE(adam_step) {
  for (uint32_t i = 1; i < 4; i++) BURN_TRY(burn__infer_same_shape(info, call, 0, i));
  for (uint32_t i = 0; i < 3; i++) burn__infer_like(&out[i], call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(sgd_step) {
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  if (call->inputs[2]) BURN_TRY(burn__infer_same_shape(info, call, 0, 2));
  for (uint32_t i = 0; i < 2; i++) burn__infer_like(&out[i], call->inputs[0]);
  return BURN_OK;
}
