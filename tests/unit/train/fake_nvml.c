/* fake_nvml.c - a libnvidia-ml.so.1 of one GPU that tells known numbers, for metric_gpu_test. */

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3 };

typedef struct Rates {
  unsigned gpu, memory;
} Rates;

typedef struct Memory {
  unsigned long long total, free, used;
} Memory;

int fake_tells_power = 1;
static int looks;
static char device_0;

int nvmlInit_v2(void);
int nvmlInit_v2(void) { return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  *device = &device_0;
  return index == 0 ? OK : INVALID_ARGUMENT;
}

/* 37 % of the time at the first look, 1 % more at each later one. */
int nvmlDeviceGetUtilizationRates(void *device, Rates *rates);
int nvmlDeviceGetUtilizationRates(void *device, Rates *rates) {
  if (device != &device_0) return INVALID_ARGUMENT;
  *rates = (Rates){37 + (unsigned)looks++, 5};
  return OK;
}

int nvmlDeviceGetMemoryInfo(void *device, Memory *memory);
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
  if (device != &device_0) return INVALID_ARGUMENT;
  *memory = (Memory){8000000000u, 5500000000u, 2500000000u};
  return OK;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
  if (device != &device_0) return INVALID_ARGUMENT;
  *milliwatts = 123456;
  return fake_tells_power ? OK : NOT_SUPPORTED;
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code) { return code == INVALID_ARGUMENT ? "Invalid Argument" : "Unknown Error"; }
