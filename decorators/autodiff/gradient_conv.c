/* gradient_conv.c - rules of convolution, of planes and volumes.
 *
 * A convolution and its transpose are each other's gradient for x: the weight [out, in/groups, ..] of the one is the
 * weight [in, out/groups, ..] of the other without moving an element. The gradient of the weight has an op of its own,
 * used with the roles of x and g exchanged for the transposed form. */
#include "gradient.h"

/* The ops on tensors of one rank. */
typedef struct ConvOps {
  uint32_t axes, conv, transposed, weight_backward;
} ConvOps;
static const ConvOps planes_ops = {2, BURN_OP_conv2d, BURN_OP_conv_transpose2d, BURN_OP_conv2d_weight_backward};
static const ConvOps volume_ops = {3, BURN_OP_conv3d, BURN_OP_conv_transpose3d, BURN_OP_conv3d_weight_backward};

/* The attributes that both convolutions share, under names that serve both. */
typedef struct ConvAttrs {
  const ConvOps *ops;
  BurnAttr stride, padding, dilation, groups;
} ConvAttrs;

enum { MAX_AXES = 3, MAX_RANK = MAX_AXES + 2 };
static const int64_t zeros[MAX_RANK] = {0, 0, 0, 0, 0}, ones[MAX_RANK] = {1, 1, 1, 1, 1};

