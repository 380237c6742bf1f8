/* optimizer.c - a rule applied to a whole module: finds each parameter's gradient and state by id, takes the parameter
 * below autodiff, lets the rule compute the new one and puts it back as a leaf. States go to records in Burn's layout,
 *
 *   {"<id>": {"V1": {"Rank2": {"momentum": {"time": 3, "moment_1": tensor, "moment_2": tensor}}}}}
 *
 * The parameter, its gradient and its state are given away, not cloned, so a step runs in the memory they have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <burn/op_call.h>

#include "optimizer_internal.h"
#include "param_map.h"

struct BurnOptimizer {
  const BurnOptimizerRule *rule;
  void *config;
  BurnParamMap states; /* of BurnOptimizerState */
  bool warned;         /* of parameters without a gradient */
};

BurnOptimizer *burn__optimizer_create(const BurnOptimizerRule *rule, const void *config, size_t config_bytes) {
  BurnOptimizer *optimizer = calloc(1, sizeof *optimizer);
  void *copy = malloc(config_bytes);
  if (!optimizer || !copy) {
    free(optimizer);
    free(copy);
    return NULL;
  }
  memcpy(copy, config, config_bytes);
  optimizer->rule = rule;
  optimizer->config = copy;
  optimizer->states.value_bytes = sizeof(BurnOptimizerState);
  return optimizer;
}

static void states_drop(BurnParamMap *states) {
  size_t i, t;
  for (i = 0; i < states->count; i++) {
    BurnOptimizerState *state = burn__param_map_at(states, i);
    for (t = 0; t < BURN_STATE_TENSORS; t++) burn_drop(state->tensors[t]);
  }
  burn__param_map_free(states);
}

void burn_optimizer_destroy(BurnOptimizer *optimizer) {
  if (!optimizer) return;
  states_drop(&optimizer->states);
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

/* "[2, 3]" */
static const char *shape_text(BurnShape shape, char text[192]) {
  size_t used = 0;
  uint32_t i;
  text[used++] = '[';
  for (i = 0; i < shape.rank; i++) {
    used += (size_t)snprintf(text + used, 192 - used, "%s%" PRId64, i ? ", " : "", shape.dims[i]);
  }
  snprintf(text + used, 192 - used, "]");
  return text;
}

/* That a tensor is sound and shaped like the parameter: checked before the parameter is given away. */
static BurnStatus check_like(const char *what, const BurnTensor *tensor, const BurnTensor *param) {
  const BurnStatus status = burn_tensor_status(tensor);
  if (status != BURN_OK) return status;
  const BurnShape shape = burn_shape(tensor), expected = burn_shape(param);
  char found_text[192], expected_text[192];
  if (shape.rank == expected.rank && memcmp(shape.dims, expected.dims, shape.rank * sizeof shape.dims[0]) == 0)
    return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s is %s, the parameter %s", what, shape_text(shape, found_text),
                          shape_text(expected, expected_text));
}

