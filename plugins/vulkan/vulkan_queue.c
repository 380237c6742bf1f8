/* vulkan_queue.c - the queue of an instance: what is recorded, submitted, waited for.
 *
 * Commands go into batches. A batch is a command buffer of a pool of its own; when it is done, the timeline semaphore
 * has come to its value. Batches stand in a ring, and with them goes the memory that was staged for them. */
#include "vulkan_internal.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_WEIGHT = 8, MAX_WEIGHT = 64, MAX_OF_DISCRETE = 256, RING_BYTES = 16 << 20, ALIGNMENT = 16 };

typedef struct Batch {
  VkCommandPool pool;
  VkCommandBuffer commands;
  uint64_t value;                           /* of the timeline when it is done; 0: it was never submitted */
  uint64_t staged_until[VULKAN_DIRECTIONS]; /* of the rings: what lies before is free then */
} Batch;

/* Memory that the host and the device use: made with the queue, as tensors may leave none later. */
typedef struct Ring {
  VulkanBuffer buffer;
  uint64_t begin, end; /* what is in use of it, counted on and on */
} Ring;

/* A copy out of a ring, to be made when a value is reached. */
typedef struct Later {
  struct Later *next;
  uint64_t value, bytes;
  const char *from;
  void *to;
} Later;

struct VulkanQueue {
  pthread_mutex_t mutex;
  VkQueue handle;
  VkSemaphore timeline;
  Batch batches[VULKAN_BATCHES];
  uint32_t current;            /* the batch that is recorded */
  bool is_open;                /* it has been begun */
  uint32_t weight;             /* of what it has */
  uint32_t most_weight;        /* with which it is submitted */
  VkPipeline bound;            /* in it */
  VulkanOrder order;           /* of what it has, and of all before */
  _Atomic uint64_t next, done; /* the value of `current`; that which the timeline has come to at least */
  Ring rings[VULKAN_DIRECTIONS];
  Later *first, **end; /* in the order of their values */
};

/* -- making it -------------------------------------------------------------------------------- */

static VkResult make_batch(Vulkan *vulkan, Batch *batch) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                        .queueFamilyIndex = vulkan->caps.family};
  VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  const VkResult result = vulkan->calls.CreateCommandPool(vulkan->device, &pool, NULL, &batch->pool);
  if (result != VK_SUCCESS) return result;
  commands.commandPool = batch->pool;
  return vulkan->calls.AllocateCommandBuffers(vulkan->device, &commands, &batch->commands);
}

static VkResult make_timeline(Vulkan *vulkan, VkSemaphore *out) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  return vulkan->calls.CreateSemaphore(vulkan->device, &info, NULL, out);
}

static VkResult make_rings(Vulkan *vulkan) {
  Ring *rings = vulkan->queue->rings;
  const VkResult result = burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_UPLOAD, RING_BYTES, &rings[VULKAN_UP].buffer);
  if (result != VK_SUCCESS) return result;
  return burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DOWNLOAD, RING_BYTES, &rings[VULKAN_DOWN].buffer);
}

BurnStatus burn__vulkan_queue_create(Vulkan *vulkan) {
  VulkanQueue *queue = vulkan->gpu.host->allocate(sizeof *queue);
  if (!queue) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a queue");
  *queue = (VulkanQueue){.mutex = PTHREAD_MUTEX_INITIALIZER,
                         .most_weight = FIRST_WEIGHT,
                         .order = {.last = VULKAN_ANYTHING, .is_unknown = true}};
  queue->end = &queue->first;
  atomic_init(&queue->next, 1);
  vulkan->queue = queue;
  vulkan->calls.GetDeviceQueue(vulkan->device, vulkan->caps.family, 0, &queue->handle);
  VkResult result = make_timeline(vulkan, &queue->timeline);
  for (uint32_t i = 0; i < VULKAN_BATCHES && result == VK_SUCCESS; i++) result = make_batch(vulkan, &queue->batches[i]);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "make a queue");
  return burn__vulkan_check(vulkan, make_rings(vulkan), "allocate memory for transfers");
}

