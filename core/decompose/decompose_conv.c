/* decompose_conv.c - convolutions of volumes and the gradient of their weight through those of planes, and windows as
 * columns.
 *
 * Windows are cut out with `select` at computed indices and put back with `select_assign`: elements only move, so
 * infinities and NaN stay where they are, and the gradient of each is the other. Halves are added in f32. */
#include "decompose_internal.h"

/* x with begin[i] zeros before axis i and end[i] after it. */
static BurnPrimitive *zero_padded(BurnBuilder *b, BurnPrimitive *x, const int64_t *begin, const int64_t *end) {
  int64_t shape[BURN_MAX_RANK], steps[BURN_MAX_RANK];
  bool is_padded = false;
  for (uint32_t i = 0; i < x->rank; i++) {
    shape[i] = x->shape[i] + begin[i] + end[i];
    steps[i] = 1;
    is_padded |= shape[i] != x->shape[i];
  }
  if (!is_padded) return x;
  const BurnAttr attrs[] = {burn_attr_i64s(begin, x->rank), burn_attr_i64s(steps, x->rank)};
  BurnPrimitive *const inputs[] = {burn_build_full(b, shape, x->rank, x->dtype, 0), x};
  return burn_build(b, BURN_OP_slice_assign, 2, inputs, 2, attrs);
}

/* [count]: 0, step, 2 * step ... */
static BurnPrimitive *steps_of(BurnBuilder *b, int64_t count, int64_t step) {
  const BurnAttr attrs[] = {burn_attr_i64s(&count, 1), burn_attr_dtype(BURN_DTYPE_I64), burn_attr_i64(0),
                            burn_attr_i64(step)};
  return burn_build(b, BURN_OP_arange, 0, NULL, 4, attrs);
}

/* [outer * inner]: o * outer_step + i * inner_step, o first. */
static BurnPrimitive *window_indices(BurnBuilder *b, int64_t outer, int64_t outer_step, int64_t inner,
                                     int64_t inner_step) {
  const int64_t column[] = {outer, 1}, row[] = {1, inner}, all[] = {outer * inner};
  BurnPrimitive *rows = burn_build_reshape(b, steps_of(b, outer, outer_step), column, 2);
  BurnPrimitive *columns = burn_build_reshape(b, steps_of(b, inner, inner_step), row, 2);
  return burn_build_reshape(b, burn_build_add(b, rows, columns), all, 1);
}

/* The part of x that starts at `starts` and has the shape `counts`. */
static BurnPrimitive *part_of(BurnBuilder *b, BurnPrimitive *x, const int64_t *starts, const int64_t *counts,
                              uint32_t rank) {
  int64_t steps[BURN_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) steps[i] = 1;
  const BurnAttr attrs[] = {burn_attr_i64s(starts, rank), burn_attr_i64s(counts, rank), burn_attr_i64s(steps, rank)};
  return burn_build(b, BURN_OP_slice, 1, &x, 3, attrs);
}

/* -- volumes ---------------------------------------------------------------------------------- */

/* How volumes become planes: an output of od slices has kd taps for each. */
typedef struct Slices {
  int64_t depth, taps, stride, padding, dilation; /* depth: of the result of the convolution */
} Slices;

/* x [n, in, d, h, w] as [n * od, in * kd, h, w]: the slices that a window covers become channels of a plane. */
static BurnPrimitive *covered_slices(BurnBuilder *b, BurnPrimitive *x, const Slices *s) {
  const int64_t begin[] = {0, 0, s->padding, 0, 0}, order[] = {0, 2, 1, 3, 4, 5};
  const int64_t split[] = {x->shape[0], x->shape[1], s->depth, s->taps, x->shape[3], x->shape[4]};
  const int64_t planes[] = {x->shape[0] * s->depth, x->shape[1] * s->taps, x->shape[3], x->shape[4]};
  BurnPrimitive *depths = window_indices(b, s->depth, s->stride, s->taps, s->dilation);
  BurnPrimitive *slices = burn_build_dim2(b, BURN_OP_select, zero_padded(b, x, begin, begin), depths, 2);
  slices = burn_build_permute(b, burn_build_reshape(b, slices, split, 6), order, 6);
  return burn_build_reshape(b, slices, planes, 4);
}

