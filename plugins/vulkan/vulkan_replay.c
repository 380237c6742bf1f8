/* vulkan_replay.c - recorded work as command buffers (gpu_replay.h).
 *
 * While a thread records, dispatches and copies go into a list. At the end the list is written into a command buffer
 * that every run submits again, also while an earlier run is at work. Parameters of kernels lie in a buffer of the
 * recording, and a patch changes them by a copy in the queue before the next run. Those that are push constants lie in
 * the commands: then the list is written anew, into another command buffer. */
#include "vulkan_internal.h"

#include <string.h>

enum { WRITTEN = 4, FIRST_COMMANDS = 64, FIRST_BYTES = 4096, ALIGNMENT = 16 };

/* A dispatch, or a copy. */
typedef struct Command {
  VulkanDispatch dispatch; /* without a pipeline: a copy; its parameters are NULL */
  uint32_t first;          /* byte of its parameters */
  VulkanSpan from, to;
  uint64_t bytes;
  bool has_barrier;
  VulkanWork before; /* the work that the barrier begins with */
} Command;

/* The list as a command buffer. */
typedef struct Written {
  VkCommandPool pool;
  VkCommandBuffer commands;
  uint64_t value; /* of the timeline when its last run is done; 0: it has not run */
} Written;

struct GpuWork {
  Command *commands;
  char *parameters; /* of all, as they are to be */
  uint32_t count, capacity, used, room;
  VulkanOrder order;   /* of the list so far */
  VulkanBuffer buffer; /* `parameters`, as the device sees them */
  uint32_t changed[2]; /* from .. to: bytes that the buffer has yet to get */
  Written written[WRITTEN];
  uint32_t current; /* of `written` */
  bool is_stale;    /* it has other push constants than the list */
  uint32_t asked;   /* in a patch, for what cannot be patched */
};

/* -- the list --------------------------------------------------------------------------------- */

static bool grow(const BurnHost *host, void **items, uint32_t count, uint32_t *capacity, uint32_t wanted, size_t each) {
  uint64_t more = *capacity;
  while (more < wanted) more *= 2;
  if (more == *capacity) return true;
  void *grown = more <= UINT32_MAX / 2 ? host->allocate(more * each) : NULL;
  if (!grown) return false;
  memcpy(grown, *items, count * each);
  host->free(*items, *capacity * each);
  *items = grown;
  *capacity = (uint32_t)more;
  return true;
}

static BurnStatus add(Vulkan *vulkan, const Command *command) {
  GpuWork *work = vulkan->recorded;
  if (!grow(vulkan->gpu.host, (void **)(void *)&work->commands, work->count, &work->capacity, work->count + 1,
            sizeof *work->commands))
    return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a recording");
  work->commands[work->count++] = *command;
  return BURN_OK;
}