static ConvAttrs conv_attrs(const GradientContext *c, const ConvOps *ops) {
  const BurnAttrs_conv2d *attrs = GRADIENT_ATTRS(conv2d, c); /* those of conv3d are the same */
  return (ConvAttrs){ops, attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
}

static ConvAttrs transposed_attrs(const GradientContext *c, const ConvOps *ops) {
  const BurnAttrs_conv_transpose2d *attrs = GRADIENT_ATTRS(conv_transpose2d, c);
  return (ConvAttrs){ops, attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
}

static ConvAttrs weight_attrs(const GradientContext *c, const ConvOps *ops) {
  const BurnAttrs_conv2d_weight_backward *attrs = GRADIENT_ATTRS(conv2d_weight_backward, c);
  return (ConvAttrs){ops, attrs->stride, attrs->padding, attrs->dilation, attrs->groups};
}

/* The bias was added to every position of its channel: g [n, c, ..] summed to [c]. */
static void gradient_bias(GradientContext *c) {
  if (!burn__gradient_needs(c, 2)) return;
  BurnBuilder *b = &c->builder;
  const BurnTensorDesc *y = &c->output_descs[0];
  int64_t planes[3] = {y->shape[0], y->shape[1], 1};
  for (uint32_t i = 2; i < y->rank; i++) planes[2] *= y->shape[i];
  BurnPrimitive *sum = burn_build_dim(b, BURN_OP_sum_dim, burn_build_reshape(b, c->grad, planes, 3), 2);
  sum = burn_build_dim(b, BURN_OP_sum_dim, sum, 0);
  burn__gradient_set(c, 2, burn_build_reshape(b, sum, &y->shape[1], 1));
}

static BurnPrimitive *convolved(GradientContext *c, BurnPrimitive *x, BurnPrimitive *weight, const ConvAttrs *conv) {
  BurnPrimitive *inputs[3] = {x, weight, NULL};
  const BurnAttr attrs[4] = {conv->stride, conv->padding, conv->dilation, conv->groups};
  return burn_build(&c->builder, conv->ops->conv, 3, inputs, 4, attrs);
}

static BurnPrimitive *gradient_weight(GradientContext *c, BurnPrimitive *x, BurnPrimitive *grad,
                                      const ConvAttrs *conv) {
  BurnPrimitive *inputs[2] = {x, grad};
  const BurnAttr attrs[5] = {burn_attr_i64s(c->input_descs[1].shape, conv->ops->axes + 2), conv->stride, conv->padding,
                             conv->dilation, conv->groups};
  return burn_build(&c->builder, conv->ops->weight_backward, 2, inputs, 5, attrs);
}

/* The gradient of the x of a convolution. What lies at the end of its axes and no window reached must be told to the
 * transposed one, to make it. */
static BurnPrimitive *transposed(GradientContext *c, BurnPrimitive *grad, BurnPrimitive *weight,
                                 const BurnTensorDesc *x, const ConvAttrs *conv) {
  const uint32_t axes = conv->ops->axes;
  int64_t padding_out[MAX_AXES];
  for (uint32_t i = 0; i < axes; i++) {
    const int64_t reached = (grad->shape[2 + i] - 1) * conv->stride.value.i64s[i] +
                            (weight->shape[2 + i] - 1) * conv->dilation.value.i64s[i] + 1 -
                            2 * conv->padding.value.i64s[i];
    padding_out[i] = x->shape[2 + i] - reached;
  }
  BurnPrimitive *inputs[3] = {grad, weight, NULL};
  const BurnAttr attrs[5] = {conv->stride, conv->padding, burn_attr_i64s(padding_out, axes), conv->dilation,
                             conv->groups};
  return burn_build(&c->builder, conv->ops->transposed, 3, inputs, 5, attrs);
}

/* inputs x, weight, bias */
static void gradient_conv(GradientContext *c, const ConvOps *ops) {
  const ConvAttrs conv = conv_attrs(c, ops);
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, transposed(c, c->grad, c->inputs[1], &c->input_descs[0], &conv));
  if (burn__gradient_needs(c, 1)) burn__gradient_set(c, 1, gradient_weight(c, c->inputs[0], c->grad, &conv));
  gradient_bias(c);
}

void burn__gradient_conv2d(GradientContext *c) { gradient_conv(c, &planes_ops); }
void burn__gradient_conv3d(GradientContext *c) { gradient_conv(c, &volume_ops); }

/* What x [n, c, ..] has first along its other axes, as much as `like` has; x itself if it has no more. */
static BurnPrimitive *first_places(GradientContext *c, BurnPrimitive *x, const BurnTensorDesc *like) {
  int64_t counts[MAX_RANK];
  bool has_more = false;
  if (!x) return x;
  for (uint32_t i = 0; i < like->rank; i++) {
    counts[i] = i < 2 ? x->shape[i] : like->shape[i];
    has_more |= x->shape[i] != counts[i];
  }
  if (!has_more) return x;
  const BurnAttr attrs[3] = {burn_attr_i64s(zeros, like->rank), burn_attr_i64s(counts, like->rank),
                             burn_attr_i64s(ones, like->rank)};
  return burn_build(&c->builder, BURN_OP_slice, 1, &x, 3, attrs);
}

/* x with zeros after its places, as many as the convolution of g has: where padding_out is not smaller than the stride
 * that is more than x has. Zeros add nothing to the gradient of the weight. */
static BurnPrimitive *with_last_places(GradientContext *c, BurnPrimitive *x, const ConvAttrs *conv) {
  const int64_t *from = c->input_descs[0].shape, *weight = c->input_descs[1].shape, *y = c->output_descs[0].shape;
  const uint32_t rank = conv->ops->axes + 2;
  int64_t shape[MAX_RANK] = {from[0], from[1]};
  bool is_same = true;
  for (uint32_t i = 2; i < rank; i++) {
    const int64_t room =
        y[i] + 2 * conv->padding.value.i64s[i - 2] - conv->dilation.value.i64s[i - 2] * (weight[i] - 1) - 1;
    shape[i] = room / conv->stride.value.i64s[i - 2] + 1;
    is_same &= shape[i] == from[i];
  }
  if (is_same) return x;
  BurnPrimitive *inputs[2] = {burn_build_full(&c->builder, shape, rank, c->input_descs[0].dtype, 0), x};
  const BurnAttr attrs[2] = {burn_attr_i64s(zeros, rank), burn_attr_i64s(ones, rank)};
  return burn_build(&c->builder, BURN_OP_slice_assign, 2, inputs, 2, attrs);
}

/* inputs x, weight, bias */
static void gradient_transposed(GradientContext *c, const ConvOps *ops) {
  const ConvAttrs conv = transposed_attrs(c, ops);
  if (burn__gradient_needs(c, 0)) {
    /* It can be longer than x when padding_out is not smaller than the stride: the first places count. */
    burn__gradient_set(c, 0, first_places(c, convolved(c, c->grad, c->inputs[1], &conv), &c->input_descs[0]));
  }
  if (burn__gradient_needs(c, 1)) {
    burn__gradient_set(c, 1, gradient_weight(c, c->grad, with_last_places(c, c->inputs[0], &conv), &conv));
  }
  gradient_bias(c);
}

void burn__gradient_conv_transpose2d(GradientContext *c) { gradient_transposed(c, &planes_ops); }
void burn__gradient_conv_transpose3d(GradientContext *c) { gradient_transposed(c, &volume_ops); }

/* inputs x, grad: bilinear, as the convolution is. The gradient v that arrives has the shape of the weight. */
static void gradient_weight_backward(GradientContext *c, const ConvOps *ops) {
  const ConvAttrs conv = weight_attrs(c, ops);
  if (burn__gradient_needs(c, 0))
    burn__gradient_set(c, 0, transposed(c, c->inputs[1], c->grad, &c->input_descs[0], &conv));
  if (burn__gradient_needs(c, 1))
    burn__gradient_set(c, 1, first_places(c, convolved(c, c->inputs[0], c->grad, &conv), &c->input_descs[1]));
}

void burn__gradient_conv2d_weight_backward(GradientContext *c) { gradient_weight_backward(c, &planes_ops); }
void burn__gradient_conv3d_weight_backward(GradientContext *c) { gradient_weight_backward(c, &volume_ops); }
