/* nn_gradients.h - a layer's value and gradients against one array of golden/nn_golden.py. */
#ifndef BURN_NN_GRADIENTS_H
#define BURN_NN_GRADIENTS_H

#include "nn_testing.h"

/* Pattern k as a leaf whose gradient is kept. */
BURN_UNUSED static BurnTensor *nn_leaf(BurnDevice *device, BurnShape shape, int k) {
  return burn_require_grad(nn_pattern(device, shape, k));
}

/* Replaces a parameter by pattern k of the same shape. */
BURN_UNUSED static void nn_set_pattern(BurnParam *param, int k) {
  const BurnShape shape = burn_shape(param->value);
  burn_param_set(param, nn_pattern(burn_tensor_device(param->value), shape, k));
}

/* Takes x, writes its values to found and returns how many they are, at most `room`. */
BURN_UNUSED static size_t nn_read(const char *name, BurnTensor *x, double *found, size_t room) {
  BurnStatus status = burn_tensor_status(x);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  const size_t count = (size_t)burn_element_count(x);
  if (count > room) fail_msg("%s: %zu values, at most %zu expected", name, count, room);
  status = burn_read_f64(x, found, count);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  return count;
}

/* Takes y; compares its values, and the gradients of sum(y * pattern 50) with regard to the leaves (which stay). */
BURN_UNUSED static void nn_assert_case(const char *name, BurnTensor *y, BurnTensor *const *leaves, size_t leaf_count,
                                       const double *expected, size_t count, double tolerance) {
  static double found[4096];
  BurnGradients *gradients = NULL;
  assert_true(count <= sizeof found / sizeof found[0]);
  size_t used = nn_read(name, burn_clone(y), found, count);
  if (leaf_count == 0) {
    burn_drop(y);
  } else {
    const BurnShape shape = burn_shape(y);
    BurnTensor *weights = nn_pattern(burn_tensor_device(y), shape, 50);
    const BurnStatus status = burn_backward(burn_sum(burn_mul(y, weights)), &gradients);
    if (status != BURN_OK) fail_msg("%s: backward: %s", name, burn_status_message(status));
  }
  for (size_t i = 0; i < leaf_count; i++) {
    BurnTensor *gradient = burn_grad(leaves[i], gradients);
    if (!gradient) fail_msg("%s: no gradient of leaf %zu", name, i);
    nn_assert_shape(gradient, burn_shape(leaves[i]));
    used += nn_read(name, gradient, found + used, count - used);
  }
  burn_gradients_drop(gradients);
  if (used != count) fail_msg("%s: %zu values and gradients, expected %zu", name, used, count);
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(found[i] - expected[i]) <= tolerance * (1 + fabs(expected[i])))) {
      fail_msg("%s: number %zu is %.9g, expected %.9g", name, i, found[i], expected[i]);
    }
  }
}

/* Compares with golden_<name>, within 2e-5 of the value plus 2e-5 (f32); the leaves follow. */
#define NN_ASSERT_CASE(name, y, ...)                                                             \
  do {                                                                                           \
    BurnTensor *const nn_leaves[] = {__VA_ARGS__};                                               \
    nn_assert_case(#name, (y), nn_leaves, sizeof nn_leaves / sizeof nn_leaves[0], golden_##name, \
                   sizeof golden_##name / sizeof golden_##name[0], 2e-5);                        \
  } while (0)

#endif
