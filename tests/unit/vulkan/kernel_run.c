/* kernel_run.c - a device, a buffer, a pipeline for each run. */
#include "kernel_run.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

enum { MAX_PARAMETERS = 4096, MAX_FAMILIES = 16, GROUPS_OF_A_ROW = 3 };

/* X(name) of an instance, of a device. */
#define INSTANCE_CALLS(X)                   \
  X(EnumeratePhysicalDevices)               \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(GetPhysicalDeviceMemoryProperties)      \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(CreateDevice)                           \
  X(GetDeviceProcAddr)
#define DEVICE_CALLS(X)          \
  X(DestroyDevice)               \
  X(GetDeviceQueue)              \
  X(CreateBuffer)                \
  X(DestroyBuffer)               \
  X(GetBufferMemoryRequirements) \
  X(AllocateMemory)              \
  X(FreeMemory)                  \
  X(BindBufferMemory)            \
  X(MapMemory)                   \
  X(GetBufferDeviceAddress)      \
  X(CreatePipelineLayout)        \
  X(DestroyPipelineLayout)       \
  X(CreateShaderModule)          \
  X(DestroyShaderModule)         \
  X(CreateComputePipelines)      \
  X(DestroyPipeline)             \
  X(CreateCommandPool)           \
  X(DestroyCommandPool)          \
  X(ResetCommandPool)            \
  X(AllocateCommandBuffers)      \
  X(BeginCommandBuffer)          \
  X(EndCommandBuffer)            \
  X(CmdBindPipeline)             \
  X(CmdPushConstants)            \
  X(CmdDispatch)                 \
  X(CmdPipelineBarrier)          \
  X(QueueSubmit)                 \
  X(QueueWaitIdle)

struct KernelRunner {
  void *library;
#define DECLARE_CALL(name) PFN_vk##name name;
  INSTANCE_CALLS(DECLARE_CALL)
  DEVICE_CALLS(DECLARE_CALL)
#undef DECLARE_CALL
  VkInstance instance;
  VkPhysicalDevice physical;
  VkPhysicalDeviceProperties2 properties;
  VkPhysicalDeviceVulkan12Properties properties12;
  VkDevice device;
  VkQueue queue;
  uint32_t family;
  VkBuffer buffer;
  VkDeviceMemory memory;
  unsigned char *mapped;
  uint64_t address;
  VkPipelineLayout layout;
  VkCommandPool pool;
  VkCommandBuffer commands;
};

/* What drivers do not give back is none of our leaks. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libvulkan\nleak:libLLVM\n"; }

/* -- instance and device ---------------------------------------------------------------------- */

static const char *open_instance(KernelRunner *runner) {
  runner->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!runner->library) return "there is no libvulkan.so.1";
  PFN_vkGetInstanceProcAddr find = NULL;
  *(void **)(void *)&find = dlsym(runner->library, "vkGetInstanceProcAddr");
  if (!find) return "libvulkan.so.1 has no vkGetInstanceProcAddr";
  const PFN_vkCreateInstance create = (PFN_vkCreateInstance)find(NULL, "vkCreateInstance");
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  if (!create || create(&info, NULL, &runner->instance) != VK_SUCCESS) return "vkCreateInstance has failed";
#define FIND_CALL(name)                                            \
  runner->name = (PFN_vk##name)find(runner->instance, "vk" #name); \
  if (!runner->name) return "the loader has no vk" #name;
  INSTANCE_CALLS(FIND_CALL)
#undef FIND_CALL
  return NULL;
}

