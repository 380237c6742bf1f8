/* infer_internal.h - steps that the shape rules share. All return BURN_OK or a status whose message starts with the
 * op's name. */
#ifndef BURN_INFER_INTERNAL_H
#define BURN_INFER_INTERNAL_H

#include "core_internal.h"

#define BURN_TRY(expression)                                \
  do {                                                      \
    const BurnStatus burn_try_status = (expression);        \
    if (burn_try_status != BURN_OK) return burn_try_status; \
  } while (0)

/* A result with shape and dtype of x. Rules meet results that are zero, and write no more than they need: a description
 * that is made elsewhere and copied costs more than the rule. */
static inline void burn__infer_like(BurnTensorDesc *out, const BurnPrimitive *x) {
  out->dtype = x->dtype;
  out->rank = x->rank;
  for (uint32_t i = 0; i < x->rank; i++) out->shape[i] = x->shape[i];
}

/* Two tensors of one shape and dtype, as most are: what is like them is possible, since they are. */
static inline bool burn__infer_are_alike(const BurnPrimitive *lhs, const BurnPrimitive *rhs) {
  bool alike = lhs->dtype == rhs->dtype && lhs->rank == rhs->rank;
  for (uint32_t axis = 0; alike && axis < lhs->rank; axis++) alike = lhs->shape[axis] == rhs->shape[axis];
  return alike;
}

/* Head of a rule named in ops.def: BURN_RULE(binary) { ... } with info, call and out. op_table.c declares all of them.
 */
#define BURN_RULE(name)                                                                               \
  BurnStatus burn__infer_##name(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out); \
  BurnStatus burn__infer_##name(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out)

BurnStatus burn__infer_check_dim(const BurnOpInfo *info, const BurnPrimitive *x, int64_t dim);
BurnStatus burn__infer_same_dtype(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first, uint32_t second);
/* Two inputs have the same shape and dtype. */
BurnStatus burn__infer_same_shape(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first, uint32_t second);
/* The dtype of an input is of one of the kinds; `what` completes "must be". */
BurnStatus burn__infer_kind(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t kinds,
                            const char *what);
BurnStatus burn__infer_rank(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t rank);
BurnStatus burn__infer_broadcast(const BurnOpInfo *info, const BurnPrimitive *lhs, const BurnPrimitive *rhs,
                                 BurnTensorDesc *out);
/* `count` elements of an axis of x, from `start` with `step`, are there. */
BurnStatus burn__infer_range(const BurnOpInfo *info, const BurnPrimitive *x, uint32_t axis, int64_t start,
                             int64_t count, int64_t step);

/* -- windows: convolutions and pools (infer_windows.c) ---------------------------------------- */

/* An attribute with an entry for each of the last `axes` axes, every one at least `least` and at most INT32_MAX. */
BurnStatus burn__infer_sizes(const BurnOpInfo *info, const BurnAttr *sizes, const char *name, uint32_t axes,
                             int64_t least);
/* How a window moves. */
BurnStatus burn__infer_window(const BurnOpInfo *info, const BurnAttr *stride, const BurnAttr *padding,
                              const BurnAttr *dilation, uint32_t axes);
/* [n, c, ..] with `axes` further axes, small enough for the arithmetic of windows. */
BurnStatus burn__infer_planes(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t axes);
/* Size of a convolution's or pool's output along one axis; below 1 when the window does not fit. */
int64_t burn__infer_window_count(int64_t in, int64_t padding, int64_t dilation, int64_t kernel, int64_t stride,
                                 bool ceil_mode);
/* An optional input [channels] of the dtype of the first. */
BurnStatus burn__infer_bias(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, int64_t channels);
BurnStatus burn__infer_groups(const BurnOpInfo *info, int64_t groups, int64_t channels, const char *what);
bool burn__infer_has_empty_axis(const int64_t *shape, uint32_t axes);
/* The first input is pictures [n, c, h, w] with at least one pixel. */
BurnStatus burn__infer_pictures(const BurnOpInfo *info, const BurnOpCall *call);
/* Rules that others end in. */
BurnStatus burn__infer_same(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);
BurnStatus burn__infer_matmul(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);
BurnStatus burn__infer_conv2d(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);

#endif
