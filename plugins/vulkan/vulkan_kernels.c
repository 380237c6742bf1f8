/* vulkan_kernels.c - what the floor asks of kernels: a source to a parsed program, an entry of it to a pipeline, its
 * start in the queue. */
#include "vulkan_internal.h"
#include "vulkan_texts.h"

#include <stdio.h>
#include <string.h>

enum { WARP = 32, SAVE_AFTER = 64 }; /* pipelines */

struct GpuFunction {
  struct GpuFunction *next; /* of the module */
  char name[64];
  VkPipeline pipeline;
  uint32_t threads, parameter_bytes;
  bool in_push_constants;
};

struct GpuModule {
  KernelProgram *program;
  GpuFunction *functions;
  char *source;
  uint64_t source_bytes;
};

/* -- modules ---------------------------------------------------------------------------------- */

/* What the compiler reads: its own words, then the floor's text. */
static bool join_source(const BurnHost *host, const char *text, GpuModule *module) {
  const char *const parts[] = {burn__vulkan_text_prelude, burn__vulkan_text_math, text};
  size_t used = 0;
  for (size_t i = 0; i < 3; i++) used += strlen(parts[i]);
  module->source_bytes = used + 1;
  module->source = host->allocate(module->source_bytes);
  if (!module->source) return false;
  used = 0;
  for (size_t i = 0; i < 3; i++) {
    memcpy(module->source + used, parts[i], strlen(parts[i]));
    used += strlen(parts[i]);
  }
  module->source[used] = '\0';
  return true;
}

BurnStatus burn__vulkan_load(Gpu *gpu, const char *source, GpuModule **out) {
  char why[KERNEL_WHY_BYTES] = "";
  GpuModule *module = gpu->host->allocate(sizeof *module);
  if (module) *module = (GpuModule){.program = NULL};
  if (!module || !join_source(gpu->host, source, module)) {
    gpu->host->free(module, sizeof *module);
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a kernel");
  }
  module->program = burn__kernel_parse(module->source, &vulkan_of(gpu)->target, why, sizeof why);
  if (!module->program) {
    burn__vulkan_unload(gpu, module);
    return GPU_FAIL(gpu, INTERNAL, "a kernel is refused: %s", why);
  }
  *out = module;
  return BURN_OK;
}

void burn__vulkan_unload(Gpu *gpu, GpuModule *module) {
  const Vulkan *vulkan = vulkan_of(gpu);
  if (!module) return;
  for (GpuFunction *function = module->functions, *next = NULL; function; function = next) {
    next = function->next;
    vulkan->calls.DestroyPipeline(vulkan->device, function->pipeline, NULL);
    gpu->host->free(function, sizeof *function);
  }
  burn__kernel_free(module->program);
  gpu->host->free(module->source, module->source_bytes);
  gpu->host->free(module, sizeof *module);
}

/* -- dump ------------------------------------------------------------------------------------- */

static void write_file(const Vulkan *vulkan, uint64_t hash, const char *ending, const void *data, size_t bytes) {
  char path[sizeof vulkan->settings.dump + 40], text[sizeof path + 60];
  (void)snprintf(path, sizeof path, "%s/%016llx.%s", vulkan->settings.dump, (unsigned long long)hash, ending);
  FILE *file = fopen(path, "wb");
  const bool is_whole = file && fwrite(data, 1, bytes, file) == bytes;
  const bool is_closed = file && fclose(file) == 0;
  if (is_whole && is_closed) return;
  (void)snprintf(text, sizeof text, "dump: %s cannot be written", path);
  vulkan->gpu.host->log(BURN_LOG_WARN, vulkan->gpu.name, text);
}

static void dump(const Vulkan *vulkan, const GpuModule *module, const KernelModule *made) {
  const size_t bytes = made->word_count * sizeof *made->words;
  const unsigned char *at = (const unsigned char *)made->words;
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  write_file(vulkan, hash, "spv", made->words, bytes);
  write_file(vulkan, hash, "cu", module->source, strlen(module->source));
}

/* -- pipelines -------------------------------------------------------------------------------- */

static uint32_t threads_of(const KernelModule *made) { return made->threads[0] * made->threads[1] * made->threads[2]; }

static BurnStatus check_limits(Vulkan *vulkan, const char *name, const KernelModule *made) {
  const VulkanCaps *caps = &vulkan->caps;
  if (threads_of(made) > caps->threads)
    return VULKAN_FAIL(vulkan, UNIMPLEMENTED, "%s has groups of %u threads, and %s has at most %u", name,
                       threads_of(made), caps->name, caps->threads);
  if (made->shared_bytes > caps->shared_bytes)
    return VULKAN_FAIL(vulkan, UNIMPLEMENTED, "%s shares %u bytes in a group, and %s has %u", name, made->shared_bytes,
                       caps->name, caps->shared_bytes);
  return BURN_OK;
}

