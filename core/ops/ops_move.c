/* ops_move.c - public ops that create by place, move elements and axes, and read or write by index and mask: composed
 * of the few rows of ops.def, with what users may write resolved first. */
#include "ops_internal.h"

#include <stdlib.h>

/* -- create ----------------------------------------------------------------------------------- */

/* Takes x: a new tensor of its shape and dtype. */
#define LIKE(name, suffix, parameters, ...)                                          \
  BurnTensor *burn_##name##_like##suffix parameters {                                \
    const BurnStatus status = burn__tensor_check(x, #name "_like");                  \
    if (status != BURN_OK) return fail(x, #name "_like", status);                    \
    BurnTensor *result = burn_##name##suffix(x->device, burn_shape(x), __VA_ARGS__); \
    burn__tensor_take(x, #name "_like");                                             \
    return result;                                                                   \
  }
LIKE(empty, , (BurnTensor * x), burn_dtype(x))
LIKE(random_uniform, , (BurnTensor * x, double low, double high), burn_dtype(x), low, high)
LIKE(random_uniform, _i64, (BurnTensor * x, int64_t low, int64_t high), burn_dtype(x), low, high)
LIKE(random_normal, , (BurnTensor * x, double mean, double std), burn_dtype(x), mean, std)
LIKE(random_bernoulli, , (BurnTensor * x, double prob), burn_dtype(x), prob)

/* 0 .. size-1 along axis `axis` of `rank` axes; the others have size 1. */
static BurnTensor *places(BurnDevice *device, int64_t size, uint32_t axis, uint32_t rank) {
  BurnShape shape = {rank, {0}};
  for (uint32_t i = 0; i < rank; i++) shape.dims[i] = i == axis ? size : 1;
  return burn__reshape_to(burn__places(device, size), shape);
}

BurnTensor *burn_cartesian_grid(BurnDevice *device, BurnShape shape) {
  if (shape.rank < 1 || shape.rank >= BURN_MAX_RANK) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_SHAPE, "cartesian_grid: rank %u is not in 1..%u", shape.rank, BURN_MAX_RANK - 1));
  }
  BurnTensor *axes[BURN_MAX_RANK];
  for (uint32_t i = 0; i < shape.rank; i++) axes[i] = burn_expand(places(device, shape.dims[i], i, shape.rank), shape);
  return burn_stack(axes, shape.rank, -1);
}

/* `compare` of column and row + offset. */
static BurnTensor *place_mask(BurnDevice *device, BurnShape shape, int64_t offset, const char *user,
                              BurnTensor *(*compare)(BurnTensor *, BurnTensor *)) {
  const uint32_t rank = shape.rank;
  if (rank < 2 || rank > BURN_MAX_RANK) {
    return burn__tensor_failed(BURN_FAIL(INVALID_SHAPE, "%s: rank %u is not in 2..%u", user, rank, BURN_MAX_RANK));
  }
  offset = burn__near_diagonal(offset, shape.dims[rank - 2], shape.dims[rank - 1]);
  BurnTensor *rows = burn_add_scalar(places(device, shape.dims[rank - 2], rank - 2, rank), (double)offset);
  return burn_expand(compare(places(device, shape.dims[rank - 1], rank - 1, rank), rows), shape);
}
BurnTensor *burn_triu_mask(BurnDevice *device, BurnShape shape, int64_t offset) {
  return place_mask(device, shape, offset, "triu_mask", burn_lower);
}
BurnTensor *burn_tril_mask(BurnDevice *device, BurnShape shape, int64_t offset) {
  return place_mask(device, shape, offset, "tril_mask", burn_greater);
}
BurnTensor *burn_diag_mask(BurnDevice *device, BurnShape shape, int64_t offset) {
  return place_mask(device, shape, offset, "diag_mask", burn_not_equal);
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

BurnTensor *burn_roll_dim(BurnTensor *x, int64_t shift, int dim) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "roll", dim, burn_rank(x), &axis);
  if (status != BURN_OK) return fail(x, "roll", status);
  const int64_t size = burn_dim(x, dim);
  const int64_t by = size > 0 ? (shift % size + size) % size : 0;
  if (by == 0) return x;
  BurnTensor *front = burn_narrow(burn_clone(x), (int)axis, by, size - by);
  BurnTensor *const parts[] = {front, burn_narrow(x, (int)axis, 0, by)};
  return burn_cat(parts, 2, (int)axis);
}

