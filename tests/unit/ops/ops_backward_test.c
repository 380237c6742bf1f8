/* ops_backward_test.c - the ops of gradient rules of activations, norms and losses, and batch_norm_train; see
 * ops_case.h. */
#define OPS_GOLDEN "ops_backward_golden.h"
#include "ops_golden.h"

/* An op without a public function, with its one attribute if it has one. Takes the inputs. */
static void plain(OpsRun *run, uint32_t op, const BurnAttr *attr) {
  BurnTensor *inputs[OPS_MAX_TENSORS];
  for (size_t i = 0; i < run->input_count; i++) inputs[i] = IN(i);
  burn_op_call(run->device, burn_op_info(op), inputs, run->input_count, attr, attr ? 1 : 0, run->outputs);
}
static void with_dim(OpsRun *run, uint32_t op) {
  const BurnAttr dim = burn_attr_i64(WHOLE(0));
  plain(run, op, &dim);
}
static void with_epsilon(OpsRun *run, uint32_t op) {
  const BurnAttr epsilon = burn_attr_f64(NUMBER(0));
  plain(run, op, &epsilon);
}

#define ROWS(OPS)                                                                                         \
  OPS(gelu_backward, plain(run, BURN_OP_gelu_backward, NULL))                                             \
  OPS(softmax_backward, with_dim(run, BURN_OP_softmax_backward))                                          \
  OPS(log_softmax_backward, with_dim(run, BURN_OP_log_softmax_backward))                                  \
  OPS(layer_norm_backward, with_epsilon(run, BURN_OP_layer_norm_backward))                                \
  OPS(linear_backward, plain(run, BURN_OP_linear_backward, NULL))                                         \
  OPS(mse, OUT(0) = burn_mse(IN(0), IN(1)))                                                               \
  OPS(mse_backward, plain(run, BURN_OP_mse_backward, NULL))                                               \
  OPS(cross_entropy, OUT(0) = burn_cross_entropy(IN(0), IN(1)))                                           \
  OPS(cross_entropy_backward, plain(run, BURN_OP_cross_entropy_backward, NULL))                           \
  OPS(batch_norm, OUT(0) = burn_batch_norm(IN(0), IN(1), IN(2), IN(3), IN(4), NUMBER(0)))                 \
  OPS(batch_norm_train, OUT(0) = burn_batch_norm_train(IN(0), IN(1), IN(2), NUMBER(0), &OUT(1), &OUT(2))) \
  OPS(batch_norm_train_backward, with_epsilon(run, BURN_OP_batch_norm_train_backward))

OPS_MAIN("gradients of activations, norms and losses", ROWS)
