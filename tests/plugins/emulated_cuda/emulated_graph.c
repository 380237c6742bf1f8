/* emulated_graph.c - streams, and graphs as lists of what was captured: each piece of work is a function with its
 * arguments, run at once or with every launch of the graph. */
#include "emulated_memory.h"
#include "emulated_run.h"
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A node of a graph. */
typedef struct Work {
  int (*run)(const void *arguments);
  void *arguments;
  size_t bytes;
} Work;

typedef struct Graph {
  Work **works;
  size_t count, room;
  void *owned[64]; /* memory that was allocated while it was captured */
  size_t owned_count;
} Graph;

typedef struct Stream {
  Graph *recording; /* NULL: work is done at once */
  int is_invalid;   /* something was asked that no graph can hold */
} Stream;

/* -- graphs ----------------------------------------------------------------------------------- */

static void destroy(Graph *graph) {
  if (!graph) return;
  for (size_t i = 0; i < graph->count; i++) {
    free(graph->works[i]->arguments);
    free(graph->works[i]);
  }
  for (size_t i = 0; i < graph->owned_count; i++) (void)emulated_free(graph->owned[i]);
  free(graph->works);
  free(graph);
}

static Work *make_work(int (*run)(const void *), const void *arguments, size_t bytes) {
  Work *work = malloc(sizeof *work);
  void *copy = malloc(bytes);
  if (!work || !copy) {
    free(work);
    free(copy);
    return NULL;
  }
  memcpy(copy, arguments, bytes);
  *work = (Work){run, copy, bytes};
  return work;
}

static int append(Graph *graph, int (*run)(const void *), const void *arguments, size_t bytes) {
  if (graph->count == graph->room) {
    const size_t room = 2 * graph->room + 16;
    Work **works = realloc(graph->works, room * sizeof *works);
    if (!works) return CUDA_OUT_OF_MEMORY;
    graph->works = works;
    graph->room = room;
  }
  Work *work = make_work(run, arguments, bytes);
  if (!work) return CUDA_OUT_OF_MEMORY;
  graph->works[graph->count++] = work;
  return CUDA_OK;
}

int fake_is_capturing(void *stream) {
  const Stream *s = stream;
  return s && s->recording;
}

/* What threads submit runs one after the other, and nothing in the middle of a graph. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static int submit(Stream *s, int (*run)(const void *arguments), const void *arguments, size_t bytes) {
  return fake_is_capturing(s) ? append(s->recording, run, arguments, bytes) : run(arguments);
}

int fake_submit(void *stream, int (*run)(const void *arguments), const void *arguments, size_t bytes) {
  (void)pthread_mutex_lock(&order);
  const int error = submit(stream, run, arguments, bytes);
  (void)pthread_mutex_unlock(&order);
  return error;
}

/* What waits cannot be captured, and spoils the capture. */
static int refuse_capture(Stream *stream, const char *what) {
  if (!fake_is_capturing(stream)) return CUDA_OK;
  stream->is_invalid = 1;
  return emulated_fail(EMULATED_CAPTURE_UNSUPPORTED, "%s is not permitted while the stream is captured", what);
}

/* -- streams ---------------------------------------------------------------------------------- */

FAKE(cuStreamCreate, (void **stream, unsigned flags)) {
  (void)flags;
  FAILS(999);
  *stream = calloc(1, sizeof(Stream));
  return *stream ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuStreamDestroy_v2, (void *stream)) {
  destroy(((Stream *)stream)->recording);
  free(stream);
  return CUDA_OK;
}
FAKE(cuStreamSynchronize, (void *stream)) {
  FAILS(999);
  return refuse_capture(stream, "cuStreamSynchronize");
}
FAKE(cuStreamQuery, (void *stream)) { return refuse_capture(stream, "cuStreamQuery"); }
FAKE(cuStreamWaitEvent, (void *stream, void *event, unsigned flags)) {
  (void)stream, (void)event, (void)flags;
  FAILS(999);
  return CUDA_OK;
}

/* -- capture ---------------------------------------------------------------------------------- */

FAKE(cuStreamBeginCapture_v2, (void *stream, int mode)) {
  Stream *s = stream;
  (void)mode;
  FAILS(999);
  if (!s || s->recording) return emulated_fail(EMULATED_INVALID_VALUE, "the stream cannot be captured, or is already");
  s->recording = calloc(1, sizeof *s->recording);
  s->is_invalid = 0;
  return s->recording ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}
