/* optimizer.c - a rule applied to a whole module: finds each parameter's gradient and state by id, takes the parameter
 * below autodiff, lets the rule compute the new one and puts it back as a leaf. The parameter, its gradient and its
 * state are given away, not cloned, so a step runs in the memory they have. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <burn/op_call.h>

#include "null_check.h"
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

/* Room for the paths of parameters without a gradient. */
enum { BURN_MISSED_BYTES = 400 };

typedef struct StepContext {
  BurnOptimizer *optimizer;
  BurnGradientsParams *linked; /* where the gradients are: by parameter id, */
  BurnGradients *gradients;    /* or as the backward pass left them, if `linked` is NULL */
  const BurnModuleLearningRate *rates;
  size_t done, missed; /* parameters that had a gradient, and that asked for one and had none */
  char missed_paths[BURN_MISSED_BYTES];
  struct Stepped *found; /* [done] the parameters that have a gradient, in order; memory of the optimizer */
} StepContext;

/* At least so many bytes, with the same contents; NULL when out of memory. */
static void *step_memory(BurnStepMemory *memory, size_t bytes) {
  if (bytes <= memory->bytes) return memory->block;
  const size_t wanted = bytes < 2 * memory->bytes ? 2 * memory->bytes : bytes;
  void *block = realloc(memory->block, wanted);
  if (block) *memory = (BurnStepMemory){block, wanted};
  return block;
}

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

/* State and gradient follow the parameter to its device (NULL: it failed) and dtype. */
static BurnTensor *moved_to(BurnDevice *device, BurnDType dtype, BurnTensor *tensor) {
  if (!tensor || !device) return tensor;
  if (burn_tensor_device(tensor) != device) tensor = burn_to_device(tensor, device);
  return burn_dtype(tensor) == dtype ? tensor : burn_cast(tensor, dtype);
}

/* The new value in place of the old one: lifted back above autodiff, and a leaf again if it was. */
static void put_back(BurnParam *param, BurnTensor *value, BurnDevice *device, bool leaf) {
  if (burn_device_is_autodiff(device)) value = burn_from_inner(value, device);
  param->value = burn_scope_keep(NULL, leaf ? burn_require_grad(value) : value);
}

