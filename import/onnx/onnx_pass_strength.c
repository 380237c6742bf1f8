/* onnx_pass_strength.c - cheaper steps where an input is a constant: a square is a product, one index a slice, and
 * indices that are not negative need no look at run. */
#include "onnx_pattern.h"

#include <burn/burn.h>

#include <math.h>

/* The exponent has to be of rank 0, or it would give the result an axis. */
static bool change_pow(const OnnxGivers *givers, OnnxStep *step) {
  const OnnxProgram *program = givers->program;
  double exponent = 0;
  if (!onnx_is_number(givers, step->inputs[1], &exponent) || exponent != 2.0) return false;
  if (!program->weights[program->body->weights[step->inputs[1]]].scalar) return false;
  const uint32_t inputs[] = {step->inputs[0], step->inputs[0]};
  return onnx_replace_step(givers->program, step, "Mul", inputs, 2, NULL, 0);
}

static bool all_positive(const BurnTensor *indices) {
  double least = -1;
  if (burn_element_count(indices) == 0 || burn_dtype_kind(burn_dtype(indices)) != BURN_KIND_INT) return false;
  return burn_read_scalar(burn_min(burn_clone(indices)), &least) == BURN_OK && least >= 0;
}

/* Its constant index of rank 0 becomes the attribute "index"; of others it is known that none is negative. */
static bool change_gather(const OnnxGivers *givers, OnnxStep *step) {
  const OnnxNode node = {.proto = step->proto};
  const OnnxProgram *program = givers->program;
  const BurnTensor *indices = onnx_step_weight(program, step, 1);
  double index = 0;
  if (!indices) return false;
  if (givers->merge == ONNX_KEEP_WEIGHTS &&
      program->weights[program->body->weights[step->inputs[1]]].kind != ONNX_CONSTANT) {
    return false;
  }
  if (program->weights[program->body->weights[step->inputs[1]]].scalar &&
      onnx_is_number(givers, step->inputs[1], &index) && fabs(index) <= INT32_MAX) {
    Onnx__AttributeProto *attributes[] = {onnx_new_int(givers->program, "axis", onnx_int(&node, "axis", 0)),
                                          onnx_new_int(givers->program, "index", (int64_t)index)};
    if (!onnx_replace_step(givers->program, step, "Gather", step->inputs, 1, attributes, 2)) return false;
    step->least = 1;
    step->prepared = true;
    return true;
  }
  step->prepared = all_positive(indices);
  return step->prepared;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  if (onnx_step_is(step, "Pow") && step->input_count == 2) return change_pow(givers, step);
  return onnx_step_is(step, "Gather") && step->input_count == 2 && change_gather(givers, step);
}

uint32_t onnx_pass_strength(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
