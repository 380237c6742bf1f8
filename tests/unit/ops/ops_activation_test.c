/* ops_activation_test.c - activations; see ops_case.h. */
#define OPS_GOLDEN "ops_activation_golden.h"
#include "ops_golden.h"

#define ROWS(OPS)                                                            \
  OPS(prelu, OUT(0) = burn_prelu(IN(0), IN(1)))                              \
  OPS(gelu_approximate, OUT(0) = burn_gelu_approximate(IN(0)))               \
  OPS(log_sigmoid, OUT(0) = burn_log_sigmoid(IN(0)))                         \
  OPS(hard_sigmoid, OUT(0) = burn_hard_sigmoid(IN(0), NUMBER(0), NUMBER(1))) \
  OPS(hard_swish, OUT(0) = burn_hard_swish(IN(0)))                           \
  OPS(mish, OUT(0) = burn_mish(IN(0)))                                       \
  OPS(elu, OUT(0) = burn_elu(IN(0), NUMBER(0)))                              \
  OPS(celu, OUT(0) = burn_celu(IN(0), NUMBER(0)))                            \
  OPS(selu, OUT(0) = burn_selu(IN(0)))                                       \
  OPS(softsign, OUT(0) = burn_softsign(IN(0)))                               \
  OPS(tanhshrink, OUT(0) = burn_tanhshrink(IN(0)))                           \
  OPS(threshold, OUT(0) = burn_threshold(IN(0), NUMBER(0), NUMBER(1)))       \
  OPS(thresholded_relu, OUT(0) = burn_thresholded_relu(IN(0), NUMBER(0)))    \
  OPS(hard_shrink, OUT(0) = burn_hard_shrink(IN(0), NUMBER(0)))              \
  OPS(soft_shrink, OUT(0) = burn_soft_shrink(IN(0), NUMBER(0)))              \
  OPS(shrink, OUT(0) = burn_shrink(IN(0), NUMBER(0), NUMBER(1)))             \
  OPS(hardtanh, OUT(0) = burn_hardtanh(IN(0), NUMBER(0), NUMBER(1)))         \
  OPS(glu, OUT(0) = burn_glu(IN(0), DIM(0)))                                 \
  OPS(softmin, OUT(0) = burn_softmin(IN(0), DIM(0)))                         \
  OPS(quiet_softmax, OUT(0) = burn_quiet_softmax(IN(0), DIM(0)))

OPS_MAIN("activations", ROWS)
