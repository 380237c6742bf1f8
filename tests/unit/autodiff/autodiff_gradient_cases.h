/* autodiff_gradient_cases.h - a case of every op with a gradient, as the tests of autodiff run them: the rows of
 * autodiff_gradient_cases.def, what they are written with, and a run of one. Included by one file of a program. */
#ifndef AUTODIFF_GRADIENT_CASES_H
#define AUTODIFF_GRADIENT_CASES_H

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/op.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_stacks.h"

enum { INPUT_LIMIT = 5, ELEMENT_LIMIT = 256 };

static BurnDevice *device;
static bool checkpointed; /* evaluate runs the case in a checkpoint region */

/* -- small makers for the cases --------------------------------------------------------------- */

/* Number i of a sequence that is spread over 0 .. 1 and never repeats. */
static double spread(int64_t i, int64_t seed) {
  const double x = 0.37 + 0.6180339887498949 * (double)(i + 1) + 0.137 * (double)seed;
  return x - floor(x);
}

static int64_t element_count(BurnShape shape) {
  int64_t count = 1;
  for (uint32_t axis = 0; axis < shape.rank; axis++) count *= shape.dims[axis];
  return count;
}

static BurnTensor *mask(BurnShape shape) {
  bool values[ELEMENT_LIMIT];
  for (int64_t i = 0; i < element_count(shape); i++) values[i] = i % 3 == 1 || i % 4 == 0;
  return burn_tensor_bool(device, values, shape);
}

/* Indices below `limit`, some of them repeated. */
static BurnTensor *indices(BurnShape shape, int64_t limit) {
  int64_t values[ELEMENT_LIMIT];
  for (int64_t i = 0; i < element_count(shape); i++) values[i] = (i * i + 1) % limit;
  return burn_tensor_i64(device, values, shape);
}

static BurnConv2dOptions conv(int64_t stride_h, int64_t stride_w, int64_t padding_h, int64_t padding_w,
                              int64_t dilation_h, int64_t dilation_w, int64_t groups) {
  return (BurnConv2dOptions){
      {stride_h, stride_w}, {padding_h, padding_w}, {dilation_h, dilation_w}, groups, {0, 0}, false, {0, 0}};
}
static BurnConv2dOptions padding_out(BurnConv2dOptions options, int64_t height, int64_t width) {
  options.padding_out[0] = height;
  options.padding_out[1] = width;
  return options;
}

static BurnPool2dOptions pool(int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t padding_h,
                              int64_t padding_w, bool ceil_mode) {
  return (BurnPool2dOptions){
      {kernel_h, kernel_w}, {stride_h, stride_w}, {padding_h, padding_w}, {1, 1}, ceil_mode, true};
}
static BurnPool2dOptions without_pad(BurnPool2dOptions options) {
  options.count_include_pad = false;
  return options;
}
static BurnPool2dOptions dilated(BurnPool2dOptions options, int64_t height, int64_t width) {
  options.dilation[0] = height;
  options.dilation[1] = width;
  return options;
}
static BurnTensor *pool_with_indices(BurnTensor *x, BurnPool2dOptions options) {
  BurnTensor *positions = NULL;
  BurnTensor *result = burn_max_pool2d_with_indices(x, options, &positions);
  burn_drop(positions);
  return result;
}

/* Input number `input` of a case, spread over low .. high, with 0 at every `every`-th element: that element's own value
 * is subtracted, so that differences still see it. */
static BurnTensor *with_zeros(BurnTensor *x, int64_t every, double low, double high, int64_t input) {
  double values[ELEMENT_LIMIT];
  const BurnShape shape = burn_shape(x);
  for (int64_t i = 0; i < element_count(shape); i++)
    values[i] = i % every == 1 ? low + (high - low) * spread(i, input) : 0;
  return burn_sub(x, burn_tensor_f64(device, values, shape));
}

/* More inputs than the layer keeps on its stack, all the same tensor. */
static BurnTensor *cat_of_many(BurnTensor *x) {
  BurnTensor *tensors[20];
  tensors[0] = x;
  for (size_t i = 1; i < 20; i++) tensors[i] = burn_clone(x);
  return burn_cat(tensors, 20, 1);
}

