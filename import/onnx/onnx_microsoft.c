/* onnx_microsoft.c - operators of the domain com.microsoft, which ONNX Runtime's optimizer writes into models. */
#include "onnx_node.h"

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
