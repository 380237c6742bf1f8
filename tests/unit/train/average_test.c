/* average_test.c - a module that follows another: by numbers worked out here, across devices and dtypes, and what does
 * not belong together. */
#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "status_testing.h"
#include "test_stacks.h"

#define NET_FIELDS(X)          \
  X(BurnParam, weight, "[2]")  \
  X(BurnParam, steps, "int")   \
  X(BurnBuffer, mean, "state") \
  X(BurnOptionParam, bias, "may be absent")
BURN_MODULE(Net, NET_FIELDS);

static BurnDevice *device;

static void check_refused(BurnStatus status, uint32_t code, const char *message) {
  assert_int_not_equal(status, BURN_OK);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), code);
}

static BurnParam param_of(double value, int64_t size, BurnDType dtype) {
  return burn_param(burn_full(device, BURN_SHAPE(size), dtype, value));
}

/* Weight, steps and mean are all of one value. */
static Net net_make(double value, BurnDType dtype) {
  return (Net){.weight = param_of(value, 2, dtype),
               .steps = param_of(value, 1, BURN_DTYPE_I64),
               .mean = burn_buffer(burn_full(device, BURN_SHAPE(3), dtype, value))};
}

static double of(BurnTensor *x) {
  double values[3] = {(double)NAN, (double)NAN, (double)NAN};
  const size_t count = (size_t)burn_element_count(x);
  assert_true(count <= 3);
  check_status(burn_read_f64(x, values, count));
  for (size_t i = 1; i < count; i++) assert_true(values[i] == values[0]);
  return values[0];
}

static void check_net(const Net *net, double weight, double rest) {
  assert_true(fabs(of(burn_param_value(&net->weight)) - weight) < 1e-6);
  assert_true(of(burn_param_value(&net->steps)) == rest);
  assert_true(of(burn_buffer_value(&net->mean)) == rest);
}

static void floats_are_averaged_and_the_rest_is_copied(void) {
  Net net = net_make(8, BURN_DTYPE_F32), average = Net_valid(&net);
  const uint64_t id = average.weight.id;
  burn_param_set(&net.weight, burn_full(device, BURN_SHAPE(2), BURN_DTYPE_F32, 16));
  burn_param_set(&net.steps, burn_full(device, BURN_SHAPE(1), BURN_DTYPE_I64, 9));
  burn_buffer_set(&net.mean, burn_full(device, BURN_SHAPE(3), BURN_DTYPE_F32, 9));
  check_status(burn_module_average(burn_module(Net, &average), burn_module(Net, &net), 0.75));
  check_net(&average, 10, 9); /* 0.75 * 8 + 0.25 * 16 */
  check_status(burn_module_average(burn_module(Net, &average), burn_module(Net, &net), 0.75));
  check_net(&average, 11.5, 9);
  check_net(&net, 16, 9);
  assert_true(average.weight.id == id && burn_tensor_device(average.weight.value) == burn_device_inner(device));
  assert_true(burn_is_require_grad(net.weight.value) && !burn_is_tracked(average.weight.value));
  check_status(burn_module_average(burn_module(Net, &average), burn_module(Net, &net), 0));
  check_net(&average, 16, 9);
  Net_release(&net);
  Net_release(&average);
}

/* A copy that is trained itself stays a leaf; NaN in it does not outlive a decay of 0. */
static void a_tracked_average_of_another_dtype_stays_so(void) {
  Net net = net_make(4, BURN_DTYPE_F32), average = net_make((double)NAN, BURN_DTYPE_F64);
  burn_param_set(&average.steps, burn_full(device, BURN_SHAPE(1), BURN_DTYPE_I64, 4));
  check_status(burn_module_average(burn_module(Net, &average), burn_module(Net, &net), 0));
  check_net(&average, 4, 4);
  assert_int_equal(burn_dtype(average.weight.value), BURN_DTYPE_F64);
  assert_true(burn_is_require_grad(average.weight.value) && burn_is_require_grad(net.weight.value));
  Net_release(&net);
  Net_release(&average);
}

static void what_does_not_belong_together_is_refused(void) {
  Net net = net_make(8, BURN_DTYPE_F32), average = net_make(2, BURN_DTYPE_F32);
  const BurnModule from = burn_module(Net, &net), to = burn_module(Net, &average);
  check_refused(burn_module_average(to, from, 1.5), BURN_STATUS_INVALID_ARGUMENT,
                "average: the decay is 1.5, 0 to 1 expected");
  check_refused(burn_module_average(to, from, (double)NAN), BURN_STATUS_INVALID_ARGUMENT,
                "average: the decay is nan, 0 to 1 expected");
  check_refused(burn_module_average(to, burn_module(Net, NULL), 0.5), BURN_STATUS_INVALID_ARGUMENT,
                "average: Net: the module is NULL; burn_module(Type, &object) makes one");
  average.bias = param_of(2, 1, BURN_DTYPE_F32);
  check_refused(burn_module_average(to, from, 0.5), BURN_STATUS_INVALID_ARGUMENT, "average: the module has no bias");
  check_refused(burn_module_average(from, to, 0.5), BURN_STATUS_INVALID_ARGUMENT,
                "average: the module has 4 tensors, the average 3");
  burn_param_release(&average.bias);
  burn_buffer_set(&average.mean, burn_ones(device, BURN_SHAPE(1, 3), BURN_DTYPE_F32));
  check_refused(burn_module_average(to, from, 0.5), BURN_STATUS_INVALID_SHAPE,
                "average: mean is [1,3] in the average and [3] in the module");
  assert_true(of(burn_param_value(&average.weight)) == 2); /* which comes before the mean: all or nothing */
  Net_release(&net);
  Net_release(&average);
}

/* An average of values in steps would not move at all; quantized weights that are followed are floats. */
static void a_quantized_average_is_refused(void) {
  Net net = net_make(8, BURN_DTYPE_F32), average = Net_valid(&net);
  const BurnModule from = burn_module(Net, &net), to = burn_module(Net, &average);
  check_status(burn_module_quantize_weights(to, NULL));
  check_refused(burn_module_average(to, from, 0.5), BURN_STATUS_INVALID_ARGUMENT,
                "average: weight of the average is quantized; quantize a copy of it at the end");
  const double floats = of(burn_param_value(&average.weight)); /* that the quantized values stand for */
  assert_true(floats != 8);
  check_status(burn_module_average(from, to, 0.5));
  assert_true(fabs(of(burn_param_value(&net.weight)) - (8 + floats) / 2) < 1e-6);
  Net_release(&net);
  Net_release(&average);
}

static void all_tests(void **state) {
  (void)state;
  floats_are_averaged_and_the_rest_is_copied();
  a_tracked_average_of_another_dtype_stays_so();
  what_does_not_belong_together_is_refused();
  a_quantized_average_is_refused();
}

static void on_stacks(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, NULL, all_tests);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_stacks)};
  return test_stacks_result(cmocka_run_group_tests_name("average", tests, NULL, NULL));
}
