/* vulkan_order.c - which work needs a barrier before it.
 *
 * Kernels get addresses, so it is the floor that says which storages a launch reads and writes (GpuTouched). A storage
 * remembers the barrier after which it was last read and written, and keeps that when its memory is given out again. So
 * a barrier is needed where a storage was written since the last one, or is to be written and was read. Copies, and
 * kernels of which nothing is known, have one before and after them. */
#include "vulkan_internal.h"

/* The stages of a kind of work, how it writes, and how it touches memory at all. */
static const struct {
  VkPipelineStageFlags2 stages;
  VkAccessFlags2 writes, accesses;
} scopes[] = {
    [VULKAN_KERNELS] = {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT,
                        VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT},
    [VULKAN_COPIES] = {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                       VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT},
    [VULKAN_HOST] = {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_WRITE_BIT,
                     VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT},
    [VULKAN_ANYTHING] = {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                         VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
                         VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT |
                             VK_ACCESS_2_TRANSFER_WRITE_BIT},
};

void burn__vulkan_put_barrier(Vulkan *vulkan, VkCommandBuffer commands, VulkanWork first, VulkanWork then) {
  const VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                    .srcStageMask = scopes[first].stages,
                                    .srcAccessMask = scopes[first].writes,
                                    .dstStageMask = scopes[then].stages,
                                    .dstAccessMask = scopes[then].accesses};
  const VkDependencyInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
  vulkan->calls.CmdPipelineBarrier2(commands, &info);
}

static bool meets(const GpuTouched *touched, uint64_t barrier) {
  for (uint32_t i = 0; i < touched->count; i++) {
    GpuStorage *storage = touched->items[i].storage;
    if (atomic_load_explicit(&storage->written_after, memory_order_relaxed) == barrier) return true;
    if (touched->items[i].is_written && atomic_load_explicit(&storage->read_after, memory_order_relaxed) == barrier)
      return true;
  }
  return false;
}

static void note(const GpuTouched *touched, uint64_t barrier) {
  for (uint32_t i = 0; i < touched->count; i++) {
    GpuStorage *storage = touched->items[i].storage;
    atomic_store_explicit(&storage->read_after, barrier, memory_order_relaxed);
    if (touched->items[i].is_written) atomic_store_explicit(&storage->written_after, barrier, memory_order_relaxed);
  }
}

bool burn__vulkan_needs_barrier(Vulkan *vulkan, VulkanOrder *order, VulkanWork work, const GpuTouched *touched) {
  const bool needs = order->is_unknown || work != VULKAN_KERNELS || order->last != VULKAN_KERNELS || !touched ||
                     meets(touched, order->barrier);
  if (needs) order->barrier = atomic_fetch_add_explicit(&vulkan->barriers, 1, memory_order_relaxed) + 1;
  order->is_unknown = !touched;
  order->last = work;
  if (touched) note(touched, order->barrier);
  return needs;
}
