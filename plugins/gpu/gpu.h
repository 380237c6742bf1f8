/* gpu.h - what GPU backends share: the base of an instance, what a backend does for it, tensors, a running call, the
 * row of an op.
 *
 * A backend's instance begins with a Gpu (struct Cuda { Gpu gpu; .. }) that names its functions; what it gets in return
 * is in gpu_backend.h and gpu_memory.h. All work of an instance goes into one queue, so memory that is released may be
 * handed out again at once: whoever gets it works later. Kernels are CUDA C texts (kernels/), made ready for the device
 * when they are first needed. */
#ifndef BURN_GPU_H
#define BURN_GPU_H

#include "gpu_texts.h"
#include "kernels/parameters.h"

#include <burn/common/failure.h>
#include <burn/plugin/calls.h>
#include <burn/plugin/device.h>
#include <burn/plugin/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Gpu Gpu;
typedef struct GpuRow GpuRow;
typedef struct GpuKernels GpuKernels;     /* gpu_kernels.c: what has been made ready, by key */
typedef struct GpuMemory GpuMemory;       /* gpu_memory.c: segments and blocks */
typedef struct GpuModule GpuModule;       /* the backend's: a source made ready */
typedef struct GpuRecording GpuRecording; /* gpu_recording.h */
typedef struct GpuCache GpuCache;         /* gpu_memory.h */
typedef struct GpuFunction GpuFunction;   /* the backend's: what a launch starts */
typedef uint64_t GpuAddress;              /* of memory of the device */

/* Memory of the device, shared by views of it. */
typedef struct GpuStorage {
  atomic_uint references;
  bool is_stand_in; /* it belongs to a recording, which ends it */
  bool is_shared;   /* another library owns or reads it: it is not written into */
  GpuAddress address;
  uint64_t bytes;
  void *memory; /* the backend's: what the address lies in, as GpuSegments.take has given it */
  void *owner;  /* the backend's, of a shared one: to whom it goes back; NULL: it is ours */
  void *reader; /* likewise: the queue of another library that reads it; NULL: none that is known */
  _Atomic uint64_t read_after, written_after; /* the backend's: the barrier after which that was done last */
} GpuStorage;

/* The storages that a launch reads, and those that it may write. */
enum { GPU_MAX_TOUCHED = 40 };
typedef struct GpuTouched {
  const Gpu *gpu; /* NULL: nothing is known */
  uint32_t count;
  struct {
    GpuStorage *storage;
    bool is_written;
  } items[GPU_MAX_TOUCHED];
} GpuTouched;

/* A tensor: the public header, then ours. */
typedef struct GpuTensor {
  BurnPrimitive header;
  atomic_uint references;
  GpuStorage *storage;
  bool is_stand_in; /* it belongs to a recording, which ends it */
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
} GpuTensor;

/* What a kernel function gets. It makes the outputs; what it leaves behind on failure is released by submit. */
typedef struct GpuRun {
  Gpu *gpu;
  const GpuRow *row;
  const BurnOpCall *call;
  BurnPrimitive **out; /* [output_count], NULL at first */
} GpuRun;

typedef BurnStatus (*GpuOp)(const GpuRun *run);

/* One op: its function and, where several ops share it, what makes this one special. */
struct GpuRow {
  uint32_t op;
  GpuOp function;
  int detail; /* what it means is the function's business */
};

/* The rows, family by family; each list ends with op 0. */
#define GPU_FAMILY(name) extern const GpuRow burn__gpu_##name##_rows[];
#include "families.def"
#undef GPU_FAMILY

typedef struct GpuLaunch {
  uint64_t groups;
  uint32_t threads, shared_bytes; /* of a group */
} GpuLaunch;

/* -- what a backend does ----------------------------------------------------------------------- */

/* The backend's functions, as a table: in static builds a program has several backends, so they have no common names.
 * Families and fusion call them by burn__gpu_enter and the other functions below. All are called between enter and
 * leave unless they say otherwise; failures are the backend's, in words. */