FAKE(cuStreamEndCapture, (void *stream, void **graph)) {
  Stream *s = stream;
  *graph = NULL;
  if (!fake_is_capturing(s)) return emulated_fail(EMULATED_NOT_CAPTURING, "the stream is not captured");
  const int failed = fake_next_error(999);
  Graph *captured = s->recording;
  s->recording = NULL;
  if (failed == CUDA_OK && !s->is_invalid) {
    *graph = captured;
    return CUDA_OK;
  }
  destroy(captured);
  return failed != CUDA_OK ? failed
                           : emulated_fail(EMULATED_CAPTURE_INVALIDATED, "the capture was spoilt before its end");
}
FAKE(cuStreamIsCapturing, (void *stream, int *status)) {
  *status = !fake_is_capturing(stream) ? 0 : ((Stream *)stream)->is_invalid ? 2 : 1;
  return CUDA_OK;
}
/* The last node is what the next one depends on. */
FAKE(cuStreamGetCaptureInfo_v2,
     (void *stream, int *status, uint64_t *id, void **graph, void *const **dependencies, size_t *count)) {
  Stream *s = stream;
  (void)cuStreamIsCapturing(stream, status);
  Graph *recording = *status == 1 ? s->recording : NULL;
  const size_t nodes = recording ? recording->count : 0;
  if (id) *id = 1;
  if (graph) *graph = recording;
  if (count) *count = nodes > 0;
  if (dependencies) *dependencies = nodes > 0 ? (void *const *)&recording->works[nodes - 1] : NULL;
  return CUDA_OK;
}

int fake_capture_allocation(void *stream, size_t bytes, CudaAddress *out) {
  Graph *graph = ((Stream *)stream)->recording;
  if (graph->owned_count == sizeof graph->owned / sizeof graph->owned[0]) return CUDA_OUT_OF_MEMORY;
  void *memory = emulated_allocate(bytes);
  if (!memory) return CUDA_OUT_OF_MEMORY;
  graph->owned[graph->owned_count++] = memory;
  *out = (CudaAddress)(uintptr_t)memory;
  return CUDA_OK;
}

int fake_capture_free(void *stream, CudaAddress memory) {
  Stream *s = stream;
  for (size_t i = 0; i < s->recording->owned_count; i++)
    if ((CudaAddress)(uintptr_t)s->recording->owned[i] == memory) return CUDA_OK;
  s->is_invalid = 1;
  return emulated_fail(EMULATED_INVALID_VALUE,
                       "memory that the graph does not own is freed while the stream is captured");
}

/* -- graphs, as the driver has them ----------------------------------------------------------- */

FAKE(cuGraphGetNodes, (void *graph, void **nodes, size_t *count)) {
  const Graph *g = graph;
  for (size_t i = 0; nodes && i < *count && i < g->count; i++) nodes[i] = g->works[i];
  *count = g->count;
  return CUDA_OK;
}
FAKE(cuGraphDestroy, (void *graph)) {
  destroy(graph);
  return CUDA_OK;
}

/* A graph that can be launched: a copy, and the nodes that it is of. */
typedef struct Executable {
  Graph graph;
  Work **nodes;
} Executable;

FAKE(cuGraphExecDestroy, (void *executable)) {
  Executable *e = executable;
  for (size_t i = 0; i < e->graph.count; i++) {
    free(e->graph.works[i]->arguments);
    free(e->graph.works[i]);
  }
  free(e->graph.works);
  free(e->nodes);
  free(e);
  return CUDA_OK;
}
FAKE(cuGraphInstantiateWithFlags, (void **executable, void *graph, uint64_t flags)) {
  const Graph *g = graph;
  (void)flags;
  FAILS(CUDA_OUT_OF_MEMORY);
  Executable *e = calloc(1, sizeof *e);
  if (e) e->nodes = malloc((g->count + 1) * sizeof *e->nodes);
  int error = e && e->nodes ? CUDA_OK : CUDA_OUT_OF_MEMORY;
  for (size_t i = 0; i < g->count && error == CUDA_OK; i++) {
    e->nodes[i] = g->works[i];
    error = append(&e->graph, g->works[i]->run, g->works[i]->arguments, g->works[i]->bytes);
  }
  if (error == CUDA_OK) *executable = e;
  if (error != CUDA_OK && e) (void)cuGraphExecDestroy(e);
  return error;
}
FAKE(cuGraphUpload, (void *executable, void *stream)) {
  (void)executable, (void)stream;
  FAILS(999);
  return CUDA_OK;
}
FAKE(cuGraphLaunch, (void *executable, void *stream)) {
  const Executable *e = executable;
  int error = CUDA_OK;
  FAILS(999);
  (void)pthread_mutex_lock(&order);
  for (size_t i = 0; i < e->graph.count && error == CUDA_OK; i++)
    error = submit(stream, e->graph.works[i]->run, e->graph.works[i]->arguments, e->graph.works[i]->bytes);
  (void)pthread_mutex_unlock(&order);
  return error;
}

