/* decompose_internal.h - what the decompose_*.c files share: the frame of a decomposition and its small steps.
 *
 * A decomposition borrows the inputs of its call and leaves borrowed results in out (see burn/plugin/build.h). It runs
 * on the level of the stack where the op was not known: on autodiff it is what gets differentiated, on a backend it is
 * the kernel that nobody had to write. Attributes are complete and shapes are checked when it runs. */
#ifndef BURN_DECOMPOSE_INTERNAL_H
#define BURN_DECOMPOSE_INTERNAL_H

#include "core_internal.h"

#define DECOMPOSE(name)                                                                           \
  void burn__decompose_##name(BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive **out); \
  void burn__decompose_##name(BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive **out)

/* A builder for a part of what `outer` builds, whose results go when the part is done. */
static inline BurnBuilder burn__builder_within(const BurnBuilder *outer) {
  BurnBuilder b = burn_builder_begin(outer->host, outer->backend);
  b.flags = outer->flags;
  b.origin = outer->origin;
  return b;
}

/* -- small steps ------------------------------------------------------------------------------ */

static inline BurnPrimitive *one(BurnBuilder *b, uint32_t op, BurnPrimitive *x) { return burn_build_op1(b, op, x); }
static inline BurnPrimitive *scaled(BurnBuilder *b, BurnPrimitive *x, double factor) {
  return burn_build_scalar(b, BURN_OP_mul_scalar, x, factor);
}
static inline BurnPrimitive *plus(BurnBuilder *b, BurnPrimitive *x, double value) {
  return burn_build_scalar(b, BURN_OP_add_scalar, x, value);
}
static inline BurnPrimitive *masked(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *mask, double value) {
  const BurnAttr attr = burn_attr_f64(value);
  BurnPrimitive *const inputs[] = {x, mask};
  return burn_build(b, BURN_OP_mask_fill, 2, inputs, 1, &attr);
}
static inline BurnPrimitive *flat(BurnBuilder *b, BurnPrimitive *x) {
  const int64_t count = x ? burn_primitive_count(x) : 0; /* NULL after an earlier failure */
  return burn_build_reshape(b, x, &count, 1);
}
static inline BurnPrimitive *arange(BurnBuilder *b, int64_t count, int64_t start) {
  const BurnAttr attrs[] = {burn_attr_i64s(&count, 1), burn_attr_dtype(BURN_DTYPE_I64), burn_attr_i64(start),
                            burn_attr_i64(1)};
  return burn_build(b, BURN_OP_arange, 0, NULL, 4, attrs);
}
/* `count` elements from `start` along an axis of x, which must have them. */
static inline BurnPrimitive *range(BurnBuilder *b, BurnPrimitive *x, int64_t dim, int64_t start, int64_t count) {
  int64_t starts[BURN_MAX_RANK], counts[BURN_MAX_RANK];
  if (!x) return NULL;
  for (uint32_t i = 0; i < x->rank; i++) {
    starts[i] = i == dim ? start : 0;
    counts[i] = i == dim ? count : x->shape[i];
  }
  const BurnAttr attrs[] = {burn_attr_i64s(starts, x->rank), burn_attr_i64s(counts, x->rank)};
  return burn_build(b, BURN_OP_slice, 1, &x, 2, attrs);
}
/* Put together along an axis. */
static inline BurnPrimitive *joined(BurnBuilder *b, BurnPrimitive *const *parts, int64_t count, int64_t dim) {
  const BurnAttr attr = burn_attr_i64(dim);
  return burn_build(b, BURN_OP_cat, (uint32_t)count, parts, 1, &attr);
}
static inline BurnPrimitive *pair(BurnBuilder *b, BurnPrimitive *first, BurnPrimitive *second, int64_t dim) {
  BurnPrimitive *const parts[] = {first, second};
  return joined(b, parts, 2, dim);
}
/* A tensor of numbers that were made on the host from shapes and attributes; `data` has the elements of the shape. */
static inline BurnPrimitive *constant(BurnBuilder *b, BurnDType dtype, const int64_t *shape, uint32_t rank,
                                      const void *data) {
  if (b->status != BURN_OK) return NULL;
  BurnTensorDesc desc = {dtype, rank, {0}};
  for (uint32_t i = 0; i < rank; i++) desc.shape[i] = shape[i];
  BurnPrimitive *result = NULL;
  burn_builder_fail(b, burn__backend_create(b->backend, &desc, data, &result));
  return burn_build_own(b, result);
}
/* The dtype to compute in where halves have too few digits. */
static inline BurnDType at_least_f32(BurnDType dtype) {
  return burn_dtype_bytes(dtype) < 4 ? (BurnDType)BURN_DTYPE_F32 : dtype;
}
static inline BurnPrimitive *in_dtype(BurnBuilder *b, BurnPrimitive *x, BurnDType dtype) {
  return x && x->dtype == dtype ? x : burn_build_cast(b, x, dtype);
}

/* Turns of a loop have a builder of their own, so that what only one turn needs is released at its end. kept[i] is a
 * reference from turn to turn (NULL: none yet); it becomes next[i], a result of the turn. Ends the turn. */
static inline void end_turn(BurnBuilder *builder, BurnBuilder *turn, BurnPrimitive **kept, BurnPrimitive *const *next,
                            uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    BurnPrimitive *given = burn_build_give(turn, next[i]);
    if (kept[i]) builder->backend->release(builder->backend->self, kept[i]);
    kept[i] = given;
  }
  burn_builder_fail(builder, burn_builder_end(turn));
}
static inline int64_t last_axis(const BurnPrimitive *x) { return (int64_t)x->rank - 1; }

/* -- pictures (decompose_sample.c) ------------------------------------------------------------ */

/* Pictures [n, c, h * w], of which `points` positions each are read. */
typedef struct Picture {
  BurnPrimitive *x;
  int64_t n, c, h, w, points;
} Picture;
/* [n, c, points]: read between the pixels at positions [n, 1, points]; 0 outside. */
BurnPrimitive *burn__decompose_bilinear(BurnBuilder *b, const Picture *p, BurnPrimitive *y, BurnPrimitive *x);

#endif
