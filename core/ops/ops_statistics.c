/* ops_statistics.c - variances, medians, samples, covariance and cross products, composed of other public ops. */
#include "ops_internal.h"

/* -- along an axis ---------------------------------------------------------------------------- */

/* Takes x; the sum of squared deviations divided by n - less, and the mean. */
static BurnTensor *variance(BurnTensor *x, int dim, int64_t less, BurnTensor **mean, const char *user) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, user, dim, burn_rank(x), &axis);
  if (status != BURN_OK) {
    *mean = burn__tensor_failed(status);
    return fail_all(&x, 1, user, status);
  }
  const int64_t count = burn_dim(x, dim);
  const BurnDType dtype = burn_dtype(x);
  if (burn__is_half(dtype)) { /* squares of 256 and more are too large for f16 */
    BurnTensor *wide = variance(burn_cast(x, BURN_DTYPE_F32), dim, less, mean, user);
    *mean = burn_cast(*mean, dtype);
    return burn_cast(wide, dtype);
  }
  *mean = burn_mean_dim(burn_clone(x), dim);
  BurnTensor *total = burn_sum_dim(burn_square(burn_sub(x, burn_clone(*mean))), dim);
  return burn_div_scalar(total, (double)(count > less ? count - less : 0)); /* of too few elements NaN */
}

static BurnTensor *variance_and_mean(BurnTensor *x, int dim, int64_t less, BurnTensor **mean, const char *user) {
  BurnTensor *middle = NULL;
  BurnTensor *result = variance(x, dim, less, &middle, user);
  give(mean, middle);
  return result;
}
BurnTensor *burn_var_mean(BurnTensor *x, int dim, BurnTensor **mean) {
  return variance_and_mean(x, dim, 1, mean, "var_mean");
}
BurnTensor *burn_var_mean_bias(BurnTensor *x, int dim, BurnTensor **mean) {
  return variance_and_mean(x, dim, 0, mean, "var_mean_bias");
}
BurnTensor *burn_var(BurnTensor *x, int dim) { return variance_and_mean(x, dim, 1, NULL, "var"); }
BurnTensor *burn_var_bias(BurnTensor *x, int dim) { return variance_and_mean(x, dim, 0, NULL, "var_bias"); }

BurnTensor *burn_median_with_indices(BurnTensor *x, int dim, BurnTensor **indices) {
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(x, "median", dim, burn_rank(x), &axis);
  if (status == BURN_OK && burn_dim(x, dim) == 0) {
    BurnShapeText text;
    status = BURN_FAIL(INVALID_SHAPE, "median: axis %lld of %s is empty", (long long)axis,
                       burn__shape_text(&text, burn_rank(x), x->primitive->shape));
  }
  if (status != BURN_OK) {
    give(indices, burn__tensor_failed(status));
    return fail(x, "median", status);
  }
  const int64_t middle = (burn_dim(x, dim) - 1) / 2;
  return burn__sort_range(x, axis, middle, middle + 1, false, indices);
}

BurnTensor *burn_median(BurnTensor *x, int dim) { return burn_median_with_indices(x, dim, NULL); }

/* -- sampling --------------------------------------------------------------------------------- */

/* Takes weights [rows, categories]: indices [rows, samples]. A sample is how many running sums lie at or below a random
 * share of the whole, of those below the whole: so a share that is rounded up to it does not run into weights of 0 at
 * the end. */
static BurnTensor *drawn(BurnTensor *weights, int64_t samples) {
  BurnDevice *device = burn_tensor_device(weights);
  const int64_t rows = burn_dim(weights, 0), count = burn_dim(weights, 1);
  BurnTensor *share = burn_random_uniform(device, BURN_SHAPE(rows, samples, 1), burn_dtype(weights), 0, 1);
  BurnTensor *sums = burn_cumsum(weights, 1);
  BurnTensor *whole = burn_narrow(burn_clone(sums), 1, count - 1, 1);
  BurnTensor *inside = burn_unsqueeze_dim(burn_lower(burn_clone(sums), burn_clone(whole)), 1);
  share = burn_mul(share, burn_unsqueeze_dim(whole, 1));
  BurnTensor *passed = burn_bool_and(burn_lower_equal(burn_unsqueeze_dim(sums, 1), share), inside);
  return burn_squeeze_dim(burn_sum_dim(burn_cast(passed, burn__device_index_dtype(device)), 2), 2);
}