/* A gradient that a backward pass has just left has its parameter's shape. */
static BurnStatus check_step(const StepContext *step, const BurnOptimizerState *state, const BurnTensor *gradient,
                             const BurnTensor *param) {
  const BurnOptimizerRule *rule = step->optimizer->rule;
  BurnStatus status = burn_tensor_status(param);
  size_t t;
  if (status == BURN_OK) status = step->linked ? check_like("gradient", gradient, param) : burn_tensor_status(gradient);
  for (t = 0; t < BURN_STATE_TENSORS && status == BURN_OK; t++) {
    if (state->tensors[t]) status = check_like(rule->tensor_names[t], state->tensors[t], param);
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

static BurnStatus step_param(const StepContext *step, BurnOptimizerState *state, BurnTensor *gradient,
                             BurnParam *param) {
  const BurnOptimizerRule *rule = step->optimizer->rule;
  BurnDevice *device = burn_tensor_device(param->value);
  const bool leaf = burn_is_require_grad(param->value);
  BurnStatus status = check_step(step, state, gradient, param->value);
  BurnDType dtype;
  BurnTensor *value;
  size_t t;
  if (status != BURN_OK) {
    burn_drop(gradient);
    return status;
  }
  dtype = burn_dtype(param->value);
  value = without_halves(burn_inner(param->value));
  for (t = 0; t < BURN_STATE_TENSORS; t++) state->tensors[t] = moved_like(state->tensors[t], value);
  value = rule->step(step->optimizer->config, state, value, moved_like(gradient, value), step->learning_rate);
  put_back(param, burn_dtype(value) == dtype ? value : burn_cast(value, dtype), device, leaf);
  for (t = 0; t < BURN_STATE_TENSORS; t++) burn_scope_keep(NULL, state->tensors[t]);
  status = burn_tensor_status(param->value);
  for (t = 0; t < BURN_STATE_TENSORS && status == BURN_OK; t++) {
    if (state->tensors[t]) status = burn_tensor_status(state->tensors[t]);
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
  BurnOptimizerState *state;
  BurnTensor *gradient;
  if (!tensor->param) return BURN_OK;
  gradient = take_gradient(step, tensor->param);
  if (!gradient) {
    note_missed(step, tensor);
    return BURN_OK;
  }
  step->done++;
  state = burn__param_map_add(&step->optimizer->states, tensor->param->id);
  if (!state) {
    burn_drop(gradient);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: %s: out of memory", step->optimizer->rule->name,
                            tensor->path);
  }
  return burn_status_annotate(step_param(step, state, gradient, tensor->param), "%s: %s", step->optimizer->rule->name,
                              tensor->path);
}

static BurnStatus no_optimizer(void) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "optimizer: out of memory when it was created");
}

BurnStatus burn_optimizer_step(BurnOptimizer *optimizer, BurnModule module, BurnGradientsParams *gradients,
                               double learning_rate) {
  StepContext step = {.optimizer = optimizer, .linked = gradients, .learning_rate = learning_rate};
  BurnStatus status = optimizer ? burn__gradients_params_status(gradients) : no_optimizer();
  if (status == BURN_OK) status = burn_module_visit(module, step_visitor, &step);
  if (status == BURN_OK) status = check_reached(&step, module);
  burn_gradients_params_drop(gradients);
  return status;
}

BurnStatus burn_train_step(BurnOptimizer *optimizer, BurnModule module, BurnTensor *loss, double learning_rate) {
  StepContext step = {.optimizer = optimizer, .learning_rate = learning_rate};
  BurnStatus status = burn_backward(loss, &step.gradients);
  if (status != BURN_OK) return status;
  status = optimizer ? burn_module_visit(module, step_visitor, &step) : no_optimizer();
  if (status == BURN_OK) status = check_reached(&step, module);
  burn_gradients_drop(step.gradients);
  return status;
}

/* -- records ---------------------------------------------------------------------------------- */

/* {"V1": {"Rank2": {group: {"time": .., names..}}}} */
static BurnValue *state_value(const BurnOptimizerRule *rule, const BurnOptimizerState *state) {
  BurnValue *group = burn_value_map(), *fields = burn_value_map(), *ranks = burn_value_map(),
            *versions = burn_value_map();
  char rank[16];
  bool sound = true;
  size_t t;
  if (rule->counts) sound = burn_value_set(group, "time", burn_value_int((int64_t)state->time));
  for (t = 0; t < BURN_STATE_TENSORS && rule->tensor_names[t]; t++) {
    sound = burn_value_set(group, rule->tensor_names[t], burn_value_tensor(burn_clone(state->tensors[t]))) && sound;
  }
  snprintf(rank, sizeof rank, "Rank%u", (unsigned)burn_rank(state->tensors[0]));
  sound = burn_value_set(fields, rule->group, group) && sound;
  sound = burn_value_set(ranks, rank, fields) && sound;
  sound = burn_value_set(versions, "V1", ranks) && sound;
  if (sound) return versions;
  burn_value_destroy(versions);
  return NULL;
}

BurnValue *burn_optimizer_value(const BurnOptimizer *optimizer) {
  BurnValue *map;
  size_t i;
  if (!optimizer) return NULL;
  map = burn_value_map();
  for (i = 0; i < optimizer->states.count; i++) {
    const BurnOptimizerState *state = burn__param_map_at(&optimizer->states, i);
    char id[14];
    if (!state->tensors[0]) continue;
    burn_param_id_text(optimizer->states.ids[i], id);
    if (burn_value_set(map, id, state_value(optimizer->rule, state))) continue;
    burn_value_destroy(map);
    return NULL;
  }
  return map;
}

