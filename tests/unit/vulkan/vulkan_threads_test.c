/* vulkan_threads_test.c - a device whose workgroups have 256 threads (option thread_limit): what other devices do with 512
 * or 1,024 threads a group. Losses have the same bits, as their sums keep their order; long rows are added in
 * another one. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#if defined(FAKE_VULKAN)
#include "forked.h"
#include "vulkan_driver.h"

#include <math.h>
#include <sys/mman.h>

enum { MSE, ENTROPY, SORTED, SOFTMAX, NORM, MEANS, FUSED, WHAT };
enum { ROWS = 3, LONG = 20000, SHORT = 700 };

/* Sums that depend on all elements, in an order that does not: with weights, on the host. */
typedef struct Result {
  int has_device;
  double values[WHAT];
} Result;
static Result *result;

static BurnTensor *wave(BurnDevice *device, int64_t rows, int64_t columns, double pace) {
  BurnTensor *x = burn_cast(burn_arange(device, 0, rows * columns, 1), BURN_DTYPE_F32);
  return burn_reshape(burn_sin(burn_mul_scalar(x, pace)), BURN_SHAPE(rows, columns));
}

static double sum_of(BurnTensor *x, size_t count) {
  static float data[ROWS * LONG];
  double sum = 0;
  const BurnStatus status = burn_read_f32(x, data, count);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  for (size_t i = 0; i < count; i++) sum += (double)data[i] * (double)(1 + i % 13);
  return sum;
}

static void run(void *stack) {
  use_processor();
  BurnDevice *device = burn_device_open(stack);
  result->has_device = burn_device_status(device) == BURN_OK;
  if (!result->has_device) return;
  BurnTensor *x = wave(device, ROWS, LONG, 0.37), *few = wave(device, ROWS, SHORT, 1.3);
  BurnTensor *gamma = burn_ones(device, BURN_SHAPE(LONG), BURN_DTYPE_F32);
  BurnTensor *classes = burn_arange(device, 0, ROWS, 1);
  double *values = result->values;
  values[MSE] = sum_of(burn_mse(burn_clone(x), wave(device, ROWS, LONG, 0.2)), 1);
  values[ENTROPY] = sum_of(burn_cross_entropy(burn_clone(few), burn_clone(classes)), 1);
  values[SORTED] = sum_of(burn_cast(burn_argsort(burn_clone(few), 1), BURN_DTYPE_F32), ROWS * SHORT);
  values[SOFTMAX] = sum_of(burn_softmax(burn_clone(x), 1), ROWS * LONG);
  values[NORM] = sum_of(burn_layer_norm(burn_clone(x), gamma, NULL, 1e-5), ROWS * LONG);
  values[MEANS] = sum_of(burn_mean_dim(burn_clone(x), 1), ROWS);
  values[FUSED] = sum_of(burn_sum_dim(burn_exp(burn_mul(burn_clone(x), burn_clone(x))), 1), ROWS);
  burn_drop(x);
  burn_drop(few);
  burn_drop(classes);
  burn_device_close(device);
}

static Result on(const char *stack) {
  char text[64];
  (void)snprintf(text, sizeof text, "%s", stack);
  memset(result, 0, sizeof *result);
  forked(run, text);
  return *result;
}

static void compare(const char *few_threads, const char *all_threads) {
  const Result few = on(few_threads), all = on(all_threads);
  assert_memory_equal(&few.values[MSE], &all.values[MSE], sizeof few.values[MSE]);
  assert_memory_equal(&few.values[ENTROPY], &all.values[ENTROPY], sizeof few.values[ENTROPY]);
  assert_memory_equal(&few.values[SORTED], &all.values[SORTED], sizeof few.values[SORTED]);
  for (int i = 0; i < WHAT; i++)
    if (!(fabs(few.values[i] - all.values[i]) <= 1e-4 * (1 + fabs(all.values[i]))))
      fail_msg("value %d is %.9g, not %.9g", i, few.values[i], all.values[i]);
}

static void test_groups_of_256_threads(void **state) {
  (void)state;
  compare("vulkan:thread_limit=256", "vulkan");
  compare("fusion<vulkan:thread_limit=256>", "fusion<vulkan>");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups_of_256_threads)};
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (result == MAP_FAILED) return 1;
  if (!on("vulkan").has_device) {
    printf("vulkan_threads_test: skipped, there is no device of Vulkan\n");
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void) {
  printf("vulkan_threads_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#endif
