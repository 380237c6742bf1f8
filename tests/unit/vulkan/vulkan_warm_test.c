/* vulkan_warm_test.c - pipelines that a program used before are compiled by a thread when the device is opened: then the program
 * runs on a driver that compiles nothing any more; whatever the thread meets, numbers are the same and nothing is left. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, usleep */
#if defined(FAKE_VULKAN)
#include "forked.h"
#include "vulkan_driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <sys/mman.h>

/* What a child is to do, and what it tells. */
typedef struct Run {
  const char *fault;     /* BURN_FAKE_VULKAN_FAIL, before it opens the device; NULL: none */
  bool waits, has_ended; /* for the thread, and then nothing is compiled any more; it closes the device at once */
  bool has_device;
  float result;
} Run;
static Run *run;
static char folder[64];

typedef int Number(void);
typedef int Live(char *kinds, size_t bytes);
typedef void Fail(const char *which, const char *result);

static void find(const char *name, void *function) {
  void *library = dlopen(FAKE_VULKAN, RTLD_LAZY | RTLD_NOLOAD), *found = library ? dlsym(library, name) : NULL;
  CHECK(found, "the loader was never opened");
  memcpy(function, &found, sizeof found);
}

/* Until the driver has not been called for a while. */
static void wait_for_thread(void) {
  Number *calls = NULL;
  find("fake_vulkan_calls", &calls);
  for (int before = -1, now = calls(); before != now; before = now, now = calls()) (void)usleep(1500000);
}

static float use(BurnDevice *device) {
  float result = 0;
  BurnTensor *x = burn_reshape(burn_sin(burn_cast(burn_arange(device, 0, 256, 1), BURN_DTYPE_F32)), BURN_SHAPE(16, 16));
  for (int i = 0; i < 3; i++)
    x = burn_softmax(burn_add(burn_matmul(burn_clone(x), burn_transpose(burn_clone(x))), x), 1);
  const BurnStatus status = burn_read_f32(burn_sum(burn_mul_scalar(x, 3)), &result, 1);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  return result;
}

static void check_that_nothing_is_left(void) {
  char kinds[200];
  Live *live = NULL;
  Number *complaints = NULL;
  find("fake_vulkan_live", &live);
  find("fake_vulkan_complaints", &complaints);
  CHECK(live(kinds, sizeof kinds) == 0, "left after the device was closed:%s", kinds);
  CHECK(complaints() == 0, "the library has complained, see above");
}

static void open_and_use(void *context) {
  Fail *set_fault = NULL;
  (void)context;
  alarm(300); /* a hang is a failure */
  use_processor();
  setenv("BURN_VULKAN_LOADER", FAKE_VULKAN, 1);
  setenv("XDG_CACHE_HOME", folder, 1);
  if (run->fault) setenv("BURN_FAKE_VULKAN_FAIL", run->fault, 1);
  BurnDevice *device = burn_device_open("vulkan:warm_up=always");
  run->has_device = burn_device_status(device) == BURN_OK;
  if (!run->has_device) return;
  if (run->waits) wait_for_thread();
  find("fake_vulkan_fail", &set_fault);
  if (run->waits) set_fault("vkCreateComputePipelines:1+", "VK_ERROR_OUT_OF_HOST_MEMORY");
  if (!run->has_ended) run->result = use(device);
  burn_device_close(device);
  check_that_nothing_is_left();
}

static Run on(Run wanted) {
  *run = wanted;
  forked(open_and_use, NULL);
  return *run;
}

/* The bytes of the file of kernels, of which there is one; `changes`: that byte is another one from now on. */
static long file_bytes(long changes) {
  char pattern[100];
  glob_t found = {0};
  (void)snprintf(pattern, sizeof pattern, "%s/burn/vulkan/*.kernels", folder);
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  assert_int_equal(found.gl_pathc, 1);
  FILE *file = fopen(found.gl_pathv[0], "r+b");
  assert_non_null(file);
  if (changes >= 0) {
    assert_int_equal(fseek(file, changes, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, changes, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
  }
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  const long bytes = ftell(file);
  assert_int_equal(fclose(file), 0);
  globfree(&found);
  return bytes;
}

static void test_warm_up(void **state) {
  static const char *const faults[] = {"vkCreateComputePipelines:2", "vkCreateComputePipelines:4",
                                       "vkCreateShaderModule:3", "vkCreateShaderModule:5"};
  (void)state;
  const Run first = on((Run){.waits = false});
  if (!first.has_device) skip();
  const long bytes = file_bytes(-1);
  assert_true(on((Run){.waits = true}).result == first.result);
  assert_true(on((Run){.waits = false}).result == first.result); /* it waits for those that it needs */
  (void)on((Run){.has_ended = true});
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
    assert_true(on((Run){.fault = faults[i]}).result == first.result);
  for (long at = 4; at < 200; at += 60) { /* what is not whole is written anew */
    assert_int_equal(file_bytes(at), bytes);
    assert_true(on((Run){.waits = false}).result == first.result);
    assert_true(on((Run){.waits = true}).result == first.result);
  }
}

/* In the place of both files; who waits for them is ended by its alarm. */
static void put_pipes(void) {
  char pattern[100];
  glob_t found = {0};
  (void)snprintf(pattern, sizeof pattern, "%s/burn/vulkan/*", folder);
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++)
    assert_int_equal(remove(found.gl_pathv[i]) | mkfifo(found.gl_pathv[i], 0600), 0);
  globfree(&found);
}

static void test_pipes_keep_nobody_waiting(void **state) {
  (void)state;
  const Run first = on((Run){.waits = false});
  if (!first.has_device) skip();
  put_pipes();
  assert_true(on((Run){.waits = false}).result == first.result);
  (void)file_bytes(-1); /* written in its place */
}

static int set_up(void **state) {
  (void)state;
  make_folder(folder);
  run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return run == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state) {
  (void)state;
  return munmap(run, sizeof *run) == 0 && remove_folder(folder) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_warm_up), cmocka_unit_test(test_pipes_keep_nobody_waiting)};
  return cmocka_run_group_tests_name("vulkan_warm", tests, set_up, tear_down);
}
#else
#include <stdio.h>
int main(void) {
  printf("vulkan_warm_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#endif
