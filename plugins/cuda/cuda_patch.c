/* cuda_patch.c - calls made once more with other numbers, to change what a recording starts: see cuda_replay.c. */
#include "cuda_recording.h"

#include <string.h>

/* CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct KernelNode {
  void *function;
  unsigned groups[3], threads[3], shared_bytes;
  void **parameters, **extra;
  void *kernel, *context;
} KernelNode;

static BurnStatus differ(Cuda *cuda, const char *what) {
  cuda->recording->differs = true;
  return CUDA_FAIL(cuda, FAILED_PRECONDITION, "with other numbers a recorded call %s", what);
}

static BurnStatus set_parameters(Cuda *cuda, const Started *started, const CudaStart *start) {
  size_t bytes = start->bytes;
  const void *const extra[] = {(void *)1, start->parameters, (void *)2, &bytes, NULL};
  const KernelNode node = {.function = start->function,
                           .groups = {start->groups, 1, 1},
                           .threads = {start->threads, 1, 1},
                           .extra = (void **)(uintptr_t)extra};
  const int error = cuda->driver->cuGraphExecKernelNodeSetParams_v2(cuda->recording->executable, started->node, &node);
  atomic_fetch_add_explicit(&cuda->patches, 1, memory_order_relaxed);
  return burn__cuda_check(cuda, error, "change a recorded kernel");
}

BurnStatus burn__cuda_replay_change(Cuda *cuda, const CudaStart *start) {
  CudaRecording *r = cuda->recording;
  if (r->next_started == r->last_started) return differ(cuda, "starts more kernels");
  const Started *started = &r->started.items[r->next_started++];
  char *recorded = r->parameters.items + started->first;
  if (started->function != start->function || started->groups != start->groups || started->threads != start->threads ||
      started->bytes != start->bytes)
    return differ(cuda, "starts another kernel");
  if (memcmp(recorded, start->parameters, start->bytes) == 0) return BURN_OK;
  const BurnStatus status = set_parameters(cuda, started, start);
  if (status == BURN_OK) memcpy(recorded, start->parameters, start->bytes);
  if (status != BURN_OK) r->differs = true;
  return status;
}

BurnStatus burn__cuda_replay_take_again(Cuda *cuda, uint64_t bytes, CudaAddress *out) {
  CudaRecording *r = cuda->recording;
  if (r->next_taken == r->last_taken || r->taken.items[r->next_taken].bytes != bytes)
    return differ(cuda, "takes other memory");
  *out = r->taken.items[r->next_taken++].address;
  return BURN_OK;
}

static void check_call_is_whole(CudaRecording *r) {
  if (r->next_started != r->last_started || r->next_taken != r->last_taken) r->differs = true;
}

BurnStatus burn__cuda_patch_call(Cuda *cuda, CudaRecording *r, uint32_t index) {
  uint32_t low = 0, high = r->marks.count;
  check_call_is_whole(r);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2u;
    if (r->marks.items[middle].index < index) low = middle + 1u;
    if (r->marks.items[middle].index >= index) high = middle;
  }
  if (low == r->marks.count || r->marks.items[low].index != index)
    return CUDA_FAIL(cuda, INVALID_ARGUMENT, "mark: there is no call %u in the recording", index);
  const Mark *mark = &r->marks.items[low];
  const bool is_last = low + 1u == r->marks.count;
  r->next_started = mark->started;
  r->next_taken = mark->taken;
  r->last_started = is_last ? r->started.count : mark[1].started;
  r->last_taken = is_last ? r->taken.count : mark[1].taken;
  return BURN_OK;
}

/* Captures what is not patched into a graph of its own. */
BurnStatus BURN_API_CALL burn__cuda_patch_begin(void *self, BurnRecording *recording) {
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  burn__cuda_shut_out(cuda);
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status == BURN_OK) {
    status = burn__cuda_check(cuda, cuda->driver->cuStreamBeginCapture_v2(cuda->stream, CAPTURE_RELAXED), "patch");
    burn__gpu_leave(&cuda->gpu);
  }
  if (status != BURN_OK) {
    burn__cuda_let_in(cuda);
    return status;
  }
  r->next_started = r->last_started = r->next_taken = r->last_taken = 0;
  r->differs = false;
  cuda->recording = r;
  cuda->gpu.is_recorded = true;
  cuda->is_patching = true;
  return BURN_OK;
}

/* Ends the capture that patch_begin began; how much was captured. */
static BurnStatus end_patch(Cuda *cuda, size_t *count) {
  const CudaDriver *d = cuda->driver;
  void *graph = NULL;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  int error = d->cuStreamEndCapture(cuda->stream, &graph);
  if (error == CUDA_OK) error = d->cuGraphGetNodes(graph, NULL, count);
  if (graph) (void)d->cuGraphDestroy(graph);
  burn__gpu_leave(&cuda->gpu);
  return burn__cuda_check(cuda, error, "patch");
}

BurnStatus BURN_API_CALL burn__cuda_patch_end(void *self, BurnRecording *recording) {
  Cuda *cuda = self;
  CudaRecording *r = inside(recording);
  size_t count = 0;
  check_call_is_whole(r);
  BurnStatus status = end_patch(cuda, &count);
  cuda->is_patching = false;
  cuda->recording = NULL;
  cuda->gpu.is_recorded = false;
  burn__cuda_let_in(cuda);
  if (status == BURN_OK && count > 0)
    status = CUDA_FAIL(cuda, FAILED_PRECONDITION, "a call with other numbers does work that cannot be patched");
  if (status == BURN_OK && r->differs)
    status = CUDA_FAIL(cuda, FAILED_PRECONDITION, "with other numbers a recorded call does other work");
  return status;
}