typedef struct GpuBackend {
  /* Around everything that works on the device; a thread may nest them. After a failure of enter there is no leave. */
  BurnStatus (*enter)(Gpu *gpu);
  void (*leave)(Gpu *gpu);

  /* A storage with one reference and undefined contents, whose address kernels can use; and one reference less, the
   * last one gives the memory back: from any thread, also outside of enter and leave. Both are those of gpu_memory.h,
   * burn__gpu_memory_take and burn__gpu_memory_release, with what the backend does besides. */
  BurnStatus (*storage_new)(Gpu *gpu, uint64_t bytes, GpuStorage **out);
  void (*storage_release)(Gpu *gpu, GpuStorage *storage);

  /* A source in the kernels' language to a module, and a function of it. unload: nothing in the queue uses it. */
  BurnStatus (*load)(Gpu *gpu, const char *source, GpuModule **out);
  BurnStatus (*function)(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out);
  void (*settle)(Gpu *gpu, GpuModule *module); /* all its functions were asked for; NULL: that makes no difference */
  void (*unload)(Gpu *gpu, GpuModule *module);
  /* Puts `groups` groups, at least 1 and at most INT32_MAX, into the queue; `parameters` is one struct, copied before
   * it returns. */
  BurnStatus (*launch)(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads, const void *parameters,
                       size_t bytes);
  /* The same with memory that the threads of a group share beside what the kernel declares, at most
   * gpu->most_shared_bytes in all. NULL where that is 0. */
  BurnStatus (*launch_sharing)(Gpu *gpu, GpuFunction *function, const GpuLaunch *launch, const void *parameters,
                               size_t bytes);

  /* Waits until the queue is empty. */
  BurnStatus (*finish)(Gpu *gpu);
  /* The complaint of a kernel that has run, once. burn__gpu_tell_complaint can stand here. */
  BurnStatus (*complaint)(Gpu *gpu);

  /* Copies of at least 1 byte between memory of the host and a row-major tensor, in the queue. write: `data` may change
   * as soon as it returns, except where it is memory of burn.device's staging_allocate. read: `data` is filled when the
   * queue has come to it, which finish and the events tell. */
  BurnStatus (*write)(Gpu *gpu, const BurnPrimitive *to, const void *data, uint64_t bytes);
  BurnStatus (*read)(Gpu *gpu, void *data, const BurnPrimitive *from, uint64_t bytes);

  /* Slots of burn.device; all but event_new may be called outside of enter and leave. event_new: at the end of the
   * queue, with the time if it is_timed. event_query: done or not, at once. event_wait: of one that was not done.
   * event_elapsed: both were found done. NULL: none keeps the time. */
  BurnStatus (*event_new)(Gpu *gpu, bool is_timed, BurnEvent **out);
  BurnStatus (*event_query)(Gpu *gpu, BurnEvent *event, bool *done);
  BurnStatus (*event_wait)(Gpu *gpu, BurnEvent *event);
  void (*event_release)(Gpu *gpu, BurnEvent *event);
  BurnStatus (*event_elapsed)(Gpu *gpu, BurnEvent *first, BurnEvent *second, double *seconds);

  /* Starts a kernel of a pack with at least one group; `words` are its arguments, then launch->parameters. NULL where
   * burn.device offers no kernels. */
  BurnStatus (*pack_start)(Gpu *gpu, BurnLoadedKernel *kernel, const BurnDeviceLaunch *launch, const uint64_t *words,
                           size_t bytes);

  const struct GpuReplayWork *replay; /* gpu_replay.h; NULL where there is no burn.replay */
} GpuBackend;

/* How many pieces of that size, the last one in part, make up `count`. */
static inline int64_t gpu_pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

/* What a product is, beside its shape: floats of one dtype, bf16 to f32, or i8 to i32. */
typedef struct GpuProductKind {
  BurnDType in, out;
  bool tf32; /* of f32 */
} GpuProductKind;

/* A convolution and the ways to compute it here, by number. */
typedef enum GpuConvKind { GPU_CONV_FORWARD, GPU_CONV_TRANSPOSED, GPU_CONV_WEIGHT } GpuConvKind;
/* What volumes have beside planes: the first axis of their places, whose others are those of a GpuConv. */
typedef struct GpuConvDepth {
  int64_t in, kernel, windows, stride, padding, dilation;
} GpuConvDepth;
typedef struct GpuConvWork {
  const GpuRun *run;
  const GpuConv *p;          /* without addresses */
  const GpuConvDepth *depth; /* NULL: of planes. Volumes have no way here, and `way` fails */
  GpuConvKind kind;
  BurnDType dtype; /* of all tensors */
  BurnStatus (*way)(const struct GpuConvWork *work, uint32_t number);
  uint32_t way_count; /* way 0 is the best by what is known of shapes; all are worth a try */
  bool is_ours;       /* without a try, way 0 is a better guess than what a library has */
} GpuConvWork;

