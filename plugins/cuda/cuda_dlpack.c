/* cuda_dlpack.c - "burn.dlpack": memory of the device that crosses to other libraries and back, streams that are put
 * in order for it.
 *
 * Nobody waits: the stream of the other side comes first or next by an event. What is borrowed goes back to its owner
 * only when our work on it is done: the owner may use it on any stream from then on. What was lent is used again only
 * after what the borrower has in its stream by then. */
#include "cuda_internal.h"

#include <burn/plugin/dlpack.h>

/* What is to go back to its owner. */
struct CudaBorrowed {
  struct CudaBorrowed *next;
  struct DLManagedTensorVersioned *tensor;
  void *event; /* after our last use; NULL: it could not be recorded yet */
};

/* -- streams ---------------------------------------------------------------------------------- */

/* DLPack's numbers 1 and 2 are the driver's names of the default streams; a larger one is a stream. */
static void *stream_of(int64_t number) { return (void *)(intptr_t)number; }

static BurnStatus check_stream(const Cuda *cuda, int64_t number) {
  if (number == -1 || number > 0) return BURN_OK;
  return CUDA_FAIL(
      cuda, INVALID_ARGUMENT,
      "%lld is not a stream of DLPack's protocol: 1 and 2 are the default streams, a larger one is the address "
      "of a stream, -1 leaves the order to the caller",
      (long long)number);
}

/* In the context. */
static int order_streams(const Cuda *cuda, void *first, void *then) {
  const CudaDriver *d = cuda->driver;
  void *event = NULL;
  int error = d->cuEventCreate(&event, CUDA_EVENT_WITHOUT_TIMING);
  if (error == CUDA_OK) error = d->cuEventRecord(event, first);
  if (error == CUDA_OK) error = d->cuStreamWaitEvent(then, event, 0);
  if (event) (void)d->cuEventDestroy_v2(event); /* freed once nothing waits for it */
  return error;
}

/* -- what goes back --------------------------------------------------------------------------- */

static void delete_tensor(struct DLManagedTensorVersioned *tensor) {
  const BurnDlpackManaged *managed = burn_dlpack_managed(tensor);
  if (managed->deleter) managed->deleter(tensor);
}

/* An event at the end of the queue; NULL while the queue is recorded, or where there is none. In the context. */
static void *mark(const Cuda *cuda) {
  const CudaDriver *d = cuda->driver;
  void *event = NULL;
  if (cuda->gpu.is_recorded) return NULL;
  if (d->cuEventCreate(&event, CUDA_EVENT_WITHOUT_TIMING) != CUDA_OK) return NULL;
  if (d->cuEventRecord(event, cuda->stream) == CUDA_OK) return event;
  (void)d->cuEventDestroy_v2(event);
  return NULL;
}

/* In the context. A device that has failed is done with everything. */
static bool is_done(const Cuda *cuda, struct CudaBorrowed *borrowed) {
  if (atomic_load(&cuda->broken) != 0) return true;
  if (!borrowed->event) borrowed->event = mark(cuda);
  return borrowed->event && cuda->driver->cuEventQuery(borrowed->event) != CUDA_NOT_READY;
}

/* Takes those that are done, or all, out of the list. */
static struct CudaBorrowed *take_done(Cuda *cuda, bool all) {
  struct CudaBorrowed *done = NULL;
  (void)pthread_mutex_lock(&cuda->borrowed_mutex);
  for (struct CudaBorrowed **at = &cuda->borrowed; *at;) {
    struct CudaBorrowed *one = *at;
    if (!all && !is_done(cuda, one)) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    one->next = done;
    done = one;
  }
  (void)pthread_mutex_unlock(&cuda->borrowed_mutex);
  return done;
}

