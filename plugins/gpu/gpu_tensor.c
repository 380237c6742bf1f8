/* gpu_tensor.c - tensors: views of storages, references. */
#include "gpu.h"

#include <string.h>

/* -- tensors ---------------------------------------------------------------------------------- */

BurnStatus burn__gpu_storage_new(Gpu *gpu, uint64_t bytes, GpuStorage **out) {
  const BurnStatus status = gpu->backend->storage_new(gpu, bytes, out);
  if (status == BURN_OK) burn__gpu_touch_made(gpu, *out);
  return status;
}

/* Takes the reference to the storage, also on failure. */
static BurnStatus tensor_new(Gpu *gpu, const BurnTensorDesc *desc, GpuStorage *storage, BurnPrimitive **out) {
  GpuTensor *x = gpu->host->allocate(sizeof *x);
  if (!x) {
    burn__gpu_storage_release(gpu, storage);
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a tensor");
  }
  *x = (GpuTensor){.storage = storage};
  atomic_init(&x->references, 1u);
  memcpy(x->shape, desc->shape, desc->rank * sizeof *x->shape);
  x->header.struct_size = (uint32_t)sizeof x->header;
  x->header.owner = gpu->owner;
  x->header.dtype = desc->dtype;
  x->header.rank = desc->rank;
  x->header.shape = x->shape;
  x->header.strides = x->strides;
  x->header.buffer = storage;
  atomic_fetch_add(&gpu->live_tensors, 1);
  *out = &x->header;
  return BURN_OK;
}

BurnStatus burn__gpu_tensor_over(Gpu *gpu, const BurnTensorDesc *desc, const int64_t *strides, GpuStorage *storage,
                                 int64_t byte_offset, BurnPrimitive **out) {
  const BurnStatus status = tensor_new(gpu, desc, storage, out);
  if (status != BURN_OK) return status;
  memcpy(gpu_tensor(*out)->strides, strides, desc->rank * sizeof *strides);
  (*out)->byte_offset = byte_offset;
  return BURN_OK;
}

BurnStatus burn__gpu_new(Gpu *gpu, const BurnTensorDesc *desc, BurnPrimitive **out) {
  GpuStorage *storage = NULL;
  const uint64_t bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  BurnStatus status = burn__gpu_storage_new(gpu, bytes, &storage);
  if (status == BURN_OK) status = tensor_new(gpu, desc, storage, out);
  if (status != BURN_OK) return status;
  GpuTensor *x = gpu_tensor(*out);
  int64_t stride = 1;
  for (uint32_t axis = desc->rank; axis-- > 0; stride *= desc->shape[axis] > 0 ? desc->shape[axis] : 1)
    x->strides[axis] = stride;
  return BURN_OK;
}

BurnStatus burn__gpu_output(const GpuRun *run, uint32_t i) {
  return burn__gpu_new(run->gpu, &run->call->output_descs[i], &run->out[i]);
}

BurnStatus burn__gpu_view(Gpu *gpu, const BurnPrimitive *x, const BurnTensorDesc *desc, const int64_t *strides,
                          int64_t offset, BurnPrimitive **out) {
  GpuStorage *storage = gpu_const_tensor(x)->storage;
  atomic_fetch_add(&storage->references, 1u);
  return burn__gpu_tensor_over(gpu, desc, strides, storage,
                               x->byte_offset + offset * (int64_t)burn_dtype_bytes(x->dtype), out);
}

void burn__gpu_retain(BurnPrimitive *x) { atomic_fetch_add(&gpu_tensor(x)->references, 1u); }

void burn__gpu_release(Gpu *gpu, BurnPrimitive *x) {
  if (!x || atomic_fetch_sub(&gpu_tensor(x)->references, 1u) != 1) return;
  burn__gpu_storage_release(gpu, gpu_tensor(x)->storage);
  if (gpu_tensor(x)->is_stand_in) return;
  atomic_fetch_sub(&gpu->live_tensors, 1);
  gpu->host->free(x, sizeof(GpuTensor));
}

bool burn__gpu_may_overwrite(const BurnOpCall *call, uint32_t i) {
  if (!call->inputs[i] || i >= 64 || !(call->donate >> i & 1u)) return false;
  const GpuTensor *x = gpu_const_tensor(call->inputs[i]);
  if (x->storage->is_shared) return false;
  if (atomic_load(&x->references) != 1 || atomic_load(&x->storage->references) != 1) return false;
  for (uint32_t k = 0; k < call->input_count; k++)
    if (k != i && call->inputs[k] == call->inputs[i]) return false;
  burn__gpu_touch_writes(x->storage);
  return true;
}

bool burn__gpu_is_row_major(const BurnPrimitive *x) {
  int64_t stride = 1;
  for (uint32_t axis = x->rank; axis-- > 0; stride *= x->shape[axis])
    if (x->shape[axis] != 1 && x->strides[axis] != stride) return false;
  return true;
}

BurnStatus burn__gpu_row_major(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out) {
  if (burn__gpu_is_row_major(x)) {
    burn__gpu_retain(x);
    *out = x;
    return BURN_OK;
  }
  if (!burn__gpu_is_channels_last(x)) return burn__gpu_cast(gpu, x, x->dtype, out);
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnStatus status = burn__gpu_new(gpu, &desc, out);
  if (status == BURN_OK) status = burn__gpu_copy_channels(gpu, *out, x);
  if (status == BURN_OK || !*out) return status;
  burn__gpu_release(gpu, *out);
  *out = NULL;
  return status;
}

GpuAxis burn__gpu_axis(const BurnPrimitive *x, int64_t dim) {
  GpuAxis axis = {1, x->shape[dim], 1};
  for (uint32_t i = 0; i < x->rank; i++) {
    if ((int64_t)i < dim) axis.outer *= x->shape[i];
    if ((int64_t)i > dim) axis.inner *= x->shape[i];
  }
  return axis;
}
