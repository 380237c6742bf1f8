/* load.c - see load.h. */
#include "load.h"

#include "../common/program.h"

#include <string.h>

BurnStatus model_load(const char *artifact, BurnDevice *device,
                      TrainingConfig *config, Model *model) {
  const ProgramPath settings = program_path(artifact, "config.json");
  const ProgramPath weights = program_path(artifact, "model");
  memset(config, 0, sizeof *config);
  memset(model, 0, sizeof *model);
  const BurnStatus status =
      burn_config_load(burn_config(TrainingConfig, config), settings.text);
  if (status != BURN_OK) return status;
  *model = model_init(&config->model, device);
  return burn_record_load(burn_module(Model, model), weights.text, NULL);
}
