/* quantizer.c - see burn/quantizer.h: weights, and inputs by the range of each batch. Ranges found beforehand are
 * calibration.c's. */
#include "quantizer_internal.h"

#include <burn/autodiff.h>

/* What a NULL quantizer is. */
static const BurnQuantizer default_quantizer = {
    BURN_QUANT_MIN_MAX, {BURN_QUANT_Q8F, BURN_DTYPE_F32, 0, {0, 0, 0, 0, 0}, false}, NULL};

const BurnQuantizer *burn__quantizer(const BurnQuantizer *quantizer) {
  return quantizer ? quantizer : &default_quantizer;
}

bool burn__quantizer_wants(const BurnQuantizer *quantizer, const BurnModuleTensor *tensor) {
  const BurnParam *param = tensor->param;
  if (!param || burn__is_factor(tensor)) return false;
  const bool is_float = burn__param_is_quantized(param) || burn_dtype_kind(burn_dtype(param->value)) == BURN_KIND_FLOAT;
  return is_float && burn_param_group_has(quantizer->group, tensor->path, param->id);
}

/* -- weights ---------------------------------------------------------------------------------- */

static bool is_to_do(const BurnQuantizer *quantizer, const BurnModuleTensor *tensor) {
  return burn__quantizer_wants(quantizer, tensor) && !burn__param_is_quantized(tensor->param);
}

/* Takes x: quantized by its own range. */
static BurnQuantTensor quantized(const BurnQuantizer *quantizer, BurnTensor *x) {
  BurnTensor *low = NULL, *high = NULL;
  burn_quant_range(burn_clone(x), quantizer->scheme, quantizer->calibration, &low, &high);
  return burn_quantize(x, quantizer->scheme, burn_quant_parameters(low, high, quantizer->scheme));
}

static BurnTensor *without_history(const BurnParam *param) {
  BurnTensor *value = burn_clone(param->value);
  return burn_is_tracked(value) ? burn_detach(value) : value;
}

/* A quantizer that is compared with a module, and how many parameters it wants. */
typedef struct Check {
  const BurnQuantizer *quantizer;
  size_t found;
} Check;

/* What quantizing would refuse, above all the shape's blocks, the range has already reported. */
static BurnStatus check_tensor(void *context, const BurnModuleTensor *tensor) {
  Check *check = context;
  const BurnQuantizer *quantizer = check->quantizer;
  BurnTensor *low = NULL, *high = NULL;
  check->found += burn__quantizer_wants(quantizer, tensor);
  if (!is_to_do(quantizer, tensor)) return BURN_OK;
  burn_quant_range(without_history(tensor->param), quantizer->scheme, quantizer->calibration, &low, &high);
  const BurnStatus status = burn_tensor_status(high);
  burn_drop(low);
  burn_drop(high);
  return status == BURN_OK ? BURN_OK : burn_status_annotate(status, "%s: quantize_weights", tensor->path);
}

BurnStatus burn__quantizer_check(const BurnQuantizer *quantizer, BurnModule module) {
  Check check = {quantizer, 0};
  BurnStatus status = burn_module_status(module);
  if (status == BURN_OK) status = burn_param_group_check(quantizer->group, module, "quantize_weights");
  if (status == BURN_OK) status = burn_module_visit(module, check_tensor, &check);
  if (status != BURN_OK || check.found > 0 || !quantizer->group) return status;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "quantize_weights: %s has no float parameter in the group",
                          burn_type_short_name(module.type));
}

static BurnStatus quantize_tensor(void *context, const BurnModuleTensor *tensor) {
  const BurnQuantizer *quantizer = context;
  BurnParam *param = tensor->param;
  if (!is_to_do(quantizer, tensor)) return BURN_OK;
  burn__param_quantize(param, quantized(quantizer, without_history(param)), burn_dtype(param->value));
  const BurnStatus status = burn__param_status(param);
  return status == BURN_OK ? BURN_OK : burn_status_annotate(status, "%s", tensor->path);
}

BurnStatus burn_module_quantize_weights(BurnModule module, const BurnQuantizer *quantizer) {
  BurnQuantizer chosen = *burn__quantizer(quantizer);
  const BurnStatus status = burn__quantizer_check(&chosen, module);
  return status == BURN_OK ? burn_module_visit(module, quantize_tensor, &chosen) : status;
}

/* -- inputs ----------------------------------------------------------------------------------- */

BurnStatus burn__refuse_adapter(const char *who, const BurnModuleTensor *tensor) {
  if (!burn__param_is_adapted(tensor->param)) return BURN_OK;
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "%s: %s: it has an adapter: burn_module_merge_lora first",
                          tensor->path, who);
}

/* The weights whose inputs are meant. */
typedef struct Inputs {
  BurnQuantizer quantizer;
  size_t found;
} Inputs;

static bool has_input(const Inputs *inputs, const BurnModuleTensor *tensor) {
  return burn__quantizer_wants(&inputs->quantizer, tensor) && burn__param_is_quantized(tensor->param);
}

static BurnStatus check_input(void *context, const BurnModuleTensor *tensor) {
  Inputs *inputs = context;
  if (!has_input(inputs, tensor)) return BURN_OK;
  inputs->found++;
  return burn__refuse_adapter("quantize_inputs", tensor);
}

static BurnStatus set_input(void *context, const BurnModuleTensor *tensor) {
  if (has_input(context, tensor)) burn__param_set_input(tensor->param, NULL);
  return BURN_OK;
}

BurnStatus burn_module_quantize_inputs(BurnModule module, const BurnParamGroup *group) {
  Inputs inputs = {.quantizer.group = group};
  BurnStatus status = burn_param_group_check(group, module, "quantize_inputs");
  if (status == BURN_OK) status = burn_module_visit(module, check_input, &inputs);
  if (status == BURN_OK && inputs.found == 0) {
    status = burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                              "quantize_inputs: %s has no quantized weight in the group: quantize weights first",
                              burn_type_short_name(module.type));
  }
  return status == BURN_OK ? burn_module_visit(module, set_input, &inputs) : status;
}
