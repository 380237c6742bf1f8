/* ops_activation.c - the public activations: one row of ops.def each, by signature. */
#include "ops_internal.h"

UNARY(relu)
UNARY(sigmoid)
UNARY(gelu)
UNARY(gelu_approximate)
UNARY(silu)
UNARY(log_sigmoid)
UNARY(hard_swish)
UNARY(mish)
UNARY(selu)
UNARY(softsign)
UNARY(tanhshrink)

#define WITH_ONE(name, parameter)                            \
  BurnTensor *burn_##name(BurnTensor *x, double parameter) { \
    const BurnAttr attr = burn_attr_f64(parameter);          \
    return burn__apply(BURN_OP_##name, &x, 1, &attr, 1);     \
  }
WITH_ONE(leaky_relu, slope)
WITH_ONE(softplus, beta)
WITH_ONE(elu, alpha)
WITH_ONE(celu, alpha)
WITH_ONE(thresholded_relu, alpha)
WITH_ONE(hard_shrink, lambda)
WITH_ONE(soft_shrink, lambda)

#define WITH_TWO(name, first, second)                                       \
  BurnTensor *burn_##name(BurnTensor *x, double first, double second) {     \
    const BurnAttr attrs[] = {burn_attr_f64(first), burn_attr_f64(second)}; \
    return burn__apply(BURN_OP_##name, &x, 1, attrs, 2);                    \
  }
WITH_TWO(hard_sigmoid, alpha, beta)
WITH_TWO(hardtanh, min, max)
WITH_TWO(threshold, theta, value)
WITH_TWO(shrink, lambda, bias)

WITH_DIM(softmax)
WITH_DIM(log_softmax)
WITH_DIM(quiet_softmax)
WITH_DIM(softmin)
WITH_DIM(glu)

BurnTensor *burn_prelu(BurnTensor *x, BurnTensor *alpha) {
  return burn__apply(BURN_OP_prelu, (BurnTensor *const[]){x, alpha}, 2, NULL, 0);
}

BurnTensor *burn_dropout(BurnTensor *x, double prob) {
  BurnStatus status = burn__tensor_check(x, "dropout");
  if (status == BURN_OK && !(prob >= 0 && prob <= 1))
    status = BURN_FAIL(INVALID_ARGUMENT, "dropout: prob %g is not in 0..1", prob);
  if (status != BURN_OK) {
    burn__tensor_take(x, "dropout");
    return burn__tensor_failed(status);
  }
  BurnDevice *device = x->device;
  const BurnAttr attrs[] = {burn_attr_f64(prob), burn_attr_i64((int64_t)atomic_load(&device->seed)),
                            burn_attr_i64((int64_t)burn__random_offset(device, burn_element_count(x)))};
  return burn__apply(BURN_OP_dropout, &x, 1, attrs, 3);
}
