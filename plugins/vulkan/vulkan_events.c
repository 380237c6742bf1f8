/* vulkan_events.c - events, and what "burn.device" has beside the floor's slots: what the device is, memory and queue
 * as Vulkan knows them. */
#include "vulkan_internal.h"

#include <stdio.h>
#include <string.h>

/* -- events ----------------------------------------------------------------------------------- */

/* What a BurnEvent is. */
typedef struct Event {
  uint64_t value;    /* of the queue's timeline */
  VkQueryPool clock; /* with one query; null: the event has no time */
} Event;

static Event *event_of(BurnEvent *event) { return (Event *)(void *)event; }

static void drop_event(Vulkan *vulkan, Event *event) {
  if (event->clock) vulkan->calls.DestroyQueryPool(vulkan->device, event->clock, NULL);
  vulkan->gpu.host->free(event, sizeof *event);
}

static BurnStatus record_time(Vulkan *vulkan, Event *event) {
  const VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1};
  VkCommandBuffer commands = NULL;
  if (vulkan->caps.timestamp_bits == 0)
    return VULKAN_FAIL(vulkan, UNIMPLEMENTED, "the queue of %s has no clock", vulkan->caps.name);
  const VkResult result = vulkan->calls.CreateQueryPool(vulkan->device, &info, NULL, &event->clock);
  BurnStatus status = burn__vulkan_check(vulkan, result, "timed event");
  if (status == BURN_OK) status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  vulkan->calls.CmdResetQueryPool(commands, event->clock, 0, 1);
  vulkan->calls.CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, event->clock, 0);
  return burn__vulkan_record_end(vulkan, 0);
}

BurnStatus burn__vulkan_event_new(Gpu *gpu, bool is_timed, BurnEvent **out) {
  Vulkan *vulkan = vulkan_of(gpu);
  Event *event = gpu->host->allocate(sizeof *event);
  if (!event) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for an event");
  *event = (Event){0, VK_NULL_HANDLE};
  BurnStatus status = is_timed ? record_time(vulkan, event) : BURN_OK;
  if (status == BURN_OK) status = burn__vulkan_submit(vulkan, &event->value);
  if (status == BURN_OK) *out = (BurnEvent *)(void *)event;
  if (status != BURN_OK) drop_event(vulkan, event);
  return status;
}

BurnStatus burn__vulkan_event_query(Gpu *gpu, BurnEvent *event, bool *done) {
  *done = false;
  const BurnStatus status = burn__vulkan_works(vulkan_of(gpu));
  return status == BURN_OK ? burn__vulkan_is_done(vulkan_of(gpu), event_of(event)->value, done) : status;
}

BurnStatus burn__vulkan_event_wait(Gpu *gpu, BurnEvent *event) {
  const BurnStatus status = burn__vulkan_works(vulkan_of(gpu));
  return status == BURN_OK ? burn__vulkan_wait_for(vulkan_of(gpu), event_of(event)->value) : status;
}

/* A clock that the queue has yet to write stays until it has. */
void burn__vulkan_event_release(Gpu *gpu, BurnEvent *event) {
  Vulkan *vulkan = vulkan_of(gpu);
  if (event_of(event)->clock && vulkan_is_beyond_reach(vulkan)) return;
  if (event_of(event)->clock && vulkan_broken(vulkan) == VK_SUCCESS)
    (void)burn__vulkan_wait_for(vulkan, event_of(event)->value);
  drop_event(vulkan, event_of(event));
}

static BurnStatus read_clock(Vulkan *vulkan, const Event *event, uint64_t *ticks) {
  if (!event->clock) return VULKAN_FAIL(vulkan, INVALID_ARGUMENT, "event_elapsed: an event has no time");
  return burn__vulkan_check(vulkan,
                            vulkan->calls.GetQueryPoolResults(vulkan->device, event->clock, 0, 1, sizeof *ticks, ticks,
                                                              sizeof *ticks, VK_QUERY_RESULT_64_BIT),
                            "time of an event");
}

/* The clock has so many bits, and goes round. */
double burn__vulkan_seconds(const Vulkan *vulkan, uint64_t begin, uint64_t end) {
  const uint32_t unused = 64u - vulkan->caps.timestamp_bits;
  const int64_t ticks = (int64_t)((end - begin) << unused) >> unused;
  return (double)ticks * vulkan->caps.timestamp_seconds;
}

