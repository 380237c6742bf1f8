/* param_extra.c - parameters that are more than a plain tensor: quantized ones, and such with an adapter.
 *
 * What is quantized stands in the place of the value: the i8 tensor has the shape of the parameter, so that whoever
 * asks for shapes, devices or presence need not know. The factors of an adapter are parameters, which the walk over a
 * module meets after their weight; all else is here. */
#include "module_internal.h"

#include <burn/autodiff.h>
#include <burn/lora.h>

#include <stdlib.h>
#include <string.h>

/* -- lifetime --------------------------------------------------------------------------------- */

BurnParamExtra *burn__param_extra(BurnParam *param) {
  if (!param->extra) param->extra = calloc(1, sizeof *param->extra);
  return param->extra;
}

static BurnStatus no_memory(void) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a parameter that is more than a tensor");
}

/* The tensors of an extra that are not parameters. */
enum { EXTRA_TENSORS = 3 };

static void extra_tensors(BurnParamExtra *extra, BurnTensor **places[EXTRA_TENSORS]) {
  places[0] = &extra->scales.scales;
  places[1] = &extra->scales.global_scale;
  places[2] = &extra->input_scale;
}

static void drop_quantized(BurnParamExtra *extra) {
  BurnTensor **places[EXTRA_TENSORS];
  extra_tensors(extra, places);
  for (int i = 0; i < EXTRA_TENSORS; i++) {
    burn_drop(*places[i]);
    *places[i] = NULL;
  }
  extra->is_quantized = false;
  extra->input = BURN_PARAM_INPUT_FLOAT;
}

void burn__param_extra_release(BurnParam *param) {
  BurnParamExtra *extra = param->extra;
  if (!extra) return;
  drop_quantized(extra);
  burn__observer_release(extra->observer);
  burn_drop(extra->a.value);
  burn_drop(extra->b.value);
  free(extra);
  param->extra = NULL;
}

void burn_param_release(BurnParam *param) {
  if (!param) return;
  burn_drop(param->value);
  burn__param_extra_release(param);
  *param = (BurnParam){.value = NULL};
}

void burn__param_extra_map(BurnParam *param, BurnTensorFunction each, void *context) {
  BurnTensor **places[EXTRA_TENSORS];
  if (!param->extra) return;
  extra_tensors(param->extra, places);
  for (int i = 0; i < EXTRA_TENSORS; i++) {
    if (*places[i]) *places[i] = burn_scope_keep(NULL, each(context, *places[i]));
  }
}

typedef struct Copying {
  BurnTensorFunction each;
  void *context;
} Copying;

static BurnTensor *copy_tensor(void *context, BurnTensor *x) {
  const Copying *copying = context;
  return copying->each(copying->context, burn_clone(x));
}

void burn__param_extra_copy(BurnParam *param, BurnTensorFunction each, void *context) {
  const BurnParamExtra *original = param->extra;
  Copying copying = {each, context};
  if (!original) return;
  param->extra = malloc(sizeof *param->extra);
  if (!param->extra) {
    burn_drop(param->value);
    burn__param_store(param, burn_tensor_failed(no_memory()));
    return;
  }
  *param->extra = *original;
  param->extra->observer = NULL; /* a calibration is of one object */
  burn__param_extra_map(param, copy_tensor, &copying);
}

/* -- values ----------------------------------------------------------------------------------- */

BurnQuantTensor burn_param_quant(const BurnParam *param) {
  if (!burn__param_is_quantized(param)) return (BurnQuantTensor){.values = NULL};
  const BurnQuantTensor stored = {param->value, param->extra->scales, param->extra->scheme};
  return burn_quant_clone(&stored);
}

BurnTensor *burn_param_base(const BurnParam *param) {
  if (!burn__param_is_quantized(param)) return burn_clone(param->value);
  return burn_dequantize(burn_param_quant(param), param->extra->dtype);
}

/* base (taken) + scale * (a x b). */
static BurnTensor *with_adapter(BurnTensor *base, const BurnParamExtra *extra) {
  const BurnDType dtype = burn_dtype(base);
  BurnTensor *change = burn_matmul(burn_clone(extra->a.value), burn_clone(extra->b.value));
  change = burn_mul_scalar(change, extra->lora_scale);
  return burn_add(base, burn_dtype(change) == dtype ? change : burn_cast(change, dtype));
}

BurnTensor *burn_param_value(const BurnParam *param) {
  if (!param->extra) return burn_clone(param->value);
  BurnTensor *base = burn_param_base(param);
  return param->extra->is_adapted ? with_adapter(base, param->extra) : base;
}

