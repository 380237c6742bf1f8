/* cuda_emulated_faults_test.c - every call of the driver fails once, in each of a few programs: a failure has words, no
 * tensor and no byte of the device is left, and the numbers of a program that says nothing are right. The kernels run on
 * the CPU (tests/plugins/emulated_cuda). */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "forked.h"

#include <burn/autodiff.h>
#include <burn/transfer.h>

#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>

/* What a child tells: how often the driver could have failed, and the result. */
typedef struct Report {
  int calls, has_failed;
  float result;
} Report;
static Report *report;

static void use_emulation(void) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_FOLDER, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  setenv("BURN_CUDA_FILL", "255", 1);
}

/* -- programs: each gives a status and a number ------------------------------------------------ */

typedef BurnStatus Program(BurnDevice *device, float *result);

static BurnTensor *wave(BurnDevice *device, BurnShape shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return burn_reshape(burn_sin(burn_cast(burn_arange(device, 0, count, 1), BURN_DTYPE_F32)), shape);
}

/* The gradient of a mean of squares, and one step along it. */
static BurnStatus descend(BurnTensor *loss, BurnTensor *weight, float *result) {
  BurnGradients *gradients = NULL;
  BurnStatus status = burn_backward(loss, &gradients);
  if (status == BURN_OK) {
    BurnTensor *step = burn_mul_scalar(burn_grad(weight, gradients), 0.1);
    status = burn_read_f32(burn_sum(burn_sub(burn_inner(burn_clone(weight)), step)), result, 1);
  }
  burn_gradients_drop(gradients);
  burn_drop(weight);
  return status;
}

static BurnStatus train_layer(BurnDevice *device, float *result) {
  BurnTensor *weight = burn_require_grad(wave(device, BURN_SHAPE(24, 80)));
  BurnTensor *x = burn_gelu(burn_matmul(wave(device, BURN_SHAPE(64, 24)), burn_clone(weight)));
  x = burn_log_softmax(x, 1);
  return descend(burn_mean(burn_mul(burn_clone(x), x)), weight, result);
}

static BurnStatus train_convolution(BurnDevice *device, float *result) {
  BurnTensor *weight = burn_require_grad(wave(device, BURN_SHAPE(8, 3, 3, 3)));
  BurnTensor *x = burn_conv2d(wave(device, BURN_SHAPE(2, 3, 12, 12)), burn_clone(weight), NULL, BURN_CONV2D_OPTIONS);
  const BurnPool2dOptions pool = {.kernel_size = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}};
  x = burn_relu(burn_max_pool2d(x, pool));
  return descend(burn_mean(burn_mul(burn_clone(x), x)), weight, result);
}

static BurnStatus sort_and_pick(BurnDevice *device, float *result) {
  BurnTensor *x = wave(device, BURN_SHAPE(6, 50));
  BurnTensor *order = burn_argsort_descending(burn_clone(x), 1);
  BurnTensor *picked = burn_cumsum(burn_gather(x, 1, order), 1);
  BurnTensor *rows = burn_cast(burn_argmax(burn_clone(picked), 0), BURN_DTYPE_F32);
  return burn_read_f32(burn_add(burn_sum(rows), burn_sum(picked)), result, 1);
}

/* A read in flight while the next upload comes from pinned memory. */
static BurnStatus upload_and_read(BurnDevice *device, float *result) {
  BurnStaging *staging = NULL;
  BurnStagingSlot *slot = NULL;
  float numbers[32] = {0};
  BurnPendingRead *read = burn_read_start(burn_mul_scalar(wave(device, BURN_SHAPE(32)), 2));
  BurnStatus status = burn_staging_open(device, 256, 2, &staging);
  if (status == BURN_OK) status = burn_staging_take(staging, &slot);
  BurnTensor *x = NULL;
  if (status == BURN_OK) {
    for (int i = 0; i < 32; i++) ((float *)burn_staging_memory(slot))[i] = (float)i;
    x = burn_staging_tensor(slot, 0, BURN_DTYPE_F32, BURN_SHAPE(32));
    burn_staging_give(slot);
  }
  const BurnStatus read_status = burn_read_finish_f32(read, numbers, 32);
  if (status == BURN_OK) status = burn_read_f32(burn_sum(x), result, 1);
  if (status == BURN_OK) *result += numbers[1];
  burn_staging_close(staging);
  return status == BURN_OK ? read_status : status;
}

