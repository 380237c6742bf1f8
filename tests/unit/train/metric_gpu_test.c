/* metric_gpu_test.c - what NVML tells of a GPU, by a library of its name that tells known numbers (fake_nvml.c); before
 * that is there, a machine without NVIDIA's driver says so, and the metrics have no value. */
#include "metric_evaluate.h"

#include <dlfcn.h>

static BurnStepOutput step_of(void *context, const void *module, BurnBatch *batch) {
  (void)context, (void)module;
  BurnStepOutput step = {0};
  burn_step_give(&step, "loss", burn_mean(burn_float(burn_batch_take(batch, "targets"))));
  return step;
}

static BurnEpochResult evaluate(BurnDevice *device, const BurnGpuConfig *config) {
  const BurnColumn column = {"targets", BURN_DTYPE_I64, ONE_NUMBER};
  const int64_t data[3] = {0};
  const BurnTask task = {step_of, NULL};
  const BurnMetricList metrics =
      BURN_METRICS(burn_metric_gpu_use(config), burn_metric_gpu_memory(config), burn_metric_gpu_power(config));
  BurnStatus status = BURN_OK;
  BurnEpochResult result;
  BurnDataset *dataset = burn_dataset_memory(&column, 1, (const void *const[]){data}, 3, &status);
  BurnLoader *loader = burn_loader_create(dataset, &(BurnLoaderConfig){.batch_size = 1}, &status);
  check_status(status);
  check_status(burn_learner_evaluate(&task, device, (BurnModule){NULL, NULL}, loader, &metrics, &result));
  burn_loader_destroy(loader);
  return result;
}

static double valid(const BurnEpochResult *result, const char *name) {
  return burn_epoch_metric(result, name, BURN_SPLIT_VALID);
}

static void a_machine_without_a_driver_says_so(void **state) {
  const BurnGpuConfig second = {1};
  void *driver = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  BurnGpuUse use;
  if (driver) {
    dlclose(driver);
    print_message("this machine has NVML: what one without says is not tested\n");
    skip();
  }
  const BurnStatus status = burn_gpu_use(0, &use);
  assert_string_equal(burn_status_message(status),
                      "gpu use: there is no NVML (libnvidia-ml.so.1), which comes with NVIDIA's driver");
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_true(isnan(use.busy) && isnan(use.memory_used) && isnan(use.memory_total) && isnan(use.watts));
  const BurnEpochResult result = evaluate(*state, &second);
  assert_true(isnan(valid(&result, "GpuUse")) && isnan(valid(&result, "GpuMemory")));
  assert_true(isnan(valid(&result, "GpuPower")));
}

/* A library that is loaded is found by its name (soname), whatever its path. */
static void known_numbers_are_told(void **state) {
  void *fake = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  if (!fake) fail_msg("%s", dlerror());
  if (dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) != fake) {
    print_message("this machine's NVML was loaded before the fake one\n");
    skip();
  }
  const BurnGpuConfig first = BurnGpuConfig_defaults();
  BurnGpuUse use;
  check_status(burn_gpu_use(0, &use));
  assert_true(use.busy == 0.37 && use.memory_used == 2.5e9 && use.memory_total == 8e9 && use.watts == 123.456);
  /* Three metrics in three steps within 200 ms are one look, the second one. */
  const BurnEpochResult result = evaluate(*state, &first);
  assert_true(fabs(valid(&result, "GpuUse") - 0.38) < 1e-12);
  assert_true(fabs(valid(&result, "GpuMemory") - 2.5) < 1e-12);
  assert_true(fabs(valid(&result, "GpuPower") - 123.456) < 1e-12);
}

static void what_a_gpu_does_not_tell_is_no_number(void **state) {
  void *fake = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  int *tells_power = fake ? dlsym(fake, "fake_tells_power") : NULL;
  BurnGpuUse use;
  (void)state;
  assert_non_null(tells_power);
  if (dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) != fake) skip();
  *tells_power = 0;
  check_status(burn_gpu_use(0, &use));
  assert_true(isnan(use.watts) && use.memory_total == 8e9);
  *tells_power = 1;
  assert_string_equal(burn_status_message(burn_gpu_use(1, &use)), "gpu use: GPU 1: Invalid Argument");
  assert_true(isnan(use.busy) && isnan(use.memory_total));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_machine_without_a_driver_says_so),
      cmocka_unit_test(known_numbers_are_told),
      cmocka_unit_test(what_a_gpu_does_not_tell_is_no_number),
  };
  return cmocka_run_group_tests_name("metric_gpu", tests, open_device, close_device);
}
