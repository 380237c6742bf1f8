/* learner_step.h - one call of the user's step, and a pass over data that only measures: what training, validation and
 * evaluation share. */
#ifndef BURN_TRAIN_LEARNER_STEP_H
#define BURN_TRAIN_LEARNER_STEP_H

#include <burn/train/data_parallel.h>
#include <burn/train/interrupter.h>

#include "metric_pass.h"

/* The user's step; a failure leaves nothing in *output. */
BURN_USE_RESULT BurnStatus burn__task_step(const BurnTask *task, const void *module, BurnBatch *batch,
                                           BurnStepOutput *output);
/* Puts all tensors of an output below autodiff; returns the loss as it was. */
BURN_GIVES BurnTensor *burn__step_lower(BurnStepOutput *output);
/* Measures a module over a loader. Ends early, with BURN_OK, when the interrupter (or NULL) asks. `what` names the data
 * in messages: "validation". */
BURN_USE_RESULT BurnStatus burn__measure_pass(const BurnTask *task, BurnDevice *device, const void *module,
                                              BurnLoader *data, const BurnInterrupter *interrupter, const char *what,
                                              BurnMetricPass *pass);

#endif
