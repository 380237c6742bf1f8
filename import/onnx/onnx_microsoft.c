/* onnx_microsoft.c - operators of the domain com.microsoft, which ONNX Runtime's optimizer writes into models. */
#include "onnx_node.h"

#include <float.h>

/* x plus input i, if there is one. */
static BurnTensor *with_bias(const OnnxNode *node, BurnTensor *x, size_t i) {
  return onnx_has_input(node, i) ? onnx_broadcast(burn_add, x, onnx_input(node, i)) : x;
}

MAP(BiasGelu) { onnx_give(node, 0, burn_gelu(with_bias(node, onnx_input(node, 0), 1))); }
MAP(FastGelu) { onnx_give(node, 0, burn_gelu_approximate(with_bias(node, onnx_input(node, 0), 1))); }
MAP(QuickGelu) {
  BurnTensor *x = onnx_input(node, 0);
  BurnTensor *gate = burn_sigmoid(burn_mul_scalar(burn_clone(x), onnx_float(node, "alpha", 1.702)));
  onnx_give(node, 0, burn_mul(x, gate));
}

/* A product of matrices, either of which may be transposed first, times a number. */
MAP(FusedMatMul) {
  BurnTensor *a = onnx_input(node, 0), *b = onnx_input(node, 1);
  const double alpha = onnx_float(node, "alpha", 1);
  const bool batches = onnx_int(node, "transBatchA", 0) || onnx_int(node, "transBatchB", 0);
  if (batches || burn_rank(a) < 2 || burn_rank(b) < 2) onnx_not_mapped(node, "vectors, or axes of batches transposed");
  if (onnx_int(node, "transA", 0) && !node->reason[0]) a = burn_transpose(a);
  if (onnx_int(node, "transB", 0) && !node->reason[0]) b = burn_transpose(b);
  BurnTensor *x = onnx_broadcast(burn_matmul, a, b);
  onnx_give(node, 0, alpha == 1 ? x : burn_mul_scalar(x, alpha));
}

/* The sum of input, skip and bias, which is also output 3. */
static BurnTensor *skipped(OnnxNode *node, size_t bias) {
  BurnTensor *x = onnx_broadcast(burn_add, onnx_input(node, 0), onnx_input(node, 1));
  x = with_bias(node, x, bias);
  onnx_give(node, 3, burn_clone(x));
  return x;
}

MAP(SkipLayerNormalization) {
  BurnTensor *x = skipped(node, 4);
  if (onnx_wants_output(node, 1) || onnx_wants_output(node, 2)) onnx_not_mapped(node, "its mean and deviation");
  onnx_give(node, 0, burn_layer_norm(x, onnx_input(node, 2), onnx_input(node, 3), onnx_float(node, "epsilon", 1e-12)));
}

/* The same without mean and shift. */
MAP(SkipSimplifiedLayerNormalization) {
  BurnTensor *x = skipped(node, 3);
  if (onnx_wants_output(node, 1) || onnx_wants_output(node, 2)) onnx_not_mapped(node, "its mean and deviation");
  BurnTensor *square = burn_mean_dim(burn_square(burn_clone(x)), -1);
  x = burn_div(x, burn_sqrt(burn_add_scalar(square, onnx_float(node, "epsilon", 1e-12))));
  onnx_give(node, 0, onnx_broadcast(burn_mul, x, onnx_input(node, 2)));
}

/* -- convolution with what follows it ---------------------------------------------------------- */

/* Number i of activation_params. */
static double parameter(const OnnxNode *node, size_t i, double otherwise) {
  const Onnx__AttributeProto *list = onnx_attribute(node, "activation_params");
  return list && i < list->n_floats ? (double)list->floats[i] : otherwise;
}