/* x [n, c, d, h, w] as [n * d, c, h, w]. */
static BurnPrimitive *single_slices(BurnBuilder *b, BurnPrimitive *x) {
  const int64_t planes[] = {x->shape[0] * x->shape[2], x->shape[1], x->shape[3], x->shape[4]};
  const int64_t order[] = {0, 2, 1, 3, 4};
  return burn_build_reshape(b, burn_build_permute(b, x, order, 5), planes, 4);
}

/* One conv2d adds up all slices of depth that a window covers. */
DECOMPOSE(conv3d) {
  const BurnAttrs_conv3d *attrs = BURN_ATTRS(conv3d, call);
  BurnPrimitive *weight = call->inputs[1];
  const int64_t *o = call->output_descs[0].shape, *w = weight->shape;
  const Slices slices = {o[2], w[2], attrs->stride.value.i64s[0], attrs->padding.value.i64s[0],
                         attrs->dilation.value.i64s[0]};
  const int64_t kernel[] = {w[0], w[1] * w[2], w[3], w[4]};
  BurnPrimitive *const inputs[] = {covered_slices(builder, call->inputs[0], &slices),
                                   burn_build_reshape(builder, weight, kernel, 4),
                                   call->input_count > 2 ? call->inputs[2] : NULL};
  const BurnAttr plane_attrs[] = {burn_attr_i64s(attrs->stride.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->padding.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->dilation.value.i64s + 1, 2), attrs->groups};
  BurnPrimitive *result = burn_build(builder, BURN_OP_conv2d, 3, inputs, 4, plane_attrs);
  const int64_t volumes[] = {o[0], o[2], o[1], o[3], o[4]}, back[] = {0, 2, 1, 3, 4};
  out[0] = burn_build_permute(builder, burn_build_reshape(builder, result, volumes, 5), back, 5);
}

/* The gradient of the weight of that conv2d. */
DECOMPOSE(conv3d_weight_backward) {
  const BurnAttrs_conv3d_weight_backward *attrs = BURN_ATTRS(conv3d_weight_backward, call);
  BurnPrimitive *grad = call->inputs[1];
  const int64_t *w = attrs->weight_shape.value.i64s, kernel[] = {w[0], w[1] * w[2], w[3], w[4]};
  const Slices slices = {grad->shape[2], w[2], attrs->stride.value.i64s[0], attrs->padding.value.i64s[0],
                         attrs->dilation.value.i64s[0]};
  BurnPrimitive *const inputs[] = {covered_slices(builder, call->inputs[0], &slices), single_slices(builder, grad)};
  const BurnAttr plane_attrs[] = {burn_attr_i64s(kernel, 4), burn_attr_i64s(attrs->stride.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->padding.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->dilation.value.i64s + 1, 2), attrs->groups};
  BurnPrimitive *result = burn_build(builder, BURN_OP_conv2d_weight_backward, 2, inputs, 5, plane_attrs);
  out[0] = burn_build_reshape(builder, result, w, 5);
}

/* Every slice of depth spreads over the taps as channels of its own; they are added where they belong, and padding is
 * cut off. */
