/* vulkan_caps.h - what a device can do, as one struct. Options cut it down, so that what smaller devices do is tested
 * on large ones. */
#ifndef BURN_VULKAN_CAPS_H
#define BURN_VULKAN_CAPS_H

#include "vulkan_loader.h"
#include "vulkan_newer.h"

/* The structs of features, for vkGetPhysicalDeviceFeatures2 and vkCreateDevice. */
typedef struct VulkanFeatures {
  VkPhysicalDeviceFeatures2 chain; /* its features are `core` of vulkan_features.def */
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
  VkPhysicalDeviceVulkan13Features v13;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices; /* these two only where the device has them */
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
} VulkanFeatures;

/* What a kind of memory is for. */
typedef enum VulkanPlace {
  VULKAN_PLACE_DEVICE,   /* tensors */
  VULKAN_PLACE_UPLOAD,   /* the host writes, the device reads */
  VULKAN_PLACE_DOWNLOAD, /* the device writes, the host reads, both ways through caches where it can be */
  VULKAN_PLACES
} VulkanPlace;

typedef struct VulkanMemoryType {
  uint32_t index;
  bool is_visible; /* to the host, coherently */
  bool is_cached;  /* so the host reads it as fast as its own */
} VulkanMemoryType;

/* Float controls of a width. */
typedef struct VulkanControls {
  bool preserve, keep_nan, nearest; /* subnormals; zeros' signs, infinities and NaN; rounding to nearest even */
} VulkanControls;

enum { VULKAN_HALF, VULKAN_SINGLE, VULKAN_DOUBLE, VULKAN_WIDTHS };

/* A shape in which subgroups multiply matrices; 0 x 0 x 0: none. */
typedef struct VulkanMatrix {
  uint32_t rows, columns, depth;
} VulkanMatrix;

enum { VULKAN_MAX_EXTENSIONS = 2 };

typedef struct VulkanCaps {
  char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
  char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 32]; /* "llvmpipe Mesa 22.3.6, Vulkan 1.3.230" */
  uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE], cache_uuid[VK_UUID_SIZE];
  uint32_t vendor, device, driver_version;
  VkPhysicalDeviceType type;
  bool is_cpu;
  VulkanFeatures features;                       /* those to switch on */
  const char *extensions[VULKAN_MAX_EXTENSIONS]; /* likewise */
  uint32_t extension_count;

  uint32_t unit_count; /* multiprocessors, compute units; 0 where the driver does not tell */
  uint32_t family;     /* of queues */
  uint32_t timestamp_bits;
  double timestamp_seconds; /* from one tick to the next */

  uint32_t groups[3];      /* the most workgroups along x, y, z */
  uint32_t threads, depth; /* the most of a workgroup, and of those along z */
  uint32_t shared_bytes, push_bytes;

  uint32_t subgroup, least_subgroup, most_subgroup; /* sizes */
  uint32_t most_subgroups;                          /* of a workgroup, where a size is asked for */
  bool has_shuffle;                                 /* shuffle, relative shuffle and ballot */
  bool may_ask_size, has_full_subgroups;

  VulkanControls controls[VULKAN_WIDTHS];

  /* Of f16 and bf16 with sums of f32, of i8 with sums of i32. */
  VulkanMatrix f16_matrix, bf16_matrix, i8_matrix;

  VulkanMemoryType types[VULKAN_PLACES];
  uint64_t heap_bytes; /* of VULKAN_PLACE_DEVICE */
  /* The largest buffer. Drivers do give more at once than their maxMemoryAllocationSize, or tell that they do not. */
  uint64_t allocation_bytes;
  bool has_budget;      /* the driver tells how much of a heap is free */
  char pci_address[16]; /* "" where it is not told */
} VulkanCaps;

/* False, with all that is lacking by name in `why`: "llvmpipe lacks shaderFloat64 and timelineSemaphore". */
bool burn__vulkan_caps(const VulkanInstance *instance, VkPhysicalDevice physical, VulkanCaps *caps, char *why,
                       size_t why_bytes);

/* Bytes of the heap of tensors that nobody uses; 0 where the driver does not tell. */
uint64_t burn__vulkan_free_bytes(const VulkanInstance *instance, VkPhysicalDevice physical, const VulkanCaps *caps);

#endif
