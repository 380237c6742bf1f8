/* ownership_test.c - builds with guards: a handle that was taken is reported by both ops, forgotten handles are listed.
 *
 * Without guards these would be uses of freed memory, so the program then only says that it was skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if !defined(BURN_GUARDS)

int main(void) {
  puts("skipped: built without guards");
  return 0;
}

#else

static BurnDevice *device;

static BurnTensor *ones(void) { return burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32); }

/* Takes x, which must have failed like this. */
static void check_taken(BurnTensor *x, const char *message) {
  const BurnStatus status = burn_tensor_status(x);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_TENSOR_TAKEN);
  burn_drop(x);
}

static int open_device(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int close_device(void **state) {
  (void)state;
  const int64_t left = burn_device_memory(device).live_tensors;
  burn_device_close(device);
  return left == 0 ? 0 : -1;
}

/* -- use after take -----------------------------------------------------------------------------------------------------------
 */

/* burn_add(burn_relu(x), burn_clone(x)) where the compiler runs relu first. */
static void test_the_clone_comes_too_late(void **state) {
  (void)state;
  BurnTensor *x = ones();
  BurnTensor *first = burn_relu(x);
  BurnTensor *second = burn_clone(x);
  check_taken(burn_add(first, second), "clone: tensor already taken by relu");
}

/* The same expression where it runs clone first: nothing is wrong then. */
static void test_the_clone_comes_in_time(void **state) {
  (void)state;
  BurnTensor *x = ones();
  BurnTensor *second = burn_clone(x);
  BurnTensor *first = burn_relu(x);
  BurnTensor *sum = burn_add(first, second);
  assert_true(burn_tensor_status(sum) == BURN_OK);
  burn_drop(sum);
}

static void test_an_op_on_a_taken_tensor(void **state) {
  (void)state;
  BurnTensor *x = ones();
  BurnTensor *y = burn_relu(x);
  check_taken(burn_add(y, x), "add: tensor already taken by relu");
  check_taken(burn_sum_dim(x, 0), "sum_dim: tensor already taken by relu");
  check_taken(burn_reshape(x, BURN_SHAPE(6)), "reshape: tensor already taken by relu");
  check_taken(burn_mul_scalar(x, 2), "mul_scalar: tensor already taken by relu");
}

/* One handle for both inputs: it would be ended twice. */
static void test_one_handle_given_twice(void **state) {
  (void)state;
  BurnTensor *x = ones();
  BurnTensor *sum = burn_add(x, x);
  const BurnStatus status = burn_tensor_status(sum);
  assert_int_equal(burn_status_code(status), BURN_STATUS_TENSOR_TAKEN);
  assert_non_null(strstr(burn_status_message(status), "add: "));
  burn_drop(sum);
}

static void test_reading_a_taken_tensor(void **state) {
  (void)state;
  float values[6];
  BurnTensor *x = ones();
  assert_true(burn_read_f32(x, values, 6) == BURN_OK);
  const BurnStatus status = burn_read_f32(x, values, 6);
  assert_string_equal(burn_status_message(status), "read: tensor already taken by read");
  assert_int_equal(burn_rank(x), 0);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_DEFAULT);
  assert_null(burn_tensor_device(x));
  assert_string_equal(burn_status_message(burn_tensor_status(x)), "status: tensor already taken by read");
}

static void test_failed_ops_take_too(void **state) {
  (void)state;
  BurnTensor *x = ones();
  burn_drop(burn_matmul(x, burn_ones(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32)));
  check_taken(burn_clone(x), "clone: tensor already taken by matmul");
}

/* A failed tensor is a handle like any other. */
static void test_failed_tensors_are_taken(void **state) {
  (void)state;
  BurnTensor *x = burn_tensor_failed(burn_status_make(BURN_STATUS_IO, "first"));
  burn_drop(burn_relu(x));
  check_taken(burn_clone(x), "clone: tensor already taken by relu");
}

/* -- what is written to stderr -------------------------------------------------------------------------------------------- */

