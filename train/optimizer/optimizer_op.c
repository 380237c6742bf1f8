/* optimizer_op.c - steps that are one op, alone or those of many parameters as one call of the backend. */
#include <burn/op_call.h>

#include "optimizer_internal.h"

/* Results to their places: the parameter, then what is kept of the state. */
static BurnTensor *give(const BurnStepOp *step, BurnTensor *const *outputs, uint32_t output_count, BurnTensor **state) {
  for (uint32_t i = 1; i < output_count; i++) {
    if (i <= step->kept)
      state[i - 1] = outputs[i];
    else
      burn_drop(outputs[i]);
  }
  return outputs[0];
}

BurnTensor *burn__step_op(BurnStepOp *step, BurnTensor **state) {
  BurnTensor *outputs[BURN__STEP_OUTPUTS];
  const BurnOpInfo *info = burn_op_info(step->op);
  burn_op_call(NULL, info, step->inputs, step->input_count, step->attrs, info->attr_count, outputs);
  return give(step, outputs, info->output_count, state);
}

/* Steps of one op. */
static void call_as_one(const BurnStepOp *steps, BurnTensor **const *states, BurnTensor **params, size_t count,
                        void *room) {
  const BurnOpInfo *info = burn_op_info(steps[0].op);
  const uint32_t inputs_each = steps[0].input_count;
  BurnAttr *attrs = room;
  BurnTensor **tensors = (BurnTensor **)(void *)(attrs + count * info->attr_count);
  BurnTensor **outputs = tensors + count * inputs_each;
  for (size_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < inputs_each; k++) tensors[i * inputs_each + k] = steps[i].inputs[k];
    for (uint32_t k = 0; k < info->attr_count; k++) attrs[i * info->attr_count + k] = steps[i].attrs[k];
  }
  burn_op_calls(info, count, tensors, inputs_each, attrs, outputs);
  for (size_t i = 0; i < count; i++)
    params[i] = give(&steps[i], outputs + i * info->output_count, info->output_count, states[i]);
}

void burn__step_ops(const BurnStepOp *steps, BurnTensor **const *states, BurnTensor **params, size_t count,
                    void *room) {
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && steps[end].op == steps[i].op; end++)
      ;
    if (end > i + 1) {
      call_as_one(steps + i, states + i, params + i, end - i, room);
    } else {
      BurnStepOp alone = steps[i];
      params[i] = burn__step_op(&alone, states[i]);
    }
  }
}
