/* ownership_test.c - guards, switched on in the library as it is shipped: a handle that was taken is reported by both
 * ops, forgotten handles are listed, each with the line of this file where libdw can tell it (the file is compiled with
 * -g). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include "forked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <dlfcn.h>
#endif

static BurnDevice *device;
static bool has_lines; /* else places are addresses, and a static build has none */

static bool can_find_lines(void) {
#if defined(__linux__) && !defined(BURN_TEST_STATIC)
  return dlopen("libdw.so.1", RTLD_NOW) != NULL;
#else
  return false;
#endif
}

/* `text` is `message`, followed by the place in this file where something was done, in one of `count` lines from `line`
 * on. */
static void check_place(const char *text, const char *message, int line, int count) {
  const size_t length = strlen(message);
  char place[64];
  if (strncmp(text, message, length) != 0) fail_msg("'%s' does not begin with '%s'", text, message);
  for (int i = 0; i < count; i++) {
    (void)snprintf(place, sizeof place, " at ownership_test.c:%d", line + i);
    if (strncmp(text + length, place, strlen(place)) == 0) return;
  }
  if (has_lines) fail_msg("'%s' does not name line %d", text, line);
}

static BurnTensor *ones(void) { return burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32); }

/* Takes x, which must have failed like this: the tensor was taken in this line or one of the 3 before. */
#define check_taken(x, message) check_taken_above(x, message, __LINE__ - 3, 4)
static void check_taken_above(BurnTensor *x, const char *message, int line, int count) {
  const BurnStatus status = burn_tensor_status(x);
  check_place(burn_status_message(status), message, line, count);
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

/* -- use after take --------------------------------------------------------------------------- */

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
  const int line = __LINE__ - 1;
  check_taken_above(burn_add(y, x), "add: tensor already taken by relu", line, 1);
  check_taken_above(burn_sum_dim(x, 0), "sum_dim: tensor already taken by relu", line, 1);
  check_taken_above(burn_reshape(x, BURN_SHAPE(6)), "reshape: tensor already taken by relu", line, 1);
  check_taken_above(burn_mul_scalar(x, 2), "mul_scalar: tensor already taken by relu", line, 1);
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
  const int line = __LINE__ - 1;
  const BurnStatus status = burn_read_f32(x, values, 6);
  check_place(burn_status_message(status), "read: tensor already taken by read", line, 1);
  assert_int_equal(burn_rank(x), 0);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_DEFAULT);
  assert_null(burn_tensor_device(x));
  const BurnStatus seen = burn_tensor_status(x);
  check_place(burn_status_message(seen), "status: tensor already taken by read", line, 1);
}

/* What everybody gets wrong first: burn_print takes. burn_show does not. */
static void test_printing_takes(void **state) {
  (void)state;
  BurnTensor *x = ones();
  burn_show(x);
  assert_true(burn_tensor_status(x) == BURN_OK);
  FILE *file = tmpfile();
  assert_non_null(file);
  burn_print_to(file, x);
  fclose(file);
  check_taken(burn_relu(x), "relu: tensor already taken by print");
}

/* -- what is not a tensor ------------------------------------------------------------------------ */

static void check_no_tensor(BurnTensor *x) {
  BurnTensor *y = burn_relu(x);
  const BurnStatus status = burn_tensor_status(y);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  if (!strstr(burn_status_message(status), "is not a tensor")) fail_msg("%s", burn_status_message(status));
  burn_drop(y);
  assert_int_equal(burn_rank(x), 0);
  assert_null(burn_tensor_device(x));
}

static void test_wild_pointers(void **state) {
  (void)state;
  static _Alignas(64) uint64_t block[16] = {0x1234567890abcdef};
  check_no_tensor((BurnTensor *)(void *)block);
  check_no_tensor((BurnTensor *)(void *)(block + 1));
  check_no_tensor((BurnTensor *)(uintptr_t)64);
}

/* -- on and off ------------------------------------------------------------------------------- */

