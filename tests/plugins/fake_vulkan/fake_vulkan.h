/* fake_vulkan.h - what the files of the library that stands in for Vulkan's loader share. */
#ifndef BURN_FAKE_VULKAN_H
#define BURN_FAKE_VULKAN_H

#include "vulkan_loader.h"

/* -- fake_vulkan.c: where calls go to ---------------------------------------------------------- */

/* The functions of the loader that is stood in for. */
typedef struct FakeReal {
  VulkanGlobalCalls global;
  VulkanInstanceCalls instance;
  VulkanCalls device; /* of the instance: for any device */
} FakeReal;
extern FakeReal fake_real;

/* Each file puts its functions into the tables; what none has put in goes to the real loader at once. */
void fake_offer_instance(VulkanGlobalCalls *global, VulkanInstanceCalls *instance);
void fake_offer_memory(VulkanCalls *calls);
void fake_offer_objects(VulkanCalls *calls);
void fake_offer_queue(VulkanCalls *calls);
void fake_offer_commands(VulkanCalls *calls);

/* Ours by that name, or the real one; NULL where there is none, or is not to be (BURN_FAKE_VULKAN_MISSING). */
PFN_vkVoidFunction fake_function(const char *name);

/* What is wrong with the program that calls: told at once, and counted. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void fake_complain(const char *format, ...);

/* -- fake_alone.c: no loader -------------------------------------------------------------------- */

/* True with BURN_FAKE_VULKAN_LOADER=alone; then the real functions are those of a loader with one device that cannot be
 * opened. */
bool fake_is_alone(void);
void fake_be_alone(FakeReal *real);

/* -- fake_failures.c ---------------------------------------------------------------------------- */

/* Counts a call that can fail, before it is made. Not VK_SUCCESS: it is to fail with that. `handle` is the device, one of
 * its queues or command buffers; NULL for calls of an instance. */
VkResult fake_next(const char *name, const void *handle);

/* How calls fail that are to: BURN_FAKE_VULKAN_RESULT. */
VkResult fake_result(void);

#define FAKE_FAILS(name, handle)                          \
  do {                                                    \
    const VkResult failed = fake_next("vk" name, handle); \
    if (failed != VK_SUCCESS) return failed;              \
  } while (0)

/* -- fake_devices.c ------------------------------------------------------------------------------ */

/* Whose a queue or a command buffer is, or the device itself; NULL: nobody's. */
void fake_belongs(const void *child, VkDevice device);
VkDevice fake_device_of(const void *handle);
void fake_forget_device(VkDevice device);

/* True once a call of the device has failed with VK_ERROR_DEVICE_LOST. */
bool fake_is_lost(const void *handle);
void fake_lose(const void *handle);
/* A wait has ended before its time. */
void fake_time_out(void);
/* A call is made, which a lost device must not be asked for unless it waits or destroys. */
void fake_note(const char *name, const void *handle);

/* -- fake_device.c: the device as it is pretended to be ------------------------------------------ */

/* Words of BURN_FAKE_VULKAN_DEVICE (README.md); 0: as it is. */
typedef struct FakeDevice {
  uint64_t shared, threads, groups, allocation, buffer, heap, push, subgroup, version, loader, devices;
  bool no_shuffle, no_controls, no_devices, many_devices, no_queues, no_clock, discrete, uncached, incoherent, hidden,
      endless, growing, lying, garbage, matrices;
} FakeDevice;
const FakeDevice *fake_device(void);

/* True if the device is to lack a feature, by its name in vulkan_features.def. */
bool fake_lacks(const char *feature);

/* A type of memory that is shown: what it is said to be, and the one that stands for it. */
typedef struct FakeType {
  VkMemoryPropertyFlags flags;
  uint32_t heap, real;
  bool can_map; /* really */
} FakeType;
const FakeType *fake_type(uint32_t index); /* NULL: there is none */
uint32_t fake_type_count(void);
void fake_learn_types(VkPhysicalDevice physical);

/* -- fake_objects.c ------------------------------------------------------------------------------ */

#define FAKE_KINDS(X) \
  X(Device)           \
  X(DeviceMemory)     \
  X(Buffer) X(Semaphore) X(QueryPool) X(ShaderModule) X(PipelineLayout) X(Pipeline) X(PipelineCache) X(CommandPool)
