/* torch_transfer.cpp - the interface "burn.device": transfers that the host does not wait for, events, pinned memory,
 * what the device is. On the CPU and on MPS everything is done when a function returns.
 *
 * All work of an instance goes into the device's current stream, which in this process is its default one. */
#include "torch_transfer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace burn_torch {

static c10::Stream stream_of(const Torch &torch) {
  return c10::impl::VirtualGuardImpl(torch.device.type()).getStream(torch.device);
}

/* -- waits ------------------------------------------------------------------------------------ */

void wait_for_all(Torch &torch) {
  if (torch.device.is_cpu()) return;
  const Waiting counted(torch);
  const uint32_t submitted = torch.recent.count();
  stream_of(torch).synchronize();
  torch.recent.settle(submitted);
}

/* -- data ------------------------------------------------------------------------------------- */

static at::ScalarType host_type(const BurnTensorDesc &desc) {
  return desc.dtype == BURN_DTYPE_BOOL ? at::kByte : scalar_type(desc.dtype);
}

at::Tensor around(const BurnTensorDesc &desc, const void *data) {
  void *bytes = const_cast<void *>(data); /* only read */
  return at::from_blob(bytes, sizes_of(desc), at::TensorOptions().dtype(host_type(desc)));
}

at::Tensor pinned_copy(const BurnTensorDesc &desc, const void *data) {
  at::Tensor pinned = at::empty(sizes_of(desc), at::TensorOptions().dtype(host_type(desc)).pinned_memory(true));
  std::memcpy(pinned.data_ptr(), data, pinned.nbytes());
  return pinned;
}

at::Tensor upload(Torch &torch, const BurnTensorDesc &desc, const at::Tensor &host) {
  at::Tensor x = at::empty(sizes_of(desc), host.options().pinned_memory(false).device(torch.device));
  x.copy_(host, is_asynchronous(torch));
  return desc.dtype == BURN_DTYPE_BOOL ? x.to(at::kBool) : x;
}

template <class Element>
static void bounds_of(const void *data, int64_t count, int64_t *low, int64_t *high) {
  const Element *elements = static_cast<const Element *>(data);
  const auto [least, most] = std::minmax_element(elements, elements + count);
  *low = static_cast<int64_t>(*least);
  *high = static_cast<int64_t>(*most);
}

void note_bounds(BurnPrimitive *x, const BurnTensorDesc &desc, const void *data) {
  const int64_t count = burn_desc_count(&desc);
  int64_t low = 0, high = 0;
  if (count == 0) return;
  if (desc.dtype == BURN_DTYPE_I64) {
    bounds_of<int64_t>(data, count, &low, &high);
  } else if (desc.dtype == BURN_DTYPE_I32) {
    bounds_of<int32_t>(data, count, &low, &high);
  } else {
    return;
  }
  tensor_of(x)->bounds.set(low, high);
}

namespace {

/* -- events ----------------------------------------------------------------------------------- */

/* A point of the queue; without `event` it is done. */
struct Point {
  std::unique_ptr<c10::Event> event;
  uint32_t submitted = 0; /* ops before it */
};

Point *point_of(BurnEvent *event) { return reinterpret_cast<Point *>(event); }

BurnEvent *point_here(const Torch &torch) {
  auto point = std::make_unique<Point>();
  point->submitted = torch.recent.count();
  if (is_asynchronous(torch)) {
    point->event = std::make_unique<c10::Event>(torch.device.type(), c10::EventFlag::PYTORCH_DEFAULT);
    point->event->record(stream_of(torch));
  }
  return reinterpret_cast<BurnEvent *>(point.release());
}

/* Before 2.1 an event could not be waited for: then for the whole queue. */
template <class Event>
auto wait_for(const Torch &, const Event &event, int) -> decltype(event.synchronize()) {
  event.synchronize();
}
template <class Event>
void wait_for(const Torch &torch, const Event &, long) {
  stream_of(torch).synchronize();
}

BurnStatus BURN_API_CALL event_record(void *self, BurnEvent **out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "event", [&] { *out = point_here(torch); });
}

BurnStatus BURN_API_CALL event_query(void *self, BurnEvent *event, int32_t *done) {
  const Point &point = *point_of(event);
  return guarded(*static_cast<Torch *>(self), "event", [&] { *done = !point.event || point.event->query(); });
}