/* Takes both: the results of an op with two, side by side along the last axis. */
static BurnTensor *beside(BurnTensor *first, BurnTensor *second) {
  return burn_cat((BurnTensor *const[]){burn_flatten(first, 0, -1), burn_flatten(second, 0, -1)}, 2, 0);
}

/* Takes x [.., n, n]: with a heavier diagonal, which makes it well-conditioned. */
static BurnTensor *dominant(BurnTensor *x) {
  BurnTensor *diagonal = burn_mul_scalar(burn_eye(device, burn_dim(x, -1), BURN_DTYPE_F64), 5);
  return burn_add(x, burn_unsqueeze(diagonal, burn_rank(x)));
}

static BurnTensor *lu_parts(BurnTensor *x) {
  BurnTensor *lower = NULL, *upper = NULL;
  burn_drop(burn_lu(x, &lower, &upper));
  return beside(lower, upper);
}
static BurnTensor *lu_decomposition(BurnTensor *x) {
  BurnTensor *permutation = NULL;
  BurnTensor *packed = burn_lu_decomposition(x, &permutation);
  burn_drop(permutation);
  return packed;
}
static BurnTensor *qr_parts(BurnTensor *x, bool reduced) {
  BurnTensor *upper = NULL;
  BurnTensor *q = burn_qr(x, reduced, &upper);
  return beside(q, upper);
}
static BurnTensor *var_and_mean(BurnTensor *x) {
  BurnTensor *mean = NULL;
  BurnTensor *variance = burn_var_mean(x, 1, &mean);
  return beside(variance, mean);
}
static BurnTensor *var_and_mean_bias(BurnTensor *x) {
  BurnTensor *mean = NULL;
  BurnTensor *variance = burn_var_mean_bias(x, 1, &mean);
  return beside(variance, mean);
}
/* The results of batch_norm_train side by side, or without the first. Takes all. */
static BurnTensor *normalized_and_statistics(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, bool with_first) {
  BurnTensor *mean = NULL, *var = NULL;
  BurnTensor *y = burn_batch_norm_train(x, gamma, beta, 1e-3, &mean, &var);
  BurnTensor *statistics = beside(mean, var);
  if (with_first) return beside(y, statistics);
  burn_drop(y);
  return statistics;
}
static BurnTensor *rfft_parts(BurnTensor *x, int dim, int64_t n) {
  BurnTensor *imaginary = NULL;
  BurnTensor *real = burn_rfft(x, dim, n, &imaginary);
  return beside(real, imaginary);
}
static BurnTensor *cfft_parts(BurnTensor *re, BurnTensor *im) {
  BurnTensor *imaginary = NULL;
  BurnTensor *real = burn_cfft(re, im, 1, 0, &imaginary);
  return beside(real, imaginary);
}

/* Outputs of an lstm, its cells, or both. Takes the four inputs in x. */
static BurnTensor *lstm_parts(BurnTensor **x, bool outputs, bool cells) {
  BurnTensor *states = NULL;
  BurnTensor *result = burn_lstm(x[0], x[1], x[2], x[3], cells ? &states : NULL);
  if (!cells) return result;
  if (outputs) return beside(result, states);
  burn_drop(result);
  return states;
}
/* The result that burn_lstm keeps to itself. */
static BurnTensor *lstm_activations(BurnTensor **x) {
  BurnTensor *results[3];
  burn_op_call(device, burn_op_info(BURN_OP_lstm), x, 4, NULL, 0, results);
  burn_drop(results[0]);
  burn_drop(results[1]);
  return results[2];
}

/* The product of narrow(x, axis, start, size), which broadcast; takes x. */
static BurnTensor *product_of_slices(BurnTensor *x, size_t count, const int64_t slices[][3]) {
  BurnTensor *product = NULL;
  for (size_t i = 0; i < count; i++) {
    BurnTensor *slice = burn_narrow(burn_clone(x), (int)slices[i][0], slices[i][1], slices[i][2]);
    product = product ? burn_mul(product, slice) : slice;
  }
  burn_drop(x);
  return product;
}

