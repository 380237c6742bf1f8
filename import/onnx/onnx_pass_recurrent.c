/* onnx_pass_recurrent.c - the weights of an RNN, GRU or LSTM turned and sorted once, where weights may be merged. */
#include "onnx_pattern.h"

#include <burn/burn.h>

#include <stdlib.h>

enum { FIRST = 8, MOST = 8 };

static bool is_recurrent(const OnnxStep *step) {
  return onnx_step_is(step, "LSTM") || onnx_step_is(step, "GRU") || onnx_step_is(step, "RNN");
}

/* Inputs 1, 2, 3 and 7 of the step, as far as it has them, into the node; false if one is not a weight. */
static bool weights_into(const OnnxProgram *program, const OnnxStep *step, OnnxNode *node) {
  static const uint32_t known[] = {1, 2, 3, 7};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const uint32_t at = known[i];
    if (at >= step->input_count || step->inputs[at] == ONNX_NONE) continue;
    const BurnTensor *x = onnx_step_weight(program, step, at);
    if (!x) return false;
    node->inputs[at] = burn_clone(x);
  }
  return node->inputs[1] && node->inputs[2];
}

/* Prepared weights become inputs, in place of those that they are made of. */
static bool use_prepared(OnnxProgram *program, OnnxStep *step, BurnTensor **prepared, size_t count) {
  uint32_t inputs[FIRST + MOST];
  bool good = true;
  for (uint32_t i = 0; i < FIRST; i++) {
    const bool stays = i < step->input_count && (i < 1 || i > 3);
    inputs[i] = stays ? step->inputs[i] : ONNX_NONE;
  }
  for (size_t i = 0; i < count; i++) {
    inputs[FIRST + i] = ONNX_NONE;
    if (!prepared[i]) continue;
    inputs[FIRST + i] = onnx_add_constant(program, program->body->slots[step->inputs[1]], onnx_dense(prepared[i]));
    good = good && inputs[FIRST + i] != ONNX_NONE;
  }
  OnnxStep changed = *step;
  good = good && onnx_replace_step(program, &changed, step->op->name, inputs, (uint32_t)(FIRST + count),
                                   step->proto->attribute, step->proto->n_attribute);
  if (!good) return false;
  Onnx__NodeProto *proto = onnx_arena_take(&program->arena, 1, sizeof *proto);
  if (!proto) return false;
  *proto = *changed.proto;
  proto->n_output = step->proto->n_output;
  changed.proto = proto;
  changed.opset = step->opset;
  changed.output_count = step->output_count;
  changed.least = 1;
  changed.prepared = true;
  *step = changed;
  return true;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  BurnTensor *prepared[MOST] = {NULL};
  OnnxNode *node = is_recurrent(step) ? calloc(1, sizeof *node) : NULL;
  if (!node) return false;
  node->device = givers->program->device;
  node->proto = step->proto;
  node->opset = step->opset;
  const bool known = weights_into(givers->program, step, node);
  const size_t count = known ? onnx_prepare_recurrent(node, prepared) : 0;
  for (uint32_t i = 0; i < FIRST; i++) burn_drop(node->inputs[i]);
  free(node);
  return count > 0 && use_prepared(givers->program, step, prepared, count);
}

uint32_t onnx_pass_recurrent(OnnxProgram *program, OnnxMerge merge) {
  return merge == ONNX_MERGE_WEIGHTS ? onnx_change_steps(program, merge, change) : 0;
}
