/* tensor_test.c - making, inspecting, reading, writing, printing and moving tensors; memory queries; handles on
 * threads. */
#include "status_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static BurnDevice *device;

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

/* -- make and read ---------------------------------------------------------------------------- */

static void test_from_host_and_back(void **state) {
  (void)state;
  const float f32[] = {1.5f, -2};
  const double f64[] = {1e300, -0.0};
  const int32_t i32[] = {INT32_MIN, 7};
  const int64_t i64[] = {INT64_MIN, INT64_MAX};
  const uint8_t u8[] = {0, 255};
  const bool flags[] = {true, false};
  unsigned char out[16];
  check_status(burn_read(burn_tensor_f32(device, f32, BURN_SHAPE(2)), out, sizeof f32));
  assert_memory_equal(out, f32, sizeof f32);
  check_status(burn_read(burn_tensor_f64(device, f64, BURN_SHAPE(1, 2)), out, sizeof f64));
  assert_memory_equal(out, f64, sizeof f64);
  check_status(burn_read(burn_tensor_i32(device, i32, BURN_SHAPE(2, 1)), out, sizeof i32));
  assert_memory_equal(out, i32, sizeof i32);
  check_status(burn_read(burn_tensor_i64(device, i64, BURN_SHAPE(2)), out, sizeof i64));
  assert_memory_equal(out, i64, sizeof i64);
  check_status(burn_read(burn_tensor_u8(device, u8, BURN_SHAPE(2)), out, sizeof u8));
  assert_memory_equal(out, u8, sizeof u8);
  check_status(burn_read(burn_tensor_bool(device, flags, BURN_SHAPE(2)), out, sizeof flags));
  assert_memory_equal(out, flags, sizeof flags);
  check_status(burn_read(burn_tensor_from(device, "\x02\x00\xff", BURN_DTYPE_BOOL, BURN_SHAPE(3)), out, 3));
  assert_memory_equal(out, "\x01\x00\x01", 3); /* bool is 0 or 1, whatever came in */
  check_status(burn_read(burn_tensor_f32(device, NULL, BURN_SHAPE(0, 3)), out, 0)); /* nothing needs no data */
}

static void test_reading_converts(void **state) {
  (void)state;
  const double values[] = {1.9, -1.9, 1e30, (double)NAN};
  float single[4];
  int64_t whole[4];
  check_status(burn_read_f32(burn_tensor_f64(device, values, BURN_SHAPE(4)), single, 4));
  assert_true(fabs((double)single[0] - 1.9) < 1e-6 && isnan(single[3]));
  check_status(burn_read_i64(burn_tensor_f64(device, values, BURN_SHAPE(4)), whole, 4));
  assert_true(whole[0] == 1 && whole[1] == -1 && whole[2] == INT64_MAX && whole[3] == 0);
  double scalar = 0;
  check_status(burn_read_scalar(burn_tensor_bool(device, (bool[]){true}, BURN_SHAPE(1, 1)), &scalar));
  assert_true(scalar > 0.5 && scalar < 1.5);
}

static void test_the_data_is_copied(void **state) {
  (void)state;
  float values[] = {1, 2, 3};
  BurnTensor *x = burn_tensor_f32(device, values, BURN_SHAPE(3));
  values[0] = 99;
  double total = 0;
  check_status(burn_read_scalar(burn_sum(x), &total));
  assert_true(total > 5.5 && total < 6.5);
}

static void test_inspection(void **state) {
  (void)state;
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2, 3, 5), BURN_DTYPE_I32);
  const BurnShape shape = burn_shape(x);
  assert_int_equal(shape.rank, 3);
  assert_true(shape.dims[0] == 2 && shape.dims[1] == 3 && shape.dims[2] == 5 && shape.dims[3] == 0);
  assert_int_equal(burn_rank(x), 3);
  assert_int_equal(burn_dim(x, 1), 3);
  assert_int_equal(burn_dim(x, -1), 5);
  assert_int_equal(burn_dim(x, 3), -1);
  assert_int_equal(burn_dim(x, -4), -1);
  assert_int_equal(burn_element_count(x), 30);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_I32);
  assert_ptr_equal(burn_tensor_device(x), device);
  assert_true(burn_tensor_status(x) == BURN_OK);
  assert_false(burn_is_tracked(x));
  burn_drop(x);
}

static void test_write(void **state) {
  (void)state;
  const float fresh[] = {7, 8};
  float found[2];
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2), BURN_DTYPE_F32), *kept = burn_clone(x), *before = x;
  check_status(burn_write(&x, fresh, sizeof fresh));
  check_status(burn_read_f32(kept, found, 2)); /* a clone keeps the old values */
  assert_true(fabsf(found[0]) + fabsf(found[1]) < 1e-9f);
  before = x;
  const BurnStatus status = burn_write(&x, fresh, 3);
  assert_string_equal(burn_status_message(status), "write: 3 bytes given, the tensor has 8");
  assert_ptr_equal(x, before);
  check_status(burn_read_f32(x, found, 2)); /* and a failure leaves it as it was */
  assert_memory_equal(found, fresh, sizeof fresh);
}

