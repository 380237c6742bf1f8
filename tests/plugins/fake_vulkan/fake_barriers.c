/* fake_barriers.c - order within a queue: a copy comes after all that was recorded before, by one barrier or by a chain of
 * them, and so does a kernel after copies. Kernels get addresses, so which memory they touch is not known; validation
 * layers say nothing for the same reason. Whether kernels need an order among themselves shows when they are run the
 * other way round: fake_backwards.c. What a command buffer has counts when it is submitted, each time. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64, MAX_BUFFERS = 4096 };

/* A barrier, or work. */
typedef struct Event {
  bool is_barrier;
  VkMemoryBarrier2 barrier;
  FakeWork work;
} Event;

typedef struct Recorded {
  VkCommandBuffer commands;
  Event *events;
  size_t count, capacity;
} Recorded;

/* What barriers have ordered: work of the first kind before work of the second. */
typedef struct Order {
  VkDevice device;
  bool has_worked[FAKE_WORKS], is_before[FAKE_WORKS][FAKE_WORKS];
} Order;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Order orders[MAX_DEVICES];
static Recorded recorded[MAX_BUFFERS];
static size_t recorded_count;

static const char *const names[] = {"a kernel", "a copy", "the host"};
static const VkPipelineStageFlags2 stages[] = {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                               VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_PIPELINE_STAGE_2_HOST_BIT};
static const VkAccessFlags2 writes[] = {VK_ACCESS_2_SHADER_WRITE_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                        VK_ACCESS_2_HOST_WRITE_BIT};
static const VkAccessFlags2 reads[] = {VK_ACCESS_2_SHADER_READ_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                                       VK_ACCESS_2_HOST_READ_BIT};

/* With the mutex: NULL where there are too many devices. */
static Order *order_of(VkDevice device) {
  Order *found = NULL;
  for (int i = 0; i < MAX_DEVICES; i++) {
    if (orders[i].device == device) return &orders[i];
    if (!orders[i].device) found = &orders[i];
  }
  if (found) *found = (Order){.device = device};
  return found;
}

/* -- barriers --------------------------------------------------------------------------------- */

static bool has_stage(VkPipelineStageFlags2 mask, int work) {
  return (mask & stages[work]) == stages[work] || (mask & VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT && work != FAKE_HOST);
}

static bool has_access(VkAccessFlags2 mask, const VkAccessFlags2 *of, int work, VkAccessFlags2 any) {
  return (mask & of[work]) != 0 || (mask & any) != 0;
}

static bool ends_with(const VkMemoryBarrier2 *b, int work) {
  return has_stage(b->dstStageMask, work) && has_access(b->dstAccessMask, reads, work, VK_ACCESS_2_MEMORY_READ_BIT) &&
         has_access(b->dstAccessMask, writes, work, VK_ACCESS_2_MEMORY_WRITE_BIT);
}

/* Begins with the work, or with what was ordered after it. */
static bool begins_after(const Order *order, const VkMemoryBarrier2 *b, int work) {
  if (has_stage(b->srcStageMask, work) && has_access(b->srcAccessMask, writes, work, VK_ACCESS_2_MEMORY_WRITE_BIT))
    return true;
  for (int next = 0; next < FAKE_WORKS; next++)
    if (order->is_before[work][next] && has_stage(b->srcStageMask, next)) return true;
  return false;
}

static void order_by(Order *order, const VkMemoryBarrier2 *barrier) {
  const Order before = *order;
  for (int first = 0; first < FAKE_WORKS; first++)
    for (int then = 0; then < FAKE_WORKS; then++)
      if (begins_after(&before, barrier, first) && ends_with(barrier, then)) order->is_before[first][then] = true;
}

/* -- work ------------------------------------------------------------------------------------- */

static void check_order(const Order *order, FakeWork work) {
  for (int first = 0; first < FAKE_WORKS; first++)
    if (order->has_worked[first] && !order->is_before[first][work] && !(first == FAKE_KERNEL && work == FAKE_KERNEL))
      fake_complain("%s follows %s without a barrier", names[work], names[first]);
}

static void add_work(Order *order, FakeWork work) {
  check_order(order, work);
  order->has_worked[work] = true;
  for (int then = 0; then < FAKE_WORKS; then++) order->is_before[work][then] = false;
}

/* -- command buffers -------------------------------------------------------------------------- */

/* With the mutex; NULL where there are too many. */
static Recorded *find(VkCommandBuffer commands) {
  for (size_t i = 0; i < recorded_count; i++)
    if (recorded[i].commands == commands) return &recorded[i];
  if (recorded_count == MAX_BUFFERS) return NULL;
  recorded[recorded_count] = (Recorded){.commands = commands};
  return &recorded[recorded_count++];
}

static void add(VkCommandBuffer commands, const Event *event) {
  (void)pthread_mutex_lock(&mutex);
  Recorded *list = find(commands);
  if (list && list->count == list->capacity) {
    const size_t capacity = list->capacity ? 2 * list->capacity : 64;
    Event *grown = realloc(list->events, capacity * sizeof *grown);
    if (!grown) abort();
    list->events = grown;
    list->capacity = capacity;
  }
  if (list) list->events[list->count++] = *event;
  (void)pthread_mutex_unlock(&mutex);
}

void fake_see_begin(VkCommandBuffer commands) {
  (void)pthread_mutex_lock(&mutex);
  Recorded *list = find(commands);
  if (list) list->count = 0;
  (void)pthread_mutex_unlock(&mutex);
}

void fake_see_barrier(VkCommandBuffer commands, const VkDependencyInfo *info) {
  for (uint32_t i = 0; i < info->memoryBarrierCount; i++)
    add(commands, &(Event){.is_barrier = true, .barrier = info->pMemoryBarriers[i]});
}

void fake_see_work(VkCommandBuffer commands, FakeWork work) { add(commands, &(Event){.work = work}); }

static void replay(Order *order, const Recorded *list) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->events[i].is_barrier) order_by(order, &list->events[i].barrier);
    if (!list->events[i].is_barrier) add_work(order, list->events[i].work);
  }
}

/* The host reads when it has waited. */
void fake_see_submission(VkDevice device, const VkSubmitInfo2 *info) {
  (void)pthread_mutex_lock(&mutex);
  Order *order = order_of(device);
  for (uint32_t i = 0; i < info->commandBufferInfoCount && order; i++) {
    const Recorded *list = find(info->pCommandBufferInfos[i].commandBuffer);
    if (list) replay(order, list);
  }
  if (order) check_order(order, FAKE_HOST);
  (void)pthread_mutex_unlock(&mutex);
}

void fake_see_end(VkDevice device, bool is_gone) {
  (void)pthread_mutex_lock(&mutex);
  Order *order = order_of(device);
  if (order) *order = (Order){.device = is_gone ? NULL : device};
  (void)pthread_mutex_unlock(&mutex);
}
