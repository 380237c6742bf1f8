/* fake_devices.c - the devices that are open: whose a queue or a command buffer is, and which of them were lost. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_DEVICES = 64, MAX_CHILDREN = 4096 };

/* A device is its own child. */
typedef struct Child {
  const void *handle;
  VkDevice device;
} Child;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Child children[MAX_CHILDREN];
static size_t child_count;
static VkDevice lost[MAX_DEVICES];
static size_t lost_count;
static atomic_bool has_timed_out;

void fake_belongs(const void *child, VkDevice device) {
  (void)pthread_mutex_lock(&mutex);
  if (child_count < MAX_CHILDREN) children[child_count++] = (Child){child, device};
  (void)pthread_mutex_unlock(&mutex);
}

VkDevice fake_device_of(const void *handle) {
  VkDevice device = NULL;
  (void)pthread_mutex_lock(&mutex);
  for (size_t i = child_count; i-- > 0 && !device;)
    if (children[i].handle == handle) device = children[i].device;
  (void)pthread_mutex_unlock(&mutex);
  return device;
}

/* With the mutex. */
static void forget_lost(VkDevice device) {
  size_t kept = 0;
  for (size_t i = 0; i < lost_count; i++)
    if (lost[i] != device) lost[kept++] = lost[i];
  lost_count = kept;
}

/* A new one may have the handle of one that is gone. */
void fake_forget_device(VkDevice device) {
  size_t kept = 0;
  (void)pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < child_count; i++)
    if (children[i].device != device) children[kept++] = children[i];
  child_count = kept;
  forget_lost(device);
  (void)pthread_mutex_unlock(&mutex);
}

/* -- what was lost ---------------------------------------------------------------------------- */

bool fake_is_lost(const void *handle) {
  const VkDevice device = fake_device_of(handle);
  bool found = false;
  (void)pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < lost_count && device; i++) found |= lost[i] == device;
  (void)pthread_mutex_unlock(&mutex);
  return found;
}

void fake_lose(const void *handle) {
  const VkDevice device = fake_device_of(handle);
  (void)pthread_mutex_lock(&mutex);
  if (device && lost_count < MAX_DEVICES) lost[lost_count++] = device;
  (void)pthread_mutex_unlock(&mutex);
}

void fake_time_out(void) { atomic_store(&has_timed_out, true); }
int fake_vulkan_timed_out(void) { return atomic_load(&has_timed_out); }

/* Waits, and what asks how far the device came: the driver says that it is lost. */
static bool is_wait(const char *name) {
  return strcmp(name, "vkDeviceWaitIdle") == 0 || strcmp(name, "vkWaitSemaphores") == 0 ||
         strcmp(name, "vkGetSemaphoreCounterValue") == 0;
}

static bool is_ending(const char *name) {
  return strncmp(name, "vkDestroy", 9) == 0 || strncmp(name, "vkFree", 6) == 0;
}

void fake_note(const char *name, const void *handle) {
  if (!is_wait(name) && !is_ending(name) && fake_is_lost(handle)) fake_complain("%s after the device was lost", name);
}
