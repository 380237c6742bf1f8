/* ops_conv.c - public convolutions: options to attributes, padding that differs per side, and the 1-d forms, which go
 * through the 2-d ones with a height of 1. */
#include "core_internal.h"

/* Takes x; it and the weight must have `rank` axes, so that messages name the function that was called. */
static BurnStatus check_ranks(const char *user, const BurnTensor *x, const BurnTensor *weight, uint32_t rank) {
  if (!burn_tensor_device(x) || !burn_tensor_device(weight)) return BURN_OK; /* failed: that message comes first */
  if (burn_rank(x) == rank && burn_rank(weight) == rank) return BURN_OK;
  const BurnShape from = burn_shape(x), kernel = burn_shape(weight);
  BurnShapeText l, r;
  return BURN_FAIL(INVALID_SHAPE, "%s: x %s and weight %s; rank %u expected", user,
                   burn__shape_text(&l, from.rank, from.dims), burn__shape_text(&r, kernel.rank, kernel.dims), rank);
}

static BurnTensor *fail_all(const char *user, BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnStatus status) {
  burn__tensor_take_all((BurnTensor *const[]){x, weight, bias}, 3, user);
  return burn__tensor_failed(status);
}

/* Takes x [n, c, h, w] and puts zeros around the planes where one side needs more than the other; options then say what
 * is needed on both sides. */
static BurnTensor *even_out(BurnTensor *x, BurnConv2dOptions *options) {
  const BurnShape from = burn_shape(x);
  BurnShape shape = from;
  BurnRange ranges[4] = {BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_ALL};
  if (!options->asymmetric || from.rank != 4) return x;
  bool differs = false;
  for (uint32_t i = 0; i < 2; i++) {
    const int64_t begin = options->padding[i], end = options->padding_end[i], both = begin < end ? begin : end;
    shape.dims[2 + i] += begin + end - 2 * both;
    ranges[2 + i] = BURN_RANGE(begin - both, begin - both + from.dims[2 + i]);
    options->padding[i] = both;
    differs |= begin != end;
  }
  if (!differs) return x;
  BurnTensor *zeros = burn_zeros(burn_tensor_device(x), shape, burn_dtype(x));
  return burn_slice_assign(zeros, ranges, 4, x);
}

static bool is_padding(int64_t padding) { return padding >= 0 && padding <= INT32_MAX; }

BurnTensor *burn_conv2d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv2dOptions options) {
  const bool valid = is_padding(options.padding[0]) && is_padding(options.padding[1]) &&
                     is_padding(options.padding_end[0]) && is_padding(options.padding_end[1]);
  if (options.asymmetric && !valid) {
    return fail_all(
        "conv2d", x, weight, bias,
        BURN_FAIL(INVALID_ARGUMENT, "conv2d: padding [%lld,%lld] and padding_end [%lld,%lld]; 0 or more expected",
                  (long long)options.padding[0], (long long)options.padding[1], (long long)options.padding_end[0],
                  (long long)options.padding_end[1]));
  }
  x = even_out(x, &options);
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.dilation, 2), burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv2d, (BurnTensor *const[]){x, weight, bias}, 3, attrs, 4);
}

static BurnStatus check_symmetric(const char *user, bool asymmetric) {
  if (!asymmetric) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: padding must be the same on both sides", user);
}

BurnTensor *burn_conv_transpose2d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv2dOptions options) {
  const BurnStatus status = check_symmetric("conv_transpose2d", options.asymmetric);
  if (status != BURN_OK) return fail_all("conv_transpose2d", x, weight, bias, status);
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.padding_out, 2), burn_attr_i64s(options.dilation, 2),
                            burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv_transpose2d, (BurnTensor *const[]){x, weight, bias}, 3, attrs, 5);
}

