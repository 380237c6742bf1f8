/* fake_queue.c - submissions and waits. With BURN_FAKE_VULKAN_LATE=1 the device is as late as it may be: it begins with
 * what was submitted when the host waits for it, or has asked for it a few times. What touches memory too early shows. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_HELD = 64, MAX_TIMELINES = 64, PATIENCE = 3 };

enum { MAX_BUFFERS = 2 };

/* Command buffers that are held back, and the value that they signal. */
typedef struct Held {
  VkDevice device;
  VkQueue queue;
  VkCommandBufferSubmitInfo commands[MAX_BUFFERS];
  uint32_t count;
  VkSemaphoreSubmitInfo signal;
} Held;

/* The last value that a device was told to signal. */
typedef struct Timeline {
  VkDevice device;
  VkSemaphore semaphore;
  uint64_t value;
} Timeline;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Held held[MAX_HELD];
static uint32_t held_count;
static int asked;
static Timeline timelines[MAX_TIMELINES];
static atomic_ullong submissions;

/* -- how far it came -------------------------------------------------------------------------- */

/* With the mutex: the device's, or a free place; NULL where there is none. */
static Timeline *timeline_of(VkDevice device) {
  Timeline *found = NULL;
  for (int i = 0; i < MAX_TIMELINES; i++) {
    if (timelines[i].device == device) return &timelines[i];
    if (!timelines[i].device) found = &timelines[i];
  }
  return found;
}

static void note_signal(VkDevice device, const VkSemaphoreSubmitInfo *signal) {
  Timeline *timeline = timeline_of(device);
  if (timeline) *timeline = (Timeline){device, signal->semaphore, signal->value};
}

/* Nothing of it is held back, or counts as at work. */
static void forget(VkDevice device) {
  uint32_t kept = 0;
  (void)pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < held_count; i++)
    if (held[i].device != device) held[kept++] = held[i];
  held_count = kept;
  Timeline *timeline = timeline_of(device);
  if (timeline) *timeline = (Timeline){NULL, VK_NULL_HANDLE, 0};
  (void)pthread_mutex_unlock(&mutex);
}

uint64_t fake_submissions(void) { return atomic_load(&submissions); }

bool fake_is_busy(VkDevice device) {
  uint64_t value = 0;
  bool is_busy = false;
  if (fake_is_lost(device)) return false;
  (void)pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < held_count; i++) is_busy |= held[i].device == device;
  const Timeline *timeline = timeline_of(device);
  if (timeline && timeline->semaphore &&
      fake_real.device.GetSemaphoreCounterValue(device, timeline->semaphore, &value) == VK_SUCCESS)
    is_busy |= value < timeline->value;
  (void)pthread_mutex_unlock(&mutex);
  return is_busy;
}

/* -- submitting ------------------------------------------------------------------------------- */

static bool is_late(void) {
  const char *wanted = getenv("BURN_FAKE_VULKAN_LATE");
  return wanted && wanted[0] == '1';
}

/* With the mutex: all that is held back begins. */
static void let_go(void) {
  for (uint32_t i = 0; i < held_count; i++) {
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .commandBufferInfoCount = held[i].count,
                                .pCommandBufferInfos = held[i].commands,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &held[i].signal};
    if (fake_real.device.QueueSubmit2(held[i].queue, 1, &info, VK_NULL_HANDLE) != VK_SUCCESS)
      fake_complain("what was held back cannot be submitted");
  }
  held_count = 0;
  asked = 0;
}

static void begin_all(void) {
  (void)pthread_mutex_lock(&mutex);
  let_go();
  (void)pthread_mutex_unlock(&mutex);
}

/* What the plugin submits; anything else is passed on. */
static bool can_hold(uint32_t count, const VkSubmitInfo2 *info, VkFence fence) {
  return count == 1 && !fence && info->commandBufferInfoCount <= MAX_BUFFERS && info->signalSemaphoreInfoCount == 1 &&
         info->waitSemaphoreInfoCount == 0;
}

