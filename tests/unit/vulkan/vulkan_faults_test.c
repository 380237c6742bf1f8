/* vulkan_faults_test.c - every call of the driver fails, in each of a few programs, once and from then on: nothing
 * crashes or hangs, a failure has words, nothing is left, the next device works, and the numbers of a program that says
 * nothing are right. Calls go through tests/plugins/fake_vulkan to the driver that is here; lavapipe is one for the CPU.
 *
 * BURN_VULKAN_FAULTS=all fails every call with every result; else some are drawn. BURN_VULKAN_SCENARIO names one program
 * that is run alone. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "forked.h"
#include "sanitized.h"
#include "vulkan_driver.h"

#include <burn/autodiff.h>
#include <burn/nn.h>
#include <burn/train.h>
#include <burn/transfer.h>

#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>

#if !defined(FAKE_VULKAN)
int main(void) {
  printf("vulkan_faults_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#else

/* What a child tells. */
typedef struct Report {
  int calls, has_opened, has_failed;
  float result;
  char words[300]; /* of the failure */
} Report;
static Report *report;

/* -- programs: each gives a status and a number ------------------------------------------------ */

typedef BurnStatus Program(BurnDevice *device, float *result);

static BurnTensor *wave(BurnDevice *device, BurnShape shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return burn_reshape(burn_sin(burn_cast(burn_arange(device, 0, count, 1), BURN_DTYPE_F32)), shape);
}

static BurnStatus only_open(BurnDevice *device, float *result) {
  *result = 1;
  return burn_device_status(device);
}

static BurnStatus create_and_read(BurnDevice *device, float *result) {
  static float numbers[5000];
  float first[3];
  for (int i = 0; i < 5000; i++) numbers[i] = (float)i;
  BurnTensor *large = burn_tensor_f32(device, numbers, BURN_SHAPE(5000));
  BurnTensor *small = burn_tensor_f32(device, numbers, BURN_SHAPE(3));
  memset(numbers, 0, sizeof numbers);
  BurnStatus status = burn_read_f32(small, first, 3);
  if (status == BURN_OK) {
    status = burn_read_f32(large, numbers, 5000);
  } else {
    burn_drop(large);
  }
  *result = numbers[4999];
  return status;
}

/* Fifty ops, of a few kinds, with a read in the middle. */
static BurnStatus chain(BurnDevice *device, float *result) {
  BurnTensor *x = wave(device, BURN_SHAPE(16, 16));
  float middle = 0;
  BurnStatus status = BURN_OK;
  for (int i = 0; i < 12; i++) {
    x = burn_softmax(burn_add(burn_matmul(burn_clone(x), burn_transpose(burn_clone(x))), x), 1);
    if (i == 6) status = burn_read_f32(burn_sum(burn_clone(x)), &middle, 1);
  }
  const BurnStatus end = burn_read_f32(burn_sum(burn_mul(burn_mul_scalar(burn_clone(x), 3), x)), result, 1);
  *result += middle;
  return status == BURN_OK ? end : status;
}

/* Takes memory until there is none, and goes on with what was left before. */
static BurnStatus fill_and_recover(BurnDevice *device, float *result) {
  enum { MOST = 64 };
  BurnTensor *kept[MOST];
  int count = 0;
  BurnStatus status = BURN_OK;
  BurnTensor *before = wave(device, BURN_SHAPE(8, 8));
  while (count < MOST && status == BURN_OK) {
    kept[count] = burn_full(device, BURN_SHAPE(1 << 20), BURN_DTYPE_F32, 2);
    status = burn_tensor_status(kept[count++]);
  }
  for (int i = 0; i < count; i++) burn_drop(kept[i]);
  if (status == BURN_OK || burn_status_code(status) != BURN_STATUS_OUT_OF_MEMORY) {
    burn_drop(before);
    return status;
  }
  BurnTensor *later = burn_full(device, BURN_SHAPE(1 << 20), BURN_DTYPE_F32, 2);
  return burn_read_f32(burn_add(burn_sum(before), burn_mean(later)), result, 1);
}

#define NET_FIELDS(X)            \
  X(BurnLinear, first, "4 to 8") \
  X(BurnLinear, second, "8 to 2")
BURN_MODULE(Net, NET_FIELDS);

static BurnStatus step(Net *net, BurnDevice *device, BurnOptimizer *optimizer) {
  BurnTensor *hidden = burn_gelu(burn_linear_forward(&net->first, wave(device, BURN_SHAPE(6, 4))));
  BurnTensor *loss = burn_mean(burn_square(burn_linear_forward(&net->second, hidden)));
  return burn_train_step(optimizer, burn_module(Net, net), loss, 0.01);
}

