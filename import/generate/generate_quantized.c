/* generate_quantized.c - operators on small integers, which stand for (x - zero point) * scale. */
#include "generate_ops.h"

#include <burn/burn.h>

#include <string.h>

/* Input i in f32, if it is in another float dtype. */
static const char *in_f32(GenerateStep *s, uint32_t i, const char *text) {
  if (generate_dtype(s->inputs[i]) == BURN_DTYPE_F32) return text;
  return generate_text(s->g, "burn_cast(%s, BURN_DTYPE_F32)", text);
}

/* Input i as an operand for a tensor of that rank: one number, or one for every entry of an axis; "NULL" if it is
 * absent. */
static const char *along(GenerateStep *s, uint32_t i, uint32_t rank, int axis) {
  if (!generate_has(s, i)) return "NULL";
  const char *x = generate_use(s, i), *dims = "";
  if (burn_element_count(s->inputs[i]->probes[0].tensor) == 1) {
    if (generate_rank(s->inputs[i]) > 1) x = generate_text(s->g, "burn_reshape(%s, BURN_SHAPE(1))", x);
    return rank > 1 ? generate_text(s->g, "burn_unsqueeze(%s, %u)", x, rank) : x;
  }
  if (generate_rank(s->inputs[i]) != 1) generate_refuse(s, "scales or zero points in blocks");
  if (rank == 1) return x;
  for (uint32_t k = 0; k < rank; k++)
    dims = generate_text(s->g, "%s%s%d", dims, k ? ", " : "", (int)k == axis ? -1 : 1);
  return generate_text(s->g, "burn_reshape(%s, BURN_SHAPE(%s))", x, dims);
}

static int axis_of(GenerateStep *s) {
  if (onnx_int(&s->node, "block_size", 0)) generate_refuse(s, "scales or zero points in blocks");
  return onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 1), generate_rank(s->inputs[0]));
}

static bool holds_exactly(GenerateStep *s, BurnDType dtype) {
  if (dtype == BURN_DTYPE_U8 || dtype == BURN_DTYPE_I8 || dtype == BURN_DTYPE_I16) return true;
  generate_refuse(s, "to %s", burn_dtype_name(dtype));
  return false;
}

WRITE(DequantizeLinear) {
  const int axis = axis_of(s);
  const uint32_t rank = generate_rank(s->inputs[0]);
  const char *x = generate_use(s, 0), *scale = along(s, 1, rank, axis), *zero = along(s, 2, rank, axis);
  generate_support(s->g, GENERATE_SUPPORT_dequantize);
  generate_give(s, 0, generate_text(s->g, "dequantize(%s, %s, %s)", x, scale, zero));
}

WRITE(QuantizeLinear) {
  const int axis = axis_of(s);
  const uint32_t rank = generate_rank(s->inputs[0]);
  const BurnDType dtype = generate_dtype(s->outputs[0]);
  if (onnx_int(&s->node, "precision", 0)) generate_refuse(s, "with a precision");
  if (!holds_exactly(s, dtype)) return;
  const char *x = generate_use(s, 0), *scale = along(s, 1, rank, axis), *zero = along(s, 2, rank, axis);
  generate_support(s->g, GENERATE_SUPPORT_quantize);
  generate_give(s, 0,
                generate_text(s->g, "quantize(%s, %s, %s, %s)", x, scale, zero, generate_dtype_text(s->g, dtype)));
}

WRITE(DynamicQuantizeLinear) {
  Generator *g = s->g;
  const char *scale = generate_local(g, "scale"), *zero = generate_local(g, "zero");
  generate_support(g, GENERATE_SUPPORT_quantize_range);
  generate_line(g, "BurnTensor *%s, *%s;", scale, zero);
  generate_give(s, 0, generate_text(g, "quantize_range(%s, &%s, &%s)", generate_use(s, 0), scale, zero));
  for (uint32_t i = 1; i < 3; i++) {
    const char *variable = i == 1 ? scale : zero;
    if (i < s->step->output_count && s->outputs[i]) {
      s->outputs[i]->variable = variable;
    } else {
      generate_line(g, "burn_drop(%s);", variable);
    }
  }
}

/* -- products ----------------------------------------------------------------------------------------- */

/* centred(x, zero) of inputs i and `zero`, of that rank. */
static const char *centred(GenerateStep *s, uint32_t i, uint32_t zero, uint32_t rank, int axis) {
  generate_support(s->g, GENERATE_SUPPORT_centred);
  const char *x = generate_use_rank(s, i, rank);
  return generate_text(s->g, "centred(%s, %s)", x, along(s, zero, rank, axis));
}

/* Of inputs a and b, whose zero points are one input or two after them. */
static const char *product(GenerateStep *s, uint32_t a, uint32_t b, uint32_t a_zero, uint32_t b_zero) {
  const uint32_t lhs = generate_rank(s->inputs[a]), rhs = generate_rank(s->inputs[b]), rank = lhs > rhs ? lhs : rhs;
  if (lhs < 2 || rhs < 2) generate_refuse(s, "of vectors");
  const char *x = centred(s, a, a_zero, rank, (int)rank - 2);
  return generate_text(s->g, "burn_matmul(%s, %s)", x, centred(s, b, b_zero, rank, (int)rank - 1));
}

