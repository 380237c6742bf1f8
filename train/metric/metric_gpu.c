/* metric_gpu.c - what GPUs of NVIDIA do, as NVML tells: the library that comes with their driver, which is opened when
 * it is first asked. Its types and functions are those of nvml.h, version 2 where there are two. */
#include <math.h>
#include <pthread.h>

#include "learner_internal.h"
#include "metric_make.h"
#include "null_check.h"

typedef struct NvmlRates {
  unsigned gpu, memory; /* percent of the time */
} NvmlRates;

typedef struct NvmlMemory {
  unsigned long long total, free, used; /* bytes */
} NvmlMemory;

typedef struct Nvml {
  int (*init)(void); /* all of them: 0 or an error; init may be called again */
  int (*device)(unsigned index, void **device);
  int (*rates)(void *device, NvmlRates *rates);
  int (*memory)(void *device, NvmlMemory *memory);
  int (*power)(void *device, unsigned *milliwatts);
  const char *(*error)(int code);
} Nvml;

static BurnStatus nvml_open(Nvml *nvml) {
  void *library = burn__nvml_library();
  if (!library) {
    return burn_status_make(BURN_STATUS_NOT_FOUND,
                            "gpu use: there is no NVML (libnvidia-ml.so.1), which comes with NVIDIA's driver");
  }
  if (burn__library_symbol(library, "nvmlInit_v2", &nvml->init) &&
      burn__library_symbol(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->device) &&
      burn__library_symbol(library, "nvmlDeviceGetUtilizationRates", &nvml->rates) &&
      burn__library_symbol(library, "nvmlDeviceGetMemoryInfo", &nvml->memory) &&
      burn__library_symbol(library, "nvmlDeviceGetPowerUsage", &nvml->power) &&
      burn__library_symbol(library, "nvmlErrorString", &nvml->error)) {
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_INCOMPATIBLE, "gpu use: NVML lacks a function; NVIDIA's driver is too old");
}

static BurnStatus nvml_failed(const Nvml *nvml, size_t index, int code) {
  return burn_status_make(BURN_STATUS_NOT_FOUND, "gpu use: GPU %zu: %s", index, nvml->error(code));
}

BurnStatus burn_gpu_use(size_t index, BurnGpuUse *use) {
  Nvml nvml;
  void *device = NULL;
  NvmlRates rates = {0, 0};
  NvmlMemory memory = {0, 0, 0};
  unsigned milliwatts = 0;
  BurnStatus status = BURN_REQUIRED(use, "a BurnGpuUse");
  if (status != BURN_OK) return status;
  *use = (BurnGpuUse){(double)NAN, (double)NAN, (double)NAN, (double)NAN};
  status = nvml_open(&nvml);
  if (status != BURN_OK) return status;
  int code = nvml.init();
  if (code == 0) code = nvml.device(index < UINT32_MAX ? (unsigned)index : UINT32_MAX, &device);
  if (code == 0) code = nvml.memory(device, &memory);
  if (code != 0) return nvml_failed(&nvml, index, code);
  use->memory_used = (double)memory.used;
  use->memory_total = (double)memory.total;
  if (nvml.rates(device, &rates) == 0) use->busy = (double)rates.gpu / 100;
  if (nvml.power(device, &milliwatts) == 0) use->watts = (double)milliwatts / 1000;
  return BURN_OK;
}

/* -- metrics: of one GPU and a moment they share a look ---------------------------------------- */

static struct {
  pthread_mutex_t mutex;
  double looked; /* in seconds of burn__seconds; 0: never */
  size_t index;
  BurnGpuUse use; /* NaN: not told */
} gpu = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const double look_seconds = 0.2;

static BurnGpuUse look(const void *context) {
  const BurnGpuConfig *config = context;
  const double now = burn__seconds();
  pthread_mutex_lock(&gpu.mutex);
  if (gpu.looked <= 0 || now - gpu.looked >= look_seconds || gpu.index != config->index) {
    const BurnStatus asked = burn_gpu_use(config->index, &gpu.use);
    (void)asked; /* all NaN where it failed: no value */
    gpu.index = config->index;
    gpu.looked = now;
  }
  const BurnGpuUse use = gpu.use;
  pthread_mutex_unlock(&gpu.mutex);
  return use;
}

static BurnMeasured told(double number) {
  const bool known = !isnan(number);
  return (BurnMeasured){.number = known ? number : 0, .weight = known ? 1 : 0};
}

static BurnMeasured measure_use(const void *config, const BurnMetricInput *input) {
  (void)input;
  return told(look(config).busy);
}

static BurnMeasured measure_memory(const void *config, const BurnMetricInput *input) {
  (void)input;
  return told(look(config).memory_used / 1e9);
}

static BurnMeasured measure_power(const void *config, const BurnMetricInput *input) {
  (void)input;
  return told(look(config).watts);
}

static const BurnMetricInterface use_metric = {.name = "GpuUse", .unit = "%", .scale = 100, .measure = measure_use};
static const BurnMetricInterface memory_metric = {
    .name = "GpuMemory", .unit = "Gb", .scale = 1, .measure = measure_memory};
static const BurnMetricInterface power_metric = {.name = "GpuPower", .unit = "W", .scale = 1, .measure = measure_power};

BurnMetric burn_metric_gpu_use(const BurnGpuConfig *config) {
  return burn__metric(&use_metric, config, BurnGpuConfig_type());
}
BurnMetric burn_metric_gpu_memory(const BurnGpuConfig *config) {
  return burn__metric(&memory_metric, config, BurnGpuConfig_type());
}
BurnMetric burn_metric_gpu_power(const BurnGpuConfig *config) {
  return burn__metric(&power_metric, config, BurnGpuConfig_type());
}
