/* ops_sort_test.c - sorting, and the first few of an axis; see ops_case.h. */
#define OPS_GOLDEN "ops_sort_golden.h"
#include "ops_golden.h"

#define AXIS(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), DIM(0)))

#define ROWS(OPS)                                                                                       \
  AXIS(OPS, argsort)                                                                                    \
  AXIS(OPS, argsort_descending)                                                                         \
  AXIS(OPS, sort)                                                                                       \
  AXIS(OPS, sort_descending)                                                                            \
  OPS(sort_with_indices, OUT(0) = burn_sort_with_indices(IN(0), DIM(0), &OUT(1)))                       \
  OPS(sort_descending_with_indices, OUT(0) = burn_sort_descending_with_indices(IN(0), DIM(0), &OUT(1))) \
  OPS(topk, OUT(0) = burn_topk(IN(0), WHOLE(0), DIM(1)))                                                \
  OPS(topk_with_indices, OUT(0) = burn_topk_with_indices(IN(0), WHOLE(0), DIM(1), &OUT(1)))             \
  OPS(argtopk, OUT(0) = burn_argtopk(IN(0), WHOLE(0), DIM(1)))

OPS_MAIN("sorting", ROWS)
