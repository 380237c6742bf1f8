/* kernel_pack_test.c - ops of kernel packs: found by name, run by a kernel or decomposed, differentiated, refused when
 * wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static BurnTensor *vector(BurnDevice *device, float a, float b) {
  const float values[] = {a, b};
  return burn_tensor_f32(device, values, BURN_SHAPE(2));
}

static void expect(BurnTensor *x, double first, double second) {
  if (burn_tensor_status(x) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(x)));
  double values[2];
  BurnTensor *wide = burn_cast(x, BURN_DTYPE_F64);
  assert_true(burn_read_f64(wide, values, 2) == BURN_OK);
  assert_float_equal(values[0], first, 1e-6);
  assert_float_equal(values[1], second, 1e-6);
}

static void expect_failure(BurnTensor *x, const char *part) {
  const BurnStatus status = burn_tensor_status(x);
  assert_true(status != BURN_OK);
  if (!strstr(burn_status_message(status), part)) fail_msg("'%s' lacks '%s'", burn_status_message(status), part);
  burn_drop(x);
}

/* f32 goes to the kernel (which adds 1000), f64 to the decomposition; a view is seen through its strides. */
static void test_kernel_or_decomposition(void **state) {
  BurnDevice *device = *state;
  BurnTensor *inputs[] = {vector(device, 1, 2), vector(device, 10, 20)};
  expect(burn_op("pack.scaled_add", inputs, 2, NULL, 0), 1021, 1042);
  BurnTensor *swapped[] = {burn_slice(vector(device, 1, 2), (BurnRange[]){{0, BURN_END, -1}}, 1),
                           vector(device, 10, 20)};
  expect(burn_op("pack.scaled_add", swapped, 2, NULL, 0), 1022, 1041);
  const BurnAttr factor = burn_attr_f64(-1);
  BurnTensor *wide[] = {burn_cast(vector(device, 1, 2), BURN_DTYPE_F64),
                        burn_cast(vector(device, 10, 20), BURN_DTYPE_F64)};
  expect(burn_op("pack.scaled_add", wide, 2, &factor, 1), -9, -18);
}

static void check_gradient(BurnTensor *out, const BurnTensor *leaf, double value) {
  BurnGradients *gradients = NULL;
  assert_true(burn_backward(out, &gradients) == BURN_OK);
  expect(burn_grad(leaf, gradients), value, value);
  burn_gradients_drop(gradients);
}

/* The pack's own rule (ten times too large on purpose), and that of a decomposition. */
static void test_gradients(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  BurnTensor *y = burn_require_grad(vector(device, 10, 20));
  BurnTensor *inputs[] = {vector(device, 1, 2), burn_clone(y)};
  check_gradient(burn_sum(burn_op("pack.scaled_add", inputs, 2, NULL, 0)), y, 20);
  BurnTensor *one = burn_clone(y);
  check_gradient(burn_sum(burn_op("pack.triple", &one, 1, NULL, 0)), y, 3);
  BurnTensor *again = burn_clone(y);
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(burn_sum(burn_op("pack.misshapen", &again, 1, NULL, 0)), &gradients);
  assert_non_null(strstr(burn_status_message(status),
                         "the rule gave input 0 a gradient of f32, rank 1, first axis 1, for f32, rank 1, "
                         "first axis 2"));
  burn_gradients_drop(gradients);
  burn_drop(y);
  burn_device_close(device);
}

/* In a checkpoint region what the rule reads comes from ops that are run again: exp(y), then the pack's. */
static void test_checkpoints(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  double results[2] = {0, 0};
  for (int in_region = 0; in_region < 2; in_region++) {
    BurnTensor *y = burn_require_grad(vector(device, 0.5, 1));
    if (in_region) assert_true(burn_checkpoint_begin(device) == BURN_OK);
    BurnTensor *inputs[] = {burn_exp(burn_clone(y)), burn_sin(burn_clone(y))};
    BurnTensor *sum = burn_op("pack.scaled_add", inputs, 2, NULL, 0);
    BurnTensor *out = burn_sum(burn_mul(burn_clone(sum), sum));
    if (in_region) assert_true(burn_checkpoint_end(device) == BURN_OK);
    BurnGradients *gradients = NULL;
    assert_true(burn_backward(out, &gradients) == BURN_OK);
    assert_true(burn_read_scalar(burn_sum(burn_grad(y, gradients)), &results[in_region]) == BURN_OK);
    burn_gradients_drop(gradients);
    burn_drop(y);
  }
  assert_true(results[0] != 0 && results[0] == results[1]);
  burn_device_close(device);
}

