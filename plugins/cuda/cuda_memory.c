/* cuda_memory.c - storages of plugins/gpu (gpu_memory.c) on this device: segments from the driver's pool, and what
 * recordings and other libraries do with them. */
#include "cuda_internal.h"

/* -- segments --------------------------------------------------------------------------------- */

/* What is being recorded must not contain an allocation: it is made in another stream, and waited for. */
static BurnStatus take(Gpu *gpu, uint64_t bytes, GpuAddress *address, void **memory) {
  Cuda *cuda = cuda_of(gpu);
  const CudaDriver *d = cuda->driver;
  void *stream = burn__cuda_is_recording(cuda) ? cuda->side_stream : cuda->stream;
  int error = d->cuMemAllocFromPoolAsync(address, bytes, cuda->pool, stream);
  (void)memory;
  if (error == CUDA_OK && burn__cuda_is_recording(cuda)) error = d->cuStreamSynchronize(stream);
  if (error == CUDA_OK) return BURN_OK;
  *address = 0;
  return error == CUDA_OUT_OF_MEMORY ? BURN_OK : burn__cuda_check(cuda, error, "allocate");
}

static void give_back(Gpu *gpu, GpuAddress address, void *memory) {
  const Cuda *cuda = cuda_of(gpu);
  (void)memory;
  (void)cuda->driver->cuMemFreeAsync(address, cuda->stream);
}

/* The driver's pool keeps nothing. */
static BurnStatus trim(Gpu *gpu) {
  Cuda *cuda = cuda_of(gpu);
  int error = cuda->driver->cuStreamSynchronize(cuda->stream);
  if (error == CUDA_OK) error = cuda->driver->cuMemPoolTrimTo(cuda->pool, 0);
  return burn__cuda_check(cuda, error, "trim");
}

static void room(Gpu *gpu, uint64_t *free_bytes, uint64_t *all_bytes) {
  size_t free = 0, total = 0;
  (void)cuda_of(gpu)->driver->cuMemGetInfo_v2(&free, &total);
  *free_bytes = free;
  *all_bytes = total;
}

static BurnStatus fill(Gpu *gpu, const GpuStorage *storage, uint64_t bytes, unsigned char byte) {
  Cuda *cuda = cuda_of(gpu);
  const int error = cuda->driver->cuMemsetD8Async(storage->address, byte, (size_t)bytes, cuda->stream);
  return burn__cuda_check(cuda, error, "fill memory");
}

const GpuSegments burn__cuda_segments = {
    .take = take, .give_back = give_back, .trim = trim, .room = room, .fill = fill};

/* -- storages --------------------------------------------------------------------------------- */

void burn__cuda_storage_release(Gpu *gpu, GpuStorage *storage) {
  if (!burn__gpu_memory_drop(storage)) return;
  if (storage->is_shared) burn__cuda_unshare(cuda_of(gpu), storage);
  burn__gpu_memory_put(gpu, storage);
}
