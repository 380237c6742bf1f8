/* vulkan_devices_test.c - devices that have less than the one that is here, or lie (tests/plugins/fake_vulkan): the same
 * numbers, or a refusal that names what is missing. And failures that come late: an index outside, a device that is
 * lost; the process goes on. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "forked.h"
#include "vulkan_driver.h"

#include <burn/burn.h>

#include <dlfcn.h>
#include <sys/mman.h>

#if !defined(FAKE_VULKAN)
int main(void) {
  printf("vulkan_devices_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#else

enum { NUMBERS = 16 };

/* What a child tells. */
typedef struct Report {
  int has_failed;
  float numbers[NUMBERS];
  char words[400]; /* of the failure */
} Report;
static Report *report;
static float right[NUMBERS];
static bool has_driver;

/* -- one device ------------------------------------------------------------------------------- */

static BurnTensor *wave(BurnDevice *device, BurnShape shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return burn_reshape(burn_sin(burn_cast(burn_arange(device, 0, count, 1), BURN_DTYPE_F32)), shape);
}

static BurnTensor *as_halves(BurnTensor *x) {
  return burn_cast(burn_exp(burn_cast(x, BURN_DTYPE_F16)), BURN_DTYPE_F32);
}

/* An op or two of most families. The convolution has more channels than those kernels for few take that processors do
 * without: they add in another order. */
static BurnStatus compute(BurnDevice *device, float *numbers) {
  BurnTensor *x = wave(device, BURN_SHAPE(20, 60));
  BurnTensor *image = wave(device, BURN_SHAPE(2, 36, 6, 6)), *weight = wave(device, BURN_SHAPE(4, 36, 3, 3));
  BurnTensor *results[] = {burn_sum(burn_clone(x)),
                           burn_sum(burn_softmax(burn_clone(x), 1)),
                           burn_max(burn_matmul(burn_clone(x), burn_transpose(burn_clone(x)))),
                           burn_sum(as_halves(burn_clone(x))),
                           burn_sum(burn_cumsum(burn_clone(x), 0)),
                           burn_sum(burn_gather(burn_clone(x), 1, burn_argsort(burn_clone(x), 1))),
                           burn_sum(burn_cast(burn_cast(burn_clone(x), BURN_DTYPE_F64), BURN_DTYPE_F32)),
                           burn_sum(burn_gelu(burn_conv2d(image, weight, NULL, BURN_CONV2D_OPTIONS))),
                           burn_sum(burn_mean_dim(burn_clone(x), 0)),
                           burn_sum(burn_cat((BurnTensor *[]){burn_clone(x), burn_clone(x)}, 2, 0))};
  BurnStatus status = BURN_OK;
  burn_drop(x);
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    const BurnStatus read = burn_read_f32(results[i], &numbers[i], 1);
    if (status == BURN_OK) status = read;
  }
  return status;
}

/* A number of the library that the plugin has opened. */
static int number_of(const char *name) {
  int (*number)(void) = NULL;
  void *library = dlopen(FAKE_VULKAN, RTLD_LAZY | RTLD_NOLOAD);
  void *found = library ? dlsym(library, name) : NULL;
  CHECK(found, "the loader was never opened");
  memcpy(&number, &found, sizeof found);
  return number();
}

static void open_and_compute(void *context) {
  (void)context;
  alarm(120); /* a hang is a failure */
  BurnDevice *device = burn_device_open("vulkan");
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = compute(device, report->numbers);
  report->has_failed = status != BURN_OK;
  if (status != BURN_OK) (void)snprintf(report->words, sizeof report->words, "%s", burn_status_message(status));
  burn_device_close(device);
  CHECK(number_of("fake_vulkan_complaints") == 0, "the library has complained, see above");
}

static void run(const char *words) {
  memset(report, 0, sizeof *report);
  setenv("BURN_FAKE_VULKAN_DEVICE", words, 1);
  forked(open_and_compute, NULL);
}