static void test_guards_are_settled(void **state) {
  (void)state;
  assert_true(burn_guards());
  assert_true(burn_set_guards(true) == BURN_OK);
  const BurnStatus status = burn_set_guards(false);
  assert_int_equal(burn_status_code(status), BURN_STATUS_FAILED_PRECONDITION);
  assert_true(burn_guards());
}

/* The variable is asked when the first device is opened; the function has the last word. */
static void by_environment(void *on) {
  const bool expected = *(const bool *)on;
  setenv("BURN_GUARDS", expected ? "1" : "0", 1);
  BurnDevice *own = burn_device_open("ndarray");
  CHECK(burn_guards() == expected, "BURN_GUARDS=%d: guards are %d", expected, burn_guards());
  burn_device_close(own);
}
static void by_function(void *on) {
  setenv("BURN_GUARDS", "0", 1);
  CHECK(burn_set_guards(true) == BURN_OK, "set_guards refused");
  BurnDevice *own = burn_device_open("ndarray");
  CHECK(burn_guards() == *(const bool *)on, "the variable won");
  burn_device_close(own);
}

/* What is neither 0 nor 1 is told once. */
static void by_no_switch(void *unused) {
  char line[160] = "", more[8] = "";
  FILE *heard = tmpfile();
  (void)unused;
  CHECK(heard && dup2(fileno(heard), 2) == 2, "stderr stays");
  setenv("BURN_GUARDS", "nan", 1);
  unsetenv("BURN_LOG");
  BurnDevice *own = burn_device_open("ndarray"), *other = burn_device_open("ndarray");
  burn_device_close(own);
  burn_device_close(other);
  rewind(heard);
  CHECK(fgets(line, sizeof line, heard) != NULL, "nothing is told");
  CHECK(strcmp(line, "burn: warning: environment: BURN_GUARDS='nan' is neither 0 nor 1; ignored\n") == 0, "%s", line);
  CHECK(fgets(more, sizeof more, heard) == NULL, "it is told twice");
}

