/* gradient_conv.c - rules of convolution.
 *
 * A convolution and its transpose are each other's gradient for x: the weight [out, in/groups, kh, kw] of the one is
 * the weight [in, out/groups, kh, kw] of the other without moving an element. The gradient of the weight has an op of
 * its own, used with the roles of x and g exchanged for the transposed form. */
#include "gradient.h"

/* The attributes that both convolutions share, under names that serve both. */
typedef struct ConvAttrs {
  BurnAttr stride, padding, dilation, groups;
} ConvAttrs;

/* The bias was added to every position of its channel: g [n, c, h, w] summed to [c]. */
static void gradient_bias(GradientContext *c) {
  if (!burn__gradient_needs(c, 2)) return;
  BurnBuilder *b = &c->builder;
  const BurnTensorDesc *y = &c->output_descs[0];
  const int64_t planes[3] = {y->shape[0], y->shape[1], y->shape[2] * y->shape[3]};
  BurnPrimitive *sum = burn_build_dim(b, BURN_OP_sum_dim, burn_build_reshape(b, c->grad, planes, 3), 2);
  sum = burn_build_dim(b, BURN_OP_sum_dim, sum, 0);
  burn__gradient_set(c, 2, burn_build_reshape(b, sum, &y->shape[1], 1));
}

static BurnPrimitive *gradient_weight(GradientContext *c, BurnPrimitive *x, BurnPrimitive *grad,
                                      const ConvAttrs *conv) {
  BurnPrimitive *inputs[2] = {x, grad};
  const BurnAttr attrs[5] = {burn_attr_i64s(c->input_descs[1].shape, 4), conv->stride, conv->padding, conv->dilation,
                             conv->groups};
  return burn_build(&c->builder, BURN_OP_conv2d_weight_backward, 2, inputs, 5, attrs);
}

/* The gradient of the x of a convolution. Rows and columns at its end that no window reached must be told to the
 * transposed one, to make them. */
static BurnPrimitive *transposed(GradientContext *c, BurnPrimitive *grad, BurnPrimitive *weight,
                                 const BurnTensorDesc *x, const ConvAttrs *conv) {
  int64_t padding_out[2];
  for (uint32_t i = 0; i < 2; i++) {
    const int64_t reached = (grad->shape[2 + i] - 1) * conv->stride.value.i64s[i] +
                            (weight->shape[2 + i] - 1) * conv->dilation.value.i64s[i] + 1 -
                            2 * conv->padding.value.i64s[i];
    padding_out[i] = x->shape[2 + i] - reached;
  }
  BurnPrimitive *inputs[3] = {grad, weight, NULL};
  const BurnAttr attrs[5] = {conv->stride, conv->padding, burn_attr_i64s(padding_out, 2), conv->dilation, conv->groups};
  return burn_build(&c->builder, BURN_OP_conv_transpose2d, 3, inputs, 5, attrs);
}

/* inputs x, weight, bias */
void burn__gradient_conv2d(GradientContext *c) {
  const BurnAttrs_conv2d *attrs = GRADIENT_ATTRS(conv2d, c);
  const ConvAttrs conv = {attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, transposed(c, c->grad, c->inputs[1], &c->input_descs[0], &conv));
  if (burn__gradient_needs(c, 1)) burn__gradient_set(c, 1, gradient_weight(c, c->inputs[0], c->grad, &conv));
  gradient_bias(c);
}

/* The first rows and columns of planes [n, c, h, w]; x itself if it has no more. */
static BurnPrimitive *first_rows(GradientContext *c, BurnPrimitive *x, const int64_t *rows_columns) {
  static const int64_t zeros[4] = {0, 0, 0, 0}, ones[4] = {1, 1, 1, 1};
  if (!x || (x->shape[2] == rows_columns[0] && x->shape[3] == rows_columns[1])) return x;
  const int64_t counts[4] = {x->shape[0], x->shape[1], rows_columns[0], rows_columns[1]};
  const BurnAttr attrs[3] = {burn_attr_i64s(zeros, 4), burn_attr_i64s(counts, 4), burn_attr_i64s(ones, 4)};
  return burn_build(&c->builder, BURN_OP_slice, 1, &x, 3, attrs);
}

/* x with zeros after its rows and columns, as many as the convolution of g has: where padding_out is not smaller than
 * the stride that is more than x has. Zeros add nothing to the gradient of the weight. */
static BurnPrimitive *with_last_rows(GradientContext *c, BurnPrimitive *x, const ConvAttrs *conv) {
  static const int64_t zeros[4] = {0, 0, 0, 0}, ones[4] = {1, 1, 1, 1};
  const int64_t *from = c->input_descs[0].shape, *weight = c->input_descs[1].shape, *y = c->output_descs[0].shape;
  int64_t shape[4] = {from[0], from[1], 0, 0};
  for (uint32_t i = 2; i < 4; i++) {
    const int64_t room =
        y[i] + 2 * conv->padding.value.i64s[i - 2] - conv->dilation.value.i64s[i - 2] * (weight[i] - 1) - 1;
    shape[i] = room / conv->stride.value.i64s[i - 2] + 1;
  }
  if (shape[2] == from[2] && shape[3] == from[3]) return x;
  BurnPrimitive *inputs[2] = {burn_build_full(&c->builder, shape, 4, c->input_descs[0].dtype, 0), x};
  const BurnAttr attrs[2] = {burn_attr_i64s(zeros, 4), burn_attr_i64s(ones, 4)};
  return burn_build(&c->builder, BURN_OP_slice_assign, 2, inputs, 2, attrs);
}

/* inputs x, weight, bias */
void burn__gradient_conv_transpose2d(GradientContext *c) {
  const BurnAttrs_conv_transpose2d *attrs = GRADIENT_ATTRS(conv_transpose2d, c);
  const ConvAttrs conv = {attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
  if (burn__gradient_needs(c, 0)) {
    BurnPrimitive *inputs[3] = {c->grad, c->inputs[1], NULL};
    const BurnAttr plain[4] = {conv.stride, conv.padding, conv.dilation, conv.groups};
    BurnPrimitive *grad = burn_build(&c->builder, BURN_OP_conv2d, 3, inputs, 4, plain);
    /* It can be longer than x when padding_out is not smaller than the stride: the first rows count. */
    burn__gradient_set(c, 0, first_rows(c, grad, &c->input_descs[0].shape[2]));
  }
  if (burn__gradient_needs(c, 1)) {
    burn__gradient_set(c, 1, gradient_weight(c, c->grad, with_last_rows(c, c->inputs[0], &conv), &conv));
  }
  gradient_bias(c);
}

/* inputs x, grad: bilinear, as the convolution is. The gradient v that arrives has the shape of the weight. */
void burn__gradient_conv2d_weight_backward(GradientContext *c) {
  const BurnAttrs_conv2d_weight_backward *attrs = GRADIENT_ATTRS(conv2d_weight_backward, c);
  const ConvAttrs conv = {attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, transposed(c, c->inputs[1], c->grad, &c->input_descs[0], &conv));
  if (burn__gradient_needs(c, 1)) {
    BurnPrimitive *inputs[3] = {c->inputs[0], c->grad, NULL};
    const BurnAttr plain[4] = {conv.stride, conv.padding, conv.dilation, conv.groups};
    burn__gradient_set(
        c, 1, first_rows(c, burn_build(&c->builder, BURN_OP_conv2d, 3, inputs, 4, plain), &c->input_descs[1].shape[2]));
  }
}