/* -- tests ------------------------------------------------------------------------------------ */

static int set_up(void **state) {
  (void)state;
  report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (report == MAP_FAILED) return -1;
  use_processor();
  setenv("BURN_VULKAN_LOADER", FAKE_VULKAN, 1);
  run("");
  has_driver = !report->has_failed;
  if (!has_driver) print_message("%s\n", report->words);
  memcpy(right, report->numbers, sizeof right);
  return 0;
}

static const char *const smaller[] = {"shared=16384",
                                      "threads=512",
                                      "threads=256",
                                      "groups=64",
                                      "allocation=64M",
                                      "allocation=20M,buffer=20M",
                                      "heap=96M",
                                      "subgroup=4",
                                      "subgroup=16",
                                      "no_shuffle",
                                      "no_controls",
                                      "no_clock",
                                      "uncached",
                                      "discrete",
                                      "discrete,uncached",
                                      "without=shaderFloat16,without=shaderBufferInt64Atomics",
                                      "without=scalarBlockLayout,without=vulkanMemoryModel,without=maintenance4",
                                      "without=subgroupSizeControl,without=computeFullSubgroups",
                                      "without=storagePushConstant8,without=storagePushConstant16",
                                      "many_devices",
                                      "endless",
                                      "growing",
                                      "lying",
                                      "garbage"};

static void check_numbers(const char *words) {
  if (report->has_failed) fail_msg("%s: %s", words, report->words);
  for (int i = 0; i < NUMBERS; i++)
    if (memcmp(&report->numbers[i], &right[i], sizeof right[i]) != 0)
      fail_msg("%s: number %d is %.9g instead of %.9g", words, i, (double)report->numbers[i], (double)right[i]);
}

static void test_smaller_devices_have_the_same_numbers(void **state) {
  (void)state;
  if (!has_driver) skip();
  for (size_t i = 0; i < sizeof smaller / sizeof smaller[0]; i++) {
    run(smaller[i]);
    check_numbers(smaller[i]);
  }
}

/* The device begins with its work as late as it may. */
static void test_late_devices_have_the_same_numbers(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_LATE", "1", 1);
  run("");
  check_numbers("late");
  run("discrete");
  check_numbers("late and discrete");
  unsetenv("BURN_FAKE_VULKAN_LATE");
}

typedef struct Refusal {
  const char *words, *part;
} Refusal;
static const Refusal refusals[] = {{"", "vkCreateDevice: VK_ERROR_INITIALIZATION_FAILED"},
                                   {"no_devices", "knows no device"},
                                   {"loader=1.1", "of version 1.1; 1.3 is needed"},
                                   {"version=1.2", "has Vulkan 1.2, and 1.3 is needed"},
                                   {"version=1.2,endless", "has Vulkan 1.2"},
                                   {"threads=128", "lacks workgroups of 256 threads"},
                                   {"push=64", "lacks 128 bytes of push constants"},
                                   {"no_queues", "lacks a queue for compute"},
                                   {"hidden", "lacks coherent memory that the host sees"},
                                   {"incoherent", "lacks coherent memory that the host sees"},
                                   {"without=shaderFloat64", "lacks shaderFloat64"},
                                   {"without=shaderInt64,without=timelineSemaphore", "lacks shaderInt64, timelineSem"},
                                   {"without=bufferDeviceAddress", "lacks bufferDeviceAddress"},
                                   {"without=synchronization2,lying", "lacks synchronization2"}};

