/* ops_shape.c - public ops with a dim or a shape: resolves what users may write (negative dims, -1, clamped ranges)
 * into what ops.def wants, and builds the many views from the few rows. */
#include "ops_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* -- by index --------------------------------------------------------------------------------- */

static BurnTensor *indexed(uint32_t op, int dim, BurnTensor *const *inputs, uint32_t input_count) {
  int64_t axis = 0;
  const char *name = burn__op_name(op);
  const BurnStatus status = burn__resolve_dim(inputs[0], name, dim, burn_rank(inputs[0]), &axis);
  if (status == BURN_OK) {
    const BurnAttr attr = burn_attr_i64(axis);
    return burn__apply(op, inputs, input_count, &attr, 1);
  }
  burn__tensor_take_all(inputs, input_count, name);
  return burn__tensor_failed(status);
}

BurnTensor *burn_select(BurnTensor *x, int dim, BurnTensor *indices) {
  return indexed(BURN_OP_select, dim, (BurnTensor *const[]){x, indices}, 2);
}
BurnTensor *burn_gather(BurnTensor *x, int dim, BurnTensor *indices) {
  return indexed(BURN_OP_gather, dim, (BurnTensor *const[]){x, indices}, 2);
}
BurnTensor *burn_select_add(BurnTensor *x, int dim, BurnTensor *indices, BurnTensor *values) {
  return burn_select_assign(x, dim, indices, values, BURN_UPDATE_ADD);
}
BurnTensor *burn_scatter_add(BurnTensor *x, int dim, BurnTensor *indices, BurnTensor *values) {
  return burn_scatter(x, dim, indices, values, BURN_UPDATE_ADD);
}

/* -- views ------------------------------------------------------------------------------------ */

static BurnTensor *view(uint32_t op, BurnTensor *x, const int64_t *values, uint32_t count) {
  const BurnAttr attr = burn_attr_i64s(values, count);
  return burn__apply(op, &x, 1, &attr, 1);
}

BurnTensor *burn__reshape_to(BurnTensor *x, BurnShape shape) {
  return view(BURN_OP_reshape, x, shape.dims, shape.rank);
}

static BURN__COLD BurnTensor *no_reshape(BurnTensor *x, BurnShape shape, const char *why) {
  const BurnShape from = burn_shape(x);
  BurnShapeText text, target;
  return fail(x, "reshape",
              BURN_FAIL(INVALID_SHAPE, "reshape: %s to %s: %s", burn__shape_text(&text, from.rank, from.dims),
                        burn__shape_text(&target, shape.rank, shape.dims), why));
}

BurnTensor *burn_reshape(BurnTensor *x, BurnShape shape) {
  const BurnStatus status = burn__tensor_check(x, "reshape");
  if (status != BURN_OK) return fail(x, "reshape", status);
  const BurnShape from = burn_shape(x);
  const BurnShape given = shape;
  int64_t known = 1, inferred = -1;
  for (uint32_t i = 0; i < shape.rank && i < BURN_MAX_RANK; i++) {
    if (shape.dims[i] == 0 && i < from.rank) shape.dims[i] = from.dims[i];
    if (shape.dims[i] == -1 && inferred < 0) {
      inferred = i;
    } else if (shape.dims[i] < 0) {
      return no_reshape(x, given, "only one -1 and no other negative size is allowed");
    } else if (shape.dims[i] > 0 && known > INT64_MAX / shape.dims[i]) {
      return no_reshape(x, given, "too many elements");
    } else {
      known *= shape.dims[i];
    }
  }
  if (inferred >= 0) {
    const int64_t count = burn_element_count(x);
    if (known == 0 || count % known != 0) {
      char why[96];
      snprintf(why, sizeof why, "%lld elements cannot be divided by %lld", (long long)count, (long long)known);
      return no_reshape(x, given, why);
    }
    shape.dims[inferred] = count / known;
  }
  return view(BURN_OP_reshape, x, shape.dims, shape.rank);
}

/* Takes x; every axis in `keep_mask` stays, the others (size 1) go. */
static BurnTensor *keep_axes(BurnTensor *x, uint32_t keep_mask) {
  const BurnShape from = burn_shape(x);
  BurnShape to = {0, {0}};
  for (uint32_t i = 0; i < from.rank; i++) {
    if (keep_mask & (1u << i)) to.dims[to.rank++] = from.dims[i];
  }
  return view(BURN_OP_reshape, x, to.dims, to.rank);
}