/* In a patch, what comes here was not compared with what was recorded. */
BurnStatus burn__vulkan_record_dispatch(Vulkan *vulkan, const VulkanDispatch *dispatch) {
  GpuWork *work = vulkan->recorded;
  const uint32_t first = (work->used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  Command command = {.dispatch = *dispatch, .first = first};
  if (vulkan->gpu.replays.is_patching) {
    work->asked++;
    return BURN_OK;
  }
  if (!grow(vulkan->gpu.host, (void **)(void *)&work->parameters, work->used, &work->room, first + dispatch->bytes, 1))
    return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a recording");
  memset(work->parameters + work->used, 0, first - work->used);
  memcpy(work->parameters + first, dispatch->parameters, dispatch->bytes);
  command.dispatch.parameters = NULL;
  command.dispatch.touched = NULL;
  command.before = work->order.last;
  command.has_barrier = burn__vulkan_needs_barrier(vulkan, &work->order, VULKAN_KERNELS, dispatch->touched);
  work->used = first + dispatch->bytes;
  return add(vulkan, &command);
}

static BurnStatus record_copy(Vulkan *vulkan, VulkanSpan from, VulkanSpan to, uint64_t bytes) {
  GpuWork *work = vulkan->recorded;
  Command command = {.from = from, .to = to, .bytes = bytes, .before = work->order.last};
  if (vulkan->gpu.replays.is_patching) {
    work->asked++;
    return BURN_OK;
  }
  command.has_barrier = burn__vulkan_needs_barrier(vulkan, &work->order, VULKAN_COPIES, NULL);
  return add(vulkan, &command);
}

/* -- writing it ------------------------------------------------------------------------------- */

static void write_dispatch(Vulkan *vulkan, const GpuWork *work, const Command *command, VkPipeline *bound,
                           VkCommandBuffer commands) {
  VulkanDispatch dispatch = command->dispatch;
  dispatch.parameters = work->parameters + command->first;
  burn__vulkan_put_dispatch(vulkan, &dispatch, work->buffer.address + command->first, bound, commands);
}

static void write_commands(Vulkan *vulkan, const GpuWork *work, VkCommandBuffer commands) {
  VkPipeline bound = VK_NULL_HANDLE;
  for (uint32_t i = 0; i < work->count; i++) {
    const Command *command = &work->commands[i];
    const VulkanWork then = command->dispatch.pipeline ? VULKAN_KERNELS : VULKAN_COPIES;
    const VkBufferCopy region = {command->from.offset, command->to.offset, command->bytes};
    if (command->has_barrier) burn__vulkan_put_barrier(vulkan, commands, command->before, then);
    if (command->dispatch.pipeline) write_dispatch(vulkan, work, command, &bound, commands);
    if (!command->dispatch.pipeline)
      vulkan->calls.CmdCopyBuffer(commands, command->from.buffer, command->to.buffer, 1, &region);
  }
  burn__vulkan_put_barrier(vulkan, commands, VULKAN_ANYTHING, VULKAN_HOST);
}

static VkResult make_written(Vulkan *vulkan, Written *written) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = vulkan->caps.family};
  VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  if (written->pool) return vulkan->calls.ResetCommandPool(vulkan->device, written->pool, 0);
  const VkResult result = vulkan->calls.CreateCommandPool(vulkan->device, &pool, NULL, &written->pool);
  if (result != VK_SUCCESS) return result;
  commands.commandPool = written->pool;
  return vulkan->calls.AllocateCommandBuffers(vulkan->device, &commands, &written->commands);
}

/* Into the command buffer whose last run is the longest ago. */
static BurnStatus write_anew(Vulkan *vulkan, GpuWork *work) {
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  const uint32_t next = (work->current + 1) % WRITTEN;
  Written *written = &work->written[next];
  const BurnStatus status = written->value ? burn__vulkan_wait_for(vulkan, written->value) : BURN_OK;
  if (status != BURN_OK) return status;
  VkResult result = make_written(vulkan, written);
  if (result == VK_SUCCESS) result = vulkan->calls.BeginCommandBuffer(written->commands, &info);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "write recorded commands");
  write_commands(vulkan, work, written->commands);
  result = vulkan->calls.EndCommandBuffer(written->commands);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "write recorded commands");
  written->value = 0;
  work->current = next;
  work->is_stale = false;
  return BURN_OK;
}

/* -- begin and end ---------------------------------------------------------------------------- */

/* A device that has failed could not be waited for before. */
static void end_objects(Vulkan *vulkan, GpuWork *work) {
  if (vulkan_is_beyond_reach(vulkan)) return;
  if (vulkan_broken(vulkan) != VK_SUCCESS) (void)vulkan->calls.DeviceWaitIdle(vulkan->device);
  for (uint32_t i = 0; i < WRITTEN; i++)
    if (work->written[i].pool) vulkan->calls.DestroyCommandPool(vulkan->device, work->written[i].pool, NULL);
  burn__vulkan_buffer_end(vulkan, &work->buffer);
}

static void drop(Gpu *gpu, GpuWork *work) {
  if (!work) return;
  end_objects(vulkan_of(gpu), work);
  gpu->host->free(work->commands, work->capacity * sizeof *work->commands);
  gpu->host->free(work->parameters, work->room);
  gpu->host->free(work, sizeof *work);
}

/* Memory that goes back must not be in use. */
static BurnStatus begin(Gpu *gpu, GpuWork **out) {
  Vulkan *vulkan = vulkan_of(gpu);
  const BurnStatus status = burn__vulkan_drain(vulkan);
  if (status != BURN_OK) return status;
  burn__gpu_memory_give_up(gpu);
  GpuWork *work = gpu->host->allocate(sizeof *work);
  if (!work) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a recording");
  *work = (GpuWork){.capacity = FIRST_COMMANDS, .room = FIRST_BYTES};
  work->order = (VulkanOrder){.last = VULKAN_ANYTHING, .is_unknown = true};
  work->commands = gpu->host->allocate(work->capacity * sizeof *work->commands);
  work->parameters = gpu->host->allocate(work->room);
  if (!work->commands || !work->parameters) {
    drop(gpu, work);
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a recording");
  }
  vulkan->recorded = work;
  *out = work;
  return BURN_OK;
}