/* A kernel runs under fusion, too, unless its priority says that the parts, fused, are better. */
static void test_under_fusion(void **state) {
  (void)state;
  static const char *const stacks[] = {"fusion<ndarray>", "autodiff<fusion<ndarray>>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *inputs[] = {burn_exp(vector(device, 0, 0)), burn_mul_scalar(vector(device, 1, 2), 10)};
    expect(burn_op("pack.scaled_add", inputs, 2, NULL, 0), 1021, 1041);
    BurnTensor *x = burn_mul_scalar(vector(device, 1, 2), 10);
    expect(burn_op("pack.fusable", &x, 1, NULL, 0), 30, 60);
    burn_device_close(device);
  }
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = vector(device, 10, 20);
  expect(burn_op("pack.fusable", &x, 1, NULL, 0), 1030, 1060);
  burn_device_close(device);
}

/* And on the way through decorators that know nothing of the op. */
static void test_below_decorators(void **state) {
  static const char *const stacks[] = {"validate<ndarray>", "recorder<validate<ndarray>>",
                                       "autodiff<trace:format=count,file=/dev/null<ndarray>>"};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *inputs[] = {vector(device, 1, 1), burn_mul_scalar(vector(device, 1, 2), 10)};
    expect(burn_op("pack.scaled_add", inputs, 2, NULL, 0), 1021, 1041);
    burn_device_close(device);
  }
}

/* No gradient flows to a constant input, whatever was required: by a rule, which is not asked for it, or by parts. */
static void expect_constant(const char *stack, const char *op) {
  BurnDevice *device = burn_device_open(stack);
  BurnTensor *x = burn_require_grad(vector(device, 1, 2)), *mask = burn_require_grad(vector(device, 0, 1));
  BurnTensor *inputs[] = {burn_clone(x), burn_clone(mask)};
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(burn_sum(burn_op(op, inputs, 2, NULL, 0)), &gradients);
  if (status != BURN_OK) fail_msg("%s: %s", op, burn_status_message(status));
  expect(burn_grad(x, gradients), 0, 1);
  if (burn_grad(mask, gradients)) fail_msg("%s on %s: a constant input has a gradient", op, stack);
  burn_gradients_drop(gradients);
  burn_drop(x);
  burn_drop(mask);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

static void test_constant_inputs(void **state) {
  static const char *const stacks[] = {"autodiff<ndarray>", "autodiff<fusion<ndarray>>", "validate<autodiff<ndarray>>",
                                       "autodiff:checkpointing=balanced<ndarray>"};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    expect_constant(stacks[i], "pack.masked");
    expect_constant(stacks[i], "pack.masked_parts");
  }
}

/* A pack knows the numbers of its ops from the start. */
static void test_numbers_are_told(void **state) {
  BurnTensor *x = vector(*state, 1, 2);
  expect(burn_op("pack.nine_times", &x, 1, NULL, 0), 9, 18);
}

/* On a device that takes their code, kernels for devices come before those for host memory; a view reaches them
 * row-major. One that cannot be loaded counts as absent. */
static void test_on_a_device(void **state) {
  (void)state;
  static const char *const stacks[] = {"lazy:delay=200", "fusion<lazy:delay=200>", "autodiff<fusion<lazy>>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *inputs[] = {burn_slice(vector(device, 1, 2), (BurnRange[]){{0, BURN_END, -1}}, 1),
                            burn_mul_scalar(vector(device, 1, 2), 10)};
    expect(burn_op("pack.scaled_add", inputs, 2, NULL, 0), 2022, 2041);
    BurnTensor *wide[] = {burn_cast(vector(device, 1, 2), BURN_DTYPE_F64),
                          burn_cast(vector(device, 10, 20), BURN_DTYPE_F64)};
    expect(burn_op("pack.scaled_add", wide, 2, NULL, 0), 21, 42);
    for (int again = 0; again < 2; again++) {
      BurnTensor *x = vector(device, 1, 2);
      expect(burn_op("pack.triple", &x, 1, NULL, 0), 3, 6);
    }
    burn_device_close(device);
  }
}

static void test_device_failures(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("lazy");
  BurnTensor *inputs[] = {vector(device, 1, 2), vector(device, 0, 1)};
  expect_failure(burn_op("pack.masked", inputs, 2, NULL, 0),
                 "pack.masked: its plan has 136 bytes of parameters; at most 128 are possible");
  BurnTensor *x = vector(device, 1, 2);
  expect_failure(burn_op("pack_no_plan.triple", &x, 1, NULL, 0),
                 "device kernel 3 is missing, too small, or lacks its op's name, entry, plan or code");
  burn_device_close(device);
}

