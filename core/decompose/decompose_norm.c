/* decompose_norm.c - normalization and its gradients. */
#include "decompose_internal.h"

#include <math.h>

/* x - mean along the last axis, and sqrt(variance + epsilon). */
static BurnPrimitive *centred_rows(BurnBuilder *b, BurnPrimitive *x, double epsilon, BurnPrimitive **deviation) {
  const int64_t last = last_axis(x);
  BurnPrimitive *centred = burn_build_sub(b, x, burn_build_dim(b, BURN_OP_mean_dim, x, last));
  BurnPrimitive *variance = burn_build_dim(b, BURN_OP_mean_dim, burn_build_mul(b, centred, centred), last);
  *deviation = one(b, BURN_OP_sqrt, plus(b, variance, epsilon));
  return centred;
}

DECOMPOSE(layer_norm) {
  BurnPrimitive *x = call->inputs[0], *deviation;
  int64_t wide[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) wide[i] = i + 1 == x->rank ? x->shape[i] : 1;
  BurnPrimitive *centred = centred_rows(builder, x, BURN_ATTRS(layer_norm, call)->epsilon.value.f64, &deviation);
  BurnPrimitive *result = burn_build_div(builder, centred, deviation);
  result = burn_build_mul(builder, result, burn_build_reshape(builder, call->inputs[1], wide, x->rank));
  if (call->input_count > 2 && call->inputs[2]) {
    result = burn_build_add(builder, result, burn_build_reshape(builder, call->inputs[2], wide, x->rank));
  }
  out[0] = result;
}

/* x [.., d] summed to [d]. */
static BurnPrimitive *sum_of_rows(BurnBuilder *b, BurnPrimitive *x, const BurnTensorDesc *desc) {
  int64_t rows = 1;
  for (uint32_t i = 0; i + 1 < desc->rank; i++) rows *= desc->shape[i];
  const int64_t width = desc->shape[desc->rank - 1], folded[] = {rows, width};
  BurnPrimitive *sum = burn_build_dim(b, BURN_OP_sum_dim, burn_build_reshape(b, x, folded, 2), 0);
  return burn_build_reshape(b, sum, &width, 1);
}

/* With n the normalised x and g = grad * gamma: (g - mean(g) - n * mean(g * n)) / deviation. */
DECOMPOSE(layer_norm_backward) {
  BurnPrimitive *grad = call->inputs[0], *x = call->inputs[1], *deviation;
  const int64_t last = last_axis(x);
  int64_t wide[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) wide[i] = i + 1 == x->rank ? x->shape[i] : 1;
  BurnPrimitive *centred =
      centred_rows(builder, x, BURN_ATTRS(layer_norm_backward, call)->epsilon.value.f64, &deviation);
  BurnPrimitive *normal = burn_build_div(builder, centred, deviation);
  BurnPrimitive *g = burn_build_mul(builder, grad, burn_build_reshape(builder, call->inputs[2], wide, x->rank));
  BurnPrimitive *along = burn_build_dim(builder, BURN_OP_mean_dim, burn_build_mul(builder, g, normal), last);
  BurnPrimitive *change = burn_build_sub(builder, g, burn_build_dim(builder, BURN_OP_mean_dim, g, last));
  change = burn_build_sub(builder, change, burn_build_mul(builder, normal, along));
  out[0] = burn_build_div(builder, change, deviation);
  out[1] = sum_of_rows(builder, burn_build_mul(builder, grad, normal), call->output_descs);
  out[2] = sum_of_rows(builder, grad, call->output_descs);
}

DECOMPOSE(batch_norm) {
  BurnPrimitive *x = call->inputs[0], *by_channel[5];
  int64_t wide[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) wide[i] = i == 1 ? x->shape[1] : 1;
  for (uint32_t i = 1; i < 5; i++) by_channel[i] = burn_build_reshape(builder, call->inputs[i], wide, x->rank);
  const double epsilon = BURN_ATTRS(batch_norm, call)->epsilon.value.f64;
  BurnPrimitive *deviation = one(builder, BURN_OP_sqrt, plus(builder, by_channel[4], epsilon));
  BurnPrimitive *result = burn_build_div(builder, burn_build_sub(builder, x, by_channel[3]), deviation);
  out[0] = burn_build_add(builder, burn_build_mul(builder, result, by_channel[1]), by_channel[2]);
}

