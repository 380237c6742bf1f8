/* optimizer.c - a rule applied to a whole module: finds each parameter's gradient and state by id, takes the parameter
 * below autodiff, lets the rule compute the new one and puts it back as a leaf. The parameter, its gradient and its
 * state are given away, not cloned, so a step runs in the memory they have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <burn/op_call.h>

#include "optimizer_internal.h"

BurnStatus burn__no_optimizer(void) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "optimizer: out of memory when it was created");
}

BurnParamMap burn__states_map(const BurnOptimizerRule *rule) {
  return (BurnParamMap){.value_bytes = sizeof(BurnStateEntry) + rule->tensor_count * sizeof(BurnTensor *)};
}

BurnOptimizer *burn_optimizer_create(const BurnOptimizerRule *rule, const void *config, size_t config_bytes) {
  BurnOptimizer *optimizer = calloc(1, sizeof *optimizer);
  void *copy = malloc(config_bytes ? config_bytes : 1);
  if (!optimizer || !copy) {
    free(optimizer);
    free(copy);
    return NULL;
  }
  if (config_bytes) memcpy(copy, config, config_bytes);
  optimizer->rule = rule;
  optimizer->config = copy;
  optimizer->states = burn__states_map(rule);
  return optimizer;
}

void burn__states_drop(const BurnOptimizerRule *rule, BurnParamMap *states) {
  for (size_t i = 0; i < states->count; i++) {
    BurnStateEntry *entry = burn__param_map_at(states, i);
    for (size_t t = 0; t < rule->tensor_count; t++) burn_drop(entry->tensors[t]);
  }
  burn__param_map_free(states);
}

void burn_optimizer_destroy(BurnOptimizer *optimizer) {
  if (!optimizer) return;
  burn__states_drop(optimizer->rule, &optimizer->states);
  free(optimizer->config);
  free(optimizer);
}

/* -- the step --------------------------------------------------------------------------------- */

typedef struct StepContext {
  BurnOptimizer *optimizer;
  BurnGradientsParams *linked; /* where the gradients are: by parameter id, */
  BurnGradients *gradients;    /* or as the backward pass left them, if `linked` is NULL */
  double learning_rate;
  size_t done, missed; /* parameters that had a gradient, and that asked for one and had none */
  char missed_paths[400];
} StepContext;

/* Moves the gradient of a parameter out; NULL if there is none. */
static BurnTensor *take_gradient(const StepContext *step, const BurnParam *param) {
  if (step->linked) return burn__gradients_params_take(step->linked, param->id);
  return burn_is_require_grad(param->value) ? burn_grad_remove(param->value, step->gradients) : NULL;
}

/* That a tensor is sound and shaped like the parameter: checked before the parameter is given away. */
static BurnStatus check_like(const char *what, const BurnTensor *tensor, const BurnTensor *param) {
  const BurnStatus status = burn_tensor_status(tensor);
  if (status != BURN_OK) return status;
  const BurnShape shape = burn_shape(tensor), expected = burn_shape(param);
  if (shape.rank == expected.rank && memcmp(shape.dims, expected.dims, shape.rank * sizeof shape.dims[0]) == 0)
    return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s is %s, the parameter %s", what, burn_shape_text(shape).text,
                          burn_shape_text(expected).text);
}

/* A gradient that a backward pass has just left has its parameter's shape. */
static BurnStatus check_step(const StepContext *step, const BurnStateEntry *state, const BurnTensor *gradient,
                             const BurnTensor *param) {
  const BurnOptimizerRule *rule = step->optimizer->rule;
  BurnStatus status = burn_tensor_status(param);
  if (status == BURN_OK) status = step->linked ? check_like("gradient", gradient, param) : burn_tensor_status(gradient);
  for (size_t t = 0; t < rule->tensor_count && status == BURN_OK; t++) {
    if (state->tensors[t]) status = check_like(rule->tensors[t].name, state->tensors[t], param);
  }
  return status;
}

/* State follows the parameter to its device and dtype. */
static BurnTensor *moved_like(BurnTensor *tensor, const BurnTensor *param) {
  if (!tensor || !burn_tensor_device(param)) return tensor;
  if (burn_tensor_device(tensor) != burn_tensor_device(param))
    tensor = burn_to_device(tensor, burn_tensor_device(param));
  return burn_dtype(tensor) == burn_dtype(param) ? tensor : burn_cast(tensor, burn_dtype(param));
}

/* The new value in place of the old one: lifted back above autodiff, and a leaf again if it was. */
static void put_back(BurnParam *param, BurnTensor *value, BurnDevice *device, bool leaf) {
  if (burn_device_is_autodiff(device)) value = burn_from_inner(value, device);
  param->value = burn_scope_keep(NULL, leaf ? burn_require_grad(value) : value);
}

