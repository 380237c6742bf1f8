/* ops_pool_test.c - pools of lines, planes and volumes, and their gradients; see ops_case.h. */
#define OPS_GOLDEN "ops_pool_golden.h"
#include "ops_golden.h"

#define PAIR(i) \
  { WHOLE(i), WHOLE((i) + 1) }

static BurnPool2dOptions pool_options(const OpsRun *run) {
  return (BurnPool2dOptions){{WHOLE(0), WHOLE(1)}, {WHOLE(2), WHOLE(3)}, {WHOLE(4), WHOLE(5)},
                             {WHOLE(6), WHOLE(7)}, WHOLE(8) != 0,        WHOLE(9) != 0};
}

static BurnPool1dOptions pool(const OpsRun *run) {
  return (BurnPool1dOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3), WHOLE(4) != 0, WHOLE(5) != 0};
}

static BurnPool2dOptions pool_2d(const OpsRun *run, size_t at) {
  return (BurnPool2dOptions){PAIR(at), PAIR(at + 2), PAIR(at + 4), {1, 1}, false, WHOLE(at + 6) != 0};
}

/* A shape of four numbers. */
static BurnShape shape_4(const OpsRun *run, size_t at) {
  return BURN_SHAPE(WHOLE(at), WHOLE(at + 1), WHOLE(at + 2), WHOLE(at + 3));
}

/* The gradients of pools that have one attribute, the shape of the input. */
static BurnTensor *pool_backward(OpsRun *run, uint32_t op, uint32_t input_count) {
  const BurnAttr shape = burn_attr_i64s(run->wholes, 4);
  BurnTensor *const inputs[] = {IN(0), IN(1)};
  return ops_raw(run, op, inputs, input_count, &shape, 1);
}

/* The op itself and the public function, which must agree to the last bit. */
static BurnTensor *avg_backward(OpsRun *run) {
  BurnTensor *grad = IN(0);
  const int64_t *w = run->wholes;
  const BurnAttr attrs[] = {burn_attr_i64s(w, 4), burn_attr_i64s(w + 4, 2), burn_attr_i64s(w + 6, 2),
                            burn_attr_i64s(w + 8, 2), burn_attr_bool((int)w[10])};
  BurnTensor *const copies[] = {burn_clone(grad)};
  BurnTensor *raw = ops_raw(run, BURN_OP_avg_pool2d_backward, copies, 1, attrs, 5);
  return ops_same(burn_avg_pool2d_backward(grad, shape_4(run, 0), pool_2d(run, 4)), raw);
}

#define ROWS(OPS)                                                                                                      \
  OPS(max_pool2d, OUT(0) = burn_max_pool2d(IN(0), pool_options(run)))                                                  \
  OPS(max_pool2d_with_indices, OUT(0) = burn_max_pool2d_with_indices(IN(0), pool_options(run), &OUT(1)))               \
  OPS(max_pool2d_backward, OUT(0) = pool_backward(run, BURN_OP_max_pool2d_backward, 2))                                \
  OPS(avg_pool2d, OUT(0) = burn_avg_pool2d(IN(0), pool_options(run)))                                                  \
  OPS(avg_pool2d_backward, OUT(0) = avg_backward(run))                                                                 \
  OPS(adaptive_avg_pool2d, OUT(0) = burn_adaptive_avg_pool2d(IN(0), run->wholes))                                      \
  OPS(adaptive_avg_pool2d_backward, OUT(0) = pool_backward(run, BURN_OP_adaptive_avg_pool2d_backward, 1))              \
  OPS(max_pool2d_with_indices_backward, OUT(0) = burn_max_pool2d_with_indices_backward(IN(0), IN(1), shape_4(run, 0))) \
  OPS(max_pool1d, OUT(0) = burn_max_pool1d(IN(0), pool(run)))                                                          \
  OPS(max_pool1d_with_indices, OUT(0) = burn_max_pool1d_with_indices(IN(0), pool(run), &OUT(1)))                       \
  OPS(avg_pool1d, OUT(0) = burn_avg_pool1d(IN(0), pool(run)))                                                          \
  OPS(adaptive_avg_pool1d, OUT(0) = burn_adaptive_avg_pool1d(IN(0), WHOLE(0)))                                         \
  OPS(adaptive_avg_pool3d, OUT(0) = burn_adaptive_avg_pool3d(IN(0), run->wholes))

OPS_MAIN("pools", ROWS)
