/* vulkan_replay_test.c - steps of training that are recorded and replayed on the Vulkan backend, through the loader that
 * holds work back and watches over barriers (tests/plugins/fake_vulkan): the very bits of the same steps run one by one,
 * with either kind of barriers, and where a call of the driver fails. */
#if defined(FAKE_VULKAN)
#define REPLAY_BACKEND "vulkan"
#include "replay_steps.h"
#include "vulkan_driver.h"

#include <dlfcn.h>

static char folder[64];

static void use_device(void) {
  use_processor();
  setenv("BURN_VULKAN_LOADER", FAKE_VULKAN, 1);
  setenv("BURN_FAKE_VULKAN_LATE", "1", 1);
  setenv("BURN_FAKE_VULKAN_BACKWARDS", "1", 1);
  setenv("BURN_VULKAN_FILL", "255", 1);
}

/* -- the driver ------------------------------------------------------------------------------- */

static void find_device(void *context) {
  use_device();
  BurnDevice *device = burn_device_open("vulkan");
  const bool is_there = burn_device_status(device) == BURN_OK;
  burn_device_close(device);
  FILE *file = fopen(context, "w");
  CHECK(file && fprintf(file, "%d", is_there) > 0 && fclose(file) == 0, "%s cannot be written", (const char *)context);
}

static bool has_device(void) {
  char path[96];
  int is_there = 0;
  (void)snprintf(path, sizeof path, "%s/device", folder);
  forked(find_device, path);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%d", &is_there), 1);
  (void)fclose(file);
  return is_there;
}

static int complaints(void) {
  void *library = dlopen(FAKE_VULKAN, RTLD_NOW | RTLD_NOLOAD);
  int (*count)(void) = NULL;
  CHECK(library, "the loader in front of Vulkan's is not in use");
  *(void **)&count = dlsym(library, "fake_vulkan_complaints");
  return count();
}

/* -- barriers --------------------------------------------------------------------------------- */

static void watch_barriers(void *context) {
  use_device();
  BurnDevice *device = open_stack(context);
  Model model = make_model(device);
  for (int i = 0; i < 20; i++) (void)train(device, &model, 8, i);
  CHECK(replay_statistics(device).runs >= 15, "%d steps were replayed", (int)replay_statistics(device).runs);
  drop_model(&model);
  burn_device_close(device);
  CHECK(complaints() == 0, "%d complaints", complaints());
}

static void test_barriers(void **state) {
  char needed[] = "fusion<vulkan>", all[] = "fusion<vulkan:barriers=all>";
  (void)state;
  forked(watch_barriers, needed);
  forked(watch_barriers, all);
}

/* -- each call of the driver fails once -------------------------------------------------------- */

static void fail_at(void *which) {
  use_device();
  setenv("BURN_FAKE_VULKAN_FAIL", which, 1);
  run_steps_that_may_fail();
  CHECK(complaints() == 0, "%s: %d complaints", (const char *)which, complaints());
}

/* Those that recordings make, and some that belong to others. */
static void test_calls_of_the_driver_may_fail(void **state) {
  static const char *const names[] = {"vkCreateCommandPool", "vkAllocateCommandBuffers", "vkBeginCommandBuffer",
                                      "vkEndCommandBuffer",  "vkQueueSubmit2",           "vkCreateBuffer",
                                      "vkAllocateMemory",    "vkResetCommandPool"};
  char which[64];
  (void)state;
  expect_loss(folder);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    for (int call = 1; call <= 24; call++) {
      (void)snprintf(which, sizeof which, "%s:%d", names[i], call);
      forked(fail_at, which);
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
  const struct CMUnitTest tests[] = {REPLAY_STEPS_TESTS, cmocka_unit_test(test_barriers),
                                     cmocka_unit_test(test_calls_of_the_driver_may_fail)};
  make_folder(folder);
  if (!has_device()) {
    printf("vulkan_replay_test: skipped, there is no device of Vulkan\n");
    return tear_down(NULL);
  }
  (void)tear_down(NULL);
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
#else
#include <stdio.h>

int main(void) {
  printf("vulkan_replay_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#endif
