/* gpu_replay.c - "burn.replay": recordings, whatever the backend makes of recorded work.
 *
 * The backend records what is started, and storages come from a cache of the recording. Every start of a kernel is
 * remembered with its parameters, every storage with its address, both by the mark of their call. A patch makes a call
 * once more with stand-ins: it finds the same addresses, and what it would start is compared with what was started;
 * where parameters differ, the backend gets the new ones. What goes to the backend meanwhile must be nothing, or the
 * call did something that cannot be patched. */
#include "gpu_backend.h"
#include "gpu_recording.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

BurnStatus burn__gpu_no_recording_memory(Gpu *gpu) {
  return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a recording");
}

bool burn__gpu_recording_reserve(void **items, uint32_t count, uint32_t *capacity, uint64_t more, size_t item_bytes) {
  if (more <= *capacity - count) return true;
  uint64_t wanted = *capacity ? *capacity : 64u;
  while (wanted < count + more) wanted *= 2u;
  void *grown = wanted <= UINT32_MAX ? realloc(*items, (size_t)wanted * item_bytes) : NULL;
  if (!grown) return false;
  *items = grown;
  *capacity = (uint32_t)wanted;
  return true;
}

/* -- who is inside ---------------------------------------------------------------------------- */

static _Thread_local char this_thread; /* its address names the thread */

/* Both look after they have written, so one of them sees the other. */
void burn__gpu_call_begin(Gpu *gpu) {
  GpuReplays *replays = &gpu->replays;
  for (;;) {
    atomic_fetch_add(&replays->inside, 1u);
    const void *recorder = atomic_load(&replays->recorder);
    if (!recorder || recorder == &this_thread) return;
    atomic_fetch_sub(&replays->inside, 1u);
    (void)pthread_mutex_lock(&replays->recorder_mutex);
    (void)pthread_mutex_unlock(&replays->recorder_mutex);
  }
}

void burn__gpu_call_end(Gpu *gpu) { atomic_fetch_sub(&gpu->replays.inside, 1u); }

void burn__gpu_shut_out(Gpu *gpu) {
  GpuReplays *replays = &gpu->replays;
  (void)pthread_mutex_lock(&replays->recorder_mutex);
  atomic_store(&replays->recorder, &this_thread);
  while (atomic_load(&replays->inside) != 0) (void)sched_yield();
}

void burn__gpu_let_in(Gpu *gpu) {
  atomic_store(&gpu->replays.recorder, NULL);
  (void)pthread_mutex_unlock(&gpu->replays.recorder_mutex);
}

bool burn__gpu_replays_begin(GpuReplays *replays) {
  if (pthread_mutex_init(&replays->recorder_mutex, NULL) != 0) return false;
  if (pthread_mutex_init(&replays->scratch_mutex, NULL) == 0) return true;
  (void)pthread_mutex_destroy(&replays->recorder_mutex);
  return false;
}

void burn__gpu_replays_end(GpuReplays *replays) {
  (void)pthread_mutex_destroy(&replays->scratch_mutex);
  (void)pthread_mutex_destroy(&replays->recorder_mutex);
}

/* -- what is recorded ------------------------------------------------------------------------- */

BurnStatus burn__gpu_replay_started(Gpu *gpu, const GpuStart *start) {
  GpuRecording *r = gpu->replays.recording;
  if (!RESERVE(r->started, 1) || !RESERVE(r->parameters, start->bytes)) return burn__gpu_no_recording_memory(gpu);
  Started started = {.function = start->function,
                     .groups = start->groups,
                     .threads = start->threads,
                     .shared_bytes = start->shared_bytes,
                     .first = r->parameters.count,
                     .bytes = (uint32_t)start->bytes};
  const BurnStatus status = gpu->backend->replay->last(gpu, r->work, &started.node);
  if (status != BURN_OK) return status;
  memcpy(r->parameters.items + r->parameters.count, start->parameters, start->bytes);
  r->parameters.count += (uint32_t)start->bytes;
  r->started.items[r->started.count++] = started;
  return BURN_OK;
}

static BurnStatus remember_storage(Gpu *gpu, const GpuStorage *storage) {
  GpuRecording *r = gpu->replays.recording;
  if (!RESERVE(r->taken, 1)) return burn__gpu_no_recording_memory(gpu);
  r->taken.items[r->taken.count++] = (Taken){storage->address, storage->bytes};
  return BURN_OK;
}