static BurnStatus end(Gpu *gpu, GpuWork *work, bool ok) {
  Vulkan *vulkan = vulkan_of(gpu);
  vulkan->recorded = NULL;
  if (!ok) return BURN_OK;
  const VkResult result = burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DEVICE, work->used + ALIGNMENT, &work->buffer);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "memory for a recording");
  work->changed[1] = work->used;
  return write_anew(vulkan, work);
}

/* -- runs ------------------------------------------------------------------------------------- */

static BurnStatus upload_piece(Vulkan *vulkan, const GpuWork *work, uint32_t first, uint32_t bytes) {
  VkCommandBuffer commands = NULL;
  VulkanStaged staged;
  BurnStatus status = burn__vulkan_record_begin(vulkan, VULKAN_COPIES, &commands);
  if (status != BURN_OK) return status;
  status = burn__vulkan_stage(vulkan, VULKAN_UP, bytes, &staged, &commands);
  if (status == BURN_OK) {
    const VkBufferCopy region = {staged.span.offset, first, bytes};
    memcpy(staged.mapped, work->parameters + first, bytes);
    vulkan->calls.CmdCopyBuffer(commands, staged.span.buffer, work->buffer.buffer, 1, &region);
  }
  const BurnStatus ended = burn__vulkan_record_end(vulkan, 0);
  return status == BURN_OK ? ended : status;
}

static BurnStatus upload(Vulkan *vulkan, GpuWork *work) {
  BurnStatus status = BURN_OK;
  while (status == BURN_OK && work->changed[0] < work->changed[1]) {
    const uint32_t rest = work->changed[1] - work->changed[0];
    const uint32_t bytes = rest < VULKAN_MAX_STAGED ? rest : VULKAN_MAX_STAGED;
    status = upload_piece(vulkan, work, work->changed[0], bytes);
    if (status == BURN_OK) work->changed[0] += bytes;
  }
  return status;
}

static BurnStatus run(Gpu *gpu, GpuWork *work) {
  Vulkan *vulkan = vulkan_of(gpu);
  BurnStatus status = upload(vulkan, work);
  if (status == BURN_OK && work->is_stale) status = write_anew(vulkan, work);
  if (status != BURN_OK) return status;
  Written *written = &work->written[work->current];
  return burn__vulkan_submit_recorded(vulkan, written->commands, &written->value);
}

/* -- patches ---------------------------------------------------------------------------------- */

/* A place in the list, from 1 on. */
static BurnStatus last(Gpu *gpu, const GpuWork *work, void **node) {
  (void)gpu;
  *node = (void *)(uintptr_t)work->count;
  return BURN_OK;
}

static BurnStatus change(Gpu *gpu, GpuWork *work, void *node, const GpuStart *start) {
  const Command *command = &work->commands[(uintptr_t)node - 1];
  const uint32_t first = command->first, end = first + (uint32_t)start->bytes;
  (void)gpu;
  memcpy(work->parameters + first, start->parameters, start->bytes);
  if (command->dispatch.in_push_constants) {
    work->is_stale = true;
    return BURN_OK;
  }
  const bool is_first = work->changed[0] >= work->changed[1];
  if (is_first || first < work->changed[0]) work->changed[0] = first;
  if (is_first || end > work->changed[1]) work->changed[1] = end;
  return BURN_OK;
}

static BurnStatus patch_begin(Gpu *gpu, GpuWork *work) {
  work->asked = 0;
  vulkan_of(gpu)->recorded = work;
  return BURN_OK;
}

static BurnStatus patch_end(Gpu *gpu, GpuWork *work, bool *is_empty) {
  vulkan_of(gpu)->recorded = NULL;
  *is_empty = work->asked == 0;
  return BURN_OK;
}

static BurnStatus copy(Gpu *gpu, const GpuPlace *to, const GpuPlace *from, uint64_t bytes) {
  Vulkan *vulkan = vulkan_of(gpu);
  const VulkanSpan source = burn__vulkan_span_at(from->address, from->memory);
  const VulkanSpan target = burn__vulkan_span_at(to->address, to->memory);
  if (vulkan->recorded) return record_copy(vulkan, source, target, bytes);
  return burn__vulkan_copy(vulkan, source, target, bytes);
}

const GpuReplayWork burn__vulkan_replay_work = {.begin = begin,
                                                .end = end,
                                                .drop = drop,
                                                .run = run,
                                                .last = last,
                                                .change = change,
                                                .patch_begin = patch_begin,
                                                .patch_end = patch_end,
                                                .copy = copy};
