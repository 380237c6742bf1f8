/* sequence_testing.h - what the tests of layers over sequences share: patterned parameters, and cases of
 * golden/make_sequence_golden.py with the gradients of all of them. */
#ifndef BURN_SEQUENCE_TESTING_H
#define BURN_SEQUENCE_TESTING_H

#include "nn_gradients.h"

/* nn_pattern times a scale. */
BURN_UNUSED static BurnTensor *seq_pattern(BurnDevice *device, BurnShape shape, int k, double scale) {
  return burn_mul_scalar(nn_pattern(device, shape, k), scale);
}

/* The same as a leaf whose gradient is kept. */
BURN_UNUSED static BurnTensor *seq_leaf(BurnDevice *device, BurnShape shape, int k, double scale) {
  return burn_require_grad(seq_pattern(device, shape, k, scale));
}

typedef struct SeqParams {
  int next;
  double scale;
} SeqParams;

BURN_UNUSED static BurnStatus seq_set_param(void *context, const BurnModuleTensor *tensor) {
  SeqParams *params = context;
  BurnTensor *value = tensor->param->value;
  value = seq_pattern(burn_tensor_device(value), burn_shape(value), params->next++, params->scale);
  burn_param_set(tensor->param, value);
  return BURN_OK;
}

/* Parameters become patterns 2, 3, .. in the order of the record, times a scale. */
BURN_UNUSED static void seq_set_params(BurnModule module, double scale) {
  SeqParams params = {2, scale};
  assert_string_equal("ok", burn_status_message(burn_module_status(module)));
  assert_string_equal("ok", burn_status_message(burn_module_visit(module, seq_set_param, &params)));
}

enum { SEQ_LEAVES_MAX = 128 };

typedef struct SeqLeaves {
  BurnTensor *leaves[SEQ_LEAVES_MAX];
  size_t count;
} SeqLeaves;

BURN_UNUSED static BurnStatus seq_add_param(void *context, const BurnModuleTensor *tensor) {
  SeqLeaves *list = context;
  assert_true(list->count < SEQ_LEAVES_MAX);
  list->leaves[list->count++] = tensor->param->value;
  return BURN_OK;
}

/* Takes y; its leaves are the inputs (borrowed) and then all parameters of the module. */
BURN_UNUSED static void seq_assert_case(const char *name, BurnTensor *y, BurnModule module, BurnTensor *const *inputs,
                                        size_t count, const double *expected, size_t expected_count) {
  SeqLeaves list = {.count = count};
  for (size_t i = 0; i < count; i++) list.leaves[i] = inputs[i];
  assert_string_equal("ok", burn_status_message(burn_module_visit(module, seq_add_param, &list)));
  nn_assert_case(name, y, list.leaves, list.count, expected, expected_count, 5e-5);
}

/* Compares with golden_<name>, within 5e-5 of the value plus 5e-5 (f32): y of a module (a pointer), whose inputs follow.
 */
#define SEQ_ASSERT_CASE(name, y, Type, module, ...)                                                                \
  do {                                                                                                             \
    BurnTensor *const seq_inputs[] = {__VA_ARGS__};                                                                \
    seq_assert_case(#name, (y), burn_module(Type, (module)), seq_inputs, sizeof seq_inputs / sizeof seq_inputs[0], \
                    golden_##name, sizeof golden_##name / sizeof golden_##name[0]);                                \
  } while (0)

#endif
