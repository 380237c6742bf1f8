/* ops_optimizer_test.c - steps of optimizers; see ops_case.h. */
#define OPS_GOLDEN "ops_optimizer_golden.h"
#include "ops_golden.h"

#define ROWS(OPS)                                                                                                  \
  OPS(adam_step, burn_adam_step(IN(0), IN(1), IN(2), IN(3), NUMBER(0), NUMBER(1), NUMBER(2), NUMBER(3), NUMBER(4), \
                                NUMBER(5), run->outputs))                                                          \
  OPS(sgd_step,                                                                                                    \
      burn_sgd_step(IN(0), IN(1), IN(2), NUMBER(0), NUMBER(1), NUMBER(2), NUMBER(3) != 0, NUMBER(4), run->outputs))

OPS_MAIN("optimizer steps", ROWS)