BurnTensor *burn_roll(BurnTensor *x, const int64_t *shifts, const int *dims, uint32_t count) {
  BurnStatus status = burn__tensor_check(x, "roll");
  if (status == BURN_OK) status = check_list(shifts, count, "roll", "shifts");
  if (status == BURN_OK) status = check_list(dims, count, "roll", "dims");
  if (status != BURN_OK) return fail(x, "roll", status);
  for (uint32_t i = 0; i < count; i++) x = burn_roll_dim(x, shifts[i], dims[i]);
  return x;
}

/* -- parts and margins ------------------------------------------------------------------------ */

BurnTensor *burn_slice_dim(BurnTensor *x, int dim, BurnRange range) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "slice_dim", dim, burn_rank(x), &axis);
  if (status != BURN_OK) return fail(x, "slice_dim", status);
  BurnRange ranges[BURN_MAX_RANK];
  for (int64_t i = 0; i < axis; i++) ranges[i] = BURN_RANGE_ALL;
  ranges[axis] = range;
  return burn_slice(x, ranges, (uint32_t)axis + 1);
}

static BurnTensor *slice_fill(BurnTensor *x, const BurnRange *ranges, uint32_t count, BurnAttr value) {
  BurnTensor *values = burn__full_like(burn_slice(burn_clone(x), ranges, count), value);
  return burn_slice_assign(x, ranges, count, values);
}
BurnTensor *burn_slice_fill(BurnTensor *x, const BurnRange *ranges, uint32_t count, double value) {
  return slice_fill(x, ranges, count, burn_attr_f64(value));
}
BurnTensor *burn_slice_fill_i64(BurnTensor *x, const BurnRange *ranges, uint32_t count, int64_t value) {
  return slice_fill(x, ranges, count, burn_attr_i64(value));
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
  *count = 0;
  BurnStatus status = burn__resolve_dim(x, user, dim, burn_rank(x), &axis);
  if (status == BURN_OK) status = check_list(sizes, size_count, user, "sizes");
  if (status == BURN_OK) status = check_sizes(sizes, size_count, burn_dim(x, dim), count);
  if (status == BURN_OK && *count > capacity) {
    status = BURN_FAIL(INVALID_ARGUMENT, "%s: %zu parts come out, there is room for %zu", user, *count, capacity);
  }
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
  *count = 0;
  if (status == BURN_OK) return burn_split(x, 1, dim, parts, capacity, count);
  burn__tensor_take(x, "iter_dim");
  return status;
}

BurnTensor *burn_unfold(BurnTensor *x, int dim, int64_t size, int64_t step) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, "unfold", dim, burn_rank(x), &axis);
  if (status != BURN_OK) return fail(x, "unfold", status);
  const BurnAttr attrs[] = {burn_attr_i64(axis), burn_attr_i64(size), burn_attr_i64(step)};
  return burn__apply(BURN_OP_unfold, &x, 1, attrs, 3);
}