/* x [n, c, ..] as [n, c, rest]. */
static BurnPrimitive *by_channel(BurnBuilder *b, BurnPrimitive *x) {
  int64_t rest = 1;
  for (uint32_t i = 2; i < x->rank; i++) rest *= x->shape[i];
  const int64_t shape[] = {x->shape[0], x->shape[1], rest};
  return burn_build_reshape(b, x, shape, 3);
}
/* [c] as [1, c, 1], and back. */
static BurnPrimitive *across(BurnBuilder *b, BurnPrimitive *x) {
  const int64_t shape[] = {1, x ? burn_primitive_count(x) : 0, 1};
  return burn_build_reshape(b, x, shape, 3);
}
/* x [n, c, rest] -> [1, c, 1] by two steps of a reduction. */
static BurnPrimitive *over_channels(BurnBuilder *b, uint32_t op, BurnPrimitive *x) {
  return burn_build_dim(b, op, burn_build_dim(b, op, x, 2), 0);
}

DECOMPOSE(batch_norm_train) {
  const BurnTensorDesc *desc = call->output_descs;
  BurnPrimitive *x = by_channel(builder, call->inputs[0]);
  BurnPrimitive *mean = over_channels(builder, BURN_OP_mean_dim, x);
  BurnPrimitive *centred = burn_build_sub(builder, x, mean);
  BurnPrimitive *var = over_channels(builder, BURN_OP_mean_dim, burn_build_mul(builder, centred, centred));
  BurnPrimitive *deviation =
      one(builder, BURN_OP_sqrt, plus(builder, var, BURN_ATTRS(batch_norm_train, call)->epsilon.value.f64));
  BurnPrimitive *y =
      burn_build_mul(builder, burn_build_div(builder, centred, deviation), across(builder, call->inputs[1]));
  y = burn_build_add(builder, y, across(builder, call->inputs[2]));
  out[0] = burn_build_reshape(builder, y, desc->shape, desc->rank);
  out[1] = flat(builder, mean);
  out[2] = flat(builder, var);
}

/* With n the normalised x: gamma / deviation * (grad - mean(grad) - n * mean(grad * n)), means by channel. */
DECOMPOSE(batch_norm_train_backward) {
  const BurnTensorDesc *desc = call->output_descs;
  BurnPrimitive *grad = by_channel(builder, call->inputs[0]), *x = by_channel(builder, call->inputs[1]);
  BurnPrimitive *deviation =
      plus(builder, call->inputs[4], BURN_ATTRS(batch_norm_train_backward, call)->epsilon.value.f64);
  deviation = one(builder, BURN_OP_sqrt, deviation);
  BurnPrimitive *normal = burn_build_sub(builder, x, across(builder, call->inputs[3]));
  normal = burn_build_div(builder, normal, across(builder, deviation));
  BurnPrimitive *grad_normal = burn_build_mul(builder, grad, normal);
  BurnPrimitive *change = burn_build_sub(builder, grad, over_channels(builder, BURN_OP_mean_dim, grad));
  BurnPrimitive *along = over_channels(builder, BURN_OP_mean_dim, grad_normal);
  change = burn_build_sub(builder, change, burn_build_mul(builder, normal, along));
  change = burn_build_mul(builder, change, across(builder, burn_build_div(builder, call->inputs[2], deviation)));
  out[0] = burn_build_reshape(builder, change, desc->shape, desc->rank);
  out[1] = flat(builder, over_channels(builder, BURN_OP_sum_dim, grad_normal));
  out[2] = flat(builder, over_channels(builder, BURN_OP_sum_dim, grad));
}