/* The tensors of a convolution for one of its ways: those of the call, or copies, with their channels as the way wants
 * them; where the result goes, and p with the addresses. */
typedef struct GpuConvTensors {
  GpuConv p;
  BurnPrimitive *inputs[3], *result; /* absent ones are NULL; result: run->out[0], or what becomes it */
} GpuConvTensors;

/* A shape of matrices that groups of threads multiply together: sums of f32 or i32 [rows, columns]. 0: none. */
typedef struct GpuMatrixShape {
  uint32_t rows, columns, depth;
  bool has_fragments; /* 16 x 16 x 16, and threads have the elements that kernels/attention_fragments.cu says */
} GpuMatrixShape;

/* What the device has of them, where kernels can use it (kernels/matrix_product.cu). */
typedef struct GpuMatrices {
  uint32_t lanes; /* threads that have a matrix together; 0: no matrices */
  GpuMatrixShape f16, bf16, i8;
  bool for_all;  /* also for products that are too small to gain by it, and on processors */
  uint32_t tile; /* the tile to take where it can be, from 1 on; 0: by the shape */
} GpuMatrices;

/* Libraries of the device's maker, in the queue; each may be NULL. One that returns false has done nothing. */
typedef struct GpuLibraries {
  bool (*product)(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p);
  /* Runs the convolution by an algorithm of the library or by one of work's ways, whichever is the fastest. */
  BurnStatus (*conv)(Gpu *gpu, const GpuConvWork *work);
  /* True if an algorithm of the library runs this convolution of volumes, of which only p, depth, kind and dtype are
   * there. Between enter and leave. */
  bool (*takes_volumes)(Gpu *gpu, const GpuConvWork *work);
  /* Into the outputs, which are made; the inputs of the call are as the op has them. */
  bool (*attention)(const GpuRun *run, const GpuAttention *p);
  bool (*attention_backward)(const GpuRun *run, const GpuAttention *p);
} GpuLibraries;

/* -- the base of an instance ------------------------------------------------------------------- */

/* Fused kernels that have been compiled (gpu_fused.c). */
typedef struct GpuFusedPrograms {
  pthread_mutex_t mutex;
  uint32_t idle;        /* of them nobody uses */
  atomic_bool has_told; /* that a body failed to compile */
  struct GpuFusedProgram *first;
} GpuFusedPrograms;

/* Recordings, and who is inside (gpu_replay.c). */
typedef struct GpuReplays {
  _Atomic int64_t launches, recordings, runs, patches; /* as in BurnReplayStatistics */
  _Atomic uint32_t inside;                             /* threads between enter and leave */
  _Atomic(const void *) recorder;                      /* the thread that alone may enter; NULL: any */
  pthread_mutex_t recorder_mutex;                      /* held by that thread; others wait for it */
  bool is_patching;                                    /* the recorder does not record, but makes calls again */
  GpuRecording *recording;                             /* of the recorder; NULL: none */
  pthread_mutex_t scratch_mutex;                       /* around the two that follow */
  GpuCache *scratch;                                   /* memory that recordings use while they run */
  uint32_t scratch_users;                              /* recordings */
} GpuReplays;

enum { GPU_RECENT_OPS = 8 };

/* How f32 is multiplied: as it is, in TF32, or in bf16 where that is worth two casts, else in TF32. Sums are f32. */
typedef enum GpuPrecision { GPU_HIGHEST, GPU_HIGH, GPU_MEDIUM } GpuPrecision;

/* An opened instance, as the floor sees it: the first member of the backend's. The backend sets the first group before
 * burn__gpu_begin, the second before the first op. */
struct Gpu {
  const BurnHost *host;
  const GpuBackend *backend;
  const GpuLibraries *libraries; /* NULL: none */
  uint32_t owner, index;
  char name[16];          /* "cuda:0" */
  bool tf32;              /* convolutions of f32 by TF32 */
  GpuPrecision precision; /* of products */
  bool timing;            /* choose among algorithms by time */

