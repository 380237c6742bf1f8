/* vulkan_loader.h - Vulkan without linking it: its loader is opened at run time, and all functions are called through
 * tables, which are made of the rows of vulkan_calls.def. */
#ifndef BURN_VULKAN_LOADER_H
#define BURN_VULKAN_LOADER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VULKAN_POINTER(name) PFN_vk##name name;

typedef struct VulkanGlobalCalls {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VULKAN_GLOBAL VULKAN_POINTER
#include "vulkan_calls.def"
} VulkanGlobalCalls;

typedef struct VulkanInstanceCalls {
#define VULKAN_INSTANCE VULKAN_POINTER
#include "vulkan_calls.def"
} VulkanInstanceCalls;

typedef struct VulkanCalls {
#define VULKAN_DEVICE VULKAN_POINTER
#include "vulkan_calls.def"
} VulkanCalls;

enum { VULKAN_MAX_DEVICES = 16 };

/* The loader, its instance and the devices in the order in which it lists them. */
typedef struct VulkanInstance {
  VulkanGlobalCalls global;
  VulkanInstanceCalls calls;
  VkInstance handle;
  VkPhysicalDevice devices[VULKAN_MAX_DEVICES];
  uint32_t device_count;
  bool is_forked; /* this process is a child of the one that made it: drivers have threads, which it has not */
} VulkanInstance;

/* Opens the loader and makes an instance, once per process, which keeps both: making one takes up to half a second.
 * NULL with the reason in `why`, at once where there is no loader, and in a child of the process that made it. */
const VulkanInstance *burn__vulkan_instance(char *why, size_t why_bytes);

/* What such a child is told. */
extern const char burn__vulkan_forked[];

/* The functions of a device; false with the name of one that is missing in `why`. */
bool burn__vulkan_load_calls(const VulkanInstance *instance, VkDevice device, VulkanCalls *calls, char *why,
                             size_t why_bytes);

/* "VK_ERROR_DEVICE_LOST"; a number where there is no name. `text` is for that. */
const char *burn__vulkan_result_text(VkResult result, char text[32]);

#endif
