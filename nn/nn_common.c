/* nn_common.c - checks of configs, parameters from initializers, NULL for a module, and the place in messages of
 * forward passes.
 *
 * A check gives a status instead of a message on the screen: burn_nn_param turns a failed one into a failed parameter,
 * so that a bad config is reported where the module is checked or first used. */
#include "nn_internal.h"

#include <burn/quantizer.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- NULL for a config ------------------------------------------------------------------------ */

BurnStatus burn_nn_no_config_status(const BurnType *config_type, const char *layer) {
  char required[256] = "";
  for (uint32_t i = 0; i < config_type->field_count; i++) {
    const size_t used = strlen(required);
    if (!config_type->fields[i].required) continue;
    snprintf(required + used, sizeof required - used, "%s%s", used ? ", " : "", config_type->fields[i].name);
  }
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: config is NULL: %s_defaults(%s) makes one", layer,
                          config_type->name, required);
}

BurnTensor *burn_nn_no_config(BurnTensor *x, const BurnType *config_type, const char *layer) {
  burn_drop(x);
  return burn_tensor_failed(burn_nn_no_config_status(config_type, layer));
}

const void *burn_nn_config(const void *config, const BurnType *type, const char *layer, BurnStatus *status) {
  if (config) return config;
  for (uint32_t i = 0; i < type->field_count; i++) {
    if (!type->fields[i].required) continue;
    *status = burn_nn_no_config_status(type, layer);
    break;
  }
  return type->defaults;
}

/* -- NULL for a module ------------------------------------------------------------------------ */

/* The last of: a word of a layer's name may be "forward", too. */
static const char *end_of_layer(const char *function) {
  const char *end = strrchr(function, '_');
  for (const char *at = strstr(function, "_forward"); at; at = strstr(at + 1, "_forward")) end = at;
  return end;
}

BurnStatus burn_nn_no_module_status(const char *function) {
  const char *layer = function + strlen("burn_");
  const int length = (int)(end_of_layer(function) - layer);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%.*s: the module is NULL; burn_%.*s_init makes one", length,
                          layer, length, layer);
}

BurnTensor *burn_nn_no_module(const char *function, BurnTensor *const taken[BURN_NN_MAX_TAKEN]) {
  for (int i = 0; i < BURN_NN_MAX_TAKEN; i++) burn_drop(taken[i]);
  return burn_tensor_failed(burn_nn_no_module_status(function));
}

/* -- where a forward pass failed -------------------------------------------------------------- */

bool burn_nn_sound(const BurnTensor *x) { return !x || burn_tensor_status(x) == BURN_OK; }

/* The message says already which kind of layer it was: "linear: x [2,3] and ..". */
static BurnStatus with_layer(BurnStatus status, const char *layer) {
  const char *message = burn_status_message(status);
  const size_t length = strlen(layer);
  const bool said = strncmp(message, layer, length) == 0 && message[length] == ':';
  return said ? status : burn_status_annotate(status, "%s", layer);
}

BurnStatus burn_nn_at(BurnStatus status, const BurnParam *inner, unsigned depth) {
  size_t length = inner->path ? strlen(inner->path) : 0;
  for (unsigned i = 0; i < depth && length > 0; i++) {
    while (length > 0 && inner->path[length - 1] != '.') length--;
    if (length > 0) length--;
  }
  return length > 0 ? burn_status_annotate(status, "%.*s", (int)length, inner->path) : status;
}

BurnTensor *burn_nn_placed(bool sound, const BurnParam *first, const char *layer, BurnTensor *result) {
  BurnStatus status = sound ? burn_tensor_status(result) : BURN_OK;
  if (status == BURN_OK) return result;
  status = with_layer(status, layer);
  status = burn_nn_at(status, first, 1);
  burn_drop(result);
  return burn_tensor_failed(status);
}

/* -- configs and parameters ------------------------------------------------------------------- */

BurnStatus burn_nn_check_sizes(const char *layer, const BurnNnSize *sizes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (sizes[i].value == 0) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is 0", layer, sizes[i].name);
    if (sizes[i].value > INT32_MAX) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s %zu is more than %ld", layer, sizes[i].name,
                              sizes[i].value, (long)INT32_MAX);
    }
  }
  return BURN_OK;
}

BurnStatus burn_nn_check_groups(const char *layer, BurnNnSize groups, size_t channels_in, size_t channels_out) {
  const bool in_fits = channels_in % groups.value == 0;
  if (in_fits && channels_out % groups.value == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s %zu does not divide %s %zu", layer, groups.name,
                          groups.value, in_fits ? "channels_out" : "channels_in", in_fits ? channels_out : channels_in);
}

BurnStatus burn_nn_check_not_negative(const char *layer, const char *name, double value) {
  if (isfinite(value) && value >= 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s %g is not a number of 0 or more", layer, name, value);
}

BurnStatus burn_nn_check_norm(const char *layer, const char *name, size_t size, double epsilon) {
  const BurnNnSize sizes[] = {{name, size}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, 1);
  return status != BURN_OK ? status : burn_nn_check_not_negative(layer, "epsilon", epsilon);
}

BurnStatus burn_nn_check_share(const char *layer, const char *name, double value) {
  if (value >= 0 && value <= 1) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s %g is outside 0..1", layer, name, value);
}

BurnParam burn_nn_param(BurnStatus status, const char *layer, const BurnInitializer *initializer, BurnShape shape,
                        int64_t fan_in, int64_t fan_out, BurnDevice *device) {
  BurnTensor *value;
  if (status != BURN_OK) return burn_param(burn_tensor_failed(status));
  value = burn_initializer_tensor(initializer, shape, fan_in, fan_out, device);
  status = burn_tensor_status(value);
  if (status == BURN_OK) return burn_param(value);
  burn_drop(value);
  return burn_param(burn_tensor_failed(burn_status_annotate(status, "%s", layer)));
}

BurnTensor *burn_nn_input(const BurnParam *weight, BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  burn_param_observe(weight, x);
  if (burn_rank(x) == 0 || !burn_param_quantizes_input(weight)) return x;
  return burn_dequantize(burn_param_quant_input(weight, x), dtype);
}

BurnLinear burn_nn_linear(BurnStatus status, const BurnLinearConfig *config, BurnDevice *device) {
  if (status == BURN_OK) return burn_linear_init(config, device);
  return (BurnLinear){.weight = burn_param(burn_tensor_failed(status))};
}

bool burn_nn_is_training(const BurnTensor *x) {
  const BurnDevice *device = burn_tensor_device(x);
  return device && burn_device_is_autodiff(device);
}

/* -- dtypes ----------------------------------------------------------------------------------- */

BurnTensor *burn_nn_in_dtype(BurnTensor *x, BurnDType dtype) {
  return burn_rank(x) == 0 || burn_dtype(x) == dtype ? x : burn_cast(x, dtype);
}

BurnTensor *burn_nn_widened(BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16 ? burn_cast(x, BURN_DTYPE_F32) : x;
}