BurnTensor *burn_flatten(BurnTensor *x, int start, int end) {
  int64_t first = 0, last = 0;
  const uint32_t rank = burn_rank(x);
  BurnStatus status = burn__resolve_dim(x, "flatten", start, rank, &first);
  if (status == BURN_OK) status = burn__resolve_dim(x, "flatten", end, rank, &last);
  if (status == BURN_OK && first > last)
    status = BURN_FAIL(INVALID_ARGUMENT, "flatten: start %d is after end %d", start, end);
  if (status != BURN_OK) return fail(x, "flatten", status);
  const BurnShape from = burn_shape(x);
  BurnShape to = {0, {0}};
  for (int64_t i = 0; i < (int64_t)from.rank; i++) {
    if (i > first && i <= last) {
      to.dims[to.rank - 1] *= from.dims[i];
    } else {
      to.dims[to.rank++] = from.dims[i];
    }
  }
  return view(BURN_OP_reshape, x, to.dims, to.rank);
}

BurnTensor *burn_squeeze(BurnTensor *x) {
  const BurnStatus status = burn__tensor_check(x, "squeeze");
  if (status != BURN_OK) return fail(x, "squeeze", status);
  uint32_t keep = 0;
  for (uint32_t i = 0; i < burn_rank(x); i++) keep |= burn_dim(x, (int)i) != 1 ? 1u << i : 0;
  return keep_axes(x, keep ? keep : 1u);
}

BurnTensor *burn_squeeze_dim(BurnTensor *x, int dim) {
  int64_t axis = 0;
  const uint32_t rank = burn_rank(x);
  BurnStatus status = burn__resolve_dim(x, "squeeze_dim", dim, rank, &axis);
  if (status == BURN_OK && (burn_dim(x, dim) != 1 || rank == 1)) {
    BurnShapeText text;
    status = BURN_FAIL(INVALID_SHAPE, "squeeze_dim: axis %lld of %s cannot be dropped: %s", (long long)axis,
                       burn__shape_text(&text, rank, x->primitive->shape),
                       rank == 1 ? "there is no rank 0" : "its size is not 1");
  }
  if (status != BURN_OK) return fail(x, "squeeze_dim", status);
  return keep_axes(x, ((1u << rank) - 1u) & ~(1u << axis));
}

/* Takes x; a new axis of size 1 before axis `at`. */
static BurnTensor *insert_axis(BurnTensor *x, int64_t at) {
  const BurnShape from = burn_shape(x);
  BurnShape to = {0, {0}};
  for (int64_t i = 0; i <= (int64_t)from.rank; i++) {
    if (i == at) to.dims[to.rank++] = 1;
    if (i < (int64_t)from.rank) to.dims[to.rank++] = from.dims[i];
  }
  return view(BURN_OP_reshape, x, to.dims, to.rank);
}

BurnTensor *burn_unsqueeze_dim(BurnTensor *x, int dim) {
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(x, "unsqueeze_dim", dim, burn_rank(x) + 1, &axis);
  if (status == BURN_OK && burn_rank(x) == BURN_MAX_RANK) {
    status =
        BURN_FAIL(INVALID_SHAPE, "unsqueeze_dim: the tensor has rank %u already, the most there is", BURN_MAX_RANK);
  }
  return status == BURN_OK ? insert_axis(x, axis) : fail(x, "unsqueeze_dim", status);
}

BurnTensor *burn_unsqueeze(BurnTensor *x, uint32_t rank) {
  BurnStatus status = burn__tensor_check(x, "unsqueeze");
  if (status == BURN_OK && (rank < burn_rank(x) || rank > BURN_MAX_RANK)) {
    status = BURN_FAIL(INVALID_ARGUMENT, "unsqueeze: rank %u is not in %u..%u", rank, burn_rank(x), BURN_MAX_RANK);
  }
  if (status != BURN_OK) return fail(x, "unsqueeze", status);
  const BurnShape from = burn_shape(x);
  BurnShape to = {.rank = rank, .dims = {0}};
  for (uint32_t i = 0; i < rank; i++) to.dims[i] = i < rank - from.rank ? 1 : from.dims[i - (rank - from.rank)];
  return view(BURN_OP_reshape, x, to.dims, to.rank);
}

