/* onnx_run.c - runs bodies: step after step, every value freed at its last use. */
#include "onnx_narrow.h"
#include "onnx_program.h"
#include "onnx_strings.h"

#include <burn/burn.h>

#include <stdlib.h>
#include <string.h>

/* -- values ------------------------------------------------------------------------------------ */

static int64_t bytes_of(const BurnTensor *x) {
  return x ? burn_element_count(x) * (int64_t)burn_dtype_bytes(burn_dtype(x)) : 0;
}

static void count_bytes(OnnxFrame *frame, int64_t bytes) {
  frame->run->bytes += bytes;
  if (frame->run->bytes > frame->run->peak) frame->run->peak = frame->run->bytes;
}

static void put(OnnxFrame *frame, uint32_t slot, OnnxValue value) {
  if (slot == ONNX_NONE || frame->left[slot] == 0) {
    onnx_value_release(&value);
    return;
  }
  onnx_value_release(&frame->values[slot]);
  frame->values[slot] = value;
  count_bytes(frame, bytes_of(value.tensor));
}

/* One use less; the last ends the value. */
static void used(OnnxFrame *frame, uint32_t slot) {
  if (slot == ONNX_NONE || --frame->left[slot] > 0) return;
  count_bytes(frame, -bytes_of(frame->values[slot].tensor));
  onnx_value_release(&frame->values[slot]);
}

BurnTensor *onnx_weight_value(const OnnxFrame *frame, uint32_t weight) {
  if (!frame->module) return burn_clone(frame->program->tensors[weight]);
  const OnnxField *field = (const OnnxField *)frame->module + weight;
  switch (frame->program->weights[weight].kind) {
    case ONNX_PARAMETER:
      return burn_param_value(&field->parameter);
    case ONNX_BUFFER:
      return burn_buffer_value(&field->buffer);
    default:
      return burn_constant_value(&field->constant);
  }
}

bool onnx_in_training(const OnnxNode *node) { return node->frame && node->frame->run->training; }

void onnx_gradient_begin(OnnxNode *node) { node->frame->run->gradients++; }
void onnx_gradient_end(OnnxNode *node) { node->frame->run->gradients--; }
bool onnx_gradient_is_inner(const OnnxNode *node) { return node->frame->run->gradients > 1; }

int64_t onnx_most_rounds(const OnnxNode *node) { return node->frame ? node->frame->run->most_rounds : 0; }

void onnx_set_state(const OnnxNode *node, size_t i, BurnTensor *x) {
  const OnnxFrame *frame = node->frame;
  const uint32_t slot = frame && i < frame->step->input_count ? frame->step->inputs[i] : ONNX_NONE;
  const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : frame->body->weights[slot];
  if (weight == ONNX_NONE || !frame->module || frame->program->weights[weight].kind != ONNX_BUFFER) {
    burn_drop(x);
    return;
  }
  burn_buffer_set(&((const OnnxField *)frame->module + weight)->buffer, burn_is_tracked(x) ? burn_detach(x) : x);
}

/* A handle of its own to what a slot has now. */
static OnnxValue get(const OnnxFrame *frame, uint32_t slot) {
  const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : frame->body->weights[slot];
  if (weight != ONNX_NONE) {
    const OnnxWeight *is = &frame->program->weights[weight];
    if (is->strings) return (OnnxValue){.scalar = is->scalar, .strings = onnx_strings_retain(is->strings)};
    return (OnnxValue){.tensor = onnx_weight_value(frame, weight), .scalar = is->scalar, .type = is->type};
  }
  if (slot == ONNX_NONE) return (OnnxValue){0};
  const OnnxValue *value = &frame->values[slot];
  OnnxValue copy = *value;
  copy.tensor = value->tensor ? burn_clone(value->tensor) : NULL;
  onnx_list_retain(value->list);
  onnx_strings_retain(value->strings);
  return copy;
}

/* The same, or the value itself where this use is its last, so that an op may overwrite it; *bytes grows by it then. */
static OnnxValue get_for_use(OnnxFrame *frame, uint32_t slot, int64_t *bytes) {
  if (slot == ONNX_NONE || frame->body->weights[slot] != ONNX_NONE || frame->left[slot] != 1) return get(frame, slot);
  const OnnxValue value = frame->values[slot];
  frame->values[slot] = (OnnxValue){0};
  *bytes += bytes_of(value.tensor);
  return value;
}

