/* cuda_pack.c - kernels of packs on this device: CUDA C, PTX and cubins, made ready and started in the queue. */
#include "cuda_internal.h"

#include <stdio.h>
#include <string.h>

/* What is behind a BurnLoadedKernel. */
typedef struct PackKernel {
  void *module, *function;
} PackKernel;

int32_t BURN_API_CALL burn__cuda_pack_takes_code(void *self, const BurnDeviceCode *code) {
  const Cuda *cuda = self;
  char architecture[16];
  if (code->format != BURN_CODE_CUDA_C && code->format != BURN_CODE_PTX && code->format != BURN_CODE_CUBIN) return 0;
  (void)snprintf(architecture, sizeof architecture, "sm_%d", cuda->architecture);
  return !code->architecture || strcmp(code->architecture, architecture) == 0;
}

/* The code as an image that the driver takes: compiled, or a copy with a zero at its end, as PTX wants it. */
static BurnStatus image_of(Cuda *cuda, const BurnDeviceCode *code, char **image, uint64_t *bytes) {
  char *text = cuda->gpu.host->allocate(code->bytes + 1);
  if (!text) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory for the code of a kernel");
  memcpy(text, code->data, (size_t)code->bytes);
  text[code->bytes] = '\0';
  if (code->format != BURN_CODE_CUDA_C) {
    *image = text;
    *bytes = code->bytes + 1;
    return BURN_OK;
  }
  const BurnStatus status = burn__cuda_compile(cuda->gpu.host, cuda->nvrtc, cuda->architecture, text, image, bytes);
  cuda->gpu.host->free(text, code->bytes + 1);
  return status;
}

static BurnStatus load(Cuda *cuda, const char *image, const char *entry, PackKernel *kernel) {
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  int error = cuda->driver->cuModuleLoadData(&kernel->module, image);
  if (error != CUDA_OK)
    status =
        CUDA_FAIL(cuda, INVALID_ARGUMENT, "CUDA refuses the code: error %d, %s", error, burn__cuda_error_text(error));
  if (status == BURN_OK) error = cuda->driver->cuModuleGetFunction(&kernel->function, kernel->module, entry);
  if (status == BURN_OK && error != CUDA_OK) {
    status = CUDA_FAIL(cuda, NOT_FOUND, "the code has no function '%s': error %d, %s", entry, error,
                       burn__cuda_error_text(error));
    (void)cuda->driver->cuModuleUnload(kernel->module);
  }
  burn__gpu_leave(&cuda->gpu);
  return status;
}

BurnStatus BURN_API_CALL burn__cuda_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                              BurnLoadedKernel **out) {
  Cuda *cuda = self;
  char *image = NULL;
  uint64_t bytes = 0;
  BurnStatus status = image_of(cuda, code, &image, &bytes);
  if (status != BURN_OK) return status;
  PackKernel *kernel = cuda->gpu.host->allocate(sizeof *kernel);
  if (!kernel) status = CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory for a kernel");
  if (status == BURN_OK) status = load(cuda, image, entry, kernel);
  cuda->gpu.host->free(image, bytes);
  if (status == BURN_OK) *out = (BurnLoadedKernel *)(void *)kernel;
  if (status != BURN_OK) cuda->gpu.host->free(kernel, sizeof *kernel);
  return status;
}

void BURN_API_CALL burn__cuda_pack_unload(void *self, BurnLoadedKernel *loaded) {
  Cuda *cuda = self;
  PackKernel *kernel = (PackKernel *)(void *)loaded;
  if (burn__gpu_enter(&cuda->gpu) == BURN_OK) {
    (void)burn__gpu_wait(&cuda->gpu); /* what runs needs its code */
    (void)cuda->driver->cuModuleUnload(kernel->module);
    burn__gpu_leave(&cuda->gpu);
  }
  cuda->gpu.host->free(kernel, sizeof *kernel);
}

enum { SHARED_BYTES_AT_LEAST = 48 * 1024 };

BurnStatus burn__cuda_pack_start(Gpu *gpu, BurnLoadedKernel *loaded, const BurnDeviceLaunch *launch,
                                 const uint64_t *words, size_t bytes) {
  const Cuda *cuda = cuda_of(gpu);
  const PackKernel *kernel = (const PackKernel *)(const void *)loaded;
  const void *const extra[] = {(void *)1, words, (void *)2, &bytes, NULL};
  const uint32_t *g = launch->groups, *t = launch->threads;
  int error = CUDA_OK;
  if (launch->shared_bytes > SHARED_BYTES_AT_LEAST)
    error = cuda->driver->cuFuncSetAttribute(kernel->function, CUDA_MAX_DYNAMIC_SHARED, (int)launch->shared_bytes);
  if (error == CUDA_OK)
    error = cuda->driver->cuLaunchKernel(kernel->function, g[0], g[1], g[2], t[0], t[1], t[2], launch->shared_bytes,
                                         cuda->stream, NULL, (void **)(uintptr_t)extra);
  if (error == CUDA_OK) return BURN_OK;
  return CUDA_FAIL(cuda, INVALID_ARGUMENT,
                   "CUDA refuses to start %u x %u x %u groups of %u x %u x %u threads with %u bytes of shared memory: "
                   "error %d, %s",
                   g[0], g[1], g[2], t[0], t[1], t[2], launch->shared_bytes, error, burn__cuda_error_text(error));
}
