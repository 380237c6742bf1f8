/* fake_device.c - the device as it is pretended to be: words of BURN_FAKE_VULKAN_DEVICE with commas between them, as
 * "shared=16384,threads=128,without=shaderFloat64,discrete". README.md has them. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static FakeDevice pretended;
static char words[1000]; /* with a comma at both ends */

/* -- words ------------------------------------------------------------------------------------ */

typedef struct Word {
  const char *name;
  size_t offset;
} Word;

#define WORD(name) {#name, offsetof(FakeDevice, name)},
static const Word numbers[] = {WORD(shared) WORD(threads) WORD(groups) WORD(allocation) WORD(buffer) WORD(heap)
                                   WORD(push) WORD(subgroup) WORD(devices)};
static const Word versions[] = {WORD(version) WORD(loader)};
static const Word truths[] = {WORD(no_shuffle) WORD(no_controls) WORD(no_devices) WORD(many_devices) WORD(no_queues)
                                  WORD(no_clock) WORD(discrete) WORD(uncached) WORD(incoherent) WORD(hidden)
                                      WORD(endless) WORD(growing) WORD(lying) WORD(garbage) WORD(matrices)};
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* The word's place in `pretended`; NULL: it is not in the list. */
static void *place_of(const Word *list, size_t length, const char *word, size_t letters) {
  for (size_t i = 0; i < length; i++)
    if (strlen(list[i].name) == letters && memcmp(list[i].name, word, letters) == 0)
      return (char *)&pretended + list[i].offset;
  return NULL;
}

/* "64M" as bytes. */
static uint64_t number_of(const char *text) {
  char *end = NULL;
  const unsigned long long number = strtoull(text, &end, 10);
  return number << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

static uint64_t version_of(const char *text) {
  unsigned major = 0, minor = 0;
  if (sscanf(text, "%u.%u", &major, &minor) != 2) fake_complain("%s is not a version", text);
  return VK_MAKE_API_VERSION(0, major, minor, 0);
}

static void read_word(const char *word) {
  const size_t letters = strcspn(word, "=");
  const char *value = word[letters] ? word + letters + 1 : "";
  uint64_t *number = place_of(numbers, LENGTH(numbers), word, letters);
  uint64_t *version = place_of(versions, LENGTH(versions), word, letters);
  bool *truth = place_of(truths, LENGTH(truths), word, letters);
  if (number) *number = number_of(value);
  if (version) *version = version_of(value);
  if (truth) *truth = true;
  if (!number && !version && !truth && strncmp(word, "without=", 8) != 0)
    fake_complain("BURN_FAKE_VULKAN_DEVICE has %s, which is not known", word);
}

static void read_words(void) {
  char copy[sizeof words];
  const char *given = getenv("BURN_FAKE_VULKAN_DEVICE");
  (void)snprintf(words, sizeof words, ",%s,", given ? given : "");
  memcpy(copy, words, sizeof copy);
  char *rest = NULL;
  for (const char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) read_word(word);
}

const FakeDevice *fake_device(void) {
  (void)pthread_once(&once, read_words);
  return &pretended;
}

bool fake_lacks(const char *feature) {
  char word[100];
  (void)fake_device();
  (void)snprintf(word, sizeof word, ",without=%s,", feature);
  return strstr(words, word) != NULL;
}

/* -- features --------------------------------------------------------------------------------- */

/* The structs of a chain. */
typedef struct Found {
  VkPhysicalDeviceFeatures *core;
  VkPhysicalDeviceVulkan11Features *v11;
  VkPhysicalDeviceVulkan12Features *v12;
  VkPhysicalDeviceVulkan13Features *v13;
} Found;

static Found find_features(const void *chain) {
  Found found = {NULL, NULL, NULL, NULL};
  for (VkBaseOutStructure *at = (VkBaseOutStructure *)(uintptr_t)chain; at; at = at->pNext) {
    void *here = at;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
      found.core = &((VkPhysicalDeviceFeatures2 *)here)->features;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES) found.v11 = here;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) found.v12 = here;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) found.v13 = here;
  }
  return found;
}

