/* infer_conv.c - rules of convolutions, and of windows as columns. */
#include "infer_internal.h"

/* a * b, or -1 where that is not an int64_t; both are at least 0. */
static int64_t product(int64_t a, int64_t b) { return a < 0 || b < 0 || (b > 0 && a > INT64_MAX / b) ? -1 : a * b; }

/* -- convolutions ----------------------------------------------------------------------------- */

/* conv2d and conv3d, whose attributes are the same. */
static BurnStatus conv(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out, uint32_t axes) {
  const BurnPrimitive *x = call->inputs[0], *weight = call->inputs[1];
  const BurnAttrs_conv2d *attrs = BURN_ATTRS(conv2d, call);
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_planes(info, call, 0, axes));
  BURN_TRY(burn__infer_planes(info, call, 1, axes));
  BURN_TRY(burn__infer_window(info, &attrs->stride, &attrs->padding, &attrs->dilation, axes));
  const int64_t groups = attrs->groups.value.i64, *padding = attrs->padding.value.i64s;
  BURN_TRY(burn__infer_groups(info, groups, x->shape[1], "input"));
  BURN_TRY(burn__infer_groups(info, groups, weight->shape[0], "output"));
  BURN_TRY(burn__infer_bias(info, call, 2, weight->shape[0]));
  BurnShapeText l, r, p;
  if (weight->shape[1] != x->shape[1] / groups) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s: the weight takes %lld channels per group, x has %lld",
                     info->name, burn__shape_of(&l, x), burn__shape_of(&r, weight), (long long)weight->shape[1],
                     (long long)(x->shape[1] / groups));
  }
  *out = burn_primitive_desc(x);
  out->shape[1] = weight->shape[0];
  for (uint32_t i = 0; i < axes; i++) {
    out->shape[2 + i] = burn__infer_window_count(x->shape[2 + i], padding[i], attrs->dilation.value.i64s[i],
                                                 weight->shape[2 + i], attrs->stride.value.i64s[i], false);
  }
  if (burn__infer_has_empty_axis(out->shape + 2, axes) || burn__infer_has_empty_axis(weight->shape + 2, axes)) {
    return BURN_FAIL(INVALID_SHAPE, "%s: the kernel of weight %s does not fit into x %s with padding %s", info->name,
                     burn__shape_of(&r, weight), burn__shape_of(&l, x), burn__shape_text(&p, axes, padding));
  }
  return burn__infer_count(info, out);
}

BURN_RULE(conv2d) { return conv(info, call, out, 2); }
BURN_RULE(conv3d) { return conv(info, call, out, 3); }

/* conv2d_weight_backward and conv3d_weight_backward, whose attributes are the same. */
static BurnStatus weight_backward(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out, uint32_t axes) {
  const uint32_t rank = axes + 2;
  const BurnAttrs_conv2d_weight_backward *attrs = BURN_ATTRS(conv2d_weight_backward, call);
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_planes(info, call, 0, axes));
  BURN_TRY(burn__infer_planes(info, call, 1, axes));
  BURN_TRY(burn__infer_window(info, &attrs->stride, &attrs->padding, &attrs->dilation, axes));
  const BurnPrimitive *x = call->inputs[0], *grad = call->inputs[1];
  if (attrs->weight_shape.count != rank)
    return BURN_FAIL(INVALID_ARGUMENT, "%s: weight_shape needs %u entries", info->name, rank);
  const int64_t *weight = attrs->weight_shape.value.i64s, groups = attrs->groups.value.i64;
  BURN_TRY(burn__infer_groups(info, groups, x->shape[1], "input"));
  BURN_TRY(burn__infer_groups(info, groups, grad->shape[1], "output"));
  bool valid = grad->shape[0] == x->shape[0] && grad->shape[1] == weight[0] && weight[1] == x->shape[1] / groups;
  for (uint32_t i = 0; valid && i < axes; i++) {
    valid = grad->shape[2 + i] == burn__infer_window_count(x->shape[2 + i], attrs->padding.value.i64s[i],
                                                           attrs->dilation.value.i64s[i], weight[2 + i],
                                                           attrs->stride.value.i64s[i], false);
  }
  BurnShapeText a, b, c;
  if (!valid) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s, grad %s and weight %s do not belong together", info->name,
                     burn__shape_text(&a, rank, x->shape), burn__shape_text(&b, rank, grad->shape),
                     burn__shape_text(&c, rank, weight));
  }
  out->dtype = x->dtype;
  out->rank = rank;
  for (uint32_t i = 0; i < rank; i++) out->shape[i] = weight[i];
  return burn__infer_count(info, out);
}