typedef struct Scenario {
  const char *name, *stack;
  Program *program;
} Scenario;
static const Scenario scenarios[] = {{"train_layer", "autodiff<cuda>", train_layer},
                                     {"train_layer, fused", "autodiff<fusion<cuda>>", train_layer},
                                     {"train_convolution", "autodiff<cuda>", train_convolution},
                                     {"sort_and_pick", "cuda", sort_and_pick},
                                     {"upload_and_read", "cuda", upload_and_read}};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* -- one run ---------------------------------------------------------------------------------- */

typedef size_t Used(void);
typedef int Calls(void);

static void *symbol(const char *name) {
  void *driver = dlopen(FAKE_DRIVER, RTLD_LAZY | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : NULL;
}

static void check_that_nothing_is_left(BurnDevice *device) {
  const BurnMemoryStats memory = burn_device_memory(device);
  CHECK(memory.live_tensors == 0, "%lld tensors are left", (long long)memory.live_tensors);
  CHECK(memory.bytes_in_use == 0, "%lld bytes are left", (long long)memory.bytes_in_use);
}

static void run(void *context) {
  const Scenario *scenario = context;
  Used *used = NULL;
  Calls *calls = NULL;
  BurnDevice *device = burn_device_open(scenario->stack);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) {
    status = scenario->program(device, &report->result);
    check_that_nothing_is_left(device);
  }
  CHECK(status == BURN_OK || strlen(burn_status_message(status)) > 8, "a failure without words");
  burn_device_close(device);
  *(void **)(void *)&used = symbol("emulated_memory_used");
  *(void **)(void *)&calls = symbol("fake_calls");
  CHECK(used && calls, "the driver was never opened");
  CHECK(used() == 0, "%zu bytes of the device are left after it was closed", used());
  report->has_failed = status != BURN_OK;
  report->calls = calls();
}

static void run_in_a_child(const Scenario *scenario) {
  *report = (Report){0, 0, 0};
  forked(run, (void *)(uintptr_t)scenario);
}

/* -- tests ------------------------------------------------------------------------------------ */

static int set_up(void **state) {
  (void)state;
  use_emulation();
  report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return report == MAP_FAILED ? -1 : 0;
}

/* A failure is told, or it has changed nothing, as those of caches and of what is only tried. */
static void fail_each_call(const Scenario *scenario) {
  char number[16];
  run_in_a_child(scenario);
  assert_false(report->has_failed);
  const int calls = report->calls;
  const float right = report->result;
  int told = 0;
  for (int i = 1; i <= calls; i++) {
    (void)snprintf(number, sizeof number, "%d", i);
    setenv("BURN_FAKE_CUDA_FAIL", number, 1);
    run_in_a_child(scenario);
    unsetenv("BURN_FAKE_CUDA_FAIL");
    told += report->has_failed;
    if (!report->has_failed && !(fabsf(report->result - right) <= 1e-5f * fabsf(right)))
      fail_msg("%s: call %d fails, nobody says so, and the result is %g instead of %g", scenario->name, i,
               (double)report->result, (double)right);
  }
  print_message("%s: %d calls of the driver, %d failures told\n", scenario->name, calls, told);
  assert_true(told > calls / 2);
}

static void test_every_call_of_the_driver_may_fail(void **state) {
  (void)state;
  for (int i = 0; i < SCENARIOS; i++) fail_each_call(&scenarios[i]);
}

/* So little memory that something in the middle has none; with more, it ends well. */
static void test_little_memory(void **state) {
  char bytes[16];
  int failed = 0, ended = 0;
  (void)state;
  for (int kilobytes = 1; kilobytes <= 1 << 16; kilobytes *= 4) {
    (void)snprintf(bytes, sizeof bytes, "%d", kilobytes << 10);
    setenv("BURN_FAKE_CUDA_MEMORY", bytes, 1);
    run_in_a_child(&scenarios[0]);
    failed += report->has_failed;
    ended += !report->has_failed;
  }
  unsetenv("BURN_FAKE_CUDA_MEMORY");
  assert_true(failed > 0);
  assert_true(ended > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_call_of_the_driver_may_fail),
                                     cmocka_unit_test(test_little_memory)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