bool burn_param_lora(const BurnParam *param, const BurnParam **a, const BurnParam **b, double *scale) {
  const bool is_adapted = burn__param_is_adapted(param);
  if (a) *a = is_adapted ? &param->extra->a : NULL;
  if (b) *b = is_adapted ? &param->extra->b : NULL;
  if (scale) *scale = is_adapted ? param->extra->lora_scale : 0;
  return is_adapted;
}

/* -- from floats to quantized values and back --------------------------------------------------- */

static void swap_value(BurnParam *param, BurnTensor *value) {
  BurnTensor *old = param->value;
  burn__param_store(param, value);
  burn_drop(old);
}

void burn__param_replace(BurnParam *param, BurnTensor *value) {
  swap_value(param, value);
  if (param->extra) drop_quantized(param->extra);
}

void burn__param_quantize(BurnParam *param, BurnQuantTensor q, BurnDType dtype) {
  BurnParamExtra *extra = burn__param_extra(param);
  if (!extra) {
    burn_quant_drop(q);
    swap_value(param, burn_tensor_failed(no_memory()));
    return;
  }
  drop_quantized(extra);
  swap_value(param, q.values);
  extra->is_quantized = true;
  extra->scheme = q.scheme;
  extra->dtype = dtype;
  extra->scales.scales = burn_scope_keep(NULL, q.parameters.scales);
  extra->scales.global_scale = burn_scope_keep(NULL, q.parameters.global_scale);
}

void burn__param_dequantize(BurnParam *param) {
  if (burn__param_is_quantized(param)) burn__param_replace(param, burn_param_base(param));
}

/* -- inputs ----------------------------------------------------------------------------------- */

void burn__param_set_input(BurnParam *param, BurnTensor *scale) {
  BurnParamExtra *extra = param->extra;
  burn_drop(extra->input_scale);
  extra->input_scale = burn_scope_keep(NULL, scale);
  extra->input = scale ? BURN_PARAM_INPUT_FIXED : BURN_PARAM_INPUT_DYNAMIC;
}

bool burn_param_quantizes_input(const BurnParam *weight) {
  return weight->extra && weight->extra->input != BURN_PARAM_INPUT_FLOAT;
}

BurnQuantTensor burn_param_quant_input(const BurnParam *weight, BurnTensor *x) {
  BurnQuantScheme scheme = BURN_QUANT_SCHEME;
  const BurnParamExtra *extra = weight->extra;
  scheme.value = BURN_QUANT_Q8S;
  if (burn_is_tracked(x)) {
    burn_drop(x);
    x = burn_tensor_failed(burn_status_make(
        BURN_STATUS_FAILED_PRECONDITION,
        "the input is quantized, which no gradient passes: use burn_module_valid, or an input without history"));
  }
  if (!burn_param_quantizes_input(weight)) {
    burn_drop(x);
    x = burn_tensor_failed(burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                                            "the weight's input is not quantized: burn_param_quantizes_input says so"));
    return burn_quantize_dynamic(x, scheme);
  }
  if (extra->input == BURN_PARAM_INPUT_DYNAMIC) return burn_quantize_dynamic(x, scheme);
  return burn_quantize(x, scheme, (BurnQuantParameters){burn_clone(extra->input_scale), NULL});
}

/* -- tensors of a walk ------------------------------------------------------------------------- */

BurnStatus burn__param_status(const BurnParam *param) {
  const BurnParamExtra *extra = param->extra;
  const BurnStatus status = param->value ? burn_tensor_status(param->value) : BURN_OK;
  if (status != BURN_OK || !extra || !extra->is_quantized) return status;
  const BurnQuantTensor stored = {param->value, extra->scales, extra->scheme};
  const BurnStatus quantized = burn_quant_status(&stored);
  return quantized == BURN_OK && extra->input_scale ? burn_tensor_status(extra->input_scale) : quantized;
}

bool burn__is_factor(const BurnModuleTensor *tensor) { return strncmp(tensor->field, "lora.", 5) == 0; }

BurnTensor *burn__stored(const BurnModuleTensor *tensor) {
  return tensor->param ? burn_clone(tensor->param->value) : burn_buffer_value(tensor->buffer);
}

int64_t burn__float_count(const BurnModuleTensor *tensor) {
  BurnTensor *value = burn__stored(tensor);
  const bool is_quantized = tensor->param && burn__param_is_quantized(tensor->param);
  const bool counts = is_quantized || burn_dtype_kind(burn_dtype(value)) == BURN_KIND_FLOAT;
  const int64_t count = counts ? burn_element_count(value) : 0;
  burn_drop(value);
  return count;
}