BURN_RULE(conv2d_weight_backward) { return weight_backward(info, call, out, 2); }
BURN_RULE(conv3d_weight_backward) { return weight_backward(info, call, out, 3); }

/* conv_transpose2d and conv_transpose3d, whose attributes are the same. */
static BurnStatus conv_transpose(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out, uint32_t axes) {
  const BurnPrimitive *x = call->inputs[0], *weight = call->inputs[1];
  const BurnAttrs_conv_transpose2d *attrs = BURN_ATTRS(conv_transpose2d, call);
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_planes(info, call, 0, axes));
  BURN_TRY(burn__infer_planes(info, call, 1, axes));
  BURN_TRY(burn__infer_window(info, &attrs->stride, &attrs->padding, &attrs->dilation, axes));
  BURN_TRY(burn__infer_sizes(info, &attrs->padding_out, "padding_out", axes, 0));
  const int64_t groups = attrs->groups.value.i64;
  BURN_TRY(burn__infer_groups(info, groups, x->shape[1], "input"));
  BurnShapeText l, r;
  if (weight->shape[0] != x->shape[1]) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s: the weight takes %lld channels, x has %lld", info->name,
                     burn__shape_of(&l, x), burn__shape_of(&r, weight), (long long)weight->shape[0],
                     (long long)x->shape[1]);
  }
  *out = burn_primitive_desc(x);
  out->shape[1] = weight->shape[1] * groups;
  BURN_TRY(burn__infer_bias(info, call, 2, out->shape[1]));
  for (uint32_t i = 0; i < axes; i++) {
    out->shape[2 + i] = (x->shape[2 + i] - 1) * attrs->stride.value.i64s[i] +
                        attrs->dilation.value.i64s[i] * (weight->shape[2 + i] - 1) + 1 +
                        attrs->padding_out.value.i64s[i] - 2 * attrs->padding.value.i64s[i];
  }
  if (burn__infer_has_empty_axis(out->shape + 2, axes) || burn__infer_has_empty_axis(weight->shape + 2, axes)) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s give an empty result", info->name, burn__shape_of(&l, x),
                     burn__shape_of(&r, weight));
  }
  return burn__infer_count(info, out);
}

BURN_RULE(conv_transpose2d) { return conv_transpose(info, call, out, 2); }
BURN_RULE(conv_transpose3d) { return conv_transpose(info, call, out, 3); }

/* Input `input` of deform_conv2d is [n, channels, oh, ow]. */
static BurnStatus check_moves(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, const int64_t *expected) {
  BURN_TRY(burn__infer_same_dtype(info, call, 0, input));
  BURN_TRY(burn__infer_rank(info, call, input, 4));
  const BurnPrimitive *x = call->inputs[input];
  bool equal = true;
  for (uint32_t i = 0; i < 4; i++) equal &= x->shape[i] == expected[i];
  BurnShapeText given, wanted;
  if (equal) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has shape %s, %s expected", info->name, info->input_names[input],
                   burn__shape_text(&given, 4, x->shape), burn__shape_text(&wanted, 4, expected));
}

BURN_RULE(deform_conv2d) {
  const BurnAttrs_deform_conv2d *attrs = BURN_ATTRS(deform_conv2d, call);
  const BurnPrimitive *x = call->inputs[0], *weight = call->inputs[2];
  BURN_TRY(burn__infer_pictures(info, call));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 2));
  BURN_TRY(burn__infer_planes(info, call, 2, 2));
  BURN_TRY(burn__infer_window(info, &attrs->stride, &attrs->padding, &attrs->dilation, 2));
  const int64_t groups = attrs->weight_groups.value.i64, offset_groups = attrs->offset_groups.value.i64;
  BURN_TRY(burn__infer_groups(info, groups, x->shape[1], "input"));
  BURN_TRY(burn__infer_groups(info, groups, weight->shape[0], "output"));
  BURN_TRY(burn__infer_groups(info, offset_groups, x->shape[1], "input"));
  BURN_TRY(burn__infer_bias(info, call, 4, weight->shape[0]));
  *out = burn_primitive_desc(x);
  out->shape[1] = weight->shape[0];
  for (uint32_t i = 0; i < 2; i++) {
    out->shape[2 + i] =
        burn__infer_window_count(x->shape[2 + i], attrs->padding.value.i64s[i], attrs->dilation.value.i64s[i],
                                 weight->shape[2 + i], attrs->stride.value.i64s[i], false);
  }
  BurnShapeText l, r;
  if (weight->shape[1] != x->shape[1] / groups || out->shape[2] < 1 || out->shape[3] < 1 || weight->shape[2] < 1 ||
      weight->shape[3] < 1) {
    return BURN_FAIL(INVALID_SHAPE, "%s: weight %s does not fit x %s in %lld groups", info->name,
                     burn__shape_text(&r, 4, weight->shape), burn__shape_text(&l, 4, x->shape), (long long)groups);
  }
  const int64_t taps = product(product(weight->shape[2], weight->shape[3]), offset_groups);
  const int64_t offsets[] = {x->shape[0], product(2, taps), out->shape[2], out->shape[3]};
  const int64_t masks[] = {x->shape[0], taps, out->shape[2], out->shape[3]};
  BURN_TRY(check_moves(info, call, 1, offsets));
  if (call->input_count > 3 && call->inputs[3]) BURN_TRY(check_moves(info, call, 3, masks));
  return burn__infer_count(info, out);
}