static void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out) {
  fake_real.instance.GetPhysicalDeviceFeatures2(physical, out);
  if (fake_device()->matrices) fake_show_matrices(out);
  const Found found = find_features(out);
#define VULKAN_FEATURE(part, name, needed) \
  if (found.part && fake_lacks(#name)) found.part->name = VK_FALSE;
#include "vulkan_features.def"
}

/* What is asked for must have been shown. */
static bool may_have(const void *chain) {
  const Found found = find_features(chain);
  bool may = true;
#define VULKAN_FEATURE(part, name, needed)                       \
  if (found.part && found.part->name && fake_lacks(#name)) {     \
    fake_complain("%s is asked for, which is not there", #name); \
    may = false;                                                 \
  }
#include "vulkan_features.def"
  return may;
}

/* -- properties ------------------------------------------------------------------------------- */

static void lower(uint32_t *value, uint64_t most) {
  if (most > 0 && *value > most) *value = (uint32_t)most;
}

static void pretend_plain(VkPhysicalDeviceProperties *plain) {
  const FakeDevice *d = fake_device();
  VkPhysicalDeviceLimits *limits = &plain->limits;
  if (d->version) plain->apiVersion = (uint32_t)d->version;
  if (d->discrete) plain->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  if (d->endless) memset(plain->deviceName, 'x', sizeof plain->deviceName);
  lower(&limits->maxComputeSharedMemorySize, d->shared);
  lower(&limits->maxComputeWorkGroupInvocations, d->threads);
  lower(&limits->maxPushConstantsSize, d->push);
  for (int axis = 0; axis < 3; axis++) {
    lower(&limits->maxComputeWorkGroupSize[axis], d->threads);
    lower(&limits->maxComputeWorkGroupCount[axis], d->groups);
  }
}

static void pretend_v11(VkPhysicalDeviceVulkan11Properties *v11) {
  const FakeDevice *d = fake_device();
  if (d->allocation) v11->maxMemoryAllocationSize = d->allocation;
  if (d->subgroup) v11->subgroupSize = (uint32_t)d->subgroup;
  if (d->no_shuffle) v11->subgroupSupportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
}

static void pretend_v12(VkPhysicalDeviceVulkan12Properties *v12) {
  if (fake_device()->endless) {
    memset(v12->driverName, 'y', sizeof v12->driverName);
    memset(v12->driverInfo, 'z', sizeof v12->driverInfo);
  }
  if (!fake_device()->no_controls) return;
  v12->shaderDenormPreserveFloat16 = v12->shaderDenormPreserveFloat32 = v12->shaderDenormPreserveFloat64 = VK_FALSE;
  v12->shaderDenormFlushToZeroFloat16 = v12->shaderDenormFlushToZeroFloat32 = VK_FALSE;
  v12->shaderDenormFlushToZeroFloat64 = v12->shaderRoundingModeRTZFloat16 = VK_FALSE;
  v12->shaderSignedZeroInfNanPreserveFloat16 = v12->shaderSignedZeroInfNanPreserveFloat32 = VK_FALSE;
  v12->shaderSignedZeroInfNanPreserveFloat64 = v12->shaderRoundingModeRTZFloat32 = VK_FALSE;
  v12->shaderRoundingModeRTEFloat16 = v12->shaderRoundingModeRTEFloat32 = VK_FALSE;
  v12->shaderRoundingModeRTEFloat64 = v12->shaderRoundingModeRTZFloat64 = VK_FALSE;
}

static void pretend_v13(VkPhysicalDeviceVulkan13Properties *v13) {
  const FakeDevice *d = fake_device();
  if (d->subgroup) v13->minSubgroupSize = v13->maxSubgroupSize = (uint32_t)d->subgroup;
  if (d->buffer) v13->maxBufferSize = d->buffer;
}

static void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out) {
  fake_real.instance.GetPhysicalDeviceProperties2(physical, out);
  pretend_plain(&out->properties);
  for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext) {
    void *here = at;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES) pretend_v11(here);
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) pretend_v12(here);
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES) pretend_v13(here);
  }
}

/* -- memory ----------------------------------------------------------------------------------- */

static FakeType types[VK_MAX_MEMORY_TYPES];
static uint32_t type_count;

const FakeType *fake_type(uint32_t index) { return index < type_count ? &types[index] : NULL; }
uint32_t fake_type_count(void) { return type_count; }

/* A device with memory of its own, which the host does not see, and three kinds of the host's in another heap. All of it
 * is the real type 0, which must be visible. */
static void be_discrete(bool can_map) {
  const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, same = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                              cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const FakeType shown[] = {{0, 1, 0, can_map},
                            {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, 0, can_map},
                            {seen | same, 1, 0, can_map},
                            {seen | cached, 1, 0, can_map},
                            {seen | same | cached, 1, 0, can_map}};
  type_count = LENGTH(shown);
  memcpy(types, shown, sizeof shown);
}

void fake_learn_types(VkPhysicalDevice physical) {
  const FakeDevice *d = fake_device();
  VkPhysicalDeviceMemoryProperties2 real = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  fake_real.instance.GetPhysicalDeviceMemoryProperties2(physical, &real);
  const VkPhysicalDeviceMemoryProperties *memory = &real.memoryProperties;
  type_count = memory->memoryTypeCount;
  for (uint32_t i = 0; i < type_count; i++) {
    const VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
    types[i] =
        (FakeType){flags, memory->memoryTypes[i].heapIndex, i, (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0};
  }
  if (d->discrete) be_discrete(types[0].can_map);
  for (uint32_t i = 0; i < type_count; i++) {
    if (d->uncached) types[i].flags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    if (d->incoherent) types[i].flags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (d->hidden) types[i].flags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  }
}

static void pretend_budget(VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget, uint64_t heap) {
  for (uint32_t i = 0; i < VK_MAX_MEMORY_HEAPS; i++) {
    budget->heapBudget[i] = heap;
    budget->heapUsage[i] = fake_memory_used();
  }
}

static void VKAPI_CALL get_memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2 *out) {
  const FakeDevice *d = fake_device();
  VkPhysicalDeviceMemoryProperties *memory = &out->memoryProperties;
  fake_real.instance.GetPhysicalDeviceMemoryProperties2(physical, out);
  fake_learn_types(physical);
  memory->memoryTypeCount = type_count;
  for (uint32_t i = 0; i < type_count; i++) memory->memoryTypes[i] = (VkMemoryType){types[i].flags, types[i].heap};
  if (d->discrete) memory->memoryHeapCount = 2;
  if (d->discrete) memory->memoryHeaps[1] = (VkMemoryHeap){memory->memoryHeaps[0].size, 0};
  for (uint32_t i = 0; d->heap > 0 && i < memory->memoryHeapCount; i++) memory->memoryHeaps[i].size = d->heap;
  for (VkBaseOutStructure *at = out->pNext; at && d->heap > 0; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT)
      pretend_budget((void *)at, d->heap);
  if (d->lying) memory->memoryTypeCount = 4000;
}

