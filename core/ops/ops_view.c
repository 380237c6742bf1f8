/* ops_view.c - public ops that see the elements of a tensor in another shape or order: they resolve what users may
 * write (negative dims, -1, clamped ranges) into what ops.def wants, and build the many views from the few rows. */
#include "ops_internal.h"

#include <stdio.h>

/* -- shapes ----------------------------------------------------------------------------------- */

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

/* -- axes ------------------------------------------------------------------------------------- */

/* Resolved dims, each of them once; *mask has a bit for each. */
static BurnStatus resolve_dims(const BurnTensor *x, const char *user, const int *dims, uint32_t count, int64_t *out,
                               uint32_t *mask) {
  BurnStatus status = burn__tensor_check(x, user);
  if (status == BURN_OK) status = check_list(dims, count, user, "dims");
  *mask = 0;
  for (uint32_t i = 0; status == BURN_OK && i < count; i++) {
    int64_t axis = 0;
    status = burn__resolve_dim(x, user, dims[i], burn_rank(x), &axis);
    if (status != BURN_OK) return status;
    if (*mask & (1u << axis))
      return BURN_FAIL(INVALID_ARGUMENT, "%s: dim %d names an axis that was named before", user, dims[i]);
    *mask |= 1u << axis;
    if (out) out[i] = axis;
  }
  return status;
}

BurnTensor *burn_squeeze_dims(BurnTensor *x, const int *dims, uint32_t count) {
  if (count == 0) return burn_squeeze(x);
  uint32_t dropped = 0;
  BurnStatus status = resolve_dims(x, "squeeze_dims", dims, count, NULL, &dropped);
  const BurnShape from = burn_shape(x);
  BurnShape to = {0, {0}};
  for (uint32_t i = 0; i < from.rank; i++) {
    if (!(dropped & (1u << i))) to.dims[to.rank++] = from.dims[i];
    if (status != BURN_OK || !(dropped & (1u << i)) || from.dims[i] == 1) continue;
    status = BURN_FAIL(INVALID_SHAPE, "squeeze_dims: axis %u has size %lld; only axes of size 1 can be dropped", i,
                       (long long)from.dims[i]);
  }
  if (status == BURN_OK && to.rank == 0)
    status = BURN_FAIL(INVALID_SHAPE, "squeeze_dims: no axis would be left; there is no rank 0");
  return status == BURN_OK ? burn__reshape_to(x, to) : fail(x, "squeeze_dims", status);
}

/* The place that `dim` asks for among `rank`: the next free one, walking backwards for a negative dim; -1 if there is
 * none. */
static int64_t free_place(int dim, int64_t rank, uint32_t taken) {
  const int64_t step = dim < 0 ? -1 : 1;
  for (int64_t at = dim < 0 ? dim + rank : dim; at >= 0 && at < rank; at += step) {
    if (!(taken & (1u << at))) return at;
  }
  return -1;
}

BurnTensor *burn_unsqueeze_dims(BurnTensor *x, const int *dims, uint32_t count) {
  BurnStatus status = burn__tensor_check(x, "unsqueeze_dims");
  if (status == BURN_OK) status = check_list(dims, count, "unsqueeze_dims", "dims");
  const BurnShape from = burn_shape(x);
  if (status == BURN_OK && count > BURN_MAX_RANK - from.rank) {
    status = BURN_FAIL(INVALID_SHAPE, "unsqueeze_dims: %u axes more than %u; %u axes is the most", count, from.rank,
                       BURN_MAX_RANK);
  }
  uint32_t added = 0;
  BurnShape to = {.rank = from.rank + count, .dims = {0}};
  for (uint32_t i = 0; status == BURN_OK && i < count; i++) {
    const int64_t place = free_place(dims[i], to.rank, added);
    if (place >= 0) added |= 1u << place;
    if (place < 0)
      status = BURN_FAIL(OUT_OF_RANGE, "unsqueeze_dims: dim %d has no place among %u axes", dims[i], to.rank);
  }
  if (status != BURN_OK) return fail(x, "unsqueeze_dims", status);
  uint32_t next = 0;
  for (uint32_t i = 0; i < to.rank; i++) to.dims[i] = added & (1u << i) ? 1 : from.dims[next++];
  return burn__reshape_to(x, to);
}

BurnTensor *burn_movedims(BurnTensor *x, const int *sources, const int *destinations, uint32_t count) {
  const char *user = "movedim";
  int64_t from[BURN_MAX_RANK], to[BURN_MAX_RANK], axes[BURN_MAX_RANK];
  uint32_t moved = 0, filled = 0;
  BurnStatus status = burn__tensor_check(x, user);
  const uint32_t rank = burn_rank(x);
  if (status == BURN_OK && count > rank)
    status = BURN_FAIL(INVALID_ARGUMENT, "%s: %u dims for rank %u", user, count, rank);
  if (status == BURN_OK) status = resolve_dims(x, user, sources, count, from, &moved);
  if (status == BURN_OK) status = resolve_dims(x, user, destinations, count, to, &filled);
  if (status != BURN_OK) return fail(x, user, status);
  for (uint32_t i = 0; i < count; i++) axes[to[i]] = from[i];
  uint32_t next = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (filled & (1u << i)) continue;
    while (moved & (1u << next)) next++;
    axes[i] = next++;
  }
  const BurnAttr attr = burn_attr_i64s(axes, rank);
  return burn__apply(BURN_OP_permute, &x, 1, &attr, 1);
}
BurnTensor *burn_movedim(BurnTensor *x, int source, int destination) {
  return burn_movedims(x, &source, &destination, 1);
}