/* x in f32 if it is f16 or bf16. In those a decaying average soon stands still (0.999 x rounds to x in bf16), and the
 * square of a small gradient is 0; so steps are computed in f32 and states are kept in it. Takes x. */
static BurnTensor *without_halves(BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16 ? burn_cast(x, BURN_DTYPE_F32) : x;
}

static BurnStatus step_param(const StepContext *step, BurnStateEntry *entry, BurnTensor *gradient, BurnParam *param) {
  const BurnOptimizerRule *rule = step->optimizer->rule;
  BurnDevice *device = burn_tensor_device(param->value);
  const bool leaf = burn_is_require_grad(param->value);
  BurnStatus status = check_step(step, entry, gradient, param->value);
  if (status != BURN_OK) {
    burn_drop(gradient);
    return status;
  }
  const BurnDType dtype = burn_dtype(param->value);
  BurnTensor *value = without_halves(burn_inner(param->value));
  BurnOptimizerState state = {entry->time, entry->tensors};
  for (size_t t = 0; t < rule->tensor_count; t++) state.tensors[t] = moved_like(state.tensors[t], value);
  value = rule->step(step->optimizer->config, &state, value, moved_like(gradient, value), step->learning_rate);
  entry->time = state.time;
  put_back(param, burn_dtype(value) == dtype ? value : burn_cast(value, dtype), device, leaf);
  status = burn_tensor_status(param->value);
  for (size_t t = 0; t < rule->tensor_count; t++) {
    burn_scope_keep(NULL, state.tensors[t]);
    if (status == BURN_OK && state.tensors[t]) status = burn_tensor_status(state.tensors[t]);
  }
  return status;
}

/* A parameter that asks for a gradient and has none is legal, as one that this batch did not use. */
static void note_missed(StepContext *step, const BurnModuleTensor *tensor) {
  const size_t used = strlen(step->missed_paths), room = sizeof step->missed_paths - used;
  if (!burn_is_require_grad(tensor->param->value)) return;
  if (step->missed++ == 0 || strlen(tensor->path) + 3 < room) {
    snprintf(step->missed_paths + used, room, "%s%.300s", used ? ", " : "", tensor->path);
  }
}

/* Fails if no parameter had a gradient; names once, per optimizer, those that had none. */
static BurnStatus check_reached(const StepContext *step, BurnModule module) {
  BurnOptimizer *optimizer = step->optimizer;
  char text[512];
  if (step->done == 0) return burn__nothing_reached(module, step->missed);
  if (step->missed == 0 || optimizer->warned) return BURN_OK;
  optimizer->warned = true;
  snprintf(text, sizeof text, "no gradient reached %zu of %zu parameters of %s, which stay as they are: %s",
           step->missed, step->done + step->missed, burn_type_short_name(module.type), step->missed_paths);
  burn_host()->log(BURN_LOG_WARN, optimizer->rule->name, text);
  return BURN_OK;
}

static BurnStatus step_visitor(void *context, const BurnModuleTensor *tensor) {
  StepContext *step = context;
  if (!tensor->param) return BURN_OK;
  BurnTensor *gradient = take_gradient(step, tensor->param);
  if (!gradient) {
    note_missed(step, tensor);
    return BURN_OK;
  }
  step->done++;
  BurnStateEntry *state = burn__param_map_add(&step->optimizer->states, tensor->param->id);
  if (!state) {
    burn_drop(gradient);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: %s: out of memory", step->optimizer->rule->name,
                            tensor->path);
  }
  return burn_status_annotate(step_param(step, state, gradient, tensor->param), "%s: %s", step->optimizer->rule->name,
                              tensor->path);
}

BurnStatus burn_optimizer_step(BurnOptimizer *optimizer, BurnModule module, BurnGradientsParams *gradients,
                               double learning_rate) {
  StepContext step = {.optimizer = optimizer, .linked = gradients, .learning_rate = learning_rate};
  BurnStatus status = optimizer ? burn__gradients_params_status(gradients) : burn__no_optimizer();
  if (status == BURN_OK) status = burn_module_visit(module, step_visitor, &step);
  if (status == BURN_OK) status = check_reached(&step, module);
  burn_gradients_params_drop(gradients);
  return status;
}

BurnStatus burn_train_step(BurnOptimizer *optimizer, BurnModule module, BurnTensor *loss, double learning_rate) {
  StepContext step = {.optimizer = optimizer, .learning_rate = learning_rate};
  BurnStatus status = burn_backward(loss, &step.gradients);
  if (status != BURN_OK) return status;
  status = optimizer ? burn_module_visit(module, step_visitor, &step) : burn__no_optimizer();
  if (status == BURN_OK) status = check_reached(&step, module);
  burn_gradients_drop(step.gradients);
  return status;
}
