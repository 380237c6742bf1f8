/* infer_quantization.c - rules of quantized values and their scales. */
#include "infer_internal.h"

/* Scales fit the blocks of values: [1], or one axis per axis of the values. */
static BurnStatus check_blocks(const BurnOpInfo *info, const BurnOpCall *call, uint32_t values, uint32_t scales,
                               const BurnAttr *block) {
  const BurnPrimitive *x = call->inputs[values], *s = call->inputs[scales];
  BURN_TRY(burn__infer_kind(info, call, scales, BURN_KIND_FLOAT, "a float tensor"));
  const int64_t *size = block->value.i64s;
  BurnShapeText shape_text, block_text;
  if (block->count < x->rank)
    return BURN_FAIL(INVALID_ARGUMENT, "%s: block needs an entry per axis (%u)", info->name, x->rank);
  bool whole = true, divides = true;
  for (uint32_t i = 0; i < x->rank; i++) {
    whole &= size[i] == 0;
    divides &= size[i] > 0 && x->shape[i] % size[i] == 0;
  }
  if (!whole && !divides) {
    return BURN_FAIL(INVALID_SHAPE, "%s: blocks of %s do not divide %s", info->name,
                     burn__shape_text(&block_text, x->rank, size), burn__shape_text(&shape_text, x->rank, x->shape));
  }
  BURN_TRY(burn__infer_rank(info, call, scales, whole ? 1 : x->rank));
  for (uint32_t i = 0; i < s->rank; i++) {
    const int64_t expected = whole ? 1 : x->shape[i] / size[i];
    if (s->shape[i] == expected) continue;
    return BURN_FAIL(INVALID_SHAPE, "%s: axis %u of %s has %lld entries, %lld blocks need one each", info->name, i,
                     info->input_names[scales], (long long)s->shape[i], (long long)expected);
  }
  return BURN_OK;
}

static BurnStatus check_dtype_of(const BurnOpInfo *info, const BurnAttr *dtype, uint32_t kind, const char *what) {
  if (burn_dtype_kind((BurnDType)dtype->value.i64) == kind) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: the result must be %s, not %s", info->name, what,
                   burn_dtype_name((BurnDType)dtype->value.i64));
}

BURN_RULE(quantize) {
  const BurnAttrs_quantize *attrs = BURN_ATTRS(quantize, call);
  BURN_TRY(check_blocks(info, call, 0, 1, &attrs->block));
  BURN_TRY(check_dtype_of(info, &attrs->dtype, BURN_KIND_INT, "an int tensor"));
  if (!(attrs->low.value.f64 <= attrs->high.value.f64)) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: low %g is above high %g", info->name, attrs->low.value.f64,
                     attrs->high.value.f64);
  }
  *out = burn_primitive_desc(call->inputs[0]);
  out->dtype = (BurnDType)attrs->dtype.value.i64;
  return BURN_OK;
}

BURN_RULE(dequantize) {
  const BurnAttrs_dequantize *attrs = BURN_ATTRS(dequantize, call);
  BURN_TRY(check_blocks(info, call, 0, 1, &attrs->block));
  BURN_TRY(check_dtype_of(info, &attrs->dtype, BURN_KIND_FLOAT, "a float tensor"));
  *out = burn_primitive_desc(call->inputs[0]);
  out->dtype = (BurnDType)attrs->dtype.value.i64;
  return burn__infer_count(info, out);
}

BURN_RULE(quantized_matmul) {
  const BurnAttrs_quantized_matmul *attrs = BURN_ATTRS(quantized_matmul, call);
  BURN_TRY(check_blocks(info, call, 0, 1, &attrs->lhs_block));
  BURN_TRY(burn__infer_kind(info, call, 2, BURN_KIND_INT, "an int tensor"));
  BURN_TRY(check_blocks(info, call, 2, 3, &attrs->rhs_block));
  BURN_TRY(check_dtype_of(info, &attrs->dtype, BURN_KIND_FLOAT, "a float tensor"));
  BurnPrimitive *const inputs[] = {call->inputs[0], call->inputs[2]};
  BurnOpCall product_call = *call;
  product_call.inputs = inputs;
  product_call.input_count = 2;
  BURN_TRY(burn__infer_matmul(info, &product_call, out));
  out->dtype = (BurnDType)attrs->dtype.value.i64;
  return burn__infer_count(info, out);
}

/* A bias [channels] of the result's dtype, which is not that of the first input. */
static BurnStatus check_bias(const BurnOpInfo *info, const BurnPrimitive *bias, BurnDType dtype, int64_t channels) {
  BurnShapeText text;
  if (!bias) return BURN_OK;
  if (bias->dtype != dtype) {
    return BURN_FAIL(INVALID_DTYPE, "%s: bias is %s and the result %s; convert one with burn_cast", info->name,
                     burn_dtype_name(bias->dtype), burn_dtype_name(dtype));
  }
  if (bias->rank == 1 && bias->shape[0] == channels) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: bias %s; [%lld] expected", info->name, burn__shape_of(&text, bias),
                   (long long)channels);
}

/* The attributes begin as those of conv2d do, so its rule can read them. */
BURN_RULE(quantized_conv2d) {
  const BurnAttrs_quantized_conv2d *attrs = BURN_ATTRS(quantized_conv2d, call);
  const BurnDType dtype = (BurnDType)attrs->dtype.value.i64;
  BURN_TRY(check_blocks(info, call, 0, 1, &attrs->x_block));
  BURN_TRY(burn__infer_kind(info, call, 2, BURN_KIND_INT, "an int tensor"));
  BURN_TRY(check_blocks(info, call, 2, 3, &attrs->weight_block));
  BURN_TRY(check_dtype_of(info, &attrs->dtype, BURN_KIND_FLOAT, "a float tensor"));
  BurnPrimitive *const inputs[] = {call->inputs[0], call->inputs[2]};
  BurnOpCall conv_call = *call;
  conv_call.inputs = inputs;
  conv_call.input_count = 2;
  BURN_TRY(burn__infer_conv2d(info, &conv_call, out));
  BURN_TRY(check_bias(info, call->input_count > 4 ? call->inputs[4] : NULL, dtype, call->inputs[2]->shape[0]));
  out->dtype = dtype;
  return burn__infer_count(info, out);
}
