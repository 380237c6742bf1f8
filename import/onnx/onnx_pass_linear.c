/* onnx_pass_linear.c - a product with a matrix of weights and the bias added to it become one step: MatMul with a third
 * input. So does a Gemm, whose matrix is turned around where weights may be merged, and so do a Conv and what is added
 * to its channels. */
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

/* Whether x [channels, 1, ..], or with an axis of size 1 before, is a number for each channel of a weight. */
static bool is_by_channel(const BurnTensor *x, const BurnTensor *weight) {
  const uint32_t rank = burn_rank(weight), has = x ? burn_rank(x) : 0;
  if (!x || (has != rank && has + 1 != rank) || burn_dtype(x) != burn_dtype(weight)) return false;
  return burn_element_count(x) == burn_dim(weight, 0) && burn_dim(x, has == rank ? 1 : 0) == burn_dim(weight, 0);
}

static bool change_conv(const OnnxGivers *givers, OnnxStep *step) {
  OnnxProgram *program = givers->program;
  for (uint32_t i = 0; i < 2 && givers->merge == ONNX_MERGE_WEIGHTS; i++) {
    const OnnxStep *conv = onnx_only_giver(givers, step->inputs[i], "Conv");
    const BurnTensor *weight = conv ? onnx_step_weight(program, conv, 1) : NULL;
    BurnTensor *bias = onnx_step_weight(program, step, 1 - i);
    const bool biased = conv && conv->input_count > 2 && conv->inputs[2] != ONNX_NONE;
    if (!weight || biased || burn_rank(weight) < 3 || !is_by_channel(bias, weight)) continue;
    const char *name = program->body->slots[step->inputs[1 - i]];
    bias = burn_reshape(burn_clone(bias), BURN_SHAPE(burn_dim(weight, 0)));
    const uint32_t inputs[] = {conv->inputs[0], conv->inputs[1], onnx_add_constant(program, name, bias)};
    return inputs[2] != ONNX_NONE &&
           onnx_replace_step(program, step, "Conv", inputs, 3, conv->proto->attribute, conv->proto->n_attribute);
  }
  return false;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  if (onnx_step_is(step, "Add") && step->input_count == 2) return change_add(givers, step) || change_conv(givers, step);
  return onnx_step_is(step, "Gemm") && step->input_count == 3 && change_gemm(givers, step);
}

uint32_t onnx_pass_linear(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
