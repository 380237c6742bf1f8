/* fake_barriers.c - order within a queue: all that was recorded comes before what follows, by one barrier or by a chain of
 * them. Kernels get addresses, so which memory they touch is not known, here as in the backend; validation layers say
 * nothing for the same reason. */
#include "fake_vulkan.h"

#include <pthread.h>

enum { MOST_DEVICES = 64 };

/* What barriers have ordered: work of the first kind before work of the second. */
typedef struct Order {
  VkDevice device;
  bool has_worked[FAKE_WORKS], is_before[FAKE_WORKS][FAKE_WORKS];
  bool is_open; /* something was recorded and not submitted */
} Order;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Order orders[MOST_DEVICES];

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
  for (int i = 0; i < MOST_DEVICES; i++) {
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

static void add_barrier(Order *order, const VkMemoryBarrier2 *barrier) {
  const Order before = *order;
  for (int first = 0; first < FAKE_WORKS; first++)
    for (int then = 0; then < FAKE_WORKS; then++)
      if (begins_after(&before, barrier, first) && ends_with(barrier, then)) order->is_before[first][then] = true;
}

void fake_see_barrier(VkDevice device, const VkDependencyInfo *info) {
  (void)pthread_mutex_lock(&mutex);
  Order *order = order_of(device);
  for (uint32_t i = 0; order && i < info->memoryBarrierCount; i++) add_barrier(order, &info->pMemoryBarriers[i]);
  (void)pthread_mutex_unlock(&mutex);
}

/* -- work ------------------------------------------------------------------------------------- */

static void check_order(const Order *order, FakeWork work) {
  for (int first = 0; first < FAKE_WORKS; first++)
    if (order->has_worked[first] && !order->is_before[first][work])
      fake_complain("%s follows %s without a barrier", names[work], names[first]);
}

void fake_see_work(VkDevice device, FakeWork work) {
  (void)pthread_mutex_lock(&mutex);
  Order *order = order_of(device);
  if (order) {
    check_order(order, work);
    order->is_open = true;
    order->has_worked[work] = true;
    for (int then = 0; then < FAKE_WORKS; then++) order->is_before[work][then] = false;
  }
  (void)pthread_mutex_unlock(&mutex);
}

/* The host reads when it has waited. */
void fake_see_submission(VkDevice device) {
  (void)pthread_mutex_lock(&mutex);
  Order *order = order_of(device);
  if (order) check_order(order, FAKE_HOST);
  if (order) order->is_open = false;
  (void)pthread_mutex_unlock(&mutex);
}

void fake_see_end(VkDevice device, bool is_gone) {
  (void)pthread_mutex_lock(&mutex);
  Order *order = order_of(device);
  if (order && (is_gone || !order->is_open)) *order = (Order){.device = is_gone ? NULL : device};
  (void)pthread_mutex_unlock(&mutex);
}
