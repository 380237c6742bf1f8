/* onnx_pass_pad.c - zeros that a Pad adds around a Conv or an AveragePool become margins of that step, where they are
 * as wide at both ends. */
#include "onnx_pattern.h"

#include <burn/burn.h>

#include <string.h>

enum { SPATIAL = 3, AXES = SPATIAL + 2, MAX_ATTRIBUTES = 16 };

/* How wide a Pad's zeros are, [count] of all axes before and then after; 0: it adds something else, or it is not known
 * when loading. Its opset may have them as an attribute. */
static size_t zeros_of(const OnnxGivers *givers, const OnnxStep *pad, int64_t *widths) {
  OnnxNode node = {.proto = pad->proto};
  const BurnTensor *given = onnx_step_weight(givers->program, pad, 1);
  const bool with_axes = pad->input_count > 3 && pad->inputs[3] != ONNX_NONE;
  double value = onnx_float(&node, "value", 0);
  if (pad->input_count > 2 && pad->inputs[2] != ONNX_NONE && !onnx_is_number(givers, pad->inputs[2], &value)) return 0;
  if (with_axes || value != 0 || !onnx_is(&node, "mode", "constant", "constant")) return 0;
  if (onnx_attribute(&node, "pads")) {
    int64_t listed[ONNX_INTS];
    const size_t count = onnx_ints(&node, "pads", listed);
    if (count <= 2 * AXES) memcpy(widths, listed, count * sizeof *widths);
    return count <= 2 * AXES ? count : 0;
  }
  if (!given || burn_element_count(given) > 2 * AXES || burn_dtype_kind(burn_dtype(given)) != BURN_KIND_INT) return 0;
  const size_t count = (size_t)burn_element_count(given);
  return burn_read_i64(burn_clone(given), widths, count) == BURN_OK ? count : 0;
}

/* The margins of windows with those zeros added, [2 * rank]. A pool divides by the elements of the input only, unless
 * it is told to count margins; and a window must reach beyond its margin. */
static bool widen(const OnnxStep *step, const int64_t *zeros, size_t rank, bool pool, int64_t *margins) {
  OnnxNode node = {.proto = step->proto};
  int64_t own[ONNX_INTS] = {0}, kernel[ONNX_INTS];
  const size_t given = onnx_ints(&node, "pads", own), sizes = onnx_ints(&node, "kernel_shape", kernel);
  if ((given != 0 && given != 2 * rank) || (sizes != rank && (pool || sizes != 0)) || node.reason[0]) return false;
  for (size_t i = 0; i < rank; i++) {
    const int64_t before = zeros[i + 2], after = zeros[i + 2 + rank + 2];
    if (before != after || own[i] != own[i + rank] || before < 0 || before > INT16_MAX || own[i] < 0) return false;
    if (pool && (own[i] != 0 || before >= kernel[i])) return false;
    margins[i] = margins[i + rank] = own[i] + before;
  }
  return zeros[0] == 0 && zeros[1] == 0 && zeros[rank + 2] == 0 && zeros[rank + 3] == 0;
}

/* The attributes of the step with other margins, which a pool counts; how many, 0 without room or memory. */
static size_t attributes_of(OnnxProgram *program, const OnnxStep *step, const int64_t *margins, size_t count, bool pool,
                            Onnx__AttributeProto **list) {
  size_t kept = 0;
  for (size_t i = 0; i < step->proto->n_attribute; i++) {
    Onnx__AttributeProto *attribute = step->proto->attribute[i];
    if (strcmp(attribute->name, "pads") == 0 || strcmp(attribute->name, "count_include_pad") == 0) continue;
    if (kept == MAX_ATTRIBUTES - 2) return 0;
    list[kept++] = attribute;
  }
  list[kept++] = onnx_new_ints(program, "pads", margins, count);
  if (pool) list[kept++] = onnx_new_int(program, "count_include_pad", 1);
  return kept;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  const bool pool = onnx_step_is(step, "AveragePool");
  const OnnxNode node = {.proto = step->proto};
  Onnx__AttributeProto *attributes[MAX_ATTRIBUTES];
  int64_t zeros[2 * AXES], margins[2 * SPATIAL];
  if ((!pool && !onnx_step_is(step, "Conv")) || step->input_count > 3) return false;
  if (!onnx_is(&node, "auto_pad", "NOTSET", "NOTSET") || onnx_int(&node, "ceil_mode", 0)) return false;
  const OnnxStep *pad = onnx_only_giver(givers, step->inputs[0], "Pad");
  const size_t count = pad ? zeros_of(givers, pad, zeros) : 0;
  if (count < 2 * 3 || count % 2 != 0 || !widen(step, zeros, count / 2 - 2, pool, margins)) return false;
  const size_t listed = attributes_of(givers->program, step, margins, count - 4, pool, attributes);
  uint32_t inputs[3] = {pad->inputs[0]};
  for (uint32_t i = 1; i < step->input_count; i++) inputs[i] = step->inputs[i];
  return listed > 0 &&
         onnx_replace_step(givers->program, step, step->op->name, inputs, step->input_count, attributes, listed);
}

uint32_t onnx_pass_pad(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
