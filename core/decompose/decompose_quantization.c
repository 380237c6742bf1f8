/* decompose_quantization.c - quantize, dequantize, products and convolutions of quantized values. */
#include "decompose_internal.h"

/* Scales stretched over their blocks so that they broadcast against the values. One repeat per axis that has blocks of
 * more than one element and more than one block, since rank 8 has no room for an extra axis each. `block` is all 0 for
 * one scale. */
static BurnPrimitive *spread(BurnBuilder *b, BurnPrimitive *scales, const int64_t *block, uint32_t rank) {
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) shape[i] = block[0] == 0 ? 1 : scales->shape[i];
  if (block[0] == 0) return burn_build_reshape(b, scales, shape, rank);
  for (uint32_t i = 0; i < rank; i++) {
    if (block[i] == 1 || shape[i] == 1) continue;
    int64_t before = 1, after = 1;
    for (uint32_t k = 0; k < i; k++) before *= shape[k];
    for (uint32_t k = i + 1; k < rank; k++) after *= shape[k];
    const int64_t split[] = {before, shape[i], 1, after}, wide[] = {before, shape[i], block[i], after};
    scales = burn_build_expand(b, burn_build_reshape(b, scales, split, 4), wide, 4);
    shape[i] *= block[i];
    scales = burn_build_reshape(b, scales, shape, rank);
  }
  return scales;
}

DECOMPOSE(quantize) {
  const BurnAttrs_quantize *attrs = BURN_ATTRS(quantize, call);
  BurnPrimitive *x = call->inputs[0];
  const BurnDType wide = at_least_f32(x->dtype);
  BurnPrimitive *scales = spread(builder, call->inputs[1], attrs->block.value.i64s, x->rank);
  scales = in_dtype(builder, scales, wide);
  BurnPrimitive *steps = one(builder, BURN_OP_round, burn_build_div(builder, in_dtype(builder, x, wide), scales));
  steps = burn_build_scalar(builder, BURN_OP_clamp_min, steps, attrs->low.value.f64);
  steps = burn_build_scalar(builder, BURN_OP_clamp_max, steps, attrs->high.value.f64);
  steps = masked(builder, steps, burn_build_scalar(builder, BURN_OP_equal_scalar, scales, 0), 0);
  out[0] = burn_build_cast(builder, steps, (BurnDType)attrs->dtype.value.i64);
}

static BurnPrimitive *dequantized(BurnBuilder *b, BurnPrimitive *values, BurnPrimitive *scales, const int64_t *block,
                                  BurnDType dtype) {
  const BurnDType wide = at_least_f32(dtype);
  scales = in_dtype(b, spread(b, scales, block, values->rank), wide);
  return in_dtype(b, burn_build_mul(b, burn_build_cast(b, values, wide), scales), dtype);
}

DECOMPOSE(dequantize) {
  const BurnAttrs_dequantize *attrs = BURN_ATTRS(dequantize, call);
  out[0] = dequantized(builder, call->inputs[0], call->inputs[1], attrs->block.value.i64s,
                       (BurnDType)attrs->dtype.value.i64);
}

DECOMPOSE(quantized_matmul) {
  const BurnAttrs_quantized_matmul *attrs = BURN_ATTRS(quantized_matmul, call);
  const BurnDType dtype = (BurnDType)attrs->dtype.value.i64;
  BurnPrimitive *lhs = dequantized(builder, call->inputs[0], call->inputs[1], attrs->lhs_block.value.i64s, dtype);
  BurnPrimitive *rhs = dequantized(builder, call->inputs[2], call->inputs[3], attrs->rhs_block.value.i64s, dtype);
  out[0] = burn_build_op2(builder, BURN_OP_matmul, lhs, rhs);
}

DECOMPOSE(quantized_conv2d) {
  const BurnAttrs_quantized_conv2d *attrs = BURN_ATTRS(quantized_conv2d, call);
  const BurnDType dtype = (BurnDType)attrs->dtype.value.i64;
  BurnPrimitive *x = dequantized(builder, call->inputs[0], call->inputs[1], attrs->x_block.value.i64s, dtype);
  BurnPrimitive *weight = dequantized(builder, call->inputs[2], call->inputs[3], attrs->weight_block.value.i64s, dtype);
  BurnPrimitive *const inputs[] = {x, weight, call->input_count > 4 ? call->inputs[4] : NULL};
  const BurnAttr window[] = {attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
  out[0] = burn_build(builder, BURN_OP_conv2d, 3, inputs, 4, window);
}
