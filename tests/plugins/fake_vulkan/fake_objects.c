/* fake_objects.c - what was made and not yet destroyed, and the calls that make and destroy what is neither memory nor a
 * command pool. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
#define KIND_NAME(name) "Vk" #name,
    FAKE_KINDS(KIND_NAME)};

typedef struct Object {
  FakeKind kind;
  uint64_t handle;
  VkDevice device;
  uint64_t born; /* before so many submissions */
} Object;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Object *objects;
static size_t count, room;

/* -- the list --------------------------------------------------------------------------------- */

void fake_made(FakeKind kind, uint64_t handle, VkDevice device) {
  (void)pthread_mutex_lock(&mutex);
  if (count == room) {
    room = room ? room * 2 : 256;
    Object *grown = realloc(objects, room * sizeof *objects);
    if (!grown) abort();
    objects = grown;
  }
  objects[count++] = (Object){kind, handle, device, fake_submissions()};
  (void)pthread_mutex_unlock(&mutex);
}

static bool is_object(const Object *object, FakeKind kind, uint64_t handle, VkDevice device) {
  return object->kind == kind && object->handle == handle && object->device == device;
}

/* False if there is none. */
static bool take_out(FakeKind kind, uint64_t handle, VkDevice device, Object *out) {
  (void)pthread_mutex_lock(&mutex);
  size_t at = count;
  while (at > 0 && !is_object(&objects[at - 1], kind, handle, device)) at--;
  if (at > 0) *out = objects[at - 1];
  if (at > 0) objects[at - 1] = objects[--count];
  (void)pthread_mutex_unlock(&mutex);
  return at > 0;
}

bool fake_ends(FakeKind kind, uint64_t handle, VkDevice device) {
  const bool is_used = kind != FAKE_ShaderModule && kind != FAKE_PipelineCache; /* by what was submitted */
  Object object;
  if (!take_out(kind, handle, device, &object)) {
    fake_complain("a %s that does not live is destroyed", kind_names[kind]);
    return false;
  }
  const VkDevice of = kind == FAKE_Device ? (VkDevice)(uintptr_t)handle : device;
  if ((kind == FAKE_Buffer || kind == FAKE_DeviceMemory) && fake_is_staging(kind, handle)) return true;
  if (is_used && object.born < fake_submissions() && fake_is_busy(of))
    fake_complain("a %s is destroyed while the device works", kind_names[kind]);
  return true;
}

/* With the mutex. `device` NULL: of all. */
static int count_kind(size_t kind, VkDevice device) {
  int found = 0;
  for (size_t i = 0; i < count; i++)
    found += objects[i].kind == (FakeKind)kind && (!device || objects[i].device == device);
  return found;
}

int fake_vulkan_live(char *kinds, size_t bytes) {
  size_t used = 0;
  (void)pthread_mutex_lock(&mutex);
  const int live = (int)count;
  if (bytes > 0) kinds[0] = '\0';
  for (size_t kind = 0; kind < FAKE_KIND_COUNT; kind++) {
    const int found = count_kind(kind, NULL);
    if (found > 0 && used < bytes)
      used += (size_t)snprintf(kinds + used, bytes - used, " %d %s", found, kind_names[kind]);
  }
  (void)pthread_mutex_unlock(&mutex);
  return live;
}

void fake_count_orphans(VkDevice device) {
  for (size_t kind = 0; kind < FAKE_KIND_COUNT; kind++) {
    (void)pthread_mutex_lock(&mutex);
    const int found = count_kind(kind, device);
    (void)pthread_mutex_unlock(&mutex);
    if (found > 0) fake_complain("%d %s live when their device is destroyed", found, kind_names[kind]);
  }
}

/* -- making and destroying -------------------------------------------------------------------- */

