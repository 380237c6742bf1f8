/* ops_reduce.c - public reductions: of a whole tensor, along one axis, along several. */
#include "ops_internal.h"

UNARY(sum)
UNARY(mean)
UNARY(prod)
UNARY(max)
UNARY(min)
UNARY(any)
UNARY(all)

/* -- rows with one dim ------------------------------------------------------------------------ */

WITH_DIM(sum_dim)
WITH_DIM(mean_dim)
WITH_DIM(prod_dim)
WITH_DIM(max_dim)
WITH_DIM(min_dim)
WITH_DIM(any_dim)
WITH_DIM(all_dim)

static BurnTensor *arg(uint32_t op, BurnTensor *x, int dim) {
  int64_t axis = 0;
  const char *name = burn__op_name(op);
  const BurnStatus status = burn__resolve_dim(x, name, dim, burn_rank(x), &axis);
  if (status != BURN_OK) return fail(x, name, status);
  const BurnAttr attrs[] = {burn_attr_i64(axis), burn_attr_dtype(burn__device_index_dtype(x->device))};
  return burn__apply(op, &x, 1, attrs, 2);
}
BurnTensor *burn_argmax(BurnTensor *x, int dim) { return arg(BURN_OP_argmax, x, dim); }
BurnTensor *burn_argmin(BurnTensor *x, int dim) { return arg(BURN_OP_argmin, x, dim); }

/* The values are gathered from where the indices point, so that both always agree and the gradient goes there. */
BurnTensor *burn_max_dim_with_indices(BurnTensor *x, int dim, BurnTensor **indices) {
  BurnTensor *places = burn_argmax(burn_clone(x), dim);
  BurnTensor *values = burn_gather(x, dim, burn_clone(places));
  give(indices, places);
  return values;
}
BurnTensor *burn_min_dim_with_indices(BurnTensor *x, int dim, BurnTensor **indices) {
  BurnTensor *places = burn_argmin(burn_clone(x), dim);
  BurnTensor *values = burn_gather(x, dim, burn_clone(places));
  give(indices, places);
  return values;
}

/* -- several axes ----------------------------------------------------------------------------- */

/* One reduction after the other. Halves go through f32, so that they round once. */
static BurnTensor *over_dims(BurnTensor *x, const char *user, const int *dims, uint32_t count,
                             BurnTensor *(*reduce)(BurnTensor *x, int dim)) {
  BurnStatus status = burn__tensor_check(x, user);
  if (status == BURN_OK) status = check_list(dims, count, user, "dims");
  if (status != BURN_OK) return fail(x, user, status);
  const BurnDType dtype = burn_dtype(x);
  const bool half = burn__is_half(dtype);
  if (half && count > 1) x = burn_cast(x, BURN_DTYPE_F32);
  for (uint32_t i = 0; i < count; i++) x = reduce(x, dims[i]);
  return in_name_of(user, half && count > 1 ? burn_cast(x, dtype) : x);
}
#define OVER_DIMS(name)                                                        \
  BurnTensor *burn_##name##s(BurnTensor *x, const int *dims, uint32_t count) { \
    return over_dims(x, #name "s", dims, count, burn_##name);                  \
  }
OVER_DIMS(sum_dim)
OVER_DIMS(mean_dim)
OVER_DIMS(prod_dim)
OVER_DIMS(max_dim)
OVER_DIMS(min_dim)

/* Reduced axes have size 1, so that they can be dropped all at once. */
BurnTensor *burn_sum_dims_squeeze(BurnTensor *x, const int *dims, uint32_t count) {
  const char *user = "sum_dims_squeeze";
  const uint32_t rank = burn_rank(x);
  uint32_t dropped = 0;
  BurnStatus status = burn__tensor_check(x, user);
  if (status == BURN_OK) status = check_list(dims, count, user, "dims");
  for (uint32_t i = 0; status == BURN_OK && i < count; i++) {
    int64_t axis = 0;
    status = burn__resolve_dim(x, user, dims[i], rank, &axis);
    dropped |= 1u << axis;
  }
  if (status != BURN_OK) return fail(x, user, status);
  BurnShape shape = {0, {0}};
  for (uint32_t i = 0; i < rank; i++) {
    if (!(dropped & (1u << i))) shape.dims[shape.rank++] = burn_dim(x, (int)i);
  }
  if (shape.rank == 0) shape.dims[shape.rank++] = 1;
  return burn__reshape_to(burn_sum_dims(x, dims, count), shape);
}

BurnTensor *burn_max_abs(BurnTensor *x) { return burn_max(burn_abs(x)); }
BurnTensor *burn_max_abs_dim(BurnTensor *x, int dim) { return burn_max_dim(burn_abs(x), dim); }
BurnTensor *burn_max_abs_dims(BurnTensor *x, const int *dims, uint32_t count) {
  return burn_max_dims(burn_abs(x), dims, count);
}
