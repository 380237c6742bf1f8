/* onnx_pass_dead.c - leaves out steps whose results nobody reads. */
#include "onnx_program.h"

#include <stdlib.h>

static bool wanted(const OnnxBody *body, const OnnxStep *step) {
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (step->outputs[i] != ONNX_NONE && body->uses[step->outputs[i]] > 0) return true;
  }
  return false;
}

/* From the last step back, so that what only a dead step read is dead, too. */
uint32_t onnx_pass_dead(OnnxProgram *program, OnnxMerge merge) {
  OnnxBody *body = program->body;
  bool *alive = calloc(body->step_count + 1, sizeof *alive);
  uint32_t kept = 0;
  (void)merge;
  if (!alive) return 0;
  for (uint32_t s = body->step_count; s-- > 0;) {
    const OnnxStep *step = &body->steps[s];
    alive[s] = wanted(body, step);
    for (uint32_t i = 0; i < step->input_count && !alive[s]; i++) {
      if (step->inputs[i] != ONNX_NONE) body->uses[step->inputs[i]]--;
    }
    for (uint32_t i = 0; i < step->capture_count && !alive[s]; i++) body->uses[step->captures[i]]--;
  }
  for (uint32_t s = 0; s < body->step_count; s++) {
    if (alive[s]) body->steps[kept++] = body->steps[s];
  }
  const uint32_t gone = body->step_count - kept;
  body->step_count = kept;
  free(alive);
  return gone;
}
