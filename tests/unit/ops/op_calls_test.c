/* op_calls_test.c - many calls of one op (burn_op_calls) against the same calls one by one, bit by bit: steps of
 * optimizers with numbers of their own, inputs that lie otherwise, and inputs that somebody keeps; calls of which one
 * fails; and who offers to make them as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/calls.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_stacks.h"

enum { CALLS = 9, INPUTS_MAX = 4, OUTPUTS_MAX = 3, ATTRS_MAX = 6, LARGEST = 40000 };

static BurnDevice *device;
static const char *stack;

/* Elements of the parameters: none, few, and more than one thread's share. */
static const int64_t sizes[CALLS] = {7, 0, 1, 129, LARGEST, 16, 3, 33000, 12};

/* Input `index` of call `call`, always with the same values. Some lie transposed. Second moments are not negative. */
static BurnTensor *input(int call, int index) {
  const int64_t n = sizes[call];
  float *values = malloc((size_t)(n + 1) * sizeof *values);
  assert_non_null(values);
  for (int64_t i = 0; i < n; i++) values[i] = (float)fabs(sin((double)(1 + i * 3 + call * 7 + index * 11)));
  BurnTensor *x = burn_tensor_f32(device, values, BURN_SHAPE(n));
  free(values);
  return call == 5 ? burn_swap_dims(burn_reshape(x, BURN_SHAPE(8, 2)), 0, 1) : x;
}

/* Attributes of adam_step or sgd_step, other ones for each call. */
static void numbers(const BurnOpInfo *op, int call, BurnAttr *attrs) {
  const double step_size = 1e-2 * (1 + call), penalty = call % 2 ? 0.25 : 0;
  if (op->op == BURN_OP_adam_step) {
    const double adam[ATTRS_MAX] = {0.9, 0.999, step_size, 1e-5, 1 - 1e-3 * call, penalty};
    for (int i = 0; i < ATTRS_MAX; i++) attrs[i] = burn_attr_f64(adam[i]);
    return;
  }
  attrs[0] = burn_attr_f64(step_size);
  attrs[1] = burn_attr_f64(0.9);
  attrs[2] = burn_attr_f64(0.1);
  attrs[3] = burn_attr_bool(call % 3 == 0);
  attrs[4] = burn_attr_f64(penalty);
}

typedef struct Rows {
  const BurnOpInfo *op;
  BurnTensor *inputs[CALLS * INPUTS_MAX], *kept[CALLS], *outputs[CALLS * OUTPUTS_MAX];
  BurnAttr attrs[CALLS * ATTRS_MAX];
} Rows;

/* The gradients are kept by somebody else, as are the parameters of some calls; some steps of SGD have no velocity. */
static void fill(Rows *rows, const char *name) {
  assert_int_equal(burn_op_find(name, &rows->op), BURN_OK);
  const int count = (int)rows->op->input_count;
  for (int i = 0; i < CALLS; i++) {
    for (int k = 0; k < count; k++) rows->inputs[i * count + k] = k == 2 && count == 3 && i % 2 ? NULL : input(i, k);
    rows->kept[i] = burn_clone(rows->inputs[i * count + (i % 3 == 0 ? 0 : 1)]);
    numbers(rows->op, i, rows->attrs + (size_t)i * rows->op->attr_count);
  }
}

/* Takes both, which have the same bits. */
static void assert_same_bits(BurnTensor *a, BurnTensor *b, int64_t count) {
  float *left = calloc((size_t)count + 1, sizeof *left), *right = calloc((size_t)count + 1, sizeof *right);
  assert_true(left && right);
  assert_int_equal(burn_read_f32(a, left, (size_t)count), BURN_OK);
  assert_int_equal(burn_read_f32(b, right, (size_t)count), BURN_OK);
  assert_memory_equal(left, right, (size_t)count * sizeof *left);
  free(left);
  free(right);
}