/* -- kernels ---------------------------------------------------------------------------------- */

/* The arguments of a kernel's work: this, and its parameters after it. */
typedef struct KernelWork {
  EmulatedLaunch launch;
} KernelWork;

static int run_kernel(const void *arguments) {
  const KernelWork *work = arguments;
  return emulated_run(&work->launch, (const char *)(work + 1));
}

/* As CU_LAUNCH_PARAM_BUFFER_POINTER and .._SIZE give them; NULL if they do not. */
static const void *buffer_of(void **extra, size_t *bytes) {
  const void *buffer = NULL;
  for (size_t i = 0; extra && extra[i]; i += 2) {
    if (extra[i] == (void *)1) buffer = extra[i + 1];
    if (extra[i] == (void *)2) memcpy(bytes, extra[i + 1], sizeof *bytes);
  }
  return buffer;
}

/* The arguments of a launch; the caller frees them. */
static int make_kernel_work(const EmulatedLaunch *launch, void **parameters, void **extra, KernelWork **out,
                            size_t *bytes) {
  const EmulatedKernel *kernel = launch->function->kernel;
  const size_t expected = kernel->pack(NULL, NULL);
  size_t given = expected;
  const void *buffer = buffer_of(extra, &given);
  const int error = emulated_check_launch(launch);
  if (error != CUDA_OK) return error;
  if (given != expected)
    return emulated_fail(EMULATED_INVALID_VALUE, "kernel \"%s\" has %zu bytes of parameters, the launch gives %zu",
                         launch->function->name, expected, given);
  KernelWork *work = calloc(1, sizeof *work + expected);
  if (!work) return CUDA_OUT_OF_MEMORY;
  work->launch = *launch;
  if (buffer) memcpy(work + 1, buffer, expected);
  if (!buffer && parameters) (void)kernel->pack(parameters, (char *)(work + 1));
  *out = work;
  *bytes = sizeof *work + expected;
  return CUDA_OK;
}

int fake_launch(const EmulatedLaunch *launch, void *stream, void **parameters, void **extra) {
  KernelWork *work = NULL;
  size_t bytes = 0;
  int error = make_kernel_work(launch, parameters, extra, &work, &bytes);
  if (error == CUDA_OK) error = fake_submit(stream, run_kernel, work, bytes);
  free(work);
  return error;
}

/* CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct KernelNode {
  void *function;
  unsigned grid[3], block[3], shared_bytes;
  void **parameters, **extra;
  void *kernel, *context;
} KernelNode;

FAKE(cuGraphExecKernelNodeSetParams_v2, (void *executable, void *node, const KernelNode *to)) {
  const Executable *e = executable;
  const EmulatedLaunch launch = {to->function,
                                 {to->grid[0], to->grid[1], to->grid[2]},
                                 {to->block[0], to->block[1], to->block[2]},
                                 to->shared_bytes};
  size_t i = 0, bytes = 0;
  KernelWork *work = NULL;
  FAILS(999);
  while (i < e->graph.count && e->nodes[i] != node) i++;
  if (i == e->graph.count || e->graph.works[i]->run != run_kernel)
    return emulated_fail(EMULATED_INVALID_VALUE, "it is not a kernel of this graph");
  const int error = make_kernel_work(&launch, to->parameters, to->extra, &work, &bytes);
  if (error != CUDA_OK) return error;
  free(e->graph.works[i]->arguments);
  e->graph.works[i]->arguments = work;
  e->graph.works[i]->bytes = bytes;
  return CUDA_OK;
}
/* CUgraphNodeType: 0 a kernel; the others are copies and fills. */
FAKE(cuGraphNodeGetType, (void *node, int *type)) {
  *type = ((const Work *)node)->run == run_kernel ? 0 : 1;
  return CUDA_OK;
}
