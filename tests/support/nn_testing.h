/* nn_testing.h - what the nn tests share: devices, patterned tensors, comparison with golden values. */
#ifndef BURN_NN_TESTING_H
#define BURN_NN_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_stacks.h"

/* cmocka state: a plain and an autodiff device. */
typedef struct NnDevices {
  BurnDevice *plain, *training;
} NnDevices;

BURN_UNUSED static int nn_setup(void **state) {
  static NnDevices devices;
  devices.plain = test_stack_device("ndarray", false);
  devices.training = test_stack_device("ndarray", true);
  assert_string_equal("ok", burn_status_message(burn_device_status(devices.plain)));
  assert_string_equal("ok", burn_status_message(burn_device_status(devices.training)));
  *state = &devices;
  return 0;
}

BURN_UNUSED static int nn_teardown(void **state) {
  NnDevices *devices = *state;
  burn_device_close(devices->plain);
  burn_device_close(devices->training);
  return 0;
}

/* The test input k: numbers of -2 .. 2 that golden/make_nn_golden.py makes too. */
BURN_UNUSED static BurnTensor *nn_pattern(BurnDevice *device, BurnShape shape, int k) {
  float values[1024];
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  assert_in_range(count, 1, 1024);
  for (int64_t i = 0; i < count; i++) values[i] = (float)((double)((i * 37 + k * 11) % 101 - 50) / 25);
  return burn_tensor_f32(device, values, shape);
}

/* Takes x and compares all its values. */
BURN_UNUSED static void nn_assert_values(const char *name, BurnTensor *x, const double *expected, size_t count,
                                         double tolerance) {
  double found[1024];
  BurnStatus status = burn_tensor_status(x);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  assert_true(count <= 1024);
  if ((size_t)burn_element_count(x) != count) fail_msg("%s: %lld values", name, (long long)burn_element_count(x));
  status = burn_read_f64(x, found, count);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(found[i] - expected[i]) <= tolerance * (1 + fabs(expected[i])))) {
      fail_msg("%s: value %zu is %.9g, expected %.9g", name, i, found[i], expected[i]);
    }
  }
}

/* Compares with an array of nn_golden.h. */
#define NN_ASSERT_GOLDEN(name, x) \
  nn_assert_values(#name, (x), golden_##name, sizeof golden_##name / sizeof golden_##name[0], 2e-5)

/* Takes x, which must have failed with this message. */
BURN_UNUSED static void nn_assert_failed(BurnTensor *x, const char *message) {
  const BurnStatus status = burn_tensor_status(x);
  burn_drop(x);
  assert_string_equal(message, burn_status_message(status));
}

BURN_UNUSED static void nn_assert_shape(const BurnTensor *x, BurnShape expected) {
  const BurnShape shape = burn_shape(x);
  assert_int_equal(expected.rank, shape.rank);
  for (uint32_t i = 0; i < shape.rank; i++) assert_int_equal(expected.dims[i], shape.dims[i]);
}

#endif
