/* onnx_pass_batch_norm.c - a BatchNormalization after a Conv becomes part of the Conv's weights:
 * w' = w * scale / sqrt(var + epsilon), b' = (b - mean) * scale / sqrt(var + epsilon) + shift. */
#include "onnx_program.h"

#include <burn/burn.h>

#include <stdlib.h>
#include <string.h>

static bool is_conv(const OnnxProgram *program, const OnnxStep *step) {
  const bool biased = step->input_count > 2 && step->inputs[2] != ONNX_NONE;
  return strcmp(step->op->name, "Conv") == 0 && step->input_count >= 2 && onnx_step_weight(program, step, 1) &&
         (!biased || onnx_step_weight(program, step, 2));
}

/* An inference step whose four weights are known, one number per channel of the Conv. */
static bool is_norm(const OnnxProgram *program, const OnnxStep *step, int64_t channels) {
  if (strcmp(step->op->name, "BatchNormalization") != 0 || step->input_count != 5) return false;
  for (uint32_t i = 1; i < 5; i++) {
    const BurnTensor *x = onnx_step_weight(program, step, i);
    if (!x || burn_rank(x) != 1 || burn_dim(x, 0) != channels) return false;
  }
  for (uint32_t i = 1; i < step->output_count; i++) {
    if (step->outputs[i] != ONNX_NONE) return false;
  }
  const OnnxNode node = {.proto = step->proto};
  return !onnx_int(&node, "training_mode", 0);
}

/* The Conv's node with a bias. */
static Onnx__NodeProto *with_bias(OnnxArena *arena, const Onnx__NodeProto *proto, const Onnx__NodeProto *norm) {
  static char empty[1] = "";
  Onnx__NodeProto *copy = onnx_arena_take(arena, 1, sizeof *copy);
  char **inputs = onnx_arena_take(arena, 3, sizeof *inputs);
  if (!copy || !inputs) return NULL;
  *copy = *proto;
  inputs[0] = proto->input[0];
  inputs[1] = proto->input[1];
  inputs[2] = proto->n_input > 2 ? proto->input[2] : empty;
  copy->input = inputs;
  copy->n_input = 3;
  copy->output = norm->output;
  copy->n_output = 1;
  return copy;
}

static bool merge_pair(OnnxProgram *program, OnnxStep *conv, const OnnxStep *norm) {
  const OnnxNode node = {.proto = norm->proto};
  BurnTensor *w = onnx_step_weight(program, conv, 1), *b = onnx_step_weight(program, conv, 2);
  int64_t dims[BURN_MAX_RANK] = {burn_dim(w, 0), 1, 1, 1, 1, 1, 1, 1};
  BurnTensor *var = burn_add_scalar(burn_clone(onnx_step_weight(program, norm, 4)), onnx_float(&node, "epsilon", 1e-5));
  BurnTensor *scale = burn_div(burn_clone(onnx_step_weight(program, norm, 1)), burn_sqrt(var));
  BurnTensor *mean = burn_clone(onnx_step_weight(program, norm, 3));
  BurnTensor *bias = b ? burn_sub(burn_clone(b), mean) : burn_neg(mean);
  bias = burn_add(burn_mul(bias, burn_clone(scale)), burn_clone(onnx_step_weight(program, norm, 2)));
  BurnTensor *weight = burn_mul(burn_clone(w), onnx_reshape(scale, dims, burn_rank(w)));
  Onnx__NodeProto *proto = with_bias(&program->arena, conv->proto, norm->proto);
  uint32_t *inputs = onnx_arena_take(&program->arena, 3, sizeof *inputs);
  const uint32_t weight_slot = onnx_add_constant(program, program->body->slots[conv->inputs[1]], weight);
  const uint32_t bias_slot = onnx_add_constant(program, program->body->slots[norm->inputs[2]], bias);
  if (!proto || !inputs || weight_slot == ONNX_NONE || bias_slot == ONNX_NONE) return false;
  inputs[0] = conv->inputs[0];
  inputs[1] = weight_slot;
  inputs[2] = bias_slot;
  conv->proto = proto;
  conv->inputs = inputs;
  conv->input_count = 3;
  conv->outputs = norm->outputs;
  conv->output_count = 1;
  return true;
}

uint32_t onnx_pass_batch_norm(OnnxProgram *program, OnnxMerge merge) {
  OnnxBody *body = program->body;
  uint32_t *giver = merge == ONNX_MERGE_WEIGHTS ? malloc((body->slot_count + 1) * sizeof *giver) : NULL, kept = 0;
  if (!giver) return 0;
  const uint32_t slots = body->slot_count;
  for (uint32_t i = 0; i < slots; i++) giver[i] = ONNX_NONE;
  for (uint32_t s = 0; s < body->step_count; s++) {
    const OnnxStep step = body->steps[s];
    const uint32_t from =
        step.input_count && step.inputs[0] != ONNX_NONE && step.inputs[0] < slots ? giver[step.inputs[0]] : ONNX_NONE;
    OnnxStep *conv = from == ONNX_NONE ? NULL : &body->steps[from];
    const bool merged = conv && body->uses[step.inputs[0]] == 1 && is_conv(program, conv) &&
                        is_norm(program, &step, burn_dim(onnx_step_weight(program, conv, 1), 0)) &&
                        merge_pair(program, conv, &step);
    const uint32_t at = merged ? from : kept;
    if (!merged) body->steps[kept++] = step;
    for (uint32_t i = 0; i < step.output_count; i++) {
      if (step.outputs[i] != ONNX_NONE) giver[step.outputs[i]] = at;
    }
  }
  const uint32_t gone = body->step_count - kept;
  body->step_count = kept;
  free(giver);
  return gone;
}
