/* decompose.c - composite ops of ops.def, written with others; families with many have a decompose_<family>.c of their
 * own.
 *
 * A decomposition borrows the inputs of its call and leaves borrowed results in out (see burn/plugin/build.h). It runs
 * on the level of the stack where the op was not known: on autodiff it is what gets differentiated, on a backend it is
 * the kernel that nobody had to write. Attributes are complete and shapes are checked when it runs. */
#include "decompose_internal.h"

/* -- creation --------------------------------------------------------------------------------- */

DECOMPOSE(eye) {
  const BurnTensorDesc *desc = call->output_descs;
  const int64_t size = desc->shape[0], column[] = {size, 1}, row[] = {1, size};
  BurnPrimitive *rows = burn_build_reshape(builder, arange(builder, size, 0), column, 2);
  BurnPrimitive *columns = burn_build_reshape(builder, arange(builder, size, 0), row, 2);
  out[0] = burn_build_cast(builder, burn_build_op2(builder, BURN_OP_equal, rows, columns), desc->dtype);
}

/* -- elementwise ------------------------------------------------------------------------------ */

DECOMPOSE(clamp) {
  const BurnAttrs_clamp *attrs = BURN_ATTRS(clamp, call);
  BurnPrimitive *x = burn_build(builder, BURN_OP_clamp_min, 1, call->inputs, 1, &attrs->min);
  out[0] = burn_build(builder, BURN_OP_clamp_max, 1, &x, 1, &attrs->max);
}

DECOMPOSE(is_finite) {
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *infinite = one(builder, BURN_OP_is_inf, x);
  BurnPrimitive *other = burn_build_op2(builder, BURN_OP_bool_or, one(builder, BURN_OP_is_nan, x), infinite);
  out[0] = one(builder, BURN_OP_bool_not, other);
}

DECOMPOSE(dropout) {
  const BurnAttrs_dropout *attrs = BURN_ATTRS(dropout, call);
  const BurnPrimitive *x = call->inputs[0];
  const double keep = 1 - attrs->prob.value.f64;
  const BurnAttr random[] = {burn_attr_i64s(x->shape, x->rank), burn_attr_dtype(x->dtype), attrs->seed, attrs->offset,
                             burn_attr_f64(keep)};
  BurnPrimitive *kept = burn_build(builder, BURN_OP_random_bernoulli, 0, NULL, 5, random);
  out[0] = scaled(builder, burn_build_mul(builder, call->inputs[0], kept), 1 / keep);
}

/* Rows minus columns of the last two axes against the diagonal: true where the element is cut away. */
static BurnPrimitive *triangle(BurnBuilder *b, const BurnOpCall *call, uint32_t cut) {
  BurnPrimitive *x = call->inputs[0];
  const int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
  int64_t column_shape[BURN_MAX_RANK], row_shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) column_shape[i] = row_shape[i] = 1;
  column_shape[x->rank - 2] = rows;
  row_shape[x->rank - 1] = columns;
  const int64_t diagonal = burn__near_diagonal(BURN_ATTRS(triu, call)->diagonal.value.i64, rows, columns);
  BurnPrimitive *row = burn_build_reshape(b, arange(b, rows, diagonal), column_shape, x->rank);
  BurnPrimitive *column = burn_build_reshape(b, arange(b, columns, 0), row_shape, x->rank);
  return masked(b, x, burn_build_op2(b, cut, column, row), 0);
}

DECOMPOSE(triu) { out[0] = triangle(builder, call, BURN_OP_lower); }
DECOMPOSE(tril) { out[0] = triangle(builder, call, BURN_OP_greater); }

/* -- reductions ------------------------------------------------------------------------------- */

