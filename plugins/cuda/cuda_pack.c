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
  char *text = cuda->host->allocate(code->bytes + 1);
  if (!text) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory for the code of a kernel");
  memcpy(text, code->data, (size_t)code->bytes);
  text[code->bytes] = '\0';
  if (code->format != BURN_CODE_CUDA_C) {
    *image = text;
    *bytes = code->bytes + 1;
    return BURN_OK;
  }
  const BurnStatus status = burn__cuda_compile(cuda->host, cuda->nvrtc, cuda->architecture, text, image, bytes);
  cuda->host->free(text, code->bytes + 1);
  return status;
}

static BurnStatus load(Cuda *cuda, const char *image, const char *entry, PackKernel *kernel) {
  BurnStatus status = burn__gpu_enter(cuda);
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
  burn__gpu_leave(cuda);
  return status;
}

BurnStatus BURN_API_CALL burn__cuda_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                              BurnLoadedKernel **out) {
  Cuda *cuda = self;
  char *image = NULL;
  uint64_t bytes = 0;
  BurnStatus status = image_of(cuda, code, &image, &bytes);
  if (status != BURN_OK) return status;
  PackKernel *kernel = cuda->host->allocate(sizeof *kernel);
  if (!kernel) status = CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory for a kernel");
  if (status == BURN_OK) status = load(cuda, image, entry, kernel);
  cuda->host->free(image, bytes);
  if (status == BURN_OK) *out = (BurnLoadedKernel *)(void *)kernel;
  if (status != BURN_OK) cuda->host->free(kernel, sizeof *kernel);
  return status;
}

void BURN_API_CALL burn__cuda_pack_unload(void *self, BurnLoadedKernel *loaded) {
  Cuda *cuda = self;
  PackKernel *kernel = (PackKernel *)(void *)loaded;
  if (burn__gpu_enter(cuda) == BURN_OK) {
    (void)burn__gpu_wait(cuda); /* what runs needs its code */
    (void)cuda->driver->cuModuleUnload(kernel->module);
    burn__gpu_leave(cuda);
  }
  cuda->host->free(kernel, sizeof *kernel);
}

/* The arguments as they lie in the memory of the parameters, and the tensors that they name. */
typedef struct Arguments {
  uint64_t words[BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS + BURN_MAX_PARAMETER_BYTES / 8];
  uint32_t count;
  BurnPrimitive *rows[BURN_MAX_FIXED_INPUTS], *out[BURN_MAX_OUTPUTS];
} Arguments;

static BurnStatus add_tensors(Cuda *cuda, const BurnOpCall *call, const BurnDeviceLaunch *launch, Arguments *a) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->input_count && status == BURN_OK; i++) {
    BurnPrimitive *x = call->inputs[i];
    if (x && launch->row_major >> i & 1u) status = burn__gpu_row_major(cuda, x, &a->rows[i]);
    if (a->rows[i]) x = a->rows[i];
    a->words[a->count++] = x ? gpu_address(x) : 0;
  }
  for (uint32_t i = 0; i < call->output_count && status == BURN_OK; i++) {
    status = burn__gpu_new(cuda, &call->output_descs[i], &a->out[i]);
    if (status == BURN_OK) a->words[a->count++] = gpu_address(a->out[i]);
  }
  return status;
}

enum { SHARED_BYTES_AT_LEAST = 48 * 1024 };

static BurnStatus start(Cuda *cuda, const PackKernel *kernel, const BurnDeviceLaunch *launch, Arguments *a) {
  size_t bytes = 8 * (size_t)a->count + launch->parameter_bytes;
  const void *const extra[] = {(void *)1, a->words, (void *)2, &bytes, NULL};
  const uint32_t *g = launch->groups, *t = launch->threads;
  int error = CUDA_OK;
  if (g[0] == 0 || g[1] == 0 || g[2] == 0) return BURN_OK;
  memcpy(a->words + a->count, launch->parameters, launch->parameter_bytes);
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

BurnStatus BURN_API_CALL burn__cuda_pack_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                                const BurnDeviceLaunch *launch) {
  Cuda *cuda = self;
  Arguments a = {.count = 0};
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = add_tensors(cuda, call, launch, &a);
  if (status == BURN_OK) status = start(cuda, (const PackKernel *)(void *)kernel, launch, &a);
  for (uint32_t i = 0; i < BURN_MAX_FIXED_INPUTS; i++) burn__gpu_release(cuda, a.rows[i]);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status == BURN_OK) call->outputs[i] = a.out[i];
    if (status != BURN_OK) burn__gpu_release(cuda, a.out[i]);
  }
  burn__gpu_leave(cuda);
  return status;
}
