/* fake_alone.c - a loader and a device of its own, for machines without Vulkan: BURN_FAKE_VULKAN_LOADER=alone. It tells
 * what it is like, and cannot be opened. */
#include "fake_vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char something; /* what handles point at */

bool fake_is_alone(void) {
  const char *named = getenv("BURN_FAKE_VULKAN_LOADER");
  return named && strcmp(named, "alone") == 0;
}

static VkResult VKAPI_CALL get_version(uint32_t *version) {
  *version = VK_API_VERSION_1_3;
  return VK_SUCCESS;
}

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *how,
                                           VkInstance *out) {
  (void)info, (void)how;
  *out = (VkInstance)(void *)&something;
  return VK_SUCCESS;
}

static void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks *how) {
  (void)instance, (void)how;
}

static VkResult VKAPI_CALL list_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *out) {
  (void)instance;
  if (out && *count > 0) out[0] = (VkPhysicalDevice)(void *)&something;
  *count = 1;
  return VK_SUCCESS;
}

static VkResult VKAPI_CALL get_extensions(VkPhysicalDevice physical, const char *layer, uint32_t *count,
                                          VkExtensionProperties *out) {
  static const char *const names[] = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME};
  (void)physical, (void)layer;
  if (out && *count < 2) return VK_INCOMPLETE;
  *count = 2;
  for (int i = 0; out && i < 2; i++) {
    out[i] = (VkExtensionProperties){.specVersion = 1};
    (void)snprintf(out[i].extensionName, sizeof out[i].extensionName, "%s", names[i]);
  }
  return VK_SUCCESS;
}

/* All that the plugin knows. */
static void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out) {
  (void)physical;
  VkPhysicalDeviceFeatures *core = &out->features;
  VkPhysicalDeviceVulkan11Features none11 = {.pNext = NULL}, *v11 = &none11;
  VkPhysicalDeviceVulkan12Features none12 = {.pNext = NULL}, *v12 = &none12;
  VkPhysicalDeviceVulkan13Features none13 = {.pNext = NULL}, *v13 = &none13;
  for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext) {
    void *here = at;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES) v11 = here;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) v12 = here;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) v13 = here;
  }
#define VULKAN_FEATURE(part, name, needed) part->name = VK_TRUE;
#include "vulkan_features.def"
}

/* What Vulkan asks of all devices, about. */
static void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out) {
  VkPhysicalDeviceProperties *plain = &out->properties;
  (void)physical;
  *plain = (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_3, .deviceType = VK_PHYSICAL_DEVICE_TYPE_OTHER};
  (void)snprintf(plain->deviceName, sizeof plain->deviceName, "a device that is not there");
  VkPhysicalDeviceLimits *limits = &plain->limits;
  limits->maxComputeSharedMemorySize = 32768;
  limits->maxComputeWorkGroupInvocations = 1024;
  for (int axis = 0; axis < 3; axis++) {
    limits->maxComputeWorkGroupSize[axis] = 1024;
    limits->maxComputeWorkGroupCount[axis] = 65535;
  }
  limits->maxPushConstantsSize = 128;
  limits->timestampPeriod = 1;
  for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext) {
    void *here = at;
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES)
      ((VkPhysicalDeviceVulkan11Properties *)here)->maxMemoryAllocationSize = UINT64_C(1) << 31;
  }
}

static void VKAPI_CALL get_memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2 *out) {
  (void)physical;
  out->memoryProperties = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = 1, .memoryHeapCount = 1};
  out->memoryProperties.memoryTypes[0].propertyFlags =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
      VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  out->memoryProperties.memoryHeaps[0] = (VkMemoryHeap){UINT64_C(1) << 31, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}

static void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties2 *out) {
  (void)physical;
  if (out && *count > 0)
    out[0].queueFamilyProperties =
        (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_COMPUTE_BIT, .queueCount = 1, .timestampValidBits = 64};
  *count = 1;
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *how, VkDevice *out) {
  (void)physical, (void)info, (void)how;
  *out = NULL;
  return VK_ERROR_INITIALIZATION_FAILED;
}

static PFN_vkVoidFunction VKAPI_CALL get_function(VkDevice device, const char *name) {
  (void)device, (void)name;
  return NULL;
}

void fake_be_alone(FakeReal *real) {
  real->global.EnumerateInstanceVersion = get_version;
  real->global.CreateInstance = create_instance;
  real->instance = (VulkanInstanceCalls){.DestroyInstance = destroy_instance,
                                         .EnumeratePhysicalDevices = list_devices,
                                         .EnumerateDeviceExtensionProperties = get_extensions,
                                         .GetPhysicalDeviceProperties2 = get_properties,
                                         .GetPhysicalDeviceFeatures2 = get_features,
                                         .GetPhysicalDeviceMemoryProperties2 = get_memory,
                                         .GetPhysicalDeviceQueueFamilyProperties2 = get_families,
                                         .CreateDevice = create_device,
                                         .GetDeviceProcAddr = get_function};
}
