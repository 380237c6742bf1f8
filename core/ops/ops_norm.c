/* ops_norm.c - public normalizations. */
#include "ops_internal.h"

BurnTensor *burn_layer_norm(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, double epsilon) {
  const BurnAttr attr = burn_attr_f64(epsilon);
  return burn__apply(BURN_OP_layer_norm, (BurnTensor *const[]){x, gamma, beta}, 3, &attr, 1);
}

BurnTensor *burn_batch_norm(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, BurnTensor *mean, BurnTensor *var,
                            double epsilon) {
  const BurnAttr attr = burn_attr_f64(epsilon);
  return burn__apply(BURN_OP_batch_norm, (BurnTensor *const[]){x, gamma, beta, mean, var}, 5, &attr, 1);
}

BurnTensor *burn_batch_norm_train(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, double epsilon, BurnTensor **mean,
                                  BurnTensor **var) {
  BurnTensor *out[3];
  const BurnAttr attr = burn_attr_f64(epsilon);
  burn__apply_outputs(BURN_OP_batch_norm_train, (BurnTensor *const[]){x, gamma, beta}, 3, &attr, 1, out, 3);
  give(mean, out[1]);
  give(var, out[2]);
  return out[0];
}
