/* onnx_passes.c - makes the main graph quicker when it is loaded. A pass leaves slots and weights that nobody reads any
 * more; the last one here finds them. */
#include "onnx_program.h"

#include <burn/burn.h>

#include <stdlib.h>
#include <string.h>

/* -- what passes share --------------------------------------------------------------------------- */

BurnTensor *onnx_step_weight(const OnnxProgram *program, const OnnxStep *step, uint32_t i) {
  const uint32_t slot = i < step->input_count ? step->inputs[i] : ONNX_NONE;
  const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : program->body->weights[slot];
  return weight == ONNX_NONE ? NULL : program->tensors[weight];
}

uint32_t onnx_add_constant(OnnxProgram *program, const char *name, BurnTensor *x) {
  const OnnxWeight weight = {.name = name};
  const bool failed = burn_tensor_status(x) != BURN_OK;
  const uint32_t slot = failed ? ONNX_NONE : onnx_add_slot(program->body, name);
  if (slot == ONNX_NONE) {
    burn_drop(x);
    return ONNX_NONE;
  }
  program->body->weights[slot] = onnx_add_weight(program, &weight, x);
  return program->body->weights[slot] == ONNX_NONE ? ONNX_NONE : slot;
}

BurnTensor *onnx_dense(BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  const BurnDType dtype = burn_dtype(x);
  BurnDevice *device = burn_tensor_device(x);
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(dtype);
  void *data = malloc(bytes + 1);
  if (!data) return x;
  const BurnStatus status = burn_read(x, data, bytes);
  x = status == BURN_OK ? burn_tensor_from(device, data, dtype, shape) : burn_tensor_failed(status);
  free(data);
  return x;
}

static Onnx__AttributeProto *new_attribute(OnnxProgram *program, const char *name) {
  Onnx__AttributeProto *attribute = onnx_arena_take(&program->arena, 1, sizeof *attribute);
  if (!attribute) return NULL;
  onnx__attribute_proto__init(attribute);
  attribute->name = onnx_arena_text(&program->arena, name);
  return attribute->name ? attribute : NULL;
}

Onnx__AttributeProto *onnx_new_float(OnnxProgram *program, const char *name, double value) {
  Onnx__AttributeProto *attribute = new_attribute(program, name);
  if (attribute) attribute->f = (float)value;
  return attribute;
}

Onnx__AttributeProto *onnx_new_int(OnnxProgram *program, const char *name, int64_t value) {
  Onnx__AttributeProto *attribute = new_attribute(program, name);
  if (attribute) attribute->i = value;
  return attribute;
}

Onnx__AttributeProto *onnx_new_ints(OnnxProgram *program, const char *name, const int64_t *values, size_t count) {
  Onnx__AttributeProto *attribute = new_attribute(program, name);
  int64_t *list = onnx_arena_take(&program->arena, count + 1, sizeof *list);
  if (!attribute || !list) return NULL;
  memcpy(list, values, count * sizeof *list);
  attribute->ints = list;
  attribute->n_ints = count;
  return attribute;
}

/* The node of a step that a pass makes; names of inputs are those of slots, "" where there is none. */
static Onnx__NodeProto *new_node(OnnxProgram *program, const OnnxStep *step, const char *op, const uint32_t *inputs,
                                 uint32_t input_count, Onnx__AttributeProto *const *attributes,
                                 size_t attribute_count) {
  OnnxArena *arena = &program->arena;
  Onnx__NodeProto *node = onnx_arena_take(arena, 1, sizeof *node);
  char **names = onnx_arena_take(arena, input_count + 1, sizeof *names);
  Onnx__AttributeProto **list = onnx_arena_take(arena, attribute_count + 1, sizeof *list);
  char *type = onnx_arena_text(arena, op);
  if (!node || !names || !list || !type) return NULL;
  *node = *step->proto;
  for (uint32_t i = 0; i < input_count; i++) {
    names[i] = onnx_arena_text(arena, inputs[i] == ONNX_NONE ? "" : program->body->slots[inputs[i]]);
    if (!names[i]) return NULL;
  }
  for (size_t i = 0; i < attribute_count; i++) {
    list[i] = attributes[i];
    if (!list[i]) return NULL;
  }
  node->op_type = type;
  node->input = names;
  node->n_input = input_count;
  node->n_output = 1;
  node->attribute = list;
  node->n_attribute = attribute_count;
  return node;
}

bool onnx_replace_step(OnnxProgram *program, OnnxStep *step, const char *op, const uint32_t *inputs,
                       uint32_t input_count, Onnx__AttributeProto *const *attributes, size_t attribute_count) {
  enum { NEWEST = 23 };
  const Onnx__NodeProto *node = new_node(program, step, op, inputs, input_count, attributes, attribute_count);
  uint32_t *slots = onnx_arena_take(&program->arena, input_count + 1, sizeof *slots);
  const OnnxOperator *found = onnx_find_operator(op);
  if (!node || !slots || !found) return false;
  memcpy(slots, inputs, input_count * sizeof *slots);
  step->op = found;
  step->proto = node;
  step->opset = NEWEST;
  step->least = onnx_least_inputs(op);
  step->inputs = slots;
  step->input_count = input_count;
  step->output_count = 1;
  return true;
}

/* -- all of them ---------------------------------------------------------------------------------- */

/* Weights that no step and no output reads are not parameters any more. */
static void mark_used(const OnnxBody *body, bool *used) {
  for (uint32_t slot = 0; slot < body->slot_count; slot++) {
    if (body->weights[slot] != ONNX_NONE && body->uses[slot] > 0) used[body->weights[slot]] = true;
  }
  for (uint32_t s = 0; s < body->step_count; s++) {
    for (uint32_t i = 0; i < body->steps[s].body_count; i++) mark_used(body->steps[s].bodies[i], used);
  }
}

static void find_unused(OnnxProgram *program) {
  bool *used = onnx_arena_take(&program->arena, program->weight_count, sizeof *used);
  if (!used) return;
  mark_used(program->body, used);
  for (uint32_t i = 0; i < program->weight_count; i++) program->weights[i].unused = !used[i];
}

/* A pass works on what program->body is. */
static void run_passes(OnnxProgram *program, OnnxBody *body, OnnxMerge merge) {
  static OnnxPass *const passes[] = {onnx_pass_fold,       onnx_pass_noop,   onnx_pass_common,    onnx_pass_pad,
                                     onnx_pass_batch_norm, onnx_pass_norm,   onnx_pass_gelu,      onnx_pass_dead,
                                     onnx_pass_attention,  onnx_pass_linear, onnx_pass_recurrent, onnx_pass_strength,
                                     onnx_pass_pool,       onnx_pass_dead};
  OnnxBody *const main_body = program->body;
  program->body = body;
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
    passes[i](program, merge);
    onnx_count_uses(body);
  }
  program->body = main_body;
}

/* The main graph last: it was made first, and what it folds the others see as they run. */
void onnx_passes(OnnxProgram *program, OnnxMerge merge) {
  for (OnnxBody *body = program->bodies; body; body = body->made_before) run_passes(program, body, merge);
  find_unused(program);
}
