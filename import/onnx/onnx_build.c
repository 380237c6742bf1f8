/* onnx_build.c - from the messages of a model to bodies: names become slots, nodes steps in an order that can run. */
#include "onnx_program.h"
#include "onnx_strings.h"

#include <burn/guess.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names that are seen at a place: those of a body, or of a function that is put in place of its call. */
typedef struct Scope {
  OnnxProgram *program;
  OnnxBody *body;
  OnnxNames names;
  struct Scope *outer;                 /* of the graph around it; NULL for functions, which see nothing else */
  const Onnx__NodeProto *caller;       /* of a function: its attributes */
  const Onnx__FunctionProto *function; /* NULL: the model's own graph */
  Onnx__NodeProto *const *nodes;       /* all of the graph or function */
  size_t node_count;
  uint32_t depth;
} Scope;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the graph"); }

static BurnStatus build_nodes(Scope *scope, Onnx__NodeProto *const *nodes, size_t count);
static BurnStatus build_body(Scope *scope);

const char *onnx_location(const OnnxProgram *program, const Onnx__NodeProto *proto, char *text) {
  const char *name = proto->name[0] ? proto->name : proto->n_output > 0 ? proto->output[0] : "";
  snprintf(text, ONNX_LOCATION, "%.120s: node '%.100s' (%.60s)", program->label, name, proto->op_type);
  return text;
}

/* -- slots ------------------------------------------------------------------------------------- */

/* NULL without memory. The program ends it. */
static OnnxBody *new_body(OnnxProgram *program, const Onnx__GraphProto *graph, OnnxBody *outer) {
  OnnxBody *body = onnx_arena_take(&program->arena, 1, sizeof *body);
  if (!body) return NULL;
  body->proto = graph;
  body->outer = outer;
  body->made_before = program->bodies;
  program->bodies = body;
  return body;
}

static bool grow_slots(OnnxBody *body) {
  const uint32_t capacity = body->slot_capacity ? 2 * body->slot_capacity : 64;
  const char **slots = realloc(body->slots, capacity * sizeof *slots);
  if (slots) body->slots = slots;
  uint32_t *weights = realloc(body->weights, capacity * sizeof *weights);
  if (weights) body->weights = weights;
  uint32_t *uses = realloc(body->uses, capacity * sizeof *uses);
  if (uses) body->uses = uses;
  if (!slots || !weights || !uses) return false;
  body->slot_capacity = capacity;
  return true;
}

uint32_t onnx_add_slot(OnnxBody *body, const char *name) {
  if (body->slot_count == body->slot_capacity && !grow_slots(body)) return ONNX_NONE;
  body->slots[body->slot_count] = name;
  body->weights[body->slot_count] = ONNX_NONE;
  body->uses[body->slot_count] = 0;
  return body->slot_count++;
}

/* A new name; a second one of the same text is an error of the file. */
static BurnStatus define(Scope *scope, const char *name, const char *what, uint32_t *slot) {
  if (onnx_names_get(&scope->names, name) != ONNX_NONE) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s '%s': the name is given twice", scope->program->label,
                            what, name);
  }
  *slot = onnx_add_slot(scope->body, name);
  return *slot != ONNX_NONE && onnx_names_put(&scope->names, name, *slot) ? BURN_OK : no_memory();
}

static uint32_t add_capture(OnnxBody *body, uint32_t from, uint32_t to) {
  if (body->capture_count == body->capture_capacity) {
    const uint32_t capacity = body->capture_capacity ? 2 * body->capture_capacity : 8;
    uint32_t *froms = realloc(body->capture_from, capacity * sizeof *froms);
    if (froms) body->capture_from = froms;
    uint32_t *tos = realloc(body->capture_to, capacity * sizeof *tos);
    if (tos) body->capture_to = tos;
    if (!froms || !tos) return ONNX_NONE;
    body->capture_capacity = capacity;
  }
  body->capture_from[body->capture_count] = from;
  body->capture_to[body->capture_count] = to;
  body->capture_count++;
  return to;
}

/* The slot of a name: here, or of a graph around this one, from which it is then captured. */
static uint32_t resolve(Scope *scope, const char *name) {
  const uint32_t here = onnx_names_get(&scope->names, name);
  if (here != ONNX_NONE || !scope->outer) return here;
  const uint32_t there = resolve(scope->outer, name);
  if (there == ONNX_NONE) return ONNX_NONE;
  const uint32_t slot = onnx_add_slot(scope->body, name);
  if (slot == ONNX_NONE || !onnx_names_put(&scope->names, name, slot)) return ONNX_NONE;
  /* A weight of the outer graph is a weight here. */
  scope->body->weights[slot] = scope->outer->body->weights[there];
  return scope->body->weights[slot] != ONNX_NONE ? slot : add_capture(scope->body, there, slot);
}

