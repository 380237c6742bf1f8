/* library.c - the model as a library for burn run:
 *
 *   burn run --model lib/burn/models/mnist_model.so artifacts/mnist a.png */
#include "load.h"

#include <stdlib.h>

static void destroy(void *model) {
  Model_release(model);
  free(model);
}

static BurnStatus load(const char *artifact, BurnDevice *device, void **model) {
  TrainingConfig config;
  Model *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  const BurnStatus status = model_load(artifact, device, &config, loaded);
  if (status == BURN_OK) {
    *model = loaded;
  } else {
    destroy(loaded);
  }
  return status;
}

static BurnTensor *forward(const void *model, BurnTensor *images) {
  return model_forward(model, images);
}

/* Pixels are normalised as burn_dataset_mnist_normalize does it. */
static const char *const digits[] = {"0", "1", "2", "3", "4",
                                     "5", "6", "7", "8", "9"};
static const BurnModelLibrary library = {.bytes = sizeof library,
                                         .name = "mnist",
                                         .input = {3, {1, 28, 28}},
                                         .mean = {0.1307f},
                                         .deviation = {0.3081f},
                                         .classes = digits,
                                         .class_count = 10,
                                         .load = load,
                                         .forward = forward,
                                         .destroy = destroy};
BURN_MODEL_LIBRARY(library)
