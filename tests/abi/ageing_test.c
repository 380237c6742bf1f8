/* ageing_test.c - plugins of today on a host of tomorrow (mutate.py): a new op, and a new attribute of an old one.
 * Built against the headers of tomorrow; ageing_test.py runs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <string.h>

enum { COUNT = 3 };
static const float ONE_TWO_THREE[COUNT] = {1, 2, 3};
static const float SUMS[COUNT] = {1, 3, 6};
static const float SUMS_BEFORE[COUNT] = {0, 1, 3};

/* What is to come of cumsum(exclusive=1). */
enum { REFUSED, RUN, NOT_ASKED };
static const struct {
  const char *stack;
  int exclusive;
  int has_cumsum;
} stacks[] = {
    {"ndarray", REFUSED, 1},
    {"reference", REFUSED, 1},
    {"mini", REFUSED, 0},
    {"autodiff<ndarray>", REFUSED, 1},
    {"fusion<ndarray>", REFUSED, 1},
    {"autodiff<fusion<ndarray>>", REFUSED, 1},
    {"trace:format=count,file=/dev/null<ndarray>", REFUSED, 1},
    {"fusion<trace:format=count,file=/dev/null<ndarray>>", REFUSED, 1},
    {"validate<reference>", REFUSED, 1},
    {"my_decorator<ndarray>", REFUSED, 1},
    /* A decorator of tomorrow that knows the attribute, above, below and between those that do not. */
    {"exclusive<ndarray>", RUN, 1},
    {"exclusive<fusion<ndarray>>", RUN, 1},
    {"exclusive<mini>", RUN, 0},
    {"trace:format=count,file=/dev/null<exclusive<ndarray>>", RUN, 1},
    {"fusion<exclusive<ndarray>>", REFUSED, 1},
    {"autodiff<exclusive<ndarray>>", REFUSED, 1},
    {"autodiff<fusion<exclusive<reference>>>", REFUSED, 1},
    /* A backend of tomorrow with longer tensors, under decorators of today. (Its kernel is today's.) */
    {"autodiff<fusion<future>>", REFUSED, 1},
    {"validate<future>", NOT_ASKED, 1},
    {"my_decorator<trace:format=count,file=/dev/null<future>>", NOT_ASKED, 1},
};
enum { STACKS = sizeof stacks / sizeof stacks[0] };

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static void expect(const char *stack, BurnTensor *x, const float *wanted) {
  float values[COUNT];
  const BurnStatus status = burn_read_f32(x, values, COUNT);
  if (status != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(status));
  for (int i = 0; i < COUNT; i++) {
    if (values[i] != wanted[i])
      fail_msg("%s: element %d is %g, not %g", stack, i, (double)values[i], (double)wanted[i]);
  }
}

static void test_a_new_op_runs_by_its_parts(void **state) {
  static const float twice[COUNT] = {2, 4, 6};
  (void)state;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = open_stack(stacks[i].stack);
    BurnTensor *x = burn_tensor_f32(device, ONE_TWO_THREE, BURN_SHAPE(COUNT));
    expect(stacks[i].stack, burn_op("double_up", &x, 1, NULL, 0), twice);
    burn_device_close(device);
  }
}

static void test_a_new_op_has_a_gradient(void **state) {
  static const float twos[COUNT] = {2, 2, 2};
  (void)state;
  BurnDevice *device = open_stack("autodiff<fusion<ndarray>>");
  BurnTensor *x = burn_require_grad(burn_tensor_f32(device, ONE_TWO_THREE, BURN_SHAPE(COUNT))), *used = burn_clone(x);
  BurnGradients *gradients = NULL;
  assert_true(burn_backward(burn_sum(burn_op("double_up", &used, 1, NULL, 0)), &gradients) == BURN_OK);
  expect("autodiff<fusion<ndarray>>", burn_grad(x, gradients), twos);
  burn_gradients_drop(gradients);
  burn_drop(x);
  burn_device_close(device);
}

/* cumsum along the only axis; `exclusive` below 0: the attribute is left out, as programs of today do. */
static BurnTensor *cumsum(BurnDevice *device, int exclusive) {
  const BurnAttr attrs[] = {burn_attr_i64(0), burn_attr_bool(exclusive)};
  BurnTensor *x = burn_tensor_f32(device, ONE_TWO_THREE, BURN_SHAPE(COUNT));
  return burn_op("cumsum", &x, 1, attrs, exclusive < 0 ? 1 : 2);
}

static void test_a_new_attribute_at_its_default(void **state) {
  (void)state;
  for (int i = 0; i < STACKS; i++) {
    if (!stacks[i].has_cumsum) continue;
    BurnDevice *device = open_stack(stacks[i].stack);
    expect(stacks[i].stack, cumsum(device, -1), SUMS);
    expect(stacks[i].stack, cumsum(device, 0), SUMS);
    burn_device_close(device);
  }
}

static void expect_refusal(const char *stack, BurnTensor *x) {
  float values[COUNT];
  const BurnStatus status = burn_read_f32(x, values, COUNT);
  if (status == BURN_OK)
    fail_msg("%s: computed %g %g %g", stack, (double)values[0], (double)values[1], (double)values[2]);
  assert_int_equal(burn_status_code(status), BURN_STATUS_UNIMPLEMENTED);
  if (!strstr(burn_status_message(status), "cumsum: ") ||
      (!strstr(stack, "mini") &&
       !strstr(burn_status_message(status), "its attribute 'exclusive' came with plugin ABI 0.")))
    fail_msg("%s: %s", stack, burn_status_message(status));
}

static void test_a_new_attribute_is_never_ignored(void **state) {
  (void)state;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = open_stack(stacks[i].stack);
    BurnTensor *x = cumsum(device, 1);
    if (stacks[i].exclusive == REFUSED) {
      expect_refusal(stacks[i].stack, x);
    } else if (stacks[i].exclusive == RUN && stacks[i].has_cumsum) {
      expect(stacks[i].stack, x, SUMS_BEFORE);
    } else {
      burn_drop(x);
    }
    burn_device_close(device);
  }
}

/* A pack of today, by kernel and by decomposition, and its gradient. */
static void test_a_pack(void **state) {
  static const float sums[COUNT] = {3, 6, 9};
  (void)state;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = open_stack(stacks[i].stack);
    BurnTensor *inputs[] = {burn_tensor_f32(device, ONE_TWO_THREE, BURN_SHAPE(COUNT)),
                            burn_tensor_f32(device, ONE_TWO_THREE, BURN_SHAPE(COUNT))};
    const BurnAttr factor = burn_attr_f64(2);
    expect(stacks[i].stack, burn_op("my_kernels.scaled_add", inputs, 2, &factor, 1), sums);
    burn_device_close(device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_new_op_runs_by_its_parts),
      cmocka_unit_test(test_a_new_op_has_a_gradient),
      cmocka_unit_test(test_a_new_attribute_at_its_default),
      cmocka_unit_test(test_a_new_attribute_is_never_ignored),
      cmocka_unit_test(test_a_pack),
  };
  return cmocka_run_group_tests_name("plugins of today on a host of tomorrow", tests, NULL, NULL);
}
