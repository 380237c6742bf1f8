/* vulkan_memory.c - segments for the floor's allocator (gpu_memory.h), cut from larger chunks.
 *
 * A chunk is a buffer with its memory, as the driver gives it: asking the driver is slow, and some count how often it
 * was done. Chunks are a 64th of the heap, from 16 to 256 MiB, and divided into units of 2 MiB; what is larger than 64
 * MiB has one alone. On processors, whose memory is that of all other programs, too, the first is 16 MiB, and each
 * further one twice as large. */
#include "vulkan_internal.h"

#include <string.h>

enum { UNITS = 128, ALIGNMENT = 512 };

static const uint64_t unit_bytes = 2 << 20, least_chunk = 16 << 20, most_chunk = 256 << 20, most_shared = 64 << 20;

typedef struct VulkanChunk {
  struct VulkanChunk *next;
  VulkanBuffer buffer;
  uint64_t padding; /* from the buffer's address to the first that is aligned */
  uint32_t unit_count;
  uint8_t taken[UNITS]; /* by a segment: how many units it has in the first of them, 1 in the others; 0: free */
} VulkanChunk;

struct VulkanMemory {
  VulkanChunk *chunks;
  uint64_t chunk_bytes, most_bytes; /* of the next chunk, and of any */
};

/* -- where a storage lies --------------------------------------------------------------------- */

VulkanSpan burn__vulkan_span_at(GpuAddress address, const void *memory) {
  const VulkanChunk *chunk = memory;
  return (VulkanSpan){chunk->buffer.buffer, address - chunk->buffer.address};
}

VulkanSpan burn__vulkan_span(const BurnPrimitive *x) {
  return burn__vulkan_span_at(gpu_address(x), gpu_const_tensor(x)->storage->memory);
}

char *burn__vulkan_mapped(const BurnPrimitive *x) {
  const VulkanChunk *chunk = gpu_const_tensor(x)->storage->memory;
  return chunk->buffer.mapped ? chunk->buffer.mapped + (gpu_address(x) - chunk->buffer.address) : NULL;
}

/* -- chunks ----------------------------------------------------------------------------------- */

static bool is_shortage(VkResult result) {
  return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
         result == VK_ERROR_TOO_MANY_OBJECTS;
}

/* NULL where there is no room, or after a failure, which *status tells. */
static VulkanChunk *make_chunk(Vulkan *vulkan, uint64_t bytes, BurnStatus *status) {
  const VulkanCaps *caps = &vulkan->caps;
  VulkanMemory *memory = vulkan->memory;
  const uint64_t most = caps->allocation_bytes < caps->heap_bytes ? caps->allocation_bytes : caps->heap_bytes;
  if (bytes + ALIGNMENT > most) {
    *status = VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "%llu bytes are more than the %llu that the driver gives at once",
                          (unsigned long long)bytes, (unsigned long long)most);
    return NULL;
  }
  VulkanChunk *chunk = vulkan->gpu.host->allocate(sizeof *chunk);
  if (!chunk) *status = VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a list of segments");
  if (!chunk) return NULL;
  *chunk = (VulkanChunk){.next = memory->chunks, .unit_count = (uint32_t)(bytes / unit_bytes)};
  const VkResult result = burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DEVICE, bytes + ALIGNMENT, &chunk->buffer);
  if (result != VK_SUCCESS) {
    if (!is_shortage(result)) *status = burn__vulkan_check(vulkan, result, "allocate");
    vulkan->gpu.host->free(chunk, sizeof *chunk);
    return NULL;
  }
  chunk->padding = (ALIGNMENT - chunk->buffer.address % ALIGNMENT) % ALIGNMENT;
  memory->chunks = chunk;
  return chunk;
}

static void drop_chunk(Vulkan *vulkan, VulkanChunk *chunk) {
  VulkanChunk **at = &vulkan->memory->chunks;
  while (*at != chunk) at = &(*at)->next;
  *at = chunk->next;
  burn__vulkan_buffer_end(vulkan, &chunk->buffer);
  vulkan->gpu.host->free(chunk, sizeof *chunk);
}

/* The first of `count` units in a row that are free; unit_count where there are none. */
static uint32_t find_units(const VulkanChunk *chunk, uint32_t count) {
  uint32_t free = 0;
  for (uint32_t unit = 0; unit < chunk->unit_count && unit < UNITS; unit++) {
    free = chunk->taken[unit] ? 0 : free + 1;
    if (free == count) return unit + 1 - count;
  }
  return chunk->unit_count;
}

/* -- segments --------------------------------------------------------------------------------- */

static void take_units(VulkanChunk *chunk, uint32_t first, uint32_t count, GpuAddress *address, void **memory) {
  memset(chunk->taken + first, 1, count);
  chunk->taken[first] = (uint8_t)count;
  *address = chunk->buffer.address + chunk->padding + first * unit_bytes;
  *memory = chunk;
}

