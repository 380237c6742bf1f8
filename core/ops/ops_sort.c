/* ops_sort.c - public ops that run along an axis, sort, or reduce several axes. */
#include "ops_internal.h"

WITH_DIM(cumsum)
WITH_DIM(cumprod)
WITH_DIM(cummin)
WITH_DIM(cummax)

/* -- sorting ---------------------------------------------------------------------------------- */

/* An op with the attributes of argsort; `user` is who is asked. */
static void ordered(uint32_t op, BurnTensor *x, const char *user, int dim, bool descending, BurnTensor **out,
                    uint32_t count) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, user, dim, burn_rank(x), &axis);
  if (status != BURN_OK) {
    for (uint32_t i = 0; i < count; i++) out[i] = burn__tensor_failed(status);
    burn__tensor_take(x, user);
    return;
  }
  const BurnAttr attrs[] = {burn_attr_i64(axis), burn_attr_bool(descending),
                            burn_attr_dtype(burn__device_index_dtype(x->device))};
  burn__apply_outputs(op, &x, 1, attrs, 3, out, count);
}

static BurnTensor *argsort(BurnTensor *x, const char *user, int dim, bool descending) {
  BurnTensor *out = NULL;
  ordered(BURN_OP_argsort, x, user, dim, descending, &out, 1);
  return out;
}
BurnTensor *burn_argsort(BurnTensor *x, int dim) { return argsort(x, "argsort", dim, false); }
BurnTensor *burn_argsort_descending(BurnTensor *x, int dim) { return argsort(x, "argsort_descending", dim, true); }

/* `indices` may be NULL. */
static BurnTensor *sort(BurnTensor *x, const char *user, int dim, bool descending, BurnTensor **indices) {
  BurnTensor *out[2] = {NULL, NULL};
  ordered(BURN_OP_sort_with_indices, x, user, dim, descending, out, 2);
  give(indices, out[1]);
  return out[0];
}
BurnTensor *burn_sort(BurnTensor *x, int dim) { return sort(x, "sort", dim, false, NULL); }
BurnTensor *burn_sort_descending(BurnTensor *x, int dim) { return sort(x, "sort_descending", dim, true, NULL); }
BurnTensor *burn_sort_with_indices(BurnTensor *x, int dim, BurnTensor **indices) {
  return sort(x, "sort_with_indices", dim, false, indices);
}
BurnTensor *burn_sort_descending_with_indices(BurnTensor *x, int dim, BurnTensor **indices) {
  return sort(x, "sort_descending_with_indices", dim, true, indices);
}

static BurnStatus check_k(const BurnTensor *x, const char *user, int64_t k, int dim, int64_t *axis) {
  const BurnStatus status = burn__resolve_dim(x, user, dim, burn_rank(x), axis);
  if (status != BURN_OK) return status;
  const int64_t size = burn_dim(x, dim);
  if (k >= 1 && k <= size) return BURN_OK;
  return BURN_FAIL(OUT_OF_RANGE, "%s: k is %lld, axis %lld has %lld elements; 1 .. %lld are possible", user,
                   (long long)k, (long long)*axis, (long long)size, (long long)size);
}

BurnTensor *burn__sort_range(BurnTensor *x, int64_t axis, int64_t begin, int64_t end, bool descending,
                             BurnTensor **indices) {
  const BurnAttr attrs[] = {burn_attr_i64(axis), burn_attr_i64(begin), burn_attr_i64(end), burn_attr_bool(descending),
                            burn_attr_dtype(burn__device_index_dtype(x->device))};
  BurnTensor *out[2] = {NULL, NULL};
  burn__apply_outputs(BURN_OP_sort_range, &x, 1, attrs, 5, out, 2);
  give(indices, out[1]);
  return out[0];
}

BurnTensor *burn_topk_with_indices(BurnTensor *x, int64_t k, int dim, BurnTensor **indices) {
  int64_t axis = 0;
  const BurnStatus status = check_k(x, "topk", k, dim, &axis);
  if (status != BURN_OK) {
    give(indices, burn__tensor_failed(status));
    return fail(x, "topk", status);
  }
  return burn__sort_range(x, axis, 0, k, true, indices);
}

BurnTensor *burn_topk(BurnTensor *x, int64_t k, int dim) { return burn_topk_with_indices(x, k, dim, NULL); }

BurnTensor *burn_argtopk(BurnTensor *x, int64_t k, int dim) {
  int64_t axis = 0;
  const BurnStatus status = check_k(x, "argtopk", k, dim, &axis);
  if (status != BURN_OK) return fail(x, "argtopk", status);
  BurnTensor *places = NULL;
  burn_drop(burn__sort_range(x, axis, 0, k, true, &places));
  return places;
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

BurnTensor *burn_dot(BurnTensor *lhs, BurnTensor *rhs) {
  BurnTensor *const both[] = {lhs, rhs};
  BurnStatus status = burn__tensor_check(lhs, "dot");
  if (status == BURN_OK) status = burn__tensor_check(rhs, "dot");
  if (status == BURN_OK && (burn_rank(lhs) != 1 || burn_rank(rhs) != 1 || burn_dim(lhs, 0) != burn_dim(rhs, 0))) {
    const BurnShape a = burn_shape(lhs), b = burn_shape(rhs);
    BurnShapeText l, r;
    status = BURN_FAIL(INVALID_SHAPE, "dot: %s and %s; two tensors of rank 1 and one size expected",
                       burn__shape_text(&l, a.rank, a.dims), burn__shape_text(&r, b.rank, b.dims));
  }
  return status == BURN_OK ? burn_sum(burn_mul(lhs, rhs)) : fail_all(both, 2, "dot", status);
}
