/* torch_test.c - burn_torch.so beside burn_ndarray.so in one process: devices and options, the same random numbers,
 * tensors that cross over with and without a copy, training on both at once, memory. That its ops are right is what
 * `burn conform torch:cpu` shows. skipped with a message where there is no libtorch. */
#include "forked.h"

#include <burn/nn.h>
#include <burn/plugin/dlpack.h>
#include <burn/plugins.h>
#include <burn/train.h>

#include <math.h>
#include <pthread.h>

static bool has_torch(void) {
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, "torch") == 0) return info->usable;
  }
  return false;
}

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

/* -- devices and options ---------------------------------------------------------------------- */

typedef struct Refusal {
  const char *stack;
  uint32_t code;
  const char *text;
} Refusal;

static void test_devices_and_options(void **state) {
  (void)state;
  static const char *const good[] = {"torch", "torch:cpu", "Torch:CPU:0", "torch:device=cpu:threads=1",
                                     "torch:cpu:deterministic=true,random=aten"};
  static const Refusal bad[] = {
      {"torch:tpu", BURN_STATUS_NOT_FOUND,
       "there is no device 'tpu'; there are cpu, and cuda and mps where libtorch has them"},
      {"torch:cpu:1", BURN_STATUS_NOT_FOUND, "there is no device cpu:1, only 0 to 0"},
      {"torch:mps", BURN_STATUS_FAILED_PRECONDITION, "this libtorch finds no mps device here"},
      {"torch:cpu:threads=0", BURN_STATUS_INVALID_ARGUMENT, "threads=0 is not a number from 1 to 1024"},
      {"torch:cpu:tf32=maybe", BURN_STATUS_INVALID_ARGUMENT, "tf32=maybe is neither true nor false"},
      {"torch:cpu:random=dice", BURN_STATUS_INVALID_ARGUMENT, "random=dice is neither host nor aten"},
      {"torch:cpu:speed=high", BURN_STATUS_INVALID_ARGUMENT,
       "'torch' has no option 'speed'; it has: float, int, device, threads, tf32, deterministic"},
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) burn_device_close(open_stack(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    BurnDevice *device = burn_device_open(bad[i].stack);
    const BurnStatus status = burn_device_status(device);
    if (burn_status_code(status) != bad[i].code || !strstr(burn_status_message(status), bad[i].text)) {
      fail_msg("%s: code %u, '%s'; expected %u, '%s'", bad[i].stack, burn_status_code(status),
               burn_status_message(status), bad[i].code, bad[i].text);
    }
    burn_device_close(device);
  }
}

/* -- numbers ---------------------------------------------------------------------------------- */

static void read_all(BurnTensor *x, float *values, size_t count) {
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* The same seed gives the same bits as on ndarray; random=aten does not, but repeats itself. */
static void test_random_numbers_are_those_of_ndarray(void **state) {
  (void)state;
  enum { COUNT = 1001 };
  static float values[5][COUNT];
  static const char *const stacks[] = {"ndarray", "torch:cpu", "torch:cpu:random=aten", "torch:cpu:random=aten"};
  for (int i = 0; i < 4; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    burn_device_seed(device, 42);
    read_all(burn_random_uniform(device, BURN_SHAPE(COUNT), BURN_DTYPE_F32, -2, 3), values[i], COUNT);
    burn_device_close(device);
  }
  assert_memory_equal(values[0], values[1], sizeof values[0]);
  assert_memory_not_equal(values[0], values[2], sizeof values[0]);
  assert_memory_equal(values[2], values[3], sizeof values[2]);
}

/* By way of f32 this number would become 1. */
static void test_numbers_are_rounded_to_halves_once(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "torch:cpu"};
  for (int i = 0; i < 2; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    BurnTensor *one = burn_cast(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F32, 1), BURN_DTYPE_F16);
    float value = 0;
    read_all(burn_cast(burn_mul_scalar(one, 1 + 0x1p-11 + 0x1p-40), BURN_DTYPE_F32), &value, 1);
    assert_true(value == 1 + 0x1p-10f);
    burn_device_close(device);
  }
}