BurnTensor *burn_conv2d_weight_backward(BurnTensor *x, BurnTensor *grad, BurnShape weight, BurnConv2dOptions options) {
  const BurnStatus status = check_symmetric("conv2d_weight_backward", options.asymmetric);
  if (status != BURN_OK) return fail_all("conv2d_weight_backward", x, grad, NULL, status);
  const uint32_t rank = weight.rank <= BURN_MAX_RANK ? weight.rank : BURN_MAX_RANK;
  const BurnAttr attrs[] = {burn_attr_i64s(weight.dims, rank), burn_attr_i64s(options.stride, 2),
                            burn_attr_i64s(options.padding, 2), burn_attr_i64s(options.dilation, 2),
                            burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv2d_weight_backward, (BurnTensor *const[]){x, grad}, 2, attrs, 5);
}

/* -- along one axis --------------------------------------------------------------------------- */

typedef BurnTensor *(*PlaneConv)(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv2dOptions options);

static BurnTensor *along_one_axis(PlaneConv conv, const char *user, BurnTensor *x, BurnTensor *weight, BurnTensor *bias,
                                  const BurnConv1dOptions *o) {
  const BurnStatus status = check_ranks(user, x, weight, 3);
  if (status != BURN_OK) return fail_all(user, x, weight, bias, status);
  const BurnConv2dOptions wide = {{1, o->stride},      {0, o->padding}, {1, o->dilation},   o->groups,
                                  {0, o->padding_out}, o->asymmetric,   {0, o->padding_end}};
  x = burn_unsqueeze_dim(x, 2);
  return burn_squeeze_dim(conv(x, burn_unsqueeze_dim(weight, 2), bias, wide), 2);
}

BurnTensor *burn_conv1d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv1dOptions options) {
  return along_one_axis(burn_conv2d, "conv1d", x, weight, bias, &options);
}

BurnTensor *burn_conv_transpose1d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv1dOptions options) {
  return along_one_axis(burn_conv_transpose2d, "conv_transpose1d", x, weight, bias, &options);
}

/* -- volumes, deformed, and columns ----------------------------------------------------------- */

BurnTensor *burn_conv3d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv3dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 3), burn_attr_i64s(options.padding, 3),
                            burn_attr_i64s(options.dilation, 3), burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv3d, (BurnTensor *const[]){x, weight, bias}, 3, attrs, 4);
}

BurnTensor *burn_conv_transpose3d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv3dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 3), burn_attr_i64s(options.padding, 3),
                            burn_attr_i64s(options.padding_out, 3), burn_attr_i64s(options.dilation, 3),
                            burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv_transpose3d, (BurnTensor *const[]){x, weight, bias}, 3, attrs, 5);
}

BurnTensor *burn_conv3d_weight_backward(BurnTensor *x, BurnTensor *grad, BurnShape weight, BurnConv3dOptions options) {
  const uint32_t rank = weight.rank <= BURN_MAX_RANK ? weight.rank : BURN_MAX_RANK;
  const BurnAttr attrs[] = {burn_attr_i64s(weight.dims, rank), burn_attr_i64s(options.stride, 3),
                            burn_attr_i64s(options.padding, 3), burn_attr_i64s(options.dilation, 3),
                            burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv3d_weight_backward, (BurnTensor *const[]){x, grad}, 2, attrs, 5);
}

BurnTensor *burn_deform_conv2d(BurnTensor *x, BurnTensor *offset, BurnTensor *weight, BurnTensor *mask,
                               BurnTensor *bias, BurnDeformConv2dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.dilation, 2), burn_attr_i64(options.weight_groups),
                            burn_attr_i64(options.offset_groups)};
  return burn__apply(BURN_OP_deform_conv2d, (BurnTensor *const[]){x, offset, weight, mask, bias}, 5, attrs, 5);
}

BurnTensor *burn_unfold4d(BurnTensor *x, const int64_t kernel_size[2], BurnUnfold4dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(kernel_size, 2), burn_attr_i64s(options.stride, 2),
                            burn_attr_i64s(options.padding, 2), burn_attr_i64s(options.dilation, 2)};
  return burn__apply(BURN_OP_unfold4d, &x, 1, attrs, 4);
}

BurnTensor *burn_fold4d(BurnTensor *x, const int64_t output_size[2], const int64_t kernel_size[2],
                        BurnUnfold4dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(output_size, 2), burn_attr_i64s(kernel_size, 2),
                            burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.dilation, 2)};
  return burn__apply(BURN_OP_fold4d, &x, 1, attrs, 5);
}