static BurnTensor *activated(OnnxNode *node, BurnTensor *x) {
  if (onnx_is(node, "activation", "", "")) return x;
  if (onnx_is(node, "activation", "", "Relu")) return burn_relu(x);
  if (onnx_is(node, "activation", "", "Tanh")) return burn_tanh(x);
  if (onnx_is(node, "activation", "", "Sigmoid")) return burn_sigmoid(x);
  if (onnx_is(node, "activation", "", "LeakyRelu")) return burn_leaky_relu(x, parameter(node, 0, 0.01));
  if (onnx_is(node, "activation", "", "Clip")) {
    return burn_clamp(x, parameter(node, 0, -(double)FLT_MAX), parameter(node, 1, (double)FLT_MAX));
  }
  if (onnx_is(node, "activation", "", "HardSigmoid")) {
    return burn_hard_sigmoid(x, parameter(node, 0, 0.2), parameter(node, 1, 0.5));
  }
  onnx_not_mapped(node, "this activation");
  return x;
}

/* activation(Conv + input 3) */
MAP(FusedConv) {
  onnx_Conv(node);
  BurnTensor *x = node->outputs[0];
  node->outputs[0] = NULL;
  if (x) onnx_give(node, 0, activated(node, with_bias(node, x, 3)));
}

/* -- sums and products of small integers ------------------------------------------------------- */

/* (x - zero point) * scale of inputs i, i + 1 and i + 2. */
static BurnTensor *dequantized(const OnnxNode *node, size_t i) {
  BurnTensor *zero = burn_cast(onnx_input(node, i + 2), BURN_DTYPE_F32);
  BurnTensor *x = onnx_broadcast(burn_sub, burn_cast(onnx_input(node, i), BURN_DTYPE_F32), zero);
  return onnx_broadcast(burn_mul, x, onnx_input(node, i + 1));
}

/* What lies beyond the dtype is its end. */
static void give_quantized(OnnxNode *node, OnnxBinary *apply) {
  const BurnDType dtype = burn_dtype(node->inputs[0]);
  const bool is_signed = dtype == BURN_DTYPE_I8;
  BurnTensor *x = onnx_broadcast(apply, dequantized(node, 0), dequantized(node, 3));
  x = burn_round(onnx_broadcast(burn_div, x, onnx_input(node, 6)));
  if (onnx_has_input(node, 7)) {
    x = onnx_broadcast(burn_add, x, burn_cast(onnx_input(node, 7), BURN_DTYPE_F32));
  }
  onnx_give(node, 0, burn_cast(burn_clamp(x, is_signed ? -128 : 0, is_signed ? 127 : 255), dtype));
}

MAP(QLinearAdd) { give_quantized(node, burn_add); }
MAP(QLinearMul) { give_quantized(node, burn_mul); }

/* -- the first layer of BERT ------------------------------------------------------------------- */

/* The rows of the positions: those of input 8, or the first ones; [batch or 1, length, size]. */
static BurnTensor *position_rows(OnnxNode *node) {
  BurnTensor *table = onnx_input(node, 3);
  const int64_t length = onnx_input_dim(node, 0, 1);
  if (onnx_has_input(node, 8)) return burn_embedding(table, onnx_input(node, 8));
  return burn_unsqueeze_dim(burn_narrow(table, 0, 0, length), 0);
}

/* Words, positions and segments, added up and normalized; the numbers of words that a mask has, or zeros. */
MAP(EmbedLayerNormalization) {
  const size_t needed[] = {2, 3, 5, 6};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    if (!onnx_has_input(node, needed[i])) onnx_not_mapped(node, "input %zu is absent", needed[i]);
  }
  if (onnx_input_rank(node, 0) != 2) onnx_not_mapped(node, "its words are not a matrix");
  if (node->reason[0]) return;
  BurnTensor *x =
      onnx_broadcast(burn_add, burn_embedding(onnx_input(node, 2), onnx_input(node, 0)), position_rows(node));
  if (onnx_has_input(node, 1) && onnx_has_input(node, 4)) {
    x = burn_add(x, burn_embedding(onnx_input(node, 4), onnx_input(node, 1)));
  }
  onnx_give(node, 2, burn_clone(x));
  BurnTensor *mask = onnx_has_input(node, 7) ? onnx_input(node, 7) : burn_zeros_like(onnx_input(node, 0));
  onnx_give(node, 1, burn_cast(burn_squeeze_dim(burn_sum_dim(mask, 1), 1), BURN_DTYPE_I32));
  onnx_give(node, 0, burn_layer_norm(x, onnx_input(node, 5), onnx_input(node, 6), onnx_float(node, "epsilon", 1e-12)));
}
