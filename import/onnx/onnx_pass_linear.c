/* onnx_pass_linear.c - a product with a matrix of weights and the bias added to it become one step: MatMul with a third
 * input. So does a Gemm, whose matrix is turned around where weights may be merged. */
#include "onnx_pattern.h"

#include <burn/burn.h>

static bool is_float(const BurnTensor *x) { return burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT; }

/* Whether input i of a step is a bias for so many columns. */
static bool is_bias(const OnnxGivers *givers, const OnnxStep *step, uint32_t i, const BurnTensor *weight,
                    int64_t columns) {
  const BurnTensor *x = onnx_step_weight(givers->program, step, i);
  return x && burn_rank(x) == 1 && burn_dim(x, 0) == columns && burn_dtype(x) == burn_dtype(weight);
}

static bool make_linear(const OnnxGivers *givers, OnnxStep *step, uint32_t x, uint32_t weight, uint32_t bias) {
  const uint32_t inputs[] = {x, weight, bias};
  if (!onnx_replace_step(givers->program, step, "MatMul", inputs, 3, NULL, 0)) return false;
  step->prepared = true;
  return true;
}

static bool change_add(const OnnxGivers *givers, OnnxStep *step) {
  for (uint32_t i = 0; i < 2; i++) {
    const OnnxStep *product = onnx_only_giver(givers, step->inputs[i], "MatMul");
    const BurnTensor *weight = product ? onnx_step_weight(givers->program, product, 1) : NULL;
    if (!weight || burn_rank(weight) != 2 || !is_float(weight)) continue;
    if (!is_bias(givers, step, 1 - i, weight, burn_dim(weight, 1))) continue;
    return make_linear(givers, step, product->inputs[0], product->inputs[1], step->inputs[1 - i]);
  }
  return false;
}

static bool change_gemm(const OnnxGivers *givers, OnnxStep *step) {
  const OnnxNode node = {.proto = step->proto};
  BurnTensor *weight = onnx_step_weight(givers->program, step, 1);
  const bool turned = onnx_int(&node, "transB", 0);
  const bool plain =
      !onnx_int(&node, "transA", 0) && onnx_float(&node, "alpha", 1) == 1.0 && onnx_float(&node, "beta", 1) == 1.0;
  if (!weight || burn_rank(weight) != 2 || !is_float(weight) || !plain ||
      (turned && givers->merge == ONNX_KEEP_WEIGHTS))
    return false;
  if (!is_bias(givers, step, 2, weight, burn_dim(weight, turned ? 0 : 1))) return false;
  uint32_t slot = step->inputs[1];
  if (turned) {
    const char *name = givers->program->body->slots[slot];
    slot = onnx_add_constant(givers->program, name, onnx_dense(burn_transpose(burn_clone(weight))));
  }
  return slot != ONNX_NONE && make_linear(givers, step, step->inputs[0], slot, step->inputs[2]);
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  if (onnx_step_is(step, "Add") && step->input_count == 2) return change_add(givers, step);
  return onnx_step_is(step, "Gemm") && step->input_count == 3 && change_gemm(givers, step);
}

uint32_t onnx_pass_linear(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