DECOMPOSE(conv_transpose3d) {
  const BurnAttrs_conv_transpose3d *attrs = BURN_ATTRS(conv_transpose3d, call);
  BurnPrimitive *x = call->inputs[0], *weight = call->inputs[1];
  const int64_t *o = call->output_descs[0].shape, *w = weight->shape, *s = x->shape;
  const int64_t stride = attrs->stride.value.i64s[0], dilation = attrs->dilation.value.i64s[0];
  const BurnDType wide = at_least_f32(weight->dtype);
  const int64_t kernel[] = {w[0], w[1] * w[2], w[3], w[4]};
  BurnPrimitive *const inputs[] = {single_slices(builder, x), burn_build_reshape(builder, weight, kernel, 4), NULL};
  const BurnAttr plane_attrs[] = {burn_attr_i64s(attrs->stride.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->padding.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->padding_out.value.i64s + 1, 2),
                                  burn_attr_i64s(attrs->dilation.value.i64s + 1, 2), attrs->groups};
  BurnPrimitive *taps = burn_build(builder, BURN_OP_conv_transpose2d, 3, inputs, 5, plane_attrs);
  const int64_t split[] = {s[0], s[2], o[1], w[2], o[3], o[4]}, back[] = {0, 2, 1, 3, 4, 5};
  const int64_t rows[] = {s[0], o[1], s[2] * w[2], o[3], o[4]};
  taps = burn_build_permute(builder, burn_build_reshape(builder, taps, split, 6), back, 6);
  taps = burn_build_reshape(builder, in_dtype(builder, taps, wide), rows, 5);
  const int64_t depth = o[2] + 2 * attrs->padding.value.i64s[0], whole[] = {o[0], o[1], depth, o[3], o[4]};
  BurnPrimitive *zeros = burn_build_full(builder, whole, 5, wide, 0);
  BurnPrimitive *depths = window_indices(builder, s[2], stride, w[2], dilation);
  BurnPrimitive *sum = burn_build_dim3(builder, BURN_OP_select_assign, zeros, depths, taps, 2);
  const int64_t starts[] = {0, 0, attrs->padding.value.i64s[0], 0, 0}, channels[] = {1, o[1], 1, 1, 1};
  sum = part_of(builder, sum, starts, o, 5);
  if (call->input_count > 2 && call->inputs[2]) {
    sum = burn_build_add(builder, sum,
                         burn_build_reshape(builder, in_dtype(builder, call->inputs[2], wide), channels, 5));
  }
  out[0] = in_dtype(builder, sum, weight->dtype);
}

/* -- windows as columns ----------------------------------------------------------------------- */

/* What unfold4d and fold4d have in common. */
typedef struct Columns {
  int64_t n, c, kernel[2], windows[2], padded[2];
  const int64_t *stride, *padding, *dilation;
} Columns;

static Columns columns_of(const int64_t *plane, const int64_t *kernel, const BurnAttr *stride, const BurnAttr *padding,
                          const BurnAttr *dilation) {
  Columns c = {plane[0], plane[1],           {kernel[0], kernel[1]}, {0, 0},
               {0, 0},   stride->value.i64s, padding->value.i64s,    dilation->value.i64s};
  for (uint32_t i = 0; i < 2; i++) {
    c.padded[i] = plane[2 + i] + 2 * c.padding[i];
    c.windows[i] = (c.padded[i] - c.dilation[i] * (kernel[i] - 1) - 1) / c.stride[i] + 1;
  }
  return c;
}

static BurnPrimitive *axis_indices(BurnBuilder *b, const Columns *c, uint32_t axis) {
  return window_indices(b, c->kernel[axis], c->dilation[axis], c->windows[axis], c->stride[axis]);
}

DECOMPOSE(unfold4d) {
  const BurnAttrs_unfold4d *attrs = BURN_ATTRS(unfold4d, call);
  BurnPrimitive *x = call->inputs[0];
  const Columns c =
      columns_of(x->shape, attrs->kernel_size.value.i64s, &attrs->stride, &attrs->padding, &attrs->dilation);
  const int64_t begin[] = {0, 0, c.padding[0], c.padding[1]}, order[] = {0, 1, 2, 4, 3, 5};
  const int64_t split[] = {c.n, c.c, c.kernel[0], c.windows[0], c.kernel[1], c.windows[1]};
  x = zero_padded(builder, x, begin, begin);
  x = burn_build_dim2(builder, BURN_OP_select, x, axis_indices(builder, &c, 0), 2);
  x = burn_build_dim2(builder, BURN_OP_select, x, axis_indices(builder, &c, 1), 3);
  x = burn_build_permute(builder, burn_build_reshape(builder, x, split, 6), order, 6);
  out[0] = burn_build_reshape(builder, x, call->output_descs[0].shape, 3);
}