  uint32_t unit_count;        /* multiprocessors: how much work is worth a launch */
  uint32_t most_threads;      /* of a group: at least 256 */
  uint32_t shared_bytes;      /* of memory that the threads of a group may share */
  uint32_t most_shared_bytes; /* the same for launches that ask for it; 0: none can */
  bool has_tensor_cores;      /* attention and convolutions multiply by them, in PTX */
  bool has_shared_atomics;    /* threads of a group have atomics on memory that they share */
  GpuMatrices matrices;
  bool has_f64;                /* else the instance has no tensors of f64 */
  bool composes_f64_attention; /* it is left to its decomposition, as its kernels compile for long */
  bool is_generous;        /* its compiler gives a thread as many registers as fit one block, not several, in a unit */
  bool emulates_warps;     /* shuffles go through memory that a group shares: a word of each of its threads */
  bool tracks_memory;      /* burn__gpu_touched tells what launches read and write */
  int64_t most_rounds;     /* of all loops of a thread, which the device ends without a word then; 0: any */
  bool is_processor;       /* threads of a group that wait for each other are slow there, and so is dividing */
  GpuMemory *memory;       /* by burn__gpu_memory_create */
  GpuComplaint *complaint; /* memory that kernels and the host see, cleared: what was wrong */
  GpuAddress complaint_address; /* as kernels see it */

  bool is_recorded; /* the thread inside records, or makes recorded calls again: nothing is compiled or waited for */
  _Atomic int64_t live_tensors, host_waits;
  _Atomic uint32_t recent[GPU_RECENT_OPS]; /* the last ops, for messages of late failures */
  _Atomic uint32_t submitted;              /* ops so far */
  GpuReplays replays;
  GpuKernels *kernels;
  GpuFusedPrograms fused;
  const GpuRow *rows[BURN_OP_LIMIT]; /* by op; NULL: the host decomposes it */
};

static inline BurnStatus burn__gpu_enter(Gpu *gpu) { return gpu->backend->enter(gpu); }
static inline void burn__gpu_leave(Gpu *gpu) { gpu->backend->leave(gpu); }
BurnStatus burn__gpu_storage_new(Gpu *gpu, uint64_t bytes, GpuStorage **out);
static inline void burn__gpu_storage_release(Gpu *gpu, GpuStorage *storage) {
  gpu->backend->storage_release(gpu, storage);
}
static inline BurnStatus burn__gpu_load(Gpu *gpu, const char *source, GpuModule **out) {
  return gpu->backend->load(gpu, source, out);
}
static inline BurnStatus burn__gpu_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out) {
  return gpu->backend->function(gpu, module, name, out);
}
static inline void burn__gpu_settle(Gpu *gpu, GpuModule *module) {
  if (gpu->backend->settle) gpu->backend->settle(gpu, module);
}
static inline void burn__gpu_unload(Gpu *gpu, GpuModule *module) { gpu->backend->unload(gpu, module); }
static inline BurnStatus burn__gpu_complaint(Gpu *gpu) { return gpu->backend->complaint(gpu); }

/* -- gpu_queue.c ------------------------------------------------------------------------------- */

/* Starts a function with one struct of parameters, in the queue; no groups are nothing to do. */
BurnStatus burn__gpu_launch(Gpu *gpu, GpuFunction *function, uint64_t groups, uint32_t threads, const void *parameters,
                            size_t bytes);
/* The same with shared memory beside what the kernel declares. */
BurnStatus burn__gpu_launch_sharing(Gpu *gpu, GpuFunction *function, const GpuLaunch *launch, const void *parameters,
                                    size_t bytes);
/* While work is recorded: FAILED_PRECONDITION, "what cannot be recorded". Else BURN_OK. */
BurnStatus burn__gpu_refuse_recording(Gpu *gpu, const char *what);
/* UNIMPLEMENTED where a thread would go through loops more often than gpu->most_rounds; before a kernel is started. */
BurnStatus burn__gpu_check_rounds(const GpuRun *run, int64_t rounds);
/* Waits for all work and counts that. Not while something is recorded. */
BurnStatus burn__gpu_finish(Gpu *gpu);
/* The same, refused while something is recorded, and tells what a kernel complained about. */
BurnStatus burn__gpu_wait(Gpu *gpu);
/* Remembers ops for messages of late failures. */
void burn__gpu_note_op(Gpu *gpu, uint32_t op);

/* -- gpu_touched.c ----------------------------------------------------------------------------- */

/* From begin to end, this thread makes a call with these inputs (NULL: absent): its launches read them and whatever
 * storages it makes, and write those that it makes. A call within another one has no say. */
void burn__gpu_touch_begin(Gpu *gpu, BurnPrimitive *const *inputs, uint32_t count);
void burn__gpu_touch_end(const Gpu *gpu);
/* The call has made a storage; it may write into one; one goes, and may be another one's soon. */
void burn__gpu_touch_made(const Gpu *gpu, GpuStorage *storage);
void burn__gpu_touch_writes(const GpuStorage *storage);
void burn__gpu_touch_gone(const GpuStorage *storage);
/* What a launch of this thread touches at most; NULL where that is not known. */
const GpuTouched *burn__gpu_touched(const Gpu *gpu);

