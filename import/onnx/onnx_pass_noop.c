/* onnx_pass_noop.c - leaves out steps that give what they get, and pairs of Transpose that undo each other. */
#include "onnx_pattern.h"

#include <stdlib.h>
#include <string.h>

static const Onnx__AttributeProto *perm_of(const OnnxStep *step) {
  for (size_t i = 0; i < step->proto->n_attribute; i++) {
    if (strcmp(step->proto->attribute[i]->name, "perm") == 0) return step->proto->attribute[i];
  }
  return NULL;
}

/* Whether the second order of axes undoes the first. */
static bool undoes(const OnnxStep *first, const OnnxStep *second) {
  const Onnx__AttributeProto *a = perm_of(first), *b = perm_of(second);
  if (!a || !b || a->n_ints != b->n_ints || a->n_ints == 0) return false;
  for (size_t i = 0; i < a->n_ints; i++) {
    const int64_t at = b->ints[i];
    if (at < 0 || at >= (int64_t)a->n_ints || a->ints[at] != (int64_t)i) return false;
  }
  return true;
}

/* The slot that a step's first output may be replaced by; ONNX_NONE: it does something. */
static uint32_t same_as(const OnnxGivers *givers, const OnnxStep *step) {
  if (step->input_count == 0 || step->output_count == 0 || step->inputs[0] == ONNX_NONE) return ONNX_NONE;
  if (strcmp(step->op->name, "Identity") == 0) return step->inputs[0];
  if (strcmp(step->op->name, "Dropout") == 0) { /* without a mask, and not told to train */
    const bool plain = step->input_count < 3 && (step->output_count < 2 || step->outputs[1] == ONNX_NONE);
    return plain ? step->inputs[0] : ONNX_NONE;
  }
  if (strcmp(step->op->name, "Transpose") != 0) return ONNX_NONE;
  const OnnxStep *first = onnx_giver(givers, step->inputs[0], "Transpose");
  return first && undoes(first, step) ? first->inputs[0] : ONNX_NONE;
}

void onnx_replace_slots(OnnxBody *body, const uint32_t *by) {
  for (uint32_t s = 0; s < body->step_count; s++) {
    OnnxStep *step = &body->steps[s];
    for (uint32_t i = 0; i < step->input_count; i++) {
      if (step->inputs[i] != ONNX_NONE) step->inputs[i] = by[step->inputs[i]];
    }
    for (uint32_t i = 0; i < step->capture_count; i++) step->captures[i] = by[step->captures[i]];
    for (uint32_t i = 0; i < step->body_count; i++) {
      for (uint32_t k = 0; k < step->bodies[i]->capture_count; k++) {
        step->bodies[i]->capture_from[k] = by[step->bodies[i]->capture_from[k]];
      }
    }
  }
}

uint32_t *onnx_replacements(const OnnxBody *body) {
  uint32_t *by = malloc((body->slot_count + 1) * sizeof *by);
  for (uint32_t i = 0; by && i < body->slot_count; i++) by[i] = i;
  return by;
}

bool onnx_is_output(const OnnxBody *body, uint32_t slot) {
  for (uint32_t i = 0; i < body->output_count; i++) {
    if (body->outputs[i] == slot) return true;
  }
  return false;
}

/* An output of the graph keeps its slot, which has its name. */
uint32_t onnx_pass_noop(OnnxProgram *program, OnnxMerge merge) {
  OnnxBody *body = program->body;
  uint32_t *by = onnx_replacements(body);
  uint32_t gone = 0, kept = 0;
  OnnxGivers givers;
  if (!by || !onnx_givers_init(&givers, program, merge)) {
    free(by);
    return 0;
  }
  for (uint32_t s = 0; s < body->step_count; s++) {
    const uint32_t from = same_as(&givers, &body->steps[s]);
    if (from == ONNX_NONE || onnx_is_output(body, body->steps[s].outputs[0])) continue;
    by[body->steps[s].outputs[0]] = by[from];
    gone++;
  }
  for (uint32_t s = 0; s < body->step_count; s++) {
    const OnnxStep step = body->steps[s];
    if (step.output_count == 0 || step.outputs[0] == ONNX_NONE || by[step.outputs[0]] == step.outputs[0]) {
      body->steps[kept++] = step;
    }
  }
  body->step_count = kept;
  onnx_replace_slots(body, by);
  onnx_givers_release(&givers);
  free(by);
  return gone;
}