static BurnStatus train(BurnDevice *device, float *result) {
  burn_device_seed(device, 1);
  Net net = {.first = burn_linear_new(4, 8, device), .second = burn_linear_new(8, 2, device)};
  BurnOptimizer *adam = burn_adam_create(NULL);
  BurnStatus status = burn_module_status(burn_module(Net, &net));
  for (int i = 0; i < 2 && status == BURN_OK; i++) status = step(&net, device, adam);
  BurnTensor *out = burn_linear_forward(&net.first, wave(device, BURN_SHAPE(6, 4)));
  const BurnStatus end = burn_read_f32(burn_sum(burn_inner(out)), result, 1);
  burn_optimizer_destroy(adam);
  Net_release(&net);
  return status == BURN_OK ? end : status;
}

typedef struct Scenario {
  const char *name, *stack;
  Program *program;
  const char *pretended; /* words of BURN_FAKE_VULKAN_DEVICE */
} Scenario;
/* Without warm_up, whose thread's calls have no fixed place among the others: it would run on what is not a
 * processor. */
static const Scenario scenarios[] = {
    {"open and close", "vulkan", only_open, ""},
    {"create and read", "vulkan", create_and_read, ""},
    {"create and read, discrete", "vulkan:warm_up=never", create_and_read, "discrete"},
    {"a chain of ops", "vulkan", chain, ""},
    {"out of memory", "vulkan", fill_and_recover, "heap=96M"},
    {"training", "autodiff<fusion<vulkan>>", train, ""},
    {"training, discrete", "autodiff<fusion<vulkan:warm_up=never>>", train, "discrete"}};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* What fails, and how; `name`: calls of that function alone. */
typedef struct Fault {
  const char *result, *name, *and_after;
} Fault;
static const Fault faults[] = {{"VK_ERROR_OUT_OF_DEVICE_MEMORY", NULL, ""},
                               {"VK_ERROR_DEVICE_LOST", NULL, ""},
                               {"VK_ERROR_OUT_OF_HOST_MEMORY", NULL, "+"},
                               {"VK_ERROR_INITIALIZATION_FAILED", NULL, ""},
                               {"VK_TIMEOUT", "vkWaitSemaphores", ""}};
enum { FAULTS = sizeof faults / sizeof faults[0] };

/* -- one run ---------------------------------------------------------------------------------- */

typedef int Number(void);
typedef int Live(char *kinds, size_t bytes);
typedef void Fail(const char *which, const char *result);

/* A function of the library that the plugin has opened. */
static void find(const char *name, void *function) {
  void *library = dlopen(FAKE_VULKAN, RTLD_LAZY | RTLD_NOLOAD);
  void *found = library ? dlsym(library, name) : NULL;
  CHECK(found, "the loader was never opened");
  memcpy(function, &found, sizeof found);
}

static int number_of(const char *name) {
  Number *number = NULL;
  find(name, &number);
  return number();
}

static BurnStatus run_once(const Scenario *scenario, float *result, bool *has_opened) {
  BurnDevice *device = burn_device_open(scenario->stack);
  BurnStatus status = burn_device_status(device);
  *has_opened = status == BURN_OK;
  if (status == BURN_OK) {
    status = scenario->program(device, result);
    const BurnMemoryStats memory = burn_device_memory(device);
    CHECK(memory.live_tensors == 0, "%lld tensors are left", (long long)memory.live_tensors);
  }
  CHECK(status == BURN_OK || strlen(burn_status_message(status)) > 8, "a failure without words");
  burn_device_close(device);
  return status;
}

/* A wait that timed out leaves what the device may still work with. */
static void check_that_nothing_is_left(void) {
  char kinds[200];
  Live *live = NULL;
  find("fake_vulkan_live", &live);
  if (number_of("fake_vulkan_timed_out")) return;
  CHECK(live(kinds, sizeof kinds) == 0, "left after the device was closed:%s", kinds);
}

/* The next one works, unless the process has no instance. */
static void run_again(const Scenario *scenario, BurnStatus before) {
  Fail *set_fault = NULL;
  float result = 0;
  bool has_opened = false;
  find("fake_vulkan_fail", &set_fault);
  set_fault(NULL, NULL);
  const BurnStatus status = run_once(scenario, &result, &has_opened);
  if (status != BURN_OK && !report->has_opened && !has_opened) return; /* told twice: the instance is made once */
  CHECK(status == BURN_OK, "the next run fails: %s", burn_status_message(status));
  report->result = before == BURN_OK ? report->result : result;
}

#if defined(SANITIZED_LEAKS)
/* What Mesa, LLVM and the loader leave is theirs. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libvulkan\nleak:libLLVM\nleak:libVkLayer\nleak:libfake_vulkan\nleak:ld-linux\n";
}
int __lsan_do_recoverable_leak_check(void);
static void check_the_heap(void) {
  CHECK(!__lsan_do_recoverable_leak_check(), "memory of the host is left, see above");
}
#else
static void check_the_heap(void) {}
#endif

static void run(void *context) {
  const Scenario *scenario = context;
  bool has_opened = false;
  alarm(120); /* a hang is a failure */
  const BurnStatus status = run_once(scenario, &report->result, &has_opened);
  report->calls = number_of("fake_vulkan_calls");
  report->has_opened = has_opened;
  report->has_failed = status != BURN_OK;
  if (status != BURN_OK) (void)snprintf(report->words, sizeof report->words, "%s", burn_status_message(status));
  check_that_nothing_is_left();
  if (getenv("BURN_FAKE_VULKAN_FAIL")) run_again(scenario, status);
  check_that_nothing_is_left();
  CHECK(number_of("fake_vulkan_complaints") == 0, "the library has complained, see above");
  if (!number_of("fake_vulkan_timed_out")) check_the_heap();
}

