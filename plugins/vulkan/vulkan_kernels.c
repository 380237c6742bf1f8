/* vulkan_kernels.c - what the floor asks of kernels: a source to a parsed program, an entry of it to a pipeline, its
 * start in the queue. */
#include "vulkan_internal.h"
#include "vulkan_texts.h"

#include <burn/common/hash.h>

#include <stdio.h>
#include <string.h>

enum { WARP = 32 };

struct GpuFunction {
  struct GpuFunction *next; /* of the module */
  char name[64];
  VkPipeline pipeline;
  uint32_t threads[3], parameter_bytes;
  bool is_chosen; /* the threads: by the caller, not by the text */
  bool in_push_constants;
};

struct GpuModule {
  KernelProgram *program; /* NULL: its source was not read yet, or needs not be again */
  GpuFunction *functions;
  char *source;                /* NULL: no other function will be asked for */
  uint64_t source_bytes, hash; /* hash: for vulkan_warm.c */
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

static BurnStatus parse(Vulkan *vulkan, GpuModule *module) {
  char why[KERNEL_WHY_BYTES] = "";
  if (module->program) return BURN_OK;
  module->program = burn__kernel_parse(module->source, &vulkan->target, why, sizeof why);
  return module->program ? BURN_OK : VULKAN_FAIL(vulkan, INTERNAL, "a kernel is refused: %s", why);
}

/* A source whose kernels may be ready is read when it turns out that one is not. */
BurnStatus burn__vulkan_load(Gpu *gpu, const char *source, GpuModule **out) {
  Vulkan *vulkan = vulkan_of(gpu);
  GpuModule *module = gpu->host->allocate(sizeof *module);
  if (module) *module = (GpuModule){.program = NULL};
  if (!module || !join_source(gpu->host, source, module)) {
    gpu->host->free(module, sizeof *module);
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a kernel");
  }
  if (vulkan->warm) module->hash = burn__vulkan_warm_source(vulkan, module->source);
  const BurnStatus status = vulkan->warm ? BURN_OK : parse(vulkan, module);
  if (status != BURN_OK) burn__vulkan_unload(gpu, module);
  if (status == BURN_OK) *out = module;
  return status;
}

/* A program takes 2 MB, a source up to 100 KB, and an instance has some hundreds of modules. */
void burn__vulkan_settle(Gpu *gpu, GpuModule *module) {
  burn__kernel_free(module->program);
  gpu->host->free(module->source, module->source_bytes);
  module->program = NULL;
  module->source = NULL;
}

void burn__vulkan_unload(Gpu *gpu, GpuModule *module) {
  const Vulkan *vulkan = vulkan_of(gpu);
  if (!module) return;
  for (GpuFunction *function = module->functions, *next = NULL; function; function = next) {
    next = function->next;
    vulkan->calls.DestroyPipeline(vulkan->device, function->pipeline, NULL);
    gpu->host->free(function, sizeof *function);
  }
  burn__vulkan_settle(gpu, module);
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
  const uint64_t hash = burn_common_hash_bytes(BURN_COMMON_HASH, made->words, bytes);
  write_file(vulkan, hash, "spv", made->words, bytes);
  write_file(vulkan, hash, "cu", module->source, strlen(module->source));
}

/* -- pipelines -------------------------------------------------------------------------------- */

static uint64_t product(const uint32_t threads[3]) { return (uint64_t)threads[0] * threads[1] * threads[2]; }

static BurnStatus check_limits(Vulkan *vulkan, const char *name, const KernelModule *made) {
  const VulkanCaps *caps = &vulkan->caps;
  if (product(made->threads) > caps->threads || made->threads[1] > caps->threads || made->threads[2] > caps->depth)
    return VULKAN_FAIL(vulkan, UNIMPLEMENTED, "%s has groups of %u x %u x %u threads, and %s has at most %u, %u deep",
                       name, made->threads[0], made->threads[1], made->threads[2], caps->name, caps->threads,
                       caps->depth);
  if (made->shared_bytes > caps->shared_bytes)
    return VULKAN_FAIL(vulkan, UNIMPLEMENTED, "%s shares %u bytes in a group, and %s has %u", name, made->shared_bytes,
                       caps->name, caps->shared_bytes);
  return BURN_OK;
}

/* Do subgroups have the size that kernels with warps, or with matrices, are written for? */
static bool is_by_subgroups(const Vulkan *vulkan, const KernelModule *made) {
  return vulkan->target.has_warps || made->needs_subgroups;
}

/* Whether warps are to be subgroups of 32 that the driver is asked for: where sizes vary, they must be. */
static bool asks_size(const Vulkan *vulkan, const KernelModule *made) {
  const VulkanCaps *caps = &vulkan->caps;
  return is_by_subgroups(vulkan, made) && caps->may_ask_size && caps->least_subgroup <= WARP &&
         caps->most_subgroup >= WARP && caps->least_subgroup != caps->most_subgroup &&
         product(made->threads) <= WARP * (uint64_t)caps->most_subgroups;
}

static VkResult make_pipeline(Vulkan *vulkan, const KernelModule *made, VkShaderModule shader, VkPipeline *out) {
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = WARP};
  const bool asks = asks_size(vulkan, made);
  const bool is_full = is_by_subgroups(vulkan, made) && vulkan->caps.has_full_subgroups &&
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

static VkResult make_shader(Vulkan *vulkan, const KernelModule *made, VkPipeline *out) {
  const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = made->word_count * sizeof *made->words,
                                         .pCode = made->words};
  VkShaderModule shader = VK_NULL_HANDLE;
  VkResult result = vulkan->calls.CreateShaderModule(vulkan->device, &info, NULL, &shader);
  if (result == VK_SUCCESS) result = make_pipeline(vulkan, made, shader, out);
  if (shader) vulkan->calls.DestroyShaderModule(vulkan->device, shader, NULL);
  if (result == VK_SUCCESS) atomic_fetch_add(&vulkan->new_pipelines, 1u);
  return result;
}