BurnStatus burn__vulkan_event_elapsed(Gpu *gpu, BurnEvent *first, BurnEvent *second, double *seconds) {
  Vulkan *vulkan = vulkan_of(gpu);
  uint64_t begin = 0, end = 0;
  BurnStatus status = read_clock(vulkan, event_of(first), &begin);
  if (status == BURN_OK) status = read_clock(vulkan, event_of(second), &end);
  if (status != BURN_OK) return status;
  *seconds = burn__vulkan_seconds(vulkan, begin, end);
  return BURN_OK;
}

/* -- as Vulkan knows them --------------------------------------------------------------------- */

/* What was recorded is submitted, so that work which others submit comes after it. */
static BurnStatus flush(Vulkan *vulkan) {
  uint64_t value = 0;
  const BurnStatus status = burn__vulkan_works(vulkan);
  return status == BURN_OK ? burn__vulkan_submit(vulkan, &value) : status;
}

static BurnStatus BURN_API_CALL native_memory(void *self, BurnPrimitive *x, BurnNativeMemory *out) {
  Vulkan *vulkan = self;
  int64_t last = 0;
  if (x->owner != vulkan->gpu.owner)
    return VULKAN_FAIL(vulkan, BAD_OWNER, "native_memory: the tensor belongs to backend %u, this is %u", x->owner,
                       vulkan->gpu.owner);
  const BurnStatus status = flush(vulkan);
  if (status != BURN_OK) return status;
  for (uint32_t axis = 0; axis < x->rank; axis++) last += (x->shape[axis] - 1) * x->strides[axis];
  const VulkanSpan span = burn__vulkan_span(x);
  out->api = "vulkan";
  out->handle = (void *)(uintptr_t)span.buffer;
  out->byte_offset = span.offset;
  out->bytes = burn_primitive_count(x) == 0 ? 0 : (uint64_t)(last + 1) * burn_dtype_bytes(x->dtype);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL native_queue(void *self, BurnNativeQueue *out) {
  Vulkan *vulkan = self;
  const BurnStatus status = flush(vulkan);
  if (status != BURN_OK) return status;
  out->api = "vulkan";
  out->queue = burn__vulkan_queue_handle(vulkan);
  out->context = vulkan->device;
  return BURN_OK;
}

/* -- what the device is ----------------------------------------------------------------------- */

static uint32_t kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return BURN_DEVICE_KIND_CPU;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return BURN_DEVICE_KIND_DISCRETE_GPU;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return BURN_DEVICE_KIND_INTEGRATED_GPU;
    default:
      return BURN_DEVICE_KIND_OTHER;
  }
}

static BurnStatus BURN_API_CALL describe(void *self, BurnDeviceDescription *out) {
  Vulkan *vulkan = self;
  const VulkanCaps *caps = &vulkan->caps;
  BurnDeviceDescription full = {.struct_size = out->struct_size,
                                .kind = kind_of(caps->type),
                                .index = vulkan->gpu.index,
                                .unit_count = caps->unit_count,
                                .memory_bytes = (int64_t)caps->heap_bytes};
  full.free_bytes = (int64_t)burn__vulkan_free_bytes(vulkan->instance, vulkan->physical, caps);
  memcpy(full.uuid, caps->device_uuid, sizeof full.uuid);
  (void)snprintf(full.pci_address, sizeof full.pci_address, "%s", caps->pci_address);
  (void)snprintf(full.name, sizeof full.name, "%.*s", (int)sizeof full.name - 1, caps->name);
  (void)snprintf(full.driver, sizeof full.driver, "%.*s", (int)sizeof full.driver - 1, caps->driver);
  (void)snprintf(full.architecture, sizeof full.architecture, "%04x:%04x, subgroups of %u", caps->vendor, caps->device,
                 caps->subgroup);
  memcpy(out, &full, out->struct_size < sizeof full ? out->struct_size : sizeof full);
  return BURN_OK;
}

const BurnDeviceInterface burn__vulkan_device_interface = {.struct_size = (uint32_t)sizeof(BurnDeviceInterface),
                                                           .version = 1,
                                                           .describe = describe,
                                                           .staging_allocate = burn__vulkan_staging_allocate,
                                                           .staging_free = burn__vulkan_staging_free,
                                                           .native_memory = native_memory,
                                                           .native_queue = native_queue,
                                                           .kernel_takes_code = burn__vulkan_pack_takes_code,
                                                           .kernel_load = burn__vulkan_pack_load,
                                                           .kernel_unload = burn__vulkan_pack_unload,
                                                           .kernel_launch = burn__gpu_pack_launch,
                                                           .timed_event_record = burn__gpu_timed_event_record,
                                                           .event_elapsed = burn__gpu_event_elapsed,
                                                           GPU_DEVICE_SLOTS};
