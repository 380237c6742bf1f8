/* norm.c - batch and layer normalisation.
 *
 * In BatchNorm f16 and bf16 are computed in f32: squares would overflow and running values stand still between two
 * numbers. */
#include <burn/autodiff.h>
#include <burn/nn/norm.h>

#include "nn_internal.h"

BurnBatchNorm burn_batch_norm_init(const BurnBatchNormConfig *config, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES, zeros = BURN_ZEROS;
  const char *layer = "batch_norm";
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnBatchNormConfig_type(), layer, &status);
  if (status == BURN_OK) status = burn_nn_check_norm(layer, "num_features", config->num_features, config->epsilon);
  const BurnShape shape = BURN_SHAPE((int64_t)config->num_features);
  BurnBatchNorm m = {.momentum = config->momentum, .epsilon = config->epsilon};
  if (status == BURN_OK && !(config->momentum >= 0 && config->momentum <= 1)) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: momentum %g is outside 0..1", layer, config->momentum);
  }
  m.gamma = burn_nn_param(status, layer, &ones, shape, 0, 0, device);
  m.beta = burn_nn_param(status, layer, &zeros, shape, 0, 0, device);
  m.running_mean =
      burn_buffer(status == BURN_OK ? burn_zeros(device, shape, BURN_DTYPE_DEFAULT) : burn_tensor_failed(status));
  m.running_var =
      burn_buffer(status == BURN_OK ? burn_ones(device, shape, BURN_DTYPE_DEFAULT) : burn_tensor_failed(status));
  return m;
}

/* running = (1 - momentum) running + momentum batch; batch [c] is taken. A failed batch changes nothing. */
static void update_running(const BurnBuffer *running, BurnTensor *batch, double momentum) {
  BurnTensor *next = burn_buffer_value(running);
  const BurnDType kept = burn_dtype(next);
  if (burn_tensor_status(batch) != BURN_OK) {
    burn_drop(batch);
    burn_drop(next);
    return;
  }
  batch = burn_detach(batch);
  next = burn_mul_scalar(burn_nn_in_dtype(next, burn_dtype(batch)), 1 - momentum);
  next = burn_add(next, burn_mul_scalar(batch, momentum));
  if (burn_tensor_status(next) != BURN_OK) {
    burn_drop(next);
    return;
  }
  burn_buffer_set(running, burn_nn_in_dtype(next, kept));
}

/* x by its own statistics, which also move the running ones. */
static BurnTensor *batch_norm_train(const BurnBatchNorm *m, BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  BurnTensor *gamma = burn_nn_in_dtype(burn_param_value(&m->gamma), dtype),
             *beta = burn_nn_in_dtype(burn_param_value(&m->beta), dtype);
  BurnTensor *mean, *var;
  x = burn_batch_norm_train(x, gamma, beta, m->epsilon, &mean, &var);
  update_running(&m->running_mean, mean, m->momentum);
  update_running(&m->running_var, var, m->momentum);
  return x;
}

/* x by the running statistics. */
static BurnTensor *batch_norm_infer(const BurnBatchNorm *m, BurnTensor *x) {
  BurnDevice *device = burn_tensor_device(x);
  const BurnDType dtype = burn_dtype(x);
  BurnTensor *mean = burn_nn_in_dtype(burn_to_device(burn_buffer_value(&m->running_mean), device), dtype);
  BurnTensor *var = burn_nn_in_dtype(burn_to_device(burn_buffer_value(&m->running_var), device), dtype);
  BurnTensor *gamma = burn_nn_in_dtype(burn_param_value(&m->gamma), dtype),
             *beta = burn_nn_in_dtype(burn_param_value(&m->beta), dtype);
  return burn_batch_norm(x, gamma, beta, mean, var, m->epsilon);
}

static BurnTensor *batch_norm(const BurnBatchNorm *m, BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  const int64_t features = m->gamma.value ? burn_element_count(m->gamma.value) : 0;
  const bool training = burn_nn_is_training(x);
  const BurnDType dtype = burn_dtype(x);
  /* A failed parameter or input needs no check of shapes: it is the message. */
  if (features > 0 && shape.rank != 0 && (shape.rank < 2 || shape.dims[1] != features)) {
    burn_drop(x);
    if (shape.rank < 2) {
      return burn_tensor_failed(
          burn_status_make(BURN_STATUS_INVALID_SHAPE, "batch_norm: rank 2 or more expected, found 1"));
    }
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_SHAPE,
                                               "batch_norm: axis 1 has %lld features, num_features is %lld",
                                               (long long)shape.dims[1], (long long)features));
  }
  if (features <= 0 || shape.rank == 0) return burn_mul(x, burn_param_value(&m->gamma));
  x = burn_nn_widened(x);
  return burn_nn_in_dtype(training ? batch_norm_train(m, x) : batch_norm_infer(m, x), dtype);
}

BurnTensor *burn_batch_norm_forward(const BurnBatchNorm *m, BurnTensor *x) {
  const bool sound = burn_nn_sound(x);
  return burn_nn_placed(sound, &m->gamma, "batch_norm", batch_norm(m, x));
}

BurnLayerNorm burn_layer_norm_init(const BurnLayerNormConfig *config, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES, zeros = BURN_ZEROS;
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnLayerNormConfig_type(), "layer_norm", &status);
  if (status == BURN_OK) status = burn_nn_check_norm("layer_norm", "d_model", config->d_model, config->epsilon);
  const BurnShape shape = BURN_SHAPE((int64_t)config->d_model);
  BurnLayerNorm m = {.epsilon = config->epsilon};
  m.gamma = burn_nn_param(status, "layer_norm", &ones, shape, 0, 0, device);
  if (config->bias) m.beta = burn_nn_param(status, "layer_norm", &zeros, shape, 0, 0, device);
  return m;
}

BurnTensor *burn_layer_norm_forward(const BurnLayerNorm *m, BurnTensor *x) {
  const bool sound = burn_nn_sound(x);
  x = burn_layer_norm(x, burn_param_value(&m->gamma), burn_param_value(&m->beta), m->epsilon);
  return burn_nn_placed(sound, &m->gamma, "layer_norm", x);
}
