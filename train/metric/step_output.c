/* step_output.c - see step.h. */
#include <burn/train/step.h>

#include <string.h>

void burn_step_give(BurnStepOutput *output, const char *name, BurnTensor *tensor) {
  const size_t place = output->count++;
  if (place >= BURN_MAX_STEP_TENSORS) {
    burn_drop(tensor);
    return;
  }
  output->names[place] = name;
  output->tensors[place] = tensor;
}

/* The place of a name; BURN_MAX_STEP_TENSORS if there is none. */
static size_t place_of(const BurnStepOutput *output, const char *name) {
  for (size_t i = 0; output && i < output->count && i < BURN_MAX_STEP_TENSORS; i++) {
    if (name && output->names[i] && strcmp(output->names[i], name) == 0) return i;
  }
  return BURN_MAX_STEP_TENSORS;
}

BurnTensor *burn_step_get(const BurnStepOutput *output, const char *name) {
  const size_t place = place_of(output, name);
  return place < BURN_MAX_STEP_TENSORS ? output->tensors[place] : NULL;
}

BurnTensor *burn_step_take(BurnStepOutput *output, const char *name) {
  const size_t place = place_of(output, name);
  if (place == BURN_MAX_STEP_TENSORS) return NULL;
  BurnTensor *tensor = output->tensors[place];
  output->tensors[place] = NULL;
  return tensor;
}

void burn_step_drop(BurnStepOutput *output) {
  if (!output) return;
  for (size_t i = 0; i < output->count && i < BURN_MAX_STEP_TENSORS; i++) burn_drop(output->tensors[i]);
  output->count = 0;
}

BurnStepOutput burn_classification_output(BurnTensor *loss, BurnTensor *output, BurnTensor *targets) {
  return (BurnStepOutput){3, {"loss", "output", "targets"}, {loss, output, targets}};
}

BurnStepOutput burn_regression_output(BurnTensor *loss, BurnTensor *output, BurnTensor *targets) {
  return burn_classification_output(loss, output, targets);
}
