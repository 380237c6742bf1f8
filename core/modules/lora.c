/* lora.c - see burn/lora.h: adapters are attached and merged here; what they mean for a value is in param_extra.c. */
#include <burn/lora.h>

#include "module_internal.h"

#include <burn/autodiff.h>

#include <math.h>
#include <string.h>

/* What is attached, and to what. */
typedef struct Lora {
  const BurnLoraConfig *config;
  const BurnParamGroup *group;
  BurnDType dtype; /* BURN_DTYPE_DEFAULT: the weight's */
  size_t found;
} Lora;

static BurnStatus dtype_of(const BurnText *name, BurnDType *out) {
  static const BurnDType floats[] = {BURN_DTYPE_F64, BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  *out = BURN_DTYPE_DEFAULT;
  for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
    if (strncmp(name->text, burn_dtype_name(floats[i]), sizeof name->text) == 0) *out = floats[i];
  }
  if (!name->text[0] || *out != BURN_DTYPE_DEFAULT) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lora: dtype \"%.20s\" is none of f64, f32, f16 and bf16",
                          name->text);
}

static BurnStatus check_config(const BurnLoraConfig *config) {
  if (!config) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lora: the config is NULL");
  if (config->rank == 0 || config->rank > INT32_MAX) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lora: rank is %zu, 1 or more expected", config->rank);
  }
  if (!isfinite(config->alpha)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lora: alpha is %g, a number expected", config->alpha);
  }
  const double std = config->init_std.value;
  if (!config->init_std.present || (isfinite(std) && std >= 0)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lora: init_std is %g, 0 or more expected", std);
}

/* True if the parameter gets an adapter. */
static bool is_wanted(const Lora *lora, const BurnModuleTensor *tensor) {
  const BurnParam *param = tensor->param;
  if (!param || burn__is_factor(tensor) || burn_rank(param->value) != 2) return false;
  const bool is_float = burn__param_is_quantized(param) || burn_dtype_kind(burn_dtype(param->value)) == BURN_KIND_FLOAT;
  return is_float && burn_param_group_has(lora->group, tensor->path, param->id);
}

static BurnStatus check_tensor(void *context, const BurnModuleTensor *tensor) {
  Lora *lora = context;
  if (!is_wanted(lora, tensor)) return BURN_OK;
  lora->found++;
  if (burn__param_is_adapted(tensor->param)) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                            "%s: lora: it has an adapter: burn_module_merge_lora first", tensor->path);
  }
  if (!burn_param_quantizes_input(tensor->param)) return BURN_OK;
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                          "%s: lora: its inputs are quantized, which no gradient passes: quantize weights alone",
                          tensor->path);
}

static BurnStatus check(Lora *lora, BurnModule module) {
  BurnStatus status = check_config(lora->config);
  if (status == BURN_OK) status = dtype_of(&lora->config->dtype, &lora->dtype);
  if (status == BURN_OK) status = burn_module_status(module);
  if (status == BURN_OK) status = burn_param_group_check(lora->group, module, "lora");
  if (status == BURN_OK) status = burn_module_visit(module, check_tensor, lora);
  if (status != BURN_OK || lora->found > 0) return status;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lora: %s has no float parameter of rank 2 in the group",
                          burn_type_short_name(module.type));
}

/* The weight's floats have this dtype: of a plain one its own, of a quantized one what the config says. */
static BurnDType weight_dtype(const Lora *lora, BurnParam *param) {
  if (!burn__param_is_quantized(param)) return burn_dtype(param->value);
  if (lora->dtype != BURN_DTYPE_DEFAULT) param->extra->dtype = lora->dtype;
  return param->extra->dtype;
}

static BurnStatus attach(void *context, const BurnModuleTensor *tensor) {
  const Lora *lora = context;
  if (!is_wanted(lora, tensor)) return BURN_OK;
  BurnParam *param = tensor->param;
  BurnParamExtra *extra = burn__param_extra(param);
  if (!extra) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: lora: no memory for an adapter", tensor->path);
  const int64_t rank = (int64_t)lora->config->rank;
  const double std = lora->config->init_std.present ? lora->config->init_std.value : 1.0 / (double)rank;
  const BurnDType own = weight_dtype(lora, param), dtype = lora->dtype != BURN_DTYPE_DEFAULT ? lora->dtype : own;
  const BurnShape shape = burn_shape(param->value);
  BurnDevice *device = burn_tensor_device(param->value);
  extra->a = burn_param(burn_random_normal(device, BURN_SHAPE(shape.dims[0], rank), dtype, 0, std));
  extra->b = burn_param(burn_zeros(device, BURN_SHAPE(rank, shape.dims[1]), dtype));
  extra->lora_scale = lora->config->alpha / (double)rank;
  extra->is_adapted = true;
  return BURN_OK;
}

BurnStatus burn_module_apply_lora(BurnModule module, const BurnLoraConfig *config, const BurnParamGroup *group) {
  Lora lora = {.config = config, .group = group};
  BurnStatus status = check(&lora, module);
  if (status != BURN_OK) return status;
  burn_module_freeze(module);
  status = burn_module_visit(module, attach, &lora);
  return status == BURN_OK ? burn_module_status(module) : status;
}

BurnStatus burn_module_apply_qlora(BurnModule module, const BurnLoraConfig *config, const BurnParamGroup *group,
                                   const BurnQuantizer *quantizer) {
  Lora lora = {.config = config, .group = group};
  BurnStatus status = check(&lora, module); /* before anything is changed */
  if (status == BURN_OK) status = burn_module_quantize_weights(module, quantizer);
  return status == BURN_OK ? burn_module_apply_lora(module, config, group) : status;
}

/* -- merging ---------------------------------------------------------------------------------- */

static BurnStatus merge(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  BurnParam *param = tensor->param;
  if (!param || !burn__param_is_adapted(param)) return BURN_OK;
  BurnTensor *value = burn_param_value(param);
  if (burn_is_tracked(value)) value = burn_detach(value);
  const BurnStatus status = burn_tensor_status(value);
  if (status == BURN_OK) {
    burn_param_set(param, value);
    return BURN_OK;
  }
  burn_drop(value);
  return burn_status_annotate(status, "%s", tensor->path);
}

BurnStatus burn_module_merge_lora(BurnModule module) { return burn_module_visit(module, merge, NULL); }