/* Without a driver: the library has a device of its own. */
/* More rounds of a loop than llvmpipe makes before it ends it. */
static void long_loops(void *context) {
  enum { LONG = 140000 };
  (void)context;
  BurnDevice *device = burn_device_open("vulkan");
  float sum = 0;
  BurnTensor *rows = burn_ones(device, BURN_SHAPE(2, LONG), BURN_DTYPE_F32);
  BurnTensor *columns = burn_ones(device, BURN_SHAPE(LONG, 2), BURN_DTYPE_F32);
  const BurnStatus multiplied = burn_read_f32(burn_max(burn_matmul(rows, burn_clone(columns))), &sum, 1);
  CHECK(multiplied == BURN_OK && sum == (float)LONG, "a product of %d steps is %g: %s", LONG, (double)sum,
        burn_status_message(multiplied));
  const BurnStatus added = burn_read_f32(burn_max(burn_cumsum(columns, 0)), &sum, 1);
  const bool is_refused = burn_status_code(added) == BURN_STATUS_UNIMPLEMENTED;
  CHECK(is_refused || (added == BURN_OK && sum == (float)LONG), "a sum of %d steps is %g: %s", LONG, (double)sum,
        burn_status_message(added));
  burn_device_close(device);
}

static void test_long_loops_are_made_or_refused(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_DEVICE", "", 1);
  forked(long_loops, NULL);
}

static void test_refusals_name_what_is_missing(void **state) {
  (void)state;
  setenv("BURN_FAKE_VULKAN_LOADER", "alone", 1);
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    run(refusals[i].words);
    assert_true(report->has_failed);
    if (!strstr(report->words, refusals[i].part))
      fail_msg("%s: '%s' does not contain '%s'", refusals[i].words, report->words, refusals[i].part);
  }
  unsetenv("BURN_FAKE_VULKAN_LOADER");
}

static void expect_without(const char *function, const char *part) {
  setenv("BURN_FAKE_VULKAN_MISSING", function, 1);
  run("");
  unsetenv("BURN_FAKE_VULKAN_MISSING");
  assert_true(report->has_failed);
  if (!strstr(report->words, part)) fail_msg("'%s' does not contain '%s'", report->words, part);
}

static void test_functions_that_are_missing_are_named(void **state) {
  (void)state;
  expect_without("vkCreateInstance", "the Vulkan loader has no vkCreateInstance");
  if (!has_driver) skip();
  expect_without("vkCreateDevice", "the Vulkan loader has no vkCreateDevice");
  expect_without("vkQueueSubmit2", "the driver has no vkQueueSubmit2");
  expect_without("vkDestroyDevice", "the driver has no vkDestroyDevice");
}

/* -- matrices of subgroups -------------------------------------------------------------------- */

/* A trial of matrices fails so; what is logged is looked at. */
static void try_matrices(void *context) {
  const char *result = context;
  FILE *said = tmpfile();
  setenv("BURN_FAKE_VULKAN_RESULT", result, 1);
  CHECK(said && dup2(fileno(said), STDERR_FILENO) >= 0, "no file");
  BurnDevice *device = burn_device_open("vulkan:matrices=always");
  const BurnStatus status = burn_device_status(device);
  char text[2000];
  rewind(said);
  text[fread(text, 1, sizeof text - 1, said)] = '\0';
  if (strstr(result, "MEMORY")) { /* no word about matrices */
    CHECK(burn_status_code(status) == BURN_STATUS_OUT_OF_MEMORY, "status: %s", burn_status_message(status));
    check_contains(burn_status_message(status), result);
    CHECK(!strstr(text, "matrices"), "a warning: %s", text);
  } else {
    CHECK(status == BURN_OK, "status: %s", burn_status_message(status));
    check_contains(text, "matrices of f16, 8 x 8 x 8, are not used: the trial failed: ");
    check_contains(text, result);
  }
  burn_device_close(device);
  CHECK(number_of("fake_vulkan_complaints") == 0, "the library has complained: %s", text);
}

static void test_a_failed_trial_of_matrices_is_told(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_DEVICE", "matrices", 1);
  forked(try_matrices, (void *)(uintptr_t) "VK_ERROR_UNKNOWN");
  forked(try_matrices, (void *)(uintptr_t) "VK_ERROR_OUT_OF_HOST_MEMORY");
}