/* The reverse of burn_param_id_text, and of the ids of 6 bytes (10 characters) that older records have. */
static bool param_id_from_text(const char *text, uint64_t *id) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
  const size_t length = strlen(text);
  uint32_t bits = 0, bit_count = 0, byte = 0;
  *id = 0;
  if (length != 13 && length != 10) return false;
  for (; *text; text++) {
    const char *digit = strchr(digits, *text);
    if (!digit) return false;
    bits = (bits << 5 | (uint32_t)(digit - digits)) & 0xfffu;
    bit_count += 5;
    if (bit_count < 8) continue;
    bit_count -= 8;
    *id |= (uint64_t)(bits >> bit_count & 0xffu) << (8 * byte++);
  }
  return (bits & ((1u << bit_count) - 1u)) == 0;
}

static BurnStatus bad_record(const BurnOptimizerRule *rule, const char *id, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s record: parameter %s: %s", rule->name, id, what);
}

/* Fills a zeroed state; what it has stored belongs to the state also after a failure. */
static BurnStatus state_load(const BurnOptimizerRule *rule, const char *id, const BurnValue *group, BurnDevice *device,
                             BurnOptimizerState *state) {
  const int64_t time = burn_value_as_int(burn_value_get(group, "time"), -1);
  size_t t;
  if (rule->counts && time < 1) return bad_record(rule, id, "time is missing or below 1");
  state->time = rule->counts ? (uint64_t)time : 0;
  for (t = 0; t < BURN_STATE_TENSORS && rule->tensor_names[t]; t++) {
    const BurnValue *value = burn_value_get(group, rule->tensor_names[t]);
    BurnStatus status;
    if (!value) return bad_record(rule, id, "a tensor of its state is missing");
    state->tensors[t] = burn_scope_keep(NULL, burn_value_as_tensor(value, device));
    status = burn_tensor_status(state->tensors[t]);
    if (status != BURN_OK) {
      return burn_status_annotate(status, "%s record: parameter %s: %s", rule->name, id, rule->tensor_names[t]);
    }
  }
  return BURN_OK;
}

static BurnStatus entry_load(const BurnOptimizerRule *rule, const char *id, const BurnValue *entry, BurnDevice *device,
                             BurnParamMap *states) {
  const BurnValue *ranks = burn_value_get(entry, "V1");
  const BurnValue *fields = burn_value_count(ranks) == 1 ? burn_value_at(ranks, 0) : NULL;
  const BurnValue *group = burn_value_get(fields, rule->group);
  BurnOptimizerState *state;
  uint64_t param_id;
  if (!param_id_from_text(id, &param_id)) return bad_record(rule, id, "not the text of a parameter id");
  if (burn_value_kind(fields) != BURN_VALUE_MAP) return bad_record(rule, id, "no map V1.Rank");
  if (burn_value_kind(group) == BURN_VALUE_NIL && rule->may_lack_state) return BURN_OK;
  if (burn_value_kind(group) != BURN_VALUE_MAP) return bad_record(rule, id, "the state of another optimizer");
  if (burn__param_map_find(states, param_id)) return bad_record(rule, id, "listed twice");
  state = burn__param_map_add(states, param_id);
  if (!state) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s record: out of memory", rule->name);
  return state_load(rule, id, group, device, state);
}

BurnStatus burn_optimizer_load(BurnOptimizer *optimizer, const BurnValue *value, BurnDevice *device) {
  BurnParamMap states = {.value_bytes = sizeof(BurnOptimizerState)};
  BurnStatus status = BURN_OK;
  size_t i;
  if (!optimizer) return no_optimizer();
  if (burn_value_kind(value) != BURN_VALUE_MAP) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s record: a map of parameters expected", optimizer->rule->name);
  }
  for (i = 0; i < burn_value_count(value) && status == BURN_OK; i++) {
    status = entry_load(optimizer->rule, burn_value_key_at(value, i), burn_value_at(value, i),
                        burn_device_inner(device), &states);
  }
  if (status != BURN_OK) {
    states_drop(&states);
    return status;
  }
  states_drop(&optimizer->states);
  optimizer->states = states;
  return BURN_OK;
}
