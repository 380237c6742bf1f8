/* optimizer.c - a rule applied to a whole module: finds each parameter's gradient and state by id, takes the parameter
 * below autodiff, lets the rule compute the new one and puts it back as a leaf. The parameter, its gradient and its
 * state are given away, not cloned, so a step runs in the memory they have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <burn/op_call.h>

#include "optimizer_internal.h"

/* -- states ----------------------------------------------------------------------------------- */

bool burn__state_init(BurnStateEntry *state, const BurnOptimizerRule *rule) {
  BurnTensor **tensors = calloc(rule->tensor_count + 1, sizeof *tensors);
  if (tensors) *state = (BurnStateEntry){.rule = rule, .tensors = tensors};
  return tensors != NULL;
}

void burn__state_release(BurnStateEntry *state) {
  for (size_t t = 0; state->rule && t < state->rule->tensor_count; t++) burn_drop(state->tensors[t]);
  free(state->tensors);
  *state = (BurnStateEntry){.rule = NULL};
}

void burn__states_drop(BurnParamMap *states) {
  for (size_t i = 0; i < states->count; i++) burn__state_release(burn__param_map_at(states, i));
  burn__param_map_free(states);
}

/* -- the step --------------------------------------------------------------------------------- */

typedef struct StepContext {
  BurnOptimizer *optimizer;
  BurnGradientsParams *linked; /* where the gradients are: by parameter id, */
  BurnGradients *gradients;    /* or as the backward pass left them, if `linked` is NULL */
  const BurnModuleLearningRate *rates;
  size_t done, missed; /* parameters that had a gradient, and that asked for one and had none */
  char missed_paths[400];
} StepContext;