/* -- gpu_tensor.c ------------------------------------------------------------------------------ */

static inline GpuTensor *gpu_tensor(BurnPrimitive *x) { return (GpuTensor *)(void *)x; }
static inline const GpuTensor *gpu_const_tensor(const BurnPrimitive *x) { return (const GpuTensor *)(const void *)x; }
static inline GpuAddress gpu_address(const BurnPrimitive *x) {
  return gpu_const_tensor(x)->storage->address + (GpuAddress)x->byte_offset;
}

/* A tensor over a storage, whose reference it takes over, also on failure. */
BurnStatus burn__gpu_tensor_over(Gpu *gpu, const BurnTensorDesc *desc, const int64_t *strides, GpuStorage *storage,
                                 int64_t byte_offset, BurnPrimitive **out);
/* A new row-major tensor with undefined elements. */
BurnStatus burn__gpu_new(Gpu *gpu, const BurnTensorDesc *desc, BurnPrimitive **out);
/* Output `i` of the call, new. */
BurnStatus burn__gpu_output(const GpuRun *run, uint32_t i);
/* A view of x: another shape and other strides over its storage, beginning `offset` elements after its first. */
BurnStatus burn__gpu_view(Gpu *gpu, const BurnPrimitive *x, const BurnTensorDesc *desc, const int64_t *strides,
                          int64_t offset, BurnPrimitive **out);
void burn__gpu_retain(BurnPrimitive *x);
void burn__gpu_release(Gpu *gpu, BurnPrimitive *x); /* NULL is allowed */
/* True if the call gives input `i` away, nobody else holds it or its storage, and it is no other input: it may be
 * written to, and counts as written by the launches of the call (burn__gpu_touched). */
bool burn__gpu_may_overwrite(const BurnOpCall *call, uint32_t i);
/* True if the elements lie in row-major order without gaps. */
bool burn__gpu_is_row_major(const BurnPrimitive *x);
/* x itself with one reference more, or a row-major copy of it. The caller releases it. */
BurnStatus burn__gpu_row_major(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out);

/* A tensor seen as [outer, size, inner] around the axis dim. */
typedef struct GpuAxis {
  int64_t outer, size, inner;
} GpuAxis;
GpuAxis burn__gpu_axis(const BurnPrimitive *x, int64_t dim);

/* -- gpu_kernels.c ----------------------------------------------------------------------------- */

/* How two numbers are joined: see kernels/join.cu. */
typedef enum GpuJoin {
  GPU_JOIN_SUM,
  GPU_JOIN_PRODUCT,
  GPU_JOIN_LARGEST,
  GPU_JOIN_SMALLEST,
  GPU_JOIN_SECOND,
  GPU_JOIN_ANY,
  GPU_JOIN_ALL
} GpuJoin;

/* What a kernel is compiled from. Two of equal text, op, dtypes and variant are the same kernel. The text sees OUT, IN0
 * to IN2: the types of elements; BURN_VARIANT; and the line `definition`. */
typedef struct GpuKernelKey {
  GpuText text;
  uint32_t op; /* whose row the definition comes from; 0: none */
  BurnDType out, in[3];
  uint32_t variant; /* BURN_VARIANT */
  uint32_t entry;   /* of GPU_TEXT_ELEMENTWISE: which of its kernels; no part of what is compiled */
  GpuJoin join;     /* BURN_JOIN */
} GpuKernelKey;

GpuKernels *burn__gpu_kernels_create(void);
void burn__gpu_kernels_destroy(Gpu *gpu, GpuKernels *kernels);

/* The same where it has been compiled; else NULL. */
GpuFunction *burn__gpu_known_kernel(Gpu *gpu, const GpuKernelKey *key);

/* The function `kernel` of that text, compiled at the first call. `definition` (NULL: none) is CUDA C that comes before
 * the text. Between enter and leave. */
BurnStatus burn__gpu_kernel(Gpu *gpu, const GpuKernelKey *key, const char *definition, GpuFunction **function);

/* Before a text whose results are halves alone: powers and reciprocals of the chip (kernels/prelude.cu). */
#define GPU_FAST_MATH "#define BURN_FAST_MATH 1\n"
static inline bool burn__gpu_is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }

/* What a function is, for people: the last op and the kernel's text, with its variant or what it joins; or the steps of
 * a fused body. NULL: a kernel of a pack. */
