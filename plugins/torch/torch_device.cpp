/* torch_device.cpp - opening a device: settings (torch_bridge.h), the table of functions, questions about memory. */
#include "torch_bridge.h"
#include "torch_transfer.h"

#include <burn/common/failure.h>
#include <burn/plugin/dlpack.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <memory>

#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#define BURN_TORCH_HAS_DEVICE_ALLOCATOR
#endif

namespace burn_torch {
namespace {

/* -- settings --------------------------------------------------------------------------------- */

/* Deterministic libtorch would fill every new tensor with NaN, to catch reads before writes: there are none here. */
template <class Context>
auto leave_memory_alone(Context &context, int) -> decltype(context.setDeterministicFillUninitializedMemory(false)) {
  context.setDeterministicFillUninitializedMemory(false);
}
template <class Context>
void leave_memory_alone(Context &, long) {} /* before 2.2 there was no such setting */

void apply(const TorchSettings &settings, const at::Device &device) {
  at::set_num_threads(static_cast<int>(settings.threads)); /* Debian's libtorch would take half the processors */
  if (device.is_cpu()) return;                             /* whose kernels give the same bits anyway */
  at::Context &context = at::globalContext();
  leave_memory_alone(context, 0);
  context.setAllowTF32CuBLAS(settings.tf32);
  context.setAllowTF32CuDNN(settings.tf32);
  context.setDeterministicAlgorithms(settings.deterministic, /*warn_only=*/true);
  context.setDeterministicCuDNN(settings.deterministic);
  context.setBenchmarkCuDNN(settings.cudnn_benchmark && !settings.deterministic);
}

/* -- the device ------------------------------------------------------------------------------- */

at::Device find_device(const char *kind, uint32_t index) {
  const bool is_cpu = std::strcmp(kind, "cpu") == 0;
  if (!is_cpu && std::strcmp(kind, "cuda") != 0 && std::strcmp(kind, "mps") != 0) {
    fail(BURN_STATUS_NOT_FOUND, "there is no device '%s'; there are cpu, and cuda and mps where libtorch has them",
         kind);
  }
  const at::DeviceType type = is_cpu ? at::kCPU : std::strcmp(kind, "cuda") == 0 ? at::kCUDA : at::kMPS;
  int64_t count = 1;
  if (type == at::kCUDA)
    count = at::hasCUDA() ? static_cast<int64_t>(c10::impl::VirtualGuardImpl(type).deviceCount()) : 0;
  if (type == at::kMPS) count = at::hasMPS() ? 1 : 0;
  if (count == 0) fail(BURN_STATUS_FAILED_PRECONDITION, "this libtorch finds no %s device here", kind);
  if (static_cast<int64_t>(index) >= count) {
    fail(BURN_STATUS_NOT_FOUND, "there is no device %s:%u, only 0 to %lld", kind, index,
         static_cast<long long>(count - 1));
  }
  return is_cpu ? at::Device(at::kCPU) : at::Device(type, static_cast<at::DeviceIndex>(index));
}

std::string device_name(const at::Device &device) { return "torch:" + device.str(); }

/* -- questions -------------------------------------------------------------------------------- */

uint32_t BURN_API_CALL dtype_usage(void *self, BurnDType dtype) {
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

BurnStatus BURN_API_CALL query(void *self, uint32_t key, int64_t *out) {
  Torch &torch = *static_cast<Torch *>(self);
  try {
    const std::lock_guard<std::mutex> lock(torch.storages);
    switch (key) {
      case BURN_QUERY_BYTES_IN_USE:
        *out = torch.live_bytes;
        return BURN_OK;
      case BURN_QUERY_BYTES_RESERVED:
        *out = reserved_bytes(torch.device, torch.live_bytes);
        return BURN_OK;
      case BURN_QUERY_BYTES_PEAK:
        *out = torch.peak_bytes;
        return BURN_OK;
      case BURN_QUERY_LIVE_TENSORS:
        *out = torch.live_tensors.load();
        return BURN_OK;
      case BURN_QUERY_HOST_WAITS:
        *out = torch.host_waits.load();
        return BURN_OK;
      default:
        fail(BURN_STATUS_NOT_FOUND, "query %u is unknown", key);
    }
  } catch (...) {
    return status_of_exception(torch.host, "query");
  }
}

BurnStatus BURN_API_CALL trim(void *self) {
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
BurnStatus BURN_API_CALL sync(void *self) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "sync", [&] { wait_for_all(torch); });
}

/* -- DLPack ------------------------------------------------------------------------------------ */

/* DLPack's numbers of device kinds; 0 for one that is not shared. */
int32_t dlpack_type(const at::Device &device) {
  if (device.is_cpu()) return BURN_DLPACK_CPU;
  return device.is_cuda() ? BURN_DLPACK_CUDA : 0;
}

/* ATen has no negative strides; bools may be any byte. */
bool can_share(const Torch &torch, const BurnDlpackTensor &tensor) {
  const bool is_here =
      torch.device.is_cpu()
          ? tensor.device_type == BURN_DLPACK_CPU || tensor.device_type == BURN_DLPACK_CUDA_HOST
          : tensor.device_type == dlpack_type(torch.device) && tensor.device_id == torch.device.index();
  bool is_forward = true;
  for (int32_t i = 0; i < tensor.ndim; i++) is_forward = is_forward && tensor.strides[i] >= 0;
  return is_here && is_forward && burn_dlpack_dtype(&tensor) != BURN_DTYPE_BOOL;
}

/* The stream of a number of DLPack's protocol; NULL with *ordered false: there is nothing to order. */
void *foreign_stream(int64_t stream, bool *ordered) {
  *ordered = stream != -1;
  if (stream == 0 || stream < -1) {
    fail(BURN_STATUS_INVALID_ARGUMENT, "%lld is not a stream of DLPack's protocol: 1, 2, an address, or -1 for none",
         static_cast<long long>(stream));
  }
  return *ordered ? reinterpret_cast<void *>(static_cast<intptr_t>(stream)) : nullptr;
}

BurnStatus BURN_API_CALL import_dlpack(void *self, struct DLManagedTensorVersioned *foreign, BurnPrimitive **out) {
  Torch &torch = *static_cast<Torch *>(self);
  const BurnDlpackManaged *managed = burn_dlpack_managed(foreign);
  const BurnDlpackTensor &tensor = managed->tensor;
  return guarded(torch, "from_dlpack", [&] {
    if (!can_share(torch, tensor))
      fail(BURN_STATUS_UNIMPLEMENTED, "memory of DLPack's device type %d is not shared", tensor.device_type);
    /* The deleter is only armed when nothing can fail any more: until then the tensor is the caller's. */
    const auto armed = std::make_shared<std::atomic<bool>>(false);
    const auto release = [foreign, managed, armed](void *) {
      if (armed->load() && managed->deleter) managed->deleter(foreign);
    };
    const size_t rank = static_cast<size_t>(tensor.ndim);
    const at::TensorOptions options = options_of(torch, burn_dlpack_dtype(&tensor));
    *out = wrap(
        torch, at::from_blob(static_cast<char *>(tensor.data) + tensor.byte_offset, at::IntArrayRef(tensor.shape, rank),
                             at::IntArrayRef(tensor.strides, rank), release, options, torch.device));
    armed->store(true);
  });
}

BurnStatus describe_memory(const Torch &torch, const BurnPrimitive *x, BurnDlpackTensor *out) {
  if (dlpack_type(torch.device) == 0) {
    return BURN_COMMON_FAIL(torch.host, UNIMPLEMENTED, "torch", "memory of this device has no number in DLPack");
  }
  out->device_type = dlpack_type(torch.device);
  out->device_id = torch.device.has_index() ? torch.device.index() : 0;
  out->data = x->buffer;
  return BURN_OK;
}

BurnStatus BURN_API_CALL locate(void *self, BurnPrimitive *x, BurnDlpackTensor *out) {
  const BurnStatus status = describe_memory(*static_cast<Torch *>(self), x, out);
  return status == BURN_OK ? sync(self) : status;
}

BurnStatus BURN_API_CALL import_on(void *self, struct DLManagedTensorVersioned *foreign, int64_t stream,
                                   BurnPrimitive **out) {
  Torch &torch = *static_cast<Torch *>(self);
  const BurnStatus status = guarded(torch, "from_dlpack", [&] {
    bool ordered = false;
    void *producer = foreign_stream(stream, &ordered);
    if (ordered && torch.device.is_cuda()) order_streams(torch.device.index(), producer, cuda_stream(torch));
  });
  return status == BURN_OK ? import_dlpack(self, foreign, out) : status;
}

BurnStatus BURN_API_CALL locate_on(void *self, BurnPrimitive *x, int64_t stream, BurnDlpackTensor *out) {
  Torch &torch = *static_cast<Torch *>(self);
  const BurnStatus status = guarded(torch, "to_dlpack", [&] {
    bool ordered = false;
    void *consumer = foreign_stream(stream, &ordered);
    if (ordered && torch.device.is_cuda()) order_streams(torch.device.index(), cuda_stream(torch), consumer);
  });
  return status == BURN_OK ? describe_memory(torch, x, out) : status;
}

const BurnDlpackInterface dlpack_interface = {
    sizeof(BurnDlpackInterface), 1, import_dlpack, locate, import_on, locate_on};

int32_t BURN_API_CALL get_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  const bool is_dlpack = std::strcmp(name, BURN_DLPACK_INTERFACE) == 0;
  if (!is_dlpack && std::strcmp(name, BURN_DEVICE_INTERFACE_NAME) != 0) return 0;
  if (min_version > 1) return 0;
  out->table = is_dlpack ? static_cast<const void *>(&dlpack_interface) : &device_interface;
  out->self = self;
  return 1;
}

void BURN_API_CALL close_device(void *self) { delete static_cast<Torch *>(self); }

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
  out->get_interface = get_interface;
}

}  // namespace
}  // namespace burn_torch

extern "C" BURN_EXPORT BurnStatus burn_torch_bridge_open_v3(const BurnHost *host, const TorchSettings *settings,
                                                            uint32_t index, uint32_t owner, BurnBackend *out);

extern "C" BURN_EXPORT BurnStatus burn_torch_bridge_open_v3(const BurnHost *host, const TorchSettings *settings,
                                                            uint32_t index, uint32_t owner, BurnBackend *out) {
  using namespace burn_torch;
  try {
    auto torch = std::make_unique<Torch>();
    torch->host = host;
    torch->owner = owner;
    torch->aten_random = settings->aten_random;
    torch->primitives_only = settings->primitives;
    torch->device = find_device(settings->device, index);
    torch->name = device_name(torch->device);
    apply(*settings, torch->device);
    fill_rows(*torch);
    fill_table(*torch.release(), out);
    return BURN_OK;
  } catch (...) {
    return status_of_exception(host, "open");
  }
}
