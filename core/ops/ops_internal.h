/* ops_internal.h - small steps of public ops: inputs that are taken when something is wrong with them, functions by
 * their signature. */
#ifndef BURN_OPS_INTERNAL_H
#define BURN_OPS_INTERNAL_H

#include "core_internal.h"

/* Takes x and fails. */
static inline BurnTensor *fail(BurnTensor *x, const char *user, BurnStatus status) {
  burn__tensor_take(x, user);
  return burn__tensor_failed(status);
}

/* Takes all of them and fails. */
static inline BurnTensor *fail_all(BurnTensor *const *tensors, size_t count, const char *user, BurnStatus status) {
  burn__tensor_take_all(tensors, count, user);
  return burn__tensor_failed(status);
}

/* Takes the result of a composition whose inputs were fine: the failure of one of its steps says who was asked. */
static inline BurnTensor *in_name_of(const char *user, BurnTensor *result) {
  const BurnStatus status = burn_tensor_status(result);
  if (status == BURN_OK) return result;
  burn_drop(result);
  return burn__tensor_failed(burn_status_annotate(status, "%s", user));
}

/* Hands out a result that the caller may not want: `place` may be NULL. */
static inline void give(BurnTensor **place, BurnTensor *result) {
  if (place) *place = result;
  if (!place) burn_drop(result);
}

/* Takes x: elements begin .. end-1 of it sorted along `axis`, which has them; `indices` may be NULL. ops_sort.c */
BurnTensor *burn__sort_range(BurnTensor *x, int64_t axis, int64_t begin, int64_t end, bool descending,
                             BurnTensor **indices);

/* OK if a list of `count` entries is there. */
static inline BurnStatus check_list(const void *list, size_t count, const char *user, const char *what) {
  if (list || count == 0) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: the list of %zu %s is NULL", user, count, what);
}

/* An end of a range that a user wrote, for an axis of `size`: negative ones count from its end. */
static inline int64_t clamp_bound(int64_t bound, int64_t size) {
  if (bound < 0) bound += size;
  return bound < 0 ? 0 : bound > size ? size : bound;
}

/* Compositions that square, sum up or subtract compute halves in f32 and round once, at their end: between their steps
 * f16 has too little range, and both have too few digits. Takes x: in f32 if its dtype is a half. */
static inline BurnTensor *unrounded(BurnTensor *x) {
  return burn__is_half(burn_dtype(x)) ? burn_cast(x, BURN_DTYPE_F32) : x;
}
/* The same for a second operand, if it has the dtype of the first; another one is left to fail. Takes x. */
static inline BurnTensor *unrounded_as(BurnTensor *x, BurnDType dtype) {
  return burn_dtype(x) == dtype ? unrounded(x) : x;
}

/* A part of a tensor, as slice and slice_assign want it. */
typedef struct Part {
  int64_t starts[BURN_MAX_RANK], counts[BURN_MAX_RANK], steps[BURN_MAX_RANK];
} Part;
/* What the ranges of a user mean for x. ops_view.c */
BurnStatus burn__resolve_ranges(const BurnTensor *x, const char *user, const BurnRange *ranges, uint32_t count,
                                Part *part);

/* `needed` parts fit into a list of `capacity` (NULL holds none); *count, if it is wanted, becomes their number.
 * ops_view.c */
BurnStatus burn__check_parts(const char *user, size_t needed, BurnTensor **parts, size_t capacity, size_t *count);

/* Hands out the blocks of random numbers that `count` elements need; two threads never get the same ones. ops_create.c
 */
uint64_t burn__random_offset(BurnDevice *device, int64_t count);

/* The public functions of ops by their signature: one tensor, two, one and a dim. */
#define UNARY(name) \
  BurnTensor *burn_##name(BurnTensor *x) { return burn__apply_unary(BURN_OP_##name, x); }
#define BINARY(name) \
  BurnTensor *burn_##name(BurnTensor *lhs, BurnTensor *rhs) { return burn__apply_binary(BURN_OP_##name, lhs, rhs); }

#define WITH_DIM(name) \
  BurnTensor *burn_##name(BurnTensor *x, int dim) { return burn__apply_dim(BURN_OP_##name, x, dim); }

#endif
