/* trace_test.c - the decorator in two stacks: right values, right gradients, and it has seen the calls. */
#include "trace.h"

#include <burn/burn.h>
#include <burn/plugin/backend.h>

#include <math.h>
#include <stdio.h>

static int failures;

static void expect(const char *what, double value, double expected) {
  if (fabs(value - expected) <= 1e-6) return;
  printf("%s is %g, expected %g\n", what, value, expected);
  failures++;
}

/* The one value of a tensor. Takes x. */
static double value_of(BurnTensor *x) {
  double value = (double)NAN;
  const BurnStatus status = burn_read_scalar(x, &value);
  if (status != BURN_OK) printf("%s\n", burn_status_message(status));
  return value;
}

static BurnTensor *number(BurnDevice *device, float value) { return burn_tensor_f32(device, &value, BURN_SHAPE(1)); }

static void test_values_and_counts(void) {
  BurnDevice *device = burn_device_open("trace<ndarray>");
  expect("5 - 3", value_of(burn_sub(number(device, 5), number(device, 3))), 2);
  expect("2 * 8", value_of(burn_mul(number(device, 2), number(device, 8))), 16);
  const BurnBackend *top = burn_device_backend(device);
  BurnInterface found = {NULL, NULL};
  if (top && top->get_interface(top->self, "trace.counts", 1, &found)) {
    const TraceCounts *counts = (const TraceCounts *)found.table;
    expect("calls", (double)counts->calls(found.self), 2);
    expect("replaced calls", (double)counts->replaced(found.self), 1);
  } else {
    printf("no interface: %s\n", burn_status_message(burn_device_status(device)));
    failures++;
  }
  burn_device_close(device);
}

/* d(x - x * x)/dx = 1 - 2x */
static void test_gradient(void) {
  BurnDevice *device = burn_device_open("autodiff<trace<ndarray>>");
  BurnTensor *x = burn_require_grad(number(device, 3));
  BurnTensor *y = burn_sub(burn_clone(x), burn_mul(burn_clone(x), burn_clone(x)));
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(y, &gradients);
  if (status != BURN_OK) printf("%s\n", burn_status_message(status));
  expect("the gradient", status == BURN_OK ? value_of(burn_grad(x, gradients)) : (double)NAN, -5);
  burn_gradients_drop(gradients);
  burn_drop(x);
  burn_device_close(device);
}

int main(void) {
  test_values_and_counts();
  test_gradient();
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures ? 1 : 0;
}