/* -- queues, extensions ------------------------------------------------------------------------ */

static void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties2 *out) {
  const FakeDevice *d = fake_device();
  fake_real.instance.GetPhysicalDeviceQueueFamilyProperties2(physical, count, out);
  for (uint32_t i = 0; out && d->no_clock && i < *count; i++) out[i].queueFamilyProperties.timestampValidBits = 0;
  if (d->no_queues) *count = 0;
  if (d->lying) *count += 4000;
}

/* Between the question how many there are and the list, more come; or the driver just says so. */
static VkResult VKAPI_CALL get_extensions(VkPhysicalDevice physical, const char *layer, uint32_t *count,
                                          VkExtensionProperties *out) {
  const FakeDevice *d = fake_device();
  const uint32_t room = *count;
  FAKE_FAILS("EnumerateDeviceExtensionProperties", NULL);
  VkResult result = fake_real.instance.EnumerateDeviceExtensionProperties(physical, layer, count, out);
  if (d->matrices) result = fake_add_extension(result, room, count, out);
  if (!out && d->growing && *count > 1) *count -= 1;
  if (out && d->growing && result == VK_SUCCESS) return VK_INCOMPLETE;
  if (out && d->lying) *count += 4000;
  return result;
}

/* -- the instance ----------------------------------------------------------------------------- */

static VkResult VKAPI_CALL get_version(uint32_t *version) {
  FAKE_FAILS("EnumerateInstanceVersion", NULL);
  const VkResult result = fake_real.global.EnumerateInstanceVersion(version);
  if (fake_device()->loader) *version = (uint32_t)fake_device()->loader;
  return result;
}

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *how,
                                           VkInstance *out) {
  FAKE_FAILS("CreateInstance", NULL);
  return fake_real.global.CreateInstance(info, how, out);
}

/* many_devices: the first one again and again. */
static VkResult VKAPI_CALL list_devices(VkInstance of, uint32_t *count, VkPhysicalDevice *out) {
  const FakeDevice *d = fake_device();
  const uint32_t room = *count;
  FAKE_FAILS("EnumeratePhysicalDevices", NULL);
  VkResult result = fake_real.instance.EnumeratePhysicalDevices(of, count, out);
  if (d->no_devices) *count = 0;
  if (!d->many_devices || *count == 0) return result;
  for (uint32_t i = 1; out && i < room; i++) out[i] = out[0];
  *count = out ? room : 100;
  return VK_INCOMPLETE;
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *how, VkDevice *out) {
  FAKE_FAILS("CreateDevice", NULL);
  if (!may_have(info->pNext)) return VK_ERROR_FEATURE_NOT_PRESENT;
  fake_learn_types(physical);
  const PFN_vkCreateDevice create =
      fake_device()->matrices ? fake_create_without_matrices : fake_real.instance.CreateDevice;
  const VkResult result = create(physical, info, how, out);
  if (result != VK_SUCCESS) return result;
  fake_made(FAKE_Device, FAKE_HANDLE(*out), NULL);
  fake_belongs(*out, *out);
  return VK_SUCCESS;
}

/* Functions of a device by the same names as those of the instance. */
static PFN_vkVoidFunction VKAPI_CALL get_function(VkDevice device, const char *name) {
  (void)device;
  return fake_function(name);
}

void fake_offer_instance(VulkanGlobalCalls *global, VulkanInstanceCalls *instance) {
  global->EnumerateInstanceVersion = get_version;
  global->CreateInstance = create_instance;
  instance->EnumeratePhysicalDevices = list_devices;
  instance->EnumerateDeviceExtensionProperties = get_extensions;
  instance->GetPhysicalDeviceProperties2 = get_properties;
  instance->GetPhysicalDeviceFeatures2 = get_features;
  instance->GetPhysicalDeviceMemoryProperties2 = get_memory;
  instance->GetPhysicalDeviceQueueFamilyProperties2 = get_families;
  instance->CreateDevice = create_device;
  instance->GetDeviceProcAddr = get_function;
}
