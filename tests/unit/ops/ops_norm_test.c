/* ops_norm_test.c - normalizations, and the ops behind their gradient rules; see ops_case.h. */
#define OPS_GOLDEN "ops_norm_golden.h"
#include "ops_golden.h"

/* An op whose attribute is the first number. */
static void with_epsilon(OpsRun *run, uint32_t op) {
  const BurnAttr epsilon = burn_attr_f64(NUMBER(0));
  ops_call(run, op, &epsilon, 1);
}

#define ROWS(OPS)                                                                                         \
  OPS(layer_norm, OUT(0) = burn_layer_norm(IN(0), IN(1), IN(2), NUMBER(0)))                               \
  OPS(layer_norm_backward, with_epsilon(run, BURN_OP_layer_norm_backward))                                \
  OPS(batch_norm, OUT(0) = burn_batch_norm(IN(0), IN(1), IN(2), IN(3), IN(4), NUMBER(0)))                 \
  OPS(batch_norm_train, OUT(0) = burn_batch_norm_train(IN(0), IN(1), IN(2), NUMBER(0), &OUT(1), &OUT(2))) \
  OPS(batch_norm_train_backward, with_epsilon(run, BURN_OP_batch_norm_train_backward))

OPS_MAIN("norms", ROWS)
