/* vulkan_caps.c - asks a device what it can do: see vulkan_caps.h. */
#include "vulkan_caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define core chain.features

/* Most kernels have so many threads; parameters of a kernel. */
enum { MIN_THREADS = 256, MIN_PUSHED = 128 };

/* -- what is lacking -------------------------------------------------------------------------- */

/* Names with commas between them. */
typedef struct Lacking {
  char text[400];
  size_t used;
} Lacking;

static void lacks(Lacking *lacking, const char *what) {
  const size_t left = sizeof lacking->text - lacking->used;
  const int length = snprintf(lacking->text + lacking->used, left, "%s%s", lacking->used ? ", " : "", what);
  if (length > 0) lacking->used += (size_t)length < left ? (size_t)length : left - 1;
}

/* -- features --------------------------------------------------------------------------------- */

static void link_features(VulkanFeatures *features) {
  features->chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  features->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features->v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  features->chain.pNext = &features->v11;
  features->v11.pNext = &features->v12;
  features->v12.pNext = &features->v13;
  features->v13.pNext = NULL;
}

/* Those that are there and wanted, in caps; others are left off, as some of them cost time. */
static void ask_features(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps,
                         Lacking *lacking) {
  VulkanFeatures there = {0};
  VulkanFeatures *wanted = &caps->features;
  link_features(&there);
  instance->calls.GetPhysicalDeviceFeatures2(physical, &there.chain);
#define VULKAN_FEATURE(part, name, needed) \
  wanted->part.name = there.part.name;     \
  if ((needed) && !there.part.name) lacks(lacking, #name);
#include "vulkan_features.def"
}

/* -- matrices --------------------------------------------------------------------------------- */

static bool has_extension(const VulkanInstance *instance, VkPhysicalDevice physical, const char *name);

static void link_matrix_features(VulkanFeatures *features, bool has_bfloat16) {
  features->matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  features->bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  features->v13.pNext = &features->matrices;
  if (has_bfloat16) features->matrices.pNext = &features->bfloat16;
}

/* The shapes in which subgroups multiply: of those with the same numbers the one with most multiplications. */
static void note_matrix(const VkCooperativeMatrixPropertiesKHR *p, VulkanCaps *caps) {
  const VkComponentTypeKHR in = p->AType, sum = p->CType;
  const bool is_plain =
      p->BType == in && p->ResultType == sum && p->scope == VK_SCOPE_SUBGROUP_KHR && !p->saturatingAccumulation;
  VulkanMatrix *matrix = NULL;
  if (!is_plain) return;
  if (in == VK_COMPONENT_TYPE_FLOAT16_KHR && sum == VK_COMPONENT_TYPE_FLOAT32_KHR) matrix = &caps->f16_matrix;
  if (in == VK_COMPONENT_TYPE_SINT8_KHR && sum == VK_COMPONENT_TYPE_SINT32_KHR) matrix = &caps->i8_matrix;
  if (in == VK_COMPONENT_TYPE_BFLOAT16_KHR && sum == VK_COMPONENT_TYPE_FLOAT32_KHR &&
      caps->features.bfloat16.shaderBFloat16CooperativeMatrix)
    matrix = &caps->bf16_matrix;
  if (!matrix || p->MSize > 1024 || p->NSize > 1024 || p->KSize > 1024) return;
  if (p->MSize * p->NSize * p->KSize > matrix->rows * matrix->columns * matrix->depth)
    *matrix = (VulkanMatrix){p->MSize, p->NSize, p->KSize};
}

static void ask_shapes(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps) {
  enum { MOST = 128 };
  const PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR ask =
      (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)instance->global.GetInstanceProcAddr(
          instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  VkCooperativeMatrixPropertiesKHR *list = calloc(MOST, sizeof *list);
  uint32_t count = MOST;
  for (uint32_t i = 0; list && i < MOST; i++) list[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  if (ask && list && ask(physical, &count, list) >= 0)
    for (uint32_t i = 0; i < count && i < MOST; i++) note_matrix(&list[i], caps);
  free(list);
}

/* Kernels with matrices are written by the rules of Vulkan's memory model. */
static void ask_matrices(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps) {
  VulkanFeatures there = {0};
  if (!caps->features.v12.vulkanMemoryModel ||
      !has_extension(instance, physical, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
    return;
  const bool has_bfloat16 = has_extension(instance, physical, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
  link_features(&there);
  link_matrix_features(&there, has_bfloat16);
  instance->calls.GetPhysicalDeviceFeatures2(physical, &there.chain);
  if (!there.matrices.cooperativeMatrix) return;
  link_matrix_features(&caps->features, has_bfloat16);
  caps->features.matrices.cooperativeMatrix = VK_TRUE;
  caps->features.bfloat16.shaderBFloat16Type = there.bfloat16.shaderBFloat16Type;
  caps->features.bfloat16.shaderBFloat16CooperativeMatrix = there.bfloat16.shaderBFloat16CooperativeMatrix;
  caps->extensions[caps->extension_count++] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
  if (has_bfloat16) caps->extensions[caps->extension_count++] = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
  ask_shapes(instance, physical, caps);
}

/* -- properties ------------------------------------------------------------------------------- */

/* Answers of vkGetPhysicalDeviceProperties2. */
typedef struct Properties {
  VkPhysicalDeviceProperties2 chain;
  VkPhysicalDeviceVulkan11Properties v11;
  VkPhysicalDeviceVulkan12Properties v12;
  VkPhysicalDeviceVulkan13Properties v13;
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia;
  VkPhysicalDeviceShaderCorePropertiesAMD amd;
} Properties;

static bool has_extension(const VulkanInstance *instance, VkPhysicalDevice physical, const char *name) {
  VkExtensionProperties *list = NULL;
  uint32_t count = 0, room = 0;
  bool found = false;
  if (instance->calls.EnumerateDeviceExtensionProperties(physical, NULL, &room, NULL) != VK_SUCCESS || room == 0)
    return false;
  list = calloc(room, sizeof *list);
  count = room;
  if (list && instance->calls.EnumerateDeviceExtensionProperties(physical, NULL, &count, list) >= 0)
    for (uint32_t i = 0; i < count && i < room && !found; i++)
      found = strncmp(list[i].extensionName, name, sizeof list[i].extensionName) == 0;
  free(list);
  return found;
}

/* What all structs of a chain begin with. */
static void link(Properties *p, void *part, VkStructureType type) {
  VkBaseOutStructure *base = part;
  base->sType = type;
  base->pNext = p->chain.pNext;
  p->chain.pNext = base;
}

static void ask_properties(const VulkanInstance *instance, VkPhysicalDevice physical, Properties *p) {
  memset(p, 0, sizeof *p);
  p->chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  link(p, &p->v11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  link(p, &p->v12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  link(p, &p->v13, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
  if (has_extension(instance, physical, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
    link(p, &p->pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  if (has_extension(instance, physical, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
    link(p, &p->nvidia, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  if (has_extension(instance, physical, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME))
    link(p, &p->amd, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
  instance->calls.GetPhysicalDeviceProperties2(physical, &p->chain);
}

static void note_identity(const Properties *p, VulkanCaps *caps) {
  const VkPhysicalDeviceProperties *plain = &p->chain.properties;
  (void)snprintf(caps->name, sizeof caps->name, "%.*s", (int)sizeof plain->deviceName - 1, plain->deviceName);
  (void)snprintf(caps->driver, sizeof caps->driver, "%.*s %.*s, Vulkan %u.%u.%u", (int)sizeof p->v12.driverName - 1,
                 p->v12.driverName, (int)sizeof p->v12.driverInfo - 1, p->v12.driverInfo,
                 VK_API_VERSION_MAJOR(plain->apiVersion), VK_API_VERSION_MINOR(plain->apiVersion),
                 VK_API_VERSION_PATCH(plain->apiVersion));
  memcpy(caps->device_uuid, p->v11.deviceUUID, sizeof caps->device_uuid);
  memcpy(caps->driver_uuid, p->v11.driverUUID, sizeof caps->driver_uuid);
  memcpy(caps->cache_uuid, plain->pipelineCacheUUID, sizeof caps->cache_uuid);
  caps->vendor = plain->vendorID;
  caps->device = plain->deviceID;
  caps->driver_version = plain->driverVersion;
  caps->type = plain->deviceType;
  caps->is_cpu = plain->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  caps->unit_count = p->nvidia.shaderSMCount;
  if (p->amd.sType)
    caps->unit_count = p->amd.shaderEngineCount * p->amd.shaderArraysPerEngineCount * p->amd.computeUnitsPerShaderArray;
  if (p->pci.sType)
    (void)snprintf(caps->pci_address, sizeof caps->pci_address, "%04x:%02x:%02x.%x", p->pci.pciDomain & 0xffffu,
                   p->pci.pciBus & 0xffu, p->pci.pciDevice & 0xffu, p->pci.pciFunction & 0xfu);
}

static void note_limits(const Properties *p, VulkanCaps *caps, Lacking *lacking) {
  const VkPhysicalDeviceLimits *limits = &p->chain.properties.limits;
  caps->timestamp_seconds = 1e-9 * (double)limits->timestampPeriod;
  for (int axis = 0; axis < 3; axis++) caps->groups[axis] = limits->maxComputeWorkGroupCount[axis];
  caps->threads = limits->maxComputeWorkGroupInvocations;
  for (int axis = 0; axis < 2; axis++)
    if (limits->maxComputeWorkGroupSize[axis] < caps->threads) caps->threads = limits->maxComputeWorkGroupSize[axis];
  caps->depth = limits->maxComputeWorkGroupSize[2];
  caps->shared_bytes = limits->maxComputeSharedMemorySize;
  caps->push_bytes = limits->maxPushConstantsSize;
  caps->allocation_bytes = p->v13.maxBufferSize ? p->v13.maxBufferSize : p->v11.maxMemoryAllocationSize;
  if (caps->threads < MIN_THREADS) lacks(lacking, "workgroups of 256 threads");
  if (caps->push_bytes < MIN_PUSHED) lacks(lacking, "128 bytes of push constants");
  if (caps->groups[0] == 0 || caps->groups[1] == 0) lacks(lacking, "workgroups");
}

static void note_subgroups(const Properties *p, VulkanCaps *caps) {
  const VkSubgroupFeatureFlags needed = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                                        VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  const VkShaderStageFlags compute = VK_SHADER_STAGE_COMPUTE_BIT;
  caps->subgroup = p->v11.subgroupSize;
  caps->least_subgroup = p->v13.minSubgroupSize ? p->v13.minSubgroupSize : caps->subgroup;
  caps->most_subgroup = p->v13.maxSubgroupSize ? p->v13.maxSubgroupSize : caps->subgroup;
  caps->most_subgroups = p->v13.maxComputeWorkgroupSubgroups;
  caps->has_shuffle =
      (p->v11.subgroupSupportedOperations & needed) == needed && (p->v11.subgroupSupportedStages & compute) != 0;
  caps->may_ask_size = caps->features.v13.subgroupSizeControl && (p->v13.requiredSubgroupSizeStages & compute) != 0;
  caps->has_full_subgroups = caps->features.v13.computeFullSubgroups != 0;
}

/* Where a mode of one width cannot be chosen without that of others, it is either all of them or none. */
static void bind_widths(VkShaderFloatControlsIndependence independence, bool *half, bool *single, bool *twice) {
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL) return;
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY) {
    *half = *twice = *half && *twice;
    return;
  }
  *half = *single = *twice = *half && *single && *twice;
}

static void note_controls(const Properties *p, VulkanCaps *caps) {
  const VkPhysicalDeviceVulkan12Properties *v = &p->v12;
  VulkanControls *c = caps->controls;
  c[VULKAN_HALF] = (VulkanControls){v->shaderDenormPreserveFloat16, v->shaderSignedZeroInfNanPreserveFloat16,
                                    v->shaderRoundingModeRTEFloat16};
  c[VULKAN_SINGLE] = (VulkanControls){v->shaderDenormPreserveFloat32, v->shaderSignedZeroInfNanPreserveFloat32,
                                      v->shaderRoundingModeRTEFloat32};
  c[VULKAN_DOUBLE] = (VulkanControls){v->shaderDenormPreserveFloat64, v->shaderSignedZeroInfNanPreserveFloat64,
                                      v->shaderRoundingModeRTEFloat64};
  bind_widths(v->denormBehaviorIndependence, &c[VULKAN_HALF].preserve, &c[VULKAN_SINGLE].preserve,
              &c[VULKAN_DOUBLE].preserve);
  bind_widths(v->roundingModeIndependence, &c[VULKAN_HALF].nearest, &c[VULKAN_SINGLE].nearest,
              &c[VULKAN_DOUBLE].nearest);
}

/* -- queues ----------------------------------------------------------------------------------- */

/* A family that computes; one without graphics where that has clocks, too. */
static bool ask_queues(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps) {
  VkQueueFamilyProperties2 families[16];
  uint32_t count = 16;
  bool found = false;
  for (uint32_t i = 0; i < count; i++)
    families[i] = (VkQueueFamilyProperties2){.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2};
  instance->calls.GetPhysicalDeviceQueueFamilyProperties2(physical, &count, families);
  for (uint32_t i = 0; i < count && i < 16; i++) {
    const VkQueueFamilyProperties *family = &families[i].queueFamilyProperties;
    if (!(family->queueFlags & VK_QUEUE_COMPUTE_BIT) || family->queueCount == 0) continue;
    const bool is_better =
        !(family->queueFlags & VK_QUEUE_GRAPHICS_BIT) && family->timestampValidBits >= caps->timestamp_bits;
    if (found && !is_better) continue;
    caps->family = i;
    caps->timestamp_bits = family->timestampValidBits < 64 ? family->timestampValidBits : 64;
    found = true;
    if (is_better) break;
  }
  return found;
}

/* -- memory ----------------------------------------------------------------------------------- */

/* How well a type suits; 0: not at all. */
static uint32_t suits(VulkanPlace place, VkMemoryPropertyFlags flags, bool is_unified) {
  const bool is_local = (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
  const bool is_visible =
      (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  const bool is_cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  const VkMemoryPropertyFlags others = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                       VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                                       VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
  if (flags & others) return 0;
  switch (place) {
    case VULKAN_PLACE_DEVICE:
      if (!is_local) return 0;
      return is_unified ? 1u + 4u * is_visible + 2u * is_cached : 2u - is_visible;
    case VULKAN_PLACE_UPLOAD:
      return is_visible ? 1u + 2u * !is_local + !is_cached : 0;
    case VULKAN_PLACE_DOWNLOAD:
    default:
      return is_visible ? 1u + 2u * is_cached + !is_local : 0;
  }
}

static bool choose_type(const VkPhysicalDeviceMemoryProperties *memory, VulkanPlace place, VulkanCaps *caps) {
  const bool is_unified = caps->is_cpu || caps->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  VulkanMemoryType *type = &caps->types[place];
  uint64_t best_heap = 0;
  uint32_t best = 0;
  for (uint32_t i = 0; i < memory->memoryTypeCount && i < VK_MAX_MEMORY_TYPES; i++) {
    const VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
    const uint64_t heap = memory->memoryHeaps[memory->memoryTypes[i].heapIndex % VK_MAX_MEMORY_HEAPS].size;
    const uint32_t score = suits(place, flags, is_unified);
    const bool is_other_heap = place == VULKAN_PLACE_DEVICE && heap != best_heap;
    if (score == 0 || (is_other_heap ? heap < best_heap : score <= best)) continue;
    best = score;
    best_heap = heap;
    type->index = i;
    type->is_visible = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    type->is_cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  }
  if (place == VULKAN_PLACE_DEVICE) caps->heap_bytes = best_heap;
  return best != 0;
}

static void ask_memory(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps, Lacking *lacking) {
  VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  instance->calls.GetPhysicalDeviceMemoryProperties2(physical, &memory);
  if (!choose_type(&memory.memoryProperties, VULKAN_PLACE_DEVICE, caps)) lacks(lacking, "memory of its own");
  if (!choose_type(&memory.memoryProperties, VULKAN_PLACE_UPLOAD, caps) ||
      !choose_type(&memory.memoryProperties, VULKAN_PLACE_DOWNLOAD, caps))
    lacks(lacking, "coherent memory that the host sees");
  caps->has_budget = has_extension(instance, physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
}

uint64_t burn__vulkan_free_bytes(const VulkanInstance *instance, VkPhysicalDevice physical, const VulkanCaps *caps) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                              .pNext = &budget};
  if (!caps->has_budget) return 0;
  instance->calls.GetPhysicalDeviceMemoryProperties2(physical, &memory);
  const uint32_t heap =
      memory.memoryProperties.memoryTypes[caps->types[VULKAN_PLACE_DEVICE].index].heapIndex % VK_MAX_MEMORY_HEAPS;
  const uint64_t all = budget.heapBudget[heap], used = budget.heapUsage[heap];
  return all > used ? all - used : 0;
}

/* -- all of it -------------------------------------------------------------------------------- */

bool burn__vulkan_caps(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps, char *why,
                       size_t why_bytes) {
  VkPhysicalDeviceProperties2 plain = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  Lacking lacking = {{0}, 0};
  Properties properties;
  memset(caps, 0, sizeof *caps);
  link_features(&caps->features);
  instance->calls.GetPhysicalDeviceProperties2(physical, &plain);
  const uint32_t version = plain.properties.apiVersion;
  if (version < VK_API_VERSION_1_3) { /* what follows asks in structs of 1.3 */
    (void)snprintf(why, why_bytes, "%.100s has Vulkan %u.%u, and 1.3 is needed", plain.properties.deviceName,
                   VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
    return false;
  }
  ask_features(instance, physical, caps, &lacking);
  ask_matrices(instance, physical, caps);
  ask_properties(instance, physical, &properties);
  note_identity(&properties, caps);
  note_limits(&properties, caps, &lacking);
  note_subgroups(&properties, caps);
  note_controls(&properties, caps);
  ask_memory(instance, physical, caps, &lacking);
  if (!ask_queues(instance, physical, caps)) lacks(&lacking, "a queue for compute");
  if (lacking.used > 0) (void)snprintf(why, why_bytes, "%.100s lacks %s", caps->name, lacking.text);
  return lacking.used == 0;
}
