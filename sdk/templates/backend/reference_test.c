/* reference_test.c - a first look at the backend: a product, an op that it leaves to its decomposition, a gradient, and
 * nothing left alive. `burn conform` tests the rest. */
#include <burn/burn.h>

#include <math.h>
#include <stdio.h>

static int failures;

/* Takes x. */
static void expect(const char *what, BurnTensor *x, const double *expected, size_t count) {
  double values[4] = {0};
  const BurnStatus status = burn_read_f64(x, values, count);
  if (status != BURN_OK) printf("%s: %s\n", what, burn_status_message(status));
  int wrong = status != BURN_OK;
  for (size_t i = 0; i < count && !wrong; i++) {
    wrong = fabs(values[i] - expected[i]) > 1e-6;
    if (wrong) printf("%s: value %zu is %g, expected %g\n", what, i, values[i], expected[i]);
  }
  failures += wrong;
}

static BurnTensor *matrix(BurnDevice *device, float a, float b, float c, float d) {
  const float values[] = {a, b, c, d};
  return burn_tensor_f32(device, values, BURN_SHAPE(2, 2));
}

static void test_values(void) {
  BurnDevice *device = burn_device_open("reference");
  expect("matmul", burn_matmul(matrix(device, 1, 2, 3, 4), matrix(device, 5, 6, 7, 8)), (double[]){19, 22, 43, 50}, 4);
  expect("softmax", burn_softmax(matrix(device, 1, 1, 0, logf(3)), 1), (double[]){0.5, 0.5, 0.25, 0.75}, 4);
  const int64_t alive = burn_device_memory(device).live_tensors;
  if (alive != 0) printf("%lld tensors are still alive\n", (long long)alive);
  failures += alive != 0;
  burn_device_close(device);
}

/* d(sum(x * x))/dx = 2x */
static void test_gradient(void) {
  BurnDevice *device = burn_device_open("autodiff<reference>");
  BurnTensor *x = burn_require_grad(matrix(device, 1, -2, 3, 0));
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(burn_sum(burn_mul(burn_clone(x), burn_clone(x))), &gradients);
  if (status == BURN_OK) {
    expect("gradient", burn_grad(x, gradients), (double[]){2, -4, 6, 0}, 4);
  } else {
    printf("backward: %s\n", burn_status_message(status));
    failures++;
  }
  burn_gradients_drop(gradients);
  burn_drop(x);
  burn_device_close(device);
}

int main(void) {
  test_values();
  test_gradient();
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures ? 1 : 0;
}
