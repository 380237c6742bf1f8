/* vulkan_fork_test.c - children of a process that uses Vulkan are refused, in words, and hang in no call; the process goes
 * on. Drivers have threads, which a child does not. */
#include "forked.h"

#include "vulkan_driver.h"

#include <burn/transfer.h>

enum { NO_DEVICE = 3 };

static const char refusal[] =
    "this process was forked when Vulkan was in use, whose drivers do not work in such a child: fork before the first "
    "device is opened, or exec";

static void check_refused(BurnStatus status) {
  CHECK(burn_status_code(status) == BURN_STATUS_FAILED_PRECONDITION, "%s", burn_status_message(status));
  check_contains(burn_status_message(status), refusal);
}

/* What stands in the queue of the process is not waited for, nor are its tensors. */
static void use_in_child(void *context) {
  BurnDevice **devices = context;
  alarm(30); /* a child that hangs dies of it */
  float number = 0;
  check_refused(burn_read_f32(burn_sum(burn_ones(devices[0], BURN_SHAPE(4, 4), BURN_DTYPE_F32)), &number, 1));
  check_refused(burn_device_sync(devices[0]));
  BurnDevice *other = burn_device_open("vulkan");
  check_refused(burn_device_status(other));
  burn_device_close(other);
  burn_device_trim(devices[0]);
  for (int i = 0; i < 2; i++) burn_device_close(devices[i]);
}

static BurnTensor *product(BurnDevice *device) {
  BurnTensor *a = burn_ones(device, BURN_SHAPE(64, 32), BURN_DTYPE_F32);
  return burn_sum(burn_matmul(a, burn_ones(device, BURN_SHAPE(32, 64), BURN_DTYPE_F32)));
}

typedef struct Held {
  BurnDevice *devices[2];
  BurnTensor *done, *queued;
  BurnPendingRead *read;
} Held;

static void drop_in_child(void *context) {
  Held *held = context;
  float number = 0;
  alarm(30);
  burn_drop(held->done);
  check_refused(burn_read_f32(held->queued, &number, 1));
  check_refused(burn_read_finish_f32(held->read, &number, 1));
  use_in_child(held->devices);
}

static void fork_with_a_device(void **state) {
  (void)state;
  Held held = {.devices = {burn_device_open("vulkan"), burn_device_open("autodiff<fusion<vulkan>>")}};
  float number = 0;
  for (int i = 0; i < 2; i++) {
    assert_string_equal(burn_status_message(burn_device_status(held.devices[i])), "ok");
    assert_int_equal(burn_read_f32(product(held.devices[i]), &number, 1), BURN_OK);
  }
  held.done = burn_ones(held.devices[0], BURN_SHAPE(3), BURN_DTYPE_F32);
  held.queued = product(held.devices[0]);
  held.read = burn_read_start(product(held.devices[0]));
  forked(drop_in_child, &held);
  assert_int_equal(burn_read_f32(held.queued, &number, 1), BURN_OK);
  assert_true(number == 64 * 64 * 32);
  number = 0;
  assert_int_equal(burn_read_finish_f32(held.read, &number, 1), BURN_OK);
  assert_true(number == 64 * 64 * 32);
  burn_drop(held.done);
  for (int i = 0; i < 2; i++) burn_device_close(held.devices[i]);
}

/* Of a process that has used nothing of Vulkan. */
static void open_in_child(void) {
  BurnDevice *device = burn_device_open("vulkan");
  if (burn_device_status(device) != BURN_OK) _exit(NO_DEVICE);
  float number = 0;
  CHECK(burn_read_f32(product(device), &number, 1) == BURN_OK && number == 64 * 64 * 32, "%g", (double)number);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fork_with_a_device)};
  use_processor();
  fflush(NULL);
  const pid_t first = fork();
  if (first == 0) {
    open_in_child();
    _exit(0);
  }
  int status = 0;
  if (waitpid(first, &status, 0) != first || !WIFEXITED(status)) return 1;
  if (WEXITSTATUS(status) == NO_DEVICE) {
    printf("vulkan_fork_test: skipped, there is no device of Vulkan\n");
    return 0;
  }
  return WEXITSTATUS(status) != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
