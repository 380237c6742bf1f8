/* cuda_replay.c - "burn.replay": recordings as graphs of the driver.
 *
 * The stream is captured while calls are recorded, and storages come from a cache of the recording. Every start of a
 * kernel is remembered with its node and parameters, every storage with its address, both by the mark of their call. A
 * patch makes a call once more with stand-ins: it finds the same addresses, and what it would start is compared with
 * what was started; where parameters differ, the node gets the new ones. Meanwhile the stream is captured, too, into a
 * graph that is thrown away: it must be empty, or the call did something that cannot be patched. */
#include "cuda_recording.h"

#include <stdlib.h>
#include <string.h>

BurnStatus burn__cuda_no_host_memory(Cuda *cuda) {
  return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a recording");
}

bool burn__cuda_reserve(void **items, uint32_t count, uint32_t *capacity, uint64_t more, size_t item_bytes) {
  if (more <= *capacity - count) return true;
  uint64_t wanted = *capacity ? *capacity : 64u;
  while (wanted < count + more) wanted *= 2u;
  void *grown = wanted <= UINT32_MAX ? realloc(*items, (size_t)wanted * item_bytes) : NULL;
  if (!grown) return false;
  *items = grown;
  *capacity = (uint32_t)wanted;
  return true;
}

/* -- what is recorded ------------------------------------------------------------------------- */

/* The node that was captured last. */
static BurnStatus last_node(Cuda *cuda, void **node) {
  int capture = 0;
  size_t count = 0;
  uint64_t id = 0;
  void *graph = NULL, *const *nodes = NULL;
  const int error = cuda->driver->cuStreamGetCaptureInfo_v2(cuda->stream, &capture, &id, &graph, &nodes, &count);
  if (error != CUDA_OK) return burn__cuda_check(cuda, error, "look at a capture");
  if (count != 1) return CUDA_FAIL(cuda, INTERNAL, "a captured kernel is %zu nodes", count);
  *node = nodes[0];
  return BURN_OK;
}

BurnStatus burn__cuda_replay_started(Cuda *cuda, const CudaStart *start) {
  CudaRecording *r = cuda->recording;
  if (!RESERVE(r->started, 1) || !RESERVE(r->parameters, start->bytes)) return burn__cuda_no_host_memory(cuda);
  Started started = {.function = start->function,
                     .groups = start->groups,
                     .threads = start->threads,
                     .first = r->parameters.count,
                     .bytes = (uint32_t)start->bytes};
  const BurnStatus status = last_node(cuda, &started.node);
  if (status != BURN_OK) return status;
  memcpy(r->parameters.items + r->parameters.count, start->parameters, start->bytes);
  r->parameters.count += (uint32_t)start->bytes;
  r->started.items[r->started.count++] = started;
  return BURN_OK;
}

BurnStatus burn__cuda_replay_taken(Cuda *cuda, const GpuStorage *storage) {
  CudaRecording *r = cuda->recording;
  if (!RESERVE(r->taken, 1)) return burn__cuda_no_host_memory(cuda);
  r->taken.items[r->taken.count++] = (Taken){storage->address, storage->bytes};
  return BURN_OK;
}

static BurnStatus BURN_API_CALL mark(void *self, BurnRecording *recording, uint32_t index, int32_t keeps) {
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  if (cuda->is_patching) return burn__cuda_patch_call(cuda, r, index);
  if (!RESERVE(r->marks, 1)) return burn__cuda_no_host_memory(cuda);
  burn__gpu_cache_choose(&cuda->gpu, keeps ? r->cache : cuda->scratch);
  r->marks.items[r->marks.count++] = (Mark){index, r->started.count, r->taken.count};
  return BURN_OK;
}

/* -- begin and end ---------------------------------------------------------------------------- */

static void free_stand_ins(CudaRecording *r) {
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
static bool join_scratch(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->scratch_mutex);
  if (!cuda->scratch) cuda->scratch = burn__gpu_cache_create(&cuda->gpu);
  const bool joined = cuda->scratch != NULL;
  cuda->scratch_users += joined;
  (void)pthread_mutex_unlock(&cuda->scratch_mutex);
  return joined;
}

static void leave_scratch(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->scratch_mutex);
  if (--cuda->scratch_users == 0) {
    burn__gpu_cache_end(&cuda->gpu, cuda->scratch);
    cuda->scratch = NULL;
  }
  (void)pthread_mutex_unlock(&cuda->scratch_mutex);
}

