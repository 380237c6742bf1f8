/* autodiff_leaf_test.c - making a leaf: a tensor that nobody else holds becomes it, one that is shared stays untracked
 * for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

static unsigned allocations; /* by the plugins of the device */

static void *BURN_API_CALL counted_allocate(uint64_t bytes) {
  allocations++;
  return burn_host()->allocate(bytes);
}

static BurnDevice *device;
static BurnHost host;

static int open_device(void **state) {
  (void)state;
  host = *burn_host();
  host.allocate = counted_allocate;
  device = burn_device_open_with_host("autodiff<ndarray>", &host);
  return burn_device_status(device) != BURN_OK;
}

static int close_device(void **state) {
  (void)state;
  burn_device_close(device);
  return 0;
}

static BurnTensor *pair(void) { return burn_tensor_f32(device, (const float[]){2, 3}, BURN_SHAPE(2)); }

/* The gradient of the sum of squares of x (taken) is 2 x. */
static void check_leaf(BurnTensor *x) {
  assert_true(burn_is_require_grad(x));
  BurnGradients *gradients = NULL;
  assert_int_equal(burn_backward(burn_sum(burn_square(burn_clone(x))), &gradients), BURN_OK);
  BurnTensor *gradient = burn_grad_remove(x, gradients);
  float values[2];
  assert_int_equal(burn_read(gradient, values, sizeof values), BURN_OK);
  assert_true(values[0] == 4 && values[1] == 6);
  burn_gradients_drop(gradients);
  burn_drop(x);
}

static void a_tensor_that_nobody_shares_becomes_the_leaf(void **state) {
  (void)state;
  BurnTensor *x = pair();
  allocations = 0;
  x = burn_require_grad(x);
  assert_int_equal(allocations, 1); /* its node */
  check_leaf(x);
}

static void a_shared_tensor_stays_untracked(void **state) {
  (void)state;
  BurnTensor *x = pair(), *other = burn_clone(x);
  allocations = 0;
  x = burn_require_grad(x);
  assert_int_equal(allocations, 2); /* its node, and a tensor of its own */
  assert_false(burn_is_tracked(other) || burn_is_require_grad(other));
  burn_drop(other);
  check_leaf(x);
}

static void a_value_from_below_becomes_the_leaf(void **state) {
  (void)state;
  BurnTensor *inner = burn_inner(pair()), *same = burn_clone(inner);
  check_leaf(burn_require_grad(burn_from_inner(inner, device)));
  float values[2];
  assert_int_equal(burn_read(same, values, sizeof values), BURN_OK);
  assert_true(values[0] == 2 && values[1] == 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tensor_that_nobody_shares_becomes_the_leaf),
      cmocka_unit_test(a_shared_tensor_stays_untracked),
      cmocka_unit_test(a_value_from_below_becomes_the_leaf),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
