/* ndarray_rows.h - inner loops over rows of memory, compiled once per instruction set: the folds behind the reductions,
 * the passes of softmax and layer_norm, the update of Adam.
 *
 * ndarray_rows.inc holds them; ndarray_rows_{baseline,avx2,avx512}.c include it with other compiler flags. */
#ifndef BURN_NDARRAY_ROWS_H
#define BURN_NDARRAY_ROWS_H

#include "ndarray_internal.h"

/* Most columns that NdFold.columns takes at once. */
#define ND_COLUMNS 512

/* The families of ndarray_reduce.def. */
enum {
  ND_FOLD_sum,
  ND_FOLD_wide, /* integer sum in 64 bits, for means */
  ND_FOLD_prod,
  ND_FOLD_max,
  ND_FOLD_min,
  ND_FOLD_any,
  ND_FOLD_all,
  ND_FOLD_COUNT
};

/* Room for totals or elements of any dtype: one, and a row of columns. */
typedef union NdTotal {
  uint8_t u8;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
} NdTotal;
typedef union NdTotals {
  uint8_t u8[ND_COLUMNS];
  uint32_t u32[ND_COLUMNS];
  uint64_t u64[ND_COLUMNS];
  float f32[ND_COLUMNS];
  double f64[ND_COLUMNS];
} NdTotals;

/* One reduction of one dtype; see ndarray_reduce.def. Totals are of type B: at most 8 bytes, for max and min the type
 * of the elements, for float sums f64. */
typedef struct NdFold {
  uint32_t total_bytes;
  /* The total of `count` elements in a row. */
  void (*run)(const void *x, int64_t count, void *total);
  /* The same for `runs` rows that start `stride` elements apart. */
  void (*runs)(const void *x, int64_t stride, int64_t runs, int64_t count, void *totals);
  /* The totals of `width` columns (at most ND_COLUMNS) over `rows` rows that lie `stride` elements apart. */
  void (*columns)(const void *x, int64_t stride, int64_t rows, int64_t width, void *totals);
  /* totals[i] joined with part[i]. */
  void (*merge)(void *totals, const void *part, int64_t width);
  /* out[i] = the result of totals[i]. */
  void (*finish)(const void *totals, int64_t width, int64_t divisor, void *out);
} NdFold;

/* Passes over float rows of n elements. `out` may be the very memory of x. A step of 0 takes the one value of an
 * argument for the whole row, a step of 1 one value per element. */
typedef struct NdFloatRows {
  void (*exp_shift)(int64_t n, void *out, const void *x, const void *shift, int64_t step);           /* e^(x - shift) */
  void (*scale)(int64_t n, void *out, const void *x, const void *factor, int64_t step);              /* x * factor */
  void (*subtract)(int64_t n, void *out, const void *x, const void *a, const void *b, int64_t step); /* x - a - b */
  void (*squared_distance)(int64_t n, void *out, const void *x, const void *center); /* (x - center)^2 */
  /* (x - center) * factor * gamma + beta; center and factor are single values, beta may be NULL. */
  void (*normalize)(int64_t n, void *out, const void *x, const void *center, const void *factor, const void *gamma,
                    const void *beta);
} NdFloatRows;

/* Scalars of adam_step; see ops.def. */
typedef struct NdAdam {
  double beta_1, beta_2, step_size, epsilon, decay, penalty;
} NdAdam;

/* A step on n elements in place. grad overlaps none of the others. */
typedef void (*NdAdamLoop)(int64_t n, const NdAdam *adam, const void *grad, void *param, void *moment_1,
                           void *moment_2);
/* The same into other memory. */
typedef void (*NdAdamCopyLoop)(int64_t n, const NdAdam *adam, const void *const in[4], void *const out[3]);

/* The loops for one instruction set; entries without `run` are those of the baseline. */
typedef struct NdRows {
  NdFold folds[ND_FOLD_COUNT][BURN_DTYPE_LIMIT];
  NdFloatRows f32, f64;
  NdAdamLoop adam_f32, adam_f64;
  NdAdamCopyLoop adam_copy_f32, adam_copy_f64;
} NdRows;

extern const NdRows nd_rows_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdRows nd_rows_avx2, nd_rows_avx512;
#endif

/* The loops for nd->isa. */
static inline const NdRows *nd_rows(const Ndarray *nd) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_rows_avx512;
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_rows_avx2;
#endif
  (void)nd;
  return &nd_rows_baseline;
}

/* The passes over rows of a float dtype; NULL for other dtypes. */
static inline const NdFloatRows *nd_float_rows(const Ndarray *nd, BurnDType dtype) {
  if (dtype == BURN_DTYPE_F32) return &nd_rows(nd)->f32;
  return dtype == BURN_DTYPE_F64 ? &nd_rows(nd)->f64 : NULL;
}

/* The fold of a family for a dtype, or NULL if there is none. */
static inline const NdFold *nd_fold(const Ndarray *nd, uint32_t family, BurnDType dtype) {
  const BurnDType stored = dtype == BURN_DTYPE_BOOL ? BURN_DTYPE_U8 : dtype;
  if (stored >= BURN_DTYPE_LIMIT) return NULL;
  const NdFold *fold = &nd_rows(nd)->folds[family][stored];
  if (!fold->run) fold = &nd_rows_baseline.folds[family][stored];
  return fold->run ? fold : NULL;
}

#endif