void burn__vulkan_queue_destroy(Vulkan *vulkan) {
  VulkanQueue *queue = vulkan->queue;
  const VulkanCalls *calls = &vulkan->calls;
  if (!queue) return;
  for (Later *later = queue->first, *next = NULL; later; later = next) {
    next = later->next;
    vulkan->gpu.host->free(later, sizeof *later);
  }
  for (uint32_t i = 0; i < VULKAN_DIRECTIONS; i++) burn__vulkan_buffer_end(vulkan, &queue->rings[i].buffer);
  for (uint32_t i = 0; i < VULKAN_BATCHES; i++)
    if (queue->batches[i].pool) calls->DestroyCommandPool(vulkan->device, queue->batches[i].pool, NULL);
  if (queue->timeline) calls->DestroySemaphore(vulkan->device, queue->timeline, NULL);
  (void)pthread_mutex_destroy(&queue->mutex);
  vulkan->gpu.host->free(queue, sizeof *queue);
  vulkan->queue = NULL;
}

VkQueue burn__vulkan_queue_handle(const Vulkan *vulkan) { return vulkan->queue->handle; }

/* -- what is done ----------------------------------------------------------------------------- */

/* With the mutex: copies whose bytes have come. */
static void finish_later(Vulkan *vulkan, uint64_t done) {
  VulkanQueue *queue = vulkan->queue;
  while (queue->first && queue->first->value <= done) {
    Later *later = queue->first;
    memcpy(later->to, later->from, later->bytes);
    queue->first = later->next;
    if (!queue->first) queue->end = &queue->first;
    vulkan->gpu.host->free(later, sizeof *later);
  }
}

/* With the mutex: what a batch staged is free. */
static void free_staged(VulkanQueue *queue, const Batch *batch) {
  for (uint32_t i = 0; i < VULKAN_DIRECTIONS; i++)
    if (batch->staged_until[i] > queue->rings[i].begin) queue->rings[i].begin = batch->staged_until[i];
}

/* With the mutex: the timeline has come to `done`. */
static void reach(Vulkan *vulkan, uint64_t done) {
  VulkanQueue *queue = vulkan->queue;
  if (done <= atomic_load(&queue->done)) return;
  finish_later(vulkan, done);
  for (uint32_t i = 0; i < VULKAN_BATCHES; i++)
    if (queue->batches[i].value != 0 && queue->batches[i].value <= done) free_staged(queue, &queue->batches[i]);
  atomic_store(&queue->done, done);
}

/* With the mutex. A driver whose device was lost may tell any value. */
static BurnStatus look(Vulkan *vulkan) {
  uint64_t value = 0;
  const VkResult result = vulkan->calls.GetSemaphoreCounterValue(vulkan->device, vulkan->queue->timeline, &value);
  if (result == VK_SUCCESS && value < atomic_load(&vulkan->queue->next)) reach(vulkan, value);
  return burn__vulkan_check(vulkan, result, "ask the queue");
}

BurnStatus burn__vulkan_is_done(Vulkan *vulkan, uint64_t value, bool *done) {
  VulkanQueue *queue = vulkan->queue;
  BurnStatus status = BURN_OK;
  *done = value <= atomic_load(&queue->done);
  if (*done) return BURN_OK;
  (void)pthread_mutex_lock(&queue->mutex);
  status = look(vulkan);
  (void)pthread_mutex_unlock(&queue->mutex);
  *done = value <= atomic_load(&queue->done);
  return status;
}

/* Without the mutex, or with it where others cannot go on either. */
static BurnStatus wait_timeline(Vulkan *vulkan, uint64_t value) {
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &vulkan->queue->timeline,
                                    .pValues = &value};
  const uint64_t limit = vulkan->settings.wait_seconds;
  char why[100];
  if (value <= atomic_load(&vulkan->queue->done)) return BURN_OK;
  const VkResult result = vulkan->calls.WaitSemaphores(vulkan->device, &info, limit * UINT64_C(1000000000));
  if (result != VK_TIMEOUT) return burn__vulkan_check(vulkan, result, "wait for the device");
  (void)snprintf(why, sizeof why, "the device did not answer within %llu s (option wait_limit)",
                 (unsigned long long)limit);
  return burn__vulkan_break(vulkan, result, why);
}

BurnStatus burn__vulkan_wait_for(Vulkan *vulkan, uint64_t value) {
  VulkanQueue *queue = vulkan->queue;
  BurnStatus status = wait_timeline(vulkan, value);
  if (status != BURN_OK) return status;
  (void)pthread_mutex_lock(&queue->mutex);
  reach(vulkan, value);
  queue->most_weight = FIRST_WEIGHT; /* it has nothing to do now */
  (void)pthread_mutex_unlock(&queue->mutex);
  return BURN_OK;
}

