/* onnx_elementwise.c - ONNX operators that work element by element: arithmetic, comparisons, logic, activations, casts.
 */
#include "onnx_node.h"

#include <math.h>

/* -- one function of ours each ---------------------------------------------------------------- */

#define UNARY(name, apply) \
  MAP(name) { onnx_give(node, 0, apply(onnx_take_input(node, 0))); }
UNARY(Abs, burn_abs)
UNARY(Acos, burn_acos)
UNARY(Acosh, burn_acosh)
UNARY(Asin, burn_asin)
UNARY(Asinh, burn_asinh)
UNARY(Atan, burn_atan)
UNARY(Atanh, burn_atanh)
UNARY(BitwiseNot, burn_bitwise_not)
UNARY(Ceil, burn_ceil)
UNARY(Cos, burn_cos)
UNARY(Cosh, burn_cosh)
UNARY(Erf, burn_erf)
UNARY(Exp, burn_exp)
UNARY(Floor, burn_floor)
UNARY(HardSwish, burn_hard_swish)
UNARY(IsNaN, burn_is_nan)
UNARY(Log, burn_log)
UNARY(Mish, burn_mish)
UNARY(Neg, burn_neg)
UNARY(Not, burn_bool_not)
UNARY(Reciprocal, burn_recip)
UNARY(Relu, burn_relu)
UNARY(Round, burn_round)
UNARY(Sigmoid, burn_sigmoid)
UNARY(Sign, burn_sign)
UNARY(Sin, burn_sin)
UNARY(Sinh, burn_sinh)
UNARY(Softsign, burn_softsign)
UNARY(Sqrt, burn_sqrt)
UNARY(Tan, burn_tan)
UNARY(Tanh, burn_tanh)

#define BINARY(name, apply) \
  MAP(name) { onnx_give(node, 0, onnx_broadcast(apply, onnx_take_input(node, 0), onnx_take_input(node, 1))); }
BINARY(Add, burn_add)
BINARY(And, burn_bool_and)
BINARY(BitwiseAnd, burn_bitwise_and)
BINARY(BitwiseOr, burn_bitwise_or)
BINARY(BitwiseXor, burn_bitwise_xor)
BINARY(Div, burn_div)
BINARY(Equal, burn_equal)
BINARY(Greater, burn_greater)
BINARY(GreaterOrEqual, burn_greater_equal)
BINARY(Less, burn_lower)
BINARY(LessOrEqual, burn_lower_equal)
BINARY(Mul, burn_mul)
BINARY(Or, burn_bool_or)
BINARY(Sub, burn_sub)
BINARY(Xor, burn_bool_xor)

/* -- any number of operands ------------------------------------------------------------------- */

static BurnTensor *fold(OnnxNode *node, OnnxBinary *apply) {
  BurnTensor *x = onnx_input(node, 0);
  for (size_t i = 1; i < node->proto->n_input; i++) x = onnx_broadcast(apply, x, onnx_input(node, i));
  return x;
}
MAP(Max) { onnx_give(node, 0, fold(node, burn_max_pair)); }
MAP(Min) { onnx_give(node, 0, fold(node, burn_min_pair)); }
MAP(Sum) { onnx_give(node, 0, fold(node, burn_add)); }
MAP(Mean) { onnx_give(node, 0, burn_div_scalar(fold(node, burn_add), (double)node->proto->n_input)); }

/* -- arithmetic with attributes --------------------------------------------------------------- */

static bool is_float(const BurnTensor *x) { return burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT; }

MAP(BitShift) {
  const bool left = onnx_is(node, "direction", "", "LEFT");
  OnnxBinary *apply = left ? burn_bitwise_left_shift : burn_bitwise_right_shift;
  onnx_give(node, 0, onnx_broadcast(apply, onnx_input(node, 0), onnx_input(node, 1)));
}

/* Without fmod the result has the sign of the divisor; with it, of the dividend, which we have for floats. */
MAP(Mod) {
  BurnTensor *lhs = onnx_input(node, 0), *rhs = onnx_input(node, 1);
  onnx_same_rank(&lhs, &rhs);
  if (!onnx_int(node, "fmod", 0)) {
    onnx_give(node, 0, burn_remainder(lhs, rhs));
  } else if (is_float(lhs)) {
    onnx_give(node, 0, burn_fmod(lhs, rhs));
  } else {
    BurnTensor *whole = burn_mul(burn_div(burn_clone(lhs), burn_clone(rhs)), rhs);
    onnx_give(node, 0, burn_sub(lhs, whole));
  }
}