/* With the mutex. */
static VkResult pass_on(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence) {
  const VkDevice device = fake_device_of(queue);
  const bool can = can_hold(count, infos, fence), holds = can && is_late();
  if (!holds || held_count == MAX_HELD) let_go();
  if (can) note_signal(device, infos->pSignalSemaphoreInfos);
  if (!holds) return fake_real.device.QueueSubmit2(queue, count, infos, fence);
  Held *last = &held[held_count++];
  *last = (Held){.device = device,
                 .queue = queue,
                 .count = infos->commandBufferInfoCount,
                 .signal = *infos->pSignalSemaphoreInfos};
  for (uint32_t i = 0; i < last->count; i++) last->commands[i] = infos->pCommandBufferInfos[i];
  return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence) {
  FAKE_FAILS("QueueSubmit2", queue);
  atomic_fetch_add(&submissions, 1u);
  for (uint32_t i = 0; i < count; i++) fake_see_submission(fake_device_of(queue), &infos[i]);
  (void)pthread_mutex_lock(&mutex);
  const VkResult result = pass_on(queue, count, infos, fence);
  (void)pthread_mutex_unlock(&mutex);
  return result;
}

static void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out) {
  fake_note("vkGetDeviceQueue", device);
  fake_real.device.GetDeviceQueue(device, family, index, out);
  fake_belongs(*out, device);
}

/* -- semaphores ------------------------------------------------------------------------------- */

static VkResult VKAPI_CALL create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                            const VkAllocationCallbacks *how, VkSemaphore *out) {
  FAKE_FAILS("CreateSemaphore", device);
  const VkResult result = fake_real.device.CreateSemaphore(device, info, how, out);
  if (result == VK_SUCCESS) fake_made(FAKE_Semaphore, FAKE_HANDLE(*out), device);
  return result;
}

static void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore, const VkAllocationCallbacks *how) {
  if (!semaphore || !fake_ends(FAKE_Semaphore, FAKE_HANDLE(semaphore), device)) return;
  forget(device);
  fake_real.device.DestroySemaphore(device, semaphore, how);
}

/* -- waiting ---------------------------------------------------------------------------------- */

static VkResult VKAPI_CALL wait(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t nanoseconds) {
  FAKE_FAILS("WaitSemaphores", device);
  begin_all();
  const VkResult result = fake_real.device.WaitSemaphores(device, info, nanoseconds);
  if (result == VK_SUCCESS && !fake_is_busy(device)) fake_see_end(device, false);
  return result;
}

static VkResult VKAPI_CALL ask_value(VkDevice device, VkSemaphore semaphore, uint64_t *value) {
  FAKE_FAILS("GetSemaphoreCounterValue", device);
  (void)pthread_mutex_lock(&mutex);
  if (++asked > PATIENCE) let_go();
  (void)pthread_mutex_unlock(&mutex);
  return fake_real.device.GetSemaphoreCounterValue(device, semaphore, value);
}

/* The real device is idle afterwards, whatever is told: what it works with may go. */
static VkResult VKAPI_CALL wait_idle(VkDevice device) {
  const VkResult told = fake_next("vkDeviceWaitIdle", device);
  if (fake_is_lost(device)) forget(device);
  begin_all();
  const VkResult result = fake_real.device.DeviceWaitIdle(device);
  return told == VK_SUCCESS ? result : told;
}

static void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *how) {
  if (!device || !fake_ends(FAKE_Device, FAKE_HANDLE(device), NULL)) return;
  fake_count_orphans(device);
  forget(device);
  fake_forget_device(device);
  fake_see_end(device, true);
  fake_real.device.DestroyDevice(device, how);
}

void fake_offer_queue(VulkanCalls *calls) {
  calls->QueueSubmit2 = submit;
  calls->GetDeviceQueue = get_queue;
  calls->CreateSemaphore = create_semaphore;
  calls->DestroySemaphore = destroy_semaphore;
  calls->WaitSemaphores = wait;
  calls->GetSemaphoreCounterValue = ask_value;
  calls->DeviceWaitIdle = wait_idle;
  calls->DestroyDevice = destroy_device;
}