static void test_a_bad_index_is_an_error_with_its_values(void **state) {
  (void)state;
  BurnDevice *device = open_stack("torch:cpu");
  BurnTensor *x = burn_full(device, BURN_SHAPE(3, 2), 0, 1);
  BurnTensor *indices = burn_tensor_i64(device, (const int64_t[]){0, 7}, BURN_SHAPE(2));
  float value;
  const BurnStatus status = burn_read_f32(burn_select(x, 0, indices), &value, 1);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(status), "index 7 is outside 0 .. 2"));
  burn_device_close(device);
}

/* -- crossing over ---------------------------------------------------------------------------- */

static void test_tensors_move_between_the_two(void **state) {
  (void)state;
  BurnDevice *ndarray = open_stack("ndarray"), *torch = open_stack("torch:cpu");
  float before[12], after[12];
  BurnTensor *x = burn_random_normal(ndarray, BURN_SHAPE(3, 4), BURN_DTYPE_F32, 0, 1);
  read_all(burn_exp(burn_clone(x)), before, 12);
  BurnTensor *y = burn_to_device(burn_exp(burn_to_device(x, torch)), ndarray);
  read_all(y, after, 12);
  for (int i = 0; i < 12; i++) assert_true(fabsf(before[i] - after[i]) <= 1e-6F * before[i]);
  burn_device_close(ndarray);
  burn_device_close(torch);
}

static BurnTensor *handed_over(BurnTensor *x, BurnDevice *to, void **data) {
  struct DLManagedTensorVersioned *tensor = NULL;
  const BurnStatus status = burn_to_dlpack(x, &tensor);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  *data = (char *)burn_dlpack_managed(tensor)->tensor.data + burn_dlpack_managed(tensor)->tensor.byte_offset;
  return burn_from_dlpack(tensor, to);
}

/* From ndarray to torch and back, a transposed view: three tensors over the same bytes. */
static void test_dlpack_shares_memory_between_the_two(void **state) {
  (void)state;
  BurnDevice *ndarray = open_stack("ndarray"), *torch = open_stack("torch:cpu");
  void *first, *second, *third;
  BurnTensor *x = burn_transpose(burn_tensor_f32(ndarray, (const float[]){1, 2, 3, 4, 5, 6}, BURN_SHAPE(2, 3)));
  BurnTensor *in_torch = handed_over(x, torch, &first);
  BurnTensor *sum = burn_add_scalar(burn_clone(in_torch), 1);
  BurnTensor *back = handed_over(in_torch, ndarray, &second);
  burn_drop(handed_over(burn_clone(back), torch, &third));
  assert_ptr_equal(first, second);
  assert_ptr_equal(second, third);
  float values[6];
  read_all(burn_mul_scalar(back, 2), values, 6);
  assert_true(values[0] == 2 && values[1] == 8 && values[5] == 12);
  read_all(sum, values, 6);
  assert_true(values[1] == 5);
  burn_device_close(ndarray);
  burn_device_close(torch);
}

/* -- training on both at once ----------------------------------------------------------------- */

typedef struct Training {
  const char *stack;
  double first, last;
  BurnStatus status;
} Training;

static BurnTensor *leaf(BurnDevice *device, BurnShape shape) {
  return burn_require_grad(burn_random_uniform(device, shape, BURN_DTYPE_DEFAULT, -1, 1));
}

static BurnTensor *descend(BurnTensor *x, BurnGradients *gradients) {
  BurnDevice *device = burn_tensor_device(x);
  BurnTensor *step = burn_mul_scalar(burn_grad(x, gradients), 0.5);
  return burn_require_grad(burn_from_inner(burn_sub(burn_inner(x), step), device));
}