/* In a patch: what the recorded call took. */
static BurnStatus take_again(Gpu *gpu, uint64_t bytes, GpuStorage **out) {
  GpuAddress address = 0;
  const BurnStatus status = burn__gpu_patch_take_again(gpu, bytes, &address);
  if (status != BURN_OK) return status;
  *out = burn__gpu_memory_over(gpu, address, bytes);
  return *out ? BURN_OK : GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a tensor");
}

BurnStatus burn__gpu_replay_storage_new(Gpu *gpu, uint64_t bytes, GpuStorage **out) {
  if (gpu->replays.is_patching) return take_again(gpu, bytes, out);
  BurnStatus status = burn__gpu_memory_take(gpu, bytes, out);
  if (status != BURN_OK || !gpu->is_recorded) return status;
  status = remember_storage(gpu, *out);
  if (status == BURN_OK) return BURN_OK;
  burn__gpu_memory_release(gpu, *out);
  *out = NULL;
  return status;
}

static BurnStatus BURN_API_CALL mark(void *self, BurnRecording *recording, uint32_t index, int32_t keeps) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  if (gpu->replays.is_patching) return burn__gpu_patch_call(gpu, r, index);
  if (!RESERVE(r->marks, 1)) return burn__gpu_no_recording_memory(gpu);
  burn__gpu_cache_choose(gpu, keeps ? r->cache : gpu->replays.scratch);
  r->marks.items[r->marks.count++] = (Mark){index, r->started.count, r->taken.count};
  return BURN_OK;
}

/* -- begin and end ---------------------------------------------------------------------------- */

static void free_stand_ins(GpuRecording *r) {
  for (StorageStandIn *storage = r->storages, *next = NULL; storage; storage = next) {
    next = storage->next;
    free(storage);
  }
  for (TensorStandIn *tensor = r->tensors, *next = NULL; tensor; tensor = next) {
    next = tensor->next;
    free(tensor);
  }
}

/* The cache that recordings share lives as long as one of them. */
static bool join_scratch(Gpu *gpu) {
  (void)pthread_mutex_lock(&gpu->replays.scratch_mutex);
  if (!gpu->replays.scratch) gpu->replays.scratch = burn__gpu_cache_create(gpu);
  const bool joined = gpu->replays.scratch != NULL;
  gpu->replays.scratch_users += joined;
  (void)pthread_mutex_unlock(&gpu->replays.scratch_mutex);
  return joined;
}

static void leave_scratch(Gpu *gpu) {
  (void)pthread_mutex_lock(&gpu->replays.scratch_mutex);
  if (--gpu->replays.scratch_users == 0) {
    burn__gpu_cache_end(gpu, gpu->replays.scratch);
    gpu->replays.scratch = NULL;
  }
  (void)pthread_mutex_unlock(&gpu->replays.scratch_mutex);
}

/* In the context, with no run of it in the queue. */
static void destroy(Gpu *gpu, GpuRecording *r) {
  gpu->backend->replay->drop(gpu, r->work);
  for (uint32_t i = 0; i < r->held.count; i++)
    if (r->held.items[i].storage) burn__gpu_storage_release(gpu, r->held.items[i].storage);
  burn__gpu_cache_end(gpu, r->cache);
  leave_scratch(gpu);
  free_stand_ins(r);
  free(r->started.items);
  free(r->parameters.items);
  free(r->taken.items);
  free(r->marks.items);
  free(r->slots.items);
  free(r->held.items);
  free(r);
}

static BurnStatus begin_work(Gpu *gpu, GpuRecording *r) {
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = gpu->backend->replay->begin(gpu, &r->work);
  burn__gpu_leave(gpu);
  return status;
}

static BurnStatus BURN_API_CALL begin(void *self, BurnRecording **out) {
  Gpu *gpu = self;
  GpuRecording *r = calloc(1, sizeof *r);
  if (r) r->cache = burn__gpu_cache_create(gpu);
  if (!r || !r->cache || !join_scratch(gpu)) {
    if (r) burn__gpu_cache_end(gpu, r->cache);
    free(r);
    return burn__gpu_no_recording_memory(gpu);
  }
  burn__gpu_shut_out(gpu);
  const BurnStatus status = begin_work(gpu, r);
  if (status != BURN_OK) {
    burn__gpu_let_in(gpu);
    destroy(gpu, r);
    return status;
  }
  burn__gpu_cache_choose(gpu, r->cache);
  gpu->replays.recording = r;
  gpu->is_recorded = true;
  *out = outside(r);
  return BURN_OK;
}

