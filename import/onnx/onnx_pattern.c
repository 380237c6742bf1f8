/* onnx_pattern.c - which step gives what, for passes that look for several steps at once. */
#include "onnx_pattern.h"

#include <burn/burn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool onnx_step_is(const OnnxStep *step, const char *op) {
  return strcmp(step->op->name, op) == 0 && !step->prepared && step->input_count >= step->least;
}

bool onnx_givers_init(OnnxGivers *givers, OnnxProgram *program, OnnxMerge merge) {
  const OnnxBody *body = program->body;
  *givers = (OnnxGivers){.program = program, .merge = merge, .count = body->slot_count};
  givers->steps = calloc(body->slot_count + 1, sizeof *givers->steps);
  for (uint32_t s = 0; givers->steps && s < body->step_count; s++) {
    const OnnxStep *step = &body->steps[s];
    if (step->output_count > 0 && step->outputs[0] != ONNX_NONE) givers->steps[step->outputs[0]] = &body->steps[s];
  }
  return givers->steps != NULL;
}

void onnx_givers_release(OnnxGivers *givers) { free(givers->steps); }

OnnxStep *onnx_giver(const OnnxGivers *givers, uint32_t slot, const char *op) {
  OnnxStep *step = slot < givers->count ? givers->steps[slot] : NULL;
  return step && onnx_step_is(step, op) ? step : NULL;
}

OnnxStep *onnx_only_giver(const OnnxGivers *givers, uint32_t slot, const char *op) {
  return slot < givers->count && givers->program->body->uses[slot] == 1 ? onnx_giver(givers, slot, op) : NULL;
}

bool onnx_is_number(const OnnxGivers *givers, uint32_t slot, double *value) {
  const OnnxProgram *program = givers->program;
  const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : program->body->weights[slot];
  if (weight == ONNX_NONE || program->weights[weight].strings || burn_element_count(program->tensors[weight]) != 1)
    return false;
  if (givers->merge == ONNX_KEEP_WEIGHTS && program->weights[weight].kind != ONNX_CONSTANT) return false;
  return program->weights[weight].type == 0 && burn_read_scalar(burn_clone(program->tensors[weight]), value) == BURN_OK;
}

bool onnx_is_about(const OnnxGivers *givers, uint32_t slot, double wanted) {
  double value;
  return onnx_is_number(givers, slot, &value) && fabs(value - wanted) <= 1e-3 * fabs(wanted);
}

uint32_t onnx_change_steps(OnnxProgram *program, OnnxMerge merge, OnnxChange *change) {
  OnnxGivers givers;
  uint32_t changed = 0;
  if (!onnx_givers_init(&givers, program, merge)) return 0;
  for (uint32_t s = 0; s < program->body->step_count; s++) changed += change(&givers, &program->body->steps[s]);
  onnx_givers_release(&givers);
  return changed;
}
