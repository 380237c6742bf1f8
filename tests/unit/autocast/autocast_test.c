/* autocast_test.c - what a program sees of autocast, and what is below: known answers, counts of casts, graphs. */
#include "status_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/plugins.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 + 2^-8 has one bit more than bf16, which f16 has; halves go to even: 1. */
static const float NARROW = 1.00390625f;

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

/* No tensor is left, casts included: what autocast does not count the backend does. */
static void close_empty(BurnDevice *device) {
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  assert_int_equal(burn_device_memory(device).bytes_in_use, 0);
  burn_device_close(device);
}

static BurnTensor *one(BurnDevice *device, float value) { return burn_tensor_f32(device, &value, BURN_SHAPE(1, 1)); }

static float value_of(BurnTensor *x) {
  float value = NAN;
  check_status(burn_read_f32(x, &value, 1));
  return value;
}

static void expect(BurnTensor *x, double wanted) {
  const float value = value_of(x);
  if (fabs((double)value - wanted) > 0) fail_msg("%.9g, expected %.9g", (double)value, wanted);
}

/* -- what runs in what ------------------------------------------------------------------------ */

static void test_products_run_in_halves(void **state) {
  (void)state;
  BurnDevice *bf16 = open_stack("autocast<ndarray>"), *f16 = open_stack("autocast:dtype=f16<ndarray>");
  BurnTensor *x = burn_matmul(one(bf16, NARROW), one(bf16, 1));
  assert_int_equal(burn_dtype(x), BURN_DTYPE_F32);
  expect(x, 1);
  expect(burn_matmul(one(f16, NARROW), one(f16, 1)), (double)NARROW);
  expect(burn_matmul(one(f16, 1.0f + 0x1p-11f), one(f16, 1)), 1);
  expect(burn_matmul(one(f16, 70000), one(f16, 1)), (double)INFINITY);
  expect(burn_matmul(one(bf16, 70000), one(bf16, 1)), 70144);
  expect(burn_linear(one(bf16, NARROW), one(bf16, 1), NULL), 1);
  close_empty(bf16);
  close_empty(f16);
}

/* A sum of f32 stays f32; one of two products is of halves: 257 is 256 in bf16. */
static void test_the_widest_input_decides(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autocast<ndarray>");
  BurnTensor *half = burn_matmul(one(device, 256), one(device, 1));
  expect(burn_add(burn_clone(half), one(device, 1)), 257);
  expect(burn_add(half, burn_matmul(one(device, 1), one(device, 1))), 256);
  expect(burn_add(one(device, 256), one(device, 1)), 257);
  half = burn_matmul(one(device, 256), one(device, 1));
  BurnTensor *wide = burn_cast(burn_cast(burn_clone(half), BURN_DTYPE_F64), BURN_DTYPE_F32);
  expect(burn_add_scalar(wide, 1), 257);
  BurnTensor *list[2] = {burn_reshape(half, BURN_SHAPE(1)), burn_tensor_f32(device, &NARROW, BURN_SHAPE(1))};
  float both[2];
  check_status(burn_read_f32(burn_cat(list, 2, 0), both, 2));
  assert_true(both[0] == 256 && both[1] == NARROW);
  close_empty(device);
}

/* 257 ones: in bf16 the sum would be 256. Exp of a product is the f32 one of its rounded value. */
static void test_sums_and_exponentials_run_in_f32(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autocast<ndarray>"), *plain = open_stack("ndarray");
  BurnTensor *ones = burn_matmul(burn_ones(device, BURN_SHAPE(257, 1), 0), one(device, 1));
  expect(burn_sum(burn_clone(ones)), 257);
  expect(burn_mean(ones), 1);
  const float rounded = value_of(burn_matmul(one(device, 0.7f), one(device, 1)));
  assert_true(rounded == 0.69921875f);
  expect(burn_exp(burn_matmul(one(device, 0.7f), one(device, 1))), (double)value_of(burn_exp(one(plain, rounded))));
  close_empty(device);
  close_empty(plain);
}

/* -- what is not touched ---------------------------------------------------------------------- */

