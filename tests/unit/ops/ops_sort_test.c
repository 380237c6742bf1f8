/* ops_sort_test.c - running reductions, sorting, reductions of several axes; see ops_case.h. */
#define OPS_GOLDEN "ops_sort_golden.h"
#include "ops_golden.h"

typedef BurnTensor *(*OverDims)(BurnTensor *x, const int *dims, uint32_t count);

static BurnTensor *over_dims(OpsRun *run, OverDims op) {
  int dims[OPS_MAX_NUMBERS];
  for (size_t i = 0; i < run->number_count; i++) dims[i] = DIM(i);
  return op(IN(0), dims, (uint32_t)run->number_count);
}

#define AXIS(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), DIM(0)))
#define AXES(OPS, name) OPS(name, OUT(0) = over_dims(run, burn_##name))

#define ROWS(OPS)                                                                                       \
  AXIS(OPS, cumsum)                                                                                     \
  AXIS(OPS, cumprod)                                                                                    \
  AXIS(OPS, cummin)                                                                                     \
  AXIS(OPS, cummax)                                                                                     \
  AXIS(OPS, argsort)                                                                                    \
  AXIS(OPS, argsort_descending)                                                                         \
  AXIS(OPS, sort)                                                                                       \
  AXIS(OPS, sort_descending)                                                                            \
  OPS(sort_with_indices, OUT(0) = burn_sort_with_indices(IN(0), DIM(0), &OUT(1)))                       \
  OPS(sort_descending_with_indices, OUT(0) = burn_sort_descending_with_indices(IN(0), DIM(0), &OUT(1))) \
  OPS(topk, OUT(0) = burn_topk(IN(0), WHOLE(0), DIM(1)))                                                \
  OPS(topk_with_indices, OUT(0) = burn_topk_with_indices(IN(0), WHOLE(0), DIM(1), &OUT(1)))             \
  OPS(argtopk, OUT(0) = burn_argtopk(IN(0), WHOLE(0), DIM(1)))                                          \
  AXES(OPS, sum_dims)                                                                                   \
  AXES(OPS, mean_dims)                                                                                  \
  AXES(OPS, prod_dims)                                                                                  \
  AXES(OPS, max_dims)                                                                                   \
  AXES(OPS, min_dims)                                                                                   \
  AXES(OPS, sum_dims_squeeze)                                                                           \
  OPS(max_abs, OUT(0) = burn_max_abs(IN(0)))                                                            \
  AXIS(OPS, max_abs_dim)                                                                                \
  AXES(OPS, max_abs_dims)                                                                               \
  OPS(dot, OUT(0) = burn_dot(IN(0), IN(1)))

OPS_MAIN("running and sorting", ROWS)
