/* step.h - what a step of training or validation gives back: tensors by name. "loss" [1] is required; which others are
 * of use follows from the metrics (metric.h): classification has "output" [n, classes] and integer "targets" [n].
 *
 *   return burn_classification_output(loss, output, targets);
 *
 * or, with names of one's own,
 *
 *   BurnStepOutput output = {0};
 *   burn_step_give(&output, "loss", loss);
 *   burn_step_give(&output, "mask", mask);
 *   return output; */
#ifndef BURN_TRAIN_STEP_H
#define BURN_TRAIN_STEP_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* The highest number of tensors that a step gives. */
enum { BURN_MAX_STEP_TENSORS = 8 };

/* All tensors belong to whoever has the struct: the learner, once a step has returned it. */
typedef struct BurnStepOutput {
  size_t count; /* more than BURN_MAX_STEP_TENSORS: so many were given, and a learner refuses it */
  const char *names[BURN_MAX_STEP_TENSORS];
  BurnTensor *tensors[BURN_MAX_STEP_TENSORS];
} BurnStepOutput;

/* Adds a tensor (taken) under a name, which is not copied. */
BURN_API BURN_TAKES(3) void burn_step_give(BurnStepOutput *output, const char *name, BurnTensor *tensor);
/* The tensor of a name, still of the output; NULL if there is none. */
BURN_API BurnTensor *burn_step_get(const BurnStepOutput *output, const char *name);
/* The same, and it is the caller's from now on. */
BURN_API BURN_GIVES BurnTensor *burn_step_take(BurnStepOutput *output, const char *name);
/* Drops what is left. */
BURN_API void burn_step_drop(BurnStepOutput *output);

/* "loss" [1], "output" [n, classes], "targets" int [n]; all taken. */
BURN_API BURN_USE_RESULT BURN_TAKES(1, 2, 3) BurnStepOutput
    burn_classification_output(BurnTensor *loss, BurnTensor *output, BurnTensor *targets);
/* "loss" [1], and "output" and "targets" of one shape; all taken. */
BURN_API BURN_USE_RESULT BURN_TAKES(1, 2, 3) BurnStepOutput
    burn_regression_output(BurnTensor *loss, BurnTensor *output, BurnTensor *targets);

BURN_EXTERN_C_END

#endif