#define OBJECT(name, info_type)                                                                                      \
  static VkResult VKAPI_CALL create_##name(VkDevice device, const info_type *info, const VkAllocationCallbacks *how, \
                                           Vk##name *out) {                                                          \
    FAKE_FAILS("Create" #name, device);                                                                              \
    const VkResult result = fake_real.device.Create##name(device, info, how, out);                                   \
    if (result == VK_SUCCESS) fake_made(FAKE_##name, FAKE_HANDLE(*out), device);                                     \
    return result;                                                                                                   \
  }                                                                                                                  \
  DESTROYED(name)

#define DESTROYED(name)                                                                                       \
  static void VKAPI_CALL destroy_##name(VkDevice device, Vk##name object, const VkAllocationCallbacks *how) { \
    if (object && fake_ends(FAKE_##name, FAKE_HANDLE(object), device))                                        \
      fake_real.device.Destroy##name(device, object, how);                                                    \
  }

OBJECT(QueryPool, VkQueryPoolCreateInfo)
OBJECT(PipelineLayout, VkPipelineLayoutCreateInfo)
DESTROYED(ShaderModule)
DESTROYED(PipelineCache)
DESTROYED(Pipeline)

static VkResult VKAPI_CALL create_shader(VkDevice device, const VkShaderModuleCreateInfo *info,
                                         const VkAllocationCallbacks *how, VkShaderModule *out) {
  FAKE_FAILS("CreateShaderModule", device);
  fake_check_module(info);
  if (fake_device()->matrices && fake_has_matrices(info)) return fake_result();
  const VkResult result = fake_real.device.CreateShaderModule(device, info, how, out);
  if (result == VK_SUCCESS) fake_made(FAKE_ShaderModule, FAKE_HANDLE(*out), device);
  return result;
}

static VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t wanted,
                                            const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *how,
                                            VkPipeline *out) {
  for (uint32_t i = 0; i < wanted; i++) out[i] = VK_NULL_HANDLE;
  FAKE_FAILS("CreateComputePipelines", device);
  const VkResult result = fake_real.device.CreateComputePipelines(device, cache, wanted, infos, how, out);
  for (uint32_t i = 0; i < wanted; i++)
    if (out[i]) fake_made(FAKE_Pipeline, FAKE_HANDLE(out[i]), device);
  return result;
}

/* -- caches of pipelines ---------------------------------------------------------------------- */

static const char garbage[] = "these are not pipelines";

/* The driver gets nothing of what the pretended one had given. */
static VkResult VKAPI_CALL create_cache(VkDevice device, const VkPipelineCacheCreateInfo *info,
                                        const VkAllocationCallbacks *how, VkPipelineCache *out) {
  VkPipelineCacheCreateInfo changed = *info;
  FAKE_FAILS("CreatePipelineCache", device);
  if (fake_device()->garbage) changed.initialDataSize = 0;
  const VkResult result = fake_real.device.CreatePipelineCache(device, &changed, how, out);
  if (result == VK_SUCCESS) fake_made(FAKE_PipelineCache, FAKE_HANDLE(*out), device);
  return result;
}

/* Garbage; or more bytes than there was room for. */
static VkResult VKAPI_CALL get_cache_data(VkDevice device, VkPipelineCache cache, size_t *bytes, void *data) {
  FAKE_FAILS("GetPipelineCacheData", device);
  if (fake_device()->garbage) {
    if (data) memcpy(data, garbage, *bytes < sizeof garbage ? *bytes : sizeof garbage);
    *bytes = sizeof garbage;
    return VK_SUCCESS;
  }
  const VkResult result = fake_real.device.GetPipelineCacheData(device, cache, bytes, data);
  if (data && fake_device()->lying) *bytes += 1 << 20;
  return result;
}

static VkResult VKAPI_CALL get_query(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t number, size_t bytes,
                                     void *data, VkDeviceSize stride, VkQueryResultFlags flags) {
  FAKE_FAILS("GetQueryPoolResults", device);
  return fake_real.device.GetQueryPoolResults(device, pool, first, number, bytes, data, stride, flags);
}

void fake_offer_objects(VulkanCalls *calls) {
#define OFFER(name) calls->Create##name = create_##name, calls->Destroy##name = destroy_##name
  OFFER(QueryPool);
  OFFER(PipelineLayout);
  calls->CreateShaderModule = create_shader;
  calls->DestroyShaderModule = destroy_ShaderModule;
  calls->CreateComputePipelines = create_pipelines;
  calls->DestroyPipeline = destroy_Pipeline;
  calls->CreatePipelineCache = create_cache;
  calls->DestroyPipelineCache = destroy_PipelineCache;
  calls->GetPipelineCacheData = get_cache_data;
  calls->GetQueryPoolResults = get_query;
}