/* In a child, whose faults are told and counted, so that one does not hide others. */
static bool run_in_a_child(const Scenario *scenario) {
  int status = 0;
  *report = (Report){.calls = 0};
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    forked_pipe = STDERR_FILENO;
    run((void *)(uintptr_t)scenario);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) print_error("the child died of signal %d\n", WTERMSIG(status));
  return status == 0;
}

/* -- all calls -------------------------------------------------------------------------------- */

static bool wants_all(void) {
  const char *wanted = getenv("BURN_VULKAN_FAULTS");
  return wanted && strcmp(wanted, "all") == 0;
}

/* With sanitizers each run takes three times as long. */
#if defined(__SANITIZE_ADDRESS__)
#define DRAWN_CALLS 2
#else
#define DRAWN_CALLS 5
#endif

/* From one call that fails to the next: about so many are drawn. */
static int stride_of(int calls) { return wants_all() || calls <= DRAWN_CALLS ? 1 : calls / DRAWN_CALLS; }

/* One fault at call `number`; false if the program does not stand it. */
static bool fail_at(const Scenario *scenario, const Fault *fault, int number, float right) {
  char which[80];
  (void)snprintf(which, sizeof which, "%s%s%d%s", fault->name ? fault->name : "", fault->name ? ":" : "", number,
                 fault->and_after);
  setenv("BURN_FAKE_VULKAN_FAIL", which, 1);
  setenv("BURN_FAKE_VULKAN_RESULT", fault->result, 1);
  const bool stood = run_in_a_child(scenario);
  unsetenv("BURN_FAKE_VULKAN_FAIL");
  const bool is_right = report->result == right || (report->has_failed && !report->has_opened);
  if (!stood || !is_right)
    print_error("^ %s: %s at call %s; the result is %g, the right one %g; %s\n", scenario->name, fault->result, which,
                (double)report->result, (double)right, report->has_failed ? report->words : "no failure");
  return stood && is_right;
}

/* The first call that fails goes from 1 to the stride with the fault, so that other calls are drawn with each. */
static int fail_each_call(const Scenario *scenario) {
  setenv("BURN_FAKE_VULKAN_DEVICE", scenario->pretended, 1);
  assert_true(run_in_a_child(scenario));
  if (report->has_failed) fail_msg("%s, undisturbed: %s", scenario->name, report->words);
  const int calls = report->calls, stride = stride_of(calls);
  const float right = report->result;
  int runs = 0, told = 0, faulty = 0;
  for (int fault = 0; fault < FAULTS; fault++) {
    const int most = faults[fault].name ? 12 : calls; /* waits are fewer */
    for (int number = 1 + fault * stride / FAULTS; number <= most; number += faults[fault].name ? 1 : stride, runs++) {
      faulty += !fail_at(scenario, &faults[fault], number, right);
      told += report->has_failed;
    }
  }
  print_message("%s: %d calls of the driver, %d runs, %d failures told, %d faults\n", scenario->name, calls, runs, told,
                faulty);
  assert_true(told > 0);
  return faulty;
}

/* -- tests ------------------------------------------------------------------------------------ */

static void look_for_vulkan(void *context) {
  (void)context;
  BurnDevice *device = burn_device_open("vulkan");
  report->has_opened = burn_device_status(device) == BURN_OK;
  if (!report->has_opened) fprintf(stderr, "%s\n", burn_status_message(burn_device_status(device)));
  burn_device_close(device);
}

static int set_up(void **state) {
  (void)state;
  report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  use_processor();
  setenv("BURN_VULKAN_LOADER", FAKE_VULKAN, 1);
  setenv("BURN_FAKE_VULKAN_DEVICE", "", 1);
  unsetenv("BURN_FAKE_VULKAN_FAIL");
  if (report == MAP_FAILED) return -1;
  forked(look_for_vulkan, NULL);
  return 0;
}

static void test_every_call_of_the_driver_may_fail(void **state) {
  int faulty = 0;
  (void)state;
  if (!report->has_opened) skip();
  const char *only = getenv("BURN_VULKAN_SCENARIO");
  for (int i = 0; i < SCENARIOS; i++)
    if (!only || strcmp(only, scenarios[i].name) == 0) faulty += fail_each_call(&scenarios[i]);
  assert_int_equal(faulty, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_call_of_the_driver_may_fail)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
#endif