/* Alone; what is not in units has none. */
static BurnStatus take_alone(Vulkan *vulkan, uint64_t bytes, GpuAddress *address, void **out) {
  BurnStatus status = BURN_OK;
  VulkanChunk *chunk = make_chunk(vulkan, bytes, &status);
  if (!chunk) return status;
  chunk->unit_count = 0;
  *address = chunk->buffer.address + chunk->padding;
  *out = chunk;
  return BURN_OK;
}

static BurnStatus take(Gpu *gpu, uint64_t bytes, GpuAddress *address, void **out) {
  Vulkan *vulkan = vulkan_of(gpu);
  VulkanMemory *memory = vulkan->memory;
  const uint32_t count = (uint32_t)((bytes + unit_bytes - 1) / unit_bytes);
  BurnStatus status = BURN_OK;
  if (bytes > most_shared || bytes > memory->most_bytes) return take_alone(vulkan, bytes, address, out);
  for (VulkanChunk *chunk = memory->chunks; chunk; chunk = chunk->next) {
    const uint32_t first = find_units(chunk, count);
    if (first >= chunk->unit_count) continue;
    take_units(chunk, first, count, address, out);
    return BURN_OK;
  }
  while (memory->chunk_bytes < bytes) memory->chunk_bytes *= 2;
  VulkanChunk *chunk = make_chunk(vulkan, memory->chunk_bytes, &status);
  if (!chunk) return status == BURN_OK ? take_alone(vulkan, bytes, address, out) : status;
  if (memory->chunk_bytes < memory->most_bytes) memory->chunk_bytes *= 2;
  take_units(chunk, 0, count, address, out);
  return BURN_OK;
}

/* A device that does not answer may still be at work there. */
static void give_back(Gpu *gpu, GpuAddress address, void *memory) {
  VulkanChunk *chunk = memory;
  const uint32_t first = (uint32_t)((address - chunk->buffer.address) / unit_bytes);
  if (first < chunk->unit_count) memset(chunk->taken + first, 0, chunk->taken[first]);
  if (find_units(chunk, chunk->unit_count) == 0 && vulkan_broken(vulkan_of(gpu)) == VK_SUCCESS)
    drop_chunk(vulkan_of(gpu), chunk);
}

static void room(Gpu *gpu, uint64_t *free_bytes, uint64_t *all_bytes) {
  const Vulkan *vulkan = vulkan_of(gpu);
  *free_bytes = burn__vulkan_free_bytes(vulkan->instance, vulkan->physical, &vulkan->caps);
  *all_bytes = vulkan->caps.heap_bytes;
}

static BurnStatus fill(Gpu *gpu, const GpuStorage *storage, uint64_t bytes, unsigned char byte) {
  Vulkan *vulkan = vulkan_of(gpu);
  const VulkanChunk *chunk = storage->memory;
  VkCommandBuffer commands = NULL;
  const BurnStatus status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  vulkan->calls.CmdFillBuffer(commands, chunk->buffer.buffer, storage->address - chunk->buffer.address, bytes,
                              byte * UINT32_C(0x01010101));
  return burn__vulkan_record_end(vulkan, 1);
}

/* -- the instance's memory -------------------------------------------------------------------- */

/* Not more than the driver gives at once. */
static void choose_sizes(const VulkanCaps *caps, VulkanMemory *memory) {
  uint64_t most = least_chunk;
  while (most < most_chunk && most < caps->heap_bytes / 64) most *= 2;
  while (most > unit_bytes && most + ALIGNMENT > caps->allocation_bytes) most /= 2;
  memory->most_bytes = most;
  memory->chunk_bytes = caps->is_cpu && most > least_chunk ? least_chunk : most;
}

BurnStatus burn__vulkan_memory_create(Vulkan *vulkan) {
  static const GpuSegments segments = {.take = take, .give_back = give_back, .room = room, .fill = fill};
  const BurnHost *host = vulkan->gpu.host;
  VulkanMemory *memory = host->allocate(sizeof *memory);
  if (!memory) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a list of segments");
  *memory = (VulkanMemory){.chunks = NULL};
  choose_sizes(&vulkan->caps, memory);
  vulkan->memory = memory;
  vulkan->gpu.memory = burn__gpu_memory_create(host, &segments, vulkan->settings.memory_limit,
                                               burn__gpu_memory_fill("BURN_VULKAN_FILL"));
  if (vulkan->gpu.memory) return BURN_OK;
  return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a list of tensors");
}

void burn__vulkan_memory_destroy(Vulkan *vulkan) {
  if (!vulkan->memory) return;
  burn__gpu_memory_destroy(&vulkan->gpu);
  while (vulkan->memory->chunks) drop_chunk(vulkan, vulkan->memory->chunks);
  vulkan->gpu.host->free(vulkan->memory, sizeof *vulkan->memory);
  vulkan->memory = NULL;
}
