/* ops_layers.c - public ops of layers: options to attributes; the 1-d forms go through the 2-d ones with a height of 1. */
#include "core_internal.h"

BurnTensor *burn_conv2d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv2dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.dilation, 2), burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv2d, (BurnTensor *const[]){x, weight, bias}, 3, attrs, 4);
}

BurnTensor *burn_conv_transpose2d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv2dOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.padding_out, 2), burn_attr_i64s(options.dilation, 2),
                            burn_attr_i64(options.groups)};
  return burn__apply(BURN_OP_conv_transpose2d, (BurnTensor *const[]){x, weight, bias}, 3, attrs, 5);
}

BurnTensor *burn_conv1d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, BurnConv1dOptions options) {
  if (burn_tensor_device(x) && burn_tensor_device(weight) && (burn_rank(x) != 3 || burn_rank(weight) != 3)) {
    const BurnShape from = burn_shape(x), kernel = burn_shape(weight);
    BurnShapeText l, r;
    const BurnStatus status =
        BURN_FAIL(INVALID_SHAPE, "conv1d: x %s and weight %s; rank 3 expected", burn__shape_text(&l, from.rank, from.dims),
                  burn__shape_text(&r, kernel.rank, kernel.dims));
    burn__tensor_take_all((BurnTensor *const[]){x, weight, bias}, 3, "conv1d");
    return burn__tensor_failed(status);
  }
  const BurnConv2dOptions wide = {{1, options.stride}, {0, options.padding}, {1, options.dilation}, options.groups, {0, 0}};
  x = burn_unsqueeze_dim(x, 2);
  return burn_squeeze_dim(burn_conv2d(x, burn_unsqueeze_dim(weight, 2), bias, wide), 2);
}

enum { POOL_ATTRS = 6 };

static BurnTensor *pool(uint32_t op, BurnTensor *x, const BurnPool2dOptions *options, BurnAttr last, uint32_t attr_count,
                        BurnTensor **out, uint32_t output_count) {
  const BurnAttr attrs[POOL_ATTRS] = {burn_attr_i64s(options->kernel_size, 2), burn_attr_i64s(options->stride, 2),
                                      burn_attr_i64s(options->padding, 2), burn_attr_i64s(options->dilation, 2),
                                      burn_attr_bool(options->ceil_mode), last};
  burn__apply_outputs(op, &x, 1, attrs, attr_count, out, output_count);
  return out[0];
}

BurnTensor *burn_max_pool2d(BurnTensor *x, BurnPool2dOptions options) {
  BurnTensor *out[1];
  return pool(BURN_OP_max_pool2d, x, &options, burn_attr_bool(0), POOL_ATTRS - 1, out, 1);
}

BurnTensor *burn_max_pool2d_with_indices(BurnTensor *x, BurnPool2dOptions options, BurnTensor **indices) {
  BurnTensor *out[2];
  const BurnAttr index_dtype = burn_attr_dtype(burn_device_int_dtype(burn_tensor_device(x)));
  pool(BURN_OP_max_pool2d_with_indices, x, &options, index_dtype, POOL_ATTRS, out, 2);
  *indices = out[1];
  return out[0];
}

BurnTensor *burn_avg_pool2d(BurnTensor *x, BurnPool2dOptions options) {
  BurnTensor *out[1];
  return pool(BURN_OP_avg_pool2d, x, &options, burn_attr_bool(options.count_include_pad), POOL_ATTRS, out, 1);
}

BurnTensor *burn_adaptive_avg_pool2d(BurnTensor *x, const int64_t output_size[2]) {
  const BurnAttr attr = burn_attr_i64s(output_size, 2);
  return burn__apply(BURN_OP_adaptive_avg_pool2d, &x, 1, &attr, 1);
}

BurnTensor *burn_layer_norm(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, double epsilon) {
  const BurnAttr attr = burn_attr_f64(epsilon);
  return burn__apply(BURN_OP_layer_norm, (BurnTensor *const[]){x, gamma, beta}, 3, &attr, 1);
}

/* x is folded to two axes around the product, so that one matrix product serves every rank. */
BurnTensor *burn_linear(BurnTensor *x, BurnTensor *weight, BurnTensor *bias) {
  BurnShape shape = burn_shape(x);
  int64_t rows = 1;
  for (uint32_t i = 0; i + 1 < shape.rank; i++) rows *= shape.dims[i];
  if (shape.rank != 0 && shape.rank != 2) x = burn__reshape_to(x, BURN_SHAPE(rows, shape.dims[shape.rank - 1]));
  const int64_t outputs = burn_dim(weight, 1);
  x = burn_matmul(x, weight);
  if (bias) x = burn_add(x, burn_unsqueeze(bias, 2));
  if (shape.rank == 0 || shape.rank == 2 || outputs < 0) return x;
  shape.dims[shape.rank - 1] = outputs;
  return burn__reshape_to(x, shape);
}
