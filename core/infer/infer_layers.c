/* infer_layers.c - shape rules of products, convolutions, pooling, normalisation and losses. */
#include "infer_internal.h"

BURN_RULE(matmul) {
  const BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[1];
  BurnShapeText l, r;
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  const uint32_t rank = lhs->rank;
  if (rank < 2 || rhs->rank != rank) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s x %s: equal ranks of 2 or more are needed", info->name,
                     burn__shape_of(&l, lhs), burn__shape_of(&r, rhs));
  }
  const int64_t inner_lhs = lhs->shape[rank - 1], inner_rhs = rhs->shape[rank - 2];
  if (inner_lhs != inner_rhs) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s x %s: inner dimensions %lld and %lld differ", info->name,
                     burn__shape_of(&l, lhs), burn__shape_of(&r, rhs), (long long)inner_lhs, (long long)inner_rhs);
  }
  out->dtype = lhs->dtype;
  out->rank = rank;
  for (uint32_t i = 0; i + 2 < rank; i++) {
    const int64_t a = lhs->shape[i], b = rhs->shape[i];
    if (a != b && a != 1 && b != 1) {
      return BURN_FAIL(INVALID_SHAPE, "%s: %s x %s: batch axis %u is %lld and %lld", info->name,
                       burn__shape_of(&l, lhs), burn__shape_of(&r, rhs), i, (long long)a, (long long)b);
    }
    out->shape[i] = a == 1 ? b : a;
  }
  out->shape[rank - 2] = lhs->shape[rank - 2];
  out->shape[rank - 1] = rhs->shape[rank - 1];
  return burn__infer_count(info, out);
}

BurnStatus burn__infer_sizes(const BurnOpInfo *info, const BurnAttr *sizes, const char *name, uint32_t axes,
                             int64_t least) {
  if (sizes->count < axes) return BURN_FAIL(INVALID_ARGUMENT, "%s: %s needs %u entries", info->name, name, axes);
  bool valid = true;
  for (uint32_t i = 0; i < axes; i++) valid &= sizes->value.i64s[i] >= least && sizes->value.i64s[i] <= INT32_MAX;
  BurnShapeText text;
  if (valid) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %s %s; %lld or more expected", info->name, name,
                   burn__shape_text(&text, axes, sizes->value.i64s), (long long)least);
}

BurnStatus burn__infer_window(const BurnOpInfo *info, const BurnAttr *stride, const BurnAttr *padding,
                              const BurnAttr *dilation, uint32_t axes) {
  BURN_TRY(burn__infer_sizes(info, stride, "stride", axes, 1));
  BURN_TRY(burn__infer_sizes(info, padding, "padding", axes, 0));
  return burn__infer_sizes(info, dilation, "dilation", axes, 1);
}

BurnStatus burn__infer_planes(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t axes) {
  BURN_TRY(burn__infer_rank(info, call, input, axes + 2));
  const BurnPrimitive *x = call->inputs[input];
  bool fits = true;
  for (uint32_t i = axes == 2 ? 2 : 0; i < axes + 2; i++) fits &= x->shape[i] <= INT32_MAX;
  BurnShapeText text;
  if (fits) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has planes of shape %s, too large", info->name, info->input_names[input],
                   burn__shape_text(&text, x->rank, x->shape));
}

int64_t burn__infer_window_count(int64_t in, int64_t padding, int64_t dilation, int64_t kernel, int64_t stride,
                                 bool ceil_mode) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  return (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

BurnStatus burn__infer_bias(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, int64_t channels) {
  if (call->input_count <= input || !call->inputs[input]) return BURN_OK;
  BURN_TRY(burn__infer_same_dtype(info, call, 0, input));
  BURN_TRY(burn__infer_rank(info, call, input, 1));
  if (call->inputs[input]->shape[0] == channels) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld entries, one per output channel (%lld) expected", info->name,
                   info->input_names[input], (long long)call->inputs[input]->shape[0], (long long)channels);
}

BurnStatus burn__infer_groups(const BurnOpInfo *info, int64_t groups, int64_t channels, const char *what) {
  if (groups >= 1 && channels % groups == 0) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: groups %lld does not divide the %lld %s channels", info->name,
                   (long long)groups, (long long)channels, what);
}

static bool has_empty_axis(const int64_t *shape, uint32_t axes) {
  for (uint32_t i = 0; i < axes; i++) {
    if (shape[i] < 1) return true;
  }
  return false;
}

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
  if (has_empty_axis(out->shape + 2, axes) || has_empty_axis(weight->shape + 2, axes)) {
    return BURN_FAIL(INVALID_SHAPE, "%s: the kernel of weight %s does not fit into x %s with padding %s", info->name,
                     burn__shape_of(&r, weight), burn__shape_of(&l, x), burn__shape_text(&p, axes, padding));
  }
  return burn__infer_count(info, out);
}

BURN_RULE(conv2d) { return conv(info, call, out, 2); }
BURN_RULE(conv3d) { return conv(info, call, out, 3); }

