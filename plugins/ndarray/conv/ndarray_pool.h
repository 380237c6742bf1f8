/* ndarray_pool.h - pooling of one plane [y.in, x.in] to [y.out, x.out], and the way back, compiled once per
 * instruction set.
 *
 * ndarray_pool_isa.inc and ndarray_pool_type.inc hold the loops; ndarray_pool_{baseline,avx2,avx512}.c include
 * them with other compiler flags. */
#ifndef BURN_NDARRAY_POOL_H
#define BURN_NDARRAY_POOL_H

#include "ndarray_internal.h"

/* One axis of a pooling. */
typedef struct NdPoolingAxis {
  int64_t in, out, kernel, stride, padding, dilation;
} NdPoolingAxis;

/* Adaptive windows have no kernel: number i is floor(i * in / out) .. ceil((i + 1) * in / out) - 1. */
typedef struct NdPooling {
  NdPoolingAxis y, x;
  bool count_include_pad, adaptive;
} NdPooling;

/* The loops of one float type, over `planes` planes one after the other; each takes nd_pooling_scratch bytes to work
 * in. */
typedef struct NdPoolingPlane {
  /* `at`: where in its plane each largest element is, i32 for f32 and i64 for f64; NULL if not wanted. `start`, room
   * for a plane of these, is worked in. */
  void (*max)(const NdPooling *pool, int64_t planes, const void *x, void *out, void *at, void *start, void *scratch);
  void (*avg)(const NdPooling *pool, int64_t planes, const void *x, void *out, void *scratch);
  void (*avg_backward)(const NdPooling *pool, int64_t planes, const void *grad, void *dx, void *scratch);
  /* The gradient of max for one plane of y.in = 2 * y.out rows and x.in = 2 * x.out columns, where the position of each
   * pixel of grad lies in the 2x2 pixels that belong to it. False where one does not: dx is then of no use. May be
   * NULL. */
  bool (*max_backward_tiles)(const NdPooling *pool, const void *grad, const int64_t *at, void *dx);
} NdPoolingPlane;

typedef struct NdPoolLoops {
  NdPoolingPlane f32, f64;
} NdPoolLoops;

/* Elements of a row with its padding, or as far as windows reach; rounded up so that rows of them start at lines of
 * memory. */
static inline int64_t nd_pooling_row(const NdPooling *pool) {
  const NdPoolingAxis *x = &pool->x;
  const int64_t padded = x->in + 2 * x->padding, reach = x->out * x->stride + x->kernel * x->dilation;
  const int64_t longest = padded > reach ? padded : reach;
  return ((longest > x->out ? longest : x->out) + 15) / 8 * 8;
}
/* Three rows, and one of f64. */
static inline uint64_t nd_pooling_scratch(const NdPooling *pool) {
  return (uint64_t)nd_pooling_row(pool) * 4 * sizeof(double);
}

extern const NdPoolLoops nd_pooling_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdPoolLoops nd_pooling_avx2, nd_pooling_avx512;
#endif

/* The loops for nd->isa and a dtype, f32 or f64. */
static inline const NdPoolingPlane *nd_pooling(const Ndarray *nd, BurnDType dtype) {
  const NdPoolLoops *loops = &nd_pooling_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa >= NDARRAY_ISA_AVX2) loops = &nd_pooling_avx2;
  if (nd->isa >= NDARRAY_ISA_AVX512 && dtype == BURN_DTYPE_F32) loops = &nd_pooling_avx512;
#endif
  (void)nd;
  return dtype == BURN_DTYPE_F32 ? &loops->f32 : &loops->f64;
}

#endif