/* Runs body and returns what it wrote to stderr; the caller frees it. */
static char *stderr_of(void (*body)(void)) {
  fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  FILE *file = tmpfile();
  assert_true(saved >= 0);
  assert_non_null(file);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  body();
  fflush(stderr);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  char *text = calloc(1, 8192);
  assert_non_null(text);
  rewind(file);
  const size_t bytes = fread(text, 1, 8191, file);
  text[bytes] = '\0';
  fclose(file);
  return text;
}

static void drop_twice(void) {
  BurnTensor *x = ones();
  burn_drop(x);
  burn_drop(x);
}

static void test_dropping_twice_is_logged(void **state) {
  (void)state;
  char *text = stderr_of(drop_twice);
  assert_non_null(strstr(text, "drop: tensor already taken by drop"));
  free(text);
}

static BurnTensor *forgotten[16];

static void close_with_three(void) {
  BurnDevice *own = burn_device_open("ndarray");
  forgotten[0] = burn_tensor_i32(own, (int32_t[]){1, 2}, BURN_SHAPE(2));
  forgotten[1] = burn_relu(burn_ones(own, BURN_SHAPE(2, 3), BURN_DTYPE_F32));
  forgotten[2] = burn_clone(forgotten[1]);
  burn_device_close(own);
}

static void test_forgotten_tensors_are_listed(void **state) {
  (void)state;
  char *text = stderr_of(close_with_three);
  assert_non_null(strstr(text, "burn: device 'ndarray' closed with 3 live tensors:\n"));
  assert_non_null(strstr(text, "burn:   i32 [2] made by from data\n"));
  assert_non_null(strstr(text, "burn:   f32 [2,3] made by relu\n"));
  free(text);
  double total = 0; /* they still work: the device stays until the last of them */
  assert_true(burn_read_scalar(burn_sum(forgotten[1]), &total) == BURN_OK);
  assert_true(total > 5.5 && total < 6.5);
  burn_drop(forgotten[0]);
  burn_drop(forgotten[2]);
}

static void close_with_many(void) {
  BurnDevice *own = burn_device_open_training("ndarray");
  for (int i = 0; i < 13; i++) forgotten[i] = burn_zeros(own, BURN_SHAPE(1), BURN_DTYPE_F32);
  forgotten[13] = burn_inner(burn_ones(own, BURN_SHAPE(4), BURN_DTYPE_F32));
  burn_device_close(own);
}

static void test_a_long_list_is_cut(void **state) {
  (void)state;
  char *text = stderr_of(close_with_many);
  assert_non_null(strstr(text, "burn: device 'autodiff<ndarray>' closed with 13 live tensors:\n"));
  assert_non_null(strstr(text, "burn:   and 3 more\n"));
  assert_non_null(strstr(text, "burn: device 'ndarray' closed with 1 live tensors:\n")); /* the inner one */
  free(text);
  for (int i = 0; i < 14; i++) burn_drop(forgotten[i]);
}

static void close_clean(void) {
  BurnDevice *own = burn_device_open_training("ndarray");
  BurnTensor *x = burn_require_grad(burn_ones(own, BURN_SHAPE(4), BURN_DTYPE_F32));
  BurnGradients *gradients = NULL;
  if (burn_backward(burn_sum(burn_square(burn_clone(x))), &gradients) == BURN_OK) burn_drop(burn_grad(x, gradients));
  burn_drop(x);
  burn_gradients_drop(gradients);
  burn_device_close(own);
}

static void test_a_clean_close_is_silent(void **state) {
  (void)state;
  char *text = stderr_of(close_clean);
  assert_string_equal(text, "");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_the_clone_comes_too_late, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_the_clone_comes_in_time, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_an_op_on_a_taken_tensor, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_one_handle_given_twice, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_reading_a_taken_tensor, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_failed_ops_take_too, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_failed_tensors_are_taken, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_dropping_twice_is_logged, open_device, close_device),
      cmocka_unit_test(test_forgotten_tensors_are_listed),
      cmocka_unit_test(test_a_long_list_is_cut),
      cmocka_unit_test(test_a_clean_close_is_silent),
  };
  return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}

#endif