/* -- print ------------------------------------------------------------------------------------ */

/* Takes x: what burn_print_to writes; the caller frees it. */
static char *printed(BurnTensor *x) {
  FILE *file = tmpfile();
  assert_non_null(file);
  burn_print_to(file, x);
  char *text = calloc(1, 1 << 16);
  assert_non_null(text);
  rewind(file);
  const size_t bytes = fread(text, 1, (1 << 16) - 1, file);
  text[bytes] = '\0';
  fclose(file);
  return text;
}

static void check_printed(BurnTensor *x, const char *expected) {
  char *text = printed(x);
  assert_string_equal(text, expected);
  free(text);
}

#define PRINTED(data, shape, kind, dtype)                                                     \
  "Tensor {\n  data:\n" data ",\n  shape:  " shape ",\n  device:  ndarray,\n  kind:  \"" kind \
  "\",\n  dtype:  \"" dtype "\",\n}\n"

static void test_print(void **state) {
  (void)state;
  const float values[] = {1, -2.5f, NAN, INFINITY};
  check_printed(burn_tensor_f32(device, values, BURN_SHAPE(2, 2)),
                PRINTED("[[1.0, -2.5],\n [NaN, inf]]", "[2, 2]", "Float", "f32"));
  check_printed(burn_tensor_i64(device, (int64_t[]){INT64_MAX, -1}, BURN_SHAPE(2)),
                PRINTED("[9223372036854775807, -1]", "[2]", "Int", "i64"));
  check_printed(burn_tensor_bool(device, (bool[]){true, false}, BURN_SHAPE(2)),
                PRINTED("[true, false]", "[2]", "Bool", "bool"));
  check_printed(burn_reshape(burn_arange(device, 1, 9, 1), BURN_SHAPE(2, 2, 2)),
                PRINTED("[[[1, 2],\n  [3, 4]],\n [[5, 6],\n  [7, 8]]]", "[2, 2, 2]", "Int", "i64"));
  check_printed(burn_zeros(device, BURN_SHAPE(2, 0), BURN_DTYPE_F32), PRINTED("[]", "[2, 0]", "Float", "f32"));
  check_printed(burn_zeros(device, BURN_SHAPE(INT64_C(1) << 32, 0, 0), BURN_DTYPE_F32),
                PRINTED("[]", "[4294967296, 0, 0]", "Float", "f32"));
  char *text = printed(burn_exp(burn_zeros(device, BURN_SHAPE(1), BURN_DTYPE_I64)));
  assert_non_null(strstr(text, "exp: not defined for i64; it takes float tensors"));
  free(text);
}

/* Nothing is written of what fails. */
static void test_print_or_fail(void **state) {
  (void)state;
  char text[8];
  FILE *file = tmpfile();
  assert_non_null(file);
  check_status(burn_print_or_fail(file, burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32)));
  rewind(file);
  assert_string_equal(fgets(text, sizeof text, file), "Tensor ");
  fclose(file);
  file = tmpfile();
  assert_non_null(file);
  const BurnStatus status = burn_print_or_fail(file, burn_exp(burn_zeros(device, BURN_SHAPE(1), BURN_DTYPE_I64)));
  assert_non_null(strstr(burn_status_message(status), "exp: not defined for i64; it takes float tensors"));
  assert_int_equal(ftell(file), 0);
  fclose(file);
}

/* As a test of Burn has it: "..." stands alone on its line. */
static void test_print_shortened(void **state) {
  (void)state;
#define ROW "[0.0, 0.0, 0.0, ..., 0.0, 0.0, 0.0]"
#define ROWS ROW ",\n  " ROW ",\n  " ROW ",\n  ...\n  " ROW ",\n  " ROW ",\n  " ROW
  check_printed(burn_zeros(device, BURN_SHAPE(2, 20, 100), BURN_DTYPE_F32),
                PRINTED("[[" ROWS "],\n [" ROWS "]]", "[2, 20, 100]", "Float", "f32"));
#undef ROW
#undef ROWS
  check_printed(burn_arange(device, 0, 2000, 1), PRINTED("[0, 1, 2, ..., 1997, 1998, 1999]", "[2000]", "Int", "i64"));
}