/* -- batches ---------------------------------------------------------------------------------- */

/* With the mutex. */
static BurnStatus begin_batch(Vulkan *vulkan) {
  VulkanQueue *queue = vulkan->queue;
  Batch *batch = &queue->batches[queue->current];
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  if (queue->is_open) return BURN_OK;
  BurnStatus status = wait_timeline(vulkan, batch->value);
  if (status != BURN_OK) return status;
  reach(vulkan, batch->value);
  VkResult result = vulkan->calls.ResetCommandPool(vulkan->device, batch->pool, 0);
  if (result == VK_SUCCESS) result = vulkan->calls.BeginCommandBuffer(batch->commands, &info);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "begin commands");
  burn__vulkan_profile_begin(vulkan, queue->current, batch->commands);
  queue->is_open = true;
  queue->weight = 0;
  queue->bound = VK_NULL_HANDLE;
  return BURN_OK;
}

/* Slow devices are given less at once: some systems end what takes seconds. */
static uint32_t most_weight(const VulkanCaps *caps) {
  return caps->type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? MAX_OF_DISCRETE : MAX_WEIGHT;
}

/* With the mutex: command buffers go to the device, which signals the next value. */
static BurnStatus submit_commands(Vulkan *vulkan, const VkCommandBuffer *commands, uint32_t count) {
  VulkanQueue *queue = vulkan->queue;
  const uint64_t value = atomic_load(&queue->next);
  VkCommandBufferSubmitInfo infos[2];
  for (uint32_t i = 0; i < count; i++)
    infos[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                           .commandBuffer = commands[i]};
  const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = queue->timeline,
                                        .value = value,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                              .commandBufferInfoCount = count,
                              .pCommandBufferInfos = infos,
                              .signalSemaphoreInfoCount = 1,
                              .pSignalSemaphoreInfos = &signal};
  const VkResult result = vulkan->calls.QueueSubmit2(queue->handle, 1, &info, VK_NULL_HANDLE);
  if (result != VK_SUCCESS) return burn__vulkan_break(vulkan, result, "submit"); /* what was recorded is gone */
  atomic_store(&queue->next, value + 1);
  return BURN_OK;
}

/* With the mutex: what is recorded goes to the device, and then another command buffer (NULL: none). */
static BurnStatus submit_with(Vulkan *vulkan, VkCommandBuffer other) {
  VulkanQueue *queue = vulkan->queue;
  Batch *batch = &queue->batches[queue->current];
  const uint64_t value = atomic_load(&queue->next);
  VkCommandBuffer commands[2] = {other, NULL};
  if (!queue->is_open) return other ? submit_commands(vulkan, commands, 1) : BURN_OK;
  burn__vulkan_put_barrier(vulkan, batch->commands, VULKAN_ANYTHING, VULKAN_HOST);
  const VkResult result = vulkan->calls.EndCommandBuffer(batch->commands);
  if (result != VK_SUCCESS) return burn__vulkan_break(vulkan, result, "submit");
  commands[0] = batch->commands;
  commands[1] = other;
  const BurnStatus status = submit_commands(vulkan, commands, other ? 2 : 1);
  if (status != BURN_OK) return status;
  batch->value = value;
  for (uint32_t i = 0; i < VULKAN_DIRECTIONS; i++) batch->staged_until[i] = queue->rings[i].end;
  queue->is_open = false;
  queue->current = (queue->current + 1) % VULKAN_BATCHES;
  if (queue->most_weight < most_weight(&vulkan->caps)) queue->most_weight *= 2;
  return BURN_OK;
}

static BurnStatus submit_batch(Vulkan *vulkan) { return submit_with(vulkan, NULL); }

BurnStatus burn__vulkan_submit_recorded(Vulkan *vulkan, VkCommandBuffer commands, uint64_t *value) {
  VulkanQueue *queue = vulkan->queue;
  (void)pthread_mutex_lock(&queue->mutex);
  BurnStatus status = burn__vulkan_works(vulkan);
  if (status == BURN_OK) status = submit_with(vulkan, commands);
  queue->order = (VulkanOrder){.last = VULKAN_ANYTHING, .is_unknown = true};
  *value = atomic_load(&queue->next) - 1;
  (void)pthread_mutex_unlock(&queue->mutex);
  return status;
}

