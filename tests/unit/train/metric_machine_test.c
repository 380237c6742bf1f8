/* metric_machine_test.c - metrics of the machine: steps that take known times, a processor at work, memory. */
#define _GNU_SOURCE
#include "metric_evaluate.h"

#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum { STEPS = 20 };

static const double step_seconds = 0.03;

/* Works for a time. */
static BurnStepOutput working_step(void *context, const void *module, BurnBatch *batch) {
  const double start = seconds();
  (void)context, (void)module;
  for (volatile double x = 1; seconds() - start < step_seconds;) x = x * 0.5 + 1;
  BurnStepOutput step = {0};
  burn_step_give(&step, "loss", burn_mean(burn_float(burn_batch_take(batch, "targets"))));
  return step;
}

static BurnEpochResult evaluate(BurnDevice *device) {
  const BurnColumn column = {"targets", BURN_DTYPE_I64, ONE_NUMBER};
  const int64_t data[STEPS] = {0};
  const BurnTask task = {working_step, NULL};
  const BurnMetricList metrics =
      BURN_METRICS(burn_metric_iteration_speed(), burn_metric_cpu_use(), burn_metric_cpu_memory());
  BurnStatus status = BURN_OK;
  BurnEpochResult result;
  BurnDataset *dataset = burn_dataset_memory(&column, 1, (const void *const[]){data}, STEPS, &status);
  BurnLoader *loader = burn_loader_create(dataset, &(BurnLoaderConfig){.batch_size = 1}, &status);
  check_status(status);
  check_status(burn_learner_evaluate(&task, device, (BurnModule){NULL, NULL}, loader, &metrics, &result));
  burn_loader_destroy(loader);
  return result;
}

static void the_machine_is_measured(void **state) {
  const double start = seconds();
  const BurnEpochResult result = evaluate(*state);
  const double taken = seconds() - start;
  const double speed = burn_epoch_metric(&result, "IterationSpeed", BURN_SPLIT_VALID);
  const double use = burn_epoch_metric(&result, "CpuUse", BURN_SPLIT_VALID);
  const double memory = burn_epoch_metric(&result, "CpuMemory", BURN_SPLIT_VALID);
  if (!(speed <= 1.01 / step_seconds && speed >= 0.99 * (double)STEPS / taken)) fail_msg("%g steps per second", speed);
#if defined(__linux__) || defined(_WIN32)
  if (!(use > 0.001 && use <= 1)) fail_msg("processors used to %g", use);
  if (!(memory > 0.001 && memory < 1e6)) fail_msg("%g 10^9 bytes of memory used", memory);
#else
  assert_true(isnan(use) && isnan(memory)); /* not told, rather than wrong */
#endif
}

/* A step holds 64 MB more than the one before it, up to the third. */
static BurnStepOutput holding_step(void *context, const void *module, BurnBatch *batch) {
  BurnTensor **held = context;
  (void)module;
  BurnTensor *targets = burn_float(burn_batch_take(batch, "targets"));
  for (int i = 0; i < 3; i++) {
    if (held[i]) continue;
    held[i] = burn_ones(burn_tensor_device(targets), BURN_SHAPE(16, 1000000), BURN_DTYPE_F32);
    break;
  }
  BurnStepOutput step = {0};
  burn_step_give(&step, "loss", burn_mean(targets));
  return step;
}

static void memory_of_the_device_is_measured(void **state) {
  BurnDevice *device = *state;
  const BurnColumn column = {"targets", BURN_DTYPE_I64, ONE_NUMBER};
  const int64_t data[3] = {0};
  BurnTensor *held[3] = {NULL, NULL, NULL};
  const BurnTask task = {holding_step, held};
  const BurnMetricList metrics = BURN_METRICS(burn_metric_device_memory());
  BurnStatus status = BURN_OK;
  BurnEpochResult result;
  burn_device_trim(device);
  const double before = 1e-9 * (double)burn_device_memory(device).bytes_in_use;
  BurnDataset *dataset = burn_dataset_memory(&column, 1, (const void *const[]){data}, 3, &status);
  BurnLoader *loader = burn_loader_create(dataset, &(BurnLoaderConfig){.batch_size = 1}, &status);
  check_status(status);
  check_status(burn_learner_evaluate(&task, device, (BurnModule){NULL, NULL}, loader, &metrics, &result));
  const double memory = burn_epoch_metric(&result, "DeviceMemory", BURN_SPLIT_VALID);
  /* 64, 128 and 192 MB: 128 on average, and what the backend holds besides. */
  if (!(memory >= 0.128 + before && memory < 0.128 + before + 0.1)) fail_msg("%g 10^9 bytes", memory);
  for (int i = 0; i < 3; i++) burn_drop(held[i]);
  burn_loader_destroy(loader);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_machine_is_measured),
                                     cmocka_unit_test(memory_of_the_device_is_measured)};
  return cmocka_run_group_tests_name("metric_machine", tests, open_device, close_device);
}