/* In the context, with no run of it in the queue. */
static void destroy(Cuda *cuda, CudaRecording *r) {
  if (r->executable) (void)cuda->driver->cuGraphExecDestroy(r->executable);
  if (r->graph) (void)cuda->driver->cuGraphDestroy(r->graph);
  for (uint32_t i = 0; i < r->held.count; i++)
    if (r->held.items[i].storage) burn__gpu_storage_release(&cuda->gpu, r->held.items[i].storage);
  burn__gpu_cache_end(&cuda->gpu, r->cache);
  leave_scratch(cuda);
  free_stand_ins(r);
  free(r->started.items);
  free(r->parameters.items);
  free(r->taken.items);
  free(r->marks.items);
  free(r->slots.items);
  free(r->held.items);
  free(r);
}

/* What the same work has used so far, run by run, is free to be taken by the recording. */
static BurnStatus start_capture(Cuda *cuda) {
  const CudaDriver *d = cuda->driver;
  int error = CUDA_OK;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  if (!cuda->side_stream) error = d->cuStreamCreate(&cuda->side_stream, CUDA_STREAM_NON_BLOCKING);
  if (error == CUDA_OK) burn__gpu_memory_give_up(&cuda->gpu);
  if (error == CUDA_OK) error = d->cuStreamBeginCapture_v2(cuda->stream, CAPTURE_RELAXED);
  burn__gpu_leave(&cuda->gpu);
  return burn__cuda_check(cuda, error, "record");
}

static BurnStatus BURN_API_CALL begin(void *self, BurnRecording **out) {
  Cuda *cuda = self;
  CudaRecording *r = calloc(1, sizeof *r);
  if (r) r->cache = burn__gpu_cache_create(&cuda->gpu);
  if (!r || !r->cache || !join_scratch(cuda)) {
    if (r) burn__gpu_cache_end(&cuda->gpu, r->cache);
    free(r);
    return burn__cuda_no_host_memory(cuda);
  }
  burn__cuda_shut_out(cuda);
  const BurnStatus status = start_capture(cuda);
  if (status != BURN_OK) {
    burn__cuda_let_in(cuda);
    destroy(cuda, r);
    return status;
  }
  burn__gpu_cache_choose(&cuda->gpu, r->cache);
  cuda->recording = r;
  cuda->gpu.is_recorded = true;
  cuda->is_recording = true;
  *out = outside(r);
  return BURN_OK;
}

/* Always ends the capture: a stream that is left captured is of no use any more. */
static BurnStatus end_capture(Cuda *cuda, CudaRecording *r, bool ok) {
  const CudaDriver *d = cuda->driver;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  int error = d->cuStreamEndCapture(cuda->stream, &r->graph);
  if (error == CUDA_OK && ok) error = d->cuGraphInstantiateWithFlags(&r->executable, r->graph, 0);
  burn__gpu_leave(&cuda->gpu);
  return burn__cuda_check(cuda, error, "record");
}

static BurnStatus BURN_API_CALL end(void *self, BurnRecording *recording, int32_t ok) {
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  const BurnStatus status = end_capture(cuda, r, ok != 0);
  cuda->is_recording = false;
  cuda->recording = NULL;
  cuda->gpu.is_recorded = false;
  burn__gpu_cache_choose(&cuda->gpu, NULL);
  burn__cuda_let_in(cuda);
  if (status == BURN_OK && ok) atomic_fetch_add_explicit(&cuda->recordings, 1, memory_order_relaxed);
  if (status != BURN_OK || !ok) destroy(cuda, r);
  return status;
}

/* The last run may still be in the queue. */
static void BURN_API_CALL drop(void *self, BurnRecording *recording) {
  Cuda *cuda = self;
  if (!recording) return;
  const bool entered = burn__gpu_enter(&cuda->gpu) == BURN_OK;
  if (entered) {
    atomic_fetch_add(&cuda->gpu.host_waits, 1);
    (void)cuda->driver->cuStreamSynchronize(cuda->stream);
  }
  destroy(cuda, inside(recording));
  if (entered) burn__gpu_leave(&cuda->gpu);
}

/* -- stand-ins -------------------------------------------------------------------------------- */

/* Those of one call stand together. */
static StorageStandIn *find_storage(const CudaRecording *r, const GpuStorage *real, uint32_t index) {
  StorageStandIn *at = r->storages;
  while (at && at->index == index && at->real != real) at = at->next;
  return at && at->index == index ? at : NULL;
}

