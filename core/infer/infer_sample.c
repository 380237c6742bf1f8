/* infer_sample.c - shape rules of windows as columns, resampling, quantization, and of layers
 * and losses beside convolutions. */
#include "infer_internal.h"

/* a * b, or -1 where that is not an int64_t; both are at least 0. */
static int64_t product(int64_t a, int64_t b) { return a < 0 || b < 0 || (b > 0 && a > INT64_MAX / b) ? -1 : a * b; }

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
    return BURN_FAIL(INVALID_SHAPE, "%s: %lld rows are no multiple of the %lld of a window of [%lld,%lld]", info->name,
                     (long long)x->shape[1], (long long)taps, (long long)kernel[0], (long long)kernel[1]);
  }
  if (windows != x->shape[2]) {
    return BURN_FAIL(INVALID_SHAPE, "%s: a result of %s has %lld windows, x has %lld", info->name,
                     burn__shape_text(&text, 4, plane), (long long)windows, (long long)x->shape[2]);
  }
  *out = (BurnTensorDesc){x->dtype, 4, {plane[0], plane[1], plane[2], plane[3]}};
  return burn__infer_count(info, out);
}

/* -- resampling ------------------------------------------------------------------------------- */

static BurnStatus check_mode(const BurnOpInfo *info, const BurnAttr *mode, const char *name, int64_t last) {
  if (mode->value.i64 >= 0 && mode->value.i64 <= last) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %s %lld is not in 0..%lld", info->name, name, (long long)mode->value.i64,
                   (long long)last);
}

/* Pictures [n, c, h, w] with at least one pixel. */
static BurnStatus check_pictures(const BurnOpInfo *info, const BurnOpCall *call) {
  BURN_TRY(burn__infer_planes(info, call, 0, 2));
  const BurnPrimitive *x = call->inputs[0];
  BurnShapeText text;
  if (x->shape[2] > 0 && x->shape[3] > 0) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has no pixels to read", info->name, burn__shape_text(&text, 4, x->shape));
}

BURN_RULE(interpolate) {
  const BurnAttrs_interpolate *attrs = BURN_ATTRS(interpolate, call);
  BURN_TRY(check_pictures(info, call));
  BURN_TRY(burn__infer_sizes(info, &attrs->output_size, "output_size", 2, 1));
  BURN_TRY(check_mode(info, &attrs->mode, "mode", BURN_INTERPOLATE_LANCZOS3));
  *out = burn_primitive_desc(call->inputs[0]);
  for (uint32_t i = 0; i < 2; i++) out->shape[2 + i] = attrs->output_size.value.i64s[i];
  return burn__infer_count(info, out);
}

BURN_RULE(grid_sample_2d) {
  const BurnAttrs_grid_sample_2d *attrs = BURN_ATTRS(grid_sample_2d, call);
  BURN_TRY(check_pictures(info, call));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, 4));
  BURN_TRY(check_mode(info, &attrs->mode, "mode", BURN_GRID_SAMPLE_BICUBIC));
  BURN_TRY(check_mode(info, &attrs->padding_mode, "padding_mode", BURN_GRID_PADDING_REFLECTION));
  const BurnPrimitive *x = call->inputs[0], *grid = call->inputs[1];
  if (grid->shape[0] != x->shape[0] || grid->shape[3] != 2) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "%s: grid has shape %s, [%lld, height, width, 2] expected", info->name,
                     burn__shape_text(&text, 4, grid->shape), (long long)x->shape[0]);
  }
  *out = burn_primitive_desc(x);
  for (uint32_t i = 0; i < 2; i++) out->shape[2 + i] = grid->shape[1 + i];
  return burn__infer_count(info, out);
}

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
  BURN_TRY(check_pictures(info, call));
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

/* -- layers and losses ------------------------------------------------------------------------ */

BURN_RULE(linear) {
  const BurnPrimitive *x = call->inputs[0], *weight = call->inputs[1];
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, 2));
  if (x->shape[x->rank - 1] != weight->shape[0]) {
    BurnShapeText l, r;
    return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s: the weight takes %lld inputs, x has %lld", info->name,
                     burn__shape_text(&l, x->rank, x->shape), burn__shape_text(&r, 2, weight->shape),
                     (long long)weight->shape[0], (long long)x->shape[x->rank - 1]);
  }
  BURN_TRY(burn__infer_bias(info, call, 2, weight->shape[1]));
  burn__infer_like(out, x);
  out->shape[x->rank - 1] = weight->shape[1];
  return burn__infer_count(info, out);
}