/* Products, sums, an exponential and a softmax, in a dtype of the program's own. */
static void run_program(const char *stack, BurnDType dtype, char *out, size_t bytes) {
  BurnDevice *device = open_stack(stack);
  burn_device_seed(device, 5);
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  BurnTensor *x = is_float ? burn_random_normal(device, BURN_SHAPE(6, 6), dtype, 0, 1)
                           : burn_random_uniform(device, BURN_SHAPE(6, 6), dtype, 0, 50);
  BurnTensor *y = burn_matmul(burn_clone(x), burn_clone(x));
  if (is_float) y = burn_softmax(burn_exp(burn_mul_scalar(y, 0.01)), 1);
  y = burn_mul(y, burn_sum_dim(x, 1));
  assert_int_equal(burn_dtype(y), dtype);
  check_status(burn_read(y, out, bytes));
  close_empty(device);
}

static void test_other_dtypes_keep_every_bit(void **state) {
  (void)state;
  static const BurnDType dtypes[] = {BURN_DTYPE_F64, BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_I64, BURN_DTYPE_I32};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    char plain[36 * 8], cast[36 * 8];
    const size_t bytes = 36 * burn_dtype_bytes(dtypes[i]);
    run_program("ndarray", dtypes[i], plain, bytes);
    run_program("autocast<ndarray>", dtypes[i], cast, bytes);
    if (memcmp(plain, cast, bytes) != 0) fail_msg("%s differs", burn_dtype_name(dtypes[i]));
  }
}

/* -- casts are kept --------------------------------------------------------------------------- */

/* How often an op ran on the backend during `body`. */
static long count_ops(const char *format, const char *op, void (*body)(BurnDevice *)) {
  char path[] = "/tmp/burn_autocast_test_XXXXXX", stack[256], line[256], label[64];
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  snprintf(stack, sizeof stack, format, path);
  BurnDevice *device = open_stack(stack);
  body(device);
  close_empty(device);
  FILE *counts = fopen(path, "r");
  assert_non_null(counts);
  snprintf(label, sizeof label, "trace: %s ", op);
  long found = 0;
  while (fgets(line, sizeof line, counts)) {
    if (strncmp(line, label, strlen(label)) == 0) found = strtol(line + strlen(label), NULL, 10);
  }
  fclose(counts);
  remove(path);
  return found;
}

/* One weight, three inputs. */
static void three_products(BurnDevice *device) {
  BurnTensor *weight = one(device, 2);
  for (int i = 0; i < 3; i++) expect(burn_matmul(one(device, 3), burn_clone(weight)), 6);
  burn_drop(weight);
}

/* A weight that changes is cast again. */
static void changing_weight(BurnDevice *device) {
  BurnTensor *weight = one(device, 2), *x = one(device, 3);
  for (int i = 0; i < 3; i++) {
    expect(burn_matmul(burn_clone(x), burn_clone(weight)), 3 * (2 + i));
    weight = burn_add_scalar(weight, 1);
  }
  burn_drop(weight);
  burn_drop(x);
}

/* A weight that is transposed for each use, and one whose transposition has no other owner. */
static void tied_weight(BurnDevice *device) {
  static const float values[] = {1, 2, 3, 4, 5, 6}, rows[] = {1, 10, 100};
  BurnTensor *weight = burn_tensor_f32(device, values, BURN_SHAPE(2, 3));
  for (int i = 0; i < 3; i++) {
    float out[2];
    BurnTensor *x = burn_tensor_f32(device, rows, BURN_SHAPE(1, 3));
    check_status(burn_read_f32(burn_matmul(x, burn_transpose(burn_clone(weight))), out, 2));
    assert_true(out[0] == 321 - 1 && out[1] == 654 + 2); /* in bf16 */
  }
  burn_drop(burn_matmul(burn_transpose(weight), one(device, 1))); /* fails: [3,2] x [1,1] */
}

static void one_product_chain(BurnDevice *device) {
  BurnTensor *x = burn_matmul(one(device, 2), one(device, 3));
  x = burn_relu(burn_matmul(burn_reshape(x, BURN_SHAPE(1, 1)), one(device, 1)));
  burn_drop(x);
}

