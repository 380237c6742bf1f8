/* torch_device.cpp - opening a device: options, the table of functions, questions about memory.
 *
 * Options: device=cpu|cuda|mps (as a word of its own, too: torch:cuda:0), threads=N (of ATen; the host's number),
 * tf32=true|false (products and convolutions of f32 in TF32 on CUDA; false), deterministic=true|false (false),
 * cudnn_benchmark=true|false (false), random=host|aten (random.h's numbers, or ATen's generator; host), primitives=true|false (true
 * leaves composite ops to the host's decompositions; false). threads, tf32, deterministic and cudnn_benchmark are settings of libtorch,
 * which has them once per process: the device opened last decides. */
#include "torch_bridge.h"
#include "torch_internal.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#define BURN_TORCH_HAS_DEVICE_ALLOCATOR
#endif

namespace burn_torch {
namespace {

/* -- options ------------------------------------------------------------------------------------------------------------------------- */

struct Options {
  int threads;
  bool tf32, deterministic, cudnn_benchmark;
};

bool truth(const BurnHost *host, const BurnOptions *options, const char *key) {
  const char *value = host->option(options, key);
  if (!value || std::strcmp(value, "false") == 0) return false;
  if (std::strcmp(value, "true") == 0) return true;
  fail(BURN_STATUS_INVALID_ARGUMENT, "%s=%s is neither true nor false", key, value);
}

int thread_option(const BurnHost *host, const BurnOptions *options) {
  const char *value = host->option(options, "threads");
  if (!value) return static_cast<int>(host->thread_count());
  char *end = nullptr;
  const long count = std::strtol(value, &end, 10);
  if (end == value || *end || count < 1 || count > 1024) fail(BURN_STATUS_INVALID_ARGUMENT, "threads=%s is not a number from 1 to 1024", value);
  return static_cast<int>(count);
}

/* Reads every option, each time, because the host refuses those that nobody asked for. */
Options read_options(Torch &torch, const BurnOptions *options) {
  const char *random = torch.host->option(options, "random");
  if (random && std::strcmp(random, "host") != 0 && std::strcmp(random, "aten") != 0) {
    fail(BURN_STATUS_INVALID_ARGUMENT, "random=%s is neither host nor aten", random);
  }
  torch.aten_random = random && std::strcmp(random, "aten") == 0;
  torch.primitives_only = truth(torch.host, options, "primitives");
  return Options{thread_option(torch.host, options), truth(torch.host, options, "tf32"), truth(torch.host, options, "deterministic"),
                 truth(torch.host, options, "cudnn_benchmark")};
}

void apply(const Options &options) {
  at::set_num_threads(options.threads); /* Debian's libtorch would take half the processors */
  at::Context &context = at::globalContext();
  context.setAllowTF32CuBLAS(options.tf32);
  context.setAllowTF32CuDNN(options.tf32);
  context.setDeterministicAlgorithms(options.deterministic, /*warn_only=*/true);
  context.setDeterministicCuDNN(options.deterministic);
  context.setBenchmarkCuDNN(options.cudnn_benchmark && !options.deterministic);
}

/* -- the device ---------------------------------------------------------------------------------------------------------------------- */

at::Device find_device(const char *kind, uint32_t index) {
  const bool is_cpu = std::strcmp(kind, "cpu") == 0;
  if (!is_cpu && std::strcmp(kind, "cuda") != 0 && std::strcmp(kind, "mps") != 0) {
    fail(BURN_STATUS_NOT_FOUND, "there is no device '%s'; there are cpu, and cuda and mps where libtorch has them", kind);
  }
  const at::DeviceType type = is_cpu ? at::kCPU : std::strcmp(kind, "cuda") == 0 ? at::kCUDA : at::kMPS;
  int64_t count = 1;
  if (type == at::kCUDA) count = at::hasCUDA() ? static_cast<int64_t>(c10::impl::VirtualGuardImpl(type).deviceCount()) : 0;
  if (type == at::kMPS) count = at::hasMPS() ? 1 : 0;
  if (count == 0) fail(BURN_STATUS_FAILED_PRECONDITION, "this libtorch finds no %s device here", kind);
  if (static_cast<int64_t>(index) >= count) {
    fail(BURN_STATUS_NOT_FOUND, "there is no device %s:%u, only 0 to %lld", kind, index, static_cast<long long>(count - 1));
  }
  return is_cpu ? at::Device(at::kCPU) : at::Device(type, static_cast<at::DeviceIndex>(index));
}

std::string device_name(const at::Device &device) { return "torch:" + device.str(); }

/* -- questions ----------------------------------------------------------------------------------------------------------------------- */

uint32_t BURN_CALL dtype_usage(void *self, BurnDType dtype) {
  const bool no_f64 = static_cast<Torch *>(self)->device.type() == at::kMPS;
  if (burn_dtype_bytes(dtype) == 0 || (no_f64 && dtype == BURN_DTYPE_F64)) return 0;
  return BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC;
}

/* Bytes that ATen holds for the device, freed blocks that it keeps included; `fallback` where it does not tell. */
int64_t reserved_bytes(const at::Device &device, int64_t fallback) {
#if defined(BURN_TORCH_HAS_DEVICE_ALLOCATOR)
  if (device.is_cuda()) {
    const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    return stats.reserved_bytes[0].current;
  }
#endif
  (void)device;
  return fallback;
}

BurnStatus BURN_CALL query(void *self, uint32_t key, int64_t *out) {
  Torch &torch = *static_cast<Torch *>(self);
  try {
    const std::lock_guard<std::mutex> lock(torch.storages);
    switch (key) {
      case BURN_QUERY_BYTES_IN_USE: *out = torch.live_bytes; return BURN_OK;
      case BURN_QUERY_BYTES_RESERVED: *out = reserved_bytes(torch.device, torch.live_bytes); return BURN_OK;
      case BURN_QUERY_BYTES_PEAK: *out = torch.peak_bytes; return BURN_OK;
      case BURN_QUERY_LIVE_TENSORS: *out = torch.live_tensors.load(); return BURN_OK;
      default: fail(BURN_STATUS_NOT_FOUND, "query %u is unknown", key);
    }
  } catch (...) {
    return status_of_exception(torch.host, "query");
  }
}

BurnStatus BURN_CALL trim(void *self) {
  Torch &torch = *static_cast<Torch *>(self);
  try {
#if defined(BURN_TORCH_HAS_DEVICE_ALLOCATOR)
    if (torch.device.is_cuda()) c10::getDeviceAllocator(torch.device.type())->emptyCache();
#endif
    return BURN_OK; /* ATen keeps no freed memory of the CPU */
  } catch (...) {
    return status_of_exception(torch.host, "trim");
  }
}

/* CPU kernels have finished when submit returns. */
BurnStatus BURN_CALL sync(void *self) {
  Torch &torch = *static_cast<Torch *>(self);
  try {
    if (!torch.device.is_cpu()) c10::impl::VirtualGuardImpl(torch.device.type()).getStream(torch.device).synchronize();
    return BURN_OK;
  } catch (...) {
    return status_of_exception(torch.host, "sync");
  }
}

void BURN_CALL close_device(void *self) { delete static_cast<Torch *>(self); }

void fill_table(Torch &torch, BurnBackend *out) {
  out->self = &torch;
  out->name = torch.name.c_str();
  out->close = close_device;
  out->op_support = torch_op_support;
  out->supports = torch_supports;
  out->submit = torch_submit;
  out->create = torch_create;
  out->read = torch_read;
  out->retain = torch_retain;
  out->release = torch_release;
  out->sync = sync;
  out->dtype_usage = dtype_usage;
  out->query = query;
  out->trim = trim;
}

}  // namespace
}  // namespace burn_torch

extern "C" BURN_EXPORT BurnStatus burn_torch_bridge_open_v1(const BurnHost *host, const char *device, uint32_t index,
                                                           const BurnOptions *options, uint32_t owner, BurnBackend *out);

extern "C" BURN_EXPORT BurnStatus burn_torch_bridge_open_v1(const BurnHost *host, const char *device, uint32_t index,
                                                           const BurnOptions *options, uint32_t owner, BurnBackend *out) {
  using namespace burn_torch;
  try {
    auto torch = std::make_unique<Torch>();
    torch->host = host;
    torch->owner = owner;
    const Options chosen = read_options(*torch, options);
    torch->device = find_device(device, index);
    torch->name = device_name(torch->device);
    apply(chosen);
    fill_rows(*torch);
    fill_table(*torch.release(), out);
    return BURN_OK;
  } catch (...) {
    return status_of_exception(host, "open");
  }
}
