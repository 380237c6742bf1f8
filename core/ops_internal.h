/* ops_internal.h - small steps of public ops: inputs that are taken when something is wrong with them, rows with a dim. */
#ifndef BURN_OPS_INTERNAL_H
#define BURN_OPS_INTERNAL_H

#include "core_internal.h"

/* Takes x and fails. */
static inline BurnTensor *fail(BurnTensor *x, const char *user, BurnStatus status) {
  burn__tensor_take(x, user);
  return burn__tensor_failed(status);
}

/* Takes all of them and fails. */
static inline BurnTensor *fail_all(BurnTensor *const *tensors, size_t count, const char *user, BurnStatus status) {
  burn__tensor_take_all(tensors, count, user);
  return burn__tensor_failed(status);
}

/* The public function of an op whose attribute is a dim. */
#define WITH_DIM(name) \
  BurnTensor *burn_##name(BurnTensor *x, int dim) { return burn__apply_dim(BURN_OP_##name, x, dim); }

#endif