/* -- a step ------------------------------------------------------------------------------------ */

/* A node has room for many values, of which few are used: only what it has is cleared. */
void onnx_node_release(OnnxNode *node) {
  for (size_t i = 0; i < node->proto->n_input && i < ONNX_MAX_VALUES; i++) {
    burn_drop(node->inputs[i]);
    onnx_list_release(node->lists[i]);
    onnx_strings_release(node->strings[i]);
    node->inputs[i] = NULL;
    node->lists[i] = NULL;
    node->strings[i] = NULL;
    node->scalar[i] = false;
    node->types[i] = 0;
  }
  for (size_t i = 0; i < node->proto->n_output && i < ONNX_MAX_VALUES; i++) {
    burn_drop(node->outputs[i]);
    onnx_list_release(node->output_lists[i]);
    onnx_strings_release(node->output_strings[i]);
    node->outputs[i] = NULL;
    node->output_lists[i] = NULL;
    node->output_strings[i] = NULL;
    node->output_rank[i] = ONNX_RANK_OF_INPUTS;
    node->output_types[i] = 0;
  }
  node->reason[0] = 0;
  node->status = BURN_OK;
}

/* Most mappings read their first inputs without asking whether they are there. */
static BurnStatus check_inputs(const OnnxStep *step, const OnnxNode *node) {
  const uint32_t least = step->least;
  for (uint32_t i = 0; i < least; i++) {
    if (i < step->input_count && (node->inputs[i] || node->lists[i] || node->strings[i])) continue;
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "input %u of at least %u is absent", i, least);
  }
  return BURN_OK;
}

/* Whether there are tensors or strings among the inputs, and all are rank 0. */
static bool all_scalar(const OnnxStep *step, const OnnxNode *node) {
  bool any = false;
  for (uint32_t k = 0; k < step->input_count; k++) {
    if (!node->inputs[k] && !node->strings[k]) continue;
    if (!node->scalar[k]) return false;
    any = true;
  }
  return any;
}

/* A result of one element is rank 0 if all inputs are, unless the mapping says otherwise. */
static bool is_scalar(const OnnxNode *node, size_t i, bool inputs_are) {
  if (node->output_rank[i] != ONNX_RANK_OF_INPUTS) return node->output_rank[i] == ONNX_RANK_0;
  const BurnTensor *x = node->outputs[i];
  const OnnxStrings *strings = node->output_strings[i];
  if (strings) return inputs_are && strings->shape.rank == 1 && strings->count == 1;
  return inputs_are && x && burn_rank(x) == 1 && burn_element_count(x) == 1;
}

BurnStatus onnx_run_step(const OnnxProgram *program, const OnnxStep *step, OnnxNode *node) {
  char where[ONNX_LOCATION];
  BurnStatus status = check_inputs(step, node);
  const bool inputs_are = all_scalar(step, node); /* the mapping may take them */
  if (status == BURN_OK) {
    onnx_apply_operator(step->op, node);
    status = node->status;
  }
  if (status == BURN_OK && node->reason[0]) status = burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s", node->reason);
  for (size_t i = 0; i < step->output_count && status == BURN_OK; i++) {
    if (node->outputs[i]) status = burn_tensor_status(node->outputs[i]);
    node->output_rank[i] = is_scalar(node, i, inputs_are) ? ONNX_RANK_0 : ONNX_RANK_MORE;
  }
  return status == BURN_OK ? status : burn_status_annotate(status, "%s", onnx_location(program, step->proto, where));
}