void burn__cuda_give_back(Cuda *cuda, bool all) {
  struct CudaBorrowed *done = take_done(cuda, all);
  while (done) {
    struct CudaBorrowed *next = done->next;
    if (done->event) (void)cuda->driver->cuEventDestroy_v2(done->event);
    delete_tensor(done->tensor); /* the owner's code: without a lock of ours */
    cuda->gpu.host->free(done, sizeof *done);
    done = next;
  }
}

/* In the context. */
static void give_back_later(Cuda *cuda, struct DLManagedTensorVersioned *tensor) {
  struct CudaBorrowed *borrowed = cuda->gpu.host->allocate(sizeof *borrowed);
  if (!borrowed) {
    (void)burn__gpu_wait(&cuda->gpu);
    delete_tensor(tensor);
    return;
  }
  *borrowed = (struct CudaBorrowed){.tensor = tensor, .event = mark(cuda)};
  (void)pthread_mutex_lock(&cuda->borrowed_mutex);
  borrowed->next = cuda->borrowed;
  cuda->borrowed = borrowed;
  (void)pthread_mutex_unlock(&cuda->borrowed_mutex);
  burn__cuda_give_back(cuda, false);
}

void burn__cuda_unshare(Cuda *cuda, GpuStorage *storage) {
  void *popped = NULL;
  struct DLManagedTensorVersioned *owner = storage->owner;
  const bool is_in = cuda->driver->cuCtxPushCurrent_v2(cuda->context) == CUDA_OK;
  /* A borrower whose stream is gone has ended its work. */
  if (is_in && storage->reader && !burn__cuda_is_recording(cuda))
    (void)order_streams(cuda, storage->reader, cuda->stream);
  storage->is_shared = false;
  storage->reader = NULL;
  storage->owner = NULL;
  if (owner) give_back_later(cuda, owner);
  if (is_in) (void)cuda->driver->cuCtxPopCurrent_v2(&popped);
}

/* -- in --------------------------------------------------------------------------------------- */

/* Memory of this device that kernels can read: forwards, with bools as they are here after a copy. */
static bool suits(const Cuda *cuda, const BurnDlpackTensor *tensor) {
  if (tensor->device_type != BURN_DLPACK_CUDA || tensor->device_id != (int32_t)cuda->gpu.index) return false;
  for (int32_t i = 0; i < tensor->ndim; i++)
    if (tensor->strides[i] < 0) return false;
  return true;
}

static BurnTensorDesc desc_of(const BurnDlpackTensor *tensor, BurnDType dtype) {
  BurnTensorDesc desc = {.dtype = dtype, .rank = (uint32_t)tensor->ndim};
  for (int32_t i = 0; i < tensor->ndim; i++) desc.shape[i] = tensor->shape[i];
  return desc;
}

/* Bytes from the first element to the end of the last. */
static uint64_t span_of(const BurnDlpackTensor *tensor) {
  int64_t last = 0;
  for (int32_t i = 0; i < tensor->ndim; i++) {
    if (tensor->shape[i] == 0) return 0;
    last += (tensor->shape[i] - 1) * tensor->strides[i];
  }
  return (uint64_t)(last + 1) * tensor->bits / 8;
}

/* A tensor over the memory, whose storage does not own it yet. */
static BurnStatus over(Cuda *cuda, const BurnDlpackTensor *tensor, BurnDType dtype, BurnPrimitive **out) {
  const BurnTensorDesc desc = desc_of(tensor, dtype);
  const CudaAddress address = (CudaAddress)(uintptr_t)tensor->data + tensor->byte_offset;
  GpuStorage *storage = burn__gpu_memory_over(&cuda->gpu, address, span_of(tensor));
  if (!storage) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a tensor");
  storage->is_shared = true;
  return burn__gpu_tensor_over(&cuda->gpu, &desc, tensor->strides, storage, 0, out);
}

