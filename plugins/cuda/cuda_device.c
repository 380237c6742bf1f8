/* cuda_device.c - the instance's queue: its context, failures, transfers that nobody waits for, events, pinned memory,
 * kernels of packs; what the device is. */
#include "cuda_internal.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* -- context and failures --------------------------------------------------------------------- */

/* A bit for each enter that this thread has not left, the last one lowest: 1 where the context was pushed. */
static _Thread_local uint32_t pushed;

/* Counts this thread in, unless another one records. Both look after they have written, so one of them sees the other.
 */
static void begin_call(Cuda *cuda) {
  for (;;) {
    atomic_fetch_add(&cuda->inside, 1u);
    const void *recorder = atomic_load(&cuda->recorder);
    if (!recorder || recorder == &pushed) return;
    atomic_fetch_sub(&cuda->inside, 1u);
    (void)pthread_mutex_lock(&cuda->recorder_mutex);
    (void)pthread_mutex_unlock(&cuda->recorder_mutex);
  }
}

static void end_call(Cuda *cuda) { atomic_fetch_sub(&cuda->inside, 1u); }

void burn__cuda_shut_out(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->recorder_mutex);
  atomic_store(&cuda->recorder, &pushed);
  while (atomic_load(&cuda->inside) != 0) (void)sched_yield();
}

void burn__cuda_let_in(Cuda *cuda) {
  atomic_store(&cuda->recorder, NULL);
  (void)pthread_mutex_unlock(&cuda->recorder_mutex);
}

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

BurnStatus burn__gpu_enter(Cuda *cuda) {
  const uint32_t broken = atomic_load_explicit(&cuda->broken, memory_order_relaxed);
  if (broken != 0)
    return CUDA_FAIL(cuda, FAILED_PRECONDITION, "the device has failed before: error %u, %s; open it in a new process",
                     broken, burn__cuda_error_text((int)broken));
  begin_call(cuda);
  const int error = make_current(cuda);
  if (error == CUDA_OK) return BURN_OK;
  end_call(cuda);
  return burn__cuda_check(cuda, error, "enter the context");
}

void burn__gpu_leave(Cuda *cuda) {
  void *popped = NULL;
  if (pushed & 1u) (void)cuda->driver->cuCtxPopCurrent_v2(&popped);
  pushed >>= 1;
  end_call(cuda);
}

/* Errors after which a context answers every call with the same error. */
static bool is_fatal(int error) { return error == 700 || error == 702 || (error >= 710 && error <= 720); }

/* "add, matmul and relu", newest first. */
static void list_recent(Cuda *cuda, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 1; i <= GPU_RECENT_OPS && used < bytes; i++) {
    const uint32_t op = atomic_load(&cuda->recent[(atomic_load(&cuda->submitted) - i) % GPU_RECENT_OPS]);
    const BurnOpInfo *info = op ? cuda->host->op_info(op) : NULL;
    if (!info) break;
    const int length = snprintf(text + used, bytes - used, "%s%s", i > 1 ? ", " : "", info->name);
    if (length > 0) used += (size_t)length;
  }
}

BurnStatus burn__cuda_check(Cuda *cuda, int error, const char *what) {
  char recent[200];
  if (error == CUDA_OK) return BURN_OK;
  const char *text = burn__cuda_error_text(error);
  if (error == CUDA_OUT_OF_MEMORY) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "%s: error %d, %s", what, error, text);
  if (!is_fatal(error)) return CUDA_FAIL(cuda, INTERNAL, "%s: error %d, %s", what, error, text);
  atomic_store(&cuda->broken, (uint32_t)error);
  list_recent(cuda, recent, sizeof recent);
  return CUDA_FAIL(cuda, INTERNAL, "%s: error %d, %s; the last ops were %s", what, error, text, recent);
}

BurnStatus burn__gpu_complaint(Cuda *cuda) {
  GpuComplaint *complaint = cuda->complaint;
  if (!*(volatile uint32_t *)&complaint->is_set) return BURN_OK;
  const GpuComplaint what = *complaint;
  memset(complaint, 0, sizeof *complaint);
  const char *op = cuda->host->op_info(what.op)->name;
  if (what.size == 0)
    return BURN_COMMON_FAIL(cuda->host, OUT_OF_RANGE, op, "index %lld at position %lld, but axis %lld is empty",
                            (long long)what.index, (long long)what.position, (long long)what.dim);
  return BURN_COMMON_FAIL(cuda->host, OUT_OF_RANGE, op, "index %lld at position %lld is outside 0..%lld (axis %lld)",
                          (long long)what.index, (long long)what.position, (long long)(what.size - 1),
                          (long long)what.dim);
}

