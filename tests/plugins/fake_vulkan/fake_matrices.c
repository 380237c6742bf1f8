/* fake_matrices.c - the word `matrices`: the device says that its subgroups multiply matrices of f16. The real one may
 * not: it is never told, and a module with such matrices fails. */
#include "fake_vulkan.h"

#include "vulkan_newer.h"

#include <stdio.h>
#include <string.h>

enum { OP_CAPABILITY = 17, MATRIX = 6022, MAX_NAMES = 8 };

static VkPhysicalDeviceCooperativeMatrixFeaturesKHR *features_in(const void *chain, VkBaseOutStructure **before) {
  *before = NULL;
  for (VkBaseOutStructure *at = (VkBaseOutStructure *)(uintptr_t)chain; at; at = at->pNext) {
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR) return (void *)at;
    *before = at;
  }
  return NULL;
}

void fake_show_matrices(const void *chain) {
  VkBaseOutStructure *before;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR *found = features_in(chain, &before);
  if (found) found->cooperativeMatrix = VK_TRUE;
}

VkResult fake_add_extension(VkResult result, uint32_t room, uint32_t *count, VkExtensionProperties *out) {
  if (result != VK_SUCCESS) return result;
  if (out && *count == room) return VK_INCOMPLETE;
  if (out)
    (void)snprintf(out[*count].extensionName, sizeof out->extensionName, "%s",
                   VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  ++*count;
  return VK_SUCCESS;
}

static VkResult VKAPI_CALL get_shapes(VkPhysicalDevice physical, uint32_t *count,
                                      VkCooperativeMatrixPropertiesKHR *out) {
  (void)physical;
  if (out && *count > 0)
    *out = (VkCooperativeMatrixPropertiesKHR){.sType = out->sType,
                                              .MSize = 8,
                                              .NSize = 8,
                                              .KSize = 8,
                                              .AType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                                              .BType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                                              .CType = VK_COMPONENT_TYPE_FLOAT32_KHR,
                                              .ResultType = VK_COMPONENT_TYPE_FLOAT32_KHR,
                                              .scope = VK_SCOPE_SUBGROUP_KHR};
  *count = 1;
  return VK_SUCCESS;
}

PFN_vkVoidFunction fake_matrix_function(const char *name) {
  const bool is_it = strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") == 0;
  return is_it && fake_device()->matrices ? (PFN_vkVoidFunction)get_shapes : NULL;
}

VkResult fake_create_without_matrices(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                      const VkAllocationCallbacks *how, VkDevice *out) {
  const char *names[MAX_NAMES];
  VkDeviceCreateInfo without = *info;
  VkBaseOutStructure *before;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR *found = features_in(info->pNext, &before);
  without.enabledExtensionCount = 0;
  for (uint32_t i = 0; i < info->enabledExtensionCount && i < MAX_NAMES; i++)
    if (strcmp(info->ppEnabledExtensionNames[i], VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) != 0)
      names[without.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
  without.ppEnabledExtensionNames = names;
  if (found && before) before->pNext = found->pNext;
  const VkResult result = fake_real.instance.CreateDevice(physical, &without, how, out);
  if (found && before) before->pNext = (void *)found;
  return result;
}

bool fake_has_matrices(const VkShaderModuleCreateInfo *info) {
  const size_t count = info->codeSize / 4;
  for (size_t at = 5; at + 1 < count && (info->pCode[at] & 0xffffu) == OP_CAPABILITY; at += 2)
    if (info->pCode[at + 1] == MATRIX) return true;
  return false;
}
