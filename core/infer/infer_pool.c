/* infer_pool.c - rules of pools. */
#include "infer_internal.h"

/* Pools share the first five attributes. */
BURN_RULE(pool2d) {
  const BurnPrimitive *x = call->inputs[0];
  const BurnAttrs_max_pool2d *attrs = BURN_ATTRS(max_pool2d, call);
  BURN_TRY(burn__infer_planes(info, call, 0, 2));
  BURN_TRY(burn__infer_sizes(info, &attrs->kernel_size, "kernel_size", 2, 1));
  BURN_TRY(burn__infer_window(info, &attrs->stride, &attrs->padding, &attrs->dilation, 2));
  const int64_t *kernel = attrs->kernel_size.value.i64s, *padding = attrs->padding.value.i64s;
  const int64_t *dilation = attrs->dilation.value.i64s;
  if (call->op == BURN_OP_avg_pool2d && (dilation[0] != 1 || dilation[1] != 1)) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: dilation [%lld,%lld] must be [1,1]", info->name, (long long)dilation[0],
                     (long long)dilation[1]);
  }
  *out = burn_primitive_desc(x);
  for (uint32_t i = 0; i < 2; i++) {
    out->shape[2 + i] = burn__infer_window_count(x->shape[2 + i], padding[i], dilation[i], kernel[i],
                                                 attrs->stride.value.i64s[i], attrs->ceil_mode.value.i64 != 0);
  }
  BurnShapeText text;
  if (out->shape[2] < 1 || out->shape[3] < 1) {
    return BURN_FAIL(INVALID_SHAPE, "%s: a window of [%lld,%lld] does not fit into %s", info->name,
                     (long long)kernel[0], (long long)kernel[1], burn__shape_text(&text, 4, x->shape));
  }
  return burn__infer_count(info, out);
}

BURN_RULE(max_pool2d_with_indices) {
  BURN_TRY(burn__infer_pool2d(info, call, out));
  out[1] = out[0];
  out[1].dtype = (BurnDType)BURN_ATTRS(max_pool2d_with_indices, call)->index_dtype.value.i64;
  if (out[1].dtype == BURN_DTYPE_I32 || out[1].dtype == BURN_DTYPE_I64) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: indices are i32 or i64, not %s", info->name, burn_dtype_name(out[1].dtype));
}

BURN_RULE(pool2d_backward) {
  const BurnPrimitive *grad = call->inputs[0];
  const BurnAttr *shape = &call->attrs[0]; /* input_shape comes first in all of them */
  BURN_TRY(burn__infer_planes(info, call, 0, 2));
  if (call->op == BURN_OP_max_pool2d_backward) {
    BURN_TRY(burn__infer_kind(info, call, 1, BURN_KIND_INT, "an int tensor"));
    BURN_TRY(burn__infer_planes(info, call, 1, 2));
    for (uint32_t i = 0; i < 4; i++) {
      if (grad->shape[i] == call->inputs[1]->shape[i]) continue;
      return BURN_FAIL(INVALID_SHAPE, "%s: grad and indices differ in axis %u: %lld and %lld", info->name, i,
                       (long long)grad->shape[i], (long long)call->inputs[1]->shape[i]);
    }
  }
  if (call->op == BURN_OP_avg_pool2d_backward) {
    const BurnAttrs_avg_pool2d_backward *attrs = BURN_ATTRS(avg_pool2d_backward, call);
    BURN_TRY(burn__infer_sizes(info, &attrs->kernel_size, "kernel_size", 2, 1));
    BURN_TRY(burn__infer_sizes(info, &attrs->stride, "stride", 2, 1));
    BURN_TRY(burn__infer_sizes(info, &attrs->padding, "padding", 2, 0));
  }
  if (shape->count != 4 || shape->value.i64s[0] != grad->shape[0] || shape->value.i64s[1] != grad->shape[1]) {
    BurnShapeText l, r;
    return BURN_FAIL(INVALID_SHAPE, "%s: grad %s does not belong to an input of shape %s", info->name,
                     burn__shape_text(&l, 4, grad->shape), burn__shape_text(&r, shape->count, shape->value.i64s));
  }
  out->dtype = grad->dtype;
  out->rank = 4;
  for (uint32_t i = 0; i < 4; i++) out->shape[i] = shape->value.i64s[i];
  return burn__infer_count(info, out);
}

static BurnStatus adaptive_pool(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out, uint32_t axes) {
  const BurnAttr *size = &call->attrs[0];
  BURN_TRY(burn__infer_planes(info, call, 0, axes));
  BURN_TRY(burn__infer_sizes(info, size, "output_size", axes, 1));
  const BurnPrimitive *x = call->inputs[0];
  *out = burn_primitive_desc(x);
  BurnShapeText text;
  if (burn__infer_has_empty_axis(x->shape + 2, axes)) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has nothing to average", info->name,
                     burn__shape_text(&text, x->rank, x->shape));
  }
  for (uint32_t i = 0; i < axes; i++) out->shape[2 + i] = size->value.i64s[i];
  return burn__infer_count(info, out);
}

BURN_RULE(adaptive_avg_pool2d) { return adaptive_pool(info, call, out, 2); }
BURN_RULE(adaptive_avg_pool3d) { return adaptive_pool(info, call, out, 3); }
