/* cuda_tensor.c - tensors: views of storages, references. */
#include "cuda_internal.h"

#include <string.h>

/* -- tensors ---------------------------------------------------------------------------------- */

/* Takes the reference to the storage, also on failure. */
static BurnStatus tensor_new(Cuda *cuda, const BurnTensorDesc *desc, CudaStorage *storage, BurnPrimitive **out) {
  CudaTensor *x = cuda->host->allocate(sizeof *x);
  if (!x) {
    burn__cuda_storage_release(cuda, storage);
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

BurnStatus burn__cuda_tensor_over(Cuda *cuda, const BurnTensorDesc *desc, const int64_t *strides, CudaStorage *storage,
                                  int64_t byte_offset, BurnPrimitive **out) {
  const BurnStatus status = tensor_new(cuda, desc, storage, out);
  if (status != BURN_OK) return status;
  memcpy(cuda_tensor(*out)->strides, strides, desc->rank * sizeof *strides);
  (*out)->byte_offset = byte_offset;
  return BURN_OK;
}

BurnStatus burn__cuda_new(Cuda *cuda, const BurnTensorDesc *desc, BurnPrimitive **out) {
  CudaStorage *storage = NULL;
  const uint64_t bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  BurnStatus status = burn__cuda_storage_new(cuda, bytes, &storage);
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
  return burn__cuda_tensor_over(cuda, desc, strides, storage,
                                x->byte_offset + offset * (int64_t)burn_dtype_bytes(x->dtype), out);
}

void burn__cuda_retain(BurnPrimitive *x) { atomic_fetch_add(&cuda_tensor(x)->references, 1u); }

void burn__cuda_release(Cuda *cuda, BurnPrimitive *x) {
  if (!x || atomic_fetch_sub(&cuda_tensor(x)->references, 1u) != 1) return;
  burn__cuda_storage_release(cuda, cuda_tensor(x)->storage);
  if (cuda_tensor(x)->is_stand_in) return;
  atomic_fetch_sub(&cuda->live_tensors, 1);
  cuda->host->free(x, sizeof(CudaTensor));
}

bool burn__cuda_may_overwrite(const BurnOpCall *call, uint32_t i) {
  if (!call->inputs[i] || i >= 64 || !(call->donate >> i & 1u)) return false;
  const CudaTensor *x = cuda_const_tensor(call->inputs[i]);
  if (x->storage->is_shared) return false;
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
