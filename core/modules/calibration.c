/* calibration.c - the ranges of inputs, noted while a module runs on sample data.
 *
 * Every parameter of the group gets an observer. A layer tells the weight's observer what it is about to multiply; the
 * smallest and largest element so far stay on the device, so that nothing waits for values until the end. */
#include "core_internal.h"
#include "quantizer_internal.h"

#include <burn/autodiff.h>

#include <math.h>
#include <stdlib.h>

struct BurnObserver {
  pthread_mutex_t mutex;
  BurnTensor *low, *high; /* [1]; NULL before the first batch */
};

struct BurnCalibration {
  BurnModule module;
  BurnQuantizer quantizer;
  size_t seen;
};

static const BurnQuantScheme input_scheme = {BURN_QUANT_Q8S, BURN_DTYPE_F32, 0, {0, 0, 0, 0, 0}, false};

/* -- observers -------------------------------------------------------------------------------- */

static BurnObserver *observer_create(void) {
  BurnObserver *observer = calloc(1, sizeof *observer);
  if (observer && pthread_mutex_init(&observer->mutex, NULL) == 0) return observer;
  free(observer);
  return NULL;
}

void burn__observer_release(BurnObserver *observer) {
  if (!observer) return;
  burn_drop(observer->low);
  burn_drop(observer->high);
  (void)pthread_mutex_destroy(&observer->mutex);
  free(observer);
}

/* Takes the range of a batch. */
static void widen(BurnObserver *observer, BurnTensor *low, BurnTensor *high) {
  (void)pthread_mutex_lock(&observer->mutex);
  observer->low = burn_scope_keep(NULL, observer->low ? burn_min_pair(observer->low, low) : low);
  observer->high = burn_scope_keep(NULL, observer->high ? burn_max_pair(observer->high, high) : high);
  (void)pthread_mutex_unlock(&observer->mutex);
}

void burn_param_observe(const BurnParam *weight, const BurnTensor *x) {
  BurnObserver *observer = weight->extra ? weight->extra->observer : NULL;
  BurnTensor *low = NULL, *high = NULL;
  if (!observer || burn_tensor_status(x) != BURN_OK || !burn__work_enter()) return;
  BurnTensor *seen = burn_clone(x);
  if (burn_is_tracked(seen)) seen = burn_detach(seen);
  burn_quant_range(seen, input_scheme, BURN_QUANT_MIN_MAX, &low, &high);
  widen(observer, low, high);
  burn__work_leave();
}

/* -- begin ------------------------------------------------------------------------------------ */

static BurnStatus check_tensor(void *context, const BurnModuleTensor *tensor) {
  const BurnCalibration *calibration = context;
  if (!burn__quantizer_wants(&calibration->quantizer, tensor)) return BURN_OK;
  if (tensor->param->extra && tensor->param->extra->observer) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "%s: calibration: another one is in progress",
                            tensor->path);
  }
  return burn__refuse_adapter("calibration", tensor);
}

static BurnStatus observe(void *context, const BurnModuleTensor *tensor) {
  const BurnCalibration *calibration = context;
  if (!burn__quantizer_wants(&calibration->quantizer, tensor)) return BURN_OK;
  BurnParamExtra *extra = burn__param_extra(tensor->param);
  if (extra) extra->observer = observer_create();
  if (extra && extra->observer) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: calibration: no memory", tensor->path);
}

static BurnStatus forget(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  BurnParamExtra *extra = tensor->param ? tensor->param->extra : NULL;
  if (!extra || !extra->observer) return BURN_OK;
  burn__observer_release(extra->observer);
  extra->observer = NULL;
  if (!extra->is_quantized && !extra->is_adapted) burn__param_extra_release(tensor->param);
  return BURN_OK;
}

void burn_calibration_cancel(BurnCalibration *calibration) {
  if (!calibration) return;
  const BurnModuleWalk walk = {.tensor = forget};
  (void)burn__module_walk(calibration->module, &walk);
  free(calibration);
}

BurnStatus burn_calibration_begin(BurnModule module, const BurnQuantizer *quantizer, BurnCalibration **out) {
  BurnCalibration chosen = {module, *burn__quantizer(quantizer), 0};
  if (!out) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "calibration: the pointer for it is NULL");
  BurnStatus status = burn__quantizer_check(&chosen.quantizer, module);
  if (status == BURN_OK) status = burn_module_visit(module, check_tensor, &chosen);
  if (status != BURN_OK) return status;
  BurnCalibration *calibration = malloc(sizeof *calibration);
  if (!calibration) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "calibration: no memory");
  *calibration = chosen;
  status = burn_module_visit(module, observe, calibration);
  if (status == BURN_OK) {
    *out = calibration;
  } else {
    burn_calibration_cancel(calibration);
  }
  return status;
}

/* -- end -------------------------------------------------------------------------------------- */

static BurnTensor *scale_of(const BurnObserver *observer) {
  return burn_quant_parameters(burn_clone(observer->low), burn_clone(observer->high), input_scheme).scales;
}

static bool is_seen(const BurnModuleTensor *tensor) {
  const BurnParamExtra *extra = tensor->param ? tensor->param->extra : NULL;
  return extra && extra->observer && extra->observer->low;
}

static BurnStatus check_range(void *context, const BurnModuleTensor *tensor) {
  BurnCalibration *calibration = context;
  double scale = 0;
  if (!is_seen(tensor)) return BURN_OK;
  calibration->seen++;
  const BurnStatus status = burn_read_scalar(scale_of(tensor->param->extra->observer), &scale);
  if (status != BURN_OK) return burn_status_annotate(status, "%s: calibration", tensor->path);
  if (isfinite(scale)) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s: calibration: its inputs are not finite", tensor->path);
}

static BurnStatus fix_input(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  if (is_seen(tensor)) burn__param_set_input(tensor->param, scale_of(tensor->param->extra->observer));
  return BURN_OK;
}

BurnStatus burn_calibration_end(BurnCalibration *calibration) {
  if (!calibration) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "calibration: it is NULL");
  const BurnModule module = calibration->module;
  BurnStatus status = burn_module_visit(module, check_range, calibration);
  if (status == BURN_OK && calibration->seen == 0) {
    status = burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                              "calibration: no forward pass met a Linear or convolution of the group in %s",
                              burn_type_short_name(module.type));
  }
  if (status == BURN_OK) status = burn_module_quantize_weights(module, &calibration->quantizer);
  if (status == BURN_OK) status = burn_module_visit(module, fix_input, NULL);
  burn_calibration_cancel(calibration);
  return status;
}