/* Rust's `{:?}`: the fewest digits that read back, exponents below 1e-4 and from 1e16 on. */
static void test_printed_digits(void **state) {
  (void)state;
  const float singles[] = {0.1f,  0.123456789f, -0.0f,   16777216, 1e-4f,   9.9e-5f,
                           1e16f, 9.999999e15f, FLT_MAX, 1e-45f,   1.0f / 3};
  check_printed(burn_tensor_f32(device, singles, BURN_SHAPE(11)),
                PRINTED("[0.1, 0.12345679, -0.0, 16777216.0, 0.0001, 9.9e-5, 1e16, 9999999000000000.0, 3.4028235e38, "
                        "1e-45, 0.33333334]",
                        "[11]", "Float", "f32"));
  const double doubles[] = {0.1, 1.0 / 3, 123456789012345680.0, 5e-324, DBL_MAX, 0x1p-44, 100, 1e-7};
  check_printed(
      burn_tensor_f64(device, doubles, BURN_SHAPE(8)),
      PRINTED("[0.1, 0.3333333333333333, 1.2345678901234568e17, 5e-324, 1.7976931348623157e308, 5.684341886080802e-14, "
              "100.0, 1e-7]",
              "[8]", "Float", "f64"));
}

static void test_printed_in_another_locale(void **state) {
  (void)state;
  static const char *const with_commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "fr_FR.utf8"};
  const char *found = NULL;
  for (size_t i = 0; !found && i < 4; i++) found = setlocale(LC_NUMERIC, with_commas[i]);
  if (!found) skip(); /* none of them is installed */
  char *text = printed(burn_tensor_f32(device, (float[]){1.5f, 0.1f, 1e-7f}, BURN_SHAPE(3)));
  setlocale(LC_NUMERIC, "C");
  assert_non_null(strstr(text, "[1.5, 0.1, 1e-7]"));
  free(text);
}

/* The first is a test of Burn's ("{:.3}"). Halves to even, as both Rust and C round what a binary number holds. */
static void test_print_options(void **state) {
  (void)state;
  BurnPrintOptions options = BURN_PRINT_OPTIONS;
  options.precision = 3;
  check_status(burn_set_print_options(options));
  check_printed(burn_full(device, BURN_SHAPE(3, 2), BURN_DTYPE_F32, 0.123456789),
                PRINTED("[[0.123, 0.123],\n [0.123, 0.123],\n [0.123, 0.123]]", "[3, 2]", "Float", "f32"));
  options = (BurnPrintOptions){5, 2, 0};
  check_status(burn_set_print_options(options));
  const double values[] = {-0.5, 1.5, 2.5, 1e22, (double)NAN, -(double)INFINITY};
  check_printed(burn_tensor_f64(device, values, BURN_SHAPE(6)),
                PRINTED("[-0, 2, ..., NaN, -inf]", "[6]", "Float", "f64"));
  check_printed(burn_tensor_f64(device, values, BURN_SHAPE(5)),
                PRINTED("[-0, 2, 2, 10000000000000000000000, NaN]", "[5]", "Float", "f64"));
  check_printed(burn_arange(device, 0, 6, 1), PRINTED("[0, 1, ..., 4, 5]", "[6]", "Int", "i64"));
  options.threshold = 0; /* four items are both ends */
  check_status(burn_set_print_options(options));
  check_printed(burn_arange(device, 0, 4, 1), PRINTED("[0, 1, 2, 3]", "[4]", "Int", "i64"));
  options.edge_items = SIZE_MAX;
  check_status(burn_set_print_options(options));
  check_printed(burn_arange(device, 0, 5, 1), PRINTED("[0, 1, 2, 3, 4]", "[5]", "Int", "i64"));
  options = (BurnPrintOptions){1, 0, 31};
  const BurnStatus status = burn_set_print_options(options);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_string_equal(burn_status_message(status),
                      "print options: edge_items 0 and precision 31; 1 or more and -1 .. 30 are possible");
  check_status(burn_set_print_options(BURN_PRINT_OPTIONS));
  test_print_shortened(NULL);
  test_printed_digits(NULL);
}

/* -- devices ---------------------------------------------------------------------------------- */

static void test_to_device(void **state) {
  (void)state;
  BurnDevice *other = burn_device_open("ndarray:gemm=builtin");
  BurnTensor *x = burn_arange(device, 0, 6, 1);
  BurnTensor *same = burn_to_device(x, device);
  assert_ptr_equal(same, x);
  BurnTensor *moved = burn_to_device(burn_transpose(burn_reshape(same, BURN_SHAPE(2, 3))), other);
  assert_ptr_equal(burn_tensor_device(moved), other);
  int64_t found[6];
  check_status(burn_read_i64(moved, found, 6));
  assert_memory_equal(found, ((int64_t[]){0, 3, 1, 4, 2, 5}), sizeof found);
  burn_device_close(other);
}

