/* cuda_tensor.c - tensors: storages in the device's pool, views of them, references. */
#include "cuda_internal.h"

#include <string.h>

/* -- memory ----------------------------------------------------------------------------------- */

static void count_bytes(Cuda *cuda, int64_t bytes) {
  const int64_t now = atomic_fetch_add(&cuda->live_bytes, bytes) + bytes;
  int64_t peak = atomic_load(&cuda->peak_bytes);
  while (now > peak && !atomic_compare_exchange_weak(&cuda->peak_bytes, &peak, now)) {
  }
}

/* Memory from the pool. When there is none, what the pool has kept goes back first. */
static BurnStatus take_memory(Cuda *cuda, uint64_t bytes, CudaAddress *out) {
  const CudaDriver *d = cuda->driver;
  int error = d->cuMemAllocFromPoolAsync(out, bytes, cuda->pool, cuda->stream);
  if (error == CUDA_OUT_OF_MEMORY) {
    atomic_fetch_add(&cuda->host_waits, 1);
    (void)d->cuStreamSynchronize(cuda->stream);
    (void)d->cuMemPoolTrimTo(cuda->pool, 0);
    error = d->cuMemAllocFromPoolAsync(out, bytes, cuda->pool, cuda->stream);
  }
  if (error != CUDA_OUT_OF_MEMORY) return burn__cuda_check(cuda, error, "allocate");
  size_t free = 0, total = 0;
  (void)d->cuMemGetInfo_v2(&free, &total);
  return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory for %llu bytes: %lld are in use by tensors, %zu of %zu are free",
                   (unsigned long long)bytes, (long long)atomic_load(&cuda->live_bytes), free, total);
}

static BurnStatus storage_new(Cuda *cuda, uint64_t bytes, CudaStorage **out) {
  CudaStorage *storage = cuda->host->allocate(sizeof *storage);
  BurnStatus status = BURN_OK;
  if (!storage) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a tensor");
  *storage = (CudaStorage){.address = 0, .bytes = bytes};
  atomic_init(&storage->references, 1u);
  if ((uint64_t)atomic_load(&cuda->live_bytes) + bytes > cuda->limit)
    status = CUDA_FAIL(cuda, OUT_OF_MEMORY, "%llu bytes more than the %lld in use are above limit=%llu",
                       (unsigned long long)bytes, (long long)atomic_load(&cuda->live_bytes),
                       (unsigned long long)cuda->limit);
  if (status == BURN_OK && bytes > 0) status = take_memory(cuda, bytes, &storage->address);
  if (status != BURN_OK) {
    cuda->host->free(storage, sizeof *storage);
    return status;
  }
  count_bytes(cuda, (int64_t)bytes);
  *out = storage;
  return BURN_OK;
}

/* The stream frees it after the work so far. */
static void storage_release(Cuda *cuda, CudaStorage *storage) {
  if (atomic_fetch_sub(&storage->references, 1u) != 1) return;
  if (storage->bytes > 0 && burn__cuda_enter(cuda) == BURN_OK) {
    (void)cuda->driver->cuMemFreeAsync(storage->address, cuda->stream);
    burn__cuda_leave(cuda);
  }
  count_bytes(cuda, -(int64_t)storage->bytes);
  cuda->host->free(storage, sizeof *storage);
}

/* -- tensors ---------------------------------------------------------------------------------- */

/* Takes the reference to the storage, also on failure. */
static BurnStatus tensor_new(Cuda *cuda, const BurnTensorDesc *desc, CudaStorage *storage, BurnPrimitive **out) {
  CudaTensor *x = cuda->host->allocate(sizeof *x);
  if (!x) {
    storage_release(cuda, storage);
    return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a tensor");
  }
  *x = (CudaTensor){.storage = storage};
  atomic_init(&x->references, 1u);
  memcpy(x->shape, desc->shape, desc->rank * sizeof *x->shape);
  x->header.struct_size = (uint32_t)sizeof x->header;
  x->header.owner = cuda->owner;
  x->header.dtype = desc->dtype;
  x->header.rank = desc->rank;
  x->header.shape = x->shape;
  x->header.strides = x->strides;
  x->header.buffer = storage;
  atomic_fetch_add(&cuda->live_tensors, 1);
  *out = &x->header;
  return BURN_OK;
}

