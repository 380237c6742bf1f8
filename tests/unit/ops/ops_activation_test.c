/* ops_activation_test.c - activations, dropout, and the ops behind their gradient rules; see ops_case.h. */
#define OPS_GOLDEN "ops_activation_golden.h"
#include "ops_golden.h"

static BurnTensor *relu_backward(OpsRun *run) {
  BurnTensor *const inputs[] = {IN(0), IN(1)};
  return ops_raw(run, BURN_OP_relu_backward, inputs, 2, NULL, 0);
}

/* An op whose attribute is an axis, the first number. */
static void with_dim(OpsRun *run, uint32_t op) {
  const BurnAttr dim = burn_attr_i64(WHOLE(0));
  ops_call(run, op, &dim, 1);
}

#define ROWS(OPS)                                                            \
  OPS(relu, OUT(0) = burn_relu(IN(0)))                                       \
  OPS(relu_backward, OUT(0) = relu_backward(run))                            \
  OPS(leaky_relu, OUT(0) = burn_leaky_relu(IN(0), NUMBER(0)))                \
  OPS(sigmoid, OUT(0) = burn_sigmoid(IN(0)))                                 \
  OPS(gelu, OUT(0) = burn_gelu(IN(0)))                                       \
  OPS(silu, OUT(0) = burn_silu(IN(0)))                                       \
  OPS(softplus, OUT(0) = burn_softplus(IN(0), NUMBER(0)))                    \
  OPS(softmax, OUT(0) = burn_softmax(IN(0), DIM(0)))                         \
  OPS(log_softmax, OUT(0) = burn_log_softmax(IN(0), DIM(0)))                 \
  OPS(dropout, OUT(0) = burn_dropout(IN(0), NUMBER(0)))                      \
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
  OPS(quiet_softmax, OUT(0) = burn_quiet_softmax(IN(0), DIM(0)))             \
  OPS(gelu_backward, ops_call(run, BURN_OP_gelu_backward, NULL, 0))          \
  OPS(softmax_backward, with_dim(run, BURN_OP_softmax_backward))             \
  OPS(log_softmax_backward, with_dim(run, BURN_OP_log_softmax_backward))

OPS_MAIN("activations", ROWS)