static const char *find_device(KernelRunner *runner) {
  VkQueueFamilyProperties families[MAX_FAMILIES];
  uint32_t count = 1, family_count = MAX_FAMILIES;
  const VkResult found = runner->EnumeratePhysicalDevices(runner->instance, &count, &runner->physical);
  if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || count == 0) return "there is no Vulkan device";
  runner->properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  runner->properties = (VkPhysicalDeviceProperties2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                                     .pNext = &runner->properties12};
  runner->GetPhysicalDeviceProperties2(runner->physical, &runner->properties);
  if (runner->properties.properties.apiVersion < VK_API_VERSION_1_2) return "the device is older than Vulkan 1.2";
  runner->GetPhysicalDeviceQueueFamilyProperties(runner->physical, &family_count, families);
  while (runner->family < family_count && !(families[runner->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    runner->family++;
  return runner->family < family_count ? NULL : "the device does not compute";
}

typedef struct Features {
  VkPhysicalDeviceFeatures2 all;
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
} Features;

static void link_features(Features *features) {
  features->all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  features->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features->all.pNext = &features->v11;
  features->v11.pNext = &features->v12;
}

/* What every module asks for. */
static void choose_features(Features *to, const Features *from) {
  link_features(to);
  to->all.features.shaderFloat64 = from->all.features.shaderFloat64;
  to->all.features.shaderInt64 = from->all.features.shaderInt64;
  to->all.features.shaderInt16 = from->all.features.shaderInt16;
  to->v11.storageBuffer16BitAccess = from->v11.storageBuffer16BitAccess;
  to->v12.storageBuffer8BitAccess = from->v12.storageBuffer8BitAccess;
  to->v12.shaderInt8 = from->v12.shaderInt8;
  to->v12.bufferDeviceAddress = from->v12.bufferDeviceAddress;
}

static bool has_features(const Features *features) {
  return features->all.features.shaderFloat64 && features->all.features.shaderInt64 &&
         features->all.features.shaderInt16 && features->v11.storageBuffer16BitAccess &&
         features->v12.storageBuffer8BitAccess && features->v12.shaderInt8 && features->v12.bufferDeviceAddress;
}

static const char *open_device(KernelRunner *runner) {
  Features there = {.all = {.pNext = NULL}}, wanted = {.all = {.pNext = NULL}};
  const float priority = 1.0f;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = runner->family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  link_features(&there);
  runner->GetPhysicalDeviceFeatures2(runner->physical, &there.all);
  if (!has_features(&there)) return "the device lacks addresses, or numbers of some width";
  choose_features(&wanted, &there);
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &wanted.all,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue};
  if (runner->CreateDevice(runner->physical, &info, NULL, &runner->device) != VK_SUCCESS)
    return "vkCreateDevice has failed";
#define FIND_CALL(name)                                                               \
  runner->name = (PFN_vk##name)runner->GetDeviceProcAddr(runner->device, "vk" #name); \
  if (!runner->name) return "the device has no vk" #name;
  DEVICE_CALLS(FIND_CALL)
#undef FIND_CALL
  runner->GetDeviceQueue(runner->device, runner->family, 0, &runner->queue);
  return NULL;
}

/* -- memory ----------------------------------------------------------------------------------- */

static const char *allocate(KernelRunner *runner, const VkMemoryRequirements *needs) {
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties types;
  uint32_t i = 0;
  runner->GetPhysicalDeviceMemoryProperties(runner->physical, &types);
  while (i < types.memoryTypeCount &&
         !((needs->memoryTypeBits >> i & 1u) != 0 && (types.memoryTypes[i].propertyFlags & wanted) == wanted))
    i++;
  if (i == types.memoryTypeCount) return "the device shares no memory with the host";
  const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = &flags,
                                     .allocationSize = needs->size,
                                     .memoryTypeIndex = i};
  const bool is_there = runner->AllocateMemory(runner->device, &info, NULL, &runner->memory) == VK_SUCCESS;
  return is_there ? NULL : "vkAllocateMemory has failed";
}

static const char *make_buffer(KernelRunner *runner) {
  const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = KERNEL_RUNNER_BYTES + MAX_PARAMETERS,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  VkMemoryRequirements needs;
  void *mapped = NULL;
  if (runner->CreateBuffer(runner->device, &info, NULL, &runner->buffer) != VK_SUCCESS)
    return "vkCreateBuffer has failed";
  runner->GetBufferMemoryRequirements(runner->device, runner->buffer, &needs);
  const char *why = allocate(runner, &needs);
  if (why) return why;
  if (runner->BindBufferMemory(runner->device, runner->buffer, runner->memory, 0) != VK_SUCCESS ||
      runner->MapMemory(runner->device, runner->memory, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS)
    return "memory cannot be mapped";
  const VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = runner->buffer};
  runner->address = runner->GetBufferDeviceAddress(runner->device, &address);
  runner->mapped = mapped;
  return NULL;
}

static const char *make_commands(KernelRunner *runner) {
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, KERNEL_PUSH_BYTES};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &range};
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = runner->family};
  if (runner->CreatePipelineLayout(runner->device, &layout, NULL, &runner->layout) != VK_SUCCESS ||
      runner->CreateCommandPool(runner->device, &pool, NULL, &runner->pool) != VK_SUCCESS)
    return "no pipeline layout, or no commands";
  const VkCommandBufferAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = runner->pool, .commandBufferCount = 1};
  const VkResult result = runner->AllocateCommandBuffers(runner->device, &info, &runner->commands);
  return result == VK_SUCCESS ? NULL : "vkAllocateCommandBuffers has failed";
}

KernelRunner *kernel_runner_open(const char **why) {
  static const char *(*const steps[])(KernelRunner *) = {open_instance, find_device, open_device, make_buffer,
                                                         make_commands};
  KernelRunner *runner = calloc(1, sizeof *runner);
  *why = runner ? NULL : "no memory";
  for (size_t i = 0; !*why && i < sizeof steps / sizeof steps[0]; i++) *why = steps[i](runner);
  if (!*why) return runner;
  kernel_runner_close(runner);
  return NULL;
}

