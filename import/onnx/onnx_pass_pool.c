/* onnx_pass_pool.c - a Relu before a MaxPool changes places with it: the largest of what a Relu leaves is what it
 * leaves of the largest, and there are fewer of those. */
#include "onnx_pattern.h"

enum { SPATIAL = 3 };

/* Whether every window has an element of the input, so that no -infinity of a margin reaches the Relu, and the windows
 * are fewer than the elements. */
static bool suits(const OnnxStep *step) {
  OnnxNode node = {.proto = step->proto};
  int64_t kernel[ONNX_INTS], pads[ONNX_INTS] = {0}, strides[ONNX_INTS], dilations[ONNX_INTS] = {1, 1, 1}, most = 1;
  const size_t rank = onnx_ints(&node, "kernel_shape", kernel), margins = onnx_ints(&node, "pads", pads);
  const size_t dilated = onnx_ints(&node, "dilations", dilations);
  if (rank == 0 || rank > SPATIAL || onnx_ints(&node, "strides", strides) != rank || node.reason[0]) return false;
  if ((margins != 0 && margins != 2 * rank) || (dilated != 0 && dilated != rank)) return false;
  for (size_t i = 0; i < rank; i++) {
    const bool within = pads[i] >= 0 && pads[i] < kernel[i] && pads[i + rank] >= 0 && pads[i + rank] < kernel[i];
    if (!within || dilations[i] != 1) return false;
    if (strides[i] > most) most = strides[i];
  }
  return most > 1 && onnx_int(&node, "ceil_mode", 0) == 0 && onnx_is(&node, "auto_pad", "NOTSET", "NOTSET");
}

/* Slots stay where they are: the first of the two steps is now the MaxPool. */
static bool change(const OnnxGivers *givers, OnnxStep *step) {
  if (!onnx_step_is(step, "MaxPool") || step->proto->n_output != 1 || step->proto->n_input != 1) return false;
  OnnxStep *relu = onnx_only_giver(givers, step->inputs[0], "Relu");
  if (!relu || relu->proto->n_output != 1 || relu->proto->n_input != 1 || !suits(step)) return false;
  const OnnxStep pool = *step;
  step->op = relu->op;
  step->proto = relu->proto;
  step->opset = relu->opset;
  step->least = relu->least;
  relu->op = pool.op;
  relu->proto = pool.proto;
  relu->opset = pool.opset;
  relu->least = pool.least;
  return true;
}

uint32_t onnx_pass_pool(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
