/* ops_reduce_test.c - reductions of whole tensors and along an axis; see ops_case.h. */
#define OPS_GOLDEN "ops_reduce_golden.h"
#include "ops_golden.h"

#define WHOLE_TENSOR(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0)))
#define AXIS(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), DIM(0)))

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
  AXIS(OPS, var)                                                                        \
  AXIS(OPS, var_bias)                                                                   \
  OPS(max_dim_with_indices, OUT(0) = burn_max_dim_with_indices(IN(0), DIM(0), &OUT(1))) \
  OPS(min_dim_with_indices, OUT(0) = burn_min_dim_with_indices(IN(0), DIM(0), &OUT(1)))

OPS_MAIN("reductions", ROWS)
