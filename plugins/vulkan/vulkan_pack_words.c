/* vulkan_pack_words.c - kernels of packs that come as words of SPIR-V: a shader module, and a pipeline for each number
 * of threads that a launch asks for, by the specialisation constants 0 to 2. */
#include "vulkan_internal.h"

#include <stdio.h>
#include <string.h>

enum { MAGIC = 0x07230203, HEADER = 5, ENTRY_POINT = 15, COMPUTE = 5 };

typedef struct Pipeline {
  struct Pipeline *next;
  uint32_t threads[3];
  VkPipeline handle;
} Pipeline;

struct VulkanWords {
  VkShaderModule shader;
  Pipeline *pipelines;
  char entry[64];
};

/* -- loading ---------------------------------------------------------------------------------- */

/* True for an OpEntryPoint of a compute shader with this name; the name ends within the instruction. */
static bool is_entry(const uint32_t *at, uint32_t length, const char *entry) {
  const size_t bytes = strlen(entry) + 1;
  return (at[0] & 0xffffu) == ENTRY_POINT && length > 3 && at[1] == COMPUTE && bytes <= (length - 3) * sizeof *at &&
         memcmp(at + 3, entry, bytes) == 0;
}

static bool has_entry(const uint32_t *words, uint64_t count, const char *entry) {
  uint64_t at = HEADER;
  while (at < count) {
    const uint32_t length = words[at] >> 16;
    if (length == 0 || length > count - at) return false;
    if (is_entry(words + at, length, entry)) return true;
    at += length;
  }
  return false;
}

/* Drivers are not made for what is not a module. */
static BurnStatus check_words(Vulkan *vulkan, const uint32_t *words, uint64_t bytes, const char *entry) {
  if (bytes % sizeof *words != 0 || bytes <= HEADER * sizeof *words || words[0] != MAGIC)
    return VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "the code is not a module of SPIR-V in this machine's order of bytes");
  if (has_entry(words, bytes / sizeof *words, entry)) return BURN_OK;
  return VULKAN_FAIL(vulkan, NOT_FOUND, "the code has no compute shader '%s'", entry);
}

static BurnStatus make_shader(Vulkan *vulkan, const uint32_t *words, uint64_t bytes, VkShaderModule *out) {
  const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = (size_t)bytes, .pCode = words};
  const VkResult result = vulkan->calls.CreateShaderModule(vulkan->device, &info, NULL, out);
  return burn__vulkan_check(vulkan, result, "load the code of a kernel");
}

BurnStatus burn__vulkan_words_load(Vulkan *vulkan, const BurnDeviceCode *code, const char *entry, VulkanWords **out) {
  const BurnHost *host = vulkan->gpu.host;
  uint32_t *words = host->allocate(code->bytes + 1); /* aligned, as a pack's need not be */
  VulkanWords *made = host->allocate(sizeof *made);
  BurnStatus status =
      words && made ? BURN_OK : VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a kernel");
  if (status == BURN_OK) {
    *made = (VulkanWords){.shader = VK_NULL_HANDLE};
    (void)snprintf(made->entry, sizeof made->entry, "%s", entry);
    memcpy(words, code->data, (size_t)code->bytes);
    status = check_words(vulkan, words, code->bytes, entry);
  }
  if (status == BURN_OK) status = make_shader(vulkan, words, code->bytes, &made->shader);
  if (status == BURN_OK) *out = made;
  if (status != BURN_OK) host->free(made, sizeof *made);
  host->free(words, code->bytes + 1);
  return status;
}

void burn__vulkan_words_drop(Vulkan *vulkan, VulkanWords *words) {
  if (!words) return;
  for (Pipeline *pipeline = words->pipelines, *next = NULL; pipeline; pipeline = next) {
    next = pipeline->next;
    vulkan->calls.DestroyPipeline(vulkan->device, pipeline->handle, NULL);
    vulkan->gpu.host->free(pipeline, sizeof *pipeline);
  }
  vulkan->calls.DestroyShaderModule(vulkan->device, words->shader, NULL);
  vulkan->gpu.host->free(words, sizeof *words);
}

/* -- pipelines -------------------------------------------------------------------------------- */

static BurnStatus compile(Vulkan *vulkan, const VulkanWords *words, Pipeline *pipeline) {
  const VkSpecializationMapEntry entries[3] = {{0, 0, 4}, {1, 4, 4}, {2, 8, 4}};
  const VkSpecializationInfo threads = {3, entries, sizeof pipeline->threads, pipeline->threads};
  const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = words->shader,
                                                      .pName = words->entry,
                                                      .pSpecializationInfo = &threads},
                                            .layout = vulkan->layout};
  const VkResult result =
      vulkan->calls.CreateComputePipelines(vulkan->device, vulkan->pipelines, 1, &info, NULL, &pipeline->handle);
  return burn__vulkan_check(vulkan, result, "compile a kernel");
}

BurnStatus burn__vulkan_words_pipeline(Vulkan *vulkan, VulkanWords *words, const uint32_t threads[3], VkPipeline *out) {
  const VulkanCaps *caps = &vulkan->caps;
  for (const Pipeline *known = words->pipelines; known; known = known->next)
    if (memcmp(known->threads, threads, sizeof known->threads) == 0) {
      *out = known->handle;
      return BURN_OK;
    }
  if ((uint64_t)threads[0] * threads[1] * threads[2] > caps->threads || threads[2] > caps->depth)
    return VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "%s: groups of %u x %u x %u threads, and %s has at most %u, %u deep",
                       words->entry, threads[0], threads[1], threads[2], caps->name, caps->threads, caps->depth);
  Pipeline *made = vulkan->gpu.host->allocate(sizeof *made);
  if (!made) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a kernel");
  *made = (Pipeline){.next = words->pipelines, .threads = {threads[0], threads[1], threads[2]}};
  const BurnStatus status = compile(vulkan, words, made);
  if (status != BURN_OK) {
    vulkan->gpu.host->free(made, sizeof *made);
    return status;
  }
  words->pipelines = made;
  *out = made->handle;
  return BURN_OK;
}