void burn__gpu_describe(Gpu *gpu, const GpuFunction *function, char *text, size_t bytes);
/* False if no fused body has that function. */
bool burn__gpu_fused_describe(Gpu *gpu, const GpuFunction *function, char *text, size_t bytes);

/* The whole source of a kernel, to be freed with host->free(.., *bytes). */
char *burn__gpu_source(const BurnHost *host, const GpuKernelKey *key, const char *definition, uint64_t *bytes);

/* -- gpu_reduce.c ------------------------------------------------------------------------------ */

/* Joins the lines of x, row-major, along an axis into `out`. */
BurnStatus burn__gpu_reduce(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis);
/* The sums of x [2, size, inner] along its middle axis, each of the two into its own tensor, both of one dtype. */
BurnStatus burn__gpu_sum_two(Gpu *gpu, BurnPrimitive *x, BurnPrimitive *first, BurnPrimitive *second);

/* -- gpu_vector.c ------------------------------------------------------------------------------ */

/* Is a product of floats one of a matrix, dense along an axis, and a vector? */
bool burn__gpu_takes_vector(const GpuMatmul *p);
BurnStatus burn__gpu_vector_product(Gpu *gpu, BurnDType dtype, const GpuMatmul *p);

/* -- gpu_linalg.c ------------------------------------------------------------------------------ */

/* Runs a product whose operands, result and strides are set; `dtype` is that of all. For convolutions. */
BurnStatus burn__gpu_product(Gpu *gpu, BurnDType dtype, const GpuMatmul *p);
/* The shape of the device's matrices of a dtype; 0: it has none that kernels can use. */
GpuMatrixShape burn__gpu_matrix_shape(const Gpu *gpu, BurnDType dtype);
/* By matrices of subgroups (gpu_matrices.c): whether a product is for them, and it. */
bool burn__gpu_suits_matrices(const Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p);
BurnStatus burn__gpu_matrix_product(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p);
/* The sums of p->parts parts of a product at p->lhs, [parts, batches, m, n] of `sums`, in their order, and the bias. */
BurnStatus burn__gpu_join_product(Gpu *gpu, BurnDType sums, BurnDType out, const GpuMatmul *p);
/* out [.., m, n], row-major, = lhs [.., m, k] x rhs [.., k, n], with leading axes that broadcast, + bias [n], row-major
 * (NULL: none). All of one dtype, or i8 and out i32. */
BurnStatus burn__gpu_multiply(Gpu *gpu, BurnPrimitive *lhs, BurnPrimitive *rhs, const BurnPrimitive *bias,
                              BurnPrimitive *out);
/* x with its last two axes changed: a view. */
BurnStatus burn__gpu_transposed(Gpu *gpu, const BurnPrimitive *x, BurnPrimitive **out);

/* -- gpu_tiles.c ------------------------------------------------------------------------------- */

/* What a product by tiles of ours costs. */
typedef struct GpuTilesCost {
  double tile;     /* results of one */
  double speed;    /* of its multiplications, beside that of the fastest tile; 0: it cannot be taken */
  double at_least; /* one group on a unit takes as long as so many of at_once */
  int64_t at_once; /* groups that a unit has room for, at least 2 */
  int64_t groups, k, results;
} GpuTilesCost;
/* Into how many parts the fastest of these cuts k, with `most_sums` numbers of all parts in memory: by the shape alone,
 * so that sums are the same on every device. */
int64_t burn__gpu_choose_parts(const GpuTilesCost *tiles, uint32_t count, int64_t most_parts, int64_t most_sums);
/* Which of these is the fastest on a device with so many units, k being in `parts`. One can be taken. */
uint32_t burn__gpu_choose_tile(const GpuTilesCost *tiles, uint32_t count, int64_t units, int64_t parts);

/* -- gpu_fused.c ------------------------------------------------------------------------------- */

/* Ends all kernels of fused bodies. Between enter and leave. */
void burn__gpu_fused_destroy(Gpu *gpu);

/* -- gpu_quantization.c ------------------------------------------------------------------------ */

/* True if a quantized_matmul can be run as it is. */
bool burn__gpu_takes_quantized(const BurnOpCall *call);

/* -- gpu_conv.c -------------------------------------------------------------------------------- */

/* What a way needs: with `is_last` all tensors have their channels last, else they are row-major; with `is_aligned`
 * they lie at 16 bytes. close makes the result of the call of it, which keeps that order but for a weight's gradient,
 * and returns `status`, or its own failure; it is called after a failure, too. */
