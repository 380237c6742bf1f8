/* cuda_dnn.c - cuDNN for an instance: its handle, plans of graphs by key, their workspace; and the choice among several
 * ways by time. */
#include "cuda_dnn.h"
#include "cuda_image_cache.h"

#include <burn/common/hash.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of cudnn_graph.h, as in cuda_dnn_graph.c. */
enum {
  ENGINE = 2,
  ENGINE_CONFIG = 3,
  HEURISTICS = 4,
  PLAN = 5,
  OPERATION_GRAPH = 15,
  VARIANT_PACK = 16,
  TYPE_HANDLE = 0,
  TYPE_INT64 = 3,
  TYPE_POINTER = 6,
  TYPE_HEURISTICS_MODE = 8,
  TYPE_NUMERICAL_NOTE = 11,
  TYPE_DESCRIPTOR = 15,
  HEURISTICS_MODE = 200,
  HEURISTICS_GRAPH = 201,
  HEURISTICS_RESULTS = 202,
  CONFIG_ENGINE = 300,
  PLAN_HANDLE = 400,
  PLAN_CONFIG = 401,
  PLAN_WORKSPACE = 402,
  GRAPH_HANDLE = 800,
  GRAPH_OPERATIONS = 801,
  PACK_IDS = 1000,
  PACK_POINTERS = 1001,
  PACK_WORKSPACE = 1003,
  ENGINE_NOTES = 1303,
  MODE_OTHER = 1,
  MODE_FALLBACK = 2,
  MODE_BEST = 3
};
enum {
  NOTE_TENSOR_CORE,
  NOTE_NARROWER_INPUTS,
  NOTE_NARROWER_SUMS,
  NOTE_FFT,
  NOTE_NONDETERMINISTIC,
  NOTE_WINOGRAD,
  NOTE_LARGE_WINOGRAD = 8 /* tiles of 13 x 13 */
};
enum { MAX_NOTES = 16, MAX_CONFIGS = 32 };

enum { SLOTS = 1024, NEAR = 16, MAX_WORKSPACES = 40 };
static const int64_t MAX_WORKSPACE = (int64_t)1 << 30, MIN_WORKSPACE = (int64_t)1 << 22;

/* A workspace that has become too small stays: work that was recorded may use it again. */
struct CudaDnn {
  const CudaDnnLibrary *library;
  void *handle;
  CudaAddress workspaces[MAX_WORKSPACES]; /* the last is the largest */
  int64_t workspace_bytes;
  uint32_t workspace_count;
  DnnPlans *slots[SLOTS];
};

/* -- the instance's part ---------------------------------------------------------------------- */

static CudaDnn *create(Cuda *cuda) {
  const CudaDnnLibrary *library = burn__cuda_dnn_library();
  CudaDnn *dnn = library ? calloc(1, sizeof *dnn) : NULL;
  if (!dnn) return NULL;
  dnn->library = library;
  if (library->cudnnCreate(&dnn->handle) == 0 && library->cudnnSetStream(dnn->handle, cuda->stream) == 0) return dnn;
  if (dnn->handle) (void)library->cudnnDestroy(dnn->handle);
  free(dnn);
  return NULL;
}

static void forget(DnnPlans *plans) {
  if (!plans) return;
  for (uint32_t i = 0; i < plans->count; i++)
    if (plans->packs[i]) (void)plans->graph.library->cudnnBackendDestroyDescriptor(plans->packs[i]);
  burn__dnn_graph_end(&plans->graph);
  free(plans);
}

void burn__cuda_dnn_destroy(Cuda *cuda) {
  CudaDnn *dnn = cuda->dnn;
  if (!dnn) return;
  for (uint32_t i = 0; i < SLOTS; i++) forget(dnn->slots[i]);
  for (uint32_t i = 0; i < dnn->workspace_count; i++)
    (void)cuda->driver->cuMemFreeAsync(dnn->workspaces[i], cuda->stream);
  (void)dnn->library->cudnnDestroy(dnn->handle);
  free(dnn);
  cuda->dnn = NULL;
}

bool burn__dnn_lock(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->dnn_mutex);
  if (!cuda->dnn && !cuda->has_asked_dnn) cuda->dnn = create(cuda);
  cuda->has_asked_dnn = true;
  if (!cuda->dnn) (void)pthread_mutex_unlock(&cuda->dnn_mutex);
  return cuda->dnn != NULL;
}

void burn__dnn_unlock(Cuda *cuda) { (void)pthread_mutex_unlock(&cuda->dnn_mutex); }

