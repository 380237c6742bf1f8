/* onnx_passes.c - makes the main graph quicker when it is loaded. A pass leaves slots and weights that nobody reads any
 * more; the last one here finds them. */
#include "onnx_program.h"

/* Weights that no step and no output reads are no parameters any more. */
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

void onnx_passes(OnnxProgram *program, OnnxMerge merge) {
  static OnnxPass *const passes[] = {onnx_pass_fold, onnx_pass_noop, onnx_pass_common, onnx_pass_batch_norm,
                                     onnx_pass_dead};
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
    passes[i](program, merge);
    onnx_count_uses(program->body);
  }
  find_unused(program);
}
