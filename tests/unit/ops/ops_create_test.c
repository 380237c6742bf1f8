/* ops_create_test.c - ops that make tensors: constants, ranges, masks, grids of positions; see ops_case.h. */
#define OPS_GOLDEN "ops_create_golden.h"
#include "ops_golden.h"

#define DTYPE(i) ((BurnDType)WHOLE(i))

#define ROWS(OPS)                                                                    \
  OPS(zeros, OUT(0) = burn_zeros(run->device, ops_shape(run, 1), DTYPE(0)))          \
  OPS(ones, OUT(0) = burn_ones(run->device, ops_shape(run, 1), DTYPE(0)))            \
  OPS(full, OUT(0) = burn_full(run->device, ops_shape(run, 2), DTYPE(0), NUMBER(1))) \
  OPS(zeros_like, OUT(0) = burn_zeros_like(IN(0)))                                   \
  OPS(ones_like, OUT(0) = burn_ones_like(IN(0)))                                     \
  OPS(full_like, OUT(0) = burn_full_like(IN(0), NUMBER(0)))                          \
  OPS(arange, OUT(0) = burn_arange(run->device, WHOLE(0), WHOLE(1), WHOLE(2)))       \
  OPS(eye, OUT(0) = burn_eye(run->device, WHOLE(1), DTYPE(0)))                       \
  OPS(empty, OUT(0) = burn_empty(run->device, ops_shape(run, 1), DTYPE(0)))          \
  OPS(empty_like, OUT(0) = burn_empty_like(IN(0)))                                   \
  OPS(cartesian_grid, OUT(0) = burn_cartesian_grid(run->device, ops_shape(run, 0)))  \
  OPS(triu_mask, OUT(0) = burn_triu_mask(run->device, ops_shape(run, 1), WHOLE(0)))  \
  OPS(tril_mask, OUT(0) = burn_tril_mask(run->device, ops_shape(run, 1), WHOLE(0)))  \
  OPS(diag_mask, OUT(0) = burn_diag_mask(run->device, ops_shape(run, 1), WHOLE(0)))

OPS_MAIN("creation", ROWS)