BURN_RULE(linear_backward) {
  const BurnPrimitive *grad = call->inputs[0], *x = call->inputs[1], *weight = call->inputs[2];
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  const uint32_t last = x->rank - 1;
  const int64_t width = grad->shape[grad->rank - 1];
  bool fits = grad->rank == x->rank;
  for (uint32_t i = 0; fits && i < last; i++) fits = grad->shape[i] == x->shape[i];
  if (weight) {
    BURN_TRY(burn__infer_same_dtype(info, call, 0, 2));
    BURN_TRY(burn__infer_rank(info, call, 2, 2));
    fits = fits && weight->shape[0] == x->shape[last] && weight->shape[1] == width;
  }
  BurnShapeText a, b, c;
  if (!fits) {
    return BURN_FAIL(INVALID_SHAPE, "%s: grad %s, x %s and weight %s do not belong together", info->name,
                     burn__shape_of(&a, grad), burn__shape_of(&b, x), weight ? burn__shape_of(&c, weight) : "(none)");
  }
  out[0].shape[0] = out[0].rank = 1;
  for (uint32_t i = 0; i < 3; i++) out[i].dtype = x->dtype;
  if (weight) burn__infer_like(&out[0], x);
  out[1].rank = 2;
  out[1].shape[0] = x->shape[last];
  out[1].shape[1] = out[2].shape[0] = width;
  out[2].rank = 1;
  return burn__infer_count(info, &out[1]);
}

BURN_RULE(mse) {
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  *out = (BurnTensorDesc){call->inputs[0]->dtype, 1, {1}};
  return BURN_OK;
}

BURN_RULE(mse_backward) {
  const BurnPrimitive *grad = call->inputs[0];
  BURN_TRY(burn__infer_same_shape(info, call, 1, 2));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  burn__infer_like(out, call->inputs[1]);
  if (grad->rank == 1 && grad->shape[0] == 1) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: grad has shape %s, [1] expected", info->name, burn__shape_of(&text, grad));
}

/* Input `first` is [n, c, ..], and all after it are [c]. */
static BurnStatus by_channel(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first) {
  const BurnPrimitive *x = call->inputs[first];
  BurnShapeText text;
  if (x->rank < 2) {
    return BURN_FAIL(INVALID_SHAPE, "%s: shape %s; rank 2 or more expected", info->name,
                     burn__shape_text(&text, x->rank, x->shape));
  }
  for (uint32_t i = first + 1; i < call->input_count; i++) {
    BURN_TRY(burn__infer_same_dtype(info, call, first, i));
    BURN_TRY(burn__infer_rank(info, call, i, 1));
    if (call->inputs[i]->shape[0] == x->shape[1]) continue;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld entries, x %s has %lld channels", info->name, info->input_names[i],
                     (long long)call->inputs[i]->shape[0], burn__shape_text(&text, x->rank, x->shape),
                     (long long)x->shape[1]);
  }
  return BURN_OK;
}

BURN_RULE(batch_norm) {
  BURN_TRY(by_channel(info, call, 0));
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(batch_norm_train) {
  BURN_TRY(by_channel(info, call, 0));
  out[0] = burn_primitive_desc(call->inputs[0]);
  out[1] = out[2] = burn_primitive_desc(call->inputs[1]);
  return BURN_OK;
}

BURN_RULE(batch_norm_train_backward) {
  BURN_TRY(by_channel(info, call, 1));
  BURN_TRY(burn__infer_same_shape(info, call, 0, 1));
  out[0] = burn_primitive_desc(call->inputs[1]);
  out[1] = out[2] = burn_primitive_desc(call->inputs[2]);
  return BURN_OK;
}

BURN_RULE(ctc_loss) {
  static const uint32_t ranks[] = {3, 2, 1, 1};
  const BurnPrimitive *probs = call->inputs[0];
  for (uint32_t i = 0; i < 4; i++) {
    BURN_TRY(burn__infer_rank(info, call, i, ranks[i]));
    if (i == 0) continue;
    BURN_TRY(burn__infer_kind(info, call, i, BURN_KIND_INT, "an int tensor"));
    if (call->inputs[i]->shape[0] == probs->shape[1]) continue;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld samples, log_probs %lld", info->name, info->input_names[i],
                     (long long)call->inputs[i]->shape[0], (long long)probs->shape[1]);
  }
  const int64_t blank = BURN_ATTRS(ctc_loss, call)->blank.value.i64;
  if (blank < 0 || blank >= probs->shape[2]) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: blank %lld is not one of the %lld classes", info->name, (long long)blank,
                     (long long)probs->shape[2]);
  }
  if (call->inputs[1]->shape[1] > INT32_MAX) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %lld labels are too many", info->name, (long long)call->inputs[1]->shape[1]);
  }
  *out = (BurnTensorDesc){probs->dtype, 1, {probs->shape[1]}};
  return BURN_OK;
}

/* -- quantization ----------------------------------------------------------------------------- */

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