static void test_a_weight_is_cast_once(void **state) {
  (void)state;
  const char *below = "autocast<trace:format=count,file=%s<ndarray>>";
  assert_int_equal(count_ops(below, "cast", three_products), 1 + 3 + 3 /* inputs, and results that are read */);
  assert_int_equal(count_ops(below, "cast", changing_weight), 3 + 1 + 3);
  assert_int_equal(count_ops(below, "cast", tied_weight), 1 + 3 + 3);
  assert_int_equal(count_ops(below, "cast", one_product_chain), 3);
}

/* -- gradients -------------------------------------------------------------------------------- */

static const char *const training_stacks[] = {"autocast<autodiff<ndarray>>", "autodiff<autocast<ndarray>>",
                                              "autocast<autodiff<fusion<ndarray>>>",
                                              "validate<autocast<validate<autodiff<ndarray>>>>"};
enum { TRAINING_STACKS = sizeof training_stacks / sizeof training_stacks[0] };

static void test_gradients_are_f32(void **state) {
  (void)state;
  for (size_t i = 0; i < TRAINING_STACKS; i++) {
    BurnDevice *device = open_stack(training_stacks[i]);
    BurnTensor *weight = burn_require_grad(one(device, 3));
    assert_true(burn_is_require_grad(weight) && burn_is_tracked(weight));
    BurnGradients *gradients = NULL;
    BurnTensor *y = burn_matmul(one(device, NARROW), burn_clone(weight));
    assert_true(burn_is_tracked(y) && !burn_is_require_grad(y));
    check_status(burn_backward(burn_sum(burn_mul(y, one(device, 5))), &gradients));
    BurnTensor *gradient = burn_grad(weight, gradients);
    assert_int_equal(burn_dtype(gradient), BURN_DTYPE_F32);
    expect(gradient, 5); /* 5 * NARROW, of whose factor the product sees 1 */
    burn_gradients_drop(gradients);
    burn_drop(weight);
    close_empty(device);
  }
}

/* Two losses of one parameter, whose cast they share: a program may go back from both. */
static void test_graphs_share_a_cast(void **state) {
  (void)state;
  for (size_t i = 0; i < TRAINING_STACKS; i++) {
    BurnDevice *device = open_stack(training_stacks[i]);
    BurnTensor *weight = burn_require_grad(one(device, 3));
    BurnTensor *losses[2];
    for (int k = 0; k < 2; k++) losses[k] = burn_sum(burn_matmul(one(device, (float)(2 + k)), burn_clone(weight)));
    for (int k = 0; k < 2; k++) {
      BurnGradients *gradients = NULL;
      check_status(burn_backward(losses[k], &gradients));
      expect(burn_grad(weight, gradients), 2 + k);
      burn_gradients_drop(gradients);
    }
    burn_drop(weight);
    close_empty(device);
  }
}

static void test_gradients_of_gradients(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autocast<autodiff<ndarray>>");
  BurnTensor *x = burn_require_grad(one(device, 3));
  BurnGradients *first = NULL, *second = NULL;
  BurnTensor *cube = burn_matmul(burn_matmul(burn_clone(x), burn_clone(x)), burn_clone(x));
  check_status(burn_backward_create_graph(burn_sum(cube), &first));
  BurnTensor *slope = burn_grad(x, first);
  expect(burn_clone(slope), 27);
  check_status(burn_backward(burn_sum(slope), &second));
  expect(burn_grad(x, second), 18);
  burn_gradients_drop(first);
  burn_gradients_drop(second);
  burn_drop(x);
  close_empty(device);
}

/* The device below autodiff gets the dtype that the program sees, and gives it back. */
static void test_inner_tensors_are_f32(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autocast<autodiff<ndarray>>"), *inner = burn_device_inner(device);
  assert_string_equal(burn_device_name(inner), "ndarray");
  BurnTensor *x = burn_inner(burn_matmul(one(device, NARROW), one(device, 256)));
  assert_ptr_equal(burn_tensor_device(x), inner);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_F32);
  x = burn_from_inner(burn_add_scalar(x, 1), device);
  assert_ptr_equal(burn_tensor_device(x), device);
  expect(burn_clone(x), 257);
  expect(burn_detach(burn_mul_scalar(x, 2)), 514);
  close_empty(device);
}