size_t burn__dnn_version(const Cuda *cuda) { return cuda->dnn->library->cudnnGetVersion(); }

/* Of the device; no tensor, as it is nobody's. 0 without memory. */
static CudaAddress workspace_of(Cuda *cuda, int64_t bytes) {
  CudaDnn *dnn = cuda->dnn;
  int64_t wanted = MIN_WORKSPACE;
  CudaAddress address = 0;
  if (dnn->workspace_bytes >= bytes && dnn->workspace_count > 0) return dnn->workspaces[dnn->workspace_count - 1];
  while (wanted < bytes) wanted *= 2;
  if (burn__cuda_is_recording(cuda) || dnn->workspace_count == MAX_WORKSPACES ||
      cuda->driver->cuMemAllocFromPoolAsync(&address, (size_t)wanted, cuda->pool, cuda->stream) != CUDA_OK)
    return 0;
  dnn->workspaces[dnn->workspace_count++] = address;
  dnn->workspace_bytes = wanted;
  return address;
}

/* -- engines ---------------------------------------------------------------------------------- */

static bool note_suits(int note, DnnExact exact) {
  if (note == NOTE_NONDETERMINISTIC || note == NOTE_NARROWER_SUMS || note == NOTE_LARGE_WINOGRAD) return false;
  if (note == NOTE_TENSOR_CORE || note == NOTE_NARROWER_INPUTS) return exact == DNN_ANY;
  return exact != DNN_SUMS || !(note == NOTE_FFT || (note >= NOTE_WINOGRAD && note < NOTE_LARGE_WINOGRAD));
}

/* Results that change from run to run are never wanted. */
static bool suits(DnnGraph *graph, void *config, DnnExact exact) {
  int notes[MAX_NOTES];
  int64_t count = 0, one = 0;
  void *engine = burn__dnn_make(graph, ENGINE);
  if (graph->library->cudnnBackendGetAttribute(config, CONFIG_ENGINE, TYPE_DESCRIPTOR, 1, &one, &engine) != 0 ||
      graph->library->cudnnBackendGetAttribute(engine, ENGINE_NOTES, TYPE_NUMERICAL_NOTE, MAX_NOTES, &count, notes) !=
          0)
    return false;
  bool fits = count <= MAX_NOTES;
  for (int64_t i = 0; i < count && fits; i++) fits = note_suits(notes[i], exact);
  return fits;
}

/* Adds the plan of a configuration; one that cuDNN cannot finish is left out. */
static void add_plan(const CudaDnn *dnn, DnnPlans *plans, void *config) {
  DnnGraph *graph = &plans->graph;
  int64_t count = 0, bytes = 0;
  void *plan = burn__dnn_make(graph, PLAN);
  burn__dnn_set(graph, plan, PLAN_HANDLE, TYPE_HANDLE, 1, &dnn->handle);
  burn__dnn_set(graph, plan, PLAN_CONFIG, TYPE_DESCRIPTOR, 1, &config);
  burn__dnn_finalize(graph, plan, "plan");
  const bool is_fine =
      !graph->error && dnn->library->cudnnBackendGetAttribute(plan, PLAN_WORKSPACE, TYPE_INT64, 1, &count, &bytes) == 0;
  graph->error = 0;
  if (!is_fine || bytes > MAX_WORKSPACE) return;
  plans->workspace[plans->count] = bytes;
  plans->plans[plans->count++] = plan;
}

/* Asks the heuristics of one mode for plans, in their order, until there are `most` in all. */
static void ask(const CudaDnn *dnn, DnnPlans *plans, void *operations, int mode, DnnExact exact, uint32_t most) {
  DnnGraph *graph = &plans->graph;
  if (plans->count >= most) return;
  void *configs[MAX_CONFIGS];
  int64_t count = 0;
  void *heuristics = burn__dnn_make(graph, HEURISTICS);
  burn__dnn_set(graph, heuristics, HEURISTICS_GRAPH, TYPE_DESCRIPTOR, 1, &operations);
  burn__dnn_set(graph, heuristics, HEURISTICS_MODE, TYPE_HEURISTICS_MODE, 1, &mode);
  burn__dnn_finalize(graph, heuristics, "heuristics");
  for (int i = 0; i < MAX_CONFIGS; i++) configs[i] = burn__dnn_make(graph, ENGINE_CONFIG);
  if (graph->error || dnn->library->cudnnBackendGetAttribute(heuristics, HEURISTICS_RESULTS, TYPE_DESCRIPTOR,
                                                             MAX_CONFIGS, &count, configs) != 0)
    count = 0;
  graph->error = 0;
  for (int64_t i = 0; i < count && i < MAX_CONFIGS && plans->count < most; i++)
    if (suits(graph, configs[i], exact)) add_plan(dnn, plans, configs[i]);
  graph->error = 0;
}

