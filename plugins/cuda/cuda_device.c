/* cuda_device.c - the instance's queue: its context, failures, transfers, events, pinned memory, copies between
 * devices; what the device is. */
#include "cuda_internal.h"

#include <stdio.h>
#include <string.h>

/* -- context and failures --------------------------------------------------------------------- */

/* A bit for each enter that this thread has not left, the last one lowest: 1 where the context was pushed. */
static _Thread_local uint32_t pushed;

static int make_current(const Cuda *cuda) {
  const CudaDriver *d = cuda->driver;
  void *current = NULL;
  int error = d->cuCtxGetCurrent(&current);
  const bool is_other = current && current != cuda->context;
  if (error == CUDA_OK && !current) error = d->cuCtxSetCurrent(cuda->context);
  if (error == CUDA_OK && is_other) error = d->cuCtxPushCurrent_v2(cuda->context);
  if (error == CUDA_OK) pushed = pushed << 1 | is_other;
  return error;
}

BurnStatus burn__cuda_enter(Gpu *gpu) {
  Cuda *cuda = cuda_of(gpu);
  const uint32_t broken = atomic_load_explicit(&cuda->broken, memory_order_relaxed);
  if (broken != 0)
    return CUDA_FAIL(cuda, FAILED_PRECONDITION, "the device has failed before: error %u, %s; open it in a new process",
                     broken, burn__cuda_error_text((int)broken));
  burn__gpu_call_begin(gpu);
  const int error = make_current(cuda);
  if (error == CUDA_OK) return BURN_OK;
  burn__gpu_call_end(gpu);
  return burn__cuda_check(cuda, error, "enter the context");
}

void burn__cuda_leave(Gpu *gpu) {
  Cuda *cuda = cuda_of(gpu);
  void *popped = NULL;
  if (pushed & 1u) (void)cuda->driver->cuCtxPopCurrent_v2(&popped);
  pushed >>= 1;
  burn__gpu_call_end(gpu);
}

/* Errors after which a context answers every call with the same error. */
static bool is_fatal(int error) { return error == 700 || error == 702 || (error >= 710 && error <= 720); }

BurnStatus burn__cuda_check(Cuda *cuda, int error, const char *what) {
  char recent[200];
  if (error == CUDA_OK) return BURN_OK;
  const char *text = burn__cuda_error_text(error);
  if (error == CUDA_OUT_OF_MEMORY) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "%s: error %d, %s", what, error, text);
  if (!is_fatal(error)) return CUDA_FAIL(cuda, INTERNAL, "%s: error %d, %s", what, error, text);
  atomic_store(&cuda->broken, (uint32_t)error);
  burn__gpu_list_recent(&cuda->gpu, recent, sizeof recent);
  return CUDA_FAIL(cuda, INTERNAL, "%s: error %d, %s; the last ops were %s", what, error, text, recent);
}

BurnStatus burn__cuda_finish(Gpu *gpu) {
  Cuda *cuda = cuda_of(gpu);
  return burn__cuda_check(cuda, cuda->driver->cuStreamSynchronize(cuda->stream), "wait");
}

/* -- transfers -------------------------------------------------------------------------------- */

/* The driver copies pageable memory before it returns. */
BurnStatus burn__cuda_write(Gpu *gpu, const BurnPrimitive *to, const void *data, uint64_t bytes) {
  Cuda *cuda = cuda_of(gpu);
  const int error = cuda->driver->cuMemcpyHtoDAsync_v2(gpu_address(to), data, bytes, cuda->stream);
  return burn__cuda_check(cuda, error, "copy to the device");
}

BurnStatus burn__cuda_read(Gpu *gpu, void *data, const BurnPrimitive *from, uint64_t bytes) {
  Cuda *cuda = cuda_of(gpu);
  const int error = cuda->driver->cuMemcpyDtoHAsync_v2(data, gpu_address(from), bytes, cuda->stream);
  return burn__cuda_check(cuda, error, "copy to the host");
}

/* -- events ----------------------------------------------------------------------------------- */

/* A BurnEvent is the driver's event itself. */
BurnStatus burn__cuda_event_new(Gpu *gpu, bool is_timed, BurnEvent **out) {
  Cuda *cuda = cuda_of(gpu);
  void *event = NULL;
  BurnStatus status = burn__cuda_check(
      cuda, cuda->driver->cuEventCreate(&event, is_timed ? CUDA_EVENT_WITH_TIMING : CUDA_EVENT_WITHOUT_TIMING),
      "event");
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuEventRecord(event, cuda->stream), "event");
  if (status == BURN_OK) *out = event;
  if (status != BURN_OK) (void)cuda->driver->cuEventDestroy_v2(event);
  return status;
}