DECOMPOSE(fold4d) {
  const BurnAttrs_fold4d *attrs = BURN_ATTRS(fold4d, call);
  const int64_t *o = call->output_descs[0].shape;
  BurnPrimitive *x = call->inputs[0];
  const BurnDType dtype = at_least_f32(x->dtype);
  const Columns c = columns_of(o, attrs->kernel_size.value.i64s, &attrs->stride, &attrs->padding, &attrs->dilation);
  const int64_t split[] = {c.n, c.c, c.kernel[0], c.kernel[1], c.windows[0], c.windows[1]},
                order[] = {0, 1, 2, 4, 3, 5};
  const int64_t rows[] = {c.n, c.c, c.kernel[0] * c.windows[0], c.kernel[1] * c.windows[1]};
  const int64_t wide[] = {c.n, c.c, rows[2], c.padded[1]}, plane[] = {c.n, c.c, c.padded[0], c.padded[1]};
  x = burn_build_permute(builder, burn_build_reshape(builder, in_dtype(builder, x, dtype), split, 6), order, 6);
  x = burn_build_reshape(builder, x, rows, 4);
  x = burn_build_dim3(builder, BURN_OP_select_assign, burn_build_full(builder, wide, 4, dtype, 0),
                      axis_indices(builder, &c, 1), x, 3);
  x = burn_build_dim3(builder, BURN_OP_select_assign, burn_build_full(builder, plane, 4, dtype, 0),
                      axis_indices(builder, &c, 0), x, 2);
  const int64_t starts[] = {0, 0, c.padding[0], c.padding[1]};
  out[0] = in_dtype(builder, part_of(builder, x, starts, o, 4), call->output_descs[0].dtype);
}

/* -- deform_conv2d ---------------------------------------------------------------------------- */

/* Where the taps of an undeformed convolution read along one axis: [1, taps, oh, ow], in `dtype`. */
static BurnPrimitive *tap_positions(BurnBuilder *b, const BurnOpCall *call, uint32_t axis, BurnDType dtype) {
  const BurnAttrs_deform_conv2d *attrs = BURN_ATTRS(deform_conv2d, call);
  const int64_t *o = call->output_descs[0].shape, *kernel = call->inputs[2]->shape + 2;
  const int64_t all[] = {1, kernel[0], kernel[1], o[2], o[3]}, taps[] = {1, kernel[0] * kernel[1], o[2], o[3]};
  int64_t windows[] = {1, 1, 1, 1, 1}, steps[] = {1, 1, 1, 1, 1};
  windows[3 + axis] = o[2 + axis];
  steps[1 + axis] = kernel[axis];
  const BurnAttr window[] = {burn_attr_i64s(&o[2 + axis], 1), burn_attr_dtype(BURN_DTYPE_I64),
                             burn_attr_i64(-attrs->padding.value.i64s[axis]),
                             burn_attr_i64(attrs->stride.value.i64s[axis])};
  const BurnAttr tap[] = {burn_attr_i64s(&kernel[axis], 1), burn_attr_dtype(BURN_DTYPE_I64), burn_attr_i64(0),
                          burn_attr_i64(attrs->dilation.value.i64s[axis])};
  BurnPrimitive *starts = burn_build_reshape(b, burn_build(b, BURN_OP_arange, 0, NULL, 4, window), windows, 5);
  BurnPrimitive *moves = burn_build_reshape(b, burn_build(b, BURN_OP_arange, 0, NULL, 4, tap), steps, 5);
  BurnPrimitive *positions = burn_build_expand(b, burn_build_add(b, starts, moves), all, 5);
  return burn_build_cast(b, burn_build_reshape(b, positions, taps, 4), dtype);
}