static void test_under_decorators(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("trace:format=count,file=/dev/null<autodiff<ndarray>>");
  BurnTensor *x = burn_require_grad(vector(device, 1, 2)), *clone = burn_clone(x);
  BurnTensor *inputs[] = {clone, vector(device, 10, 20)};
  expect(burn_detach(burn_op("pack.scaled_add", inputs, 2, NULL, 0)), 1021, 1042);
  burn_drop(x);
  burn_device_close(device);
}

static void test_failures(void **state) {
  BurnDevice *device = *state;
  BurnTensor *x = vector(device, 1, 2);
  expect_failure(burn_op("pack.nosuch", &x, 1, NULL, 0), "the kernel pack 'pack' 1.0.0 has no op 'pack.nosuch'");
  x = vector(device, 1, 2);
  expect_failure(burn_op("nopack.op", &x, 1, NULL, 0),
                 "op 'nopack.op': there is no kernel pack 'nopack'. Did you mean 'pack'? There are: collective, pack");
  x = vector(device, 1, 2);
  expect_failure(burn_op("ndarray.op", &x, 1, NULL, 0), "'ndarray' is a backend, not a kernel pack");
  x = vector(device, 1, 2);
  expect_failure(burn_op("nosuch", &x, 1, NULL, 0), "there is no op 'nosuch'");
  x = vector(device, 1, 2);
  expect_failure(burn_op("pack.kernel_only", &x, 1, NULL, 0), "the kernel failed on purpose");
  x = burn_cast(vector(device, 1, 2), BURN_DTYPE_F64);
  expect_failure(burn_op("pack.kernel_only", &x, 1, NULL, 0),
                 "pack.kernel_only: backend 'ndarray' has no kernel for it: f32!");
  x = vector(device, 1, 2);
  expect_failure(burn_op("pack.nonsense", &x, 1, NULL, 0), "pack.nonsense: its shape rule gave output 0 rank 77");
  BurnTensor *unequal[] = {vector(device, 1, 2), burn_zeros(device, BURN_SHAPE(3), 0)};
  expect_failure(burn_op("pack.scaled_add", unequal, 2, NULL, 0), "x and y differ");
  x = vector(device, 1, 2);
  expect_failure(burn_op("pack.scaled_add", &x, 1, NULL, 0), "1 inputs given, 2 expected");
  x = burn_cast(vector(device, 1, 2), BURN_DTYPE_I32);
  BurnTensor *ints[] = {x, burn_clone(x)};
  expect_failure(burn_op("pack.scaled_add", ints, 2, NULL, 0), "not defined for i32");
  x = vector(device, 1, 2);
  expect_failure(burn_op("pack_foreign.op", &x, 1, NULL, 0), "ops of this pack are called 'pack_foreign.'");
  x = vector(device, 1, 2);
  expect_failure(burn_op("pack_twice.scaled_add", &x, 1, NULL, 0), "it defines 'pack_twice.triple' twice");
  x = vector(device, 1, 2); /* and none of its ops is there when it is asked for again */
  expect_failure(burn_op("pack_twice.scaled_add", &x, 1, NULL, 0), "it defines 'pack_twice.triple' twice");
  x = vector(device, 1, 2);
  expect_failure(burn_op("max_pool2d_with_indices", &x, 1, NULL, 0), "has 2 outputs; call it with burn_op_call");
}

/* A code without a message says nothing by itself: op and plugin stand in front. */
static void test_bare_codes(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "autodiff<ndarray>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *x = vector(device, 1, 2);
    expect_failure(burn_op("pack.bare_rule", &x, 1, NULL, 0), "pack.bare_rule: its shape rule: out of memory");
    x = vector(device, 1, 2);
    expect_failure(burn_op("pack.bare_kernel", &x, 1, NULL, 0), "pack.bare_kernel: 'ndarray': out of memory");
    burn_device_close(device);
  }
}

