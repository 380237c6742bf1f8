/* load.h - the model that a run has left in its artifact folder. */
#ifndef MNIST_LOAD_H
#define MNIST_LOAD_H

#include "model.h"

/* Builds the model of the folder's config.json with the weights beside it,
 * which are `model`. Both are the caller's, the model also on failure. */
BurnStatus model_load(const char *artifact, BurnDevice *device,
                      TrainingConfig *config, Model *model);

#endif
