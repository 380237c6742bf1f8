/* onnx_pass_norm.c - (x - mean) / sqrt(mean of its squares + epsilon) * gamma + beta over the last axis becomes
 * LayerNormalization. Gamma and beta stay the weights that they are. */
#include "onnx_pattern.h"

#include <burn/burn.h>

/* Whether a ReduceMean is over the last axis, which stays with size 1. */
static bool over_last(const OnnxGivers *givers, const OnnxStep *step) {
  OnnxNode node = {.proto = step->proto};
  int64_t axes[ONNX_INTS];
  double axis = 0;
  if (!onnx_int(&node, "keepdims", 1)) return false;
  const size_t count = onnx_ints(&node, "axes", axes);
  if (count > 0 || node.reason[0]) return count == 1 && axes[0] == -1;
  return step->input_count > 1 && onnx_is_number(givers, step->inputs[1], &axis) && axis == -1.0;
}

/* The x of x - mean(x); ONNX_NONE: it is none. */
static uint32_t centred(const OnnxGivers *givers, uint32_t slot) {
  const OnnxStep *sub = onnx_giver(givers, slot, "Sub");
  const OnnxStep *mean = sub ? onnx_giver(givers, sub->inputs[1], "ReduceMean") : NULL;
  return mean && mean->inputs[0] == sub->inputs[0] && over_last(givers, mean) ? sub->inputs[0] : ONNX_NONE;
}

/* What is squared: by Pow or as a product with itself; ONNX_NONE: nothing. */
static uint32_t squared(const OnnxGivers *givers, uint32_t slot) {
  const OnnxStep *pow = onnx_only_giver(givers, slot, "Pow"), *mul = onnx_only_giver(givers, slot, "Mul");
  if (pow && onnx_is_about(givers, pow->inputs[1], 2)) return pow->inputs[0];
  return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : ONNX_NONE;
}

/* What sqrt(mean(x^2) + epsilon) is made of, and epsilon; ONNX_NONE: it is none. */
static uint32_t spread(const OnnxGivers *givers, uint32_t slot, double *epsilon) {
  const OnnxStep *root = onnx_only_giver(givers, slot, "Sqrt");
  const OnnxStep *add = root ? onnx_only_giver(givers, root->inputs[0], "Add") : NULL;
  for (uint32_t i = 0; add && i < 2; i++) {
    const OnnxStep *mean = onnx_only_giver(givers, add->inputs[i], "ReduceMean");
    if (!mean || !over_last(givers, mean) || !onnx_is_number(givers, add->inputs[1 - i], epsilon)) continue;
    return squared(givers, mean->inputs[0]);
  }
  return ONNX_NONE;
}

/* The x of a normalization without gamma and beta; ONNX_NONE: it is none. */
static uint32_t normalized(const OnnxGivers *givers, uint32_t slot, double *epsilon) {
  const OnnxStep *div = onnx_only_giver(givers, slot, "Div");
  const uint32_t from = div ? spread(givers, div->inputs[1], epsilon) : ONNX_NONE;
  return from != ONNX_NONE && from == div->inputs[0] ? centred(givers, from) : ONNX_NONE;
}

/* A weight of one axis, and not of one element, which would be stretched. */
static int64_t length(const OnnxGivers *givers, const OnnxStep *step, uint32_t i) {
  const BurnTensor *x = onnx_step_weight(givers->program, step, i);
  return x && burn_rank(x) == 1 && burn_dim(x, 0) > 1 ? burn_dim(x, 0) : 0;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  double epsilon = 0;
  for (uint32_t i = 0; i < 2 && onnx_step_is(step, "Add") && step->input_count == 2; i++) {
    const OnnxStep *mul = onnx_only_giver(givers, step->inputs[i], "Mul");
    const int64_t size = length(givers, step, 1 - i);
    for (uint32_t k = 0; k < 2 && mul && size > 0; k++) {
      const uint32_t x = normalized(givers, mul->inputs[k], &epsilon);
      if (x == ONNX_NONE || length(givers, mul, 1 - k) != size) continue;
      const uint32_t inputs[] = {x, mul->inputs[1 - k], step->inputs[1 - i]};
      Onnx__AttributeProto *attribute = onnx_new_float(givers->program, "epsilon", epsilon);
      return onnx_replace_step(givers->program, step, "LayerNormalization", inputs, 3, &attribute, 1);
    }
  }
  return false;
}

uint32_t onnx_pass_norm(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