static BurnTensor *pad(BurnTensor *x, const int64_t *padding, uint32_t pairs, int64_t mode, BurnAttr value) {
  BurnStatus status = burn__tensor_check(x, "pad");
  const uint32_t rank = burn_rank(x);
  if (status == BURN_OK) status = check_list(padding, pairs, "pad", "pairs");
  if (status == BURN_OK && pairs > rank) {
    status = BURN_FAIL(INVALID_ARGUMENT, "pad: %u pairs for a tensor of rank %u", pairs, rank);
  }
  if (status != BURN_OK) return fail(x, "pad", status);
  int64_t before[BURN_MAX_RANK] = {0}, after[BURN_MAX_RANK] = {0};
  for (uint32_t i = 0; i < pairs; i++) {
    before[rank - pairs + i] = padding[2 * i];
    after[rank - pairs + i] = padding[2 * i + 1];
  }
  const BurnAttr attrs[] = {burn_attr_i64s(before, rank), burn_attr_i64s(after, rank), burn_attr_i64(mode), value};
  return burn__apply(BURN_OP_pad, &x, 1, attrs, 4);
}
BurnTensor *burn_pad(BurnTensor *x, const int64_t *padding, uint32_t pairs, int64_t mode, double value) {
  return pad(x, padding, pairs, mode, burn_attr_f64(value));
}
BurnTensor *burn_pad_i64(BurnTensor *x, const int64_t *padding, uint32_t pairs, int64_t mode, int64_t value) {
  return pad(x, padding, pairs, mode, burn_attr_i64(value));
}

/* -- by index --------------------------------------------------------------------------------- */

static BurnTensor *update_along(uint32_t op, int dim, BurnTensor *const *inputs, int64_t update) {
  int64_t axis = 0;
  const char *name = burn__op_name(op);
  const BurnStatus status = burn__resolve_dim(inputs[0], name, dim, burn_rank(inputs[0]), &axis);
  if (status != BURN_OK) return fail_all(inputs, 3, name, status);
  const BurnAttr attrs[] = {burn_attr_i64(axis), burn_attr_i64(update)};
  return burn__apply(op, inputs, 3, attrs, 2);
}
BurnTensor *burn_select_assign(BurnTensor *x, int dim, BurnTensor *indices, BurnTensor *values, int64_t update) {
  return update_along(BURN_OP_select_assign, dim, (BurnTensor *const[]){x, indices, values}, update);
}
BurnTensor *burn_scatter(BurnTensor *x, int dim, BurnTensor *indices, BurnTensor *values, int64_t update) {
  return update_along(BURN_OP_scatter, dim, (BurnTensor *const[]){x, indices, values}, update);
}

BurnTensor *burn_gather_nd(BurnTensor *x, BurnTensor *indices) {
  return burn__apply(BURN_OP_gather_nd, (BurnTensor *const[]){x, indices}, 2, NULL, 0);
}
BurnTensor *burn_scatter_nd(BurnTensor *x, BurnTensor *indices, BurnTensor *values, int64_t update) {
  const BurnAttr attr = burn_attr_i64(update);
  return burn__apply(BURN_OP_scatter_nd, (BurnTensor *const[]){x, indices, values}, 3, &attr, 1);
}

BurnTensor *burn_take(BurnTensor *x, int dim, BurnTensor *indices) {
  BurnTensor *const both[] = {x, indices};
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(x, "take", dim, burn_rank(x), &axis);
  if (status == BURN_OK) status = burn__tensor_check(indices, "take");
  const BurnShape from = burn_shape(x), picks = burn_shape(indices);
  if (status == BURN_OK && from.rank + picks.rank - 1 > BURN_MAX_RANK) {
    status = BURN_FAIL(INVALID_SHAPE, "take: rank %u with indices of rank %u gives more than %u axes", from.rank,
                       picks.rank, BURN_MAX_RANK);
  }
  if (status != BURN_OK) return fail_all(both, 2, "take", status);
  BurnShape to = {0, {0}};
  for (uint32_t i = 0; i < from.rank; i++) {
    if (i != (uint32_t)axis) to.dims[to.rank++] = from.dims[i];
    for (uint32_t k = 0; i == (uint32_t)axis && k < picks.rank; k++) to.dims[to.rank++] = picks.dims[k];
  }
  BurnTensor *flat = burn__reshape_to(indices, BURN_SHAPE(burn_element_count(indices)));
  return burn__reshape_to(burn_select(x, (int)axis, flat), to);
}

