/* onnx_pass_attention.c - softmax(q k^T * scale + mask) v, for tensors of four axes, becomes Attention, with the key
 * transposed as the product had it. */
#include "onnx_pattern.h"

#include <string.h>

/* Whether a Transpose of four axes gives the slot. */
static bool has_four_axes(const OnnxGivers *givers, uint32_t slot) {
  const OnnxStep *step = onnx_giver(givers, slot, "Transpose");
  const OnnxNode node = {.proto = step ? step->proto : NULL};
  const Onnx__AttributeProto *perm = step ? onnx_attribute(&node, "perm") : NULL;
  return perm && perm->n_ints == 4;
}

/* Over the last of four axes: before opset 13 from an axis on, which is the same for the last. */
static bool over_last(const OnnxStep *softmax) {
  const OnnxNode node = {.proto = softmax->proto};
  const int64_t axis = onnx_int(&node, "axis", softmax->opset < 13 ? 1 : -1);
  return axis == 3 || axis == -1;
}

/* The product of query and key, and what it is scaled by; NULL: it is none. */
static const OnnxStep *scaled(const OnnxGivers *givers, uint32_t slot, double *scale) {
  const OnnxStep *div = onnx_only_giver(givers, slot, "Div"), *mul = onnx_only_giver(givers, slot, "Mul");
  if (div && onnx_is_number(givers, div->inputs[1], scale) && *scale != 0) {
    *scale = 1 / *scale;
    return onnx_only_giver(givers, div->inputs[0], "MatMul");
  }
  for (uint32_t i = 0; mul && i < 2; i++) {
    if (onnx_is_number(givers, mul->inputs[1 - i], scale) && *scale != 0) {
      return onnx_only_giver(givers, mul->inputs[i], "MatMul");
    }
  }
  return NULL;
}

/* The same with a mask that is added, if there is one. */
static const OnnxStep *masked(const OnnxGivers *givers, uint32_t slot, double *scale, uint32_t *mask) {
  const OnnxStep *add = onnx_only_giver(givers, slot, "Add");
  *mask = ONNX_NONE;
  if (!add) return scaled(givers, slot, scale);
  for (uint32_t i = 0; i < 2; i++) {
    const OnnxStep *product = scaled(givers, add->inputs[i], scale);
    *mask = add->inputs[1 - i];
    if (product) return product;
  }
  return NULL;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  double scale = 0;
  uint32_t mask = ONNX_NONE;
  if (!onnx_step_is(step, "MatMul") || step->input_count != 2) return false;
  const OnnxStep *softmax = onnx_only_giver(givers, step->inputs[0], "Softmax");
  if (!softmax || !over_last(softmax)) return false;
  const OnnxStep *product = masked(givers, softmax->inputs[0], &scale, &mask);
  if (!product || !has_four_axes(givers, product->inputs[0]) || !has_four_axes(givers, product->inputs[1]) ||
      !has_four_axes(givers, step->inputs[1])) {
    return false;
  }
  const uint32_t inputs[] = {product->inputs[0], product->inputs[1], step->inputs[1], mask};
  Onnx__AttributeProto *attribute = onnx_new_float(givers->program, "scale", scale);
  if (!onnx_replace_step(givers->program, step, "Attention", inputs, 4, &attribute, 1)) return false;
  step->prepared = true;
  return true;
}

uint32_t onnx_pass_attention(OnnxProgram *program, OnnxMerge merge) {
  return onnx_change_steps(program, merge, change);
}