/* What the taps read, [n, in, taps, oh * ow], as a convolution's columns. */
static BurnPrimitive *deformed_columns(BurnBuilder *b, const BurnOpCall *call, BurnDType wide) {
  const BurnAttrs_deform_conv2d *attrs = BURN_ATTRS(deform_conv2d, call);
  const int64_t *s = call->inputs[0]->shape, *o = call->output_descs[0].shape, *kernel = call->inputs[2]->shape + 2;
  const int64_t groups = attrs->offset_groups.value.i64, taps = kernel[0] * kernel[1], points = taps * o[2] * o[3];
  const int64_t offsets[] = {s[0] * groups, taps, 2, o[2], o[3]}, steps[] = {1, 1, 1, 1, 1};
  const int64_t counts[] = {s[0] * groups, taps, 1, o[2], o[3]}, planes[] = {s[0] * groups, taps, o[2], o[3]};
  const int64_t row[] = {s[0] * groups, 1, points}, flat_planes[] = {s[0] * groups, s[1] / groups, s[2] * s[3]};
  BurnPrimitive *offset = burn_build_reshape(b, in_dtype(b, call->inputs[1], wide), offsets, 5), *at[2];
  for (int64_t i = 0; i < 2; i++) { /* the offsets hold y, then x */
    const int64_t starts[] = {0, 0, i, 0, 0};
    const BurnAttr part[] = {burn_attr_i64s(starts, 5), burn_attr_i64s(counts, 5), burn_attr_i64s(steps, 5)};
    BurnPrimitive *moved = burn_build_reshape(b, burn_build(b, BURN_OP_slice, 1, &offset, 3, part), planes, 4);
    at[i] = burn_build_reshape(b, burn_build_add(b, moved, tap_positions(b, call, (uint32_t)i, wide)), row, 3);
  }
  BurnPrimitive *x = burn_build_reshape(b, in_dtype(b, call->inputs[0], wide), flat_planes, 3);
  const Picture picture = {x, row[0], flat_planes[1], s[2], s[3], points};
  BurnPrimitive *columns = burn__decompose_bilinear(b, &picture, at[0], at[1]);
  if (call->input_count > 3 && call->inputs[3]) {
    columns = burn_build_mul(b, columns, burn_build_reshape(b, in_dtype(b, call->inputs[3], wide), row, 3));
  }
  return in_dtype(b, columns, call->inputs[0]->dtype);
}

DECOMPOSE(deform_conv2d) {
  const BurnPrimitive *x = call->inputs[0];
  const int64_t *o = call->output_descs[0].shape, *w = call->inputs[2]->shape;
  const int64_t groups = BURN_ATTRS(deform_conv2d, call)->weight_groups.value.i64, rows = w[1] * w[2] * w[3];
  const int64_t columns_shape[] = {x->shape[0], groups, rows, o[2] * o[3]};
  const int64_t weight_shape[] = {1, groups, w[0] / groups, rows};
  const int64_t channels[] = {1, o[1], 1, 1};
  BurnPrimitive *columns = deformed_columns(builder, call, at_least_f32(x->dtype));
  columns = burn_build_reshape(builder, columns, columns_shape, 4);
  BurnPrimitive *weight = burn_build_reshape(builder, call->inputs[2], weight_shape, 4);
  out[0] = burn_build_reshape(builder, burn_build_op2(builder, BURN_OP_matmul, weight, columns), o, 4);
  if (call->input_count < 5 || !call->inputs[4]) return;
  out[0] = burn_build_add(builder, out[0], burn_build_reshape(builder, call->inputs[4], channels, 4));
}