BurnStatus burn__cuda_event_query(Gpu *gpu, BurnEvent *event, bool *done) {
  Cuda *cuda = cuda_of(gpu);
  const int error = cuda->driver->cuEventQuery(event);
  *done = error == CUDA_OK;
  return error == CUDA_NOT_READY ? BURN_OK : burn__cuda_check(cuda, error, "event");
}

BurnStatus burn__cuda_event_wait(Gpu *gpu, BurnEvent *event) {
  Cuda *cuda = cuda_of(gpu);
  return burn__cuda_check(cuda, cuda->driver->cuEventSynchronize(event), "wait for an event");
}

void burn__cuda_event_release(Gpu *gpu, BurnEvent *event) { (void)cuda_of(gpu)->driver->cuEventDestroy_v2(event); }

BurnStatus burn__cuda_event_elapsed(Gpu *gpu, BurnEvent *first, BurnEvent *second, double *seconds) {
  Cuda *cuda = cuda_of(gpu);
  float milliseconds = 0;
  const int error = cuda->driver->cuEventElapsedTime(&milliseconds, first, second);
  const BurnStatus status = burn__cuda_check(cuda, error, "time between two events");
  if (status == BURN_OK) *seconds = 1e-3 * (double)milliseconds;
  return status;
}

/* -- "burn.device" ---------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL staging_allocate(void *self, uint64_t bytes, void **out) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuMemHostAlloc(out, bytes, 0), "allocate pinned memory");
  burn__gpu_leave(&cuda->gpu);
  return status;
}

static void BURN_API_CALL staging_free(void *self, void *memory, uint64_t bytes) {
  Cuda *cuda = self;
  (void)bytes;
  if (burn__gpu_enter(&cuda->gpu) != BURN_OK) return;
  (void)cuda->driver->cuMemFreeHost(memory);
  burn__gpu_leave(&cuda->gpu);
}

/* What `first` has in its queue comes before what is put into that of `then` from now on. Called in the context of
 * `first`. */
static BurnStatus order(Cuda *first, Cuda *then) {
  void *event = NULL;
  const CudaDriver *d = first->driver;
  int error = d->cuEventCreate(&event, CUDA_EVENT_WITHOUT_TIMING);
  if (error == CUDA_OK) error = d->cuEventRecord(event, first->stream);
  if (error == CUDA_OK) error = d->cuStreamWaitEvent(then->stream, event, 0);
  if (event) (void)d->cuEventDestroy_v2(event); /* freed once nothing waits for it */
  return burn__cuda_check(first, error, "order two queues");
}

/* In the context of `from`, once: the other device may read its memory as it lies. Where it cannot, the driver copies
 * through memory of the host. */
static void open_to_peer(Cuda *from, const Cuda *to) {
  const CudaDriver *d = from->driver;
  const uint64_t bit = to->device < 64 ? UINT64_C(1) << to->device : 0;
  const CudaPoolAccess access = {.location_type = 1, .location = to->device, .flags = 3};
  char line[100];
  int can = 0;
  if (to->device == from->device || bit == 0 || (atomic_fetch_or(&from->asked_peers, bit) & bit) != 0) return;
  const bool is_open = d->cuDeviceCanAccessPeer(&can, to->device, from->device) == CUDA_OK && can &&
                       d->cuMemPoolSetAccess(from->pool, &access, 1) == CUDA_OK;
  (void)snprintf(line, sizeof line, "%s copies from it %s", to->gpu.name,
                 is_open ? "directly" : "through memory of the host");
  from->gpu.host->log(BURN_LOG_INFO, from->gpu.name, line);
}

/* In the context of `from`: its elements without gaps, done before anything that follows in `to`. */
static BurnStatus lend(Cuda *from, Cuda *to, BurnPrimitive *x, BurnPrimitive **rows) {
  BurnStatus status = burn__gpu_enter(&from->gpu);
  if (status != BURN_OK) return status;
  open_to_peer(from, to);
  status = burn__gpu_row_major(&from->gpu, x, rows);
  if (status == BURN_OK) status = order(from, to);
  burn__gpu_leave(&from->gpu);
  return status;
}