/* Moves the gradient of a parameter out; NULL if there is none. */
static BurnTensor *take_gradient(const StepContext *step, const BurnParam *param) {
  if (step->linked) return burn_gradients_params_remove(step->linked, param->id);
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
static BurnStatus check_step(const StepContext *step, const BurnOptimizerGroup *group, const BurnStateEntry *state,
                             const BurnTensor *gradient, const BurnTensor *param) {
  BurnStatus status = burn_tensor_status(param);
  if (status == BURN_OK) status = step->linked ? check_like("gradient", gradient, param) : burn_tensor_status(gradient);
  if (status == BURN_OK && group->check) status = group->check(param);
  if (status == BURN_OK && !burn__same_rows(group->rule, state->rule)) {
    status = burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "its state is that of %s", state->rule->name);
  }
  for (size_t t = 0; t < group->rule->tensor_count && status == BURN_OK; t++) {
    if (state->tensors[t]) status = check_like(group->rule->tensors[t].name, state->tensors[t], param);
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

/* One failure of the tensors of a state, which leave their scopes. */
static BurnStatus keep_state(const BurnStateEntry *entry) {
  BurnStatus status = BURN_OK;
  for (size_t t = 0; t < entry->rule->tensor_count; t++) {
    burn_scope_keep(NULL, entry->tensors[t]);
    if (status == BURN_OK && entry->tensors[t]) status = burn_tensor_status(entry->tensors[t]);
  }
  return status;
}

static BurnStatus step_param(const StepContext *step, const BurnOptimizerGroup *group, BurnStateEntry *entry,
                             BurnTensor *gradient, const BurnModuleTensor *tensor) {
  BurnParam *param = tensor->param;
  BurnDevice *device = burn_tensor_device(param->value);
  const bool leaf = burn_is_require_grad(param->value);
  BurnStatus status = check_step(step, group, entry, gradient, param->value);
  if (status != BURN_OK) {
    burn_drop(gradient);
    return status;
  }
  const BurnDType dtype = burn_dtype(param->value);
  BurnTensor *value = without_halves(burn_inner(param->value));
  BurnOptimizerState state = {entry->time, entry->tensors};
  for (size_t t = 0; t < group->rule->tensor_count; t++) state.tensors[t] = moved_like(state.tensors[t], value);
  gradient = burn__gradient_clip(moved_like(gradient, value), group->clipping);
  const double rate = burn_module_learning_rate_of(step->rates, tensor->path, param->id);
  value = group->rule->step(group->config, &state, value, gradient, rate);
  entry->time = state.time;
  put_back(param, burn_dtype(value) == dtype ? value : burn_cast(value, dtype), device, leaf);
  const BurnStatus kept = keep_state(entry);
  status = burn_tensor_status(param->value);
  return status != BURN_OK ? status : kept;
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
  burn_host()->log(BURN_LOG_WARN, optimizer->groups[0].rule->name, text);
  return BURN_OK;
}

/* The state of a parameter, a new one at its first step; NULL when out of memory. */
static BurnStateEntry *state_of(BurnOptimizer *optimizer, const BurnOptimizerGroup *group, uint64_t id) {
  BurnStateEntry *state = burn__param_map_add(&optimizer->states, id);
  return state && (state->rule || burn__state_init(state, group->rule)) ? state : NULL;
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
  const BurnOptimizerGroup *group = burn__optimizer_group(step->optimizer, tensor->path, tensor->param->id);
  BurnStateEntry *state = state_of(step->optimizer, group, tensor->param->id);
  if (!state) {
    burn_drop(gradient);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: %s: out of memory", group->rule->name, tensor->path);
  }
  return burn_status_annotate(step_param(step, group, state, gradient, tensor), "%s: %s", group->rule->name,
                              tensor->path);
}

static BurnStatus step_module(StepContext *step, BurnModule module) {
  BurnOptimizer *optimizer = step->optimizer;
  BurnStatus status = BURN_OK;
  if (!optimizer->stepped) status = burn__optimizer_groups_check(optimizer, module);
  if (status == BURN_OK) status = burn__rates_check(optimizer->groups[0].rule->name, module, step->rates);
  if (status != BURN_OK) return status;
  optimizer->stepped = true;
  status = burn_module_visit(module, step_visitor, step);
  return status == BURN_OK ? check_reached(step, module) : status;
}

static bool clips_together(const BurnOptimizer *optimizer) {
  return optimizer && optimizer->groups[0].clipping.kind == BURN_GRADIENT_CLIPPING_GLOBAL_NORM;
}

BurnStatus burn_optimizer_step_rates(BurnOptimizer *optimizer, BurnModule module, BurnGradientsParams *gradients,
                                     const BurnModuleLearningRate *rates) {
  StepContext step = {.optimizer = optimizer, .linked = gradients, .rates = rates};
  BurnStatus status = burn_optimizer_status(optimizer);
  if (status == BURN_OK) status = burn__gradients_params_status(gradients);
  if (status == BURN_OK && clips_together(optimizer))
    status = burn_gradients_params_clip(gradients, optimizer->groups[0].clipping);
  if (status == BURN_OK) status = step_module(&step, module);
  burn_gradients_params_drop(gradients);
  return status;
}

BurnStatus burn_optimizer_step(BurnOptimizer *optimizer, BurnModule module, BurnGradientsParams *gradients,
                               double learning_rate) {
  return burn_optimizer_step_rates(optimizer, module, gradients, &(BurnModuleLearningRate){.base = learning_rate});
}

BurnStatus burn_train_step_rates(BurnOptimizer *optimizer, BurnModule module, BurnTensor *loss,
                                 const BurnModuleLearningRate *rates) {
  StepContext step = {.optimizer = optimizer, .rates = rates};
  BurnStatus status = burn_backward(loss, &step.gradients);
  if (status != BURN_OK) return status;
  if (clips_together(optimizer)) {
    return burn_optimizer_step_rates(optimizer, module, burn_gradients_params(step.gradients, module), rates);
  }
  status = burn_optimizer_status(optimizer);
  if (status == BURN_OK) status = step_module(&step, module);
  burn_gradients_drop(step.gradients);
  return status;
}

BurnStatus burn_train_step(BurnOptimizer *optimizer, BurnModule module, BurnTensor *loss, double learning_rate) {
  return burn_train_step_rates(optimizer, module, loss, &(BurnModuleLearningRate){.base = learning_rate});
}