BurnStatus BURN_API_CALL event_wait(void *self, BurnEvent *event) {
  Torch &torch = *static_cast<Torch *>(self);
  const Point &point = *point_of(event);
  return guarded(torch, "event", [&] {
    if (!point.event) return;
    if (!point.event->query()) {
      const Waiting counted(torch);
      wait_for(torch, *point.event, 0);
    }
    torch.recent.settle(point.submitted);
  });
}

void BURN_API_CALL event_release(void *, BurnEvent *event) { delete point_of(event); }

/* -- memory of the host ----------------------------------------------------------------------- */

BurnStatus BURN_API_CALL staging_allocate(void *self, uint64_t bytes, void **out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "staging", [&] {
    const at::TensorOptions options = at::TensorOptions().dtype(at::kByte).pinned_memory(is_asynchronous(torch));
    at::Tensor memory = at::empty({static_cast<int64_t>(bytes)}, options);
    void *address = memory.data_ptr();
    const std::lock_guard<std::mutex> lock(torch.staging_mutex);
    torch.staging.emplace(address, std::move(memory));
    *out = address;
  });
}

void BURN_API_CALL staging_free(void *self, void *memory, uint64_t) {
  Torch &torch = *static_cast<Torch *>(self);
  const std::lock_guard<std::mutex> lock(torch.staging_mutex);
  torch.staging.erase(memory);
}

/* -- transfers -------------------------------------------------------------------------------- */

BurnStatus BURN_API_CALL create_async(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out,
                                      BurnEvent **done) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "create", [&] {
    BurnPrimitive *x = wrap(torch, upload(torch, *desc, around(*desc, data)));
    try {
      if (is_asynchronous(torch)) note_bounds(x, *desc, data);
      *done = point_here(torch);
    } catch (...) {
      torch_release(&torch, x);
      throw;
    }
    *out = x;
  });
}

BurnStatus BURN_API_CALL read_async(void *self, BurnPrimitive *x, void *data, uint64_t bytes, BurnEvent **done) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "read", [&] {
    const at::Tensor value = checked_source(torch, x, bytes).contiguous();
    at::Tensor host = at::from_blob(data, value.sizes(), at::TensorOptions().dtype(value.scalar_type()));
    const bool waits = is_asynchronous(torch) && bytes > 0 && !host.is_pinned();
    if (waits) torch.host_waits.fetch_add(1, std::memory_order_relaxed);
    host.copy_(value, is_asynchronous(torch));
    *done = point_here(torch);
  });
}

BurnStatus BURN_API_CALL write_async(void *self, BurnPrimitive *x, const void *data, uint64_t bytes, BurnEvent **done) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "write", [&] {
    at::Tensor value = checked_source(torch, x, bytes); /* the second count of the tensor */
    const TorchTensor &tensor = *tensor_of(x);
    if (tensor.references.load(std::memory_order_acquire) != 1 || value.use_count() != 2 ||
        value.storage().use_count() != 1 || !value.storage().allocator()) {
      fail(BURN_STATUS_FAILED_PRECONDITION, "the tensor has other users: its elements stay");
    }
    BurnTensorDesc desc{};
    desc.dtype = x->dtype;
    desc.rank = x->rank;
    std::copy_n(x->shape, x->rank, desc.shape);
    tensor_of(x)->bounds.clear();
    value.copy_(x->dtype == BURN_DTYPE_BOOL ? upload(torch, desc, around(desc, data)) : around(desc, data),
                is_asynchronous(torch));
    if (is_asynchronous(torch)) note_bounds(x, desc, data);
    *done = point_here(torch);
  });
}

/* ATen puts the copy between the streams of the two devices. From and to the host it waits. */
BurnStatus BURN_API_CALL copy_from(void *self, const BurnBackend *source, BurnPrimitive *x, BurnPrimitive **out) {
  Torch &torch = *static_cast<Torch *>(self);
  Torch &from = *static_cast<Torch *>(source->self);
  return guarded(torch, "copy", [&] {
    const at::Tensor &value = tensor_of(x)->value;
    if (x->owner != from.owner)
      fail(BURN_STATUS_BAD_OWNER, "the tensor belongs to backend %u, not to %u", x->owner, from.owner);
    const bool within = torch.device.type() == from.device.type();
    if (!within && is_asynchronous(from)) from.host_waits.fetch_add(1, std::memory_order_relaxed);
    if (!within && is_asynchronous(torch)) torch.host_waits.fetch_add(1, std::memory_order_relaxed);
    at::Tensor copy = at::empty(value.sizes(), value.options().device(torch.device));
    copy.copy_(value, within);
    *out = wrap(torch, std::move(copy));
  });
}