BurnTensor *burn_flip(BurnTensor *x, const int *dims, uint32_t count) {
  uint32_t flipped = 0;
  const BurnStatus status = resolve_dims(x, "flip", dims, count, NULL, &flipped);
  if (status != BURN_OK) return fail(x, "flip", status);
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t rank = burn_rank(x);
  for (uint32_t i = 0; i < rank; i++) ranges[i] = BURN_RANGE_STEP(0, BURN_END, flipped & (1u << i) ? -1 : 1);
  return burn_slice(x, ranges, rank);
}

/* -- parts ------------------------------------------------------------------------------------ */

BurnStatus burn__resolve_ranges(const BurnTensor *x, const char *user, const BurnRange *ranges, uint32_t count,
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
  const BurnStatus status = burn__resolve_ranges(x, "slice", ranges, count, &part);
  if (status != BURN_OK) return fail(x, "slice", status);
  const uint32_t rank = burn_rank(x);
  const BurnAttr attrs[] = {burn_attr_i64s(part.starts, rank), burn_attr_i64s(part.counts, rank),
                            burn_attr_i64s(part.steps, rank)};
  return burn__apply(BURN_OP_slice, &x, 1, attrs, 3);
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

BurnStatus burn__check_parts(const char *user, size_t needed, BurnTensor **parts, size_t capacity, size_t *count) {
  if (count) *count = needed;
  const size_t held = parts ? capacity : 0;
  if (needed <= held) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %zu parts come out, the list holds %zu", user, needed, held);
}

/* Takes x and cuts it into pieces of `size`; an empty axis gives none. */
static BurnStatus cut(BurnTensor *x, const char *user, int64_t size, int64_t axis, BurnTensor **parts, size_t capacity,
                      size_t *count) {
  const int64_t total = burn_dim(x, (int)axis);
  const size_t needed = total == 0 ? 0 : (size_t)((total - 1) / size + 1);
  const BurnStatus status = burn__check_parts(user, needed, parts, capacity, count);
  for (size_t i = 0; status == BURN_OK && i < needed; i++) {
    const int64_t start = (int64_t)i * size, left = total - start;
    parts[i] = along(burn_clone(x), axis, start, left < size ? left : size);
  }
  burn__tensor_take(x, user);
  return status;
}

BurnStatus burn_split(BurnTensor *x, int64_t size, int dim, BurnTensor **parts, size_t capacity, size_t *count) {
  int64_t axis = 0;
  if (count) *count = 0;
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
  if (count) *count = 0;
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

BurnTensor *burn_slice_dim(BurnTensor *x, int dim, BurnRange range) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "slice_dim", dim, burn_rank(x), &axis);
  if (status != BURN_OK) return fail(x, "slice_dim", status);
  BurnRange ranges[BURN_MAX_RANK];
  for (int64_t i = 0; i < axis; i++) ranges[i] = BURN_RANGE_ALL;
  ranges[axis] = range;
  return burn_slice(x, ranges, (uint32_t)axis + 1);
}

/* Sizes that can be taken from an axis of `total`; counts the parts. */
static BurnStatus check_sizes(const int64_t *sizes, size_t size_count, int64_t total, size_t *parts) {
  int64_t left = total;
  for (size_t i = 0; i < size_count; i++) {
    if (sizes[i] < 0 || sizes[i] > left) {
      return BURN_FAIL(INVALID_ARGUMENT, "split_with_sizes: size %zu is %lld, %lld of %lld elements are left", i,
                       (long long)sizes[i], (long long)left, (long long)total);
    }
    left -= sizes[i];
    *parts += sizes[i] > 0;
  }
  if (left == 0) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "split_with_sizes: the sizes sum to %lld, the axis has %lld elements",
                   (long long)(total - left), (long long)total);
}

BurnStatus burn_split_with_sizes(BurnTensor *x, const int64_t *sizes, size_t size_count, int dim, BurnTensor **parts,
                                 size_t capacity, size_t *count) {
  const char *user = "split_with_sizes";
  int64_t axis = 0, start = 0;
  size_t needed = 0;
  if (count) *count = 0;
  BurnStatus status = burn__resolve_dim(x, user, dim, burn_rank(x), &axis);
  if (status == BURN_OK) status = check_list(sizes, size_count, user, "sizes");
  if (status == BURN_OK) status = check_sizes(sizes, size_count, burn_dim(x, dim), &needed);
  if (status == BURN_OK) status = burn__check_parts(user, needed, parts, capacity, count);
  for (size_t i = 0, used = 0; status == BURN_OK && i < size_count; i++) {
    if (sizes[i] > 0) parts[used++] = burn_narrow(burn_clone(x), (int)axis, start, sizes[i]);
    start += sizes[i];
  }
  burn__tensor_take(x, user);
  return status;
}

BurnStatus burn_iter_dim(BurnTensor *x, int dim, BurnTensor **parts, size_t capacity, size_t *count) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "iter_dim", dim, burn_rank(x), &axis);
  if (count) *count = 0;
  if (status == BURN_OK) return burn_split(x, 1, dim, parts, capacity, count);
  burn__tensor_take(x, "iter_dim");
  return status;
}
