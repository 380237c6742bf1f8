/* cuda_emulated_replay_test.c - steps of training that are recorded and replayed, with kernels on the CPU
 * (tests/plugins/emulated_cuda): the very bits of the same steps run one by one, many of them, and where a call of the
 * driver fails. */
#define REPLAY_BACKEND "cuda"
#include "replay_steps.h"

static char folder[64];

static void use_device(void) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_FOLDER, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  setenv("BURN_CUDA_FILL", "255", 1);
}

/* -- endurance -------------------------------------------------------------------------------- */

static void many_steps(void *context) {
  enum { STEPS = 10000 };
  int64_t reserved = 0;
  (void)context;
  use_device();
  BurnDevice *device = open_stack("fusion<cuda>");
  Model model = make_model(device);
  for (int i = 0; i < STEPS; i++) {
    (void)train(device, &model, 8, i % 100);
    if (i == 100) reserved = burn_device_memory(device).bytes_reserved;
  }
  CHECK(burn_device_memory(device).bytes_reserved == reserved, "%lld bytes are reserved, %lld were at step 100",
        (long long)burn_device_memory(device).bytes_reserved, (long long)reserved);
  CHECK(fusion_statistics(device).replays >= STEPS - 5, "%d steps were replayed",
        (int)fusion_statistics(device).replays);
  drop_model(&model);
  burn_device_close(device);
}

static void test_ten_thousand_steps(void **state) {
  (void)state;
  forked_test(many_steps);
}

/* -- each call of the driver fails once -------------------------------------------------------- */

static void fail_at(void *number) {
  use_device();
  setenv("BURN_FAKE_CUDA_FAIL", number, 1);
  run_steps_that_may_fail();
}

static void test_every_call_of_the_driver_may_fail(void **state) {
  (void)state;
  expect_loss(folder);
  for (int i = 1; i <= 160; i++) {
    char number[8];
    (void)snprintf(number, sizeof number, "%d", i);
    forked(fail_at, number);
  }
}

static int set_up(void **state) {
  (void)state;
  make_folder(folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {REPLAY_STEPS_TESTS, cmocka_unit_test(test_ten_thousand_steps),
                                     cmocka_unit_test(test_every_call_of_the_driver_may_fail)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