#define WHOLE(name) \
  DECOMPOSE(name) { out[0] = burn_build_dim(builder, BURN_OP_##name##_dim, flat(builder, call->inputs[0]), 0); }
WHOLE(sum)
WHOLE(mean)
WHOLE(prod)
WHOLE(max)
WHOLE(min)
WHOLE(any)
WHOLE(all)

DECOMPOSE(mean_dim) {
  const int64_t dim = BURN_ATTRS(mean_dim, call)->dim.value.i64;
  BurnPrimitive *x = call->inputs[0];
  const BurnDType dtype = x->dtype;
  const bool narrow = burn_dtype_kind(dtype) == BURN_KIND_INT && dtype != BURN_DTYPE_I64;
  if (narrow) x = burn_build_cast(builder, x, BURN_DTYPE_I64); /* the sum of a few u8 does not fit into one */
  const double count = (double)call->inputs[0]->shape[dim];
  out[0] = burn_build_scalar(builder, BURN_OP_div_scalar, burn_build_dim(builder, BURN_OP_sum_dim, x, dim), count);
  if (narrow) out[0] = burn_build_cast(builder, out[0], dtype);
}

/* All are true if none is false. */
DECOMPOSE(all_dim) {
  BurnPrimitive *zero = burn_build_scalar(builder, BURN_OP_equal_scalar, call->inputs[0], 0);
  BurnPrimitive *some = burn_build_dim(builder, BURN_OP_any_dim, zero, BURN_ATTRS(all_dim, call)->dim.value.i64);
  out[0] = one(builder, BURN_OP_bool_not, some);
}

/* -- moving elements -------------------------------------------------------------------------- */

/* [.., n, ..] -> [.., 1, n, ..] -> [.., times, n, ..] -> [.., times * n, ..]; rank 8 has no room for the extra axis, so
 * all axes before and after dim are folded first. */
DECOMPOSE(repeat_dim) {
  const BurnAttrs_repeat_dim *attrs = BURN_ATTRS(repeat_dim, call);
  BurnPrimitive *x = call->inputs[0];
  const int64_t dim = attrs->dim.value.i64, times = attrs->times.value.i64;
  int64_t before = 1, rest = 1;
  for (int64_t i = 0; i < dim; i++) before *= x->shape[i];
  for (int64_t i = dim; i < (int64_t)x->rank; i++) rest *= x->shape[i];
  const int64_t folded[] = {before, 1, rest}, repeated[] = {before, times, rest};
  BurnPrimitive *wide = burn_build_expand(builder, burn_build_reshape(builder, x, folded, 3), repeated, 3);
  out[0] = burn_build_reshape(builder, wide, call->output_descs[0].shape, call->output_descs[0].rank);
}

DECOMPOSE(embedding) {
  BurnPrimitive *rows = burn_build_dim2(builder, BURN_OP_select, call->inputs[0], flat(builder, call->inputs[1]), 0);
  out[0] = burn_build_reshape(builder, rows, call->output_descs[0].shape, 3);
}

/* -- softmax and losses ----------------------------------------------------------------------- */

DECOMPOSE(cross_entropy) {
  BurnPrimitive *logits = call->inputs[0];
  const int64_t column[] = {logits->shape[0], 1};
  BurnPrimitive *targets = burn_build_reshape(builder, call->inputs[1], column, 2);
  BurnPrimitive *all = burn_build_dim(builder, BURN_OP_log_softmax, logits, 1);
  out[0] =
      one(builder, BURN_OP_neg, one(builder, BURN_OP_mean, burn_build_dim2(builder, BURN_OP_gather, all, targets, 1)));
}

DECOMPOSE(cross_entropy_backward) {
  BurnPrimitive *logits = call->inputs[1];
  const int64_t items = logits->shape[0], column[] = {items, 1}, one_each[] = {1, 1};
  BurnPrimitive *targets = burn_build_reshape(builder, call->inputs[2], column, 2);
  BurnPrimitive *share = burn_build_dim(builder, BURN_OP_softmax, logits, 1);
  BurnPrimitive *less_1 = burn_build_full(builder, column, 2, logits->dtype, -1);
  share = burn_build_dim3(builder, BURN_OP_scatter, share, targets, less_1, 1);
  BurnPrimitive *grad = burn_build_scalar(builder, BURN_OP_div_scalar, call->inputs[0], (double)items);
  out[0] = burn_build_mul(builder, share, burn_build_reshape(builder, grad, one_each, 2));
}

/* -- layers ----------------------------------------------------------------------------------- */

DECOMPOSE(max_pool2d) {
  BurnPrimitive *results[2];
  burn_build_call(builder, BURN_OP_max_pool2d_with_indices, 1, call->inputs, call->attr_count, call->attrs, 2, results);
  out[0] = results[0];
}

DECOMPOSE(max_pool2d_backward) {
  BurnPrimitive *grad = call->inputs[0];
  const int64_t *shape = call->output_descs[0].shape;
  const int64_t planes[] = {shape[0], shape[1], shape[2] * shape[3]};
  const int64_t windows[] = {grad->shape[0], grad->shape[1], grad->shape[2] * grad->shape[3]};
  BurnPrimitive *zeros = burn_build_full(builder, planes, 3, grad->dtype, 0);
  BurnPrimitive *indices = burn_build_reshape(builder, call->inputs[1], windows, 3);
  BurnPrimitive *values = burn_build_reshape(builder, grad, windows, 3);
  out[0] = burn_build_reshape(builder, burn_build_dim3(builder, BURN_OP_scatter, zeros, indices, values, 2), shape, 4);
}

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

/* -- optimizer steps -------------------------------------------------------------------------- */

DECOMPOSE(adam_step) {
  const BurnAttrs_adam_step *attrs = BURN_ATTRS(adam_step, call);
  const double beta_1 = attrs->beta_1.value.f64, beta_2 = attrs->beta_2.value.f64;
  BurnPrimitive *param = call->inputs[0], *grad = call->inputs[1];
  if (attrs->penalty.value.f64 != 0)
    grad = burn_build_add(builder, grad, scaled(builder, param, attrs->penalty.value.f64));
  BurnPrimitive *squared = burn_build_mul(builder, grad, grad);
  out[1] = burn_build_add(builder, scaled(builder, call->inputs[2], beta_1), scaled(builder, grad, 1 - beta_1));
  out[2] = burn_build_add(builder, scaled(builder, call->inputs[3], beta_2), scaled(builder, squared, 1 - beta_2));
  BurnPrimitive *divisor = plus(builder, one(builder, BURN_OP_sqrt, out[2]), attrs->epsilon.value.f64);
  BurnPrimitive *change = scaled(builder, burn_build_div(builder, out[1], divisor), attrs->step_size.value.f64);
  out[0] = burn_build_sub(builder, scaled(builder, param, attrs->decay.value.f64), change);
}

DECOMPOSE(sgd_step) {
  const BurnAttrs_sgd_step *attrs = BURN_ATTRS(sgd_step, call);
  const double momentum = attrs->momentum.value.f64, penalty = attrs->penalty.value.f64;
  BurnPrimitive *param = call->inputs[0], *grad = call->inputs[1], *velocity = call->inputs[2];
  if (penalty != 0) grad = burn_build_add(builder, grad, scaled(builder, param, penalty));
  out[1] = grad;
  if (velocity) {
    out[1] = burn_build_add(builder, scaled(builder, grad, 1 - attrs->dampening.value.f64),
                            scaled(builder, velocity, momentum));
  }
  BurnPrimitive *way =
      attrs->nesterov.value.i64 ? burn_build_add(builder, scaled(builder, out[1], momentum), grad) : out[1];
  out[0] = burn_build_sub(builder, param, scaled(builder, way, attrs->step_size.value.f64));
}
