/* ndarray_fused_fold.h - reductions within fused bodies: with the folds of ndarray_rows.h, whose totals of sums are
 * f64. */
#ifndef BURN_NDARRAY_FUSED_FOLD_H
#define BURN_NDARRAY_FUSED_FOLD_H

#include "ndarray_fused_run.h"
#include "support/ndarray_half.h"
#include "reduce/ndarray_rows.h"

#include <math.h>

static inline const NdFold *nd_fused_fold(const NdFusedRun *run, const NdFusedReduction *reduction) {
  return nd_fold(run->nd, reduction->family, BURN_DTYPE_F32);
}

/* A total, of `divisor` elements if it becomes a mean, as the machine has numbers of the result's dtype. */
static inline float nd_fused_finish(const NdFusedReduction *reduction, const NdTotal *total, int64_t divisor) {
  double value = reduction->family == ND_FOLD_sum ? total->f64 : (double)total->f32;
  if (reduction->is_mean) value /= (double)divisor;
  if (reduction->dtype == BURN_DTYPE_F16) return nd_f16_to_f32(nd_f16_from_f64(value));
  if (reduction->dtype == BURN_DTYPE_BF16) return nd_bf16_to_f32(nd_bf16_from_f64(value));
  return (float)value;
}

/* The total of nothing. */
static inline NdTotal nd_fused_empty_total(const NdFusedReduction *reduction) {
  NdTotal total;
  if (reduction->family == ND_FOLD_sum) {
    total.f64 = 0.0;
  } else {
    total.f64 = 0.0;
    total.f32 = reduction->family == ND_FOLD_max ? -INFINITY : INFINITY;
  }
  return total;
}

#endif