BurnTensor *burn_swap_dims(BurnTensor *x, int dim1, int dim2) {
  int64_t first = 0, second = 0, axes[BURN_MAX_RANK];
  const uint32_t rank = burn_rank(x);
  BurnStatus status = burn__resolve_dim(x, "swap_dims", dim1, rank, &first);
  if (status == BURN_OK) status = burn__resolve_dim(x, "swap_dims", dim2, rank, &second);
  if (status != BURN_OK) return fail(x, "swap_dims", status);
  if (first == second) return x;
  for (uint32_t i = 0; i < rank; i++) axes[i] = i;
  axes[first] = second;
  axes[second] = first;
  return view(BURN_OP_permute, x, axes, rank);
}

BurnTensor *burn_transpose(BurnTensor *x) {
  const BurnStatus status = burn__tensor_check(x, "transpose");
  return status == BURN_OK ? in_name_of("transpose", burn_swap_dims(x, -2, -1)) : fail(x, "transpose", status);
}

BurnTensor *burn_permute(BurnTensor *x, const int *axes) {
  BurnStatus status = burn__tensor_check(x, "permute");
  const uint32_t rank = burn_rank(x);
  int64_t resolved[BURN_MAX_RANK];
  if (status == BURN_OK) status = check_list(axes, rank, "permute", "axes");
  for (uint32_t i = 0; status == BURN_OK && i < rank; i++)
    status = burn__resolve_dim(x, "permute", axes[i], rank, &resolved[i]);
  return status == BURN_OK ? view(BURN_OP_permute, x, resolved, rank) : fail(x, "permute", status);
}

BurnTensor *burn_expand(BurnTensor *x, BurnShape shape) {
  const BurnStatus status = burn__tensor_check(x, "expand");
  if (status != BURN_OK) return fail(x, "expand", status);
  const BurnShape from = burn_shape(x);
  for (uint32_t i = 0; i < shape.rank && i < BURN_MAX_RANK && shape.rank >= from.rank; i++) {
    const uint32_t added = shape.rank - from.rank;
    if (shape.dims[i] == -1 && i >= added) shape.dims[i] = from.dims[i - added];
  }
  return view(BURN_OP_expand, x, shape.dims, shape.rank);
}

/* -- parts ------------------------------------------------------------------------------------ */

typedef struct Part {
  int64_t starts[BURN_MAX_RANK], counts[BURN_MAX_RANK], steps[BURN_MAX_RANK];
} Part;

/* What the ranges of a user mean for x. */
static BurnStatus resolve_ranges(const BurnTensor *x, const char *user, const BurnRange *ranges, uint32_t count,
                                 Part *part) {
  BurnStatus status = burn__tensor_check(x, user);
  if (status == BURN_OK) status = check_list(ranges, count, user, "ranges");
  if (status != BURN_OK) return status;
  const BurnShape shape = burn_shape(x);
  if (count > shape.rank) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %u ranges for shape %s", user, count,
                     burn__shape_text(&text, shape.rank, shape.dims));
  }
  for (uint32_t i = 0; i < shape.rank; i++) {
    const BurnRange range = i < count ? ranges[i] : BURN_RANGE_ALL;
    if (range.step == 0 || range.step == INT64_MIN) {
      return BURN_FAIL(INVALID_ARGUMENT, "%s: the step of range %u is %lld", user, i, (long long)range.step);
    }
    const int64_t start = clamp_bound(range.start, shape.dims[i]), end = clamp_bound(range.end, shape.dims[i]);
    const int64_t width = end > start ? end - start : 0, stride = range.step < 0 ? -range.step : range.step;
    part->counts[i] = width / stride + (width % stride != 0);
    part->steps[i] =
        part->counts[i] > 1 ? range.step : 1; /* one that is never taken may be too large to compute with */
    part->starts[i] = range.step > 0 || width == 0 ? (width == 0 ? 0 : start) : end - 1;
  }
  return BURN_OK;
}

BurnTensor *burn_slice(BurnTensor *x, const BurnRange *ranges, uint32_t count) {
  Part part;
  const BurnStatus status = resolve_ranges(x, "slice", ranges, count, &part);
  if (status != BURN_OK) return fail(x, "slice", status);
  const uint32_t rank = burn_rank(x);
  const BurnAttr attrs[] = {burn_attr_i64s(part.starts, rank), burn_attr_i64s(part.counts, rank),
                            burn_attr_i64s(part.steps, rank)};
  return burn__apply(BURN_OP_slice, &x, 1, attrs, 3);
}

static bool is_empty(const Part *part, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++)
    if (part->counts[i] == 0) return true;
  return false;
}