BurnStatus burn__vulkan_submit(Vulkan *vulkan, uint64_t *value) {
  VulkanQueue *queue = vulkan->queue;
  (void)pthread_mutex_lock(&queue->mutex);
  const BurnStatus status = submit_batch(vulkan);
  *value = atomic_load(&queue->next) - 1;
  (void)pthread_mutex_unlock(&queue->mutex);
  return status;
}

bool burn__vulkan_is_idle(Vulkan *vulkan) {
  VulkanQueue *queue = vulkan->queue;
  (void)pthread_mutex_lock(&queue->mutex);
  const uint64_t last = atomic_load(&queue->next) - 1;
  bool is_idle = !queue->is_open && atomic_load(&queue->done) == last;
  if (!queue->is_open && !is_idle) is_idle = look(vulkan) == BURN_OK && atomic_load(&queue->done) == last;
  (void)pthread_mutex_unlock(&queue->mutex);
  return is_idle;
}

/* Memory may change hands now, so what was written into it is not known any more. */
BurnStatus burn__vulkan_drain(Vulkan *vulkan) {
  uint64_t value = 0;
  const BurnStatus status = burn__vulkan_submit(vulkan, &value);
  (void)pthread_mutex_lock(&vulkan->queue->mutex);
  vulkan->queue->order.is_unknown = true;
  (void)pthread_mutex_unlock(&vulkan->queue->mutex);
  return status == BURN_OK ? burn__vulkan_wait_for(vulkan, value) : status;
}

/* -- recording -------------------------------------------------------------------------------- */

/* Takes the mutex, unless it fails. */
static BurnStatus begin_work(Vulkan *vulkan, VulkanWork work, const GpuTouched *touched, VkCommandBuffer *out) {
  VulkanQueue *queue = vulkan->queue;
  (void)pthread_mutex_lock(&queue->mutex);
  BurnStatus status = burn__vulkan_works(vulkan); /* another thread may have broken it meanwhile */
  if (status == BURN_OK) status = begin_batch(vulkan);
  if (status != BURN_OK) {
    (void)pthread_mutex_unlock(&queue->mutex);
    return status;
  }
  *out = queue->batches[queue->current].commands;
  const VulkanWork last = queue->order.last;
  if (burn__vulkan_needs_barrier(vulkan, &queue->order, work, touched))
    burn__vulkan_put_barrier(vulkan, *out, last, work);
  return BURN_OK;
}

BurnStatus burn__vulkan_record_begin(Vulkan *vulkan, VulkanWork work, VkCommandBuffer *out) {
  return begin_work(vulkan, work, NULL, out);
}

BurnStatus burn__vulkan_record_end(Vulkan *vulkan, uint32_t weight) {
  VulkanQueue *queue = vulkan->queue;
  queue->weight += weight;
  const BurnStatus status = queue->weight >= queue->most_weight ? submit_batch(vulkan) : BURN_OK;
  (void)pthread_mutex_unlock(&queue->mutex);
  return status;
}

/* -- staged memory ---------------------------------------------------------------------------- */