/* Any byte but 0 is true there, and 1 here. */
static BurnStatus over_bools(Cuda *cuda, const BurnDlpackTensor *tensor, struct DLManagedTensorVersioned *owner,
                             BurnPrimitive **out) {
  BurnPrimitive *bytes = NULL;
  BurnStatus status = over(cuda, tensor, BURN_DTYPE_U8, &bytes);
  if (status == BURN_OK) status = burn__gpu_cast(&cuda->gpu, bytes, BURN_DTYPE_BOOL, out);
  if (status == BURN_OK) gpu_tensor(bytes)->storage->owner = owner;
  burn__gpu_release(&cuda->gpu, bytes);
  return status;
}

static BurnStatus BURN_API_CALL import_on(void *self, struct DLManagedTensorVersioned *owner, int64_t stream,
                                          BurnPrimitive **out) {
  Cuda *cuda = self;
  const BurnDlpackTensor *tensor = &burn_dlpack_managed(owner)->tensor;
  const BurnDType dtype = burn_dlpack_dtype(tensor);
  if (!suits(cuda, tensor)) return BURN_STATUS_UNIMPLEMENTED;
  BurnStatus status = check_stream(cuda, stream);
  if (status == BURN_OK) status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = burn__gpu_refuse_recording(&cuda->gpu, "memory of another library");
  burn__cuda_give_back(cuda, false);
  if (status == BURN_OK && stream != -1)
    status = burn__cuda_check(cuda, order_streams(cuda, stream_of(stream), cuda->stream), "wait for the producer");
  if (status == BURN_OK && dtype == BURN_DTYPE_BOOL) {
    status = over_bools(cuda, tensor, owner, out);
  } else if (status == BURN_OK) {
    status = over(cuda, tensor, dtype, out);
    if (status == BURN_OK) gpu_tensor(*out)->storage->owner = owner;
  }
  burn__gpu_leave(&cuda->gpu);
  return status;
}

/* Without a stream the protocol means the default one. */
static BurnStatus BURN_API_CALL import(void *self, struct DLManagedTensorVersioned *owner, BurnPrimitive **out) {
  return import_on(self, owner, 1, out);
}

/* -- out -------------------------------------------------------------------------------------- */

/* data is the first element's place: some readers pass over byte_offset. */
static void describe(const Cuda *cuda, const BurnPrimitive *x, BurnDlpackTensor *out) {
  out->device_type = BURN_DLPACK_CUDA;
  out->device_id = (int32_t)cuda->gpu.index;
  out->data = burn_primitive_count(x) > 0 ? (void *)(uintptr_t)gpu_address(x) : NULL;
  out->byte_offset = 0;
}

static BurnStatus lend(Cuda *cuda, BurnPrimitive *x, int64_t stream, BurnDlpackTensor *out) {
  GpuStorage *storage = gpu_tensor(x)->storage;
  storage->is_shared = true;
  if (stream != -1) storage->reader = stream_of(stream);
  describe(cuda, x, out);
  return BURN_OK;
}

/* The host has waited. Who reads without having said where does so in the default stream. */
static BurnStatus BURN_API_CALL locate(void *self, BurnPrimitive *x, BurnDlpackTensor *out) {
  return lend(self, x, 1, out);
}

static BurnStatus BURN_API_CALL locate_on(void *self, BurnPrimitive *x, int64_t stream, BurnDlpackTensor *out) {
  Cuda *cuda = self;
  BurnStatus status = check_stream(cuda, stream);
  if (status == BURN_OK) status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = burn__gpu_refuse_recording(&cuda->gpu, "memory for another library");
  if (status == BURN_OK && stream != -1)
    status = burn__cuda_check(cuda, order_streams(cuda, cuda->stream, stream_of(stream)), "let the consumer wait");
  burn__gpu_leave(&cuda->gpu);
  return status == BURN_OK ? lend(cuda, x, stream, out) : status;
}

const BurnDlpackInterface burn__cuda_dlpack_interface = {.struct_size = (uint32_t)sizeof(BurnDlpackInterface),
                                                         .version = 1,
                                                         .import = import,
                                                         .locate = locate,
                                                         .import_on = import_on,
                                                         .locate_on = locate_on};
