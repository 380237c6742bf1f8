/* fake_cuda.c - a driver for machines without a GPU, named in BURN_CUDA_DRIVER: memory is the host's, copies copy, events are done at once and
 * kernels are not run. With NVRTC there, every kernel that a program asks for is compiled all the same. The variable
 * BURN_FAKE_CUDA_FAIL=N makes the N-th call of a function that can fail fail with error 999, or 2 where it allocates;
 * BURN_FAKE_CUDA_ARCHITECTURE=80 chooses another device. */
#include "cuda_driver.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next error: that of the N-th call, 0 for all others. */
static int next_error(int error) {
  static atomic_int calls;
  const char *failing = getenv("BURN_FAKE_CUDA_FAIL");
  return failing && atomic_fetch_add(&calls, 1) + 1 == atoi(failing) ? error : CUDA_OK;
}

/* Each function with the parameters that CUDA_DRIVER_FUNCTIONS gives it. */
#define FAKE(name, parameters) \
  int name parameters;         \
  int name parameters
#define FAILS(error)                      \
  do {                                    \
    const int failed = next_error(error); \
    if (failed != CUDA_OK) return failed; \
  } while (0)

static char something; /* what handles point at */

FAKE(cuInit, (unsigned flags)) {
  (void)flags;
  return CUDA_OK;
}
FAKE(cuDriverGetVersion, (int *version)) {
  *version = 13000;
  return CUDA_OK;
}
FAKE(cuDeviceGetCount, (int *count)) {
  *count = 2;
  return CUDA_OK;
}
FAKE(cuDeviceGet, (int *device, int ordinal)) {
  *device = ordinal;
  return CUDA_OK;
}
FAKE(cuDeviceGetName, (char *name, int bytes, int device)) {
  (void)snprintf(name, (size_t)bytes, "fake device %d", device);
  return CUDA_OK;
}
FAKE(cuDeviceGetUuid_v2, (unsigned char *uuid, int device)) {
  memset(uuid, device, 16);
  return CUDA_OK;
}
FAKE(cuDeviceGetPCIBusId, (char *text, int bytes, int device)) {
  (void)snprintf(text, (size_t)bytes, "0000:0%d:00.0", device);
  return CUDA_OK;
}
FAKE(cuDeviceGetAttribute, (int *value, int attribute, int device)) {
  const char *chosen = getenv("BURN_FAKE_CUDA_ARCHITECTURE");
  const int architecture = chosen ? atoi(chosen) : 90;
  (void)device;
  *value = attribute == CUDA_MAJOR ? architecture / 10 : attribute == CUDA_MINOR ? architecture % 10 : 4;
  return CUDA_OK;
}
FAKE(cuDeviceTotalMem_v2, (size_t * bytes, int device)) {
  (void)device;
  *bytes = (size_t)1 << 30;
  return CUDA_OK;
}
FAKE(cuDevicePrimaryCtxRetain, (void **context, int device)) {
  (void)device;
  FAILS(999);
  *context = &something;
  return CUDA_OK;
}
FAKE(cuCtxPushCurrent_v2, (void *context)) {
  (void)context;
  return CUDA_OK;
}
FAKE(cuCtxPopCurrent_v2, (void **context)) {
  *context = &something;
  return CUDA_OK;
}
FAKE(cuMemGetInfo_v2, (size_t * free, size_t *total)) {
  *free = *total = (size_t)1 << 30;
  return CUDA_OK;
}
FAKE(cuMemPoolCreate, (void **pool, const CudaPoolProperties *properties)) {
  (void)properties;
  FAILS(999);
  *pool = &something;
  return CUDA_OK;
}
FAKE(cuMemPoolDestroy, (void *pool)) {
  (void)pool;
  return CUDA_OK;
}
FAKE(cuMemPoolSetAttribute, (void *pool, int attribute, void *value)) {
  (void)pool, (void)attribute, (void)value;
  FAILS(999);
  return CUDA_OK;
}
FAKE(cuMemPoolGetAttribute, (void *pool, int attribute, void *value)) {
  (void)pool, (void)attribute;
  *(uint64_t *)value = 0;
  return CUDA_OK;
}
FAKE(cuMemPoolTrimTo, (void *pool, size_t keep)) {
  (void)pool, (void)keep;
  return CUDA_OK;
}
/* Cleared: what a kernel that is not run would have written is 0. */
FAKE(cuMemAllocFromPoolAsync, (CudaAddress * out, size_t bytes, void *pool, void *stream)) {
  (void)pool, (void)stream;
  FAILS(CUDA_OUT_OF_MEMORY);
  void *memory = calloc(1, bytes);
  *out = (CudaAddress)(uintptr_t)memory;
  return memory ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuMemFreeAsync, (CudaAddress memory, void *stream)) {
  (void)stream;
  free((void *)(uintptr_t)memory);
  return CUDA_OK;
}
FAKE(cuMemHostAlloc, (void **out, size_t bytes, unsigned flags)) {
  (void)flags;
  FAILS(CUDA_OUT_OF_MEMORY);
  *out = malloc(bytes);
  return *out ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuMemFreeHost, (void *memory)) {
  free(memory);
  return CUDA_OK;
}
FAKE(cuMemHostGetDevicePointer_v2, (CudaAddress * out, void *memory, unsigned flags)) {
  (void)flags;
  FAILS(999);
  *out = (CudaAddress)(uintptr_t)memory;
  return CUDA_OK;
}
FAKE(cuMemcpyHtoDAsync_v2, (CudaAddress to, const void *from, size_t bytes, void *stream)) {
  (void)stream;
  FAILS(999);
  memcpy((void *)(uintptr_t)to, from, bytes);
  return CUDA_OK;
}
FAKE(cuMemcpyDtoHAsync_v2, (void *to, CudaAddress from, size_t bytes, void *stream)) {
  (void)stream;
  FAILS(999);
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return CUDA_OK;
}
FAKE(cuMemcpyPeerAsync,
     (CudaAddress to, void *to_context, CudaAddress from, void *from_context, size_t bytes, void *stream)) {
  (void)to_context, (void)from_context, (void)stream;
  FAILS(999);
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return CUDA_OK;
}
FAKE(cuStreamCreate, (void **stream, unsigned flags)) {
  (void)flags;
  FAILS(999);
  *stream = &something;
  return CUDA_OK;
}
FAKE(cuStreamDestroy_v2, (void *stream)) {
  (void)stream;
  return CUDA_OK;
}
FAKE(cuStreamSynchronize, (void *stream)) {
  (void)stream;
  FAILS(999);
  return CUDA_OK;
}
FAKE(cuStreamWaitEvent, (void *stream, void *event, unsigned flags)) {
  (void)stream, (void)event, (void)flags;
  FAILS(999);
  return CUDA_OK;
}
FAKE(cuEventCreate, (void **event, unsigned flags)) {
  (void)flags;
  FAILS(999);
  *event = malloc(1);
  return *event ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuEventDestroy_v2, (void *event)) {
  free(event);
  return CUDA_OK;
}
FAKE(cuEventRecord, (void *event, void *stream)) {
  (void)event, (void)stream;
  FAILS(999);
  return CUDA_OK;
}
FAKE(cuEventQuery, (void *event)) {
  (void)event;
  return CUDA_OK;
}
FAKE(cuEventSynchronize, (void *event)) {
  (void)event;
  return CUDA_OK;
}
FAKE(cuModuleLoadData, (void **module, const void *image)) {
  (void)image;
  FAILS(999);
  *module = malloc(1);
  return *module ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuModuleUnload, (void *module)) {
  free(module);
  return CUDA_OK;
}
FAKE(cuModuleGetFunction, (void **function, void *module, const char *name)) {
  (void)module, (void)name;
  FAILS(999);
  *function = &something;
  return CUDA_OK;
}
FAKE(cuFuncSetAttribute, (void *function, int attribute, int value)) {
  (void)function, (void)attribute, (void)value;
  return CUDA_OK;
}
FAKE(cuLaunchKernel,
     (void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned threads_x, unsigned threads_y,
      unsigned threads_z, unsigned shared_bytes, void *stream, void **parameters, void **extra)) {
  (void)function, (void)groups_x, (void)groups_y, (void)groups_z, (void)threads_x, (void)threads_y, (void)threads_z;
  (void)shared_bytes, (void)stream, (void)parameters, (void)extra;
  FAILS(999);
  return CUDA_OK;
}
FAKE(cuGetErrorString, (int error, const char **text)) {
  *text = error == CUDA_OUT_OF_MEMORY ? "out of memory" : "a fault that was asked for";
  return CUDA_OK;
}