BurnStatus burn__gpu_refuse_recording(Cuda *cuda, const char *what) {
  if (!cuda->recording) return BURN_OK;
  return CUDA_FAIL(cuda, FAILED_PRECONDITION, "%s cannot be recorded", what);
}

BurnStatus burn__gpu_wait(Cuda *cuda) {
  const BurnStatus refused = burn__gpu_refuse_recording(cuda, "a wait for the device");
  if (refused != BURN_OK) return refused;
  atomic_fetch_add(&cuda->host_waits, 1);
  const BurnStatus status = burn__cuda_check(cuda, cuda->driver->cuStreamSynchronize(cuda->stream), "wait");
  return status == BURN_OK ? burn__gpu_complaint(cuda) : status;
}

/* -- transfers -------------------------------------------------------------------------------- */

/* A bool is any byte but 0 in memory of others, and 1 in ours. */
static BurnStatus make_true(Cuda *cuda, BurnPrimitive **x) {
  BurnPrimitive *bytes = *x;
  bytes->dtype = BURN_DTYPE_U8;
  *x = NULL;
  const BurnStatus status = burn__gpu_cast(cuda, bytes, BURN_DTYPE_BOOL, x);
  burn__gpu_release(cuda, bytes);
  return status;
}

/* A new tensor with the elements at `data`, in the queue. The driver copies pageable memory before it returns. */
static BurnStatus upload(Cuda *cuda, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out) {
  const uint64_t bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  BurnPrimitive *x = NULL;
  BurnStatus status = data ? burn__gpu_refuse_recording(cuda, "a copy from the host") : BURN_OK;
  if (status == BURN_OK) status = burn__gpu_new(cuda, desc, &x);
  if (status == BURN_OK && data && bytes > 0)
    status = burn__cuda_check(cuda, cuda->driver->cuMemcpyHtoDAsync_v2(gpu_address(x), data, bytes, cuda->stream),
                              "copy to the device");
  if (status == BURN_OK && data && desc->dtype == BURN_DTYPE_BOOL && bytes > 0) status = make_true(cuda, &x);
  if (status == BURN_OK) *out = x;
  if (status != BURN_OK) burn__gpu_release(cuda, x);
  return status;
}

BurnStatus BURN_API_CALL burn__cuda_create(void *self, const BurnTensorDesc *desc, const void *data,
                                           BurnPrimitive **out) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = upload(cuda, desc, data, out);
  burn__gpu_leave(cuda);
  return status;
}

static BurnStatus download(Cuda *cuda, BurnPrimitive *x, void *data, uint64_t bytes) {
  BurnPrimitive *rows = NULL;
  BurnStatus status = burn__gpu_refuse_recording(cuda, "a copy to the host");
  if (status == BURN_OK) status = burn__gpu_row_major(cuda, x, &rows);
  if (status == BURN_OK && bytes > 0)
    status = burn__cuda_check(cuda, cuda->driver->cuMemcpyDtoHAsync_v2(data, gpu_address(rows), bytes, cuda->stream),
                              "copy to the host");
  burn__gpu_release(cuda, rows);
  return status;
}

BurnStatus BURN_API_CALL burn__cuda_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = download(cuda, x, data, bytes);
  if (status == BURN_OK) status = burn__gpu_wait(cuda);
  burn__gpu_leave(cuda);
  return status;
}

/* -- events ----------------------------------------------------------------------------------- */

/* A BurnEvent is the driver's event itself. */
static BurnStatus record_with(Cuda *cuda, unsigned flags, BurnEvent **out) {
  void *event = NULL;
  BurnStatus status = burn__gpu_refuse_recording(cuda, "an event");
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuEventCreate(&event, flags), "event");
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuEventRecord(event, cuda->stream), "event");
  if (status == BURN_OK) *out = event;
  if (status != BURN_OK) (void)cuda->driver->cuEventDestroy_v2(event);
  return status;
}

static BurnStatus record(Cuda *cuda, BurnEvent **out) { return record_with(cuda, CUDA_EVENT_WITHOUT_TIMING, out); }

static BurnStatus record_in_context(Cuda *cuda, unsigned flags, BurnEvent **out) {
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = record_with(cuda, flags, out);
  burn__gpu_leave(cuda);
  return status;
}

static BurnStatus BURN_API_CALL event_record(void *self, BurnEvent **out) {
  return record_in_context(self, CUDA_EVENT_WITHOUT_TIMING, out);
}