static void test_the_choice(void **state) {
  (void)state;
  bool on = true, off = false;
  forked(by_environment, &on);
  forked(by_environment, &off);
  forked(by_function, &on);
  forked(by_no_switch, NULL);
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

/* -- what is written to stderr ---------------------------------------------------------------- */

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

static int drop_line;
static void drop_twice(void) {
  BurnTensor *x = ones();
  burn_drop(burn_relu(x));
  burn_drop(x);
  drop_line = __LINE__ - 1;
  burn_drop(x);
}

static void test_dropping_twice_is_logged(void **state) {
  (void)state;
  char *text = stderr_of(drop_twice);
  const char *first = strstr(text, "drop"), *second = strstr(text, ": tensor already taken by relu");
  assert_non_null(first);
  assert_non_null(second);
  check_place(first, "drop", drop_line, 1);
  check_place(second, ": tensor already taken by relu", drop_line - 1, 1);
  if (strstr(second + 20, "already taken")) fail_msg("told twice: %s", text);
  free(text);
}

enum { MAX_LINES = 20 };
static BurnTensor *forgotten[64];
static int ones_line;

static void close_with_three(void) {
  BurnDevice *own = burn_device_open("ndarray");
  forgotten[0] = burn_tensor_i32(own, (int32_t[]){1, 2}, BURN_SHAPE(2));
  forgotten[1] = burn_relu(burn_ones(own, BURN_SHAPE(2, 3), BURN_DTYPE_F32));
  ones_line = __LINE__ - 1;
  forgotten[2] = burn_clone(forgotten[1]);
  burn_device_close(own);
}

static void test_forgotten_tensors_are_listed(void **state) {
  (void)state;
  char *text = stderr_of(close_with_three);
  assert_non_null(strstr(text, "burn: device 'ndarray' closed with 3 live tensors:\n"));
  const char *data = strstr(text, "burn:   i32 [2] made by from data"), *relu = strstr(text, "f32 [2,3] made by relu");
  assert_non_null(data);
  assert_non_null(relu);
  check_place(data, "burn:   i32 [2] made by from data", ones_line - 1, 1);
  check_place(relu, "f32 [2,3] made by relu", ones_line,
              2); /* and its clone in the next line, or one line for both without places */
  free(text);
  double total = 0; /* they still work: the device stays until the last of them */
  assert_true(burn_read_scalar(burn_sum(forgotten[1]), &total) == BURN_OK);
  assert_true(total > 5.5 && total < 6.5);
  burn_drop(forgotten[0]);
  burn_drop(forgotten[2]);
}

/* 25 shapes, one of them 40 times from one line. */
static void close_with_many(void) {
  BurnDevice *own = burn_device_open_training("ndarray");
  for (int i = 0; i < 24; i++) forgotten[i] = burn_zeros(own, BURN_SHAPE(i + 1), BURN_DTYPE_F32);
  for (int i = 24; i < 63; i++) forgotten[i] = burn_zeros(own, BURN_SHAPE(100), BURN_DTYPE_F32);
  ones_line = __LINE__ - 1;
  forgotten[63] = burn_inner(burn_ones(own, BURN_SHAPE(4), BURN_DTYPE_F32));
  burn_device_close(own);
}

static void test_a_long_list_is_grouped_and_cut(void **state) {
  (void)state;
  char *text = stderr_of(close_with_many);
  assert_non_null(strstr(text, "burn: device 'autodiff<ndarray>' closed with 63 live tensors:\n"));
  const char *group = strstr(text, "burn:   39 x f32 [100] made by full");
  if (!group) fail_msg("%s", text);
  check_place(group, "burn:   39 x f32 [100] made by full", ones_line, 1);
  assert_non_null(strstr(text, " more\n"));
  assert_non_null(strstr(text, "burn: device 'ndarray' closed with 1 live tensor:\n")); /* the inner one */
  size_t lines = 0;
  for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) lines++;
  assert_int_equal(lines, 2 + 1 + MAX_LINES + 1);
  free(text);
  for (int i = 0; i < 64; i++) burn_drop(forgotten[i]);
}

static BurnGradients *forgotten_gradients;

static void close_with_gradients(void) {
  BurnDevice *own = burn_device_open_training("ndarray");
  BurnTensor *x = burn_require_grad(burn_ones(own, BURN_SHAPE(4), BURN_DTYPE_F32));
  assert_true(burn_backward(burn_sum(burn_square(burn_clone(x))), &forgotten_gradients) == BURN_OK);
  burn_drop(x);
  burn_device_close(own);
}

static void test_forgotten_gradients_are_told(void **state) {
  (void)state;
  char *text = stderr_of(close_with_gradients);
  assert_string_equal(text, "burn: device 'autodiff<ndarray>' closed with 1 BurnGradients not dropped\n");
  free(text);
  burn_gradients_drop(forgotten_gradients);
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
      cmocka_unit_test_setup_teardown(test_printing_takes, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_wild_pointers, open_device, close_device),
      cmocka_unit_test(test_guards_are_settled),
      cmocka_unit_test_setup_teardown(test_failed_ops_take_too, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_failed_tensors_are_taken, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_dropping_twice_is_logged, open_device, close_device),
      cmocka_unit_test(test_forgotten_tensors_are_listed),
      cmocka_unit_test(test_a_long_list_is_grouped_and_cut),
      cmocka_unit_test(test_forgotten_gradients_are_told),
      cmocka_unit_test(test_a_clean_close_is_silent),
  };
  const struct CMUnitTest undecided[] = {cmocka_unit_test(test_the_choice)};
  has_lines = can_find_lines();
  if (!has_lines) puts("lines are not checked: libdw is missing, or this build has none");
  const int failed = cmocka_run_group_tests_name("before the first device", undecided, NULL, NULL);
  if (burn_set_guards(true) != BURN_OK) return 1;
  return cmocka_run_group_tests_name("ownership", tests, NULL, NULL) + failed;
}
