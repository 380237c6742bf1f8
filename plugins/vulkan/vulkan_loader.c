/* vulkan_loader.c - opens the loader of Vulkan and makes the instance of the process: see vulkan_loader.h. */
#include "vulkan_loader.h"

#include <burn/common/environment.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h>
#undef CreateSemaphore /* a name of Vulkan's, too */
static const char default_name[] = "vulkan-1.dll";
#else
#include <dlfcn.h>
static const char default_name[] = "libvulkan.so.1";
#endif

static VulkanInstance instance;
static char problem[240]; /* "" where the instance is there */

const char burn__vulkan_forked[] =
    "this process was forked when Vulkan was in use, whose drivers do not work in such a child: fork before the first "
    "device is opened, or exec";

/* -- the loader ------------------------------------------------------------------------------- */

/* ISO C has no cast between pointers to objects and to functions; all systems here have them of one size. */
#if defined(_WIN32)
static void watch_forks(void) {} /* there are none */

static bool open_loader(const char *name) {
  const HMODULE library = LoadLibraryA(name);
  const FARPROC found = library ? GetProcAddress(library, "vkGetInstanceProcAddr") : NULL;
  memcpy(&instance.global.GetInstanceProcAddr, &found, sizeof found);
  if (!library) (void)snprintf(problem, sizeof problem, "there is no Vulkan here (%.100s)", name);
  return library != NULL;
}
#else
static void child_of_fork(void) { instance.is_forked = true; }

static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, child_of_fork); }

static bool open_loader(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
  memcpy(&instance.global.GetInstanceProcAddr, &found, sizeof found);
  if (!library) (void)snprintf(problem, sizeof problem, "there is no Vulkan here (%.100s)", name);
  return library != NULL;
}
#endif

/* -- tables ----------------------------------------------------------------------------------- */

#define LOAD(table, name, ask, from)                       \
  (table)->name = (PFN_vk##name)(ask)((from), "vk" #name); \
  if (!(table)->name && !missing) missing = "vk" #name;

static const char *load_global(VulkanGlobalCalls *calls) {
  const char *missing = NULL;
#define VULKAN_GLOBAL(name) LOAD(calls, name, calls->GetInstanceProcAddr, NULL)
#include "vulkan_calls.def"
  return missing;
}

static const char *load_instance(VulkanInstanceCalls *calls) {
  const char *missing = NULL;
#define VULKAN_INSTANCE(name) LOAD(calls, name, instance.global.GetInstanceProcAddr, instance.handle)
#include "vulkan_calls.def"
  return missing;
}

bool burn__vulkan_load_calls(const VulkanInstance *of, VkDevice device, VulkanCalls *calls, char *why,
                             size_t why_bytes) {
  const char *missing = NULL;
#define VULKAN_DEVICE(name) LOAD(calls, name, of->calls.GetDeviceProcAddr, device)
#include "vulkan_calls.def"
  if (missing) (void)snprintf(why, why_bytes, "the driver has no %s", missing);
  return !missing;
}

/* -- the instance ----------------------------------------------------------------------------- */

static void say_result(const char *what, VkResult result) {
  char text[32];
  (void)snprintf(problem, sizeof problem, "%s: %s", what, burn__vulkan_result_text(result, text));
}

static bool check_version(void) {
  uint32_t version = VK_API_VERSION_1_0;
  const VkResult result = instance.global.EnumerateInstanceVersion(&version);
  if (result != VK_SUCCESS) say_result("the Vulkan loader does not tell its version", result);
  if (result == VK_SUCCESS && version < VK_API_VERSION_1_3)
    (void)snprintf(problem, sizeof problem, "the Vulkan loader is of version %u.%u; 1.3 is needed: update it",
                   VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  return !problem[0];
}

/* Layers are the user's business: none is asked for. */
static bool make_handle(void) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .pApplicationName = "burn",
                                         .pEngineName = "burn",
                                         .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  const VkResult result = instance.global.CreateInstance(&info, NULL, &instance.handle);
  if (result == VK_SUCCESS) return true;
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    (void)snprintf(problem, sizeof problem, "the Vulkan loader finds no driver");
  } else {
    say_result("vkCreateInstance", result);
  }
  return false;
}

static void list_devices(void) {
  uint32_t count = VULKAN_MAX_DEVICES;
  const VkResult result = instance.calls.EnumeratePhysicalDevices(instance.handle, &count, instance.devices);
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
    say_result("vkEnumeratePhysicalDevices", result);
    return;
  }
  instance.device_count = count < VULKAN_MAX_DEVICES ? count : VULKAN_MAX_DEVICES;
  if (count == 0) (void)snprintf(problem, sizeof problem, "Vulkan knows no device");
}

static void make_instance(void) {
  const char *named = burn_common_trusted_variable("BURN_VULKAN_LOADER"); /* another file, as tests have */
  if (!open_loader(named && named[0] ? named : default_name)) return;
  const char *missing = instance.global.GetInstanceProcAddr ? NULL : "vkGetInstanceProcAddr";
  if (!missing) missing = load_global(&instance.global);
  if (!missing && (!check_version() || !make_handle())) return;
  if (!missing) missing = load_instance(&instance.calls);
  if (missing) {
    (void)snprintf(problem, sizeof problem, "the Vulkan loader has no %s", missing);
    return;
  }
  watch_forks();
  list_devices();
}

const VulkanInstance *burn__vulkan_instance(char *why, size_t why_bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, make_instance);
  const char *reason = instance.is_forked ? burn__vulkan_forked : problem;
  if (why_bytes > 0) (void)snprintf(why, why_bytes, "%s", reason);
  return reason[0] ? NULL : &instance;
}

/* -- results ---------------------------------------------------------------------------------- */

const char *burn__vulkan_result_text(VkResult result, char text[32]) {
#define NAMED(name) \
  case name:        \
    return #name;
  switch (result) {
    NAMED(VK_SUCCESS)
    NAMED(VK_NOT_READY)
    NAMED(VK_TIMEOUT)
    NAMED(VK_INCOMPLETE)
    NAMED(VK_ERROR_OUT_OF_HOST_MEMORY)
    NAMED(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    NAMED(VK_ERROR_INITIALIZATION_FAILED)
    NAMED(VK_ERROR_DEVICE_LOST)
    NAMED(VK_ERROR_MEMORY_MAP_FAILED)
    NAMED(VK_ERROR_LAYER_NOT_PRESENT)
    NAMED(VK_ERROR_EXTENSION_NOT_PRESENT)
    NAMED(VK_ERROR_FEATURE_NOT_PRESENT)
    NAMED(VK_ERROR_INCOMPATIBLE_DRIVER)
    NAMED(VK_ERROR_TOO_MANY_OBJECTS)
    NAMED(VK_ERROR_FRAGMENTED_POOL)
    NAMED(VK_ERROR_INVALID_EXTERNAL_HANDLE)
    NAMED(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
    NAMED(VK_ERROR_UNKNOWN)
    default:
      (void)snprintf(text, 32, "VkResult %d", (int)result);
      return text;
  }
#undef NAMED
}
