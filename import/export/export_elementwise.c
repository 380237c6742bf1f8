/* export_elementwise.c - ops that work element by element, activations and reductions in ONNX. */
#include "export.h"

#include <math.h>

/* -- the same operator ------------------------------------------------------------------------- */

/* The operator with the inputs of the op, in their order. ONNX has no NotEqual. */
EXPORT_MAP(plain) {
  const char *inputs[BURN_MAX_FIXED_INPUTS];
  for (uint32_t i = 0; i < c->call->input_count; i++) inputs[i] = export_input(export, c, i);
  if (c->call->op == BURN_OP_not_equal) {
    const char *equal = export_step(export, c, c->op, inputs[0], inputs[1]);
    export_node(export, "Not", &equal, 1, export_output(export, c, 0));
    return;
  }
  export_node(export, c->op, inputs, c->call->input_count, export_output(export, c, 0));
}

/* Integers are compared with fractions here, which ONNX cannot: its second operand has the dtype of the first. */
static bool is_exact(const BurnAttr *number, BurnDType dtype) {
  return burn_dtype_kind(dtype) == BURN_KIND_FLOAT || number->tag != BURN_ATTR_F64 ||
         number->value.f64 == (double)burn_attr_to_i64(number);
}

/* The operator with a number as its second input. */
EXPORT_MAP(scalar) {
  const BurnAttr *number = &c->call->attrs[0];
  const BurnDType dtype = export_desc(c, 0).dtype;
  if (!is_exact(number, dtype)) {
    export_unsupported(export, c);
    return;
  }
  const char *inputs[] = {export_input(export, c, 0), export_number(export, number, dtype)};
  if (c->call->op == BURN_OP_not_equal_scalar) {
    const char *equal = export_step(export, c, c->op, inputs[0], inputs[1]);
    export_node(export, "Not", &equal, 1, export_output(export, c, 0));
    return;
  }
  export_node(export, c->op, inputs, 2, export_output(export, c, 0));
}

EXPORT_MAP(cast) {
  const char *x = export_input(export, c, 0);
  Onnx__NodeProto *node = export_node(export, c->op, &x, 1, export_output(export, c, 0));
  export_set_int(export, node, "to", export_dtype((BurnDType)BURN_ATTRS(cast, c->call)->dtype.value.i64));
}

/* -- made of others ---------------------------------------------------------------------------- */

EXPORT_MAP(log1p) {
  const char *one = export_float(export, 1, export_desc(c, 0).dtype);
  const char *sum = export_step(export, c, "Add", export_input(export, c, 0), one);
  export_node(export, c->op, &sum, 1, export_output(export, c, 0));
}

/* sign(x) * floor(|x|) */
EXPORT_MAP(trunc) {
  const char *x = export_input(export, c, 0);
  const char *sign = export_step(export, c, "Sign", x, "");
  const char *floored = export_step(export, c, c->op, export_step(export, c, "Abs", x, ""), "");
  export_node(export, "Mul", (const char *const[]){sign, floored}, 2, export_output(export, c, 0));
}

/* With the sign of the divisor: Mod of integers; of floats x - floor(x / y) * y, for which ONNX has no operator. */
EXPORT_MAP(remainder) {
  const BurnDType dtype = export_desc(c, 0).dtype;
  const char *x = export_input(export, c, 0);
  const bool scalar = c->call->op == BURN_OP_remainder_scalar;
  if (scalar && !is_exact(&c->call->attrs[0], dtype)) {
    export_unsupported(export, c);
    return;
  }
  const char *y = scalar ? export_number(export, &c->call->attrs[0], dtype) : export_input(export, c, 1);
  if (burn_dtype_kind(dtype) == BURN_KIND_INT) {
    export_node(export, c->op, (const char *const[]){x, y}, 2, export_output(export, c, 0));
    return;
  }
  const char *floored = export_step(export, c, "Floor", export_step(export, c, "Div", x, y), "");
  const char *whole = export_step(export, c, "Mul", floored, y);
  export_node(export, "Sub", (const char *const[]){x, whole}, 2, export_output(export, c, 0));
}

EXPORT_MAP(fmod) {
  const char *inputs[] = {export_input(export, c, 0), export_input(export, c, 1)};
  export_set_int(export, export_node(export, c->op, inputs, 2, export_output(export, c, 0)), "fmod", 1);
}

/* clamp_min, clamp_max, clamp and hardtanh. */
EXPORT_MAP(clamp) {
  const BurnDType dtype = export_desc(c, 0).dtype;
  const BurnAttr *attrs = c->call->attrs;
  const bool lower = c->call->op != BURN_OP_clamp_max, upper = c->call->op != BURN_OP_clamp_min;
  const BurnAttr *min = &attrs[0], *max = &attrs[c->call->attr_count - 1];
  if ((lower && !is_exact(min, dtype)) || (upper && !is_exact(max, dtype))) {
    export_unsupported(export, c);
    return;
  }
  const char *inputs[] = {export_input(export, c, 0), lower ? export_number(export, min, dtype) : "",
                          upper ? export_number(export, max, dtype) : ""};
  export_node(export, c->op, inputs, 3, export_output(export, c, 0));
}