/* Whether warps are to be subgroups of 32 that the driver is asked for: where sizes vary, they must be. */
static bool asks_size(const Vulkan *vulkan, const KernelModule *made) {
  const VulkanCaps *caps = &vulkan->caps;
  return vulkan->target.has_warps && caps->may_ask_size && caps->least_subgroup <= WARP &&
         caps->most_subgroup >= WARP && caps->least_subgroup != caps->most_subgroup &&
         threads_of(made) <= WARP * (uint64_t)caps->most_subgroups;
}

static VkResult make_pipeline(Vulkan *vulkan, const KernelModule *made, VkShaderModule shader, VkPipeline *out) {
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = WARP};
  const bool asks = asks_size(vulkan, made);
  const bool is_full = vulkan->target.has_warps && vulkan->caps.has_full_subgroups &&
                       made->threads[0] % (asks ? WARP : vulkan->caps.most_subgroup) == 0;
  const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = asks ? &size : NULL,
                .flags = is_full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = shader,
                .pName = "main"},
      .layout = vulkan->layout};
  return vulkan->calls.CreateComputePipelines(vulkan->device, vulkan->pipelines, 1, &info, NULL, out);
}

static BurnStatus compile(Vulkan *vulkan, const char *name, const KernelModule *made, VkPipeline *out) {
  const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = made->word_count * sizeof *made->words,
                                         .pCode = made->words};
  VkShaderModule shader = VK_NULL_HANDLE;
  BurnStatus status = check_limits(vulkan, name, made);
  if (status != BURN_OK) return status;
  VkResult result = vulkan->calls.CreateShaderModule(vulkan->device, &info, NULL, &shader);
  if (result == VK_SUCCESS) result = make_pipeline(vulkan, made, shader, out);
  if (shader) vulkan->calls.DestroyShaderModule(vulkan->device, shader, NULL);
  if (result == VK_SUCCESS && atomic_fetch_add(&vulkan->new_pipelines, 1u) + 1u >= SAVE_AFTER)
    burn__vulkan_cache_save(vulkan);
  return burn__vulkan_check(vulkan, result, "compile a kernel");
}

static BurnStatus add_function(Vulkan *vulkan, GpuModule *module, const char *name, const KernelModule *made) {
  const BurnHost *host = vulkan->gpu.host;
  GpuFunction *function = host->allocate(sizeof *function);
  if (!function) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a kernel");
  *function = (GpuFunction){.next = module->functions,
                            .threads = threads_of(made),
                            .parameter_bytes = made->parameter_bytes,
                            .in_push_constants = made->in_push_constants};
  (void)snprintf(function->name, sizeof function->name, "%s", name);
  const BurnStatus status = compile(vulkan, name, made, &function->pipeline);
  if (status == BURN_OK) module->functions = function;
  if (status != BURN_OK) host->free(function, sizeof *function);
  return status;
}

BurnStatus burn__vulkan_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out) {
  Vulkan *vulkan = vulkan_of(gpu);
  char why[KERNEL_WHY_BYTES] = "";
  KernelModule made;
  for (GpuFunction *function = module->functions; function; function = function->next) {
    if (strcmp(function->name, name) != 0) continue;
    *out = function;
    return BURN_OK;
  }
  if (!burn__kernel_emit(module->program, name, NULL, &made, why, sizeof why))
    return GPU_FAIL(gpu, INTERNAL, "the kernel %s is refused: %s", name, why);
  if (vulkan->settings.dump[0]) dump(vulkan, module, &made);
  const BurnStatus status = add_function(vulkan, module, name, &made);
  burn__kernel_module_free(&made);
  if (status == BURN_OK) *out = module->functions;
  return status;
}

/* -- starts ----------------------------------------------------------------------------------- */

static BurnStatus check_start(Gpu *gpu, const GpuFunction *function, uint32_t threads, size_t bytes) {
  if (threads != function->threads)
    return GPU_FAIL(gpu, INTERNAL, "%s is started with %u threads a group, but was compiled for %u", function->name,
                    threads, function->threads);
  if (bytes != function->parameter_bytes)
    return GPU_FAIL(gpu, INTERNAL, "%s is started with %zu bytes of parameters, but was compiled for %u",
                    function->name, bytes, function->parameter_bytes);
  return BURN_OK;
}

BurnStatus burn__vulkan_launch(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads,
                               const void *parameters, size_t bytes) {
  const uint64_t *most = vulkan_of(gpu)->caps.groups;
  const BurnStatus status = check_start(gpu, function, threads, bytes);
  if (status != BURN_OK) return status;
  const uint64_t rows = (groups + most[0] - 1) / most[0], columns = (groups + rows - 1) / rows;
  if (rows > most[1])
    return GPU_FAIL(gpu, INVALID_ARGUMENT, "%u groups are more than the %llu x %llu that a kernel can have", groups,
                    (unsigned long long)most[0], (unsigned long long)most[1]);
  const VulkanDispatch dispatch = {.pipeline = function->pipeline,
                                   .groups = {(uint32_t)columns, (uint32_t)rows},
                                   .parameters = parameters,
                                   .bytes = (uint32_t)bytes,
                                   .group_count = groups,
                                   .in_push_constants = function->in_push_constants};
  return burn__vulkan_dispatch(vulkan_of(gpu), &dispatch);
}
