/* ops_index.c - public ops that find their elements by indices or a mask. */
#include "ops_internal.h"

#include <stdlib.h>

/* -- by index --------------------------------------------------------------------------------- */

BurnTensor *burn_embedding(BurnTensor *weight, BurnTensor *indices) {
  BurnTensor *const inputs[] = {weight, indices};
  return burn__apply(BURN_OP_embedding, inputs, 2, NULL, 0);
}

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
  if (burn_tensor_status(indices) != BURN_OK) return indices; /* before its shape is asked for */
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

/* -- by mask ---------------------------------------------------------------------------------- */

BurnTensor *burn_mask_where(BurnTensor *x, BurnTensor *mask, BurnTensor *value) {
  BurnTensor *const inputs[] = {x, mask, value};
  return burn__apply(BURN_OP_mask_where, inputs, 3, NULL, 0);
}

static BurnTensor *mask_fill(BurnTensor *x, BurnTensor *mask, BurnAttr value) {
  BurnTensor *const inputs[] = {x, mask};
  return burn__apply(BURN_OP_mask_fill, inputs, 2, &value, 1);
}
BurnTensor *burn_mask_fill(BurnTensor *x, BurnTensor *mask, double value) {
  return mask_fill(x, mask, burn_attr_f64(value));
}
BurnTensor *burn_mask_fill_i64(BurnTensor *x, BurnTensor *mask, int64_t value) {
  return mask_fill(x, mask, burn_attr_i64(value));
}

/* -- by mask: the number of results depends on values, which are read ------------------------- */

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

/* What argwhere gives, for the function of that name or another. */
static BurnTensor *true_tuples(BurnTensor *x, const char *user) {
  BurnDevice *device = burn_tensor_device(x);
  const BurnShape shape = burn_shape(x);
  int64_t *positions = NULL, count = 0;
  if (device) burn__device_retain(device); /* x may hold the last reference */
  BurnStatus status = true_positions(x, user, &positions, &count);
  const size_t entries = (size_t)count * shape.rank;
  int64_t *tuples = status == BURN_OK ? malloc((entries + 1) * sizeof *tuples) : NULL;
  if (status == BURN_OK && !tuples) status = BURN_FAIL(OUT_OF_MEMORY, "%s: no memory for %zu numbers", user, entries);
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

BurnTensor *burn_argwhere(BurnTensor *x) { return true_tuples(x, "argwhere"); }

BurnStatus burn_nonzero(BurnTensor *x, BurnTensor **indices, size_t capacity, size_t *count) {
  BurnStatus status = burn__tensor_check(x, "nonzero");
  const uint32_t rank = burn_rank(x);
  if (count) *count = 0;
  if (status == BURN_OK) status = burn__check_parts("nonzero", rank, indices, capacity, count);
  if (status != BURN_OK) {
    burn__tensor_take(x, "nonzero");
    return status;
  }
  BurnTensor *tuples = true_tuples(x, "nonzero");
  status = burn__tensor_check(tuples, "nonzero");
  const bool none = status != BURN_OK || burn_dim(tuples, 0) == 0;
  if (none && count) *count = 0;
  for (uint32_t i = 0; !none && i < rank; i++) indices[i] = burn_select_dim(burn_clone(tuples), 1, (int64_t)i);
  burn__tensor_take(tuples, "nonzero");
  return status;
}