static void test_bits(const char *name) {
  Rows *together = calloc(2, sizeof *together), *alone = together + 1;
  assert_non_null(together);
  fill(together, name);
  fill(alone, name);
  const BurnOpInfo *op = together->op;
  burn_op_calls(op, CALLS, together->inputs, op->input_count, together->attrs, together->outputs);
  for (size_t i = 0; i < CALLS; i++) {
    burn_op_call(NULL, op, alone->inputs + i * op->input_count, op->input_count, alone->attrs + i * op->attr_count,
                 op->attr_count, alone->outputs + i * op->output_count);
  }
  for (size_t i = 0; i < CALLS; i++) {
    for (size_t k = i * op->output_count; k < (i + 1) * op->output_count; k++)
      assert_same_bits(together->outputs[k], alone->outputs[k], sizes[i]);
    assert_same_bits(together->kept[i], alone->kept[i], sizes[i]);
  }
  free(together);
}

static void test_adam(void **state) {
  (void)state;
  test_bits("adam_step");
}

static void test_sgd(void **state) {
  (void)state;
  test_bits("sgd_step");
}

/* A call that fails has failed outputs; those beside it have theirs. */
static void test_one_fails(void **state) {
  (void)state;
  const BurnOpInfo *op = NULL;
  assert_int_equal(burn_op_find("adam_step", &op), BURN_OK);
  BurnTensor *inputs[3 * INPUTS_MAX], *outputs[3 * OUTPUTS_MAX];
  BurnAttr attrs[3 * ATTRS_MAX];
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < INPUTS_MAX; k++) inputs[i * INPUTS_MAX + k] = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
    numbers(op, 0, attrs + (size_t)i * ATTRS_MAX);
  }
  burn_drop(inputs[INPUTS_MAX + 1]);
  inputs[INPUTS_MAX + 1] = burn_ones(device, BURN_SHAPE(3), BURN_DTYPE_F32);
  burn_op_calls(op, 3, inputs, INPUTS_MAX, attrs, outputs);
  for (int i = 0; i < 3 * OUTPUTS_MAX; i++) {
    const BurnStatus status = test_failure(outputs[i]);
    assert_int_equal(burn_status_code(status), i / OUTPUTS_MAX == 1 ? BURN_STATUS_INVALID_SHAPE : BURN_STATUS_OK);
    burn_drop(outputs[i]);
  }
}

static void on_stacks(void (*test)(void **state)) {
  test_on_stacks(
      "ndarray; ndarray:primitives=true; ndarray:isa=avx2; fusion<ndarray>; trace:format=count<ndarray>; "
      "autodiff<ndarray>; reference",
      &device, &stack, test);
}
static void adam_on_stacks(void **state) {
  (void)state;
  on_stacks(test_adam);
}
static void sgd_on_stacks(void **state) {
  (void)state;
  on_stacks(test_sgd);
}
static void failures_on_stacks(void **state) {
  (void)state;
  on_stacks(test_one_fails);
}

/* ndarray joins steps of optimizers and nothing else. */
static void test_offer(void **state) {
  (void)state;
  BurnDevice *plain = burn_device_open("ndarray");
  const BurnBackend *backend = burn_device_backend(plain);
  BurnInterface found = {NULL, NULL};
  assert_int_equal(backend->get_interface(backend->self, BURN_CALLS_INTERFACE, 1, &found), 1);
  const BurnCallsInterface *calls = found.table;
  assert_true(calls->struct_size >= BURN_CALLS_INTERFACE_MIN_BYTES);
  assert_int_equal(calls->joins(found.self, BURN_OP_adam_step), 1);
  assert_int_equal(calls->joins(found.self, BURN_OP_sgd_step), 1);
  assert_int_equal(calls->joins(found.self, BURN_OP_add), 0);
  burn_device_close(plain);
}

/* A list that is not there, though it is counted. */
static void expect_missing(BurnTensor *y, const char *message) {
  assert_string_equal(burn_status_message(burn_tensor_status(y)), message);
  burn_drop(y);
}

static void test_lists_that_are_missing(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  BurnTensor *x = input(0, 0);
  expect_missing(burn_op("add", NULL, 2, NULL, 0), "op_call: inputs is NULL: a list of input_count tensors expected");
  expect_missing(burn_op("powf_scalar", &x, 1, NULL, 1),
                 "op_call: attrs is NULL: a list of attr_count attributes expected");
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(adam_on_stacks), cmocka_unit_test(sgd_on_stacks),
                                     cmocka_unit_test(failures_on_stacks), cmocka_unit_test(test_offer),
                                     cmocka_unit_test(test_lists_that_are_missing)};
  return test_stacks_result(cmocka_run_group_tests_name("many calls of one op", tests, NULL, NULL));
}
