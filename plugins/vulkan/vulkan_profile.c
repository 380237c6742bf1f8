/* vulkan_profile.c - how long kernels take (option profile): the queue's clock before and after each of them.
 *
 * A batch of the queue has a pool of queries, which is read when the batch begins anew, or at the end, as its work is
 * done then. Steps are not replayed meanwhile, so that all kernels come through the queue one by one. */
#include "vulkan_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMED = 512 /* kernels of a batch, which has 256 at most but for large ones */, QUERIES = 2 * TIMED };
enum { ENTRIES = 512, NAME_BYTES = 120 };

/* Kernels of one name: an op, what computes it, and how many groups. */
typedef struct Entry {
  char name[NAME_BYTES];
  uint64_t calls;
  double seconds;
} Entry;

/* A batch of the queue. */
typedef struct Batch {
  VkQueryPool clock;
  bool is_begun;
  uint32_t count;          /* of its kernels that are timed */
  uint32_t entries[TIMED]; /* theirs */
} Batch;

struct VulkanProfile {
  uint32_t entry_count;
  uint64_t untimed; /* kernels that batches or entries had no room for */
  Entry entries[ENTRIES];
  Batch batches[VULKAN_BATCHES];
};

/* -- open ------------------------------------------------------------------------------------- */

BurnStatus burn__vulkan_profile_open(Vulkan *vulkan) {
  const VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = QUERIES};
  if (!vulkan->settings.profile) return BURN_OK;
  if (vulkan->caps.timestamp_bits == 0)
    return VULKAN_FAIL(vulkan, UNIMPLEMENTED, "profile: the queue of %s has no clock", vulkan->caps.name);
  VulkanProfile *profile = vulkan->gpu.host->allocate(sizeof *profile);
  if (!profile) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a profile");
  memset(profile, 0, sizeof *profile);
  vulkan->profile = profile;
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < VULKAN_BATCHES && result == VK_SUCCESS; i++)
    result = vulkan->calls.CreateQueryPool(vulkan->device, &info, NULL, &profile->batches[i].clock);
  return burn__vulkan_check(vulkan, result, "profile");
}

/* -- times ------------------------------------------------------------------------------------ */

/* The times of a batch whose work is done. */
static void collect(Vulkan *vulkan, Batch *batch) {
  uint64_t ticks[QUERIES];
  const uint32_t count = 2 * batch->count;
  if (count == 0) return;
  const VkResult result = vulkan->calls.GetQueryPoolResults(
      vulkan->device, batch->clock, 0, count, count * sizeof *ticks, ticks, sizeof *ticks, VK_QUERY_RESULT_64_BIT);
  for (uint32_t i = 0; i < batch->count && result == VK_SUCCESS; i++) {
    Entry *entry = &vulkan->profile->entries[batch->entries[i]];
    entry->calls++;
    entry->seconds += burn__vulkan_seconds(vulkan, ticks[2 * i], ticks[2 * i + 1]);
  }
  batch->count = 0;
}

void burn__vulkan_profile_begin(Vulkan *vulkan, uint32_t number, VkCommandBuffer commands) {
  if (!vulkan->profile) return;
  Batch *batch = &vulkan->profile->batches[number];
  collect(vulkan, batch);
  vulkan->calls.CmdResetQueryPool(commands, batch->clock, 0, QUERIES);
  batch->is_begun = true;
}

/* The number of the entry with a name; ENTRIES where there is no room. */
static uint32_t entry_of(VulkanProfile *profile, const char *name) {
  uint32_t i = 0;
  while (i < profile->entry_count && strcmp(profile->entries[i].name, name) != 0) i++;
  if (i < profile->entry_count || i == ENTRIES) return i;
  (void)snprintf(profile->entries[i].name, NAME_BYTES, "%s", name);
  return profile->entry_count++;
}

bool burn__vulkan_profile_before(Vulkan *vulkan, uint32_t number, const VulkanDispatch *dispatch,
                                 VkCommandBuffer commands) {
  char name[NAME_BYTES];
  if (!vulkan->profile) return false;
  Batch *batch = &vulkan->profile->batches[number];
  burn__gpu_describe(&vulkan->gpu, dispatch->function, name, sizeof name - 24);
  (void)snprintf(name + strlen(name), 24, ", %u groups",
                 dispatch->groups[0] * dispatch->groups[1] * dispatch->groups[2]);
  const uint32_t entry = entry_of(vulkan->profile, name);
  if (!batch->is_begun || batch->count == TIMED || entry == ENTRIES) {
    vulkan->profile->untimed++;
    return false;
  }
  batch->entries[batch->count] = entry;
  vulkan->calls.CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, batch->clock, 2 * batch->count);
  return true;
}

void burn__vulkan_profile_after(Vulkan *vulkan, uint32_t number, VkCommandBuffer commands) {
  Batch *batch = &vulkan->profile->batches[number];
  vulkan->calls.CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, batch->clock, 2 * batch->count + 1);
  batch->count++;
}

/* -- the report ------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
  const double first = ((const Entry *)a)->seconds, second = ((const Entry *)b)->seconds;
  return (first < second) - (first > second);
}

static void report(const Vulkan *vulkan, VulkanProfile *profile) {
  double seconds = 0;
  uint64_t calls = 0;
  for (uint32_t i = 0; i < profile->entry_count; i++) {
    seconds += profile->entries[i].seconds;
    calls += profile->entries[i].calls;
  }
  qsort(profile->entries, profile->entry_count, sizeof *profile->entries, by_time);
  fprintf(stderr, "%s: %" PRIu64 " kernels took %.3f ms\n", vulkan->gpu.name, calls, seconds * 1e3);
  if (profile->untimed > 0) fprintf(stderr, "%" PRIu64 " more were not timed\n", profile->untimed);
  fprintf(stderr, "%8s %12s %9s %12s  %s\n", "share", "ms", "calls", "us each", "op: kernel, groups");
  for (uint32_t i = 0; i < profile->entry_count; i++) {
    const Entry *entry = &profile->entries[i];
    if (entry->calls == 0) continue;
    fprintf(stderr, "%6.2f %% %12.3f %9" PRIu64 " %12.2f  %s\n", seconds > 0 ? 100 * entry->seconds / seconds : 0,
            entry->seconds * 1e3, entry->calls, entry->seconds * 1e6 / (double)entry->calls, entry->name);
  }
}

void burn__vulkan_profile_close(Vulkan *vulkan) {
  VulkanProfile *profile = vulkan->profile;
  if (!profile) return;
  for (uint32_t i = 0; i < VULKAN_BATCHES; i++) {
    if (vulkan_broken(vulkan) == VK_SUCCESS) collect(vulkan, &profile->batches[i]);
    if (profile->batches[i].clock) vulkan->calls.DestroyQueryPool(vulkan->device, profile->batches[i].clock, NULL);
  }
  if (profile->entry_count > 0) report(vulkan, profile);
  vulkan->gpu.host->free(profile, sizeof *profile);
  vulkan->profile = NULL;
}