BurnStatus burn__gpu_conv_open(const GpuConvWork *work, bool is_last, bool is_aligned, GpuConvTensors *tensors);
BurnStatus burn__gpu_conv_close(const GpuConvWork *work, GpuConvTensors *tensors, BurnStatus status);
/* Convolutions that are the library's alone: of volumes. */
bool burn__gpu_is_of_volumes(uint32_t op);
/* True if it runs this call. */
bool burn__gpu_takes_volumes(Gpu *gpu, const BurnOpCall *call);

/* -- gpu_transpose.c --------------------------------------------------------------------------- */

/* True if planes or volumes of this shape lie in another way if their channels come last. */
bool burn__gpu_has_two_orders(const int64_t *shape, uint32_t rank);
/* True if x [n, channels, ..], planes or volumes, lies in memory as [n, .., channels] without gaps, and is not
 * row-major, too. */
bool burn__gpu_is_channels_last(const BurnPrimitive *x);
/* Axis i of `rank` from the outermost in memory, there. */
uint32_t burn__gpu_axis_of_channels_last(uint32_t rank, uint32_t i);
/* A new tensor that lies so. */
BurnStatus burn__gpu_new_channels_last(Gpu *gpu, const BurnTensorDesc *desc, BurnPrimitive **out);
/* x itself with one reference more, or a copy that lies so. The caller releases it. */
BurnStatus burn__gpu_channels_last(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out);
/* Lines become columns, by the kernel that these copies are made by. */
BurnStatus burn__gpu_transpose(Gpu *gpu, BurnDType dtype, const GpuTranspose *p);
/* Copies elements from one of the orders to the other, or whatever the strides are. */
BurnStatus burn__gpu_copy_channels(Gpu *gpu, BurnPrimitive *to, BurnPrimitive *from);
/* True if the result of an element-wise op should lie so, as one of its inputs of that shape does. */
bool burn__gpu_keeps_channels_last(BurnPrimitive *const *inputs, uint32_t count, const BurnTensorDesc *desc);

/* -- gpu_columns.c ----------------------------------------------------------------------------- */

/* The three convolutions as products of matrices: p is as the kernels of kernels/conv.cu take it, `out` the result. */
BurnStatus burn__gpu_columns_forward(Gpu *gpu, BurnDType dtype, const GpuConv *p);
BurnStatus burn__gpu_columns_transposed(Gpu *gpu, BurnDType dtype, const GpuConv *p);
BurnStatus burn__gpu_columns_weight(Gpu *gpu, BurnDType dtype, const GpuConv *p, BurnPrimitive *gradient);
/* True if that is faster than the definition; `all_at_once`: for the weight's gradient, which needs room for all. */
bool burn__gpu_columns_pay(const Gpu *gpu, const GpuConv *p, bool all_at_once);
/* A kernel of 1 x 1 that meets every pixel once. */
bool burn__gpu_columns_are_pixels(const GpuConv *p);
/* Adds a bias to each channel of x [batch, channels, places]. */
BurnStatus burn__gpu_add_bias(Gpu *gpu, BurnDType dtype, GpuAddress x, GpuAddress bias, int64_t batch, int64_t channels,
                              int64_t places);

/* -- gpu_small_conv.c -------------------------------------------------------------------------- */

/* True if there are few channels, and taps and strides that kernels are compiled for; not where 32 bits do not count
 * the elements. */
bool burn__gpu_small_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p);
BurnStatus burn__gpu_small_conv(const GpuRun *run, const GpuConv *p, GpuConvKind kind);
/* out [count], of the call's dtype, = the sums of f32 [parts, count], part after part. */
BurnStatus burn__gpu_join_conv(const GpuRun *run, GpuAddress out, GpuAddress sums, int64_t parts, int64_t count);

/* -- gpu_matrix_conv.c ------------------------------------------------------------------------- */

/* True if there are few channels, stride 1, and tensor cores that may multiply the dtype; not where 32 bits do not
 * count the elements. */
bool burn__gpu_matrix_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p, GpuConvKind kind);
BurnStatus burn__gpu_matrix_conv(const GpuRun *run, const GpuConv *p, GpuConvKind kind);

/* -- gpu_implicit_conv.c ----------------------------------------------------------------------- */

/* True if the product that a convolution is fills tiles, and the kernels take it. */
bool burn__gpu_implicit_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p, GpuConvKind kind);
BurnStatus burn__gpu_implicit_conv(const GpuRun *run, const GpuConv *p, GpuConvKind kind);

