/* fake_vulkan.c - stands in for Vulkan's loader, named in BURN_VULKAN_LOADER: calls go through it to the real one, and
 * some fail, some are told less than the truth, all are watched. README.md has the variables. */
#include "fake_vulkan.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FakeReal fake_real;

/* What is offered in their place. */
static VulkanGlobalCalls global;
static VulkanInstanceCalls instance;
static VulkanCalls device;

static VkInstance known; /* whose functions were learned */
static atomic_int complaints;

/* -- complaints ------------------------------------------------------------------------------- */

void fake_complain(const char *format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  atomic_fetch_add(&complaints, 1);
  (void)fprintf(stderr, "fake_vulkan: %s\n", text);
}

int fake_vulkan_complaints(void) { return atomic_load(&complaints); }

/* -- the real loader -------------------------------------------------------------------------- */

static void open_real(void) {
  const char *named = getenv("BURN_FAKE_VULKAN_LOADER");
  if (fake_is_alone()) {
    fake_be_alone(&fake_real);
    return;
  }
  void *library = dlopen(named && named[0] ? named : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
  memcpy(&fake_real.global.GetInstanceProcAddr, &found, sizeof found);
  if (!found) fake_complain("the real loader cannot be opened: %s", library ? "it is none" : dlerror());
}

static void start(void) {
  open_real();
  fake_offer_instance(&global, &instance);
  fake_offer_memory(&device);
  fake_offer_objects(&device);
  fake_offer_queue(&device);
  fake_offer_commands(&device);
}

/* -- names ------------------------------------------------------------------------------------ */

/* The real function of an instance, which is remembered where the functions here want it. */
static PFN_vkVoidFunction ask(VkInstance of, const char *name) {
  return fake_real.global.GetInstanceProcAddr ? fake_real.global.GetInstanceProcAddr(of, name) : NULL;
}

#define LEARN(table, name) (table).name = (PFN_vk##name)ask(of, "vk" #name);

static void learn_global(void) {
  const VkInstance of = NULL;
#define VULKAN_GLOBAL(name) LEARN(fake_real.global, name)
#include "vulkan_calls.def"
}

static void learn_instance(VkInstance of) {
  known = of;
#define VULKAN_INSTANCE(name) LEARN(fake_real.instance, name)
#define VULKAN_DEVICE(name) LEARN(fake_real.device, name)
#include "vulkan_calls.def"
}

/* Ours where there is one, and the real one is there, too. */
#define FIND(ours, real, call)       \
  if (strcmp(name, "vk" #call) == 0) \
    return (PFN_vkVoidFunction)((ours).call && (real).call ? (ours).call : (real).call);

static PFN_vkVoidFunction find(const char *name) {
#define VULKAN_GLOBAL(call) FIND(global, fake_real.global, call)
#define VULKAN_INSTANCE(call) FIND(instance, fake_real.instance, call)
#define VULKAN_DEVICE(call) FIND(device, fake_real.device, call)
#include "vulkan_calls.def"
  return fake_matrix_function(name);
}

PFN_vkVoidFunction fake_function(const char *name) {
  const char *missing = getenv("BURN_FAKE_VULKAN_MISSING");
  if (missing && strcmp(name, missing) == 0) return NULL;
  const PFN_vkVoidFunction found = find(name);
  return found || fake_is_alone() ? found : ask(known, name);
}

__attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance of, const char *name);

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance of, const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, start);
  if (!fake_is_alone() && !of) learn_global();
  if (!fake_is_alone() && of && of != known) learn_instance(of);
  return fake_function(name);
}

/* -- at the end ------------------------------------------------------------------------------- */

/* What the run was, as lines of a name and a number, into the file BURN_FAKE_VULKAN_REPORT. */
__attribute__((destructor)) static void report(void) {
  char kinds[200];
  const char *path = getenv("BURN_FAKE_VULKAN_REPORT");
  FILE *file = path && path[0] ? fopen(path, "w") : NULL;
  if (!file) return;
  const int live = fake_vulkan_live(kinds, sizeof kinds);
  (void)fprintf(file, "calls %d\ncomplaints %d\nlive %d%s\n", fake_vulkan_calls(), fake_vulkan_complaints(), live,
                kinds);
  (void)fclose(file);
}
