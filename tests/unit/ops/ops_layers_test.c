/* ops_layers_test.c - activations, products, convolutions, pools, norms, losses, optimizer steps; see ops_case.h. */
#define OPS_GOLDEN "ops_layers_golden.h"
#include "ops_golden.h"

static BurnConv2dOptions conv_options(const OpsRun *run) {
  BurnConv2dOptions options = {
      {WHOLE(0), WHOLE(1)}, {WHOLE(2), WHOLE(3)}, {WHOLE(4), WHOLE(5)}, WHOLE(6), {0, 0}, false, {0, 0}};
  if (run->number_count > 7) {
    options.padding_out[0] = WHOLE(7);
    options.padding_out[1] = WHOLE(8);
  }
  return options;
}

static BurnConv1dOptions conv1d_options(const OpsRun *run) {
  return (BurnConv1dOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3), 0, false, 0};
}

static BurnPool2dOptions pool_options(const OpsRun *run) {
  return (BurnPool2dOptions){{WHOLE(0), WHOLE(1)}, {WHOLE(2), WHOLE(3)}, {WHOLE(4), WHOLE(5)},
                             {WHOLE(6), WHOLE(7)}, WHOLE(8) != 0,        WHOLE(9) != 0};
}

static BurnTensor *weight_backward(OpsRun *run) {
  const int64_t *w = run->wholes;
  const BurnAttr attrs[] = {burn_attr_i64s(w + 7, 4), burn_attr_i64s(w, 2), burn_attr_i64s(w + 2, 2),
                            burn_attr_i64s(w + 4, 2), burn_attr_i64(w[6])};
  BurnTensor *const inputs[] = {IN(0), IN(1)};
  return ops_raw(run, BURN_OP_conv2d_weight_backward, inputs, 2, attrs, 5);
}

/* The gradients of pools start with the shape of the input. */
static BurnTensor *pool_backward(OpsRun *run, uint32_t op, uint32_t input_count) {
  const int64_t *w = run->wholes;
  const BurnAttr attrs[] = {burn_attr_i64s(w, 4), burn_attr_i64s(w + 4, 2), burn_attr_i64s(w + 6, 2),
                            burn_attr_i64s(w + 8, 2), burn_attr_bool((int)w[10])};
  BurnTensor *const inputs[] = {IN(0), IN(1)};
  return ops_raw(run, op, inputs, input_count, attrs, op == BURN_OP_avg_pool2d_backward ? 5 : 1);
}

static BurnTensor *relu_backward(OpsRun *run) {
  BurnTensor *const inputs[] = {IN(0), IN(1)};
  return ops_raw(run, BURN_OP_relu_backward, inputs, 2, NULL, 0);
}

#define ROWS(OPS)                                                                                                  \
  OPS(relu, OUT(0) = burn_relu(IN(0)))                                                                             \
  OPS(relu_backward, OUT(0) = relu_backward(run))                                                                  \
  OPS(leaky_relu, OUT(0) = burn_leaky_relu(IN(0), NUMBER(0)))                                                      \
  OPS(sigmoid, OUT(0) = burn_sigmoid(IN(0)))                                                                       \
  OPS(gelu, OUT(0) = burn_gelu(IN(0)))                                                                             \
  OPS(silu, OUT(0) = burn_silu(IN(0)))                                                                             \
  OPS(softplus, OUT(0) = burn_softplus(IN(0), NUMBER(0)))                                                          \
  OPS(softmax, OUT(0) = burn_softmax(IN(0), DIM(0)))                                                               \
  OPS(log_softmax, OUT(0) = burn_log_softmax(IN(0), DIM(0)))                                                       \
  OPS(matmul, OUT(0) = burn_matmul(IN(0), IN(1)))                                                                  \
  OPS(linear, OUT(0) = burn_linear(IN(0), IN(1), IN(2)))                                                           \
  OPS(conv1d, OUT(0) = burn_conv1d(IN(0), IN(1), IN(2), conv1d_options(run)))                                      \
  OPS(conv2d, OUT(0) = burn_conv2d(IN(0), IN(1), IN(2), conv_options(run)))                                        \
  OPS(conv2d_weight_backward, OUT(0) = weight_backward(run))                                                       \
  OPS(conv_transpose2d, OUT(0) = burn_conv_transpose2d(IN(0), IN(1), IN(2), conv_options(run)))                    \
  OPS(max_pool2d, OUT(0) = burn_max_pool2d(IN(0), pool_options(run)))                                              \
  OPS(max_pool2d_with_indices, OUT(0) = burn_max_pool2d_with_indices(IN(0), pool_options(run), &OUT(1)))           \
  OPS(max_pool2d_backward, OUT(0) = pool_backward(run, BURN_OP_max_pool2d_backward, 2))                            \
  OPS(avg_pool2d, OUT(0) = burn_avg_pool2d(IN(0), pool_options(run)))                                              \
  OPS(avg_pool2d_backward, OUT(0) = pool_backward(run, BURN_OP_avg_pool2d_backward, 1))                            \
  OPS(adaptive_avg_pool2d, OUT(0) = burn_adaptive_avg_pool2d(IN(0), run->wholes))                                  \
  OPS(adaptive_avg_pool2d_backward, OUT(0) = pool_backward(run, BURN_OP_adaptive_avg_pool2d_backward, 1))          \
  OPS(layer_norm, OUT(0) = burn_layer_norm(IN(0), IN(1), IN(2), NUMBER(0)))                                        \
  OPS(dropout, OUT(0) = burn_dropout(IN(0), NUMBER(0)))                                                            \
  OPS(cross_entropy, OUT(0) = burn_cross_entropy(IN(0), IN(1)))                                                    \
  OPS(adam_step, burn_adam_step(IN(0), IN(1), IN(2), IN(3), NUMBER(0), NUMBER(1), NUMBER(2), NUMBER(3), NUMBER(4), \
                                NUMBER(5), run->outputs))                                                          \
  OPS(sgd_step,                                                                                                    \
      burn_sgd_step(IN(0), IN(1), IN(2), NUMBER(0), NUMBER(1), NUMBER(2), NUMBER(3) != 0, NUMBER(4), run->outputs))

OPS_MAIN("activations and layers", ROWS)
