/* learner_step.c - see learner_step.h. */
#include "learner_step.h"

#include <math.h>

static BurnStatus check_output(const BurnStepOutput *output) {
  const BurnTensor *loss = burn_step_get(output, "loss");
  if (output->count > BURN_MAX_STEP_TENSORS) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the step gave %zu tensors, at most %d are allowed",
                            output->count, (int)BURN_MAX_STEP_TENSORS);
  }
  if (!loss) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the step gave no loss");
  const BurnStatus status = burn_tensor_status(loss);
  if (status != BURN_OK || burn_element_count(loss) == 1) return status;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "the loss has %lld elements, 1 expected",
                          (long long)burn_element_count(loss));
}

BurnStatus burn__task_step(const BurnTask *task, const void *module, BurnBatch *batch, BurnStepOutput *output) {
  *output = task->step(task->context, module, batch);
  const BurnStatus status = check_output(output);
  if (status != BURN_OK) burn_step_drop(output);
  return status;
}

BurnTensor *burn__step_lower(BurnStepOutput *output) {
  BurnTensor *loss = burn_clone(burn_step_get(output, "loss"));
  for (size_t i = 0; i < output->count; i++) {
    if (output->tensors[i]) output->tensors[i] = burn_inner(output->tensors[i]);
  }
  return loss;
}

static BurnStatus measure_batch(const BurnTask *task, const void *module, BurnBatch *batch, BurnMetricPass *pass) {
  BurnStepOutput output;
  BurnStatus status = burn__task_step(task, module, batch, &output);
  if (status != BURN_OK) return status;
  burn_drop(burn__step_lower(&output));
  const BurnMetricInput input = {.output = &output, .items = batch->item_count, .learning_rate = (double)NAN};
  status = burn__metrics_add(pass, batch->index + 1, &input);
  burn_step_drop(&output);
  return status;
}

BurnStatus burn__measure_pass(const BurnTask *task, BurnDevice *device, const void *module, BurnLoader *data,
                              const BurnInterrupter *interrupter, const char *what, BurnMetricPass *pass) {
  BurnBatches *batches = burn_loader_start(data, device, pass->epoch, 0);
  BurnStatus status = BURN_OK;
  BurnBatch batch;
  while (status == BURN_OK && !burn_interrupter_stopped(interrupter) && burn_batches_next(batches, &batch)) {
    status = burn_status_annotate(measure_batch(task, module, &batch, pass), "%s batch %zu", what, batch.index + 1);
  }
  if (status == BURN_OK) status = burn_status_annotate(burn__metrics_read(pass), "%s", what);
  const BurnStatus stopped = burn_status_annotate(burn_batches_stop(batches), "%s data", what);
  return status != BURN_OK ? status : stopped;
}
