/* ops_pool.c - public pools: options to attributes; the 1-d forms go through the 2-d ones with a height of 1. */
#include "ops_internal.h"

enum { POOL_ATTRS = 6 };

static BurnTensor *pool(uint32_t op, BurnTensor *x, const BurnPool2dOptions *options, BurnAttr last,
                        uint32_t attr_count, BurnTensor **out, uint32_t output_count) {
  const BurnAttr attrs[POOL_ATTRS] = {burn_attr_i64s(options->kernel_size, 2), burn_attr_i64s(options->stride, 2),
                                      burn_attr_i64s(options->padding, 2),     burn_attr_i64s(options->dilation, 2),
                                      burn_attr_bool(options->ceil_mode),      last};
  burn__apply_outputs(op, &x, 1, attrs, attr_count, out, output_count);
  return out[0];
}

BurnTensor *burn_max_pool2d(BurnTensor *x, BurnPool2dOptions options) {
  BurnTensor *out[1];
  return pool(BURN_OP_max_pool2d, x, &options, burn_attr_bool(0), POOL_ATTRS - 1, out, 1);
}

BurnTensor *burn_max_pool2d_with_indices(BurnTensor *x, BurnPool2dOptions options, BurnTensor **indices) {
  BurnTensor *out[2];
  const BurnAttr index_dtype = burn_attr_dtype(burn__device_index_dtype(burn_tensor_device(x)));
  pool(BURN_OP_max_pool2d_with_indices, x, &options, index_dtype, POOL_ATTRS, out, 2);
  give(indices, out[1]);
  return out[0];
}

BurnTensor *burn_avg_pool2d(BurnTensor *x, BurnPool2dOptions options) {
  BurnTensor *out[1];
  return pool(BURN_OP_avg_pool2d, x, &options, burn_attr_bool(options.count_include_pad), POOL_ATTRS, out, 1);
}

static BurnAttr shape_attr(const BurnShape *shape) {
  return burn_attr_i64s(shape->dims, shape->rank <= BURN_MAX_RANK ? shape->rank : BURN_MAX_RANK);
}

BurnTensor *burn_max_pool2d_with_indices_backward(BurnTensor *grad, BurnTensor *indices, BurnShape input) {
  const BurnAttr attr = shape_attr(&input);
  return burn__apply(BURN_OP_max_pool2d_backward, (BurnTensor *const[]){grad, indices}, 2, &attr, 1);
}

BurnTensor *burn_avg_pool2d_backward(BurnTensor *grad, BurnShape input, BurnPool2dOptions options) {
  const BurnAttr attrs[] = {shape_attr(&input), burn_attr_i64s(options.kernel_size, 2),
                            burn_attr_i64s(options.stride, 2), burn_attr_i64s(options.padding, 2),
                            burn_attr_bool(options.count_include_pad)};
  return burn__apply(BURN_OP_avg_pool2d_backward, &grad, 1, attrs, 5);
}

BurnTensor *burn_adaptive_avg_pool2d(BurnTensor *x, const int64_t output_size[2]) {
  const BurnAttr attr = burn_attr_i64s(output_size, 2);
  return burn__apply(BURN_OP_adaptive_avg_pool2d, &x, 1, &attr, 1);
}

BurnTensor *burn_adaptive_avg_pool3d(BurnTensor *x, const int64_t output_size[3]) {
  const BurnAttr attr = burn_attr_i64s(output_size, 3);
  return burn__apply(BURN_OP_adaptive_avg_pool3d, &x, 1, &attr, 1);
}

/* -- along one axis --------------------------------------------------------------------------- */

/* Takes x [n, c, w] and gives [n, c, 1, w], or a failure in the name of `user`. */
static BurnTensor *widened(BurnTensor *x, const char *user) {
  BurnStatus status = burn__tensor_check(x, user);
  const BurnShape shape = burn_shape(x);
  BurnShapeText text;
  if (status == BURN_OK && shape.rank != 3) {
    status = BURN_FAIL(INVALID_SHAPE, "%s: x has shape %s, rank 3 expected", user,
                       burn__shape_text(&text, shape.rank, shape.dims));
  }
  if (status == BURN_OK) return burn_unsqueeze_dim(x, 2);
  burn__tensor_take(x, user);
  return burn__tensor_failed(status);
}

static BurnPool2dOptions wide(const BurnPool1dOptions *o) {
  return (BurnPool2dOptions){{1, o->kernel_size}, {1, o->stride}, {0, o->padding},
                             {1, o->dilation},    o->ceil_mode,   o->count_include_pad};
}

BurnTensor *burn_max_pool1d(BurnTensor *x, BurnPool1dOptions options) {
  return burn_squeeze_dim(burn_max_pool2d(widened(x, "max_pool1d"), wide(&options)), 2);
}

BurnTensor *burn_max_pool1d_with_indices(BurnTensor *x, BurnPool1dOptions options, BurnTensor **indices) {
  BurnTensor *places = NULL;
  BurnTensor *result = burn_max_pool2d_with_indices(widened(x, "max_pool1d_with_indices"), wide(&options), &places);
  give(indices, burn_squeeze_dim(places, 2));
  return burn_squeeze_dim(result, 2);
}

BurnTensor *burn_avg_pool1d(BurnTensor *x, BurnPool1dOptions options) {
  return burn_squeeze_dim(burn_avg_pool2d(widened(x, "avg_pool1d"), wide(&options)), 2);
}

BurnTensor *burn_adaptive_avg_pool1d(BurnTensor *x, int64_t output_size) {
  const int64_t size[] = {1, output_size};
  return burn_squeeze_dim(burn_adaptive_avg_pool2d(widened(x, "adaptive_avg_pool1d"), size), 2);
}