/* -- what the device is ----------------------------------------------------------------------- */

void put(char *to, size_t bytes, const char *text) { std::snprintf(to, bytes, "%s", text); }

void describe_cpu(BurnDeviceDescription *out) {
  out->kind = BURN_DEVICE_KIND_CPU;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE), cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (pages > 0 && page > 0) out->memory_bytes = static_cast<int64_t>(pages) * page;
#if defined(_SC_AVPHYS_PAGES)
  const long free_pages = sysconf(_SC_AVPHYS_PAGES);
  if (free_pages > 0 && page > 0) out->free_bytes = static_cast<int64_t>(free_pages) * page;
#endif
  if (cores > 0) out->unit_count = static_cast<uint32_t>(cores);
#if defined(__x86_64__)
  put(out->architecture, sizeof out->architecture, "x86-64");
#elif defined(__aarch64__)
  put(out->architecture, sizeof out->architecture, "aarch64");
#endif
}

BurnStatus BURN_API_CALL describe(void *self, BurnDeviceDescription *out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "describe", [&] {
    BurnDeviceDescription full{};
    full.index = torch.device.has_index() ? static_cast<uint32_t>(torch.device.index()) : 0;
    put(full.name, sizeof full.name, torch.name.c_str());
    put(full.driver, sizeof full.driver, "libtorch " BURN_TORCH_VERSION);
    if (torch.device.is_cpu()) describe_cpu(&full);
    if (torch.device.is_cuda()) describe_cuda(torch.device.index(), &full);
    if (torch.device.type() == at::kMPS) full.kind = BURN_DEVICE_KIND_INTEGRATED_GPU;
    full.struct_size = out->struct_size;
    std::memcpy(out, &full, std::min<size_t>(out->struct_size, sizeof full));
  });
}

/* -- for kernels of others -------------------------------------------------------------------- */

const char *api_of(const Torch &torch) {
  if (torch.device.is_cpu()) return "host";
  return torch.device.is_cuda() ? "cuda" : "metal";
}

BurnStatus BURN_API_CALL native_memory(void *self, BurnPrimitive *x, BurnNativeMemory *out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "native_memory", [&] {
    if (x->owner != torch.owner)
      fail(BURN_STATUS_BAD_OWNER, "the tensor belongs to backend %u, this is %u", x->owner, torch.owner);
    const at::Tensor &value = tensor_of(x)->value;
    int64_t last = 0;
    for (int64_t axis = 0; axis < value.dim(); axis++) last += (value.size(axis) - 1) * value.stride(axis);
    out->api = api_of(torch);
    out->handle = value.storage().data_ptr().get();
    out->byte_offset = static_cast<uint64_t>(value.storage_offset()) * value.element_size();
    out->bytes = value.numel() == 0 ? 0 : static_cast<uint64_t>(last + 1) * value.element_size();
  });
}

}  // namespace

/* The default stream is NULL; others have a handle since 2.10. */
template <class Guard>
static auto handle_of(const Guard &guard, const c10::Stream &stream, int)
    -> decltype(guard.getStreamNativeHandle(stream)) {
  return guard.getStreamNativeHandle(stream);
}
template <class Guard>
static void *handle_of(const Guard &, const c10::Stream &, long) {
  fail(BURN_STATUS_UNIMPLEMENTED, "this libtorch does not give the handle of a stream");
}

void *cuda_stream(const Torch &torch) {
  const c10::Stream stream = stream_of(torch);
  return stream.id() == 0 ? nullptr : handle_of(c10::impl::VirtualGuardImpl(torch.device.type()), stream, 0);
}

static BurnStatus BURN_API_CALL native_queue(void *self, BurnNativeQueue *out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "native_queue", [&] {
    out->api = api_of(torch);
    out->queue = torch.device.is_cuda() ? cuda_stream(torch) : nullptr;
    out->context = torch.device.is_cuda() ? cuda_context(torch.device.index()) : nullptr;
  });
}

const BurnDeviceInterface device_interface = {sizeof(BurnDeviceInterface),
                                              1,
                                              describe,
                                              staging_allocate,
                                              staging_free,
                                              create_async,
                                              read_async,
                                              write_async,
                                              copy_from,
                                              event_record,
                                              event_query,
                                              event_wait,
                                              event_release,
                                              native_memory,
                                              native_queue,
                                              kernel_takes_code,
                                              kernel_load,
                                              kernel_unload,
                                              kernel_launch,
                                              nullptr, /* events keep no times */
                                              nullptr};

}  // namespace burn_torch