static BurnStatus check_part_shape(const BurnTensor *x, const Part *part, const BurnTensor *values) {
  const BurnShape shape = burn_shape(values);
  bool equal = shape.rank == burn_rank(x);
  for (uint32_t i = 0; equal && i < shape.rank; i++) equal = shape.dims[i] == part->counts[i];
  if (equal) return BURN_OK;
  BurnShapeText given, expected;
  return BURN_FAIL(INVALID_SHAPE, "slice_assign: the ranges cover %s, values have shape %s",
                   burn__shape_text(&expected, burn_rank(x), part->counts),
                   burn__shape_text(&given, shape.rank, shape.dims));
}

BurnTensor *burn_slice_assign(BurnTensor *x, const BurnRange *ranges, uint32_t count, BurnTensor *values) {
  Part part;
  BurnStatus status = resolve_ranges(x, "slice_assign", ranges, count, &part);
  if (status == BURN_OK) status = burn__tensor_check(values, "slice_assign");
  if (status == BURN_OK && is_empty(&part, burn_rank(x))) {
    burn__tensor_take(values, "slice_assign");
    return x;
  }
  if (status == BURN_OK) status = check_part_shape(x, &part, values);
  if (status != BURN_OK) {
    burn__tensor_take_all((BurnTensor *const[]){x, values}, 2, "slice_assign");
    return burn__tensor_failed(status);
  }
  const uint32_t rank = burn_rank(x);
  const BurnAttr attrs[] = {burn_attr_i64s(part.starts, rank), burn_attr_i64s(part.steps, rank)};
  return burn__apply(BURN_OP_slice_assign, (BurnTensor *const[]){x, values}, 2, attrs, 2);
}

/* Takes x: elements start .. start + length - 1 of an axis, which lie within it. */
static BurnTensor *along(BurnTensor *x, int64_t axis, int64_t start, int64_t length) {
  BurnRange ranges[BURN_MAX_RANK];
  for (uint32_t i = 0; i < BURN_MAX_RANK; i++) ranges[i] = BURN_RANGE_ALL;
  ranges[axis] = BURN_RANGE(start, start + length);
  return burn_slice(x, ranges, (uint32_t)axis + 1);
}

BurnTensor *burn_narrow(BurnTensor *x, int dim, int64_t start, int64_t length) {
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(x, "narrow", dim, burn_rank(x), &axis);
  if (status == BURN_OK &&
      (start < 0 || length < 1 || length > burn_dim(x, dim) || start > burn_dim(x, dim) - length)) {
    status = BURN_FAIL(OUT_OF_RANGE, "narrow: %lld elements from %lld are not within axis %lld of size %lld",
                       (long long)length, (long long)start, (long long)axis, (long long)burn_dim(x, dim));
  }
  return status == BURN_OK ? along(x, axis, start, length) : fail(x, "narrow", status);
}

BurnTensor *burn_select_dim(BurnTensor *x, int dim, int64_t index) {
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(x, "select_dim", dim, burn_rank(x), &axis);
  const int64_t size = status == BURN_OK ? burn_dim(x, dim) : 0;
  const int64_t at = index < 0 ? index + size : index;
  if (status == BURN_OK && (at < 0 || at >= size)) {
    status = BURN_FAIL(OUT_OF_RANGE, "select_dim: index %lld is outside axis %lld of size %lld", (long long)index,
                       (long long)axis, (long long)size);
  }
  return status == BURN_OK ? burn_squeeze_dim(along(x, axis, at, 1), (int)axis) : fail(x, "select_dim", status);
}

/* Takes x and cuts it into pieces of `size`; an empty axis gives none. */
static BurnStatus cut(BurnTensor *x, const char *user, int64_t size, int64_t axis, BurnTensor **parts, size_t capacity,
                      size_t *count) {
  const int64_t total = burn_dim(x, (int)axis);
  const size_t needed = total == 0 ? 0 : (size_t)((total - 1) / size + 1);
  *count = needed;
  BurnStatus status = BURN_OK;
  if (needed > capacity)
    status = BURN_FAIL(INVALID_ARGUMENT, "%s: %zu parts come out, there is room for %zu", user, needed, capacity);
  for (size_t i = 0; status == BURN_OK && i < needed; i++) {
    const int64_t start = (int64_t)i * size, left = total - start;
    parts[i] = along(burn_clone(x), axis, start, left < size ? left : size);
  }
  burn__tensor_take(x, user);
  return status;
}

