/* ops_index_test.c - ops by index and by mask; see ops_case.h. */
#define OPS_GOLDEN "ops_index_golden.h"
#include "ops_golden.h"

#define ROWS(OPS)                                                          \
  OPS(select, OUT(0) = burn_select(IN(0), DIM(0), IN(1)))                  \
  OPS(select_add, OUT(0) = burn_select_add(IN(0), DIM(0), IN(1), IN(2)))   \
  OPS(gather, OUT(0) = burn_gather(IN(0), DIM(0), IN(1)))                  \
  OPS(scatter_add, OUT(0) = burn_scatter_add(IN(0), DIM(0), IN(1), IN(2))) \
  OPS(mask_where, OUT(0) = burn_mask_where(IN(0), IN(1), IN(2)))           \
  OPS(mask_fill, OUT(0) = burn_mask_fill(IN(0), IN(1), NUMBER(0)))         \
  OPS(embedding, OUT(0) = burn_embedding(IN(0), IN(1)))

OPS_MAIN("index and mask", ROWS)