static BurnTensor *one_hot_fill(BurnTensor *x, int64_t classes, BurnAttr on, BurnAttr off, int axis) {
  const char *user = "one_hot";
  int64_t at = 0;
  BurnStatus status = burn__resolve_dim(x, user, axis, burn_rank(x) + 1, &at);
  if (status == BURN_OK && classes < 1)
    status = BURN_FAIL(INVALID_ARGUMENT, "%s: %lld classes", user, (long long)classes);
  if (status == BURN_OK && burn_rank(x) == BURN_MAX_RANK) {
    status = BURN_FAIL(INVALID_SHAPE, "%s: the tensor has rank %u already, the most there is", user, BURN_MAX_RANK);
  }
  if (status != BURN_OK) return fail(x, user, status);
  BurnDevice *device = x->device;
  const BurnDType dtype = burn_dtype(x);
  BurnTensor *indices = burn_cast(x, BURN_DTYPE_I64);
  BurnTensor *wrapped = burn_add_scalar_i64(burn_clone(indices), classes);
  BurnTensor *negative = burn_lower_scalar(burn_clone(indices), 0);
  indices = burn_unsqueeze_dim(burn_mask_where(indices, negative, wrapped), (int)at);
  BurnShape shape = burn_shape(indices);
  BurnTensor *values = burn__full(device, shape, dtype, on);
  shape.dims[at] = classes;
  return burn_scatter(burn__full(device, shape, dtype, off), (int)at, indices, values, BURN_UPDATE_ASSIGN);
}
BurnTensor *burn_one_hot_fill(BurnTensor *x, int64_t classes, double on, double off, int axis) {
  return one_hot_fill(x, classes, burn_attr_f64(on), burn_attr_f64(off), axis);
}
BurnTensor *burn_one_hot_fill_i64(BurnTensor *x, int64_t classes, int64_t on, int64_t off, int axis) {
  return one_hot_fill(x, classes, burn_attr_i64(on), burn_attr_i64(off), axis);
}

BurnTensor *burn_one_hot(BurnTensor *x, int64_t classes) {
  const BurnStatus status = burn__tensor_check(x, "one_hot");
  if (status != BURN_OK) return fail(x, "one_hot", status);
  if (classes < 2)
    return fail(x, "one_hot",
                BURN_FAIL(INVALID_ARGUMENT, "one_hot: %lld classes; 2 or more expected", (long long)classes));
  return burn_one_hot_fill(x, classes, 1, 0, -1);
}

/* -- by mask: the number of results depends on values, which are read to host memory ---------- */

/* Takes a bool tensor: the positions where it is true, malloc'd, in row-major order. */
static BurnStatus true_positions(BurnTensor *mask, const char *user, int64_t **positions, int64_t *count) {
  *positions = NULL;
  *count = 0;
  BurnStatus status = burn__tensor_check(mask, user);
  if (status == BURN_OK && burn_dtype(mask) != BURN_DTYPE_BOOL) {
    status = BURN_FAIL(INVALID_DTYPE, "%s: a bool tensor is needed, not %s", user, burn_dtype_name(burn_dtype(mask)));
  }
  const size_t size = (size_t)burn_element_count(mask);
  uint8_t *values = status == BURN_OK ? malloc(size + 1) : NULL;
  *positions = values ? malloc((size + 1) * sizeof **positions) : NULL;
  if (status == BURN_OK && !*positions)
    status = BURN_FAIL(OUT_OF_MEMORY, "%s: no memory for %zu positions", user, size);
  if (status == BURN_OK) {
    status = burn_read(mask, values, size);
  } else {
    burn__tensor_take(mask, user);
  }
  for (size_t i = 0; status == BURN_OK && i < size; i++) {
    if (values[i]) (*positions)[(*count)++] = (int64_t)i;
  }
  free(values);
  return status;
}