/* -- activations with attributes --------------------------------------------------------------- */

static Onnx__NodeProto *unary(Export *export, const ExportCall *c) {
  const char *x = export_input(export, c, 0);
  return export_node(export, c->op, &x, 1, export_output(export, c, 0));
}

EXPORT_MAP(alpha) { export_set_float(export, unary(export, c), "alpha", c->call->attrs[0].value.f64); }
EXPORT_MAP(leaky_relu) {
  export_set_float(export, unary(export, c), "alpha", BURN_ATTRS(leaky_relu, c->call)->slope.value.f64);
}
EXPORT_MAP(gelu_approximate) { export_set_text(export, unary(export, c), "approximate", "tanh"); }
EXPORT_MAP(softmax) { export_set_int(export, unary(export, c), "axis", c->call->attrs[0].value.i64); }
EXPORT_MAP(hard_sigmoid) {
  Onnx__NodeProto *node = unary(export, c);
  export_set_float(export, node, "alpha", BURN_ATTRS(hard_sigmoid, c->call)->alpha.value.f64);
  export_set_float(export, node, "beta", BURN_ATTRS(hard_sigmoid, c->call)->beta.value.f64);
}
EXPORT_MAP(shrink) {
  Onnx__NodeProto *node = unary(export, c);
  export_set_float(export, node, "lambd", BURN_ATTRS(shrink, c->call)->lambda.value.f64);
  export_set_float(export, node, "bias", BURN_ATTRS(shrink, c->call)->bias.value.f64);
}

/* The slopes of channels, axis 1, are broadcast from the right in ONNX. */
EXPORT_MAP(prelu) {
  const BurnTensorDesc x = export_desc(c, 0), alpha = export_desc(c, 1);
  const char *slope = export_input(export, c, 1);
  int64_t dims[BURN_MAX_RANK] = {burn_desc_count(&alpha), 1, 1, 1, 1, 1, 1, 1};
  if (x.rank > 2 && dims[0] > 1)
    slope = export_step(export, c, "Reshape", slope, export_ints(export, dims, x.rank - 1));
  export_node(export, c->op, (const char *const[]){export_input(export, c, 0), slope}, 2, export_output(export, c, 0));
}

/* -- reductions: the axis stays, with size 1 --------------------------------------------------- */

/* The axes are an input of all of them at this opset. */
EXPORT_MAP(reduce) {
  const char *inputs[] = {export_input(export, c, 0), export_ints(export, &c->call->attrs[0].value.i64, 1)};
  export_set_int(export, export_node(export, c->op, inputs, 2, export_output(export, c, 0)), "keepdims", 1);
}

/* Whether an element is not 0, as numbers, since the ONNX operator for booleans is there from opset 20 on only. */
EXPORT_MAP(any_dim) {
  const BurnDType dtype = export_desc(c, 0).dtype;
  const char *x = export_input(export, c, 0), *maximum = export_between(export, c);
  Onnx__NodeProto *node = NULL;
  if (dtype != BURN_DTYPE_BOOL) {
    const char *truth = export_between(export, c);
    export_set_int(export, export_node(export, "Cast", &x, 1, truth), "to", export_dtype(BURN_DTYPE_BOOL));
    x = truth;
  }
  const char *numbers = export_between(export, c);
  export_set_int(export, export_node(export, "Cast", &x, 1, numbers), "to", export_dtype(BURN_DTYPE_I32));
  const char *inputs[] = {numbers, export_ints(export, &c->call->attrs[0].value.i64, 1)};
  node = export_node(export, c->op, inputs, 2, maximum);
  export_set_int(export, node, "keepdims", 1);
  node = export_node(export, "Cast", &maximum, 1, export_output(export, c, 0));
  export_set_int(export, node, "to", export_dtype(BURN_DTYPE_BOOL));
}

/* Positions are i64 in ONNX. */
EXPORT_MAP(arg_dim) {
  const char *x = export_input(export, c, 0);
  const BurnDType wanted = c->call->output_descs[0].dtype;
  const char *name = wanted == BURN_DTYPE_I64 ? export_output(export, c, 0) : export_between(export, c);
  Onnx__NodeProto *node = export_node(export, c->op, &x, 1, name);
  export_set_int(export, node, "axis", c->call->attrs[0].value.i64);
  export_set_int(export, node, "keepdims", 1);
  if (wanted == BURN_DTYPE_I64) return;
  node = export_node(export, "Cast", &name, 1, export_output(export, c, 0));
  export_set_int(export, node, "to", export_dtype(wanted));
}
