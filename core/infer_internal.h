/* infer_internal.h - steps that the shape rules share. All return BURN_OK or a status whose message starts with the op's name. */
#ifndef BURN_INFER_INTERNAL_H
#define BURN_INFER_INTERNAL_H

#include "core_internal.h"

#define BURN_TRY(expression)                              \
  do {                                                    \
    const BurnStatus burn_try_status = (expression);      \
    if (burn_try_status != BURN_OK) return burn_try_status; \
  } while (0)

/* Head of a rule named in ops.def: BURN_RULE(binary) { ... } with info, call and out. op_table.c declares all of them. */
#define BURN_RULE(name)                                                                                              \
  BurnStatus burn__infer_##name(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);                \
  BurnStatus burn__infer_##name(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out)

BurnStatus burn__infer_check_dim(const BurnOpInfo *info, const BurnPrimitive *x, int64_t dim);
BurnStatus burn__infer_same_dtype(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first, uint32_t second);
/* The dtype of an input is of one of the kinds; `what` completes "must be". */
BurnStatus burn__infer_kind(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t kinds, const char *what);
BurnStatus burn__infer_rank(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t rank);
BurnStatus burn__infer_broadcast(const BurnOpInfo *info, const BurnPrimitive *lhs, const BurnPrimitive *rhs, BurnTensorDesc *out);

#endif