/* -- windows as columns ----------------------------------------------------------------------- */

/* Rows and windows of the columns of a plane [n, c, h, w]; `text` is the plane's. */
static BurnStatus columns(const BurnOpInfo *info, const int64_t *plane, const BurnAttr *kernel_size,
                          const BurnAttr *stride, const BurnAttr *padding, const BurnAttr *dilation, int64_t *rows,
                          int64_t *windows) {
  BurnShapeText text, kernel_text;
  BURN_TRY(burn__infer_sizes(info, kernel_size, "kernel_size", 2, 1));
  BURN_TRY(burn__infer_window(info, stride, padding, dilation, 2));
  const int64_t *kernel = kernel_size->value.i64s;
  int64_t count[2];
  for (uint32_t i = 0; i < 2; i++) {
    count[i] = burn__infer_window_count(plane[2 + i], padding->value.i64s[i], dilation->value.i64s[i], kernel[i],
                                        stride->value.i64s[i], false);
  }
  *rows = product(product(plane[1], kernel[0]), kernel[1]);
  *windows = product(count[0], count[1]);
  if (*windows > 0 && *rows >= 0) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: a window of %s does not fit into %s with padding [%lld,%lld]", info->name,
                   burn__shape_text(&kernel_text, 2, kernel), burn__shape_text(&text, 4, plane),
                   (long long)padding->value.i64s[0], (long long)padding->value.i64s[1]);
}

BURN_RULE(unfold4d) {
  const BurnAttrs_unfold4d *attrs = BURN_ATTRS(unfold4d, call);
  BURN_TRY(burn__infer_planes(info, call, 0, 2));
  const BurnPrimitive *x = call->inputs[0];
  int64_t rows = 0, windows = 0;
  BURN_TRY(
      columns(info, x->shape, &attrs->kernel_size, &attrs->stride, &attrs->padding, &attrs->dilation, &rows, &windows));
  *out = (BurnTensorDesc){x->dtype, 3, {x->shape[0], rows, windows}};
  return burn__infer_count(info, out);
}

BURN_RULE(fold4d) {
  const BurnAttrs_fold4d *attrs = BURN_ATTRS(fold4d, call);
  const BurnPrimitive *x = call->inputs[0];
  BURN_TRY(burn__infer_rank(info, call, 0, 3));
  BURN_TRY(burn__infer_sizes(info, &attrs->output_size, "output_size", 2, 1));
  BURN_TRY(burn__infer_sizes(info, &attrs->kernel_size, "kernel_size", 2, 1));
  const int64_t *kernel = attrs->kernel_size.value.i64s, taps = kernel[0] * kernel[1];
  const int64_t *size = attrs->output_size.value.i64s, plane[] = {x->shape[0], x->shape[1] / taps, size[0], size[1]};
  int64_t rows = 0, windows = 0;
  BURN_TRY(
      columns(info, plane, &attrs->kernel_size, &attrs->stride, &attrs->padding, &attrs->dilation, &rows, &windows));
  BurnShapeText text;
  if (rows != x->shape[1]) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %lld rows are not a multiple of the %lld of a window of [%lld,%lld]",
                     info->name, (long long)x->shape[1], (long long)taps, (long long)kernel[0], (long long)kernel[1]);
  }
  if (windows != x->shape[2]) {
    return BURN_FAIL(INVALID_SHAPE, "%s: a result of %s has %lld windows, x has %lld", info->name,
                     burn__shape_text(&text, 4, plane), (long long)windows, (long long)x->shape[2]);
  }
  *out = (BurnTensorDesc){x->dtype, 4, {plane[0], plane[1], plane[2], plane[3]}};
  return burn__infer_count(info, out);
}