static BurnStatus end_work(Gpu *gpu, GpuRecording *r, bool ok) {
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = gpu->backend->replay->end(gpu, r->work, ok);
  burn__gpu_leave(gpu);
  return status;
}

static BurnStatus BURN_API_CALL end(void *self, BurnRecording *recording, int32_t ok) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  const BurnStatus status = end_work(gpu, r, ok != 0);
  gpu->replays.recording = NULL;
  gpu->is_recorded = false;
  burn__gpu_cache_choose(gpu, NULL);
  burn__gpu_let_in(gpu);
  if (status == BURN_OK && ok) atomic_fetch_add_explicit(&gpu->replays.recordings, 1, memory_order_relaxed);
  if (status != BURN_OK || !ok) destroy(gpu, r);
  return status;
}

/* The last run may still be in the queue. */
static void BURN_API_CALL drop(void *self, BurnRecording *recording) {
  Gpu *gpu = self;
  if (!recording) return;
  const bool entered = burn__gpu_enter(gpu) == BURN_OK;
  if (entered) {
    atomic_fetch_add(&gpu->host_waits, 1);
    (void)gpu->backend->finish(gpu);
  }
  destroy(gpu, inside(recording));
  if (entered) burn__gpu_leave(gpu);
}

/* -- stand-ins -------------------------------------------------------------------------------- */

/* Those of one call stand together. */
static StorageStandIn *find_storage(const GpuRecording *r, const GpuStorage *real, uint32_t index) {
  StorageStandIn *at = r->storages;
  while (at && at->index == index && at->real != real) at = at->next;
  return at && at->index == index ? at : NULL;
}

static StorageStandIn *storage_stand_in(GpuRecording *r, GpuStorage *real, uint32_t index, uint32_t input) {
  StorageStandIn *known = find_storage(r, real, index);
  if (known) return known;
  StorageStandIn *storage = calloc(1, sizeof *storage);
  if (!storage) return NULL;
  storage->storage.address = real->address;
  storage->storage.bytes = real->bytes;
  storage->storage.memory = real->memory;
  storage->storage.is_stand_in = true;
  storage->storage.is_shared = real->is_shared;
  atomic_init(&storage->storage.references, atomic_load(&real->references));
  storage->real = real;
  storage->index = index;
  storage->input = input;
  if (real->is_stand_in) storage->input = ((const StorageStandIn *)(const void *)real)->input;
  storage->next = r->storages;
  r->storages = storage;
  return storage;
}

static BurnStatus BURN_API_CALL stand_in(void *self, BurnRecording *recording, uint32_t index, uint32_t input,
                                         BurnPrimitive *x, BurnPrimitive **out) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  const GpuTensor *real = gpu_const_tensor(x);
  StorageStandIn *storage = storage_stand_in(r, real->storage, index, input);
  TensorStandIn *made = storage ? malloc(sizeof *made) : NULL;
  if (!made) return burn__gpu_no_recording_memory(gpu);
  GpuTensor *tensor = &made->tensor;
  memcpy(tensor->shape, real->shape, sizeof tensor->shape);
  memcpy(tensor->strides, real->strides, sizeof tensor->strides);
  tensor->header = real->header;
  tensor->header.shape = tensor->shape;
  tensor->header.strides = tensor->strides;
  tensor->header.buffer = &storage->storage;
  tensor->storage = &storage->storage;
  tensor->is_stand_in = true;
  atomic_init(&tensor->references, atomic_load(&real->references));
  made->next = r->tensors;
  r->tensors = made;
  *out = &tensor->header;
  return BURN_OK;
}

/* -- slots ------------------------------------------------------------------------------------ */

/* Bytes from the first element to the end of the last; false if some lie before the first. */
static bool span_of(const BurnPrimitive *x, uint64_t *bytes) {
  int64_t last = 0;
  *bytes = 0;
  if (burn_primitive_count(x) == 0) return true;
  for (uint32_t axis = 0; axis < x->rank; axis++) {
    if (x->strides[axis] < 0) return false;
    last += (x->shape[axis] - 1) * x->strides[axis];
  }
  *bytes = (uint64_t)(last + 1) * burn_dtype_bytes(x->dtype);
  return true;
}

/* Memory like that of x: its strides, as far from a multiple of ALIGNMENT, so that kernels are chosen alike, and as
 * much of it after the first element, should somebody read what lies between elements of a view. */