BurnStatus burn_split(BurnTensor *x, int64_t size, int dim, BurnTensor **parts, size_t capacity, size_t *count) {
  int64_t axis = 0;
  *count = 0;
  BurnStatus status = burn__resolve_dim(x, "split", dim, burn_rank(x), &axis);
  const bool empty = status == BURN_OK && burn_dim(x, dim) == 0;
  if (status == BURN_OK && size < (empty ? 0 : 1)) {
    status = BURN_FAIL(INVALID_ARGUMENT, "split: pieces of size %lld are not possible", (long long)size);
  }
  if (status == BURN_OK) return cut(x, "split", size, axis, parts, capacity, count);
  burn__tensor_take(x, "split");
  return status;
}

BurnStatus burn_chunk(BurnTensor *x, int64_t chunks, int dim, BurnTensor **parts, size_t capacity, size_t *count) {
  int64_t axis = 0;
  *count = 0;
  BurnStatus status = burn__resolve_dim(x, "chunk", dim, burn_rank(x), &axis);
  if (status == BURN_OK && chunks < 1)
    status = BURN_FAIL(INVALID_ARGUMENT, "chunk: %lld chunks are not possible", (long long)chunks);
  if (status != BURN_OK) {
    burn__tensor_take(x, "chunk");
    return status;
  }
  const int64_t total = burn_dim(x, dim), size = total > 0 ? (total - 1) / chunks + 1 : 1;
  return cut(x, "chunk", size, axis, parts, capacity, count);
}

/* -- joins ------------------------------------------------------------------------------------ */

BurnTensor *burn_cat(BurnTensor *const *tensors, size_t count, int dim) {
  if (!tensors || count == 0 || count > UINT32_MAX) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_ARGUMENT, "cat: %zu tensors given%s", count, tensors || count == 0 ? "" : " as NULL"));
  }
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(tensors[0], "cat", dim, burn_rank(tensors[0]), &axis);
  for (size_t i = 1; status == BURN_OK && i < count; i++) status = burn__tensor_check(tensors[i], "cat");
  if (status != BURN_OK) return fail_all(tensors, count, "cat", status);
  const BurnAttr attr = burn_attr_i64(axis);
  return burn__apply(BURN_OP_cat, tensors, (uint32_t)count, &attr, 1);
}

BurnTensor *burn_stack(BurnTensor *const *tensors, size_t count, int dim) {
  const BurnStatus listed = check_list(tensors, count, "stack", "tensors");
  if (listed != BURN_OK) return burn__tensor_failed(listed);
  BurnTensor **wide = count > 0 ? malloc(count * sizeof *wide) : NULL;
  if (!wide) {
    return fail_all(tensors, count, "stack",
                    count ? BURN_FAIL(OUT_OF_MEMORY, "stack: no memory for %zu tensors", count)
                          : BURN_FAIL(INVALID_ARGUMENT, "stack: no tensors given"));
  }
  for (size_t i = 1; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      if (tensors[j] != tensors[i]) continue;
      free(wide);
      return fail_all(tensors, count, "stack",
                      BURN_FAIL(TENSOR_TAKEN, "stack: the same tensor is given twice; give a burn_clone of it"));
    }
  }
  const int axis = dim < 0 ? dim + (int)burn_rank(tensors[0]) + 1 : dim;
  bool fine = true; /* else the failure is that of an input */
  for (size_t i = 0; i < count; i++) fine = fine && tensors[i] && burn_tensor_status(tensors[i]) == BURN_OK;
  for (size_t i = 0; i < count; i++) wide[i] = burn_unsqueeze_dim(tensors[i], dim);
  BurnTensor *result = burn_cat(wide, count, axis);
  free(wide);
  return fine ? in_name_of("stack", result) : result;
}

BurnTensor *burn_repeat_dim(BurnTensor *x, int dim, int64_t times) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "repeat_dim", dim, burn_rank(x), &axis);
  if (status != BURN_OK) return fail(x, "repeat_dim", status);
  const BurnAttr attrs[] = {burn_attr_i64(axis), burn_attr_i64(times)};
  return burn__apply(BURN_OP_repeat_dim, &x, 1, attrs, 2);
}

BurnTensor *burn_repeat(BurnTensor *x, const int64_t *times) {
  BurnStatus status = burn__tensor_check(x, "repeat");
  const uint32_t rank = burn_rank(x);
  if (status == BURN_OK) status = check_list(times, rank, "repeat", "times");
  if (status != BURN_OK) return fail(x, "repeat", status);
  for (uint32_t i = 0; i < rank; i++) {
    if (times[i] != 1) x = burn_repeat_dim(x, (int)i, times[i]);
  }
  return in_name_of("repeat", x);
}