static void test_memory(void **state) {
  (void)state;
  const BurnMemoryStats before = burn_device_memory(device);
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(1000, 1000), BURN_DTYPE_F32);
  const BurnMemoryStats during = burn_device_memory(device);
  assert_int_equal(during.live_tensors, before.live_tensors + 1);
  assert_true(during.bytes_in_use >= before.bytes_in_use + 4000000);
  assert_true(during.bytes_reserved >= during.bytes_in_use && during.bytes_peak >= during.bytes_in_use);
  BurnTensor *view = burn_transpose(burn_clone(x)); /* a view costs no memory */
  assert_true(burn_device_memory(device).bytes_in_use < during.bytes_in_use + 100000);
  burn_drop(x);
  burn_drop(view);
  check_status(burn_device_sync(device));
  burn_device_trim(device);
  const BurnMemoryStats after = burn_device_memory(device);
  assert_int_equal(after.live_tensors, before.live_tensors);
  assert_int_equal(after.bytes_in_use, before.bytes_in_use);
  assert_true(after.bytes_reserved < 4000000 && after.bytes_peak >= during.bytes_in_use);
}

/* -- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 60 };

typedef struct Worker {
  BurnTensor *x, *y; /* clones of its own of tensors that all threads share */
  double result;
} Worker;

/* Chains whose ops could work in place if nobody else held the values. */
static void *work(void *context) {
  Worker *worker = context;
  for (int i = 0; i < ROUNDS; i++) {
    BurnTensor *product = burn_matmul(burn_clone(worker->x), burn_clone(worker->y));
    BurnTensor *sum = burn_add(burn_relu(burn_clone(worker->x)), burn_neg(burn_clone(worker->y)));
    if (burn_read_scalar(burn_sum(burn_add(product, burn_mul_scalar(sum, 0.5))), &worker->result) != BURN_OK) break;
  }
  burn_drop(worker->x);
  burn_drop(worker->y);
  return NULL;
}

static void test_tensors_are_shared_by_threads(void **state) {
  (void)state;
  BurnTensor *x = burn_random_normal(device, BURN_SHAPE(40, 40), BURN_DTYPE_F32, 0, 1);
  BurnTensor *y = burn_random_normal(device, BURN_SHAPE(40, 40), BURN_DTYPE_F32, 0, 1);
  float before[1600], after[1600];
  check_status(burn_read_f32(burn_clone(x), before, 1600));
  Worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) workers[i] = (Worker){burn_clone(x), burn_clone(y), (double)NAN};
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    assert_memory_equal(&workers[i].result, &workers[0].result, sizeof workers[0].result);
    assert_true(isfinite(workers[i].result));
  }
  check_status(burn_read_f32(x, after, 1600));
  assert_memory_equal(before, after, sizeof before);
  burn_drop(y);
}

static void test_several_are_read_at_once(void **state) {
  (void)state;
  const float values[] = {1, 2, 3};
  const int64_t whole[] = {-4, 5};
  float f32[3] = {0};
  int64_t i64[2] = {0};
  void *const data[] = {f32, i64};
  const size_t bytes[] = {sizeof f32, sizeof i64};
  BurnTensor *const both[] = {burn_tensor_f32(device, values, BURN_SHAPE(3)),
                              burn_tensor_i64(device, whole, BURN_SHAPE(2))};
  check_status(burn_read_all(both, data, bytes, 2));
  assert_memory_equal(f32, values, sizeof values);
  assert_memory_equal(i64, whole, sizeof whole);
  check_status(burn_read_all(NULL, NULL, NULL, 0));
  f32[0] = 9;
  BurnTensor *const wrong[] = {burn_tensor_f32(device, values, BURN_SHAPE(3)),
                               burn_tensor_i64(device, whole, BURN_SHAPE(1))};
  assert_string_equal(burn_status_message(burn_read_all(wrong, data, bytes, 2)),
                      "read_all: the buffer holds 16 bytes, a i64 tensor of shape [1] has 8");
  assert_true(f32[0] == 9); /* nothing was copied */
}

static void test_version(void **state) {
  (void)state;
  int major = -1, minor = -1, patch = -1;
  assert_int_equal(sscanf(burn_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  assert_true(major >= 0 && minor >= 0 && patch >= 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_from_host_and_back, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_reading_converts, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_several_are_read_at_once, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_the_data_is_copied, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_inspection, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_write, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_print, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_print_or_fail, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_print_shortened, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_printed_digits, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_printed_in_another_locale, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_print_options, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_to_device, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_memory, open_device, close_device),
      cmocka_unit_test_setup_teardown(test_tensors_are_shared_by_threads, open_device, close_device),
      cmocka_unit_test(test_version),
  };
  return cmocka_run_group_tests_name("tensors", tests, NULL, NULL);
}