/* Mixed operands: the result has the dtype of the base. */
MAP(Pow) {
  BurnTensor *base = onnx_input(node, 0), *exponent = onnx_input(node, 1);
  const BurnDType dtype = burn_dtype(base);
  onnx_same_rank(&base, &exponent);
  if (!is_float(exponent)) {
    onnx_give(node, 0, burn_powi(base, exponent));
  } else if (is_float(base)) {
    onnx_give(node, 0, burn_powf(base, exponent));
  } else {
    onnx_give(node, 0, burn_cast(burn_powf(burn_cast(base, burn_dtype(exponent)), exponent), dtype));
  }
}

/* Bounds are inputs since opset 11, attributes before. */
MAP(Clip) {
  BurnTensor *x = onnx_input(node, 0);
  if (onnx_attribute(node, "min")) x = burn_clamp_min(x, onnx_float(node, "min", 0));
  if (onnx_attribute(node, "max")) x = burn_clamp_max(x, onnx_float(node, "max", 0));
  const bool ints = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_INT;
  for (size_t i = 1; i <= 2; i++) {
    if (!onnx_has_input(node, i) || onnx_input_size(node, i) == 0) continue; /* some writers have [0] for none */
    const OnnxNumber bound = onnx_input_exact(node, i);
    if (i == 1) x = ints ? burn_clamp_min_i64(x, bound.i) : burn_clamp_min(x, bound.f);
    if (i == 2) x = ints ? burn_clamp_max_i64(x, bound.i) : burn_clamp_max(x, bound.f);
  }
  onnx_give(node, 0, x);
}

MAP(IsInf) {
  const bool below = onnx_int(node, "detect_negative", 1), above = onnx_int(node, "detect_positive", 1);
  BurnTensor *x = onnx_input(node, 0);
  if (below && above) {
    onnx_give(node, 0, burn_is_inf(x));
  } else {
    onnx_give(node, 0, burn_equal_scalar(x, below ? -(double)INFINITY : (double)INFINITY));
  }
}

MAP(Where) {
  BurnTensor *mask = onnx_input(node, 0), *yes = onnx_input(node, 1), *no = onnx_input(node, 2);
  onnx_same_rank(&yes, &no);
  onnx_same_rank(&mask, &no);
  onnx_same_rank(&mask, &yes);
  onnx_give(node, 0, burn_mask_where(no, mask, yes));
}

/* -- activations ------------------------------------------------------------------------------- */

MAP(Celu) { onnx_give(node, 0, burn_celu(onnx_input(node, 0), onnx_float(node, "alpha", 1))); }
MAP(Elu) { onnx_give(node, 0, burn_elu(onnx_input(node, 0), onnx_float(node, "alpha", 1))); }
MAP(LeakyRelu) { onnx_give(node, 0, burn_leaky_relu(onnx_input(node, 0), onnx_float(node, "alpha", 0.01))); }
MAP(Softplus) { onnx_give(node, 0, burn_softplus(onnx_input(node, 0), 1)); }
MAP(ThresholdedRelu) { onnx_give(node, 0, burn_thresholded_relu(onnx_input(node, 0), onnx_float(node, "alpha", 1))); }
MAP(HardSigmoid) {
  onnx_give(node, 0,
            burn_hard_sigmoid(onnx_input(node, 0), onnx_float(node, "alpha", 0.2), onnx_float(node, "beta", 0.5)));
}
MAP(Shrink) {
  onnx_give(node, 0, burn_shrink(onnx_input(node, 0), onnx_float(node, "lambd", 0.5), onnx_float(node, "bias", 0)));
}
MAP(Gelu) {
  const bool tanh = onnx_is(node, "approximate", "none", "tanh");
  onnx_give(node, 0, tanh ? burn_gelu_approximate(onnx_input(node, 0)) : burn_gelu(onnx_input(node, 0)));
}

/* Ours has the two usual constants; others scale an elu. */
MAP(Selu) {
  BurnTensor *x = onnx_input(node, 0);
  if (!onnx_attribute(node, "alpha") && !onnx_attribute(node, "gamma")) {
    onnx_give(node, 0, burn_selu(x));
  } else {
    x = burn_elu(x, onnx_float(node, "alpha", 1.6732632423543772));
    onnx_give(node, 0, burn_mul_scalar(x, onnx_float(node, "gamma", 1.0507009873554805)));
  }
}