/* -- two devices ------------------------------------------------------------------------------ */

static BurnDevice *open_device(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
}

enum { ROWS = 37, COLUMNS = 53 };

/* There and back, with work before and after that nobody has waited for; x is turned, so that its lines do not lie one
 * after the other. */
static BurnTensor *to_and_fro(BurnTensor *x, BurnDevice *here, BurnDevice *there) {
  BurnTensor *turned = burn_add_scalar(burn_transpose(x), 1.0);
  BurnTensor *away = burn_mul_scalar(burn_to_device(burn_transpose(turned), there), 2.0);
  return burn_sub_scalar(burn_to_device(away, here), 2.0);
}

static void copy_between(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_F64, BURN_DTYPE_I64};
  static float numbers[ROWS * COLUMNS], got[ROWS * COLUMNS];
  (void)context;
  alarm(120);
  BurnDevice *first = open_device("vulkan:0"), *second = open_device("vulkan:1");
  for (int i = 0; i < ROWS * COLUMNS; i++) numbers[i] = (float)(i % 1001);
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    BurnTensor *x = burn_cast(burn_tensor_f32(first, numbers, BURN_SHAPE(ROWS, COLUMNS)), dtypes[d]);
    BurnTensor *none = burn_to_device(burn_zeros(first, BURN_SHAPE(0, 3), dtypes[d]), second);
    CHECK(burn_element_count(none) == 0, "a copy of no elements has some");
    burn_drop(none);
    x = burn_cast(to_and_fro(x, first, second), BURN_DTYPE_F32);
    const BurnStatus status = burn_read_f32(x, got, ROWS * COLUMNS);
    CHECK(status == BURN_OK, "%s", burn_status_message(status));
    for (int i = 0; i < ROWS * COLUMNS; i++)
      CHECK(got[i] == 2 * numbers[i], "dtype %d, element %d: %g", (int)dtypes[d], i, (double)got[i]);
  }
  CHECK(burn_device_memory(second).live_tensors == 0, "tensors are left");
  burn_device_close(first);
  burn_device_close(second);
  CHECK(number_of("fake_vulkan_complaints") == 0, "the library has complained, see above");
}

static void test_tensors_go_from_device_to_device(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_DEVICE", "many_devices,discrete", 1);
  forked(copy_between, NULL);
  setenv("BURN_FAKE_VULKAN_LATE", "1", 1);
  forked(copy_between, NULL);
  unsetenv("BURN_FAKE_VULKAN_LATE");
}

static void no_memory_crosses(void *context) {
  struct DLManagedTensorVersioned *out = NULL;
  (void)context;
  BurnDevice *device = open_device("vulkan"), *host = open_device("ndarray");
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32);
  const BurnStatus status = burn_to_dlpack(burn_clone(x), &out);
  CHECK(burn_status_code(status) == BURN_STATUS_UNIMPLEMENTED, "memory of Vulkan crosses to others");
  check_contains(burn_status_message(status), "burn_to_device");
  CHECK(burn_to_dlpack(burn_to_device(x, host), &out) == BURN_OK, "the way round is shut");
  BurnTensor *back = burn_from_dlpack(out, device);
  float sum = 0;
  CHECK(burn_read_f32(burn_sum(back), &sum, 1) == BURN_OK && sum == 6, "the sum is %g", (double)sum);
  burn_device_close(device);
  burn_device_close(host);
}

static void test_dlpack_goes_by_the_host(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_DEVICE", "", 1);
  forked(no_memory_crosses, NULL);
}

/* -- late failures ---------------------------------------------------------------------------- */

static void check_sum(BurnDevice *device) {
  float sum = 0;
  const BurnStatus status = burn_read_f32(burn_sum(burn_ones(device, BURN_SHAPE(7, 9), BURN_DTYPE_F32)), &sum, 1);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  CHECK(sum == 63, "the sum is %g", (double)sum);
}

