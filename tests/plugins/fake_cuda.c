/* fake_cuda.c - a driver for machines without a GPU, named in BURN_CUDA_DRIVER: memory is the host's, copies copy, events
 * are done at once. Kernels are run where emulated_cuda/ has compiled them for the CPU; those that NVRTC has compiled are
 * not. The variable BURN_FAKE_CUDA_FAIL=N makes the N-th call of a function that can fail fail with error 999, or 2 where
 * it allocates; BURN_FAKE_CUDA_ARCHITECTURE=80 chooses another device; BURN_FAKE_CUDA_MEMORY and .._FILL:
 * emulated_memory.h; .._PEERS: fake_cuda.h. */
#include "fake_cuda.h"

#include "emulated_memory.h"
#include "emulated_run.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int calls; /* that could have failed */

int fake_calls(void) { return atomic_load(&calls); }

int fake_next_error(int error) {
  const char *failing = getenv("BURN_FAKE_CUDA_FAIL");
  const int number = atomic_fetch_add(&calls, 1) + 1;
  return failing && number == atoi(failing) ? error : CUDA_OK;
}

static char something;              /* what handles point at */
static _Thread_local void *current; /* context */

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
  const char *shared = getenv("BURN_FAKE_CUDA_SHARED");
  const int most_shared = shared ? atoi(shared) : architecture == 80 ? 163 << 10 : 227 << 10;
  (void)device;
  *value = attribute == CUDA_MAJOR        ? architecture / 10
           : attribute == CUDA_MINOR      ? architecture % 10
           : attribute == CUDA_MAX_SHARED ? most_shared
                                          : 4;
  return CUDA_OK;
}
FAKE(cuDeviceTotalMem_v2, (size_t * bytes, int device)) {
  (void)device;
  *bytes = emulated_memory_total();
  return CUDA_OK;
}
FAKE(cuDevicePrimaryCtxRetain, (void **context, int device)) {
  (void)device;
  FAILS(999);
  *context = &something;
  return CUDA_OK;
}
FAKE(cuCtxGetCurrent, (void **context)) {
  *context = current;
  return CUDA_OK;
}
FAKE(cuCtxSetCurrent, (void *context)) {
  current = context;
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
  *total = emulated_memory_total();
  *free = *total - emulated_memory_used();
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
static atomic_int pools_opened, peer_copies[2];

void fake_peers(int *opened, int *direct, int *detours) {
  *opened = atomic_load(&pools_opened);
  *direct = atomic_load(&peer_copies[1]);
  *detours = atomic_load(&peer_copies[0]);
}

FAKE(cuDeviceCanAccessPeer, (int *can, int device, int peer)) {
  const char *peers = getenv("BURN_FAKE_CUDA_PEERS");
  *can = device != peer && peers && atoi(peers) != 0;
  return CUDA_OK;
}
FAKE(cuMemPoolSetAccess, (void *pool, const CudaPoolAccess *access, size_t count)) {
  int can = 0;
  (void)pool;
  (void)cuDeviceCanAccessPeer(&can, access->location, access->location ^ 1);
  if (!can || count != 1 || access->location_type != 1 || access->flags != 3) return 101; /* invalid device */
  (void)atomic_fetch_add(&pools_opened, 1);
  return CUDA_OK;
}
FAKE(cuMemPoolTrimTo, (void *pool, size_t keep)) {
  (void)pool, (void)keep;
  return CUDA_OK;
}
/* Zeros unless something else is asked for: what a kernel that is not run would have written is 0. */
static int allocate(CudaAddress *out, size_t bytes, void *stream) {
  FAILS(CUDA_OUT_OF_MEMORY);
  if (fake_is_capturing(stream)) return fake_capture_allocation(stream, bytes, out);
  void *memory = emulated_allocate(bytes);
  *out = (CudaAddress)(uintptr_t)memory;
  return memory ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuMemAllocFromPoolAsync, (CudaAddress * out, size_t bytes, void *pool, void *stream)) {
  (void)pool;
  return allocate(out, bytes, stream);
}
FAKE(cuMemAllocAsync, (CudaAddress * out, size_t bytes, void *stream)) { return allocate(out, bytes, stream); }
FAKE(cuMemAlloc_v2, (CudaAddress * out, size_t bytes)) { return allocate(out, bytes, NULL); }
FAKE(cuMemFree_v2, (CudaAddress memory)) {
  return memory == 0 || emulated_free((void *)(uintptr_t)memory) ? CUDA_OK : EMULATED_ILLEGAL_ADDRESS;
}
FAKE(cuMemFreeAsync, (CudaAddress memory, void *stream)) {
  if (!fake_is_capturing(stream)) return cuMemFree_v2(memory);
  return fake_capture_free(stream, memory);
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
/* -- copies ----------------------------------------------------------------------------------- */

typedef struct Copy {
  void *to;
  const void *from;
  size_t bytes;
} Copy;

static int run_copy(const void *arguments) {
  const Copy *copy = arguments;
  memmove(copy->to, copy->from, copy->bytes);
  return CUDA_OK;
}

static int copy(void *to, const void *from, size_t bytes, void *stream) {
  const Copy arguments = {to, from, bytes};
  FAILS(999);
  return fake_submit(stream, run_copy, &arguments, sizeof arguments);
}

static void *pointer(CudaAddress address) { return (void *)(uintptr_t)address; }

FAKE(cuMemcpyHtoDAsync_v2, (CudaAddress to, const void *from, size_t bytes, void *stream)) {
  return copy(pointer(to), from, bytes, stream);
}
FAKE(cuMemcpyDtoHAsync_v2, (void *to, CudaAddress from, size_t bytes, void *stream)) {
  return copy(to, pointer(from), bytes, stream);
}
FAKE(cuMemcpyDtoDAsync_v2, (CudaAddress to, CudaAddress from, size_t bytes, void *stream)) {
  return copy(pointer(to), pointer(from), bytes, stream);
}
FAKE(cuMemcpyAsync, (CudaAddress to, CudaAddress from, size_t bytes, void *stream)) {
  return copy(pointer(to), pointer(from), bytes, stream);
}
FAKE(cuMemcpyPeerAsync,
     (CudaAddress to, void *to_context, CudaAddress from, void *from_context, size_t bytes, void *stream)) {
  (void)to_context, (void)from_context;
  (void)atomic_fetch_add(&peer_copies[atomic_load(&pools_opened) > 0], 1);
  return copy(pointer(to), pointer(from), bytes, stream);
}

typedef struct Fill {
  unsigned *to;
  size_t count;
  unsigned value, bytes_each;
} Fill;

static int run_fill(const void *arguments) {
  const Fill *fill = arguments;
  if (fill->bytes_each == 1) memset(fill->to, (int)fill->value, fill->count);
  for (size_t i = 0; fill->bytes_each == 4 && i < fill->count; i++) fill->to[i] = fill->value;
  return CUDA_OK;
}

FAKE(cuMemsetD8Async, (CudaAddress to, unsigned char value, size_t count, void *stream)) {
  const Fill fill = {pointer(to), count, value, 1};
  FAILS(999);
  return fake_submit(stream, run_fill, &fill, sizeof fill);
}
FAKE(cuMemsetD32Async, (CudaAddress to, unsigned value, size_t count, void *stream)) {
  const Fill fill = {pointer(to), count, value, 4};
  FAILS(999);
  return fake_submit(stream, run_fill, &fill, sizeof fill);
}

/* -- events ----------------------------------------------------------------------------------- */

/* When it was recorded. */
typedef struct Event {
  struct timespec time;
} Event;

FAKE(cuEventCreate, (void **event, unsigned flags)) {
  (void)flags;
  FAILS(999);
  *event = calloc(1, sizeof(Event));
  return *event ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuEventDestroy_v2, (void *event)) {
  free(event);
  return CUDA_OK;
}
FAKE(cuEventRecord, (void *event, void *stream)) {
  Event *e = event;
  (void)stream;
  FAILS(999);
  (void)clock_gettime(CLOCK_MONOTONIC, &e->time);
  return CUDA_OK;
}
/* With BURN_FAKE_CUDA_CLOCK each time is longer than all before, so that a choice by time takes the first, or shorter. */
FAKE(cuEventElapsedTime, (float *milliseconds, void *from, void *to)) {
  static atomic_int times;
  const struct timespec *a = &((Event *)from)->time, *b = &((Event *)to)->time;
  *milliseconds = (float)(1e3 * (double)(b->tv_sec - a->tv_sec) + 1e-6 * (double)(b->tv_nsec - a->tv_nsec));
  const char *clock = getenv("BURN_FAKE_CUDA_CLOCK");
  if (clock) *milliseconds = (float)pow(strcmp(clock, "slow") == 0 ? 1.1 : 1 / 1.1, atomic_fetch_add(&times, 1) % 800);
  return CUDA_OK;
}
FAKE(cuEventElapsedTime_v2, (float *milliseconds, void *from, void *to)) {
  return cuEventElapsedTime(milliseconds, from, to);
}
FAKE(cuEventQuery, (void *event)) {
  (void)event;
  return CUDA_OK;
}
FAKE(cuEventSynchronize, (void *event)) {
  (void)event;
  return CUDA_OK;
}

/* -- kernels ---------------------------------------------------------------------------------- */

/* `library` NULL: an image that this CPU cannot run. */
typedef struct Module {
  EmulatedLibrary *library;
} Module;

FAKE(cuModuleLoadData, (void **module, const void *image)) {
  FAILS(999);
  Module *made = calloc(1, sizeof *made);
  if (!made) return CUDA_OUT_OF_MEMORY;
  const int error = emulated_is_image(image) ? emulated_load(&made->library, image) : CUDA_OK;
  if (error == CUDA_OK) *module = made;
  if (error != CUDA_OK) free(made);
  return error;
}
FAKE(cuModuleUnload, (void *module)) {
  Module *m = module;
  if (m->library) emulated_unload(m->library);
  free(m);
  return CUDA_OK;
}
FAKE(cuModuleGetFunction, (void **function, void *module, const char *name)) {
  const Module *m = module;
  EmulatedFunction *found = NULL;
  FAILS(999);
  const int error = m->library ? emulated_find(m->library, name, &found) : CUDA_OK;
  *function = m->library ? (void *)found : &something;
  return error;
}
FAKE(cuFuncSetAttribute, (void *function, int attribute, int value)) {
  EmulatedFunction *f = function;
  if (function != &something && attribute == CUDA_MAX_DYNAMIC_SHARED) f->dynamic_most = (size_t)value;
  return CUDA_OK;
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, void *function, int threads, size_t shared_bytes)) {
  (void)function, (void)shared_bytes;
  *blocks = threads > 0 ? 2048 / threads : 0;
  return CUDA_OK;
}
FAKE(cuLaunchKernel,
     (void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned threads_x, unsigned threads_y,
      unsigned threads_z, unsigned shared_bytes, void *stream, void **parameters, void **extra)) {
  FAILS(999);
  if (function == &something) return CUDA_OK;
  const EmulatedLaunch launch = {
      function, {groups_x, groups_y, groups_z}, {threads_x, threads_y, threads_z}, shared_bytes};
  return fake_launch(&launch, stream, parameters, extra);
}

/* CUlaunchConfig; its attributes are about the order of kernels, which here is always kept. */
typedef struct LaunchConfig {
  unsigned groups[3], threads[3], shared_bytes;
  void *stream, *attributes;
  unsigned attribute_count;
} LaunchConfig;

FAKE(cuLaunchKernelEx, (const LaunchConfig *c, void *function, void **parameters, void **extra)) {
  return cuLaunchKernel(function, c->groups[0], c->groups[1], c->groups[2], c->threads[0], c->threads[1], c->threads[2],
                        c->shared_bytes, c->stream, parameters, extra);
}
FAKE(cuGetErrorString, (int error, const char **text)) {
  *text = error == CUDA_OUT_OF_MEMORY ? "out of memory"
          : error == 999              ? "a fault that was asked for"
                                      : emulated_problem();
  return CUDA_OK;
}