static void test_checkpoints_pass_through(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autocast<autodiff<ndarray>>");
  BurnTensor *weight = burn_require_grad(one(device, 3));
  BurnGradients *gradients = NULL;
  check_status(burn_checkpoint_begin(device));
  BurnTensor *y = burn_exp(burn_mul_scalar(burn_matmul(one(device, 2), burn_clone(weight)), 0.5));
  check_status(burn_checkpoint_end(device));
  check_status(burn_backward(burn_sum(y), &gradients));
  const double slope = (double)value_of(burn_grad(weight, gradients));
  if (fabs(slope - exp(3)) > 0.1) fail_msg("%g, expected %g", slope, exp(3)); /* in bf16 on the way back */
  burn_gradients_drop(gradients);
  burn_drop(weight);
  close_empty(device);
}

/* -- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 10000 };

typedef struct Worker {
  BurnDevice *device;
  BurnTensor *weight; /* shared; cloned for each use */
  int failed;
} Worker;

static void *walk_back(void *context) {
  Worker *worker = context;
  for (int i = 0; i < ROUNDS; i++) {
    BurnGradients *gradients = NULL;
    float slope = 0;
    BurnTensor *loss = burn_sum(burn_matmul(one(worker->device, 2), burn_clone(worker->weight)));
    if (burn_backward(loss, &gradients) != BURN_OK) worker->failed++;
    if (gradients && burn_read_f32(burn_grad(worker->weight, gradients), &slope, 1) != BURN_OK) worker->failed++;
    worker->failed += slope != 2;
    burn_gradients_drop(gradients);
  }
  return NULL;
}

/* Threads that train one parameter each have a cast of their own: none meets another's walk. */
static void test_threads_share_a_parameter(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autocast<autodiff<ndarray>>");
  BurnTensor *weight = burn_require_grad(one(device, 3));
  pthread_t threads[THREADS];
  Worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (Worker){device, weight, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, walk_back, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) assert_int_equal(workers[i].failed, 0);
  burn_drop(weight);
  close_empty(device);
}

/* -- what is refused -------------------------------------------------------------------------- */

static void expect_refused(const char *stack, const char *message) {
  BurnDevice *device = burn_device_open(stack);
  assert_int_not_equal(burn_device_status(device), BURN_OK);
  if (!strstr(burn_status_message(burn_device_status(device)), message))
    fail_msg("'%s' lacks '%s'", burn_status_message(burn_device_status(device)), message);
  burn_device_close(device);
}

static void test_refusals(void **state) {
  (void)state;
  expect_refused("autocast:dtype=f8<ndarray>", "autocast: dtype=f8 is neither bf16 nor f16");
  expect_refused("autocast<mini>", "autocast: 'mini' cannot compute in bf16; try dtype=f16, or leave autocast out");
  expect_refused("autodiff<mini:float=f64>", "backend 'mini' cannot compute in f64");
  BurnDevice *device = open_stack("autocast<ndarray>");
  BurnTensor *x = burn_matmul(burn_ones(device, BURN_SHAPE(2, 3), 0), burn_ones(device, BURN_SHAPE(2, 3), 0));
  assert_string_equal(burn_status_message(burn_tensor_status(x)),
                      "matmul: [2,3] x [2,3]: inner dimensions 3 and 2 differ");
  burn_drop(x);
  close_empty(device);
}

static int find_mini(void **state) {
  (void)state;
  return setenv("BURN_PLUGIN_PATH", BURN_BUILD_DIR "/tests/broken_plugins", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products_run_in_halves),
      cmocka_unit_test(test_the_widest_input_decides),
      cmocka_unit_test(test_sums_and_exponentials_run_in_f32),
      cmocka_unit_test(test_other_dtypes_keep_every_bit),
      cmocka_unit_test(test_a_weight_is_cast_once),
      cmocka_unit_test(test_gradients_are_f32),
      cmocka_unit_test(test_graphs_share_a_cast),
      cmocka_unit_test(test_gradients_of_gradients),
      cmocka_unit_test(test_inner_tensors_are_f32),
      cmocka_unit_test(test_checkpoints_pass_through),
      cmocka_unit_test(test_threads_share_a_parameter),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, find_mini, NULL);
}