/* -- functions --------------------------------------------------------------------------------- */

static const Onnx__FunctionProto *function_of(const OnnxProgram *program, const Onnx__NodeProto *proto) {
  for (size_t i = 0; i < program->model->n_functions; i++) {
    const Onnx__FunctionProto *f = program->model->functions[i];
    if (strcmp(f->name, proto->op_type) == 0 && strcmp(f->domain, proto->domain) == 0 &&
        strcmp(f->overload, proto->overload) == 0) {
      return f;
    }
  }
  return NULL;
}

/* What a function's node says with ref_attr_name: the attribute of the call, or the function's default; NULL: none. */
static Onnx__AttributeProto *referred(const Scope *scope, const char *name) {
  for (size_t i = 0; i < scope->caller->n_attribute; i++) {
    if (strcmp(scope->caller->attribute[i]->name, name) == 0) return scope->caller->attribute[i];
  }
  for (size_t i = 0; i < scope->function->n_attribute_proto; i++) {
    if (strcmp(scope->function->attribute_proto[i]->name, name) == 0) return scope->function->attribute_proto[i];
  }
  return NULL;
}

/* The node with the attributes that it has in this call. */
static const Onnx__NodeProto *with_attributes(Scope *scope, const Onnx__NodeProto *proto) {
  bool refers = false;
  for (size_t i = 0; i < proto->n_attribute; i++) refers = refers || proto->attribute[i]->ref_attr_name[0];
  if (!refers || !scope->caller) return proto;
  OnnxArena *arena = &scope->program->arena;
  Onnx__NodeProto *copy = onnx_arena_take(arena, 1, sizeof *copy);
  Onnx__AttributeProto **list = onnx_arena_take(arena, proto->n_attribute, sizeof(Onnx__AttributeProto *));
  if (!copy || !list) return NULL;
  *copy = *proto;
  copy->attribute = list;
  copy->n_attribute = 0;
  for (size_t i = 0; i < proto->n_attribute; i++) {
    const char *name = proto->attribute[i]->ref_attr_name;
    const Onnx__AttributeProto *value = name[0] ? referred(scope, name) : proto->attribute[i];
    Onnx__AttributeProto *renamed = value ? onnx_arena_take(arena, 1, sizeof *renamed) : NULL;
    if (!renamed) continue; /* absent in the call: absent here */
    *renamed = *value;
    renamed->name = proto->attribute[i]->name;
    list[copy->n_attribute++] = renamed;
  }
  return copy;
}

/* The nodes of a function in place of its call. */
static BurnStatus build_call(Scope *scope, const Onnx__NodeProto *call, const Onnx__FunctionProto *function) {
  char where[ONNX_LOCATION];
  Scope inner = {.program = scope->program, .body = scope->body, .caller = call, .function = function};
  inner.depth = scope->depth + 1;
  BurnStatus status = BURN_OK;
  if (inner.depth > ONNX_MAX_DEPTH || call->n_input > function->n_input || call->n_output > function->n_output) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "%s: functions call each other more than %d deep, or the call has %zu inputs and %zu "
                            "outputs, the function %zu and %zu",
                            onnx_location(scope->program, call, where), ONNX_MAX_DEPTH, call->n_input, call->n_output,
                            function->n_input, function->n_output);
  }
  for (size_t i = 0; i < function->n_input && status == BURN_OK; i++) {
    const bool given = i < call->n_input && call->input[i][0];
    const uint32_t slot = given ? resolve(scope, call->input[i]) : ONNX_NONE;
    if (given && slot == ONNX_NONE) {
      status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: there is no value '%s'",
                                onnx_location(scope->program, call, where), call->input[i]);
    } else if (slot != ONNX_NONE && !onnx_names_put(&inner.names, function->input[i], slot)) {
      status = no_memory();
    }
  }
  for (size_t i = 0; i < call->n_output && status == BURN_OK; i++) {
    const uint32_t slot = call->output[i][0] ? onnx_names_get(&scope->names, call->output[i]) : ONNX_NONE;
    if (slot != ONNX_NONE && !onnx_names_put(&inner.names, function->output[i], slot)) status = no_memory();
  }
  if (status == BURN_OK) status = build_nodes(&inner, function->node, function->n_node);
  onnx_names_release(&inner.names);
  return status;
}

