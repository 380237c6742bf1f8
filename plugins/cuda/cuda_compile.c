/* cuda_compile.c - kernels of plugins/gpu on this device: NVRTC, the images on disk, modules, their start. */
#include "cuda_image_cache.h"
#include "cuda_internal.h"

#include <stdio.h>

/* -- NVRTC ------------------------------------------------------------------------------------ */

static BurnStatus complain(const BurnHost *host, const CudaNvrtc *nvrtc, void *program) {
  char log[500] = "no words of the compiler";
  size_t bytes = 0;
  char *text = nvrtc->nvrtcGetProgramLogSize(program, &bytes) == CUDA_OK && bytes > 1 ? host->allocate(bytes) : NULL;
  if (text && nvrtc->nvrtcGetProgramLog(program, text) == CUDA_OK) (void)snprintf(log, sizeof log, "%s", text);
  host->free(text, bytes);
  return BURN_COMMON_FAIL(host, INTERNAL, "cuda", "NVRTC refuses a kernel: %s", log);
}

static BurnStatus take_image(const BurnHost *host, const CudaNvrtc *nvrtc, void *program, char **image,
                             uint64_t *bytes) {
  size_t size = 0;
  if (nvrtc->nvrtcGetCUBINSize(program, &size) != CUDA_OK || size == 0)
    return BURN_COMMON_FAIL(host, INTERNAL, "cuda", "NVRTC gives no image");
  char *data = host->allocate(size);
  if (!data) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "cuda", "no memory for a kernel of %zu bytes", size);
  if (nvrtc->nvrtcGetCUBIN(program, data) != CUDA_OK) {
    host->free(data, size);
    return BURN_COMMON_FAIL(host, INTERNAL, "cuda", "NVRTC gives no image");
  }
  *image = data;
  *bytes = size;
  return BURN_OK;
}

/* A product is rounded before it is added, as everywhere (plugins/common/README.md). */
BurnStatus burn__cuda_compile(const BurnHost *host, const CudaNvrtc *nvrtc, int architecture, const char *source,
                              char **image, uint64_t *bytes) {
  char target[40];
  (void)snprintf(target, sizeof target, "--gpu-architecture=sm_%d", architecture);
  const char *const options[] = {target, "-fmad=false", "--std=c++17"};
  void *program = NULL;
  if (nvrtc->nvrtcCreateProgram(&program, source, "burn.cu", 0, NULL, NULL) != CUDA_OK)
    return BURN_COMMON_FAIL(host, INTERNAL, "cuda", "NVRTC makes no program");
  BurnStatus status = BURN_OK;
  if (nvrtc->nvrtcCompileProgram(program, 3, options) != CUDA_OK) status = complain(host, nvrtc, program);
  if (status == BURN_OK) status = take_image(host, nvrtc, program, image, bytes);
  (void)nvrtc->nvrtcDestroyProgram(&program);
  return status;
}

/* -- modules ---------------------------------------------------------------------------------- */

static BurnStatus image_of(Cuda *cuda, const char *source, char **image, uint64_t *bytes) {
  const BurnHost *host = cuda->gpu.host;
  CudaImageName name;
  burn__cuda_image_name(cuda->nvrtc, cuda->architecture, source, &name);
  if (burn__cuda_image_load(host, &name, image, bytes)) return BURN_OK;
  const BurnStatus status = burn__cuda_compile(host, cuda->nvrtc, cuda->architecture, source, image, bytes);
  if (status == BURN_OK) burn__cuda_image_save(&name, *image, *bytes);
  return status;
}

BurnStatus burn__cuda_load(Gpu *gpu, const char *source, GpuModule **out) {
  Cuda *cuda = cuda_of(gpu);
  uint64_t bytes = 0;
  char *image = NULL;
  void *module = NULL;
  BurnStatus status = image_of(cuda, source, &image, &bytes);
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuModuleLoadData(&module, image), "load a kernel");
  gpu->host->free(image, bytes);
  if (status == BURN_OK) *out = module;
  return status;
}

BurnStatus burn__cuda_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out) {
  Cuda *cuda = cuda_of(gpu);
  void *function = NULL;
  const BurnStatus status =
      burn__cuda_check(cuda, cuda->driver->cuModuleGetFunction(&function, module, name), "find a kernel");
  if (status == BURN_OK) *out = function;
  return status;
}

void burn__cuda_unload(Gpu *gpu, GpuModule *module) { (void)cuda_of(gpu)->driver->cuModuleUnload(module); }

static BurnStatus launch(Cuda *cuda, GpuFunction *function, const GpuLaunch *how, const void *parameters,
                         size_t bytes) {
  size_t size = bytes;
  /* CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE */
  const void *const extra[] = {(void *)1, parameters, (void *)2, &size, NULL};
  const int error = cuda->driver->cuLaunchKernel(function, (uint32_t)how->groups, 1, 1, how->threads, 1, 1,
                                                 how->shared_bytes, cuda->stream, NULL, (void **)(uintptr_t)extra);
  return burn__cuda_check(cuda, error, "start a kernel");
}

BurnStatus burn__cuda_launch(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads, const void *parameters,
                             size_t bytes) {
  const GpuLaunch how = {groups, threads, 0};
  return launch(cuda_of(gpu), function, &how, parameters, bytes);
}

BurnStatus burn__cuda_launch_sharing(Gpu *gpu, GpuFunction *function, const GpuLaunch *how, const void *parameters,
                                     size_t bytes) {
  Cuda *cuda = cuda_of(gpu);
  const int error = cuda->driver->cuFuncSetAttribute(function, CUDA_MAX_DYNAMIC_SHARED, (int)how->shared_bytes);
  if (error != CUDA_OK) return burn__cuda_check(cuda, error, "let a kernel share memory");
  return launch(cuda, function, how, parameters, bytes);
}