/* All results of an op without a function of its own, flattened side by side. Takes the inputs. */
static BurnTensor *call_op(uint32_t number, BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                           uint32_t attr_count) {
  BurnTensor *results[BURN_MAX_OUTPUTS], *joined[BURN_MAX_OUTPUTS];
  const BurnOpInfo *info = burn_op_info(number);
  burn_op_call(device, info, inputs, input_count, attrs, attr_count, results);
  for (uint32_t i = 0; i < info->output_count; i++) joined[i] = burn_flatten(results[i], 0, -1);
  return burn_cat(joined, info->output_count, 0);
}
#define LIST(...) \
  ((BurnTensor *const[]){__VA_ARGS__}), (uint32_t)(sizeof((BurnTensor *[]){__VA_ARGS__}) / sizeof(BurnTensor *))
#define SIZES(...) burn_attr_i64s((const int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8))
#define ATTRS(...) ((const BurnAttr[]){__VA_ARGS__}), (uint32_t)(sizeof((BurnAttr[]){__VA_ARGS__}) / sizeof(BurnAttr))
#define NO_ATTRS NULL, 0

/* Quantized integers with one scale, or with one per block. Takes the scales. */
static BurnQuantTensor quantized(int64_t rows, int64_t columns, int64_t seed, BurnTensor *scales) {
  int8_t values[ELEMENT_LIMIT];
  for (int64_t i = 0; i < rows * columns; i++) values[i] = (int8_t)(i * 7 % 11 - seed);
  BurnQuantScheme scheme = BURN_QUANT_SCHEME;
  if (burn_rank(scales) == 2) {
    scheme.block_rank = 2;
    scheme.block[0] = rows / burn_dim(scales, 0);
    scheme.block[1] = columns / burn_dim(scales, 1);
  }
  BurnTensor *integers = burn_tensor_from(device, values, BURN_DTYPE_I8, BURN_SHAPE(rows, columns));
  return (BurnQuantTensor){integers, {scales, NULL}, scheme};
}
static BurnTensor *dequantized(BurnTensor *scales) {
  return burn_dequantize(quantized(4, 6, 5, scales), BURN_DTYPE_F64);
}
static BurnTensor *product_of_quantized(BurnTensor *left, BurnTensor *right) {
  return burn_quant_matmul(quantized(3, 4, 5, left), quantized(4, 6, 4, right), BURN_DTYPE_F64);
}
/* x [1, 2, 3, 4] with one scale, weight [2, 2, 2, 2] with one per channel. */
static BurnTensor *conv_of_quantized(BurnTensor *left, BurnTensor *right, BurnTensor *bias) {
  BurnQuantTensor x = quantized(6, 4, 5, left), weight = quantized(2, 8, 4, right);
  weight.values = burn_reshape(weight.values, BURN_SHAPE(2, 2, 2, 2));
  weight.parameters.scales = burn_reshape(weight.parameters.scales, BURN_SHAPE(2, 1, 1, 1));
  weight.scheme = (BurnQuantScheme){BURN_QUANT_Q8F, BURN_DTYPE_F32, 4, {1, 2, 2, 2}, false};
  x.values = burn_reshape(x.values, BURN_SHAPE(1, 2, 3, 4));
  return burn_quant_conv2d(x, weight, bias, BURN_CONV2D_OPTIONS, BURN_DTYPE_F64);
}

/* -- the cases -------------------------------------------------------------------------------- */

typedef struct CaseInput {
  double low, high;
  BurnShape shape;
} CaseInput;

typedef struct Case {
  const char *name, *op;
  double step;
  BurnTensor *(*forward)(BurnTensor **x); /* takes the tensors in x */
  size_t input_count;
  CaseInput inputs[INPUT_LIMIT];
} Case;

#define CASE(id, op, step, expression, ...) \
  static BurnTensor *forward_##id(BurnTensor **x) { return expression; }
#include "autodiff_gradient_cases.def"
#undef CASE

#define STEP 1e-5 /* of the differences, for most cases */
#define INPUT(low, high, ...)                                                         \
  {                                                                                   \
    (low), (high), {                                                                  \
      (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), { __VA_ARGS__ } \
    }                                                                                 \
  }
