/* ops_index_test.c - ops by index and by mask; see ops_case.h. */
#define OPS_GOLDEN "ops_index_golden.h"
#include "ops_golden.h"

static void nonzero(OpsRun *run) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0);
  const BurnStatus refused = burn_nonzero(burn_clone(x), NULL, 0, &needed);
  const BurnStatus status = burn_nonzero(x, run->outputs, OPS_MAX_TENSORS, &count);
  ops_check_count(status, count, refused, needed);
}

#define ROWS(OPS)                                                                        \
  OPS(select, OUT(0) = burn_select(IN(0), DIM(0), IN(1)))                                \
  OPS(select_add, OUT(0) = burn_select_add(IN(0), DIM(0), IN(1), IN(2)))                 \
  OPS(gather, OUT(0) = burn_gather(IN(0), DIM(0), IN(1)))                                \
  OPS(scatter_add, OUT(0) = burn_scatter_add(IN(0), DIM(0), IN(1), IN(2)))               \
  OPS(mask_where, OUT(0) = burn_mask_where(IN(0), IN(1), IN(2)))                         \
  OPS(mask_fill, OUT(0) = burn_mask_fill(IN(0), IN(1), NUMBER(0)))                       \
  OPS(embedding, OUT(0) = burn_embedding(IN(0), IN(1)))                                  \
  OPS(select_assign, OUT(0) = burn_select_assign(IN(0), DIM(0), IN(1), IN(2), WHOLE(1))) \
  OPS(scatter, OUT(0) = burn_scatter(IN(0), DIM(0), IN(1), IN(2), WHOLE(1)))             \
  OPS(gather_nd, OUT(0) = burn_gather_nd(IN(0), IN(1)))                                  \
  OPS(scatter_nd, OUT(0) = burn_scatter_nd(IN(0), IN(1), IN(2), WHOLE(0)))               \
  OPS(take, OUT(0) = burn_take(IN(0), DIM(0), IN(1)))                                    \
  OPS(mask_select, OUT(0) = burn_mask_select(IN(0), IN(1)))                              \
  OPS(argwhere, OUT(0) = burn_argwhere(IN(0)))                                           \
  OPS(nonzero, nonzero(run))                                                             \
  OPS(one_hot, OUT(0) = burn_one_hot(IN(0), WHOLE(0)))                                   \
  OPS(one_hot_fill, OUT(0) = burn_one_hot_fill(IN(0), WHOLE(0), NUMBER(1), NUMBER(2), DIM(3)))

OPS_MAIN("index and mask", ROWS)