WRITE(MatMulInteger) { generate_give(s, 0, product(s, 0, 1, 2, 3)); }

/* requantize(x, a's scale * b's scale, scale, zero) of the inputs from `scale` on. */
static void give_requantized(GenerateStep *s, const char *x, uint32_t a, uint32_t b, uint32_t scale, int axis) {
  Generator *g = s->g;
  const uint32_t rank = generate_rank(s->outputs[0]);
  if (!holds_exactly(s, generate_dtype(s->outputs[0]))) return;
  const char *first = in_f32(s, a, along(s, a, rank, (int)rank - 2)), *second = in_f32(s, b, along(s, b, rank, axis));
  const char *third = in_f32(s, scale, along(s, scale, rank, axis)), *zero = along(s, scale + 1, rank, axis);
  generate_support(g, GENERATE_SUPPORT_requantize);
  generate_give(s, 0, generate_text(g, "requantize(%s, burn_mul(%s, %s), %s, %s)", x, first, second, third, zero));
}

WRITE(QLinearMatMul) {
  const char *x = product(s, 0, 3, 2, 5);
  give_requantized(s, x, 1, 4, 6, (int)generate_rank(s->outputs[0]) - 1);
}

/* -- convolutions -------------------------------------------------------------------------------------- */

/* "{1, 1}", or "1" along one axis. */
static const char *sizes(Generator *g, const int64_t *values, uint32_t rank) {
  const char *list = "";
  for (uint32_t i = 0; i < rank; i++) list = generate_text(g, "%s%s%lld", list, i ? ", " : "", (long long)values[i]);
  return rank == 1 ? list : generate_text(g, "{%s}", list);
}

/* Small integers are exact in f32, where our convolutions live. */
static const char *convolution(GenerateStep *s, uint32_t weight, const char *x, const char *w, const char *bias) {
  Generator *g = s->g;
  const GenerateWindow window = generate_window(s, weight);
  if (s->reason[0]) return "";
  const uint32_t rank = window.rank;
  const bool unequal = memcmp(window.before, window.after, sizeof window.before) != 0;
  const char *options = generate_text(g, ".stride = %s, .padding = %s, .dilation = %s, .groups = %lld",
                                      sizes(g, window.stride, rank), sizes(g, window.before, rank),
                                      sizes(g, window.dilation, rank), (long long)onnx_int(&s->node, "group", 1));
  if (unequal)
    options = generate_text(g, "%s, .asymmetric = true, .padding_end = %s", options, sizes(g, window.after, rank));
  return generate_text(g,
                       "burn_conv%ud(burn_cast(%s, BURN_DTYPE_F32), burn_cast(%s, BURN_DTYPE_F32), %s, "
                       "(BurnConv%udOptions){%s})",
                       rank, x, w, bias, rank, options);
}

WRITE(ConvInteger) {
  const uint32_t rank = generate_rank(s->inputs[0]);
  const char *x = centred(s, 0, 2, rank, 0), *w = centred(s, 1, 3, rank, 0);
  generate_give(s, 0, generate_text(s->g, "burn_cast(%s, BURN_DTYPE_I32)", convolution(s, 1, x, w, "NULL")));
}

WRITE(QLinearConv) {
  const uint32_t rank = generate_rank(s->inputs[0]);
  const char *x = centred(s, 0, 2, rank, 0), *w = centred(s, 3, 5, rank, 0);
  const char *bias =
      generate_has(s, 8) ? generate_text(s->g, "burn_cast(%s, BURN_DTYPE_F32)", generate_use(s, 8)) : "NULL";
  give_requantized(s, convolution(s, 3, x, w, bias), 1, 4, 6, 1);
}

/* -- element by element ---------------------------------------------------------------------------------- */

/* quantize(function(dequantize(..), dequantize(..)), scale, zero) */
static void combine(GenerateStep *s, const char *function) {
  Generator *g = s->g;
  const uint32_t rank = generate_rank(s->outputs[0]);
  const char *parts[2] = {"", ""};
  for (uint32_t i = 0; i < 2; i++) {
    const char *x = generate_use_rank(s, 3 * i, rank), *scale = along(s, 3 * i + 1, rank, 0);
    parts[i] = generate_text(g, "dequantize(%s, %s, %s)", x, scale, along(s, 3 * i + 2, rank, 0));
  }
  const char *scale = along(s, 6, rank, 0), *zero = along(s, 7, rank, 0);
  generate_support(g, GENERATE_SUPPORT_dequantize);
  generate_support(g, GENERATE_SUPPORT_quantize);
  generate_give(s, 0,
                generate_text(g, "quantize(%s(%s, %s), %s, %s, %s)", function, parts[0], parts[1], scale, zero,
                              generate_dtype_text(g, generate_dtype(s->outputs[0]))));
}
WRITE(QLinearAdd) { combine(s, "burn_add"); }
WRITE(QLinearMul) { combine(s, "burn_mul"); }