#define CASE(id, op, step, expression, ...) \
  {#id, #op, step, forward_##id, sizeof((CaseInput[]){__VA_ARGS__}) / sizeof(CaseInput), {__VA_ARGS__}},
static const Case cases[] = {
#include "autodiff_gradient_cases.def"
};
#undef CASE
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static void check_ok(BurnStatus status, const char *what) {
  if (status != BURN_OK) fail_msg("%s: %s", what, burn_status_message(status));
}

/* The scalar of a case, and with `leaves` its gradients: sum(forward(x) * weights), with weights that differ per
 * element so that gradients which land in the wrong place are seen. `tracked` has a bit per input. */
static double evaluate(const Case *c, double values[][ELEMENT_LIMIT], unsigned tracked, BurnTensor **leaves,
                       BurnGradients **gradients, BurnStatus (*backward)(BurnTensor *root, BurnGradients **out)) {
  BurnTensor *x[INPUT_LIMIT] = {NULL};
  for (size_t i = 0; i < c->input_count; i++) {
    x[i] = burn_tensor_f64(device, values[i], c->inputs[i].shape);
    if (!(tracked & (1u << i))) continue;
    x[i] = burn_require_grad(x[i]);
    leaves[i] = burn_clone(x[i]);
  }
  burn_device_seed(device, 7); /* dropout must draw the same numbers every time */
  if (checkpointed) check_ok(burn_checkpoint_begin(device), c->name);
  BurnTensor *y = c->forward(x);
  if (checkpointed) check_ok(burn_checkpoint_end(device), c->name);
  double weights[ELEMENT_LIMIT];
  const BurnShape shape = burn_shape(y);
  assert_true(element_count(shape) <= ELEMENT_LIMIT);
  for (int64_t i = 0; i < element_count(shape); i++) weights[i] = 0.5 + spread(i, 9);
  check_ok(burn_tensor_status(y), c->name);
  y = burn_sum(burn_mul(y, burn_tensor_f64(device, weights, shape)));
  double result = 0;
  check_ok(burn_read_scalar(burn_clone(y), &result), c->name);
  if (gradients) {
    check_ok(backward(y, gradients), c->name);
  } else {
    burn_drop(y);
  }
  return result;
}

static void fill_values(const Case *c, double values[][ELEMENT_LIMIT]) {
  for (size_t i = 0; i < c->input_count; i++) {
    const CaseInput *input = &c->inputs[i];
    assert_true(element_count(input->shape) <= ELEMENT_LIMIT);
    for (int64_t k = 0; k < element_count(input->shape); k++)
      values[i][k] = input->low + (input->high - input->low) * spread(k, (int64_t)i);
  }
}

/* -- gradients of gradients ------------------------------------------------------------------- */

/* A direction: a number per element of each input. */
static double direction_at(size_t input, int64_t i) { return spread(i, 20 + (int64_t)input) - 0.5; }

static BurnTensor *direction(const Case *c, size_t input) {
  double values[ELEMENT_LIMIT];
  for (int64_t i = 0; i < element_count(c->inputs[input].shape); i++) values[i] = direction_at(input, i);
  return burn_tensor_f64(device, values, c->inputs[input].shape);
}

/* The derivative of a case along the direction, by its gradients: the sum of gradient times direction. Takes those of
 * the leaves out of `gradients`, on the device where they are. */
static BurnTensor *slope_of(const Case *c, BurnTensor **leaves, BurnGradients *gradients) {
  BurnTensor *sum = NULL;
  for (size_t i = 0; i < c->input_count; i++) {
    BurnTensor *gradient = burn_grad_remove(leaves[i], gradients);
    if (!gradient) fail_msg("%s: input %zu got no gradient", c->name, i);
    BurnTensor *along = burn_to_device(direction(c, i), burn_tensor_device(gradient));
    BurnTensor *part = burn_sum(burn_mul(gradient, along));
    sum = sum ? burn_add(sum, part) : part;
  }
  return sum;
}

/* Takes the slope: its own derivative along the direction, 0 where it depends on no input. */
static double curvature_of(const Case *c, BurnTensor *slope, BurnTensor **leaves) {
  double sum = 0;
  BurnGradients *gradients = NULL;
  if (!burn_is_tracked(slope)) {
    burn_drop(slope);
    return 0;
  }
  check_ok(burn_backward(slope, &gradients), c->name);
  for (size_t i = 0; i < c->input_count; i++) {
    BurnTensor *gradient = burn_grad_remove(leaves[i], gradients);
    if (!gradient) continue;
    double part = 0;
    BurnTensor *along = burn_to_device(direction(c, i), burn_tensor_device(gradient));
    check_ok(burn_read_scalar(burn_sum(burn_mul(gradient, along)), &part), c->name);
    sum += part;
  }
  burn_gradients_drop(gradients);
  return sum;
}

#endif
