/* vulkan_buffer.c - buffers with memory of their own. */
#include "vulkan_internal.h"

static VkResult make_buffer(Vulkan *vulkan, uint64_t bytes, VkBuffer *out) {
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = bytes,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                            VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  return vulkan->calls.CreateBuffer(vulkan->device, &info, NULL, out);
}

static VkResult make_memory(Vulkan *vulkan, const VulkanMemoryType *type, VulkanBuffer *out) {
  const VkBufferMemoryRequirementsInfo2 of = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                              .buffer = out->buffer};
  VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  vulkan->calls.GetBufferMemoryRequirements2(vulkan->device, &of, &needs);
  if (!(needs.memoryRequirements.memoryTypeBits >> type->index & 1u)) return VK_ERROR_FEATURE_NOT_PRESENT;
  const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = &flags,
                                     .allocationSize = needs.memoryRequirements.size,
                                     .memoryTypeIndex = type->index};
  return vulkan->calls.AllocateMemory(vulkan->device, &info, NULL, &out->memory);
}

static VkResult bind(Vulkan *vulkan, const VulkanMemoryType *type, VulkanBuffer *out) {
  const VkBindBufferMemoryInfo info = {
      .sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO, .buffer = out->buffer, .memory = out->memory};
  const VkBufferDeviceAddressInfo asked = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = out->buffer};
  void *mapped = NULL;
  VkResult result = vulkan->calls.BindBufferMemory2(vulkan->device, 1, &info);
  if (result == VK_SUCCESS && type->is_visible)
    result = vulkan->calls.MapMemory(vulkan->device, out->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
  if (result != VK_SUCCESS) return result;
  out->mapped = mapped;
  out->address = vulkan->calls.GetBufferDeviceAddress(vulkan->device, &asked);
  return out->address ? VK_SUCCESS : VK_ERROR_UNKNOWN;
}

VkResult burn__vulkan_buffer_make(Vulkan *vulkan, VulkanPlace place, uint64_t bytes, VulkanBuffer *out) {
  const VulkanMemoryType *type = &vulkan->caps.types[place];
  *out = (VulkanBuffer){.bytes = bytes};
  VkResult result = make_buffer(vulkan, bytes, &out->buffer);
  if (result == VK_SUCCESS) result = make_memory(vulkan, type, out);
  if (result == VK_SUCCESS) result = bind(vulkan, type, out);
  if (result != VK_SUCCESS) burn__vulkan_buffer_end(vulkan, out);
  return result;
}

void burn__vulkan_buffer_end(Vulkan *vulkan, VulkanBuffer *buffer) {
  if (buffer->buffer) vulkan->calls.DestroyBuffer(vulkan->device, buffer->buffer, NULL);
  if (buffer->memory) vulkan->calls.FreeMemory(vulkan->device, buffer->memory, NULL); /* and unmaps it */
  *buffer = (VulkanBuffer){0};
}