bool burn__vulkan_try_pipeline(Vulkan *vulkan, const KernelModule *made, VkPipeline *out) {
  const VulkanCaps *caps = &vulkan->caps;
  if (product(made->threads) > caps->threads || made->threads[2] > caps->depth) return false;
  return made->shared_bytes <= caps->shared_bytes && make_shader(vulkan, made, out) == VK_SUCCESS;
}

static BurnStatus compile(Vulkan *vulkan, const char *name, const KernelModule *made, VkPipeline *out) {
  const BurnStatus status = check_limits(vulkan, name, made);
  if (status != BURN_OK) return status;
  const VkResult result = make_shader(vulkan, made, out);
  if (result == VK_SUCCESS && atomic_load(&vulkan->new_pipelines) >= atomic_load(&vulkan->save_after))
    burn__vulkan_cache_save(vulkan);
  return burn__vulkan_check(vulkan, result, "compile a kernel");
}

/* `ready`: its pipeline, which goes with it; NULL: it is made. */
static BurnStatus add_function(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry, const KernelModule *made,
                               VkPipeline ready) {
  const BurnHost *host = vulkan->gpu.host;
  GpuFunction *function = host->allocate(sizeof *function);
  if (!function) {
    if (ready) vulkan->calls.DestroyPipeline(vulkan->device, ready, NULL);
    return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a kernel");
  }
  *function = (GpuFunction){.next = module->functions,
                            .pipeline = ready,
                            .threads = {made->threads[0], made->threads[1], made->threads[2]},
                            .is_chosen = entry->threads != NULL,
                            .parameter_bytes = made->parameter_bytes,
                            .in_push_constants = made->in_push_constants};
  (void)snprintf(function->name, sizeof function->name, "%s", entry->name);
  const BurnStatus status = ready ? BURN_OK : compile(vulkan, entry->name, made, &function->pipeline);
  if (status == BURN_OK) module->functions = function;
  if (status != BURN_OK) host->free(function, sizeof *function);
  return status;
}

static bool is_entry(const GpuFunction *function, const VulkanEntry *entry) {
  if (strcmp(function->name, entry->name) != 0 || function->is_chosen != (entry->threads != NULL)) return false;
  return !entry->threads || memcmp(function->threads, entry->threads, sizeof function->threads) == 0;
}

static BurnStatus emit(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry, KernelModule *made) {
  char why[KERNEL_WHY_BYTES] = "";
  if (strlen(entry->name) >= sizeof module->functions->name)
    return VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "the name of the kernel %s is too long", entry->name);
  const BurnStatus status = parse(vulkan, module);
  if (status != BURN_OK) return status;
  if (burn__kernel_emit(module->program, entry->name, entry->threads, made, why, sizeof why)) return BURN_OK;
  return VULKAN_FAIL(vulkan, INTERNAL, "the kernel %s is refused: %s", entry->name, why);
}

BurnStatus burn__vulkan_check_entry(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry) {
  KernelModule made;
  const BurnStatus status = emit(vulkan, module, entry, &made);
  if (status == BURN_OK) burn__kernel_module_free(&made);
  return status;
}

