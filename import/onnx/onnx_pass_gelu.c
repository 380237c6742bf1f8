/* onnx_pass_gelu.c - x * 0.5 * (1 + erf(x / sqrt 2)), in any order of its products, becomes Gelu. */
#include "onnx_pattern.h"

#define SQRT_2 1.41421356237309505

enum { FACTORS = 3 };

/* The operands of a product of products; 0 if they are not three. */
static uint32_t factors_of(const OnnxGivers *givers, const OnnxStep *step, uint32_t *factors) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < 2; i++) {
    const OnnxStep *inner = onnx_only_giver(givers, step->inputs[i], "Mul");
    const uint32_t more = inner ? 2 : 1;
    if (count + more > FACTORS) return 0;
    for (uint32_t k = 0; k < more; k++) factors[count++] = inner ? inner->inputs[k] : step->inputs[i];
  }
  return count == FACTORS ? count : 0;
}

/* The x of 1 + erf(x / sqrt 2); ONNX_NONE: it is none. */
static uint32_t inside(const OnnxGivers *givers, uint32_t slot) {
  const OnnxStep *add = onnx_only_giver(givers, slot, "Add");
  for (uint32_t i = 0; add && i < 2; i++) {
    const OnnxStep *erf = onnx_only_giver(givers, add->inputs[i], "Erf");
    if (!erf || !onnx_is_about(givers, add->inputs[1 - i], 1)) continue;
    const OnnxStep *div = onnx_only_giver(givers, erf->inputs[0], "Div");
    if (div && onnx_is_about(givers, div->inputs[1], SQRT_2)) return div->inputs[0];
    const OnnxStep *mul = onnx_only_giver(givers, erf->inputs[0], "Mul");
    for (uint32_t k = 0; mul && k < 2; k++) {
      if (onnx_is_about(givers, mul->inputs[k], 1 / SQRT_2)) return mul->inputs[1 - k];
    }
  }
  return ONNX_NONE;
}

static bool change(const OnnxGivers *givers, OnnxStep *step) {
  uint32_t factors[FACTORS];
  if (!onnx_step_is(step, "Mul") || step->input_count != 2 || !factors_of(givers, step, factors)) return false;
  for (uint32_t i = 0; i < FACTORS; i++) {
    const uint32_t x = inside(givers, factors[i]), a = factors[(i + 1) % FACTORS], b = factors[(i + 2) % FACTORS];
    if (x == ONNX_NONE || (a != x && b != x)) continue;
    if (onnx_is_about(givers, a == x ? b : a, 0.5))
      return onnx_replace_step(givers->program, step, "Gelu", &x, 1, NULL, 0);
  }
  return false;
}

uint32_t onnx_pass_gelu(OnnxProgram *program, OnnxMerge merge) { return onnx_change_steps(program, merge, change); }