/* The kernel finds it, the next read tells it. */
static void pick_outside(void *context) {
  const int64_t indices[] = {0, 7};
  float numbers[6];
  (void)context;
  BurnDevice *device = open_device("vulkan");
  BurnTensor *x = wave(device, BURN_SHAPE(3, 3));
  const BurnStatus status =
      burn_read_f32(burn_select(x, 0, burn_tensor_i64(device, indices, BURN_SHAPE(2))), numbers, 6);
  CHECK(status != BURN_OK, "an index outside is not told");
  check_contains(burn_status_message(status), "7");
  check_contains(burn_status_message(status), "select");
  check_sum(device);
  burn_device_close(device);
}

static void test_an_index_outside_is_told(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_DEVICE", "", 1);
  forked(pick_outside, NULL);
  setenv("BURN_FAKE_VULKAN_LATE", "1", 1);
  forked(pick_outside, NULL);
  unsetenv("BURN_FAKE_VULKAN_LATE");
}

static void fail_next(const char *function) {
  void (*set)(const char *which, const char *result) = NULL;
  void *library = dlopen(FAKE_VULKAN, RTLD_LAZY | RTLD_NOLOAD), *found = dlsym(library, "fake_vulkan_fail");
  char which[60];
  memcpy(&set, &found, sizeof found);
  (void)snprintf(which, sizeof which, "%s:1", function);
  set(which, "VK_ERROR_DEVICE_LOST");
}

/* Two devices are open when one of them is lost. */
static void lose_the_device(void *context) {
  const char *function = context;
  float number = 0;
  /* The thread of warm_up could be in the middle of its next call. */
  BurnDevice *device = open_device("vulkan:warm_up=never"), *other = open_device("ndarray");
  BurnTensor *kept = burn_relu(burn_matmul(wave(device, BURN_SHAPE(8, 8)), wave(device, BURN_SHAPE(8, 8))));
  fail_next(function);
  BurnStatus status = burn_read_f32(burn_sum(burn_clone(kept)), &number, 1);
  CHECK(status != BURN_OK, "nobody says that the device was lost");
  check_contains(burn_status_message(status), "VK_ERROR_DEVICE_LOST");
  check_contains(burn_status_message(status), "the last ops were sum, relu, matmul");
  status = burn_read_f32(burn_exp(kept), &number, 1);
  CHECK(status != BURN_OK, "a lost device computes");
  check_contains(burn_status_message(status), "open it anew");
  check_sum(other);
  BurnDevice *again = open_device("vulkan");
  check_sum(again);
  burn_device_close(device);
  check_sum(again);
  burn_device_close(again);
  burn_device_close(other);
  CHECK(number_of("fake_vulkan_complaints") == 0, "the library has complained, see above");
}

static void test_a_lost_device_is_told_and_the_process_goes_on(void **state) {
  (void)state;
  if (!has_driver) skip();
  setenv("BURN_FAKE_VULKAN_DEVICE", "discrete", 1);
  forked(lose_the_device, (void *)(uintptr_t) "vkQueueSubmit2");
  forked(lose_the_device, (void *)(uintptr_t) "vkWaitSemaphores");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_smaller_devices_have_the_same_numbers),
                                     cmocka_unit_test(test_late_devices_have_the_same_numbers),
                                     cmocka_unit_test(test_long_loops_are_made_or_refused),
                                     cmocka_unit_test(test_refusals_name_what_is_missing),
                                     cmocka_unit_test(test_functions_that_are_missing_are_named),
                                     cmocka_unit_test(test_a_failed_trial_of_matrices_is_told),
                                     cmocka_unit_test(test_tensors_go_from_device_to_device),
                                     cmocka_unit_test(test_dlpack_goes_by_the_host),
                                     cmocka_unit_test(test_an_index_outside_is_told),
                                     cmocka_unit_test(test_a_lost_device_is_told_and_the_process_goes_on)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
#endif
