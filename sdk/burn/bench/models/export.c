/* export.c - the model of a case as an ONNX file, for peers that run such files: the same weights, with an input and
 * what comes of it, by which the peer sees that it computes the same. */
#include "networks.h"

#include <burn/numpy.h>
#include <stdio.h>

#ifdef BURN_COMMAND_ONNX
#include <burn/onnx_export.h>

static BurnStatus forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  const Network *network = context;
  outputs[0] = network->forward(module, inputs[0]);
  return BURN_OK;
}

static BurnStatus save_model(const Subject *s, const char *path) {
  Network network = *s->network;
  const BurnOnnxSave options = {.overwrite = true};
  const BurnModule module = {network.type(), (void *)&s->valid};
  BurnTensor *input = burn_clone(s->t[0]);
  return burn_onnx_save(path, module, forward, &network, &input, 1, 1, &options);
}
#else
static BurnStatus save_model(const Subject *s, const char *path) {
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s cannot be written to '%s': this build has no ONNX",
                          s->network->name, path);
}
#endif

BurnStatus network_export(const Subject *s, const char *folder) {
  char path[1024];
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  BurnStatus status = save_model(s, path);
  snprintf(path, sizeof path, "%s/input.npy", folder);
  if (status == BURN_OK) status = burn_npy_write(path, burn_clone(s->t[0]));
  snprintf(path, sizeof path, "%s/output.npy", folder);
  if (status == BURN_OK) status = burn_npy_write(path, s->network->forward(&s->valid, burn_clone(s->t[0])));
  return status;
}