BurnTensor *burn__without_halves(BurnTensor *x) {
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

/* A parameter with its gradient, and, while it is stepped, where the outcome goes. */
typedef struct Stepped {
  BurnParam *param;
  BurnTensor *gradient;
  const BurnOptimizerGroup *group;
  BurnStateEntry kept; /* a view of the state: its entry may move while others are added */
  BurnDevice *device;
  BurnDType dtype;
  bool leaf;
  double rate;
} Stepped;

/* The new value in place of the old one, and the first failure of what was computed. */
static BurnStatus finish_step(const Stepped *one, BurnTensor *value) {
  put_back(one->param, burn_dtype(value) == one->dtype ? value : burn_cast(value, one->dtype), one->device, one->leaf);
  const BurnStatus kept = keep_state(&one->kept);
  const BurnStatus status = burn_tensor_status(one->param->value);
  return status != BURN_OK ? status : kept;
}

/* Steps a parameter at once, or fills in the op that will: it then waits. Takes the gradient. */
static BurnStatus begin_step(const StepContext *step, Stepped *one, BurnStateEntry *entry, BurnTensor *gradient,
                             BurnStepOp *op, bool *waits) {
  const BurnOptimizerGroup *group = one->group;
  BurnTensor *param = one->param->value;
  one->device = burn_tensor_device(param);
  one->leaf = !step->linked || burn_is_require_grad(param); /* a backward pass has gradients of leaves alone */
  BurnStatus status = check_step(step, group, entry, gradient, param);
  if (status != BURN_OK) {
    burn_drop(gradient);
    return status;
  }
  one->dtype = burn_dtype(param);
  BurnTensor *value = burn__without_halves(burn_inner(param));
  BurnDevice *inner = burn_tensor_device(value);
  const BurnDType dtype = burn_dtype(value);
  BurnOptimizerState state = {entry->time, entry->tensors};
  for (size_t t = 0; t < group->rule->tensor_count; t++) state.tensors[t] = moved_to(inner, dtype, state.tensors[t]);
  gradient = burn__gradient_clip(moved_to(inner, dtype, gradient), group->clipping);
  *waits = group->as_op && group->as_op(group->config, &state, value, gradient, one->rate, op);
  if (!*waits) value = group->rule->step(group->config, &state, value, gradient, one->rate);
  entry->time = state.time;
  one->kept = *entry;
  return *waits ? BURN_OK : finish_step(one, value);
}

/* The parameter that has this id and the gradient; NULL: there is none. */
static const BurnParam *twin_of(const StepContext *step, uint64_t id) {
  for (size_t i = 0; i < step->done; i++) {
    if (step->found[i].param->id == id) return step->found[i].param;
  }
  return NULL;
}

/* A parameter that asks for a gradient and has none is legal, as one that this batch did not use; or it is met a second
 * time, where two rows of a list or an option are one module. Of two that were to be one, by a copy of the struct, the
 * first has taken the gradient of both. */
static void note_missed(StepContext *step, const BurnModuleTensor *tensor) {
  char text[BURN_MISSED_BYTES];
  const size_t used = strlen(step->missed_paths), room = sizeof step->missed_paths - used;
  if (!burn_is_require_grad(tensor->param->value)) return;
  const BurnParam *twin = step->optimizer->warned ? NULL : twin_of(step, tensor->param->id);
  if (twin == tensor->param) return;
  step->missed++;
  if (step->optimizer->warned) return;
  const int length = snprintf(text, sizeof text, "%s%.150s%s%.150s%s", used ? ", " : "", tensor->path,
                              twin ? " (has the id of " : "", twin && twin->path ? twin->path : "", twin ? ")" : "");
  if (length > 0 && (used == 0 || (size_t)length < room)) snprintf(step->missed_paths + used, room, "%s", text);
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

static BurnStatus no_memory(const BurnOptimizerGroup *group) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: out of memory", group->rule->name);
}

/* A place for one more; NULL when out of memory. */
static Stepped *add_found(StepContext *step) {
  Stepped *found = step_memory(&step->optimizer->found, (step->done + 1) * sizeof *found);
  if (!found) return NULL;
  step->found = found;
  return &found[step->done++];
}

static BurnStatus find_visitor(void *context, const BurnModuleTensor *tensor) {
  StepContext *step = context;
  if (!tensor->param) return BURN_OK;
  BurnTensor *gradient = take_gradient(step, tensor->param);
  if (!gradient) {
    note_missed(step, tensor);
    return BURN_OK;
  }
  Stepped *one = add_found(step);
  if (!one) {
    burn_drop(gradient);
    return no_memory(&step->optimizer->groups[0]);
  }
  *one = (Stepped){.param = tensor->param,
                   .gradient = gradient,
                   .group = burn__optimizer_group(step->optimizer, tensor->path, tensor->param->id),
                   .rate = burn_module_learning_rate_of(step->rates, tensor->path, tensor->param->id)};
  if (isfinite(one->rate)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s: the learning rate is %g, a finite number expected",
                          one->group->rule->name, tensor->path, one->rate);
}

/* What steps that are one op have in common: rows of the same index belong together. */
typedef struct Waiting {
  Stepped **which;
  BurnStepOp *ops;
  BurnTensor **params, ***states;
  void *room; /* of burn__step_ops */
  size_t count;
} Waiting;

/* The rows are one block, which begins with the ops. */
static bool waiting_init(Waiting *w, BurnStepMemory *memory, size_t most) {
  const size_t each = sizeof *w->ops + sizeof *w->which + sizeof *w->params + sizeof *w->states + BURN__STEP_ROOM;
  *w = (Waiting){.ops = step_memory(memory, most * each)};
  if (!w->ops) return false;
  w->which = (Stepped **)(void *)(w->ops + most);
  w->params = (BurnTensor **)(void *)(w->which + most);
  w->states = (BurnTensor ***)(void *)(w->params + most);
  w->room = w->states + most;
  return true;
}

/* Does what waits, as one call where the backend can. *failed is the first parameter whose step fails. */
static BurnStatus do_waiting(const StepContext *step, Waiting *w, size_t *failed) {
  BurnStatus status = BURN_OK;
  burn__step_ops(w->ops, w->states, w->params, w->count, w->room);
  for (size_t i = 0; i < w->count; i++) {
    Stepped *one = w->which[i];
    const BurnStatus own = finish_step(one, w->params[i]);
    if (own == BURN_OK || status != BURN_OK) continue;
    status = own;
    *failed = (size_t)(one - step->found);
  }
  w->count = 0;
  step->optimizer->batches++;
  return status;
}

/* Steps found parameter `index`, or lets it wait. Copies of a module share ids, and so the state. */
static BurnStatus step_one(const StepContext *step, size_t index, Waiting *w, size_t *failed) {
  Stepped *one = &step->found[index];
  BurnStatus status = BURN_OK;
  BurnStateEntry *entry = state_of(step->optimizer, one->group, one->param->id);
  if (entry && entry->batch > step->optimizer->batches) status = do_waiting(step, w, failed);
  if (status != BURN_OK) return status;
  BurnTensor *gradient = one->gradient;
  *failed = index;
  one->gradient = NULL;
  if (!entry) {
    burn_drop(gradient);
    return no_memory(one->group);
  }
  bool waits = false;
  status = begin_step(step, one, entry, gradient, &w->ops[w->count], &waits);
  if (!waits) return status;
  entry->batch = step->optimizer->batches + 1;
  w->which[w->count] = one;
  w->states[w->count++] = entry->tensors;
  return status;
}

/* All parameters, until one fails; those before it are stepped. */
static BurnStatus step_all(const StepContext *step, size_t *failed) {
  Waiting w;
  BurnStatus status = waiting_init(&w, &step->optimizer->rows, step->done) ? BURN_OK : no_memory(step->found[0].group);
  for (size_t i = 0; i < step->done && status == BURN_OK; i++) status = step_one(step, i, &w, failed);
  size_t earlier = 0;
  const BurnStatus done = w.count > 0 ? do_waiting(step, &w, &earlier) : BURN_OK;
  if (done != BURN_OK) *failed = earlier;
  return done != BURN_OK ? done : status;
}

typedef struct PathOf {
  const BurnParam *param;
  char path[256];
} PathOf;

static BurnStatus path_visitor(void *context, const BurnModuleTensor *tensor) {
  PathOf *of = context;
  if (tensor->param == of->param) snprintf(of->path, sizeof of->path, "%s", tensor->path);
  return BURN_OK;
}

/* The status of a parameter's step, with rule and path. */
static BurnStatus annotated(BurnStatus status, BurnModule module, const Stepped *one) {
  PathOf of = {.param = one->param};
  const BurnStatus walked = burn_module_visit(module, path_visitor, &of);
  return walked == BURN_OK ? burn_status_annotate(status, "%s: %s", one->group->rule->name, of.path) : status;
}

/* All parameters that have a gradient: found first, so that steps of one op can be one call. */
static BurnStatus step_found(StepContext *step, BurnModule module) {
  size_t failed = 0;
  BurnStatus status = burn_module_visit(module, find_visitor, step);
  if (status == BURN_OK && step->done > 0) {
    status = step_all(step, &failed);
    if (status != BURN_OK) status = annotated(status, module, &step->found[failed]);
  }
  for (size_t i = 0; i < step->done; i++) burn_drop(step->found[i].gradient); /* of those that were not begun */
  return status;
}

static BurnStatus step_module(StepContext *step, BurnModule module) {
  BurnOptimizer *optimizer = step->optimizer;
  BurnStatus status = BURN_OK;
  if (!optimizer->stepped) status = burn__optimizer_groups_check(optimizer, module);
  if (status == BURN_OK) status = burn__rates_check(optimizer->groups[0].rule->name, module, step->rates);
  if (status != BURN_OK) return status;
  if (!optimizer->stepped) burn__warn_of_empty_groups(optimizer, module, step->rates);
  optimizer->stepped = true;
  status = step_found(step, module);
  return status == BURN_OK ? check_reached(step, module) : status;
}

static bool clips_together(const BurnOptimizer *optimizer) {
  return optimizer && optimizer->groups[0].clipping.kind == BURN_GRADIENT_CLIPPING_GLOBAL_NORM;
}

BurnStatus burn_optimizer_step_rates(BurnOptimizer *optimizer, BurnModule module, BurnGradientsParams *gradients,
                                     const BurnModuleLearningRate *rates) {
  StepContext step = {.optimizer = optimizer, .linked = gradients, .rates = rates};
  BurnStatus status = BURN_REQUIRED(rates, "a BurnModuleLearningRate");
  if (status == BURN_OK) status = burn_optimizer_status(optimizer);
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
  BurnStatus status = BURN_REQUIRED(rates, "a BurnModuleLearningRate");
  if (status != BURN_OK) {
    burn_drop(loss);
    return status;
  }
  status = burn__backward_of(module, loss, &step.gradients);
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