static StorageStandIn *storage_stand_in(CudaRecording *r, GpuStorage *real, uint32_t index, uint32_t input) {
  StorageStandIn *known = find_storage(r, real, index);
  if (known) return known;
  StorageStandIn *storage = calloc(1, sizeof *storage);
  if (!storage) return NULL;
  storage->storage.address = real->address;
  storage->storage.bytes = real->bytes;
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
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  const GpuTensor *real = gpu_const_tensor(x);
  StorageStandIn *storage = storage_stand_in(r, real->storage, index, input);
  TensorStandIn *made = storage ? malloc(sizeof *made) : NULL;
  if (!made) return burn__cuda_no_host_memory(cuda);
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

/* Bytes from the first element to the end of the last; 0 if some lie before the first. */
static uint64_t span_of(const BurnPrimitive *x) {
  int64_t last = 0;
  if (burn_primitive_count(x) == 0) return 0;
  for (uint32_t axis = 0; axis < x->rank; axis++) {
    if (x->strides[axis] < 0) return 0;
    last += (x->shape[axis] - 1) * x->strides[axis];
  }
  return (uint64_t)(last + 1) * burn_dtype_bytes(x->dtype);
}

/* Memory like that of x: its strides, as far from a multiple of ALIGNMENT, so that kernels are chosen alike, and as
 * much of it after the first element, should somebody read what lies between elements of a view. */
static BurnStatus make_slot(Cuda *cuda, const BurnPrimitive *x, Slot *slot, BurnPrimitive **out) {
  const uint64_t offset = gpu_address(x) % ALIGNMENT;
  const BurnTensorDesc desc = burn_primitive_desc(x);
  const GpuStorage *real = gpu_const_tensor(x)->storage;
  const uint64_t rest = real->bytes - (gpu_address(x) - real->address);
  GpuStorage *storage = NULL;
  slot->bytes = span_of(x);
  if (slot->bytes == 0) return CUDA_FAIL(cuda, INVALID_ARGUMENT, "slot: no element, or some before the first");
  BurnStatus status = burn__gpu_storage_new(&cuda->gpu, offset + rest, &storage);
  if (status != BURN_OK) return status;
  slot->address = storage->address + offset;
  slot->rank = x->rank;
  memcpy(slot->strides, x->strides, x->rank * sizeof *slot->strides);
  return burn__gpu_tensor_over(&cuda->gpu, &desc, x->strides, storage, (int64_t)offset, out);
}

static BurnStatus copy_to(Cuda *cuda, const Slot *to, const BurnPrimitive *x) {
  const int error = cuda->driver->cuMemcpyDtoDAsync_v2(to->address, gpu_address(x), to->bytes, cuda->stream);
  return burn__cuda_check(cuda, error, "copy between recorded work and others");
}

static BurnStatus BURN_API_CALL slot(void *self, BurnRecording *recording, BurnPrimitive *x, BurnPrimitive **out,
                                     uint32_t *number) {
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  if (!RESERVE(r->slots, 1)) return burn__cuda_no_host_memory(cuda);
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = make_slot(cuda, x, &r->slots.items[r->slots.count], out);
  burn__gpu_leave(&cuda->gpu);
  if (status == BURN_OK) *number = r->slots.count++;
  return status;
}

static BurnStatus BURN_API_CALL fill(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *x) {
  Cuda *cuda = self;
  const Slot *to = &inside(recording)->slots.items[number];
  if (x->rank != to->rank || memcmp(x->strides, to->strides, to->rank * sizeof *to->strides) != 0 ||
      gpu_address(x) % ALIGNMENT != to->address % ALIGNMENT)
    return CUDA_FAIL(cuda, FAILED_PRECONDITION, "fill: the tensor has other strides or alignment than the slot");
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = copy_to(cuda, to, x);
  burn__gpu_leave(&cuda->gpu);
  return status;
}

/* -- results ---------------------------------------------------------------------------------- */

/* A copy of what lies in memory that all recordings share, made by every run. */
static BurnStatus move_out(Cuda *cuda, CudaRecording *r, const BurnPrimitive *x, Held *held) {
  Slot place;
  BurnPrimitive *copy = NULL;
  burn__gpu_cache_choose(&cuda->gpu, r->cache);
  BurnStatus status = make_slot(cuda, x, &place, &copy);
  if (status != BURN_OK) return status;
  status = copy_to(cuda, &place, x);
  held->address = place.address;
  held->storage = gpu_tensor(copy)->storage;
  atomic_fetch_add(&held->storage->references, 1u);
  burn__gpu_release(&cuda->gpu, copy);
  return status;
}

static BurnStatus keep_result(Cuda *cuda, CudaRecording *r, BurnPrimitive *x, Held *held) {
  GpuStorage *storage = gpu_tensor(x)->storage;
  if (storage->is_stand_in) return BURN_OK;
  if (!burn__gpu_cache_has(r->cache, storage)) return move_out(cuda, r, x, held);
  atomic_fetch_add(&storage->references, 1u);
  held->storage = storage;
  return BURN_OK;
}

/* What is taken from now on belongs to no call. */
static bool end_calls(CudaRecording *r) {
  if (r->marks.count > 0 && r->marks.items[r->marks.count - 1u].index == UINT32_MAX) return true;
  if (!RESERVE(r->marks, 1)) return false;
  r->marks.items[r->marks.count++] = (Mark){UINT32_MAX, r->started.count, r->taken.count};
  return true;
}

static BurnStatus BURN_API_CALL hold(void *self, BurnRecording *recording, BurnPrimitive *x, uint32_t *number,
                                     uint32_t *input) {
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  const GpuStorage *storage = gpu_tensor(x)->storage;
  if (!RESERVE(r->held, 1) || !end_calls(r)) return burn__cuda_no_host_memory(cuda);
  Held *held = &r->held.items[r->held.count];
  *held = (Held){.desc = burn_primitive_desc(x), .address = gpu_address(x)};
  memcpy(held->strides, x->strides, x->rank * sizeof *held->strides);
  *input = storage->is_stand_in ? ((const StorageStandIn *)(const void *)storage)->input : BURN_REPLAY_NONE;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = keep_result(cuda, r, x, held);
  burn__gpu_leave(&cuda->gpu);
  *number = r->held.count;
  r->held.count += status == BURN_OK || held->storage;
  return status;
}

/* `input` lies where that of the recording lay. */
static BurnStatus over_memory(Cuda *cuda, const Held *held, BurnPrimitive *input, BurnPrimitive **out) {
  GpuStorage *storage = held->storage ? held->storage : gpu_tensor(input)->storage;
  atomic_fetch_add(&storage->references, 1u);
  return burn__gpu_tensor_over(&cuda->gpu, &held->desc, held->strides, storage,
                               (int64_t)(held->address - storage->address), out);
}

/* With the strides of x: what reads it is the same work as without a recording. */
static BurnStatus copy_of(Cuda *cuda, const BurnPrimitive *x, BurnPrimitive **out) {
  Slot place;
  BurnPrimitive *copy = NULL;
  BurnStatus status = make_slot(cuda, x, &place, &copy);
  if (status == BURN_OK) status = copy_to(cuda, &place, x);
  if (status == BURN_OK) *out = copy;
  if (status != BURN_OK) burn__gpu_release(&cuda->gpu, copy);
  return status;
}

static BurnStatus BURN_API_CALL take(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *input,
                                     int32_t copies, BurnPrimitive **out) {
  Cuda *cuda = self;
  BurnPrimitive *shared = NULL;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = over_memory(cuda, &inside(recording)->held.items[number], input, &shared);
  if (status == BURN_OK && copies) {
    status = copy_of(cuda, shared, out);
    burn__gpu_release(&cuda->gpu, shared);
  } else if (status == BURN_OK) {
    *out = shared;
  }
  burn__gpu_leave(&cuda->gpu);
  return status;
}

static int32_t BURN_API_CALL is_free(void *self, BurnRecording *recording, uint32_t number) {
  const Held *held = &inside(recording)->held.items[number];
  (void)self;
  return !held->storage || atomic_load(&held->storage->references) == 1u;
}

/* -- running, and questions ------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL run(void *self, BurnRecording *recording) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = burn__cuda_check(cuda, cuda->driver->cuGraphLaunch(inside(recording)->executable, cuda->stream),
                            "run a recording");
  burn__gpu_leave(&cuda->gpu);
  if (status == BURN_OK) atomic_fetch_add_explicit(&cuda->runs, 1, memory_order_relaxed);
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
  Cuda *cuda = self;
  const BurnReplayStatistics all = {.struct_size = out->struct_size,
                                    .launches = (uint64_t)atomic_load(&cuda->launches),
                                    .recordings = (uint64_t)atomic_load(&cuda->recordings),
                                    .runs = (uint64_t)atomic_load(&cuda->runs),
                                    .patches = (uint64_t)atomic_load(&cuda->patches)};
  memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

const BurnReplayInterface burn__cuda_replay_interface = {.struct_size = (uint32_t)sizeof(BurnReplayInterface),
                                                         .version = 1,
                                                         .begin = begin,
                                                         .mark = mark,
                                                         .stand_in = stand_in,
                                                         .slot = slot,
                                                         .hold = hold,
                                                         .end = end,
                                                         .patch_begin = burn__cuda_patch_begin,
                                                         .patch_end = burn__cuda_patch_end,
                                                         .fill = fill,
                                                         .run = run,
                                                         .take = take,
                                                         .is_free = is_free,
                                                         .drop = drop,
                                                         .where = where,
                                                         .statistics = statistics};