/* -- steps ------------------------------------------------------------------------------------- */

static int64_t opset_of(const Scope *scope, const char *domain) {
  const Onnx__ModelProto *model = scope->program->model;
  const bool inside = scope->function && scope->function->n_opset_import > 0;
  Onnx__OperatorSetIdProto *const *imports = inside ? scope->function->opset_import : model->opset_import;
  const size_t count = inside ? scope->function->n_opset_import : model->n_opset_import;
  const char *wanted = strcmp(domain, "ai.onnx") == 0 ? "" : domain;
  for (size_t i = 0; i < count; i++) {
    const char *has = strcmp(imports[i]->domain, "ai.onnx") == 0 ? "" : imports[i]->domain;
    if (strcmp(has, wanted) == 0) return imports[i]->version;
  }
  return 1;
}

/* All operators that are not here are named in one message. */
static void note_unsupported(OnnxProgram *program, const Onnx__NodeProto *proto, const char *name, const char *reason) {
  const char *node = proto->name[0] ? proto->name : proto->n_output ? proto->output[0] : "";
  for (uint32_t i = 0; i < program->unsupported_count; i++) {
    if (strcmp(program->unsupported[i], name) != 0) continue;
    if (program->unsupported_uses[i]++ < 3) {
      char names[400];
      snprintf(names, sizeof names, "%.290s, '%.100s'", program->unsupported_nodes[i], node);
      const char *longer = onnx_arena_text(&program->arena, names);
      if (longer) program->unsupported_nodes[i] = longer;
    }
    return;
  }
  if (program->unsupported_count == ONNX_MAX_UNSUPPORTED) return;
  char quoted[128];
  snprintf(quoted, sizeof quoted, "'%.100s'", node);
  const char *name_copy = onnx_arena_text(&program->arena, name), *nodes = onnx_arena_text(&program->arena, quoted);
  if (!name_copy || !nodes) return;
  const uint32_t at = program->unsupported_count++;
  program->unsupported[at] = name_copy;
  program->unsupported_reason[at] = reason;
  program->unsupported_nodes[at] = nodes;
  program->unsupported_uses[at] = 1;
}

static bool is_gradient(const OnnxOperator *op) { return op->map == onnx_Gradient; }

static const OnnxOperator *operator_of(OnnxProgram *program, const Onnx__NodeProto *proto) {
  static const OnnxOperator absent = {"", NULL, ""};
  char name[ONNX_OPERATOR_NAME];
  onnx_operator_name(proto, name, sizeof name);
  const OnnxOperator *op = onnx_find_operator(name);
  const bool lacks_autodiff = op && is_gradient(op) && !burn_device_is_autodiff(program->device);
  if (op && op->map && !lacks_autodiff) return op;
  note_unsupported(program, proto, name,
                   lacks_autodiff ? "the device has no autodiff; open it with burn_device_open_training"
                   : op           ? op->reason
                                  : "no such operator is known here");
  return &absent;
}

static uint32_t graphs_of(const Onnx__NodeProto *proto) {
  uint32_t count = 0;
  for (size_t i = 0; i < proto->n_attribute; i++) count += proto->attribute[i]->g != NULL;
  return count;
}

/* The graph attributes as bodies, and what they see of this one. */
static BurnStatus build_bodies(Scope *scope, OnnxStep *step) {
  BurnStatus status = BURN_OK;
  OnnxArena *arena = &scope->program->arena;
  step->body_count = 0;
  const uint32_t count = graphs_of(step->proto);
  step->bodies = onnx_arena_take(arena, count, sizeof *step->bodies);
  if (!step->bodies) return no_memory();
  for (size_t i = 0; i < step->proto->n_attribute && status == BURN_OK; i++) {
    if (!step->proto->attribute[i]->g) continue;
    Scope inner = {.program = scope->program, .outer = scope, .caller = scope->caller, .function = scope->function};
    inner.depth = scope->depth + 1;
    inner.body = new_body(scope->program, step->proto->attribute[i]->g, scope->body);
    if (!inner.body) return no_memory();
    step->bodies[step->body_count++] = inner.body;
    status = build_body(&inner);
    onnx_names_release(&inner.names);
  }
  uint32_t captured = 0;
  for (uint32_t i = 0; i < step->body_count; i++) captured += step->bodies[i]->capture_count;
  step->captures = onnx_arena_take(arena, captured, sizeof *step->captures);
  if (!step->captures) return no_memory();
  for (uint32_t i = 0; i < step->body_count; i++) {
    for (uint32_t k = 0; k < step->bodies[i]->capture_count; k++) {
      step->captures[step->capture_count++] = step->bodies[i]->capture_from[k];
    }
  }
  return status;
}

