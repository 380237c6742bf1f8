/* ops_loss_test.c - losses, and the ops behind their gradient rules; see ops_case.h. */
#define OPS_GOLDEN "ops_loss_golden.h"
#include "ops_golden.h"

#define ROWS(OPS)                                                                       \
  OPS(mse, OUT(0) = burn_mse(IN(0), IN(1)))                                             \
  OPS(mse_backward, ops_call(run, BURN_OP_mse_backward, NULL, 0))                       \
  OPS(cross_entropy, OUT(0) = burn_cross_entropy(IN(0), IN(1)))                         \
  OPS(cross_entropy_backward, ops_call(run, BURN_OP_cross_entropy_backward, NULL, 0))   \
  OPS(cross_entropy_with_logits, OUT(0) = burn_cross_entropy_with_logits(IN(0), IN(1))) \
  OPS(ctc_loss, OUT(0) = burn_ctc_loss(IN(0), IN(1), IN(2), IN(3), WHOLE(0)))

OPS_MAIN("losses", ROWS)
