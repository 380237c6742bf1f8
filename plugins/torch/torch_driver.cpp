/* torch_driver.cpp - CUDA's driver where libtorch has loaded it: what a device is, the order of streams. By name at run
 * time, so that neither CUDA's headers nor its libraries are needed to build. */
#include "torch_transfer.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace burn_torch {
namespace {

/* The functions used, with the types of cuda.h: handles are pointers, CUdevice and CUresult are ints. */
struct Driver {
  int (*cuDriverGetVersion)(int *version) = nullptr;
  int (*cuDeviceGet)(int *device, int ordinal) = nullptr;
  int (*cuDeviceGetName)(char *name, int bytes, int device) = nullptr;
  int (*cuDeviceGetUuid_v2)(unsigned char *uuid, int device) = nullptr;
  int (*cuDeviceGetPCIBusId)(char *text, int bytes, int device) = nullptr;
  int (*cuDeviceGetAttribute)(int *value, int attribute, int device) = nullptr;
  int (*cuDeviceTotalMem_v2)(size_t *bytes, int device) = nullptr;
  int (*cuDevicePrimaryCtxRetain)(void **context, int device) = nullptr;
  int (*cuCtxPushCurrent_v2)(void *context) = nullptr;
  int (*cuCtxPopCurrent_v2)(void **context) = nullptr;
  int (*cuMemGetInfo_v2)(size_t *free, size_t *total) = nullptr;
  int (*cuEventCreate)(void **event, unsigned flags) = nullptr;
  int (*cuEventRecord)(void *event, void *stream) = nullptr;
  int (*cuStreamWaitEvent)(void *stream, void *event, unsigned flags) = nullptr;
  int (*cuEventDestroy_v2)(void *event) = nullptr;
  bool complete = false;
};

/* CUdevice_attribute and CUevent_flags. */
enum { UNIT_COUNT = 16, INTEGRATED = 18, MAJOR = 75, MINOR = 76, EVENT_WITHOUT_TIMING = 2 };

template <class Function>
bool find(const char *name, Function &out) {
  void *symbol = cuda_symbol(name);
  std::memcpy(&out, &symbol, sizeof symbol);
  return symbol != nullptr;
}

Driver load_driver() {
  Driver d;
  d.complete = find("cuDriverGetVersion", d.cuDriverGetVersion) && find("cuDeviceGet", d.cuDeviceGet) &&
               find("cuDeviceGetName", d.cuDeviceGetName) && find("cuDeviceGetUuid_v2", d.cuDeviceGetUuid_v2) &&
               find("cuDeviceGetPCIBusId", d.cuDeviceGetPCIBusId) &&
               find("cuDeviceGetAttribute", d.cuDeviceGetAttribute) &&
               find("cuDeviceTotalMem_v2", d.cuDeviceTotalMem_v2) &&
               find("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain) &&
               find("cuCtxPushCurrent_v2", d.cuCtxPushCurrent_v2) && find("cuCtxPopCurrent_v2", d.cuCtxPopCurrent_v2) &&
               find("cuMemGetInfo_v2", d.cuMemGetInfo_v2) && find("cuEventCreate", d.cuEventCreate) &&
               find("cuEventRecord", d.cuEventRecord) && find("cuStreamWaitEvent", d.cuStreamWaitEvent) &&
               find("cuEventDestroy_v2", d.cuEventDestroy_v2);
  return d;
}

const Driver &driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

/* libtorch keeps the primary context for the life of the process, so the one reference taken here is never given back.
 */
void *context_of(int index) {
  int device = 0;
  void *context = nullptr;
  if (!driver().complete || driver().cuDeviceGet(&device, index) != 0) return nullptr;
  return driver().cuDevicePrimaryCtxRetain(&context, device) == 0 ? context : nullptr;
}

int attribute(int which, int device) {
  int value = 0;
  return driver().cuDeviceGetAttribute(&value, which, device) == 0 ? value : 0;
}

/* "580.159.04" of the kernel's module, "" elsewhere. */
void driver_text(char *text, size_t bytes) {
  int version = 0;
  char module[32] = "";
  driver().cuDriverGetVersion(&version);
  if (FILE *file = std::fopen("/sys/module/nvidia/version", "re")) {
    if (std::fscanf(file, "%31s", module) != 1) module[0] = '\0';
    std::fclose(file);
  }
  std::snprintf(text, bytes, "CUDA %d.%d%s%s", version / 1000, version % 1000 / 10, module[0] ? ", driver " : "",
                module);
}

}  // namespace

CurrentContext::CurrentContext(int index) {
  void *const context = cuda_context(index);
  is_set_ = context && driver().cuCtxPushCurrent_v2(context) == 0;
}

CurrentContext::~CurrentContext() {
  void *popped = nullptr;
  if (is_set_) driver().cuCtxPopCurrent_v2(&popped);
}

void *cuda_symbol(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); /* libtorch has loaded it already */
  return library ? dlsym(library, name) : nullptr;
}

void *cuda_context(int index) {
  static std::mutex guard;
  static std::array<void *, 64> contexts{};
  if (index < 0 || static_cast<size_t>(index) >= contexts.size()) return nullptr;
  const std::lock_guard<std::mutex> lock(guard);
  void *&context = contexts[static_cast<size_t>(index)];
  if (!context) context = context_of(index);
  return context;
}

void describe_cuda(int index, BurnDeviceDescription *out) {
  int device = 0;
  const CurrentContext current(index);
  if (!current.is_set() || driver().cuDeviceGet(&device, index) != 0) return;
  const Driver &d = driver();
  size_t free = 0, total = 0;
  if (d.cuMemGetInfo_v2(&free, &total) == 0) out->free_bytes = static_cast<int64_t>(free);
  if (d.cuDeviceTotalMem_v2(&total, device) == 0) out->memory_bytes = static_cast<int64_t>(total);
  out->kind = attribute(INTEGRATED, device) ? BURN_DEVICE_KIND_INTEGRATED_GPU : BURN_DEVICE_KIND_DISCRETE_GPU;
  out->unit_count = static_cast<uint32_t>(attribute(UNIT_COUNT, device));
  d.cuDeviceGetUuid_v2(out->uuid, device);
  d.cuDeviceGetPCIBusId(out->pci_address, static_cast<int>(sizeof out->pci_address), device);
  d.cuDeviceGetName(out->name, static_cast<int>(sizeof out->name), device);
  driver_text(out->driver, sizeof out->driver);
  std::snprintf(out->architecture, sizeof out->architecture, "sm_%d%d", attribute(MAJOR, device),
                attribute(MINOR, device));
}

void order_streams(int index, void *first, void *then) {
  if (first == then) return;
  const CurrentContext current(index);
  const Driver &d = driver();
  void *event = nullptr;
  if (!current.is_set() || d.cuEventCreate(&event, EVENT_WITHOUT_TIMING) != 0)
    fail(BURN_STATUS_INTERNAL, "CUDA makes no event for the order of two streams");
  const int recorded = d.cuEventRecord(event, first);
  const int waits = recorded == 0 ? d.cuStreamWaitEvent(then, event, 0) : recorded;
  d.cuEventDestroy_v2(event); /* freed once nothing waits for it */
  if (waits != 0) fail(BURN_STATUS_INTERNAL, "CUDA refuses the order of two streams with error %d", waits);
}

}  // namespace burn_torch