BurnTensor *burn_categorical(BurnTensor *x, int64_t samples) {
  BurnStatus status = burn__tensor_check(x, "categorical");
  if (status == BURN_OK && burn_dtype_kind(burn_dtype(x)) != BURN_KIND_FLOAT) {
    status = BURN_FAIL(INVALID_DTYPE, "categorical: weights must be float, not %s", burn_dtype_name(burn_dtype(x)));
  }
  if (status == BURN_OK && samples < 1) {
    status = BURN_FAIL(INVALID_ARGUMENT, "categorical: %lld samples are not possible", (long long)samples);
  }
  if (status == BURN_OK && burn_dim(x, -1) == 0)
    status = BURN_FAIL(INVALID_SHAPE, "categorical: there are no categories");
  if (status != BURN_OK) return fail(x, "categorical", status);
  BurnShape shape = burn_shape(x);
  const int64_t categories = shape.dims[shape.rank - 1], rows = burn_element_count(x) / categories;
  x = burn__reshape_to(unrounded(x), BURN_SHAPE(rows, categories));
  shape.dims[shape.rank - 1] = samples;
  return burn__reshape_to(drawn(x, samples), shape);
}

BurnTensor *burn_cov(BurnTensor *x, int dim, int64_t correction) {
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(x, "cov", dim, burn_rank(x), &axis);
  if (status == BURN_OK && burn_rank(x) < 2) {
    BurnShapeText text;
    status = BURN_FAIL(INVALID_SHAPE, "cov: shape %s; rank 2 or more expected: observations of variables",
                       burn__shape_text(&text, burn_rank(x), x->primitive->shape));
  }
  if (status != BURN_OK) return fail_all(&x, 1, "cov", status);
  const int64_t count = burn_dim(x, dim);
  const BurnDType dtype = burn_dtype(x);
  x = unrounded(x);
  BurnTensor *mean = burn_mean_dim(burn_clone(x), dim);
  BurnTensor *centred = burn_swap_dims(burn_sub(x, mean), (int)axis, 0);
  BurnTensor *other = burn_transpose(burn_clone(centred));
  return burn_cast(burn_div_scalar(burn_matmul(other, centred), (double)count - (double)correction), dtype);
}

/* -- cross products --------------------------------------------------------------------------- */

static BurnStatus check_vectors(const BurnTensor *x, int dim) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "cross", dim, burn_rank(x), &axis);
  if (status != BURN_OK || burn_dim(x, dim) == 3) return status;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "cross: axis %lld of %s must have size 3", (long long)axis,
                   burn__shape_text(&text, burn_rank(x), x->primitive->shape));
}

/* Takes x; element i along dim is element (i + by) % 3. */
static BurnTensor *rolled(BurnTensor *x, int dim, int by) {
  const int64_t order[] = {by % 3, (by + 1) % 3, (by + 2) % 3};
  BurnTensor *indices = burn_tensor_i64(burn_tensor_device(x), order, BURN_SHAPE(3));
  return burn_select(x, dim, indices);
}

BurnTensor *burn_cross(BurnTensor *lhs, BurnTensor *rhs, int dim) {
  BurnTensor *const both[] = {lhs, rhs};
  BurnStatus status = check_vectors(lhs, dim);
  if (status == BURN_OK) status = check_vectors(rhs, dim);
  if (status != BURN_OK) return fail_all(both, 2, "cross", status);
  const BurnDType dtype = burn_dtype(lhs);
  rhs = unrounded_as(rhs, dtype);
  lhs = unrounded(lhs);
  BurnTensor *first = burn_mul(rolled(burn_clone(lhs), dim, 1), rolled(burn_clone(rhs), dim, 2));
  return burn_cast(burn_sub(first, burn_mul(rolled(lhs, dim, 2), rolled(rhs, dim, 1))), dtype);
}