BurnStatus burn__cuda_new(Cuda *cuda, const BurnTensorDesc *desc, BurnPrimitive **out) {
  CudaStorage *storage = NULL;
  const uint64_t bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  BurnStatus status = storage_new(cuda, bytes, &storage);
  if (status == BURN_OK) status = tensor_new(cuda, desc, storage, out);
  if (status != BURN_OK) return status;
  CudaTensor *x = cuda_tensor(*out);
  int64_t stride = 1;
  for (uint32_t axis = desc->rank; axis-- > 0; stride *= desc->shape[axis] > 0 ? desc->shape[axis] : 1)
    x->strides[axis] = stride;
  return BURN_OK;
}

BurnStatus burn__cuda_output(const CudaRun *run, uint32_t i) {
  return burn__cuda_new(run->cuda, &run->call->output_descs[i], &run->out[i]);
}

BurnStatus burn__cuda_view(Cuda *cuda, const BurnPrimitive *x, const BurnTensorDesc *desc, const int64_t *strides,
                           int64_t offset, BurnPrimitive **out) {
  CudaStorage *storage = cuda_const_tensor(x)->storage;
  atomic_fetch_add(&storage->references, 1u);
  const BurnStatus status = tensor_new(cuda, desc, storage, out);
  if (status != BURN_OK) return status;
  CudaTensor *view = cuda_tensor(*out);
  memcpy(view->strides, strides, desc->rank * sizeof *strides);
  view->header.byte_offset = x->byte_offset + offset * (int64_t)burn_dtype_bytes(x->dtype);
  return BURN_OK;
}

void burn__cuda_retain(BurnPrimitive *x) { atomic_fetch_add(&cuda_tensor(x)->references, 1u); }

void burn__cuda_release(Cuda *cuda, BurnPrimitive *x) {
  if (!x || atomic_fetch_sub(&cuda_tensor(x)->references, 1u) != 1) return;
  storage_release(cuda, cuda_tensor(x)->storage);
  atomic_fetch_sub(&cuda->live_tensors, 1);
  cuda->host->free(x, sizeof(CudaTensor));
}

bool burn__cuda_may_overwrite(const BurnOpCall *call, uint32_t i) {
  if (!call->inputs[i] || i >= 64 || !(call->donate >> i & 1u)) return false;
  const CudaTensor *x = cuda_const_tensor(call->inputs[i]);
  if (atomic_load(&x->references) != 1 || atomic_load(&x->storage->references) != 1) return false;
  for (uint32_t k = 0; k < call->input_count; k++)
    if (k != i && call->inputs[k] == call->inputs[i]) return false;
  return true;
}

bool burn__cuda_is_row_major(const BurnPrimitive *x) {
  int64_t stride = 1;
  for (uint32_t axis = x->rank; axis-- > 0; stride *= x->shape[axis])
    if (x->shape[axis] != 1 && x->strides[axis] != stride) return false;
  return true;
}

BurnStatus burn__cuda_row_major(Cuda *cuda, BurnPrimitive *x, BurnPrimitive **out) {
  if (burn__cuda_is_row_major(x)) {
    burn__cuda_retain(x);
    *out = x;
    return BURN_OK;
  }
  return burn__cuda_cast(cuda, x, x->dtype, out);
}

CudaAxis burn__cuda_axis(const BurnPrimitive *x, int64_t dim) {
  CudaAxis axis = {1, x->shape[dim], 1};
  for (uint32_t i = 0; i < x->rank; i++) {
    if ((int64_t)i < dim) axis.outer *= x->shape[i];
    if ((int64_t)i > dim) axis.inner *= x->shape[i];
  }
  return axis;
}
