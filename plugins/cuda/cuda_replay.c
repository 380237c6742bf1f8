/* cuda_replay.c - recorded work as graphs of the driver (gpu_replay.h): the stream is captured while a thread records,
 * and while it patches, into a graph that is thrown away. */
#include "cuda_internal.h"

enum { CAPTURE_RELAXED = 2 };

struct GpuWork {
  void *graph, *executable;
};

/* CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct KernelNode {
  void *function;
  unsigned groups[3], threads[3], shared_bytes;
  void **parameters, **extra;
  void *kernel, *context;
} KernelNode;

static BurnStatus begin(Gpu *gpu, GpuWork **out) {
  Cuda *cuda = cuda_of(gpu);
  const CudaDriver *d = cuda->driver;
  int error = CUDA_OK;
  GpuWork *work = gpu->host->allocate(sizeof *work);
  if (!work) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a recording");
  *work = (GpuWork){NULL, NULL};
  if (!cuda->side_stream) error = d->cuStreamCreate(&cuda->side_stream, CUDA_STREAM_NON_BLOCKING);
  if (error == CUDA_OK) burn__gpu_memory_give_up(gpu);
  if (error == CUDA_OK) error = d->cuStreamBeginCapture_v2(cuda->stream, CAPTURE_RELAXED);
  if (error == CUDA_OK) *out = work;
  if (error != CUDA_OK) gpu->host->free(work, sizeof *work);
  return burn__cuda_check(cuda, error, "record");
}

/* Always ends the capture: a stream that is left captured is of no use any more. */
static BurnStatus end(Gpu *gpu, GpuWork *work, bool ok) {
  Cuda *cuda = cuda_of(gpu);
  int error = cuda->driver->cuStreamEndCapture(cuda->stream, &work->graph);
  if (error == CUDA_OK && ok) error = cuda->driver->cuGraphInstantiateWithFlags(&work->executable, work->graph, 0);
  return burn__cuda_check(cuda, error, "record");
}

static void drop(Gpu *gpu, GpuWork *work) {
  const CudaDriver *d = cuda_of(gpu)->driver;
  if (!work) return;
  if (work->executable) (void)d->cuGraphExecDestroy(work->executable);
  if (work->graph) (void)d->cuGraphDestroy(work->graph);
  gpu->host->free(work, sizeof *work);
}

static BurnStatus run(Gpu *gpu, GpuWork *work) {
  Cuda *cuda = cuda_of(gpu);
  return burn__cuda_check(cuda, cuda->driver->cuGraphLaunch(work->executable, cuda->stream), "run a recording");
}

/* The node that was captured last. */
static BurnStatus last(Gpu *gpu, const GpuWork *work, void **node) {
  Cuda *cuda = cuda_of(gpu);
  int capture = 0;
  size_t count = 0;
  uint64_t id = 0;
  void *graph = NULL, *const *nodes = NULL;
  const int error = cuda->driver->cuStreamGetCaptureInfo_v2(cuda->stream, &capture, &id, &graph, &nodes, &count);
  (void)work;
  if (error != CUDA_OK) return burn__cuda_check(cuda, error, "look at a capture");
  if (count != 1) return CUDA_FAIL(cuda, INTERNAL, "a captured kernel is %zu nodes", count);
  *node = nodes[0];
  return BURN_OK;
}

static BurnStatus change(Gpu *gpu, GpuWork *work, void *node, const GpuStart *start) {
  Cuda *cuda = cuda_of(gpu);
  size_t bytes = start->bytes;
  /* CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE */
  const void *const extra[] = {(void *)1, start->parameters, (void *)2, &bytes, NULL};
  const KernelNode kernel = {.function = start->function,
                             .groups = {start->groups, 1, 1},
                             .threads = {start->threads, 1, 1},
                             .shared_bytes = start->shared_bytes,
                             .extra = (void **)(uintptr_t)extra};
  const int error = cuda->driver->cuGraphExecKernelNodeSetParams_v2(work->executable, node, &kernel);
  return burn__cuda_check(cuda, error, "change a recorded kernel");
}

static BurnStatus patch_begin(Gpu *gpu, GpuWork *work) {
  Cuda *cuda = cuda_of(gpu);
  (void)work;
  return burn__cuda_check(cuda, cuda->driver->cuStreamBeginCapture_v2(cuda->stream, CAPTURE_RELAXED), "patch");
}

static BurnStatus patch_end(Gpu *gpu, GpuWork *work, bool *is_empty) {
  Cuda *cuda = cuda_of(gpu);
  const CudaDriver *d = cuda->driver;
  void *graph = NULL;
  size_t count = 0;
  (void)work;
  int error = d->cuStreamEndCapture(cuda->stream, &graph);
  if (error == CUDA_OK) error = d->cuGraphGetNodes(graph, NULL, &count);
  if (graph) (void)d->cuGraphDestroy(graph);
  *is_empty = count == 0;
  return burn__cuda_check(cuda, error, "patch");
}

static BurnStatus copy(Gpu *gpu, const GpuPlace *to, const GpuPlace *from, uint64_t bytes) {
  Cuda *cuda = cuda_of(gpu);
  const int error = cuda->driver->cuMemcpyDtoDAsync_v2(to->address, from->address, bytes, cuda->stream);
  return burn__cuda_check(cuda, error, "copy between recorded work and others");
}

const GpuReplayWork burn__cuda_replay_work = {.begin = begin,
                                              .end = end,
                                              .drop = drop,
                                              .run = run,
                                              .last = last,
                                              .change = change,
                                              .patch_begin = patch_begin,
                                              .patch_end = patch_end,
                                              .copy = copy};
