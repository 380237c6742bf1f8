/* vulkan_transfer.c - copies between the host and tensors, and staging memory.
 *
 * Where the host sees the memory of tensors and the queue has nothing to do, they are written directly. A few bytes lie
 * within the commands; else it goes through the queue's rings, in pieces, unless the host's side is staging memory. */
#include "vulkan_internal.h"

#include <string.h>

enum { MAX_INLINE = 4096, PIECE = VULKAN_MAX_STAGED, MAX_LATER = 1 << 20 };

/* Memory that the host and the device both use, of a caller. */
typedef struct Staging {
  struct Staging *next;
  VulkanBuffer buffer;
} Staging;

struct VulkanTransfers {
  pthread_mutex_t mutex;
  Staging *staging;
};

BurnStatus burn__vulkan_transfers_create(Vulkan *vulkan) {
  VulkanTransfers *transfers = vulkan->gpu.host->allocate(sizeof *transfers);
  if (!transfers) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for transfers");
  *transfers = (VulkanTransfers){.mutex = PTHREAD_MUTEX_INITIALIZER};
  vulkan->transfers = transfers;
  return BURN_OK;
}

static void end_staging(Vulkan *vulkan, Staging *staging) {
  if (!vulkan_is_beyond_reach(vulkan)) burn__vulkan_buffer_end(vulkan, &staging->buffer);
  vulkan->gpu.host->free(staging, sizeof *staging);
}

void burn__vulkan_transfers_destroy(Vulkan *vulkan) {
  VulkanTransfers *transfers = vulkan->transfers;
  if (!transfers) return;
  for (Staging *staging = transfers->staging, *next = NULL; staging; staging = next) {
    next = staging->next;
    end_staging(vulkan, staging);
  }
  (void)pthread_mutex_destroy(&transfers->mutex);
  vulkan->gpu.host->free(transfers, sizeof *transfers);
  vulkan->transfers = NULL;
}

/* -- staging memory --------------------------------------------------------------------------- */

BurnStatus BURN_API_CALL burn__vulkan_staging_allocate(void *self, uint64_t bytes, void **out) {
  Vulkan *vulkan = self;
  VulkanTransfers *transfers = vulkan->transfers;
  const BurnStatus status = burn__vulkan_works(vulkan);
  if (status != BURN_OK) return status;
  Staging *staging = vulkan->gpu.host->allocate(sizeof *staging);
  if (!staging) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for staging memory");
  const VkResult result = burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DOWNLOAD, bytes, &staging->buffer);
  if (result != VK_SUCCESS) {
    vulkan->gpu.host->free(staging, sizeof *staging);
    return burn__vulkan_check(vulkan, result, "allocate staging memory");
  }
  *out = staging->buffer.mapped;
  (void)pthread_mutex_lock(&transfers->mutex);
  staging->next = transfers->staging;
  transfers->staging = staging;
  (void)pthread_mutex_unlock(&transfers->mutex);
  return BURN_OK;
}

void BURN_API_CALL burn__vulkan_staging_free(void *self, void *memory, uint64_t bytes) {
  Vulkan *vulkan = self;
  VulkanTransfers *transfers = vulkan->transfers;
  (void)bytes;
  (void)pthread_mutex_lock(&transfers->mutex);
  Staging **at = &transfers->staging;
  while (*at && (*at)->buffer.mapped != memory) at = &(*at)->next;
  Staging *found = *at;
  if (found) *at = found->next;
  (void)pthread_mutex_unlock(&transfers->mutex);
  if (found) end_staging(vulkan, found);
}

/* True if `data` lies in staging memory, with the place. */
static bool find_staging(Vulkan *vulkan, const void *data, uint64_t bytes, VulkanSpan *out) {
  VulkanTransfers *transfers = vulkan->transfers;
  const uintptr_t from = (uintptr_t)data;
  bool found = false;
  (void)pthread_mutex_lock(&transfers->mutex);
  for (const Staging *s = transfers->staging; s && !found; s = s->next) {
    const uintptr_t first = (uintptr_t)s->buffer.mapped;
    found = from >= first && from - first <= s->buffer.bytes && bytes <= s->buffer.bytes - (from - first);
    if (found) *out = (VulkanSpan){s->buffer.buffer, from - first};
  }
  (void)pthread_mutex_unlock(&transfers->mutex);
  return found;
}

/* -- copies in the queue ---------------------------------------------------------------------- */

static void put_copy(Vulkan *vulkan, VkCommandBuffer commands, VulkanSpan from, VulkanSpan to, uint64_t bytes) {
  const VkBufferCopy region = {from.offset, to.offset, bytes};
  vulkan->calls.CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
}

static uint32_t weight_of(uint64_t bytes) { return bytes < UINT64_C(64) << 20 ? 1u + (uint32_t)(bytes >> 18) : 256u; }