static BurnStatus BURN_API_CALL copy_from(void *self, const BurnBackend *source, BurnPrimitive *x,
                                          BurnPrimitive **out) {
  Cuda *cuda = self, *from = source->self;
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnPrimitive *rows = NULL, *copy = NULL;
  if (x->owner != from->gpu.owner)
    return CUDA_FAIL(cuda, BAD_OWNER, "copy: the tensor belongs to backend %u, not to %u", x->owner, from->gpu.owner);
  BurnStatus status = lend(from, cuda, x, &rows);
  if (status == BURN_OK) status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) {
    burn__gpu_release(&from->gpu, rows);
    return status;
  }
  const uint64_t bytes = (uint64_t)burn_desc_count(&desc) * burn_dtype_bytes(desc.dtype);
  status = burn__gpu_new(&cuda->gpu, &desc, &copy);
  if (status == BURN_OK && bytes > 0)
    status = burn__cuda_check(cuda,
                              cuda->driver->cuMemcpyPeerAsync(gpu_address(copy), cuda->context, gpu_address(rows),
                                                              from->context, bytes, cuda->stream),
                              "copy between devices");
  if (status == BURN_OK) status = order(cuda, from); /* the source is free again after the copy */
  burn__gpu_leave(&cuda->gpu);
  burn__gpu_release(&from->gpu, rows);
  if (status == BURN_OK) *out = copy;
  if (status != BURN_OK) burn__gpu_release(&cuda->gpu, copy);
  return status;
}

static BurnStatus BURN_API_CALL native_memory(void *self, BurnPrimitive *x, BurnNativeMemory *out) {
  const Cuda *cuda = self;
  int64_t last = 0;
  if (x->owner != cuda->gpu.owner)
    return CUDA_FAIL(cuda, BAD_OWNER, "native_memory: the tensor belongs to backend %u, this is %u", x->owner,
                     cuda->gpu.owner);
  for (uint32_t axis = 0; axis < x->rank; axis++) last += (x->shape[axis] - 1) * x->strides[axis];
  out->api = "cuda";
  out->handle = (void *)(uintptr_t)gpu_tensor(x)->storage->address;
  out->byte_offset = (uint64_t)x->byte_offset;
  out->bytes = burn_primitive_count(x) == 0 ? 0 : (uint64_t)(last + 1) * burn_dtype_bytes(x->dtype);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL native_queue(void *self, BurnNativeQueue *out) {
  const Cuda *cuda = self;
  out->api = "cuda";
  out->queue = cuda->stream;
  out->context = cuda->context;
  return BURN_OK;
}

/* -- what the device is ----------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL describe(void *self, BurnDeviceDescription *out) {
  Cuda *cuda = self;
  const CudaDriver *d = cuda->driver;
  BurnDeviceDescription full = {.index = cuda->gpu.index, .unit_count = cuda->gpu.unit_count};
  size_t free = 0, total = 0;
  int integrated = 0;
  const BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  if (d->cuMemGetInfo_v2(&free, &total) == CUDA_OK) full.free_bytes = (int64_t)free;
  if (d->cuDeviceTotalMem_v2(&total, cuda->device) == CUDA_OK) full.memory_bytes = (int64_t)total;
  (void)d->cuDeviceGetAttribute(&integrated, CUDA_INTEGRATED, cuda->device);
  full.kind = integrated ? BURN_DEVICE_KIND_INTEGRATED_GPU : BURN_DEVICE_KIND_DISCRETE_GPU;
  (void)d->cuDeviceGetUuid_v2(full.uuid, cuda->device);
  (void)d->cuDeviceGetPCIBusId(full.pci_address, (int)sizeof full.pci_address, cuda->device);
  (void)d->cuDeviceGetName(full.name, (int)sizeof full.name, cuda->device);
  burn__cuda_driver_text(d, full.driver, sizeof full.driver);
  (void)snprintf(full.architecture, sizeof full.architecture, "sm_%d", cuda->architecture);
  burn__gpu_leave(&cuda->gpu);
  full.struct_size = out->struct_size;
  memcpy(out, &full, out->struct_size < sizeof full ? out->struct_size : sizeof full);
  return BURN_OK;
}

const BurnDeviceInterface burn__cuda_device_interface = {.struct_size = (uint32_t)sizeof(BurnDeviceInterface),
                                                         .version = 1,
                                                         GPU_DEVICE_SLOTS,
                                                         .describe = describe,
                                                         .staging_allocate = staging_allocate,
                                                         .staging_free = staging_free,
                                                         .copy_from = copy_from,
                                                         .native_memory = native_memory,
                                                         .native_queue = native_queue,
                                                         .kernel_takes_code = burn__cuda_pack_takes_code,
                                                         .kernel_load = burn__cuda_pack_load,
                                                         .kernel_unload = burn__cuda_pack_unload,
                                                         .kernel_launch = burn__gpu_pack_launch,
                                                         .timed_event_record = burn__gpu_timed_event_record,
                                                         .event_elapsed = burn__gpu_event_elapsed};