static BurnStatus check_mask(const BurnTensor *x, const BurnTensor *mask) {
  BurnStatus status = burn__tensor_check(x, "mask_select");
  if (status == BURN_OK) status = burn__tensor_check(mask, "mask_select");
  const BurnShape a = burn_shape(x), b = burn_shape(mask);
  bool equal = a.rank == b.rank;
  for (uint32_t i = 0; equal && i < a.rank; i++) equal = a.dims[i] == b.dims[i];
  if (status != BURN_OK || equal) return status;
  BurnShapeText l, r;
  return BURN_FAIL(INVALID_SHAPE, "mask_select: x is %s and the mask is %s; they must be equal (see burn_expand)",
                   burn__shape_text(&l, a.rank, a.dims), burn__shape_text(&r, b.rank, b.dims));
}

BurnTensor *burn_mask_select(BurnTensor *x, BurnTensor *mask) {
  BurnStatus status = check_mask(x, mask);
  if (status != BURN_OK) return fail_all((BurnTensor *const[]){x, mask}, 2, "mask_select", status);
  int64_t *positions = NULL, count = 0;
  status = true_positions(mask, "mask_select", &positions, &count);
  if (status != BURN_OK) {
    free(positions);
    return fail(x, "mask_select", status);
  }
  BurnTensor *indices = burn_tensor_i64(x->device, positions, BURN_SHAPE(count));
  free(positions);
  return burn_select(burn__reshape_to(x, BURN_SHAPE(burn_element_count(x))), 0, indices);
}

BurnTensor *burn_argwhere(BurnTensor *x) {
  BurnDevice *device = burn_tensor_device(x);
  const BurnShape shape = burn_shape(x);
  int64_t *positions = NULL, count = 0;
  if (device) burn__device_retain(device); /* x may hold the last reference */
  BurnStatus status = true_positions(x, "argwhere", &positions, &count);
  const size_t entries = (size_t)count * shape.rank;
  int64_t *tuples = status == BURN_OK ? malloc((entries + 1) * sizeof *tuples) : NULL;
  if (status == BURN_OK && !tuples) status = BURN_FAIL(OUT_OF_MEMORY, "argwhere: no memory for %zu numbers", entries);
  for (int64_t i = 0; status == BURN_OK && i < count; i++) {
    int64_t rest = positions[i];
    for (uint32_t axis = shape.rank; axis-- > 0; rest /= shape.dims[axis])
      tuples[i * shape.rank + axis] = rest % shape.dims[axis];
  }
  BurnTensor *result =
      status == BURN_OK ? burn_tensor_i64(device, tuples, BURN_SHAPE(count, shape.rank)) : burn__tensor_failed(status);
  free(positions);
  free(tuples);
  if (status == BURN_OK) result = burn_cast(result, burn__device_index_dtype(device));
  if (device) burn__device_release(device);
  return result;
}

BurnStatus burn_nonzero(BurnTensor *x, BurnTensor **indices, size_t capacity, size_t *count) {
  BurnStatus status = burn__tensor_check(x, "nonzero");
  *count = status == BURN_OK ? burn_rank(x) : 0;
  if (status == BURN_OK && *count > capacity) {
    status = BURN_FAIL(INVALID_ARGUMENT, "nonzero: %zu tensors come out, there is room for %zu", *count, capacity);
  }
  if (status != BURN_OK) {
    burn__tensor_take(x, "nonzero");
    return status;
  }
  BurnTensor *tuples = burn_argwhere(x);
  status = burn__tensor_check(tuples, "nonzero");
  if (status != BURN_OK || burn_dim(tuples, 0) == 0) *count = 0;
  for (size_t i = 0; status == BURN_OK && i < *count; i++)
    indices[i] = burn_select_dim(burn_clone(tuples), 1, (int64_t)i);
  burn__tensor_take(tuples, "nonzero");
  return status;
}
