/* metric_device.c - memory of the device, as its backend counts it. Nothing is read from the device. */
#include <burn/train/metric.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  const BurnTensor *loss = burn_step_get(input->output, "loss");
  const BurnMemoryStats memory = burn_device_memory(burn_tensor_device(loss));
  const int64_t bytes = memory.bytes_reserved >= 0 ? memory.bytes_reserved : memory.bytes_in_use;
  return (BurnMeasured){.number = (double)bytes / 1e9, .weight = bytes >= 0 ? 1 : 0};
}

static const BurnMetricInterface memory_metric = {.name = "DeviceMemory", .unit = "Gb", .scale = 1, .measure = measure};

BurnMetric burn_metric_device_memory(void) { return (BurnMetric){.table = &memory_metric}; }
