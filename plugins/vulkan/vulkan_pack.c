/* vulkan_pack.c - kernels of packs on this device: CUDA C in the language that the floor's kernels are written in, or
 * words of SPIR-V (vulkan_pack_words.c). A launch says how many threads a group has, so one is compiled for each such
 * number. */
#include "vulkan_internal.h"

#include <stdio.h>
#include <string.h>

/* What is behind a BurnLoadedKernel: one of the two. */
typedef struct PackKernel {
  GpuModule *module;
  VulkanWords *words;
  pthread_mutex_t mutex; /* around both */
  char entry[64];
} PackKernel;

int32_t BURN_API_CALL burn__vulkan_pack_takes_code(void *self, const BurnDeviceCode *code) {
  (void)self;
  return (code->format == BURN_CODE_CUDA_C || code->format == BURN_CODE_SPIRV) && !code->architecture;
}

static void drop(Gpu *gpu, PackKernel *kernel) {
  burn__gpu_unload(gpu, kernel->module);
  burn__vulkan_words_drop(vulkan_of(gpu), kernel->words);
  (void)pthread_mutex_destroy(&kernel->mutex);
  gpu->host->free(kernel, sizeof *kernel);
}

/* A copy with a zero at its end. */
static BurnStatus load_text(Gpu *gpu, const BurnDeviceCode *code, GpuModule **out) {
  char *text = gpu->host->allocate(code->bytes + 1);
  if (!text) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory for the code of a kernel");
  memcpy(text, code->data, (size_t)code->bytes);
  text[code->bytes] = '\0';
  const BurnStatus status = burn__gpu_load(gpu, text, out);
  gpu->host->free(text, code->bytes + 1);
  return status;
}

/* What is wrong with the text is found now, and not at the first launch. */
static BurnStatus try_it(Vulkan *vulkan, const PackKernel *kernel) {
  static const uint32_t threads[3] = {32, 1, 1};
  const VulkanEntry entry = {kernel->entry, threads};
  return burn__vulkan_check_entry(vulkan, kernel->module, &entry);
}

BurnStatus BURN_API_CALL burn__vulkan_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                                BurnLoadedKernel **out) {
  Vulkan *vulkan = self;
  BurnStatus status = burn__gpu_enter(&vulkan->gpu);
  if (status != BURN_OK) return status;
  PackKernel *kernel = vulkan->gpu.host->allocate(sizeof *kernel);
  if (!kernel) {
    burn__gpu_leave(&vulkan->gpu);
    return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory for a kernel");
  }
  *kernel = (PackKernel){.mutex = PTHREAD_MUTEX_INITIALIZER};
  if (snprintf(kernel->entry, sizeof kernel->entry, "%s", entry) >= (int)sizeof kernel->entry)
    status = VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "the name of the kernel %s is too long", entry);
  if (status == BURN_OK && code->format == BURN_CODE_SPIRV) {
    status = burn__vulkan_words_load(vulkan, code, entry, &kernel->words);
  } else if (status == BURN_OK) {
    status = load_text(&vulkan->gpu, code, &kernel->module);
    if (status == BURN_OK) status = try_it(vulkan, kernel);
  }
  if (status == BURN_OK) *out = (BurnLoadedKernel *)(void *)kernel;
  if (status != BURN_OK) drop(&vulkan->gpu, kernel);
  burn__gpu_leave(&vulkan->gpu);
  return status;
}

/* What runs needs its code. */
void BURN_API_CALL burn__vulkan_pack_unload(void *self, BurnLoadedKernel *loaded) {
  Vulkan *vulkan = self;
  if (burn__gpu_enter(&vulkan->gpu) == BURN_OK) {
    (void)burn__gpu_wait(&vulkan->gpu);
    burn__gpu_leave(&vulkan->gpu);
  }
  drop(&vulkan->gpu, (PackKernel *)(void *)loaded);
}

static BurnStatus start_text(Vulkan *vulkan, PackKernel *kernel, const BurnDeviceLaunch *launch, const uint64_t *words,
                             size_t bytes) {
  const VulkanEntry entry = {kernel->entry, launch->threads};
  GpuFunction *function = NULL;
  (void)pthread_mutex_lock(&kernel->mutex);
  const BurnStatus status = burn__vulkan_find_entry(vulkan, kernel->module, &entry, &function);
  (void)pthread_mutex_unlock(&kernel->mutex);
  return status == BURN_OK ? burn__vulkan_launch_axes(vulkan, function, launch->groups, words, bytes) : status;
}

static BurnStatus start_words(Vulkan *vulkan, PackKernel *kernel, const BurnDeviceLaunch *launch, const uint64_t *words,
                              size_t bytes) {
  VkPipeline pipeline = VK_NULL_HANDLE;
  (void)pthread_mutex_lock(&kernel->mutex);
  BurnStatus status = burn__vulkan_words_pipeline(vulkan, kernel->words, launch->threads, &pipeline);
  (void)pthread_mutex_unlock(&kernel->mutex);
  if (status == BURN_OK) status = burn__vulkan_check_groups(vulkan, launch->groups);
  if (status != BURN_OK) return status;
  if (bytes > VULKAN_WORDS_PUSHED)
    return VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "%s: %zu bytes of addresses and parameters are more than %d",
                       kernel->entry, bytes, VULKAN_WORDS_PUSHED);
  const VulkanDispatch dispatch = {.pipeline = pipeline,
                                   .groups = {launch->groups[0], launch->groups[1], launch->groups[2]},
                                   .parameters = words,
                                   .bytes = (uint32_t)(bytes + 3) / 4 * 4,
                                   .in_push_constants = true,
                                   .is_whole = true};
  return burn__vulkan_dispatch(vulkan, &dispatch);
}

BurnStatus burn__vulkan_pack_start(Gpu *gpu, BurnLoadedKernel *loaded, const BurnDeviceLaunch *launch,
                                   const uint64_t *words, size_t bytes) {
  PackKernel *kernel = (PackKernel *)(void *)loaded;
  if (launch->shared_bytes > 0)
    return GPU_FAIL(gpu, UNIMPLEMENTED, "%s: %u bytes of shared memory beyond those that the code declares",
                    kernel->entry, launch->shared_bytes);
  if (kernel->words) return start_words(vulkan_of(gpu), kernel, launch, words, bytes);
  return start_text(vulkan_of(gpu), kernel, launch, words, bytes);
}