static BurnStatus BURN_API_CALL timed_event_record(void *self, BurnEvent **out) {
  return record_in_context(self, CUDA_EVENT_WITH_TIMING, out);
}

static BurnStatus BURN_API_CALL event_elapsed(void *self, BurnEvent *first, BurnEvent *second, double *seconds) {
  Cuda *cuda = self;
  float milliseconds = 0;
  const int error = cuda->driver->cuEventElapsedTime(&milliseconds, first, second);
  if (error == CUDA_NOT_READY)
    return CUDA_FAIL(cuda, FAILED_PRECONDITION, "event_elapsed: the work before an event is not done");
  const BurnStatus status = burn__cuda_check(cuda, error, "time between two events");
  if (status == BURN_OK) *seconds = 1e-3 * (double)milliseconds;
  return status;
}

static BurnStatus BURN_API_CALL event_query(void *self, BurnEvent *event, int32_t *done) {
  Cuda *cuda = self;
  const int error = cuda->driver->cuEventQuery(event);
  *done = error == CUDA_OK;
  return error == CUDA_NOT_READY ? BURN_OK : burn__cuda_check(cuda, error, "event");
}

static BurnStatus BURN_API_CALL event_wait(void *self, BurnEvent *event) {
  Cuda *cuda = self;
  int error = cuda->driver->cuEventQuery(event);
  if (error == CUDA_NOT_READY) {
    atomic_fetch_add(&cuda->host_waits, 1);
    error = cuda->driver->cuEventSynchronize(event);
  }
  const BurnStatus status = burn__cuda_check(cuda, error, "wait for an event");
  return status == BURN_OK ? burn__gpu_complaint(cuda) : status;
}

static void BURN_API_CALL event_release(void *self, BurnEvent *event) {
  const Cuda *cuda = self;
  if (event) (void)cuda->driver->cuEventDestroy_v2(event);
}

/* -- "burn.device" ---------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL staging_allocate(void *self, uint64_t bytes, void **out) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuMemHostAlloc(out, bytes, 0), "allocate pinned memory");
  burn__gpu_leave(cuda);
  return status;
}

static void BURN_API_CALL staging_free(void *self, void *memory, uint64_t bytes) {
  Cuda *cuda = self;
  (void)bytes;
  if (burn__gpu_enter(cuda) != BURN_OK) return;
  (void)cuda->driver->cuMemFreeHost(memory);
  burn__gpu_leave(cuda);
}

static BurnStatus BURN_API_CALL create_async(void *self, const BurnTensorDesc *desc, const void *data,
                                             BurnPrimitive **out, BurnEvent **done) {
  Cuda *cuda = self;
  BurnPrimitive *x = NULL;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = upload(cuda, desc, data, &x);
  if (status == BURN_OK) status = record(cuda, done);
  if (status == BURN_OK) *out = x;
  if (status != BURN_OK) burn__gpu_release(cuda, x);
  burn__gpu_leave(cuda);
  return status;
}

static BurnStatus BURN_API_CALL read_async(void *self, BurnPrimitive *x, void *data, uint64_t bytes, BurnEvent **done) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = download(cuda, x, data, bytes);
  if (status == BURN_OK) status = record(cuda, done);
  burn__gpu_leave(cuda);
  return status;
}

static BurnStatus write_elements(Cuda *cuda, BurnPrimitive *x, const void *data, uint64_t bytes) {
  const BurnStatus refused = burn__gpu_refuse_recording(cuda, "a copy from the host");
  if (refused != BURN_OK) return refused;
  const int error = cuda->driver->cuMemcpyHtoDAsync_v2(gpu_address(x), data, bytes, cuda->stream);
  return burn__cuda_check(cuda, error, "copy to the device");
}

/* Any byte but 0 is true: they go through a tensor that has them as 0 and 1. */
static BurnStatus write_bools(Cuda *cuda, BurnPrimitive *x, const void *data) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnPrimitive *bools = NULL;
  BurnStatus status = upload(cuda, &desc, data, &bools);
  if (status == BURN_OK) status = burn__gpu_copy(cuda, x, bools);
  burn__gpu_release(cuda, bools);
  return status;
}