BURN_RULE(conv2d_weight_backward) {
  const BurnAttrs_conv2d_weight_backward *attrs = BURN_ATTRS(conv2d_weight_backward, call);
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_planes(info, call, 0, 2));
  BURN_TRY(burn__infer_planes(info, call, 1, 2));
  BURN_TRY(burn__infer_window(info, &attrs->stride, &attrs->padding, &attrs->dilation, 2));
  const BurnPrimitive *x = call->inputs[0], *grad = call->inputs[1];
  if (attrs->weight_shape.count != 4)
    return BURN_FAIL(INVALID_ARGUMENT, "%s: weight_shape needs 4 entries", info->name);
  const int64_t *weight = attrs->weight_shape.value.i64s, groups = attrs->groups.value.i64;
  BURN_TRY(burn__infer_groups(info, groups, x->shape[1], "input"));
  BURN_TRY(burn__infer_groups(info, groups, grad->shape[1], "output"));
  bool valid = grad->shape[0] == x->shape[0] && grad->shape[1] == weight[0] && weight[1] == x->shape[1] / groups;
  for (uint32_t i = 0; valid && i < 2; i++) {
    valid = grad->shape[2 + i] == burn__infer_window_count(x->shape[2 + i], attrs->padding.value.i64s[i],
                                                           attrs->dilation.value.i64s[i], weight[2 + i],
                                                           attrs->stride.value.i64s[i], false);
  }
  BurnShapeText a, b, c;
  if (!valid) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s, grad %s and weight %s do not belong together", info->name,
                     burn__shape_text(&a, 4, x->shape), burn__shape_text(&b, 4, grad->shape),
                     burn__shape_text(&c, 4, weight));
  }
  out->dtype = x->dtype;
  out->rank = 4;
  for (uint32_t i = 0; i < 4; i++) out->shape[i] = weight[i];
  return burn__infer_count(info, out);
}

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
  if (has_empty_axis(out->shape + 2, axes) || has_empty_axis(weight->shape + 2, axes)) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s give an empty result", info->name, burn__shape_of(&l, x),
                     burn__shape_of(&r, weight));
  }
  return burn__infer_count(info, out);
}

BURN_RULE(conv_transpose2d) { return conv_transpose(info, call, out, 2); }
BURN_RULE(conv_transpose3d) { return conv_transpose(info, call, out, 3); }

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
  if (has_empty_axis(x->shape + 2, axes)) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has nothing to average", info->name,
                     burn__shape_text(&text, x->rank, x->shape));
  }
  for (uint32_t i = 0; i < axes; i++) out->shape[2 + i] = size->value.i64s[i];
  return burn__infer_count(info, out);
}

BURN_RULE(adaptive_avg_pool2d) { return adaptive_pool(info, call, out, 2); }
BURN_RULE(adaptive_avg_pool3d) { return adaptive_pool(info, call, out, 3); }

/* Inputs `first` and later, where they are given, have an entry for each of the last axis of the input before them. */
static BurnStatus last_axis_entries(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first) {
  const BurnPrimitive *x = call->inputs[first - 1];
  const int64_t width = x->shape[x->rank - 1];
  for (uint32_t i = first; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    BURN_TRY(burn__infer_same_dtype(info, call, first - 1, i));
    BURN_TRY(burn__infer_rank(info, call, i, 1));
    if (call->inputs[i]->shape[0] == width) continue;
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld entries, the last axis of %s has %lld", info->name,
                     info->input_names[i], (long long)call->inputs[i]->shape[0],
                     burn__shape_text(&text, x->rank, x->shape), (long long)width);
  }
  return BURN_OK;
}

BURN_RULE(layer_norm) {
  BURN_TRY(last_axis_entries(info, call, 1));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(layer_norm_backward) {
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  BURN_TRY(last_axis_entries(info, call, 2));
  out[0] = burn_primitive_desc(call->inputs[1]);
  out[1] = out[2] = burn_primitive_desc(call->inputs[2]);
  return BURN_OK;
}

/* Logits [n, classes] and integer targets [n] are inputs `first` and the one after it. */
static BurnStatus logits_and_targets(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first) {
  BURN_TRY(burn__infer_rank(info, call, first, 2));
  BURN_TRY(burn__infer_rank(info, call, first + 1, 1));
  BURN_TRY(burn__infer_kind(info, call, first + 1, BURN_KIND_INT, "an int tensor"));
  const BurnPrimitive *logits = call->inputs[first], *targets = call->inputs[first + 1];
  if (logits->shape[0] == targets->shape[0]) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: logits %s need %lld targets, %lld given", info->name,
                   burn__shape_text(&text, 2, logits->shape), (long long)logits->shape[0],
                   (long long)targets->shape[0]);
}

BURN_RULE(cross_entropy) {
  BURN_TRY(logits_and_targets(info, call, 0));
  out->dtype = call->inputs[0]->dtype;
  out->rank = 1;
  out->shape[0] = 1;
  return BURN_OK;
}

BURN_RULE(cross_entropy_backward) {
  const BurnPrimitive *grad = call->inputs[0];
  BURN_TRY(logits_and_targets(info, call, 1));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  *out = burn_primitive_desc(call->inputs[1]);
  if (grad->rank == 1 && grad->shape[0] == 1) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: grad has shape %s, [1] expected", info->name,
                   burn__shape_text(&text, grad->rank, grad->shape));
}
