/* vulkan_device.c - the device of an instance: making it, failures, and what the floor asks around its calls. */
#include "vulkan_internal.h"

#include <stdio.h>
#include <string.h>

/* -- failures --------------------------------------------------------------------------------- */

BurnStatus burn__vulkan_break(Vulkan *vulkan, VkResult result, const char *why) {
  char recent[200], text[32];
  atomic_store(&vulkan->broken, (uint32_t)result);
  burn__gpu_list_recent(&vulkan->gpu, recent, sizeof recent);
  return VULKAN_FAIL(vulkan, INTERNAL, "%s: %s; the last ops were %s", why, burn__vulkan_result_text(result, text),
                     recent);
}

BurnStatus burn__vulkan_check(Vulkan *vulkan, VkResult result, const char *what) {
  char text[32];
  if (result == VK_SUCCESS) return BURN_OK;
  if (result == VK_ERROR_DEVICE_LOST) return burn__vulkan_break(vulkan, result, what);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "%s: %s", what, burn__vulkan_result_text(result, text));
  return VULKAN_FAIL(vulkan, INTERNAL, "%s: %s", what, burn__vulkan_result_text(result, text));
}

/* -- around calls ----------------------------------------------------------------------------- */

BurnStatus burn__vulkan_works(Vulkan *vulkan) {
  char text[32];
  const VkResult broken = vulkan_broken(vulkan);
  if (broken == VK_SUCCESS) return BURN_OK;
  if (broken == VULKAN_FORKED) return VULKAN_FAIL(vulkan, FAILED_PRECONDITION, "%s", burn__vulkan_forked);
  return VULKAN_FAIL(vulkan, FAILED_PRECONDITION, "the device has failed before: %s; open it anew",
                     burn__vulkan_result_text(broken, text));
}

BurnStatus burn__vulkan_enter(Gpu *gpu) {
  const BurnStatus status = burn__vulkan_works(vulkan_of(gpu));
  if (status == BURN_OK) burn__gpu_call_begin(gpu);
  return status;
}

void burn__vulkan_leave(Gpu *gpu) { burn__gpu_call_end(gpu); }

BurnStatus burn__vulkan_finish(Gpu *gpu) { return burn__vulkan_drain(vulkan_of(gpu)); }

/* -- making it -------------------------------------------------------------------------------- */

static BurnStatus make_device(Vulkan *vulkan) {
  const float priority = 1;
  char why[100];
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = vulkan->caps.family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &vulkan->caps.features.chain,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue,
                                   .enabledExtensionCount = vulkan->caps.extension_count,
                                   .ppEnabledExtensionNames = vulkan->caps.extensions};
  const VulkanInstanceCalls *calls = &vulkan->instance->calls;
  VkDevice device = NULL;
  const VkResult result = calls->CreateDevice(vulkan->physical, &info, NULL, &device);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "vkCreateDevice");
  const bool is_whole = burn__vulkan_load_calls(vulkan->instance, device, &vulkan->calls, why, sizeof why);
  if (!is_whole && vulkan->calls.DestroyDevice) vulkan->calls.DestroyDevice(device, NULL);
  if (!is_whole) return VULKAN_FAIL(vulkan, FAILED_PRECONDITION, "%s", why);
  vulkan->device = device;
  return BURN_OK;
}

/* No descriptors: kernels have push constants, and addresses in them. */
static BurnStatus make_layout(Vulkan *vulkan) {
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
  const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .pushConstantRangeCount = 1,
                                           .pPushConstantRanges = &range};
  return burn__vulkan_check(vulkan, vulkan->calls.CreatePipelineLayout(vulkan->device, &info, NULL, &vulkan->layout),
                            "pipeline layout");
}

static BurnStatus make_complaint(Vulkan *vulkan) {
  const VkResult result =
      burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DOWNLOAD, sizeof(GpuComplaint), &vulkan->complaint);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "memory for complaints of kernels");
  memset(vulkan->complaint.mapped, 0, sizeof(GpuComplaint));
  vulkan->gpu.complaint = (GpuComplaint *)(void *)vulkan->complaint.mapped;
  vulkan->gpu.complaint_address = vulkan->complaint.address;
  return BURN_OK;
}

BurnStatus burn__vulkan_device_open(Vulkan *vulkan) {
  BurnStatus status = make_device(vulkan);
  if (status == BURN_OK) status = burn__vulkan_queue_create(vulkan);
  if (status == BURN_OK) status = burn__vulkan_memory_create(vulkan);
  if (status == BURN_OK) status = burn__vulkan_transfers_create(vulkan);
  if (status == BURN_OK) status = make_layout(vulkan);
  if (status == BURN_OK) status = make_complaint(vulkan);
  if (status == BURN_OK) status = burn__vulkan_cache_open(vulkan);
  return status;
}

void burn__vulkan_device_close(Vulkan *vulkan) {
  const VulkanCalls *calls = &vulkan->calls;
  if (!vulkan->device || vulkan_is_beyond_reach(vulkan)) return;
  if (calls->DeviceWaitIdle(vulkan->device) == VK_SUCCESS) burn__vulkan_cache_save(vulkan);
  if (vulkan->pipelines) calls->DestroyPipelineCache(vulkan->device, vulkan->pipelines, NULL);
  if (vulkan->layout) calls->DestroyPipelineLayout(vulkan->device, vulkan->layout, NULL);
  burn__vulkan_buffer_end(vulkan, &vulkan->complaint);
  burn__vulkan_transfers_destroy(vulkan);
  burn__vulkan_memory_destroy(vulkan);
  burn__vulkan_queue_destroy(vulkan);
  calls->DestroyDevice(vulkan->device, NULL);
  vulkan->device = NULL;
}
