/* ops_sort.c - public sorting along an axis. */
#include "ops_internal.h"

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
