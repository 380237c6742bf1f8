/* fake_commands.c - recording: command pools, and commands, which must keep within the limits of the pretended device. */
#include "fake_vulkan.h"

static VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                       const VkAllocationCallbacks *allocator, VkCommandPool *out) {
  FAKE_FAILS("CreateCommandPool", device);
  const VkResult result = fake_real.device.CreateCommandPool(device, info, allocator, out);
  if (result == VK_SUCCESS) fake_made(FAKE_CommandPool, FAKE_HANDLE(*out), device);
  return result;
}

static void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks *allocator) {
  if (!pool || !fake_ends(FAKE_CommandPool, FAKE_HANDLE(pool), device)) return;
  fake_real.device.DestroyCommandPool(device, pool, allocator);
}

static VkResult VKAPI_CALL reset_pool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags) {
  FAKE_FAILS("ResetCommandPool", device);
  return fake_real.device.ResetCommandPool(device, pool, flags);
}

static VkResult VKAPI_CALL allocate(VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out) {
  FAKE_FAILS("AllocateCommandBuffers", device);
  const VkResult result = fake_real.device.AllocateCommandBuffers(device, info, out);
  for (uint32_t i = 0; i < info->commandBufferCount && result == VK_SUCCESS; i++) fake_belongs(out[i], device);
  return result;
}

static VkResult VKAPI_CALL begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info) {
  FAKE_FAILS("BeginCommandBuffer", commands);
  fake_see_begin(commands);
  return fake_real.device.BeginCommandBuffer(commands, info);
}

static VkResult VKAPI_CALL end(VkCommandBuffer commands) {
  FAKE_FAILS("EndCommandBuffer", commands);
  fake_let_go(commands);
  return fake_real.device.EndCommandBuffer(commands);
}

/* -- commands --------------------------------------------------------------------------------- */

static void VKAPI_CALL put_barrier(VkCommandBuffer commands, const VkDependencyInfo *info) {
  if (fake_skips(info)) return;
  fake_let_go(commands);
  fake_see_barrier(commands, info);
  fake_real.device.CmdPipelineBarrier2(commands, info);
}

static void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                            const VkBufferCopy *regions) {
  fake_note("vkCmdCopyBuffer", commands);
  fake_let_go(commands);
  fake_see_work(commands, FAKE_COPY);
  fake_see_copy(from);
  fake_see_copy(to);
  fake_real.device.CmdCopyBuffer(commands, from, to, count, regions);
}

static void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  const uint64_t most = fake_device()->groups;
  fake_note("vkCmdDispatch", commands);
  fake_see_work(commands, FAKE_KERNEL);
  if (most > 0 && (x > most || y > most || z > most))
    fake_complain("a dispatch of %u x %u x %u workgroups, where %llu are allowed along an axis", x, y, z,
                  (unsigned long long)most);
  if (x == 0 || y == 0 || z == 0) fake_complain("a dispatch of %u x %u x %u workgroups", x, y, z);
  fake_keep_dispatch(commands, x, y, z);
}

static void VKAPI_CALL push(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages,
                            uint32_t offset, uint32_t bytes, const void *values) {
  const uint64_t most = fake_device()->push ? fake_device()->push : 128;
  if ((uint64_t)offset + bytes > most || bytes % 4 != 0 || bytes == 0)
    fake_complain("%u bytes of push constants at %u, where %llu are allowed", bytes, offset, (unsigned long long)most);
  fake_keep_constants(commands, layout, stages, offset, bytes, values);
}

static void VKAPI_CALL update(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes,
                              const void *data) {
  fake_let_go(commands);
  fake_see_work(commands, FAKE_COPY);
  if (bytes == 0 || bytes > 65536 || bytes % 4 != 0 || offset % 4 != 0)
    fake_complain("vkCmdUpdateBuffer of %llu bytes at %llu", (unsigned long long)bytes, (unsigned long long)offset);
  fake_real.device.CmdUpdateBuffer(commands, buffer, offset, bytes, data);
}

static void VKAPI_CALL fill(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes,
                            uint32_t value) {
  fake_let_go(commands);
  fake_see_work(commands, FAKE_COPY);
  if (bytes == 0 || offset % 4 != 0 || (bytes != VK_WHOLE_SIZE && bytes % 4 != 0))
    fake_complain("vkCmdFillBuffer of %llu bytes at %llu", (unsigned long long)bytes, (unsigned long long)offset);
  fake_real.device.CmdFillBuffer(commands, buffer, offset, bytes, value);
}

static void VKAPI_CALL reset_queries(VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count) {
  fake_let_go(commands);
  fake_real.device.CmdResetQueryPool(commands, pool, first, count);
}

static void VKAPI_CALL write_time(VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkQueryPool pool,
                                  uint32_t query) {
  fake_let_go(commands);
  fake_real.device.CmdWriteTimestamp2(commands, stage, pool, query);
}

void fake_offer_commands(VulkanCalls *calls) {
  calls->CreateCommandPool = create_pool;
  calls->DestroyCommandPool = destroy_pool;
  calls->ResetCommandPool = reset_pool;
  calls->AllocateCommandBuffers = allocate;
  calls->BeginCommandBuffer = begin;
  calls->EndCommandBuffer = end;
  calls->CmdPipelineBarrier2 = put_barrier;
  calls->CmdBindPipeline = fake_keep_pipeline;
  calls->CmdResetQueryPool = reset_queries;
  calls->CmdWriteTimestamp2 = write_time;
  calls->CmdCopyBuffer = copy;
  calls->CmdDispatch = dispatch;
  calls->CmdPushConstants = push;
  calls->CmdUpdateBuffer = update;
  calls->CmdFillBuffer = fill;
}