/* A shape rule and a kernel may take attributes for what they are. */
static void test_values_of_attributes(void **state) {
  BurnDevice *device = *state;
  BurnAttr attrs[] = {burn_attr_bool(1), burn_attr_dtype(BURN_DTYPE_F64)};
  BurnTensor *x = vector(device, 1, 2);
  expect(burn_op("pack.typed", &x, 1, attrs, 2), 3, 6);
  x = vector(device, 1, 2);
  expect(burn_op("pack.typed", &x, 1, NULL, 0), 3, 6);
  x = vector(device, 1, 2);
  attrs[1].value.i64 = 999;
  expect_failure(burn_op("pack.typed", &x, 1, attrs, 2), "pack.typed: attribute 'dtype': there is no dtype number 999");
  x = vector(device, 1, 2);
  attrs[0].value.i64 = 77;
  expect_failure(burn_op("pack.typed", &x, 1, attrs, 2), "pack.typed: attribute 'exact' is 77; a bool is 0 or 1");
}

static void test_no_inputs_at_all(void **state) {
  (void)state;
  expect_failure(burn_op("pack.scaled_add", NULL, 0, NULL, 0), "pack.scaled_add: 0 inputs given, 2 expected");
  expect_failure(burn_op("cat", NULL, 0, (const BurnAttr[]){burn_attr_i64(0)}, 1),
                 "cat: 0 inputs given, 1 or more expected");
  const int64_t shape[] = {2};
  const BurnAttr full[] = {burn_attr_i64s(shape, 1), burn_attr_dtype(BURN_DTYPE_F32), burn_attr_f64(7)};
  expect_failure(burn_op("full", NULL, 0, full, 3),
                 "full: it has no inputs, so it needs a device: give one to burn_op_call");
}

/* A table that would make each call fail or compute with something else is refused when the pack is loaded, by the name
 * of what is wrong. */
static void test_tables_that_are_wrong(void **state) {
  static const struct {
    const char *op, *reason;
  } packs[] = {
      {"table_list.twice",
       "table_list.twice: the default of 'factors' is a list of 2; the default of a list is one"
       " number for every axis, value.i64 with count 0"},
      {"table_other_tag.twice", "table_other_tag.twice: attribute 'factors' has tag 1, its default 5"},
      {"table_number.twice",
       "attribute 'factors' has tag 6, its default 6: the default of a number is an I64 or an"
       " F64"},
      {"table_unknown_tag.twice", "attribute 'factors' has tag 9, known are 1 to 6"},
      {"table_nameless.twice", "table_nameless.twice: attribute 0 has no name"},
      {"table_nameless_input.twice", "table_nameless_input.twice: input 1 has no name"},
      {"table_constant.twice", "constant_inputs 0x4 or saved_outputs 0x0 have a bit beyond its 2 inputs and 1 outputs"},
  };
  for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++) {
    BurnTensor *x = vector(*state, 1, 2);
    expect_failure(burn_op(packs[i].op, &x, 1, NULL, 0), packs[i].reason);
  }
}

/* An op may leave the choice of its inputs to the caller: kinds are those of the first that is given. */
static void test_inputs_that_are_all_optional(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "autodiff<ndarray>", "fusion<ndarray>", "validate<ndarray>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *first[] = {vector(device, 1, 2), NULL}, *second[] = {NULL, vector(device, 1, 2)};
    expect(burn_op("table.twice", first, 2, NULL, 0), 2, 4);
    expect(burn_op("table.twice", second, 2, NULL, 0), 2, 4);
    BurnTensor *ints[] = {NULL, burn_cast(vector(device, 1, 2), BURN_DTYPE_I32)};
    expect_failure(burn_op("table.twice", ints, 2, NULL, 0), "table.twice: not defined for i32");
    burn_device_close(device);
  }
  const BurnOpInfo *info = NULL;
  assert_true(burn_op_find("table.twice", &info) == BURN_OK);
  assert_string_equal(info->doc, ""); /* it was NULL */
}

/* Ops of the table go through the same door; attributes left out take their defaults. */
static void test_ops_of_the_table(void **state) {
  BurnDevice *device = *state;
  BurnTensor *x = vector(device, -1, 2);
  expect(burn_op("leaky_relu", &x, 1, NULL, 0), -0.01, 2);
  const BurnOpInfo *op = NULL;
  assert_true(burn_op_find("full", &op) == BURN_OK);
  const int64_t shape[] = {2};
  const BurnAttr attrs[] = {burn_attr_i64s(shape, 1), burn_attr_dtype(BURN_DTYPE_F32), burn_attr_f64(7)};
  BurnTensor *out = NULL;
  burn_op_call(device, op, NULL, 0, attrs, 3, &out);
  expect(out, 7, 7);
  burn_op_call(device, op, NULL, 0, attrs, 2, &out);
  expect_failure(out, "attribute 'value' is required");
  assert_null(burn_op_info(BURN_OP_LIMIT - 1));
  assert_string_equal(burn_op_info(BURN_OP_matmul)->name, "matmul");
}