BurnStatus burn__vulkan_copy(Vulkan *vulkan, VulkanSpan from, VulkanSpan to, uint64_t bytes) {
  VkCommandBuffer commands = NULL;
  const BurnStatus status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  put_copy(vulkan, commands, from, to, bytes);
  return burn__vulkan_record_end(vulkan, weight_of(bytes));
}

static VulkanSpan further(VulkanSpan span, uint64_t bytes) { return (VulkanSpan){span.buffer, span.offset + bytes}; }

/* -- up --------------------------------------------------------------------------------------- */

static BurnStatus write_inline(Vulkan *vulkan, VulkanSpan to, const void *data, uint64_t bytes) {
  VkCommandBuffer commands = NULL;
  const BurnStatus status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  vulkan->calls.CmdUpdateBuffer(commands, to.buffer, to.offset, bytes, data);
  return burn__vulkan_record_end(vulkan, 1);
}

static BurnStatus write_piece(Vulkan *vulkan, VulkanSpan to, const void *data, uint64_t bytes) {
  VkCommandBuffer commands = NULL;
  VulkanStaged staged;
  BurnStatus status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  status = burn__vulkan_stage(vulkan, VULKAN_UP, bytes, &staged, &commands);
  if (status == BURN_OK) {
    memcpy(staged.mapped, data, bytes);
    put_copy(vulkan, commands, staged.span, to, bytes);
  }
  const BurnStatus ended = burn__vulkan_record_end(vulkan, weight_of(bytes));
  return status == BURN_OK ? ended : status;
}

BurnStatus burn__vulkan_write(Gpu *gpu, const BurnPrimitive *x, const void *data, uint64_t bytes) {
  Vulkan *vulkan = vulkan_of(gpu);
  const VulkanSpan to = burn__vulkan_span(x);
  char *mapped = burn__vulkan_mapped(x);
  VulkanSpan from;
  BurnStatus status = BURN_OK;
  if (mapped && burn__vulkan_is_idle(vulkan)) {
    memcpy(mapped, data, bytes);
    return BURN_OK;
  }
  if (find_staging(vulkan, data, bytes, &from)) return burn__vulkan_copy(vulkan, from, to, bytes);
  if (bytes <= MAX_INLINE && bytes % 4 == 0 && to.offset % 4 == 0) return write_inline(vulkan, to, data, bytes);
  for (uint64_t at = 0; at < bytes && status == BURN_OK; at += PIECE)
    status = write_piece(vulkan, further(to, at), (const char *)data + at, bytes - at < PIECE ? bytes - at : PIECE);
  return status;
}

/* -- down ------------------------------------------------------------------------------------- */

static BurnStatus read_mapped(Vulkan *vulkan, const char *from, void *data, uint64_t bytes) {
  const BurnStatus status = burn__vulkan_drain(vulkan);
  if (status == BURN_OK) memcpy(data, from, bytes);
  return status;
}

/* What was staged is copied on when the queue comes to know that it is there. */
static BurnStatus read_piece(Vulkan *vulkan, VulkanSpan from, void *data, uint64_t bytes) {
  VkCommandBuffer commands = NULL;
  VulkanStaged staged;
  BurnStatus status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  status = burn__vulkan_stage(vulkan, VULKAN_DOWN, bytes, &staged, &commands);
  if (status == BURN_OK) put_copy(vulkan, commands, from, staged.span, bytes);
  if (status == BURN_OK && !burn__vulkan_copy_later(vulkan, &staged, data, bytes))
    status = VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a read");
  const BurnStatus ended = burn__vulkan_record_end(vulkan, weight_of(bytes));
  return status == BURN_OK ? ended : status;
}

/* Much is not copied twice where the host can read it as it lies, though that waits. */
BurnStatus burn__vulkan_read(Gpu *gpu, void *data, const BurnPrimitive *x, uint64_t bytes) {
  Vulkan *vulkan = vulkan_of(gpu);
  const VulkanSpan from = burn__vulkan_span(x);
  const char *mapped = burn__vulkan_mapped(x);
  VulkanSpan to;
  BurnStatus status = BURN_OK;
  if (mapped && vulkan->caps.types[VULKAN_PLACE_DEVICE].is_cached &&
      (bytes > MAX_LATER || burn__vulkan_is_idle(vulkan)))
    return read_mapped(vulkan, mapped, data, bytes);
  if (find_staging(vulkan, data, bytes, &to)) return burn__vulkan_copy(vulkan, from, to, bytes);
  for (uint64_t at = 0; at < bytes && status == BURN_OK; at += PIECE)
    status = read_piece(vulkan, further(from, at), (char *)data + at, bytes - at < PIECE ? bytes - at : PIECE);
  return status;
}