void kernel_runner_close(KernelRunner *runner) {
  if (!runner) return;
  if (runner->pool) runner->DestroyCommandPool(runner->device, runner->pool, NULL);
  if (runner->layout) runner->DestroyPipelineLayout(runner->device, runner->layout, NULL);
  if (runner->buffer) runner->DestroyBuffer(runner->device, runner->buffer, NULL);
  if (runner->memory) runner->FreeMemory(runner->device, runner->memory, NULL);
  if (runner->device && runner->DestroyDevice) runner->DestroyDevice(runner->device, NULL);
  free(runner); /* the instance stays, so that the driver is not unloaded, whose leaks then have its name */
}

KernelTarget kernel_runner_target(const KernelRunner *runner) {
  const VkPhysicalDeviceVulkan12Properties *p = &runner->properties12;
  return (KernelTarget){
      .keeps_subnormals = {p->shaderDenormPreserveFloat16 != 0, p->shaderDenormPreserveFloat32 != 0,
                           p->shaderDenormPreserveFloat64 != 0},
      .keeps_nan = {p->shaderSignedZeroInfNanPreserveFloat16 != 0, p->shaderSignedZeroInfNanPreserveFloat32 != 0,
                    p->shaderSignedZeroInfNanPreserveFloat64 != 0},
      .rounds_to_nearest = {p->shaderRoundingModeRTEFloat16 != 0, p->shaderRoundingModeRTEFloat32 != 0,
                            p->shaderRoundingModeRTEFloat64 != 0}};
}

const char *kernel_runner_device(const KernelRunner *runner) { return runner->properties.properties.deviceName; }
unsigned char *kernel_runner_memory(const KernelRunner *runner) { return runner->mapped; }
uint64_t kernel_runner_address(const KernelRunner *runner) { return runner->address; }

/* -- a run ------------------------------------------------------------------------------------ */

static const char *make_pipeline(KernelRunner *runner, const KernelModule *module, VkPipeline *out) {
  const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = module->word_count * sizeof *module->words,
                                         .pCode = module->words};
  VkShaderModule shader = VK_NULL_HANDLE;
  if (runner->CreateShaderModule(runner->device, &code, NULL, &shader) != VK_SUCCESS)
    return "vkCreateShaderModule has failed";
  const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = shader,
                                                      .pName = "main"},
                                            .layout = runner->layout};
  const VkResult result = runner->CreateComputePipelines(runner->device, VK_NULL_HANDLE, 1, &info, NULL, out);
  runner->DestroyShaderModule(runner->device, shader, NULL);
  return result == VK_SUCCESS ? NULL : "vkCreateComputePipelines has failed";
}

/* The parameters themselves, or their address after the memory. */
static void push(KernelRunner *runner, const KernelModule *module, const void *parameters, uint32_t groups) {
  unsigned char words[KERNEL_PUSH_BYTES] = {0};
  const uint64_t address = runner->address + KERNEL_RUNNER_BYTES;
  memcpy(words, &groups, sizeof groups);
  if (module->in_push_constants)
    memcpy(words + KERNEL_PARAMETERS_AT, parameters, module->parameter_bytes);
  else
    memcpy(words + KERNEL_PARAMETERS_AT, &address, sizeof address);
  memcpy(runner->mapped + KERNEL_RUNNER_BYTES, parameters, module->parameter_bytes);
  runner->CmdPushConstants(runner->commands, runner->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof words, words);
}

static const char *dispatch(KernelRunner *runner, VkPipeline pipeline, const KernelModule *module,
                            const void *parameters, uint32_t groups) {
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  if (runner->ResetCommandPool(runner->device, runner->pool, 0) != VK_SUCCESS ||
      runner->BeginCommandBuffer(runner->commands, &begin) != VK_SUCCESS)
    return "no commands";
  runner->CmdBindPipeline(runner->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  push(runner, module, parameters, groups);
  /* in rows, the last of which has groups too many */
  runner->CmdDispatch(runner->commands, GROUPS_OF_A_ROW, (groups + GROUPS_OF_A_ROW - 1) / GROUPS_OF_A_ROW, 1);
  runner->CmdPipelineBarrier(runner->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                             &barrier, 0, NULL, 0, NULL);
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &runner->commands};
  if (runner->EndCommandBuffer(runner->commands) != VK_SUCCESS ||
      runner->QueueSubmit(runner->queue, 1, &submit, VK_NULL_HANDLE) != VK_SUCCESS ||
      runner->QueueWaitIdle(runner->queue) != VK_SUCCESS)
    return "the kernel has not come to its end";
  return NULL;
}

const char *kernel_runner_run(KernelRunner *runner, const KernelModule *module, const void *parameters,
                              uint32_t groups) {
  VkPipeline pipeline = VK_NULL_HANDLE;
  if (module->parameter_bytes > MAX_PARAMETERS) return "more than 4096 bytes of parameters";
  const char *why = make_pipeline(runner, module, &pipeline);
  if (!why) why = dispatch(runner, pipeline, module, parameters, groups);
  if (pipeline) runner->DestroyPipeline(runner->device, pipeline, NULL);
  return why;
}