static BurnStatus compile_entry(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry) {
  KernelModule made;
  BurnStatus status = emit(vulkan, module, entry, &made);
  if (status != BURN_OK) return status;
  if (vulkan->settings.dump[0]) dump(vulkan, module, &made);
  status = add_function(vulkan, module, entry, &made, VK_NULL_HANDLE);
  if (status == BURN_OK) burn__vulkan_warm_add(vulkan, module->hash, entry, &made);
  burn__kernel_module_free(&made);
  return status;
}

BurnStatus burn__vulkan_find_entry(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry, GpuFunction **out) {
  KernelModule made;
  VkPipeline ready = VK_NULL_HANDLE;
  for (*out = module->functions; *out; *out = (*out)->next)
    if (is_entry(*out, entry)) return BURN_OK;
  const bool is_known = burn__vulkan_warm_take(vulkan, module->hash, entry, &made, &ready);
  const BurnStatus status =
      is_known ? add_function(vulkan, module, entry, &made, ready) : compile_entry(vulkan, module, entry);
  if (status == BURN_OK) *out = module->functions;
  return status;
}

BurnStatus burn__vulkan_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out) {
  const VulkanEntry entry = {name, NULL};
  return burn__vulkan_find_entry(vulkan_of(gpu), module, &entry, out);
}

/* -- starts ----------------------------------------------------------------------------------- */

static BurnStatus check_start(Gpu *gpu, const GpuFunction *function, uint64_t threads, size_t bytes) {
  const uint64_t expected = product(function->threads);
  if (threads != expected)
    return GPU_FAIL(gpu, INTERNAL, "%s is started with %llu threads a group, but was compiled for %llu", function->name,
                    (unsigned long long)threads, (unsigned long long)expected);
  if (bytes != function->parameter_bytes)
    return GPU_FAIL(gpu, INTERNAL, "%s is started with %zu bytes of parameters, but was compiled for %u",
                    function->name, bytes, function->parameter_bytes);
  return BURN_OK;
}

BurnStatus burn__vulkan_check_groups(Vulkan *vulkan, const uint32_t groups[3]) {
  const VulkanCaps *caps = &vulkan->caps;
  if (groups[0] <= caps->groups[0] && groups[1] <= caps->groups[1] && groups[2] <= caps->groups[2]) return BURN_OK;
  return VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "%u x %u x %u groups are more than the %u x %u x %u of %s", groups[0],
                     groups[1], groups[2], caps->groups[0], caps->groups[1], caps->groups[2], caps->name);
}

BurnStatus burn__vulkan_launch_axes(Vulkan *vulkan, const GpuFunction *function, const uint32_t groups[3],
                                    const void *parameters, size_t bytes) {
  BurnStatus status = check_start(&vulkan->gpu, function, product(function->threads), bytes);
  if (status == BURN_OK) status = burn__vulkan_check_groups(vulkan, groups);
  if (status != BURN_OK) return status;
  const VulkanDispatch dispatch = {.pipeline = function->pipeline,
                                   .groups = {groups[0], groups[1], groups[2]},
                                   .parameters = parameters,
                                   .bytes = (uint32_t)bytes,
                                   .in_push_constants = function->in_push_constants,
                                   .function = function};
  return burn__vulkan_dispatch(vulkan, &dispatch);
}

BurnStatus burn__vulkan_launch(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads,
                               const void *parameters, size_t bytes) {
  const uint32_t *most = vulkan_of(gpu)->caps.groups;
  const BurnStatus status = check_start(gpu, function, threads, bytes);
  if (status != BURN_OK) return status;
  const uint64_t rows = ((uint64_t)groups + most[0] - 1) / most[0], columns = (groups + rows - 1) / rows;
  if (rows > most[1])
    return GPU_FAIL(gpu, INVALID_ARGUMENT, "%u groups are more than the %u x %u that a kernel can have", groups,
                    most[0], most[1]);
  const VulkanDispatch dispatch = {.pipeline = function->pipeline,
                                   .groups = {(uint32_t)columns, (uint32_t)rows, 1},
                                   .parameters = parameters,
                                   .bytes = (uint32_t)bytes,
                                   .group_count = groups,
                                   .in_push_constants = function->in_push_constants,
                                   .touched = burn__gpu_touched(gpu),
                                   .function = function};
  return burn__vulkan_dispatch(vulkan_of(gpu), &dispatch);
}