#define FAKE_KIND(name) FAKE_##name,
typedef enum FakeKind { FAKE_KINDS(FAKE_KIND) FAKE_KIND_COUNT } FakeKind;

#define FAKE_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))
/* One was made; one is to be destroyed: false if there is no such, which is told, as it is if it may be in use. */
void fake_made(FakeKind kind, uint64_t handle, VkDevice device);
bool fake_ends(FakeKind kind, uint64_t handle, VkDevice device);
/* Tells of what still lives of a device. */
void fake_count_orphans(VkDevice device);

/* -- fake_memory.c ------------------------------------------------------------------------------- */

uint64_t fake_memory_used(void);
/* A copy uses a buffer. Memory that the program maps and copies from or to may go when the copy is done, with other work
 * in the queue; of all other nobody knows who uses it. */
void fake_see_copy(VkBuffer buffer);
bool fake_is_staging(FakeKind kind, uint64_t handle);

/* -- fake_queue.c -------------------------------------------------------------------------------- */

/* True while something that was submitted to a device has not been done, unless it was lost. */
bool fake_is_busy(VkDevice device);
/* How often something was submitted, to any. */
uint64_t fake_submissions(void);

/* -- fake_barriers.c ----------------------------------------------------------------------------- */

typedef enum FakeWork { FAKE_KERNEL, FAKE_COPY, FAKE_HOST, FAKE_WORKS } FakeWork;
/* What is recorded into command buffers, and what of it is submitted to a device. */
void fake_see_begin(VkCommandBuffer commands);
void fake_see_barrier(VkCommandBuffer commands, const VkDependencyInfo *info);
void fake_see_work(VkCommandBuffer commands, FakeWork work);
void fake_see_submission(VkDevice device, const VkSubmitInfo2 *info);
/* All that was submitted is done; `is_gone`: the device was destroyed. */
void fake_see_end(VkDevice device, bool is_gone);

/* -- fake_backwards.c ---------------------------------------------------------------------------- */

/* Between two barriers kernels may run in any order: with BURN_FAKE_VULKAN_BACKWARDS=1 the last one runs first. So they
 * are kept, with their pipeline and push constants, until something else is recorded. */
void fake_keep_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline);
void fake_keep_constants(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset,
                         uint32_t bytes, const void *values);
void fake_keep_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z);
void fake_let_go(VkCommandBuffer commands);
/* True for the barrier that BURN_FAKE_VULKAN_SKIP names: the n-th between kernels, which is left out. */
bool fake_skips(const VkDependencyInfo *info);

/* -- fake_spirv.c -------------------------------------------------------------------------------- */

/* Tells what a module asks for that the pretended device has not. */
void fake_check_module(const VkShaderModuleCreateInfo *info);

/* -- fake_matrices.c: the word `matrices` --------------------------------------------------------- */

void fake_show_matrices(const void *chain); /* of features */
/* The extension, after those of a list with that room and result. */
VkResult fake_add_extension(VkResult result, uint32_t room, uint32_t *count, VkExtensionProperties *out);
PFN_vkVoidFunction fake_matrix_function(const char *name); /* NULL: it is none of these */
VkResult fake_create_without_matrices(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                      const VkAllocationCallbacks *how, VkDevice *out);
bool fake_has_matrices(const VkShaderModuleCreateInfo *info);

/* -- for programs, by dlsym ----------------------------------------------------------------------- */

/* Calls that could have failed; complaints; 1: a wait was made to time out; objects that live, and of what kinds. */
__attribute__((visibility("default"))) int fake_vulkan_calls(void);
__attribute__((visibility("default"))) int fake_vulkan_complaints(void);
__attribute__((visibility("default"))) int fake_vulkan_timed_out(void);
/* Barriers between kernels that were recorded. */
__attribute__((visibility("default"))) int fake_vulkan_barriers(void);
__attribute__((visibility("default"))) int fake_vulkan_live(char *kinds, size_t bytes);
/* From here on as BURN_FAKE_VULKAN_FAIL says, counting anew; NULL: nothing fails. */
__attribute__((visibility("default"))) void fake_vulkan_fail(const char *which, const char *result);

#endif