/* Exclusive or by four hidden units. */
static void *train(void *context) {
  Training *training = context;
  BurnDevice *device = burn_device_open_training(training->stack);
  burn_device_seed(device, 3);
  BurnTensor *x = burn_tensor_f32(device, (const float[]){0, 0, 0, 1, 1, 0, 1, 1}, BURN_SHAPE(4, 2));
  BurnTensor *y = burn_tensor_f32(device, (const float[]){0, 1, 1, 0}, BURN_SHAPE(4, 1));
  BurnTensor *w1 = leaf(device, BURN_SHAPE(2, 8)), *w2 = leaf(device, BURN_SHAPE(8, 1));
  training->status = burn_device_status(device);
  for (int step = 0; step < 300 && training->status == BURN_OK; step++) {
    BurnTensor *hidden = burn_tanh(burn_matmul(burn_clone(x), burn_clone(w1)));
    BurnTensor *loss =
        burn_mean(burn_square(burn_sub(burn_sigmoid(burn_matmul(hidden, burn_clone(w2))), burn_clone(y))));
    training->status = burn_read_scalar(burn_clone(loss), step == 0 ? &training->first : &training->last);
    BurnGradients *gradients = NULL;
    const BurnStatus walked = burn_backward(loss, &gradients);
    if (training->status == BURN_OK) training->status = walked;
    if (walked != BURN_OK) break;
    w1 = descend(w1, gradients);
    w2 = descend(w2, gradients);
    burn_gradients_drop(gradients);
  }
  burn_drop(x);
  burn_drop(y);
  burn_drop(w1);
  burn_drop(w2);
  burn_device_close(device);
  return NULL;
}

static void test_both_train_at_once_and_agree(void **state) {
  (void)state;
  Training trainings[] = {{.stack = "ndarray"}, {.stack = "torch:cpu"}, {.stack = "ndarray"}, {.stack = "torch:cpu"}};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, train, &trainings[i]), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) {
    if (trainings[i].status != BURN_OK)
      fail_msg("%s: %s", trainings[i].stack, burn_status_message(trainings[i].status));
    assert_true(trainings[i].last < trainings[i].first);
    assert_true(fabs(trainings[i].last - trainings[0].last) < 1e-3 * trainings[0].last);
  }
}

/* -- memory ----------------------------------------------------------------------------------- */

static void test_bytes_are_counted_once_per_storage(void **state) {
  (void)state;
  BurnDevice *device = open_stack("torch:cpu");
  BurnTensor *x = burn_full(device, BURN_SHAPE(100, 10), BURN_DTYPE_F32, 1);
  BurnTensor *turned = burn_transpose(burn_clone(x));
  BurnMemoryStats stats = burn_device_memory(device);
  assert_int_equal(stats.bytes_in_use, 4000);
  assert_int_equal(stats.live_tensors, 2);
  burn_drop(x);
  stats = burn_device_memory(device);
  assert_int_equal(stats.bytes_in_use, 4000); /* the view holds them */
  burn_drop(turned);
  stats = burn_device_memory(device);
  assert_int_equal(stats.bytes_in_use, 0);
  assert_true(stats.bytes_peak >= 4000);
  burn_device_trim(device);
  burn_device_close(device);
}

int main(void) {
  if (!has_torch()) {
    printf("skipped: there is no torch plugin here, or no libtorch\n");
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_devices_and_options),
      cmocka_unit_test(test_random_numbers_are_those_of_ndarray),
      cmocka_unit_test(test_numbers_are_rounded_to_halves_once),
      cmocka_unit_test(test_a_bad_index_is_an_error_with_its_values),
      cmocka_unit_test(test_tensors_move_between_the_two),
      cmocka_unit_test(test_dlpack_shares_memory_between_the_two),
      cmocka_unit_test(test_both_train_at_once_and_agree),
      cmocka_unit_test(test_bytes_are_counted_once_per_storage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