static BurnStatus make_slot(Gpu *gpu, const BurnPrimitive *x, Slot *slot, BurnPrimitive **out) {
  const uint64_t offset = gpu_address(x) % ALIGNMENT;
  const BurnTensorDesc desc = burn_primitive_desc(x);
  const GpuStorage *real = gpu_const_tensor(x)->storage;
  const uint64_t rest = real->bytes - (gpu_address(x) - real->address);
  GpuStorage *storage = NULL;
  if (!span_of(x, &slot->bytes)) return GPU_FAIL(gpu, INVALID_ARGUMENT, "slot: some elements lie before the first");
  BurnStatus status = burn__gpu_storage_new(gpu, offset + rest, &storage);
  if (status != BURN_OK) return status;
  slot->place = (GpuPlace){storage->address + offset, storage->memory};
  slot->rank = x->rank;
  memcpy(slot->strides, x->strides, x->rank * sizeof *slot->strides);
  return burn__gpu_tensor_over(gpu, &desc, x->strides, storage, (int64_t)offset, out);
}

static BurnStatus copy_to(Gpu *gpu, const Slot *to, const BurnPrimitive *x) {
  const GpuPlace from = {gpu_address(x), gpu_const_tensor(x)->storage->memory};
  if (to->bytes == 0) return BURN_OK;
  return gpu->backend->replay->copy(gpu, &to->place, &from, to->bytes);
}

static BurnStatus BURN_API_CALL slot(void *self, BurnRecording *recording, BurnPrimitive *x, BurnPrimitive **out,
                                     uint32_t *number) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  if (!RESERVE(r->slots, 1)) return burn__gpu_no_recording_memory(gpu);
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = make_slot(gpu, x, &r->slots.items[r->slots.count], out);
  burn__gpu_leave(gpu);
  if (status == BURN_OK) *number = r->slots.count++;
  return status;
}

static BurnStatus BURN_API_CALL fill(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *x) {
  Gpu *gpu = self;
  const Slot *to = &inside(recording)->slots.items[number];
  if (x->rank != to->rank || memcmp(x->strides, to->strides, to->rank * sizeof *to->strides) != 0 ||
      gpu_address(x) % ALIGNMENT != to->place.address % ALIGNMENT)
    return GPU_FAIL(gpu, FAILED_PRECONDITION, "fill: the tensor has other strides or alignment than the slot");
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = copy_to(gpu, to, x);
  burn__gpu_leave(gpu);
  return status;
}

/* -- results ---------------------------------------------------------------------------------- */

/* A copy of what lies in memory that all recordings share, made by every run. */
static BurnStatus move_out(Gpu *gpu, GpuRecording *r, const BurnPrimitive *x, Held *held) {
  Slot place;
  BurnPrimitive *copy = NULL;
  burn__gpu_cache_choose(gpu, r->cache);
  BurnStatus status = make_slot(gpu, x, &place, &copy);
  if (status != BURN_OK) return status;
  status = copy_to(gpu, &place, x);
  held->address = place.place.address;
  held->storage = gpu_tensor(copy)->storage;
  atomic_fetch_add(&held->storage->references, 1u);
  burn__gpu_release(gpu, copy);
  return status;
}

static BurnStatus keep_result(Gpu *gpu, GpuRecording *r, BurnPrimitive *x, Held *held) {
  GpuStorage *storage = gpu_tensor(x)->storage;
  if (storage->is_stand_in) return BURN_OK;
  if (!burn__gpu_cache_has(r->cache, storage)) return move_out(gpu, r, x, held);
  atomic_fetch_add(&storage->references, 1u);
  held->storage = storage;
  return BURN_OK;
}

/* What is taken from now on belongs to no call. */
static bool end_calls(GpuRecording *r) {
  if (r->marks.count > 0 && r->marks.items[r->marks.count - 1u].index == UINT32_MAX) return true;
  if (!RESERVE(r->marks, 1)) return false;
  r->marks.items[r->marks.count++] = (Mark){UINT32_MAX, r->started.count, r->taken.count};
  return true;
}