/* -- gpu_attention.c --------------------------------------------------------------------------- */

/* A new tensor whose heads lie as those of `like` do: [batch, positions, heads, width] in memory where these come from
 * a product of all heads, so that the way back is a view. */
BurnStatus burn__gpu_new_heads(Gpu *gpu, const BurnTensorDesc *desc, const BurnPrimitive *like, BurnPrimitive **out);

/* -- gpu_row.c --------------------------------------------------------------------------------- */

/* How threads share rows of kernels/row.cu. */
typedef struct GpuRowShape {
  uint32_t threads, vectors; /* of a row; vectors of 16 bytes in the registers of a thread, 0: it is read again */
} GpuRowShape;
/* That of rows of `size` elements, with at most `most` numbers of a row in the registers of a thread (0: none). */
GpuRowShape burn__gpu_row_shape(BurnDType dtype, int64_t size, uint32_t most);
/* Beside a kind: powers of e may be off by 2^-22, where the device is faster at them so. Of the kernel of a mixed call
 * and of the same in f32 alike. */
enum { GPU_FAST_POWERS = 64 };
/* Starts a kernel that works on rows, `lines` of them, in the queue: `key` without its variant. */
BurnStatus burn__gpu_rows(Gpu *gpu, GpuKernelKey key, uint32_t kind, GpuRowShape shape, int64_t lines,
                          const GpuRows *p);
/* True if rows of `size` elements at this address are made of whole vectors. */
bool burn__gpu_is_whole(const BurnPrimitive *x, int64_t size);
/* What a float dtype is computed in: f64 or f32. */
BurnDType burn__gpu_wide_float(BurnDType dtype);

/* Inputs of a call in row-major order; those that are not there are NULL. Released by burn__gpu_drop_inputs, also
 * after a failure. */
BurnStatus burn__gpu_take_inputs(const GpuRun *run, BurnPrimitive **rows);
void burn__gpu_drop_inputs(const GpuRun *run, BurnPrimitive *const *rows);
/* The outputs of a call, new. */
BurnStatus burn__gpu_outputs(const GpuRun *run);

/* -- gpu_sort.c -------------------------------------------------------------------------------- */

/* The positions of the elements of each line in rising or falling order; equal ones keep theirs. x is row-major, `out`
 * of its shape. */
BurnStatus burn__gpu_argsort(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, bool descending, BurnPrimitive *out);
/* The same, rising, for indices below `limit`: equal ones come one after the other. */
BurnStatus burn__gpu_sort_indices(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, int64_t limit, BurnPrimitive *out);

/* -- gpu_elementwise.c ------------------------------------------------------------------------- */

/* Copies the elements of `from` to `to`, of the same shape, dtype and count, whatever their strides. */
BurnStatus burn__gpu_copy(Gpu *gpu, BurnPrimitive *to, BurnPrimitive *from);
/* x in another dtype, row-major. */
BurnStatus burn__gpu_cast(Gpu *gpu, BurnPrimitive *x, BurnDType dtype, BurnPrimitive **out);

/* A number as an integer of the dtype, or the nearest that it has; NaN is 0, for bool it is number != 0. */
int64_t burn__gpu_saturate(BurnDType dtype, const BurnAttr *number);
/* A number as kernels see it: as a float of the dtype, and saturated as an integer. */
GpuNumber burn__gpu_number(BurnDType dtype, const BurnAttr *number);
/* The numbers s and q of an op's expression: those of its attributes that it has. */
void burn__gpu_scalars(const Gpu *gpu, uint32_t op, BurnDType dtype, const BurnAttr *attrs, GpuNumber numbers[2]);

/* What an op of elementwise.def computes in f32, f64 and integers, NULL where it does not; `large`: f32 beyond 1e9, or
 * NULL. `power` is burn__gpu_power of the exponent for powf_scalar, else 0. */
typedef struct GpuExpression {
  const char *f32, *f64, *integers, *large;
} GpuExpression;
GpuExpression burn__gpu_expression(uint32_t op, uint32_t power);
/* The number of an exponent among those with an expression of their own, from 1 on. */
uint32_t burn__gpu_power(double exponent);

/* -- failures ---------------------------------------------------------------------------------- */

#define GPU_FAIL(gpu, CODE, ...) BURN_COMMON_FAIL((gpu)->host, CODE, (gpu)->name, __VA_ARGS__)

#endif
