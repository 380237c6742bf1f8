/* hparams.h - a config as what TensorBoard's page of hyperparameters reads. */
#ifndef BURN_TRAIN_HPARAMS_H
#define BURN_TRAIN_HPARAMS_H

#include <burn/config.h>

#include "text_builder.h"

/* The Summary.Value of the begin of a session (tensorboard/plugins/hparams/plugin_data.proto): every field of the
 * config by its path ("optimizer.beta_1"), numbers, bools and texts as they are, null left out, lists as JSON. */
BURN_USE_RESULT BurnStatus burn__hparams_value(BurnConfig config, BurnTextBuilder *value);

#endif
