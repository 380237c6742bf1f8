/* grad_scaler.c - dynamic loss scaling. Whether all gradients are finite is one number of the device, which a step
 * waits for: it says whether the optimizer is to be called at all. */
#include <math.h>
#include <stdlib.h>

#include <burn/train/grad_scaler.h>

#include "null_check.h"
#include "optimizer_internal.h"

BurnGradScaler burn_grad_scaler(const BurnGradScalerConfig *config) {
  const BurnGradScalerConfig with = config ? *config : BurnGradScalerConfig_defaults();
  return (BurnGradScaler){.config = with, .scale = with.init_scale};
}

BurnStatus burn_grad_scaler_status(const BurnGradScaler *scaler) {
  const BurnStatus given = BURN_REQUIRED_BY("grad_scaler", scaler, "a BurnGradScaler");
  if (given != BURN_OK) return given;
  const BurnGradScalerConfig *config = &scaler->config;
  const BurnNumberRange ranges[] = {
      {"init_scale", config->init_scale, nextafter(0.0, 1.0), 1e300},
      {"growth_factor", config->growth_factor, nextafter(1.0, 2.0), 1e300},
      {"backoff_factor", config->backoff_factor, nextafter(0.0, 1.0), nextafter(1.0, 0.0)}};
  return burn__check_ranges("grad_scaler", ranges, sizeof ranges / sizeof ranges[0]);
}

BurnTensor *burn_grad_scaler_scale(const BurnGradScaler *scaler, BurnTensor *loss) {
  if (scaler) return burn_mul_scalar(loss, scaler->scale);
  burn_drop(loss);
  return burn_tensor_failed(burn_grad_scaler_status(scaler));
}

/* x (taken) divided; of halves in f32, rounded once. */
static BurnTensor *divided(BurnTensor *x, double scale) {
  const BurnDType dtype = burn_dtype(x);
  x = burn__without_halves(x);
  return burn_cast(burn_mul_scalar(x, 1 / scale), dtype);
}

/* [1], bool: no element of x is NaN or infinite. The largest one tells: NaN wins. */
static BurnTensor *is_finite(const BurnTensor *x) { return burn_is_finite(burn_max(burn_abs(burn_clone(x)))); }

/* Whether [1] of each device is true. */
static BurnStatus read_all_true(BurnTensor **flags, size_t count, bool *out) {
  BurnStatus status = BURN_OK;
  *out = true;
  for (size_t i = 0; i < count; i++) { /* one after the other on one device: one wait for all of them */
    double flag = 0;
    const bool more = i + 1 < count && burn_tensor_device(flags[i]) == burn_tensor_device(flags[i + 1]);
    if (more) {
      flags[i + 1] = burn_bool_and(flags[i], flags[i + 1]);
      continue;
    }
    const BurnStatus read = burn_read_scalar(flags[i], &flag);
    if (status == BURN_OK) status = read;
    *out = *out && flag > 0;
  }
  return status;
}

BurnStatus burn_grad_scaler_unscale(const BurnGradScaler *scaler, BurnGradientsParams *gradients, bool *finite) {
  size_t count = 0;
  BurnStatus status = burn__gradients_params_status(gradients);
  if (status == BURN_OK) status = burn_grad_scaler_status(scaler);
  if (status == BURN_OK) status = BURN_REQUIRED(finite, "a bool");
  if (status != BURN_OK) return status;
  BurnTensor **flags = malloc((gradients->map.count + 1) * sizeof *flags);
  if (!flags)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "grad_scaler: out of memory for %zu gradients",
                            gradients->map.count);
  for (size_t i = 0; i < gradients->map.count; i++) {
    BurnTensor **entry = burn__param_map_at(&gradients->map, i);
    if (!*entry || burn_element_count(*entry) == 0) continue;
    *entry = burn_scope_keep(NULL, divided(*entry, scaler->scale));
    flags[count++] = is_finite(*entry);
  }
  status = read_all_true(flags, count, finite);
  free(flags);
  return burn_status_annotate(status, "grad_scaler");
}

void burn_grad_scaler_update(BurnGradScaler *scaler, bool finite) {
  const BurnGradScalerConfig *config = &scaler->config;
  if (!finite) {
    scaler->scale *= config->backoff_factor;
    scaler->growth_tracker = 0;
  } else if (++scaler->growth_tracker >= config->growth_interval) {
    const double grown = scaler->scale * config->growth_factor;
    if (isfinite((float)grown)) scaler->scale = grown; /* the loss is f32 */
    scaler->growth_tracker = 0;
  }
}

BurnStatus burn_grad_scaler_step_rates(BurnGradScaler *scaler, BurnOptimizer *optimizer, BurnModule module,
                                       BurnGradientsParams *gradients, const BurnModuleLearningRate *rates,
                                       bool *stepped) {
  bool finite = false;
  if (stepped) *stepped = false;
  BurnStatus status = burn_grad_scaler_unscale(scaler, gradients, &finite);
  if (status != BURN_OK || !finite) {
    burn_gradients_params_drop(gradients);
  } else {
    status = burn_optimizer_step_rates(optimizer, module, gradients, rates);
  }
  if (status != BURN_OK) return status;
  if (stepped) *stepped = finite;
  burn_grad_scaler_update(scaler, finite);
  return BURN_OK;
}

BurnStatus burn_grad_scaler_step(BurnGradScaler *scaler, BurnOptimizer *optimizer, BurnModule module,
                                 BurnGradientsParams *gradients, double learning_rate, bool *stepped) {
  return burn_grad_scaler_step_rates(scaler, optimizer, module, gradients,
                                     &(BurnModuleLearningRate){.base = learning_rate}, stepped);
}

BurnValue *burn_grad_scaler_value(const BurnGradScaler *scaler) {
  if (!scaler) return NULL;
  BurnValue *value = burn_value_map();
  bool sound = burn_value_set(value, "scale", burn_value_float(scaler->scale));
  sound = burn_value_set(value, "growth_tracker", burn_value_int((int64_t)scaler->growth_tracker)) && sound;
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

BurnStatus burn_grad_scaler_load(BurnGradScaler *scaler, const BurnValue *value) {
  const BurnStatus given = BURN_REQUIRED_BY("grad_scaler", scaler, "a BurnGradScaler");
  if (given != BURN_OK) return given;
  const double scale = burn_value_as_float(burn_value_get(value, "scale"), 0);
  const int64_t tracker = burn_value_as_int(burn_value_get(value, "growth_tracker"), -1);
  if (!(scale > 0) || !isfinite(scale) || tracker < 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "grad_scaler: a scale of %g after %lld steps is none", scale,
                            (long long)tracker);
  scaler->scale = scale;
  scaler->growth_tracker = (uint64_t)tracker;
  return BURN_OK;
}