static OnnxStep *add_step(OnnxBody *body) {
  if (body->step_count == body->step_capacity) {
    const uint32_t capacity = body->step_capacity ? 2 * body->step_capacity : 32;
    OnnxStep *steps = realloc(body->steps, capacity * sizeof *steps);
    if (!steps) return NULL;
    body->steps = steps;
    body->step_capacity = capacity;
  }
  body->steps[body->step_count] = (OnnxStep){0};
  return &body->steps[body->step_count++];
}

static BurnStatus build_inputs(Scope *scope, OnnxStep *step) {
  char where[ONNX_LOCATION];
  for (uint32_t i = 0; i < step->input_count; i++) {
    const char *name = step->proto->input[i];
    step->inputs[i] = name[0] ? resolve(scope, name) : ONNX_NONE;
    if (!name[0] || step->inputs[i] != ONNX_NONE) continue;
    if (scope->caller) continue; /* an input of a function that its call leaves out */
    BurnGuess guess = burn_guess(name);
    for (uint32_t k = 0; k < scope->body->slot_count; k++) burn_guess_add(&guess, scope->body->slots[k]);
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input %u: there is no value '%s'.%s",
                            onnx_location(scope->program, step->proto, where), i, name, burn_guess_text(&guess));
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    const char *name = step->proto->output[i];
    step->outputs[i] = name[0] ? onnx_names_get(&scope->names, name) : ONNX_NONE;
  }
  return BURN_OK;
}

static BurnStatus build_step(Scope *scope, const Onnx__NodeProto *original) {
  char where[ONNX_LOCATION];
  BurnStatus status = BURN_OK;
  const Onnx__FunctionProto *function = function_of(scope->program, original);
  const Onnx__NodeProto *proto = with_attributes(scope, original);
  if (!proto) return no_memory();
  if (function) return build_call(scope, proto, function);
  const OnnxOperator *op = operator_of(scope->program, proto);
  if (is_gradient(op)) {
    proto = onnx_with_gradient(scope->program, proto, scope->nodes, scope->node_count, &status);
    if (!proto) return status;
  }
  if (proto->n_input > ONNX_MAX_VALUES || proto->n_output > ONNX_MAX_VALUES ||
      ++scope->program->total_steps > ONNX_MAX_STEPS) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                            "%s: %zu inputs and %zu outputs of at most %d, step %zu of at most %d",
                            onnx_location(scope->program, proto, where), proto->n_input, proto->n_output,
                            ONNX_MAX_VALUES, scope->program->total_steps, ONNX_MAX_STEPS);
  }
  OnnxStep step = {.op = op, .proto = proto, .opset = opset_of(scope, proto->domain)};
  step.least = onnx_least_inputs(step.op->name);
  step.input_count = (uint32_t)proto->n_input;
  step.output_count = (uint32_t)proto->n_output;
  step.inputs = onnx_arena_take(&scope->program->arena, proto->n_input, sizeof *step.inputs);
  step.outputs = onnx_arena_take(&scope->program->arena, proto->n_output, sizeof *step.outputs);
  if (!step.inputs || !step.outputs) return no_memory();
  status = build_inputs(scope, &step);
  if (status == BURN_OK && graphs_of(proto) > 0) status = build_bodies(scope, &step);
  OnnxStep *place = status == BURN_OK ? add_step(scope->body) : NULL;
  if (status == BURN_OK && !place) return no_memory();
  if (place) *place = step;
  return status;
}

static BurnStatus define_outputs(Scope *scope, const Onnx__NodeProto *proto, bool in_function) {
  char where[ONNX_LOCATION];
  for (size_t i = 0; i < proto->n_output; i++) {
    uint32_t slot;
    if (!proto->output[i][0]) continue;
    /* The outputs of a function have the slots that the call gives them. */
    if (in_function && onnx_names_get(&scope->names, proto->output[i]) != ONNX_NONE) continue;
    const BurnStatus status = define(scope, proto->output[i], "output", &slot);
    if (status != BURN_OK) return burn_status_annotate(status, "%s", onnx_location(scope->program, proto, where));
  }
  return BURN_OK;
}