static BurnStatus run_step(OnnxFrame *frame, const OnnxStep *step, OnnxNode *node) {
  int64_t ended = 0;
  frame->step = step;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const OnnxValue value = get_for_use(frame, step->inputs[i], &ended);
    node->inputs[i] = value.tensor;
    node->scalar[i] = value.scalar;
    node->lists[i] = value.list;
    node->strings[i] = value.strings;
    node->types[i] = value.type;
  }
  node->device = frame->device;
  node->proto = step->proto;
  node->opset = step->opset;
  node->prepared = step->prepared;
  node->frame = frame;
  const BurnStatus status = onnx_run_step(frame->program, step, node);
  for (uint32_t i = 0; i < step->output_count && status == BURN_OK; i++) {
    const OnnxValue value = {.tensor = node->outputs[i],
                             .scalar = node->output_rank[i] == ONNX_RANK_0,
                             .type = node->output_types[i],
                             .list = node->output_lists[i],
                             .strings = node->output_strings[i]};
    node->outputs[i] = NULL;
    node->output_lists[i] = NULL;
    node->output_strings[i] = NULL;
    put(frame, step->outputs[i], value);
  }
  onnx_node_release(node);
  count_bytes(frame, -ended);
  for (uint32_t i = 0; i < step->input_count; i++) used(frame, step->inputs[i]);
  for (uint32_t i = 0; i < step->capture_count; i++) used(frame, step->captures[i]);
  return status;
}

/* -- a body ------------------------------------------------------------------------------------ */

static BurnStatus run_steps(OnnxFrame *frame) {
  OnnxNode *node = calloc(1, sizeof *node);
  BurnStatus status = node ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a node");
  for (uint32_t s = 0; s < frame->body->step_count && status == BURN_OK; s++) {
    status = run_step(frame, &frame->body->steps[s], node);
  }
  free(node);
  return status;
}

BurnStatus onnx_run_body(OnnxFrame *frame, OnnxValue *inputs, OnnxValue *outputs) {
  const OnnxBody *body = frame->body;
  frame->values = calloc(body->slot_count + 1, sizeof *frame->values);
  frame->left = malloc((body->slot_count + 1) * sizeof *frame->left);
  BurnStatus status = frame->values && frame->left ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  if (status == BURN_OK && body->slot_count) memcpy(frame->left, body->uses, body->slot_count * sizeof *frame->left);
  for (uint32_t i = 0; i < body->input_count; i++) {
    if (status == BURN_OK) {
      put(frame, body->inputs[i], inputs[i]);
    } else {
      onnx_value_release(&inputs[i]);
    }
  }
  for (uint32_t i = 0; i < body->capture_count && status == BURN_OK; i++) {
    put(frame, body->capture_to[i], get(frame->outer, body->capture_from[i]));
  }
  if (status == BURN_OK) status = run_steps(frame);
  for (uint32_t i = 0; i < body->output_count; i++) {
    outputs[i] = status == BURN_OK ? get(frame, body->outputs[i]) : (OnnxValue){0};
  }
  for (uint32_t i = 0; frame->values && i < body->slot_count; i++) {
    frame->run->bytes -= bytes_of(frame->values[i].tensor);
    onnx_value_release(&frame->values[i]);
  }
  free(frame->values);
  free(frame->left);
  return status;
}

/* -- subgraphs --------------------------------------------------------------------------------- */

static const OnnxBody *body_of(const OnnxNode *node, const Onnx__GraphProto *graph) {
  for (uint32_t i = 0; node->frame && i < node->frame->step->body_count; i++) {
    if (node->frame->step->bodies[i]->proto == graph) return node->frame->step->bodies[i];
  }
  return NULL;
}

BurnStatus onnx_run_subgraph(OnnxNode *node, const Onnx__GraphProto *graph, OnnxValue *inputs, size_t input_count,
                             OnnxValue *outputs, size_t output_count) {
  const OnnxBody *body = body_of(node, graph);
  if (!body || body->input_count != input_count || body->output_count != output_count) {
    for (size_t i = 0; i < input_count; i++) onnx_value_release(&inputs[i]);
    for (size_t i = 0; i < output_count; i++) outputs[i] = (OnnxValue){0};
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "the subgraph has %u inputs and %u outputs, expected %zu and %zu",
                            body ? body->input_count : 0, body ? body->output_count : 0, input_count, output_count);
  }
  OnnxFrame frame = {.program = node->frame->program,
                     .body = body,
                     .outer = node->frame,
                     .device = node->device,
                     .module = node->frame->module,
                     .run = node->frame->run};
  return onnx_run_body(&frame, inputs, outputs);
}
