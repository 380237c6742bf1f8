/* ops_reduce_test.c - reductions of whole tensors, along an axis and along several; see ops_case.h. */
#define OPS_GOLDEN "ops_reduce_golden.h"
#include "ops_golden.h"

typedef BurnTensor *(*OverDims)(BurnTensor *x, const int *dims, uint32_t count);

static BurnTensor *over_dims(OpsRun *run, OverDims op) {
  int dims[OPS_MAX_NUMBERS];
  for (size_t i = 0; i < run->number_count; i++) dims[i] = DIM(i);
  return op(IN(0), dims, (uint32_t)run->number_count);
}

#define WHOLE_TENSOR(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0)))
#define AXIS(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), DIM(0)))
#define AXES(OPS, name) OPS(name, OUT(0) = over_dims(run, burn_##name))

#define ROWS(OPS)                                                                       \
  WHOLE_TENSOR(OPS, sum)                                                                \
  WHOLE_TENSOR(OPS, mean)                                                               \
  WHOLE_TENSOR(OPS, prod)                                                               \
  WHOLE_TENSOR(OPS, max)                                                                \
  WHOLE_TENSOR(OPS, min)                                                                \
  WHOLE_TENSOR(OPS, any)                                                                \
  WHOLE_TENSOR(OPS, all)                                                                \
  AXIS(OPS, sum_dim)                                                                    \
  AXIS(OPS, mean_dim)                                                                   \
  AXIS(OPS, prod_dim)                                                                   \
  AXIS(OPS, max_dim)                                                                    \
  AXIS(OPS, min_dim)                                                                    \
  AXIS(OPS, any_dim)                                                                    \
  AXIS(OPS, all_dim)                                                                    \
  AXIS(OPS, argmax)                                                                     \
  AXIS(OPS, argmin)                                                                     \
  OPS(max_dim_with_indices, OUT(0) = burn_max_dim_with_indices(IN(0), DIM(0), &OUT(1))) \
  OPS(min_dim_with_indices, OUT(0) = burn_min_dim_with_indices(IN(0), DIM(0), &OUT(1))) \
  AXES(OPS, sum_dims)                                                                   \
  AXES(OPS, mean_dims)                                                                  \
  AXES(OPS, prod_dims)                                                                  \
  AXES(OPS, max_dims)                                                                   \
  AXES(OPS, min_dims)                                                                   \
  AXES(OPS, sum_dims_squeeze)                                                           \
  OPS(max_abs, OUT(0) = burn_max_abs(IN(0)))                                            \
  AXIS(OPS, max_abs_dim)                                                                \
  AXES(OPS, max_abs_dims)

OPS_MAIN("reductions", ROWS)