static BurnStatus BURN_API_CALL hold(void *self, BurnRecording *recording, BurnPrimitive *x, uint32_t *number,
                                     uint32_t *input) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  const GpuStorage *storage = gpu_tensor(x)->storage;
  if (!RESERVE(r->held, 1) || !end_calls(r)) return burn__gpu_no_recording_memory(gpu);
  Held *held = &r->held.items[r->held.count];
  *held = (Held){.desc = burn_primitive_desc(x), .address = gpu_address(x)};
  memcpy(held->strides, x->strides, x->rank * sizeof *held->strides);
  *input = storage->is_stand_in ? ((const StorageStandIn *)(const void *)storage)->input : BURN_REPLAY_NONE;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = keep_result(gpu, r, x, held);
  burn__gpu_leave(gpu);
  *number = r->held.count;
  r->held.count += status == BURN_OK || held->storage;
  return status;
}

/* `input` lies where that of the recording lay. */
static BurnStatus over_memory(Gpu *gpu, const Held *held, BurnPrimitive *input, BurnPrimitive **out) {
  GpuStorage *storage = held->storage ? held->storage : gpu_tensor(input)->storage;
  atomic_fetch_add(&storage->references, 1u);
  return burn__gpu_tensor_over(gpu, &held->desc, held->strides, storage, (int64_t)(held->address - storage->address),
                               out);
}

/* With the strides of x: what reads it is the same work as without a recording. */
static BurnStatus copy_of(Gpu *gpu, const BurnPrimitive *x, BurnPrimitive **out) {
  Slot place;
  BurnPrimitive *copy = NULL;
  BurnStatus status = make_slot(gpu, x, &place, &copy);
  if (status == BURN_OK) status = copy_to(gpu, &place, x);
  if (status == BURN_OK) *out = copy;
  if (status != BURN_OK) burn__gpu_release(gpu, copy);
  return status;
}

static BurnStatus BURN_API_CALL take(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *input,
                                     int32_t copies, BurnPrimitive **out) {
  Gpu *gpu = self;
  BurnPrimitive *shared = NULL;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = over_memory(gpu, &inside(recording)->held.items[number], input, &shared);
  if (status == BURN_OK && copies) {
    status = copy_of(gpu, shared, out);
    burn__gpu_release(gpu, shared);
  } else if (status == BURN_OK) {
    *out = shared;
  }
  burn__gpu_leave(gpu);
  return status;
}

static int32_t BURN_API_CALL is_free(void *self, BurnRecording *recording, uint32_t number) {
  const Held *held = &inside(recording)->held.items[number];
  (void)self;
  return !held->storage || atomic_load(&held->storage->references) == 1u;
}

/* -- running, and questions ------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL run(void *self, BurnRecording *recording) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = gpu->backend->replay->run(gpu, inside(recording)->work);
  burn__gpu_leave(gpu);
  if (status == BURN_OK) atomic_fetch_add_explicit(&gpu->replays.runs, 1, memory_order_relaxed);
  return status;
}

static void BURN_API_CALL where(void *self, BurnPrimitive *x, BurnReplayPlace *out) {
  const GpuTensor *tensor = gpu_const_tensor(x);
  const GpuStorage *storage = tensor->storage;
  BurnReplayPlace place = {.struct_size = out->struct_size};
  (void)self;
  place.holders = atomic_load(&tensor->references) + atomic_load(&storage->references) - 1u;
  place.address = gpu_address(x);
  place.memory = storage->address;
  place.bytes = storage->bytes;
  memcpy(out, &place, out->struct_size < sizeof place ? out->struct_size : sizeof place);
}

static void BURN_API_CALL statistics(void *self, BurnReplayStatistics *out) {
  Gpu *gpu = self;
  const BurnReplayStatistics all = {.struct_size = out->struct_size,
                                    .launches = (uint64_t)atomic_load(&gpu->replays.launches),
                                    .recordings = (uint64_t)atomic_load(&gpu->replays.recordings),
                                    .runs = (uint64_t)atomic_load(&gpu->replays.runs),
                                    .patches = (uint64_t)atomic_load(&gpu->replays.patches)};
  memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

const BurnReplayInterface burn__gpu_replay_interface = {.struct_size = (uint32_t)sizeof(BurnReplayInterface),
                                                        .version = 1,
                                                        .begin = begin,
                                                        .mark = mark,
                                                        .stand_in = stand_in,
                                                        .slot = slot,
                                                        .hold = hold,
                                                        .end = end,
                                                        .patch_begin = burn__gpu_patch_begin,
                                                        .patch_end = burn__gpu_patch_end,
                                                        .fill = fill,
                                                        .run = run,
                                                        .take = take,
                                                        .is_free = is_free,
                                                        .drop = drop,
                                                        .where = where,
                                                        .statistics = statistics};
