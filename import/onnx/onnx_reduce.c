/* onnx_reduce.c - ONNX operators that reduce axes, or find what is largest. */
#include "onnx_node.h"

#include <math.h>

typedef BurnTensor *Reduce(BurnTensor *x, const int *dims, uint32_t count);

/* The axes to reduce: an input since opset 13 or 18, an attribute before; none are all, or with noop none. */
static uint32_t axes_of(OnnxNode *node, int *dims) {
  int64_t axes[ONNX_INTS];
  const uint32_t rank = onnx_input_rank(node, 0);
  size_t count = onnx_ints(node, "axes", axes);
  if (count == 0) count = onnx_input_ints(node, 1, axes);
  if (count == 0 && !onnx_int(node, "noop_with_empty_axes", 0)) {
    for (uint32_t i = 0; i < rank; i++) dims[i] = (int)i;
    return rank;
  }
  return onnx_axes(node, axes, count, rank, dims) ? (uint32_t)count : 0;
}

/* Drops axes of size 1; when none is left, ONNX has rank 0 and we have [1]. */
static BurnTensor *without(BurnTensor *x, const int *dims, uint32_t count) {
  if (count == 0) return x;
  return count == burn_rank(x) ? burn_reshape(x, BURN_SHAPE(1)) : burn_squeeze_dims(x, dims, count);
}

static void reduce(OnnxNode *node, BurnTensor *(*before)(BurnTensor *), Reduce *apply,
                   BurnTensor *(*after)(BurnTensor *)) {
  int dims[BURN_MAX_RANK];
  const uint32_t count = axes_of(node, dims);
  BurnTensor *x = onnx_input(node, 0);
  if (before) x = before(x);
  if (count > 0) x = apply(x, dims, count);
  if (after) x = after(x);
  const bool kept = onnx_int(node, "keepdims", 1), none_left = !kept && count == onnx_input_rank(node, 0);
  onnx_give_rank(node, 0, kept ? x : without(x, dims, count), none_left ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

static BurnTensor *any_dims(BurnTensor *x, const int *dims, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) x = burn_any_dim(x, dims[i]);
  return x;
}
static BurnTensor *all_dims(BurnTensor *x, const int *dims, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) x = burn_all_dim(x, dims[i]);
  return x;
}

/* The largest of no floats is -infinity in ONNX, and the smallest infinity; ours are errors. */
static BurnTensor *of_nothing(BurnTensor *x, const int *dims, uint32_t count, Reduce *apply, double otherwise) {
  BurnShape shape = burn_shape(x);
  bool none = false;
  for (uint32_t i = 0; i < count; i++) {
    none = none || shape.dims[dims[i]] == 0;
    shape.dims[dims[i]] = 1;
  }
  if (!none || burn_dtype_kind(burn_dtype(x)) != BURN_KIND_FLOAT) return apply(x, dims, count);
  BurnTensor *y = burn_full(burn_tensor_device(x), shape, burn_dtype(x), otherwise);
  burn_drop(x);
  return y;
}
static BurnTensor *max_dims(BurnTensor *x, const int *dims, uint32_t count) {
  return of_nothing(x, dims, count, burn_max_dims, -(double)INFINITY);
}
static BurnTensor *min_dims(BurnTensor *x, const int *dims, uint32_t count) {
  return of_nothing(x, dims, count, burn_min_dims, (double)INFINITY);
}
static bool is_bool(const OnnxNode *node) { return burn_dtype(node->inputs[0]) == BURN_DTYPE_BOOL; }

MAP(ReduceL1) { reduce(node, burn_abs, burn_sum_dims, NULL); }
MAP(ReduceL2) { reduce(node, burn_square, burn_sum_dims, burn_sqrt); }
MAP(ReduceLogSum) { reduce(node, NULL, burn_sum_dims, burn_log); }
MAP(ReduceLogSumExp) { reduce(node, burn_exp, burn_sum_dims, burn_log); }
MAP(ReduceMax) { reduce(node, NULL, is_bool(node) ? any_dims : max_dims, NULL); }
MAP(ReduceMean) { reduce(node, NULL, burn_mean_dims, NULL); }
MAP(ReduceMin) { reduce(node, NULL, is_bool(node) ? all_dims : min_dims, NULL); }
MAP(ReduceProd) { reduce(node, NULL, burn_prod_dims, NULL); }
MAP(ReduceSum) { reduce(node, NULL, burn_sum_dims, NULL); }
MAP(ReduceSumSquare) { reduce(node, burn_square, burn_sum_dims, NULL); }

/* The last of equal ones is the first when looked at from after. */
static void find(OnnxNode *node, BurnTensor *(*apply)(BurnTensor *, int)) {
  BurnTensor *x = onnx_input(node, 0);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), burn_rank(x));
  const int64_t size = burn_dim(x, axis);
  const bool last = onnx_int(node, "select_last_index", 0);
  if (last) x = burn_flip(x, &axis, 1);
  x = apply(x, axis);
  if (last) x = burn_scalar_sub((double)(size - 1), x);
  onnx_give(node, 0, onnx_int(node, "keepdims", 1) ? x : without(x, &axis, 1));
}
MAP(ArgMax) { find(node, burn_argmax); }
MAP(ArgMin) { find(node, burn_argmin); }

/* The k first of a descending, or ascending, stable sort; ONNX too prefers the lower index among equals. */
MAP(TopK) {
  BurnTensor *x = onnx_input(node, 0), *indices = NULL;
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -1), burn_rank(x));
  const int64_t k = onnx_input_int(node, 1, onnx_int(node, "k", 1)); /* before opset 10 an attribute */
  if (onnx_int(node, "largest", 1)) {
    x = burn_topk_with_indices(x, k, axis, &indices);
  } else {
    x = burn_narrow(burn_sort_with_indices(x, axis, &indices), axis, 0, k);
    indices = burn_narrow(indices, axis, 0, k);
  }
  onnx_give(node, 0, x);
  onnx_give(node, 1, indices);
}

static void pool_all(OnnxNode *node, Reduce *apply) {
  int dims[BURN_MAX_RANK];
  if (onnx_input_rank(node, 0) < 3) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_SHAPE, "a pool of %s",
                                     burn_shape_text(burn_shape(node->inputs[0])).text));
    return;
  }
  BurnTensor *x = onnx_input(node, 0);
  const uint32_t count = burn_rank(x) - 2;
  for (uint32_t i = 0; i < count; i++) dims[i] = (int)i + 2;
  onnx_give(node, 0, apply(x, dims, count));
}
MAP(GlobalAveragePool) { pool_all(node, burn_mean_dims); }
MAP(GlobalMaxPool) { pool_all(node, burn_max_dims); }

/* ONNX divides by 0 where a vector is 0 only in its old versions; we divide by epsilon at least. */
MAP(LpNormalization) {
  const double p = (double)onnx_int(node, "p", 2);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -1), onnx_input_rank(node, 0));
  onnx_give(node, 0, burn_vector_normalize(onnx_input(node, 0), p, axis, 1e-12));
}