static BurnStatus BURN_API_CALL write_async(void *self, BurnPrimitive *x, const void *data, uint64_t bytes,
                                            BurnEvent **done) {
  Cuda *cuda = self;
  GpuTensor *tensor = gpu_tensor(x);
  if (atomic_load(&tensor->references) != 1 || atomic_load(&tensor->storage->references) != 1 ||
      tensor->storage->is_shared)
    return CUDA_FAIL(cuda, FAILED_PRECONDITION, "write: the tensor has other users: its elements stay");
  if (!burn__gpu_is_row_major(x)) return CUDA_FAIL(cuda, FAILED_PRECONDITION, "write: the tensor is not row-major");
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  if (x->dtype == BURN_DTYPE_BOOL) {
    status = write_bools(cuda, x, data);
  } else if (bytes > 0) {
    status = write_elements(cuda, x, data, bytes);
  }
  if (status == BURN_OK) status = record(cuda, done);
  burn__gpu_leave(cuda);
  return status;
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

/* In the context of `from`: its elements without gaps, done before anything that follows in `to`. */
static BurnStatus lend(Cuda *from, Cuda *to, BurnPrimitive *x, BurnPrimitive **rows) {
  BurnStatus status = burn__gpu_enter(from);
  if (status != BURN_OK) return status;
  status = burn__gpu_row_major(from, x, rows);
  if (status == BURN_OK) status = order(from, to);
  burn__gpu_leave(from);
  return status;
}

static BurnStatus BURN_API_CALL copy_from(void *self, const BurnBackend *source, BurnPrimitive *x,
                                          BurnPrimitive **out) {
  Cuda *cuda = self, *from = source->self;
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnPrimitive *rows = NULL, *copy = NULL;
  if (x->owner != from->owner)
    return CUDA_FAIL(cuda, BAD_OWNER, "copy: the tensor belongs to backend %u, not to %u", x->owner, from->owner);
  BurnStatus status = lend(from, cuda, x, &rows);
  if (status == BURN_OK) status = burn__gpu_enter(cuda);
  if (status != BURN_OK) {
    burn__gpu_release(from, rows);
    return status;
  }
  const uint64_t bytes = (uint64_t)burn_desc_count(&desc) * burn_dtype_bytes(desc.dtype);
  status = burn__gpu_new(cuda, &desc, &copy);
  if (status == BURN_OK && bytes > 0)
    status = burn__cuda_check(cuda,
                              cuda->driver->cuMemcpyPeerAsync(gpu_address(copy), cuda->context, gpu_address(rows),
                                                              from->context, bytes, cuda->stream),
                              "copy between devices");
  if (status == BURN_OK) status = order(cuda, from); /* the source is free again after the copy */
  burn__gpu_leave(cuda);
  burn__gpu_release(from, rows);
  if (status == BURN_OK) *out = copy;
  if (status != BURN_OK) burn__gpu_release(cuda, copy);
  return status;
}

static BurnStatus BURN_API_CALL native_memory(void *self, BurnPrimitive *x, BurnNativeMemory *out) {
  const Cuda *cuda = self;
  int64_t last = 0;
  if (x->owner != cuda->owner)
    return CUDA_FAIL(cuda, BAD_OWNER, "native_memory: the tensor belongs to backend %u, this is %u", x->owner,
                     cuda->owner);
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
  BurnDeviceDescription full = {.index = cuda->index, .unit_count = cuda->unit_count};
  size_t free = 0, total = 0;
  int integrated = 0;
  const BurnStatus status = burn__gpu_enter(cuda);
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
  burn__gpu_leave(cuda);
  full.struct_size = out->struct_size;
  memcpy(out, &full, out->struct_size < sizeof full ? out->struct_size : sizeof full);
  return BURN_OK;
}

const BurnDeviceInterface burn__cuda_device_interface = {.struct_size = (uint32_t)sizeof(BurnDeviceInterface),
                                                         .version = 1,
                                                         .describe = describe,
                                                         .staging_allocate = staging_allocate,
                                                         .staging_free = staging_free,
                                                         .create_async = create_async,
                                                         .read_async = read_async,
                                                         .write_async = write_async,
                                                         .copy_from = copy_from,
                                                         .event_record = event_record,
                                                         .event_query = event_query,
                                                         .event_wait = event_wait,
                                                         .event_release = event_release,
                                                         .native_memory = native_memory,
                                                         .native_queue = native_queue,
                                                         .kernel_takes_code = burn__cuda_pack_takes_code,
                                                         .kernel_load = burn__cuda_pack_load,
                                                         .kernel_unload = burn__cuda_pack_unload,
                                                         .kernel_launch = burn__cuda_pack_launch,
                                                         .timed_event_record = timed_event_record,
                                                         .event_elapsed = event_elapsed};
