/* my_kernels_test.c - the op against the same formula in Burn's own ops: by its kernel (f32), by its decomposition
 * (f64), on a transposed view, under autodiff; and what it says to wrong input. */
#include <burn/burn.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 5, COUNT = ROWS * COLUMNS };
#define FACTOR 0.25

static int failures;

static void fail(const char *what, const char *text) {
  printf("%s: %s\n", what, text);
  failures++;
}

/* Numbers that no two elements share, from `first` on. */
static BurnTensor *numbers(BurnDevice *device, double first, BurnDType dtype) {
  double values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = first + 0.5 * i - 0.03 * i * i;
  return burn_cast(burn_tensor_f64(device, values, BURN_SHAPE(ROWS, COLUMNS)), dtype);
}

/* Takes x and y. */
static BurnTensor *scaled_add(BurnTensor *x, BurnTensor *y, double factor) {
  BurnTensor *inputs[] = {x, y};
  const BurnAttr attrs[] = {burn_attr_f64(factor)};
  return burn_op("my_kernels.scaled_add", inputs, 2, attrs, 1);
}
static BurnTensor *plain(BurnTensor *x, BurnTensor *y, double factor) {
  return burn_add(x, burn_mul_scalar(y, factor));
}

/* Takes both; they must have equal values. */
static void expect_equal(const char *what, BurnTensor *ours, BurnTensor *theirs) {
  double a[COUNT] = {0}, b[COUNT] = {0};
  BurnStatus status = burn_read_f64(ours, a, COUNT);
  if (status != BURN_OK) fail(what, burn_status_message(status));
  status = burn_read_f64(theirs, b, COUNT);
  if (status != BURN_OK) fail(what, burn_status_message(status));
  for (int i = 0; i < COUNT; i++) {
    if (fabs(a[i] - b[i]) <= 1e-6) continue;
    fail(what, "values differ");
    return;
  }
}

/* Our op against plain ops. Takes x and y. */
static void compare(const char *what, BurnTensor *x, BurnTensor *y) {
  BurnTensor *ours = scaled_add(burn_clone(x), burn_clone(y), FACTOR), *theirs = plain(x, y, FACTOR);
  expect_equal(what, ours, theirs);
}

static void test_values(BurnDevice *device, BurnDType dtype) {
  compare(burn_dtype_name(dtype), numbers(device, -2, dtype), numbers(device, 1, dtype));
  /* Views: the kernel must look at strides. */
  compare("transposed", burn_transpose(numbers(device, -2, dtype)), burn_transpose(numbers(device, 1, dtype)));
}

static void test_gradients(void) {
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  BurnTensor *x = burn_require_grad(numbers(device, -2, BURN_DTYPE_F32)),
             *y = burn_require_grad(numbers(device, 1, BURN_DTYPE_F32));
  BurnGradients *ours = NULL, *theirs = NULL;
  const BurnStatus first = burn_backward(burn_sum(scaled_add(burn_clone(x), burn_clone(y), FACTOR)), &ours);
  const BurnStatus second = burn_backward(burn_sum(plain(burn_clone(x), burn_clone(y), FACTOR)), &theirs);
  if (first != BURN_OK || second != BURN_OK) {
    fail("backward", burn_status_message(first != BURN_OK ? first : second));
  } else {
    expect_equal("gradient of x", burn_grad(x, ours), burn_grad(x, theirs));
    expect_equal("gradient of y", burn_grad(y, ours), burn_grad(y, theirs));
  }
  burn_gradients_drop(ours);
  burn_gradients_drop(theirs);
  burn_drop(x);
  burn_drop(y);
  burn_device_close(device);
}

static void test_wrong_shape(BurnDevice *device) {
  BurnTensor *out =
      scaled_add(numbers(device, 0, BURN_DTYPE_F32), burn_transpose(numbers(device, 0, BURN_DTYPE_F32)), FACTOR);
  const char *message = burn_status_message(burn_tensor_status(out));
  if (!strstr(message, "differ at axis 0")) fail("a wrong shape", message);
  burn_drop(out);
}

int main(void) {
  BurnDevice *device = burn_device_open("ndarray");
  test_values(device, BURN_DTYPE_F32);
  test_values(device, BURN_DTYPE_F64);
  test_wrong_shape(device);
  burn_device_close(device);
  test_gradients();
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures ? 1 : 0;
}