static BurnTensor *swish(BurnTensor *x, double alpha) {
  if (alpha == 1) return burn_silu(x);
  BurnTensor *gate = burn_sigmoid(burn_mul_scalar(burn_clone(x), alpha));
  return burn_mul(x, gate);
}
MAP(Swish) { onnx_give(node, 0, swish(onnx_input(node, 0), onnx_float(node, "alpha", 1))); }
MAP(SwiGLU) {
  onnx_give(node, 0, burn_mul(swish(onnx_input(node, 0), onnx_float(node, "alpha", 1)), onnx_input(node, 1)));
}

/* Our slope is one, or one per channel; ONNX's broadcasts. */
MAP(PRelu) {
  BurnTensor *x = onnx_input(node, 0), *slope = onnx_input(node, 1);
  /* Before opset 7 a slope per channel has that axis alone, and is not broadcast as others are. */
  const bool by_channel = node->opset < 7 && burn_rank(slope) == 1 && burn_dim(slope, 0) == burn_dim(x, 1);
  if (burn_element_count(slope) == 1 || by_channel) {
    const int64_t count = burn_element_count(slope);
    onnx_give(node, 0, burn_prelu(x, burn_reshape(slope, BURN_SHAPE(count))));
    return;
  }
  BurnTensor *below = burn_lower_scalar(burn_clone(x), 0);
  BurnTensor *sloped = onnx_broadcast(burn_mul, burn_clone(x), slope);
  onnx_give(node, 0, burn_mask_where(x, below, sloped));
}

/* -- along an axis ----------------------------------------------------------------------------- */

/* Before opset 13 the axes from `axis` on, default 1, are one; since then `axis` alone, or the last, is meant. */
static void normalize(OnnxNode *node, BurnTensor *(*apply)(BurnTensor *, int)) {
  BurnTensor *x = onnx_input(node, 0);
  const BurnShape shape = burn_shape(x);
  if (node->opset >= 13) {
    onnx_give(node, 0, apply(x, onnx_axis(node, "axis", onnx_int(node, "axis", -1), shape.rank)));
    return;
  }
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 1), shape.rank);
  int64_t dims[] = {1, 1};
  for (int i = 0; i < (int)shape.rank; i++) dims[i >= axis] *= shape.dims[i];
  onnx_give(node, 0, burn_reshape(apply(onnx_reshape(x, dims, 2), 1), shape));
}
MAP(Softmax) { normalize(node, burn_softmax); }
MAP(LogSoftmax) { normalize(node, burn_log_softmax); }

/* 1 at the first largest element, else 0. */
MAP(Hardmax) {
  BurnTensor *x = onnx_input(node, 0);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -1), burn_rank(x));
  const BurnDType dtype = burn_dtype(x);
  const int64_t classes = burn_dim(x, axis);
  BurnTensor *best = burn_argmax(x, axis);
  BurnTensor *hot = burn_one_hot_fill(burn_squeeze_dim(best, axis), classes, 1, 0, axis);
  onnx_give(node, 0, burn_cast(hot, dtype));
}

/* Running sums and products: reversed by flipping, exclusive by moving them one place on. */
static void run_along(OnnxNode *node, BurnTensor *(*apply)(BurnTensor *, int), double first) {
  BurnTensor *x = onnx_input(node, 0);
  const uint32_t rank = burn_rank(x);
  const int axis = onnx_axis(node, "axis", onnx_input_int(node, 1, 0), rank);
  const int64_t size = burn_dim(x, axis);
  const bool reverse = onnx_int(node, "reverse", 0);
  if (reverse) x = burn_flip(x, &axis, 1);
  x = apply(x, axis);
  if (onnx_int(node, "exclusive", 0)) {
    int64_t margins[2 * BURN_MAX_RANK] = {1, 0};
    x = burn_pad(x, margins, rank - (uint32_t)axis, BURN_PAD_CONSTANT, first);
    x = burn_narrow(x, axis, 0, size);
  }
  onnx_give(node, 0, reverse ? burn_flip(x, &axis, 1) : x);
}
MAP(CumSum) { run_along(node, burn_cumsum, 0); }
MAP(CumProd) { run_along(node, burn_cumprod, 1); }