/* Results that are not what the shape rule says: on every stack, before anybody computes with them. */
static void test_decompositions_that_are_wrong(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "autodiff<ndarray>", "fusion<ndarray>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *x = vector(device, 1, 2);
    expect_failure(burn_op("pack.misdescribed", &x, 1, NULL, 0),
                   "pack.misdescribed: its decomposition made result 0 f64 [2], its shape rule said f32 [2]");
    x = vector(device, 1, 2);
    expect_failure(burn_op("pack.cut", &x, 1, NULL, 0),
                   "pack.cut: its decomposition made result 0 f32 [1], its shape rule said f32 [2]");
    x = vector(device, 1, 2);
    expect_failure(burn_op("pack.endless", &x, 1, NULL, 0), "ndarray': a decomposition runs the op that it stands for");
    x = vector(device, 1, 2);
    expect_failure(burn_op("pack.endless_parts", &x, 1, NULL, 0), "pack.endless_parts: 64 calls are nested on '");
    x = vector(device, 1, 2);
    expect_failure(burn_op("pack.endless_parts", &x, 1, NULL, 0), "ndarray', the last one of neg: a decomposition");
    x = vector(device, 1, 2); /* and the next one is as before */
    expect(burn_op("pack.triple", &x, 1, NULL, 0), 3, 6);
    burn_device_close(device);
  }
}

/* Each runs exp on a layer that is wrong, above and below autodiff. */
static void expect_of_layer(const char *fault, const char *part) {
  static const char *const stacks[] = {"faulty:op=exp,fault=%s<ndarray>", "autodiff<faulty:op=exp,fault=%s<ndarray>>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    char text[128];
    snprintf(text, sizeof text, stacks[i], fault);
    BurnDevice *device = burn_device_open(text);
    assert_string_equal(burn_status_message(burn_device_status(device)), "ok");
    expect_failure(burn_exp(vector(device, 1, 2)), part);
    burn_device_close(device);
  }
}

/* A layer that says it succeeded and hands out nothing, runs the call that it got on itself, or makes up a status, is a
 * failure with its name, not a crash. */
static void test_layers_that_are_wrong(void **state) {
  (void)state;
  expect_of_layer("missing", "exp: 'faulty' reports success, but gave no result 0");
  expect_of_layer("again", "exp: 64 calls are nested on 'faulty'");
  expect_of_layer("code", "exp: 'faulty': a plugin returned a status with a serial number but without a code");
  for (int i = 0; i < 4; i++) assert_int_not_equal(burn_status_make(BURN_STATUS_IO, "of somebody else"), BURN_OK);
  expect_of_layer("number", "exp: 'faulty': unknown failure");
  expect_of_layer("inputs", "exp: the call has 1 inputs, but the list of them is NULL");
  expect_of_layer("outputs", "exp: the call has 1 outputs, but the list of them is NULL");
  expect_of_layer("attributes", "exp: the call has 2 attributes, but the list of them is NULL");
}

static int open_device(void **state) {
  if (setenv("BURN_PLUGIN_PATH", BURN_BUILD_DIR "/tests/broken_plugins", 1) != 0) return 1;
  *state = burn_device_open("ndarray");
  return burn_device_status(*state) == BURN_OK ? 0 : 1;
}
static int close_device(void **state) {
  burn_device_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernel_or_decomposition),
      cmocka_unit_test(test_gradients),
      cmocka_unit_test(test_checkpoints),
      cmocka_unit_test(test_under_fusion),
      cmocka_unit_test(test_below_decorators),
      cmocka_unit_test(test_constant_inputs),
      cmocka_unit_test(test_numbers_are_told),
      cmocka_unit_test(test_on_a_device),
      cmocka_unit_test(test_device_failures),
      cmocka_unit_test(test_under_decorators),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_bare_codes),
      cmocka_unit_test(test_values_of_attributes),
      cmocka_unit_test(test_no_inputs_at_all),
      cmocka_unit_test(test_tables_that_are_wrong),
      cmocka_unit_test(test_inputs_that_are_all_optional),
      cmocka_unit_test(test_ops_of_the_table),
      cmocka_unit_test(test_decompositions_that_are_wrong),
      cmocka_unit_test(test_layers_that_are_wrong),
  };
  return cmocka_run_group_tests_name("kernel packs", tests, open_device, close_device);
}
