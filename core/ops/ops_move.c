/* ops_move.c - public ops that put elements to other places: into slices, side by side, around margins. */
#include "ops_internal.h"

#include <stdlib.h>

/* -- parts and margins ------------------------------------------------------------------------ */

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
  BurnStatus status = burn__resolve_ranges(x, "slice_assign", ranges, count, &part);
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

#define TRIANGLE(name)                                       \
  BurnTensor *burn_##name(BurnTensor *x, int64_t diagonal) { \
    const BurnAttr attr = burn_attr_i64(diagonal);           \
    return burn__apply(BURN_OP_##name, &x, 1, &attr, 1);     \
  }
TRIANGLE(triu)
TRIANGLE(tril)

/* -- turns ------------------------------------------------------------------------------------ */

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