static BurnStatus build_nodes(Scope *scope, Onnx__NodeProto *const *nodes, size_t count) {
  BurnStatus status = BURN_OK;
  const bool in_function = scope->function && !scope->outer;
  scope->nodes = nodes;
  scope->node_count = count;
  for (size_t i = 0; i < count && status == BURN_OK; i++) status = define_outputs(scope, nodes[i], in_function);
  for (size_t i = 0; i < count && status == BURN_OK; i++) status = build_step(scope, nodes[i]);
  return status;
}

/* -- order ------------------------------------------------------------------------------------- */

/* A walk from steps to those that they need. */
typedef struct Order {
  const OnnxBody *body;
  uint32_t *giver; /* [slot] the step that gives it, or ONNX_NONE */
  uint32_t *next;  /* [step] which of its inputs and captures is looked at next */
  uint32_t *stack; /* steps that wait for those above them */
  bool *waits, *done;
  OnnxStep *sorted;
  uint32_t count;
} Order;

static void order_release(Order *order) {
  free(order->giver);
  free(order->next);
  free(order->stack);
  free(order->waits);
  free(order->done);
  free(order->sorted);
}

static bool order_init(Order *order, const OnnxBody *body) {
  const size_t steps = body->step_count + 1;
  *order = (Order){.body = body,
                   .giver = malloc((body->slot_count + 1) * sizeof *order->giver),
                   .next = calloc(steps, sizeof *order->next),
                   .stack = calloc(steps, sizeof *order->stack),
                   .waits = calloc(steps, sizeof *order->waits),
                   .done = calloc(steps, sizeof *order->done),
                   .sorted = calloc(steps, sizeof *order->sorted)};
  if (!order->giver || !order->next || !order->stack || !order->waits || !order->done || !order->sorted) return false;
  for (uint32_t i = 0; i < body->slot_count; i++) order->giver[i] = ONNX_NONE;
  for (uint32_t s = 0; s < body->step_count; s++) {
    for (uint32_t i = 0; i < body->steps[s].output_count; i++) {
      if (body->steps[s].outputs[i] != ONNX_NONE) order->giver[body->steps[s].outputs[i]] = s;
    }
  }
  return true;
}

/* The next step that step s needs and that is not done; ONNX_NONE: there is no more. */
static uint32_t needed(Order *order, uint32_t s) {
  const OnnxStep *step = &order->body->steps[s];
  while (order->next[s] < step->input_count + step->capture_count) {
    const uint32_t i = order->next[s]++;
    const uint32_t slot = i < step->input_count ? step->inputs[i] : step->captures[i - step->input_count];
    const uint32_t from = slot == ONNX_NONE ? ONNX_NONE : order->giver[slot];
    if (from != ONNX_NONE && !order->done[from]) return from;
  }
  return ONNX_NONE;
}

/* Step `first` after all that it needs; false if one of them needs its own result. */
static bool put_after_needed(Order *order, uint32_t first) {
  uint32_t depth = 1;
  order->stack[0] = first;
  while (depth > 0) {
    const uint32_t s = order->stack[depth - 1], from = needed(order, s);
    order->waits[s] = true;
    if (from != ONNX_NONE) {
      if (order->waits[from]) return false;
      order->stack[depth++] = from;
      continue;
    }
    order->done[s] = true;
    order->sorted[order->count++] = order->body->steps[s];
    depth--;
  }
  return true;
}

/* Files should have their nodes in an order in which they can run, which stays; in others a node comes after those that
 * it needs. Every input is looked at once, whatever the order. */
static BurnStatus order(const Scope *scope) {
  OnnxBody *body = scope->body;
  char where[ONNX_LOCATION];
  Order order;
  BurnStatus status = order_init(&order, body) ? BURN_OK : no_memory();
  for (uint32_t s = 0; s < body->step_count && status == BURN_OK; s++) {
    if (order.done[s] || put_after_needed(&order, s)) continue;
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: it needs its own result: the graph has a circle",
                              onnx_location(scope->program, body->steps[s].proto, where));
  }
  if (status == BURN_OK) {
    free(body->steps);
    body->steps = order.sorted;
    body->step_capacity = body->step_count + 1;
    order.sorted = NULL;
  }
  order_release(&order);
  return status;
}

