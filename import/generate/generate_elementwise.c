/* generate_elementwise.c - operators element by element, and along an axis, that need more than a row of the table. */
#include "generate_ops.h"

#include <burn/burn.h>

WRITE(Cast) {
  const BurnDType dtype = generate_dtype(s->outputs[0]);
  generate_give(s, 0, generate_text(s->g, "burn_cast(%s, %s)", generate_use(s, 0), generate_dtype_text(s->g, dtype)));
}

WRITE(Clip) {
  Generator *g = s->g;
  const char *names[] = {"min", "max"}, *text = generate_use(s, 0);
  for (uint32_t i = 0; i < 2; i++) {
    GenerateExact bound = {generate_number(g, onnx_float(&s->node, names[i], 0)), ""};
    bool given = onnx_attribute(&s->node, names[i]) != NULL;
    if (generate_has(s, i + 1)) {
      given = burn_element_count(s->inputs[i + 1]->probes[0].tensor) > 0;
      if (given && !generate_exact(s, i + 1, generate_dtype(s->inputs[0]), &bound))
        generate_refuse(s, "bounds that are not constant");
    }
    if (given) text = generate_text(g, "burn_clamp_%s%s(%s, %s)", names[i], bound.suffix, text, bound.text);
  }
  generate_give(s, 0, text);
}

WRITE(Gelu) {
  const bool tanh = onnx_is(&s->node, "approximate", "none", "tanh");
  generate_give(s, 0, generate_text(s->g, "burn_gelu%s(%s)", tanh ? "_approximate" : "", generate_use(s, 0)));
}

WRITE(Pow) {
  double exponent;
  Generator *g = s->g;
  const bool floats = burn_dtype_kind(generate_dtype(s->inputs[0])) == BURN_KIND_FLOAT;
  const uint32_t rank = generate_rank(s->inputs[0]), other = generate_rank(s->inputs[1]);
  if (!floats) {
    generate_refuse(s, "of integers");
  } else if (rank >= other && generate_constant_number(s, 1, &exponent)) {
    const char *x = generate_use(s, 0);
    generate_give(s, 0,
                  exponent == 2 ? generate_text(g, "burn_square(%s)", x)
                                : generate_text(g, "burn_powf_scalar(%s, %s)", x, generate_number(g, exponent)));
  } else if (burn_dtype_kind(generate_dtype(s->inputs[1])) != BURN_KIND_FLOAT) {
    generate_refuse(s, "with an exponent of integers that is not constant");
  } else {
    const uint32_t both = rank > other ? rank : other;
    const char *x = generate_use_rank(s, 0, both);
    generate_give(s, 0, generate_text(g, "burn_powf(%s, %s)", x, generate_use_rank(s, 1, both)));
  }
}

WRITE(Where) {
  const uint32_t rank = generate_rank(s->outputs[0]);
  const char *mask = generate_use_rank(s, 0, rank), *yes = generate_use_rank(s, 1, rank);
  const char *no = generate_use_rank(s, 2, rank);
  generate_give(s, 0, generate_text(s->g, "burn_mask_where(%s, %s, %s)", no, mask, yes));
}

/* Before opset 13 the axes from `axis` on are one: the same, if those after it have size 1. */
static void along(GenerateStep *s, const char *function) {
  Generator *g = s->g;
  const GenerateValue *x = s->inputs[0];
  const bool old = s->step->opset < 13;
  const uint32_t rank = generate_rank(x);
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", old ? 1 : -1), rank);
  bool one_axis = true;
  for (uint32_t i = (uint32_t)axis + 1; i < rank; i++) {
    for (uint32_t p = 0; p < g->probes; p++) one_axis = one_axis && generate_dim(x, p, i) == 1;
  }
  if (!old || one_axis) {
    generate_give(s, 0, generate_text(g, "%s(%s, %d)", function, generate_use(s, 0), axis));
    return;
  }
  const char *shape = generate_shape(s, s->outputs[0], true);
  const char *flat = generate_text(g, "burn_flatten(%s, %d, -1)", generate_use(s, 0), axis);
  generate_give(s, 0, generate_text(g, "burn_reshape(%s(%s, %d), %s)", function, flat, axis, shape));
}
WRITE(Softmax) { along(s, "burn_softmax"); }
WRITE(LogSoftmax) { along(s, "burn_log_softmax"); }

static void find(GenerateStep *s, const char *function) {
  Generator *g = s->g;
  const uint32_t rank = generate_rank(s->inputs[0]);
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 0), rank);
  if (onnx_int(&s->node, "select_last_index", 0)) generate_refuse(s, "the last of equal elements");
  const char *text = generate_text(g, "%s(%s, %d)", function, generate_use(s, 0), axis);
  if (!onnx_int(&s->node, "keepdims", 1) && rank > 1) text = generate_text(g, "burn_squeeze_dim(%s, %d)", text, axis);
  generate_give(s, 0, text);
}
WRITE(ArgMax) { find(s, "burn_argmax"); }
WRITE(ArgMin) { find(s, "burn_argmin"); }