static void add_form(const CudaDnn *dnn, DnnPlans *plans, const DnnWish *wish,
                     void (*build)(DnnGraph *graph, const DnnKey *key)) {
  DnnGraph *graph = &plans->graph;
  const uint32_t first = plans->count, most = wish->most;
  graph->operation_count = 0;
  graph->error = 0;
  build(graph, &plans->key);
  void *operations = burn__dnn_make(graph, OPERATION_GRAPH);
  burn__dnn_set(graph, operations, GRAPH_HANDLE, TYPE_HANDLE, 1, &dnn->handle);
  burn__dnn_set(graph, operations, GRAPH_OPERATIONS, TYPE_DESCRIPTOR, graph->operation_count, graph->operations);
  burn__dnn_finalize(graph, operations, "graph");
  if (graph->error) return;
  ask(dnn, plans, operations, MODE_BEST, wish->exact, first + (most > 1 ? most / 2 : 1));
  ask(dnn, plans, operations, MODE_OTHER, wish->exact, first + (most > 1 ? most * 3 / 4 : 1));
  ask(dnn, plans, operations, MODE_FALLBACK, wish->exact, first + most);
}

static void make_plans(const CudaDnn *dnn, DnnPlans *plans, const DnnWish *wish) {
  burn__dnn_graph_begin(&plans->graph, dnn->library);
  add_form(dnn, plans, wish, wish->build);
  plans->second = plans->count;
  if (wish->build_second) add_form(dnn, plans, wish, wish->build_second);
}

/* -- plans by key ----------------------------------------------------------------------------- */

static uint32_t slot_of(const DnnKey *key) {
  return (uint32_t)(burn_common_hash_bytes(BURN_COMMON_HASH, key, sizeof *key) >> 32) % SLOTS;
}

/* In the slot of the key or one of the next; where all of them are taken, the first makes room. */
DnnPlans *burn__dnn_plans(Cuda *cuda, const DnnKey *key, const DnnWish *wish) {
  DnnPlans **slots = cuda->dnn->slots, **slot = &slots[slot_of(key)];
  for (uint32_t i = 0, at = slot_of(key); i < NEAR; i++, at = (at + 1) % SLOTS) {
    if (slots[at] && memcmp(&slots[at]->key, key, sizeof *key) == 0) return slots[at];
    if (slots[at]) continue;
    slot = &slots[at];
    break;
  }
  if (burn__cuda_is_recording(cuda)) return NULL;
  forget(*slot);
  *slot = calloc(1, sizeof **slot);
  if (!*slot) return NULL;
  (*slot)->key = *key;
  (*slot)->way = UINT32_MAX;
  make_plans(cuda->dnn, *slot, wish);
  return *slot;
}

/* What binds the pointers; the last one of a plan is kept, since addresses repeat from step to step. */
static void *pack_of(DnnPlans *plans, uint32_t plan, uint32_t count, const int64_t *ids, void *const *pointers,
                     CudaAddress workspace) {
  DnnGraph *graph = &plans->graph;
  void *room = (void *)(uintptr_t)workspace, **bound = plans->bound[plan];
  const bool is_same = plans->packs[plan] && memcmp(bound, pointers, count * sizeof *bound) == 0;
  if (is_same && bound[count] == room) return plans->packs[plan];
  if (plans->packs[plan]) (void)graph->library->cudnnBackendDestroyDescriptor(plans->packs[plan]);
  plans->packs[plan] = NULL;
  void *pack = burn__dnn_make(graph, VARIANT_PACK);
  if (!pack) return NULL;
  graph->made_count--; /* the plan owns it */
  burn__dnn_set(graph, pack, PACK_IDS, TYPE_INT64, count, ids);
  burn__dnn_set(graph, pack, PACK_POINTERS, TYPE_POINTER, count, pointers);
  burn__dnn_set(graph, pack, PACK_WORKSPACE, TYPE_POINTER, 1, &room);
  burn__dnn_finalize(graph, pack, "pack");
  if (graph->error) {
    (void)graph->library->cudnnBackendDestroyDescriptor(pack);
    return NULL;
  }
  plans->packs[plan] = pack;
  memcpy(bound, pointers, count * sizeof *bound);
  bound[count] = room;
  return pack;
}