void onnx_count_uses(OnnxBody *body) {
  if (body->slot_count) memset(body->uses, 0, body->slot_count * sizeof *body->uses);
  for (uint32_t s = 0; s < body->step_count; s++) {
    const OnnxStep *step = &body->steps[s];
    for (uint32_t i = 0; i < step->input_count; i++) {
      if (step->inputs[i] != ONNX_NONE) body->uses[step->inputs[i]]++;
    }
    for (uint32_t i = 0; i < step->capture_count; i++) body->uses[step->captures[i]]++;
  }
  for (uint32_t i = 0; i < body->output_count; i++) body->uses[body->outputs[i]]++;
}

/* -- bodies ------------------------------------------------------------------------------------ */

static BurnStatus build_initializer(Scope *scope, const Onnx__TensorProto *proto) {
  OnnxProgram *program = scope->program;
  uint32_t slot;
  BurnStatus status = define(scope, proto->name, "initializer", &slot);
  if (status != BURN_OK) return status;
  OnnxStrings *strings = proto->data_type == ONNX_STRING ? onnx_strings_of(proto, &status) : NULL;
  BurnTensor *x = proto->data_type == ONNX_STRING ? NULL : onnx_weight_tensor(program, proto);
  if (x) status = burn_tensor_status(x);
  if (status != BURN_OK) {
    burn_drop(x);
    return burn_status_annotate(status, "%s", program->label);
  }
  const bool narrow = !strings && onnx_dtype(proto->data_type) == BURN_DTYPE_DEFAULT;
  const OnnxWeight weight = {.name = proto->name,
                             .scalar = proto->n_dims == 0,
                             .type = narrow ? proto->data_type : 0,
                             .strings = strings,
                             .initializer = true};
  scope->body->weights[slot] = onnx_add_weight(program, &weight, x);
  return scope->body->weights[slot] == ONNX_NONE ? no_memory() : BURN_OK;
}

/* Old models name their initializers among the inputs, too. */
static BurnStatus build_ends(Scope *scope) {
  OnnxBody *body = scope->body;
  const Onnx__GraphProto *graph = body->proto;
  OnnxArena *arena = &scope->program->arena;
  body->inputs = onnx_arena_take(arena, graph->n_input, sizeof *body->inputs);
  body->outputs = onnx_arena_take(arena, graph->n_output, sizeof *body->outputs);
  if (!body->inputs || !body->outputs) return no_memory();
  for (size_t i = 0; i < graph->n_input; i++) {
    const uint32_t known = onnx_names_get(&scope->names, graph->input[i]->name);
    if (known != ONNX_NONE && body->weights[known] != ONNX_NONE) continue;
    const BurnStatus status = define(scope, graph->input[i]->name, "input", &body->inputs[body->input_count]);
    if (status != BURN_OK) return status;
    body->input_count++;
  }
  return BURN_OK;
}

static BurnStatus build_outputs(Scope *scope) {
  OnnxBody *body = scope->body;
  const Onnx__GraphProto *graph = body->proto;
  for (size_t i = 0; i < graph->n_output; i++) {
    const uint32_t slot = resolve(scope, graph->output[i]->name);
    if (slot == ONNX_NONE) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: graph '%s': output '%s' is nobody's result",
                              scope->program->label, graph->name, graph->output[i]->name);
    }
    body->outputs[body->output_count++] = slot;
  }
  return BURN_OK;
}

static BurnStatus build_body(Scope *scope) {
  const Onnx__GraphProto *graph = scope->body->proto;
  BurnStatus status = BURN_OK;
  if (scope->depth > ONNX_MAX_DEPTH) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: graph '%s': more than %d graphs in each other",
                            scope->program->label, graph->name, ONNX_MAX_DEPTH);
  }
  if (graph->n_sparse_initializer > 0) {
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s: graph '%s': sparse initializers are not supported",
                            scope->program->label, graph->name);
  }
  for (size_t i = 0; i < graph->n_initializer && status == BURN_OK; i++) {
    status = build_initializer(scope, graph->initializer[i]);
  }
  if (status == BURN_OK) status = build_ends(scope);
  if (status == BURN_OK) status = build_nodes(scope, graph->node, graph->n_node);
  if (status == BURN_OK) status = build_outputs(scope);
  if (status == BURN_OK) status = order(scope);
  if (status == BURN_OK) onnx_count_uses(scope->body);
  return status;
}

BurnStatus onnx_build(OnnxProgram *program) {
  Scope scope = {.program = program, .body = new_body(program, program->model->graph, NULL)};
  program->body = scope.body;
  if (!scope.body) return no_memory();
  const BurnStatus status = build_body(&scope);
  onnx_names_release(&scope.names);
  program->nodes_in_file = scope.body->step_count;
  return status;
}
