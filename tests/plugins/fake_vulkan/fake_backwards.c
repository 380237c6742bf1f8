/* fake_backwards.c - kernels with no barrier between them, run the other way round: a barrier that is missing gives wrong
 * numbers, which conformance and tests find. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 1024, MAX_BYTES = 256, MAX_BUFFERS = 256 };

typedef struct Dispatch {
  VkPipeline pipeline;
  VkPipelineLayout layout;
  VkShaderStageFlags stages;
  uint32_t bytes, groups[3];
  char values[MAX_BYTES];
} Dispatch;

typedef struct Kept {
  VkCommandBuffer commands; /* NULL: free */
  Dispatch next;            /* what the next dispatch will have */
  Dispatch list[MAX_KEPT];
  uint32_t count;
} Kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Kept *kept[MAX_BUFFERS];
static atomic_int barriers;

static bool is_wanted(void) {
  const char *wanted = getenv("BURN_FAKE_VULKAN_BACKWARDS");
  return wanted && wanted[0] == '1';
}

/* One thread at a time records into a command buffer. */
static Kept *find(VkCommandBuffer commands) {
  uint32_t i = 0;
  (void)pthread_mutex_lock(&mutex);
  while (i < MAX_BUFFERS && kept[i] && kept[i]->commands != commands) i++;
  if (i < MAX_BUFFERS && !kept[i]) kept[i] = calloc(1, sizeof **kept);
  Kept *found = i < MAX_BUFFERS ? kept[i] : NULL;
  if (found) found->commands = commands;
  (void)pthread_mutex_unlock(&mutex);
  if (!found) abort();
  return found;
}

void fake_keep_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  if (is_wanted()) find(commands)->next.pipeline = pipeline;
  if (!is_wanted()) fake_real.device.CmdBindPipeline(commands, point, pipeline);
}

void fake_keep_constants(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset,
                         uint32_t bytes, const void *values) {
  if (!is_wanted() || offset + bytes > MAX_BYTES) {
    fake_real.device.CmdPushConstants(commands, layout, stages, offset, bytes, values);
    return;
  }
  Dispatch *next = &find(commands)->next;
  next->layout = layout;
  next->stages = stages;
  next->bytes = offset + bytes;
  memcpy(next->values + offset, values, bytes);
}

void fake_keep_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  if (!is_wanted()) {
    fake_real.device.CmdDispatch(commands, x, y, z);
    return;
  }
  Kept *all = find(commands);
  if (all->count == MAX_KEPT) fake_let_go(commands);
  all->list[all->count] = all->next;
  Dispatch *last = &all->list[all->count++];
  last->groups[0] = x;
  last->groups[1] = y;
  last->groups[2] = z;
}

void fake_let_go(VkCommandBuffer commands) {
  if (!is_wanted()) return;
  Kept *all = find(commands);
  while (all->count > 0) {
    const Dispatch *last = &all->list[--all->count];
    fake_real.device.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, last->pipeline);
    fake_real.device.CmdPushConstants(commands, last->layout, last->stages, 0, last->bytes, last->values);
    fake_real.device.CmdDispatch(commands, last->groups[0], last->groups[1], last->groups[2]);
  }
}

/* -- barriers --------------------------------------------------------------------------------- */

static bool is_between_kernels(const VkDependencyInfo *info) {
  const VkMemoryBarrier2 *b = info->pMemoryBarriers;
  return info->memoryBarrierCount == 1 && b->srcStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT &&
         b->dstStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
}

bool fake_skips(const VkDependencyInfo *info) {
  const char *which = getenv("BURN_FAKE_VULKAN_SKIP");
  if (!is_between_kernels(info)) return false;
  const int number = atomic_fetch_add(&barriers, 1) + 1;
  return which && atoi(which) == number;
}

int fake_vulkan_barriers(void) { return atomic_load(&barriers); }