bool burn__dnn_run(Cuda *cuda, DnnPlans *plans, uint32_t plan, uint32_t count, const int64_t *ids,
                   void *const *pointers) {
  const CudaDnn *dnn = cuda->dnn;
  const CudaAddress workspace = workspace_of(cuda, plans->workspace[plan]);
  if (!workspace || count >= DNN_MAX_BOUND) return false;
  void *pack = pack_of(plans, plan, count, ids, pointers, workspace);
  plans->graph.error = 0;
  return pack && dnn->library->cudnnBackendExecute(dnn->handle, plans->plans[plan], pack) == 0;
}

/* -- choices of earlier runs ------------------------------------------------------------------- */

/* What a choice depends on, as the name of its file. */
static void name_choice(Cuda *cuda, const DnnPlans *plans, uint32_t count, CudaImageName *name) {
  const unsigned char *bytes = (const unsigned char *)&plans->key;
  char text[2 * sizeof plans->key + 256], device[128] = "";
  (void)cuda->driver->cuDeviceGetName(device, (int)sizeof device, cuda->device);
  int used = snprintf(text, 256, "cuDNN %zu, %.127s, %u units, %u plans of %u ways, graph of results that stay ",
                      burn__dnn_version(cuda), device, cuda->gpu.unit_count, plans->count, count);
  for (size_t i = 0; i < sizeof plans->key; i++) used += snprintf(text + used, 3, "%02x", bytes[i]);
  burn__cuda_image_name(cuda->nvrtc, cuda->architecture, text, name);
  name->ending = "way";
}

bool burn__dnn_load_way(Cuda *cuda, DnnPlans *plans, uint32_t count) {
  CudaImageName name;
  char *kept = NULL;
  uint64_t bytes = 0;
  uint32_t way = UINT32_MAX;
  name_choice(cuda, plans, count, &name);
  if (!burn__cuda_image_load(cuda->gpu.host, &name, &kept, &bytes)) return false;
  if (bytes == sizeof way) memcpy(&way, kept, sizeof way);
  cuda->gpu.host->free(kept, bytes);
  if (way >= count) return false;
  plans->way = way;
  return true;
}

void burn__dnn_save_way(Cuda *cuda, const DnnPlans *plans, uint32_t count) {
  CudaImageName name;
  name_choice(cuda, plans, count, &name);
  burn__cuda_image_save(&name, (const char *)&plans->way, sizeof plans->way);
}

/* -- the fastest way -------------------------------------------------------------------------- */

enum { ROUNDS = 3, RUNS = 4 }; /* the best of some rounds, of some runs each */
static const float FAR = 1.3f;

/* Milliseconds; INFINITY where it fails. What takes far longer than another in its first round has no second one. */
static float time_of(Cuda *cuda, CudaWay way, void *context, uint32_t number, float other, void *begin, void *end) {
  const CudaDriver *d = cuda->driver;
  float best = INFINITY, now = 0;
  if (way(context, number) != BURN_OK) return best;
  for (int round = 0; round < ROUNDS && !(best > FAR * other && best < INFINITY); round++) {
    bool is_fine = d->cuEventRecord(begin, cuda->stream) == CUDA_OK;
    for (int run = 0; run < RUNS && is_fine; run++) is_fine = way(context, number) == BURN_OK;
    is_fine = is_fine && d->cuEventRecord(end, cuda->stream) == CUDA_OK;
    atomic_fetch_add(&cuda->gpu.host_waits, 1);
    if (!is_fine || d->cuEventSynchronize(end) != CUDA_OK || d->cuEventElapsedTime(&now, begin, end) != CUDA_OK)
      return INFINITY;
    if (now < best) best = now;
  }
  return best;
}

uint32_t burn__cuda_fastest(Cuda *cuda, CudaWay way, void *context, uint32_t count) {
  const float much = 0.98f; /* less is the same */
  void *begin = NULL, *end = NULL;
  uint32_t chosen = 0;
  float best = INFINITY;
  if (count > 1 && cuda->driver->cuEventCreate(&begin, 0) == CUDA_OK && cuda->driver->cuEventCreate(&end, 0) == CUDA_OK)
    for (uint32_t i = 0; i < count; i++) {
      const float time = time_of(cuda, way, context, i, best, begin, end);
      if (!(time < best * much)) continue;
      best = time;
      chosen = i;
    }
  if (begin) (void)cuda->driver->cuEventDestroy_v2(begin);
  if (end) (void)cuda->driver->cuEventDestroy_v2(end);
  return chosen;
}
