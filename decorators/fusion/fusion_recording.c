/* fusion_recording.c - functions of "burn.replay" that give something, each with a look at what it gave: a backend may
 * report success and have made nothing. A reason lands in the queue, as that of every trial. */
#include "fusion_internal.h"

#include <stdio.h>

bool burn__fusion_works(FusionQueue *queue, BurnStatus status) {
  const BurnHost *host = queue->decorator->host;
  if (status != BURN_OK) host->status_message(status, queue->trial_reason, sizeof queue->trial_reason);
  return status == BURN_OK;
}

bool burn__fusion_gives(FusionQueue *queue, BurnStatus status, const BurnTensorDesc *desc, BurnPrimitive **given) {
  const FusionDecorator *decorator = queue->decorator;
  if (status == BURN_OK)
    status = burn_common_check_given(decorator->host, decorator->next, BURN_REPLAY_INTERFACE, desc, given);
  return burn__fusion_works(queue, status);
}

bool burn__fusion_begin(FusionQueue *queue) {
  const FusionDecorator *decorator = queue->decorator;
  queue->trial = NULL;
  queue->trial_reason[0] = '\0';
  if (!burn__fusion_works(queue, decorator->replay->begin(decorator->replay_self, &queue->trial))) return false;
  if (queue->trial) return true;
  (void)snprintf(queue->trial_reason, sizeof queue->trial_reason, "'%.64s' gave no recording", decorator->next->name);
  return false;
}

bool burn__fusion_hold(FusionQueue *queue, BurnPrimitive *x, uint32_t inputs, uint32_t *number, uint32_t *input) {
  const FusionDecorator *decorator = queue->decorator;
  *input = BURN_REPLAY_NONE;
  if (!burn__fusion_works(queue, decorator->replay->hold(decorator->replay_self, queue->trial, x, number, input)))
    return false;
  if (*input == BURN_REPLAY_NONE || *input < inputs) return true;
  (void)snprintf(queue->trial_reason, sizeof queue->trial_reason, "'%.64s' says that a result lies in input %u of %u",
                 decorator->next->name, *input, inputs);
  return false;
}

void burn__fusion_take(FusionQueue *queue, BurnRecording *recording, uint32_t number, BurnPrimitive *input, bool copies,
                       uint32_t slot) {
  const FusionDecorator *decorator = queue->decorator;
  FusionValue *value = &fusion_values(queue)[slot];
  BurnStatus status = decorator->replay->take(decorator->replay_self, recording, number, input, copies, &value->inner);
  if (status == BURN_OK)
    status = burn_common_check_given(decorator->host, decorator->next, BURN_REPLAY_INTERFACE, &value->tensor->desc,
                                     &value->inner);
  if (status != BURN_OK) burn__fusion_fail_value(queue, slot, status);
}