/* Where `bytes` begin that do not wrap; UINT64_MAX where there is no room now. */
static uint64_t find_room(const Ring *ring, uint64_t bytes) {
  uint64_t begin = (ring->end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const uint64_t left = RING_BYTES - begin % RING_BYTES;
  if (left < bytes) begin += left;
  return begin + bytes - ring->begin <= RING_BYTES ? begin : UINT64_MAX;
}

/* The oldest batch that is not done is waited for; where there is none, what is recorded goes to the device first. */
static BurnStatus make_room(Vulkan *vulkan) {
  VulkanQueue *queue = vulkan->queue;
  const uint64_t oldest = atomic_load(&queue->done) + 1;
  BurnStatus status = oldest == atomic_load(&queue->next) ? submit_batch(vulkan) : BURN_OK;
  if (status == BURN_OK) status = wait_timeline(vulkan, oldest);
  if (status == BURN_OK) reach(vulkan, oldest);
  return status == BURN_OK ? begin_batch(vulkan) : status;
}

BurnStatus burn__vulkan_stage(Vulkan *vulkan, VulkanDirection direction, uint64_t bytes, VulkanStaged *out,
                              VkCommandBuffer *commands) {
  VulkanQueue *queue = vulkan->queue;
  Ring *ring = &queue->rings[direction];
  BurnStatus status = BURN_OK;
  uint64_t begin = find_room(ring, bytes);
  while (begin == UINT64_MAX) {
    status = make_room(vulkan);
    if (status != BURN_OK) return status;
    begin = find_room(ring, bytes);
  }
  const uint64_t offset = begin % RING_BYTES;
  ring->end = begin + bytes;
  *out = (VulkanStaged){{ring->buffer.buffer, offset}, ring->buffer.mapped + offset, ring->buffer.address + offset};
  *commands = queue->batches[queue->current].commands;
  return BURN_OK;
}

bool burn__vulkan_copy_later(Vulkan *vulkan, const VulkanStaged *staged, void *to, uint64_t bytes) {
  VulkanQueue *queue = vulkan->queue;
  Later *later = vulkan->gpu.host->allocate(sizeof *later);
  if (!later) return false;
  *later = (Later){.value = atomic_load(&queue->next), .bytes = bytes, .from = staged->mapped, .to = to};
  *queue->end = later;
  queue->end = &later->next;
  return true;
}

/* -- dispatches ------------------------------------------------------------------------------- */

/* The push constants of a kernel: see kernel.h. */
typedef struct Pushed {
  uint32_t group_count, reserved;
  union {
    uint64_t address;
    char parameters[120];
  } rest;
} Pushed;

void burn__vulkan_put_dispatch(Vulkan *vulkan, const VulkanDispatch *dispatch, GpuAddress parameters, VkPipeline *bound,
                               VkCommandBuffer commands) {
  const VulkanCalls *calls = &vulkan->calls;
  const uint32_t rest = dispatch->in_push_constants ? (dispatch->bytes + 3) / 4 * 4 : 8;
  Pushed pushed = {.group_count = dispatch->group_count};
  if (dispatch->in_push_constants && !dispatch->is_whole) {
    memcpy(pushed.rest.parameters, dispatch->parameters, dispatch->bytes);
  } else if (!dispatch->in_push_constants) {
    pushed.rest.address = parameters;
  }
  if (*bound != dispatch->pipeline)
    calls->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch->pipeline);
  *bound = dispatch->pipeline;
  if (dispatch->is_whole) {
    calls->CmdPushConstants(commands, vulkan->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, dispatch->bytes,
                            dispatch->parameters);
  } else {
    calls->CmdPushConstants(commands, vulkan->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8 + rest, &pushed);
  }
  calls->CmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
}

/* Parameters that are not push constants wait in staged memory. */
static BurnStatus stage_parameters(Vulkan *vulkan, const VulkanDispatch *dispatch, GpuAddress *address,
                                   VkCommandBuffer *commands) {
  VulkanStaged staged;
  if (dispatch->in_push_constants) return BURN_OK;
  const BurnStatus status = burn__vulkan_stage(vulkan, VULKAN_UP, dispatch->bytes, &staged, commands);
  if (status != BURN_OK) return status;
  memcpy(staged.mapped, dispatch->parameters, dispatch->bytes);
  *address = staged.address;
  return BURN_OK;
}

static void put_timed(Vulkan *vulkan, const VulkanDispatch *dispatch, GpuAddress parameters, VkCommandBuffer commands) {
  const uint32_t batch = vulkan->queue->current;
  const bool is_timed = burn__vulkan_profile_before(vulkan, batch, dispatch, commands);
  burn__vulkan_put_dispatch(vulkan, dispatch, parameters, &vulkan->queue->bound, commands);
  if (is_timed) burn__vulkan_profile_after(vulkan, batch, commands);
}

BurnStatus burn__vulkan_dispatch(Vulkan *vulkan, const VulkanDispatch *dispatch) {
  VkCommandBuffer commands = NULL;
  GpuAddress parameters = 0;
  if (vulkan->recorded) return burn__vulkan_record_dispatch(vulkan, dispatch);
  BurnStatus status = begin_work(vulkan, VULKAN_KERNELS, dispatch->touched, &commands);
  if (status != BURN_OK) return status;
  status = stage_parameters(vulkan, dispatch, &parameters, &commands);
  if (status == BURN_OK) put_timed(vulkan, dispatch, parameters, commands);
  const BurnStatus ended = burn__vulkan_record_end(vulkan, 1);
  return status == BURN_OK ? ended : status;
}
